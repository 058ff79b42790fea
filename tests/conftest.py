"""Every test gets a progress folder of its own; tests that share work run in one process."""

import pytest
from _pytest.nodes import Item


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--deep",
        choices=("never", "changed", "always", "all"),
        default="changed",
        help="twenty seeds, machine-made mutants, pairs of mistakes (all: every pair): for which tasks",
    )

    parser.addoption("--task", help="of the tests of tasks, run those of this one only")


def pytest_collection_modifyitems(config: pytest.Config, items: list[Item]) -> None:
    """Keep the tests of a task together, which share its inputs, and those of any other file."""
    wanted = config.getoption("task")
    if wanted:
        items[:] = [item for item in items if _task_of(item) == wanted]
    for item in items:
        group = _task_of(item) if item.path.stem == "test_tasks" else None
        item.add_marker(pytest.mark.xdist_group(group or str(item.path)))


def _task_of(item: Item) -> str | None:
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    return parameters.get("name")


@pytest.fixture(autouse=True)
def learner_home(tmp_path, monkeypatch):
    home = tmp_path / "home"
    monkeypatch.setenv("ATTN_HOME", str(home))
    return home
