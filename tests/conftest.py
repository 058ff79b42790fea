"""Every test gets a progress folder of its own; tests that share work run in one process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from _pytest.nodes import Item
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

# Windows has no sandbox for the grader, and no terminal of the kind that the chat's tests play.
collect_ignore = [] if os.name == "posix" else ["grading", "programs/test_chat.py"]

settings.register_profile("course", deadline=None, max_examples=50)
settings.load_profile("course")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--deep",
        choices=("never", "always", "all"),
        default="never",
        help="always: test tasks with 20 seeds instead of one, machine-made mutants and pairs of mistakes; "
        "all: with every pair",
    )
    parser.addoption(
        "--task", help="run the tests of these tasks only: names, with spaces between them"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[Item]) -> None:
    if wanted := config.getoption("task"):
        items[:] = [item for item in items if _task_of(item) in wanted.split()]


def _task_of(item: Item) -> str | None:
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    return parameters.get("name")


class Together(LoadScopeScheduling):
    """Give one process what shares work: a file, the tests of a task, those of the website.

    `--dist=loadgroup` does not: pytest-xdist 3.8 ignores the groups with pytest 9.2 (its issue 1386).
    """

    def _split_scope(self, nodeid: str) -> str:
        file, _, test = nodeid.partition("::")
        if file.endswith("test_tasks.py"):
            return test.partition("[")[2]
        return "site" if "test_site" in file else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    if config.getoption("task"):
        return None  # one task alone: each test goes to whoever is free
    config.option.loadscopereorder = False  # what takes long is first, as folders are named
    return Together(config, log)


@pytest.fixture(autouse=True)
def learner_home(tmp_path, monkeypatch):
    home = tmp_path / "home"
    monkeypatch.setenv("ATTN_HOME", str(home))
    return home


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The website, built once for all tests of it."""
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", "site"]
    command += ["-d", str(out / ".doctrees"), ".", str(out / "html")]
    root = Path(__file__).resolve().parents[1]
    built = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=300)
    assert built.returncode == 0, built.stdout + built.stderr
    return out / "html"
