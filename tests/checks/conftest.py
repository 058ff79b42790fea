"""Fixtures for all tests of the checks."""

import sys

import pytest

from attn_lib.checks import commands


@pytest.fixture
def deep(pytestconfig):
    """Whether tasks are tested deeply."""
    return pytestconfig.getoption("deep") in ("always", "all")


@pytest.fixture
def seeds(deep):
    """The seeds of the inputs."""
    return range(20 if deep else 1)


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
