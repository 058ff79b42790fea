"""Every test gets a progress folder of its own: a learner's is never touched."""

import pytest


@pytest.fixture(autouse=True)
def learner_home(tmp_path, monkeypatch):
    home = tmp_path / "home"
    monkeypatch.setenv("ATTN_HOME", str(home))
    return home
