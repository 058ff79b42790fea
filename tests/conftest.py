"""Every test gets a progress folder of its own; tests that share work run in one process."""

import pytest
from _pytest.nodes import Item


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--deep",
        choices=("never", "changed", "all"),
        default="changed",
        help="twenty seeds, machine-made mutants and pairs of mistakes: for which tasks",
    )


def pytest_collection_modifyitems(items: list[Item]) -> None:
    """Keep the tests of a task together, which share its inputs, and those of any other file."""
    for item in items:
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        task = parameters.get("task") or parameters.get("name")
        group = getattr(task, "name", task) if item.path.stem == "test_tasks" else None
        item.add_marker(pytest.mark.xdist_group(group or str(item.path)))


@pytest.fixture(autouse=True)
def learner_home(tmp_path, monkeypatch):
    home = tmp_path / "home"
    monkeypatch.setenv("ATTN_HOME", str(home))
    return home
