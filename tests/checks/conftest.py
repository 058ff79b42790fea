"""How deeply a task is tested: see deep.py."""

import sys

import pytest

from attn_lib.checks import commands
from tests.checks.deep import is_changed


@pytest.fixture
def deep(request):
    """Whether this test's task is tested deeply: always, never, or if its sources changed."""
    wanted = request.config.getoption("deep")
    return wanted in ("always", "all") or (
        wanted == "changed" and is_changed(request.getfixturevalue("name"))
    )


@pytest.fixture
def seeds(deep, name, pytestconfig):
    """The seeds of the inputs: 20 in a deep run; else 1 where that was done with these sources, or 2."""
    once = pytestconfig.getoption("deep") == "quick" or not is_changed(name)
    return range(20 if deep else 1 if once else 2)


@pytest.fixture
def without_search(monkeypatch):
    """Leave out the search for the mistake, where only the status counts: most of the time."""
    module = sys.modules["attn_lib.checks.judge"]  # the package's `judge` is the function
    monkeypatch.setattr(module, "recognize", lambda *args: None)


@pytest.fixture(autouse=True)
def never_cut_short(monkeypatch):
    """`check` never raises; so here, what it would hide from a learner fails the test."""
    hidden, whole = [], commands._check

    def watched(name, answer):
        try:
            return whole(name, answer)
        except BaseException as error:
            hidden.append(error)
            raise

    monkeypatch.setattr(commands, "_check", watched)
    yield
    assert hidden == []
