"""An untouched exercise earns nothing; a solution earns everything."""

import json
from pathlib import Path

import pytest

from attn_lib.checks import grade, judge, tasks

ROOT = Path(__file__).parent.parent
SOLUTIONS = sorted(ROOT.glob("solutions/*/*.ipynb"))


def definitions(cells):
    """Run a notebook's cells that import or define, and return what they define."""
    namespace = {"__name__": "notebook"}
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and not source.startswith(("check(", "progress(")):
            exec(compile(source, "<cell>", "exec"), namespace)
    return namespace


def cells_of(path):
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def tasks_of(path):
    return [task for task in tasks() if task.lesson == int(path.stem[:2]) and task.points]


def without_solutions(cells):
    """Empty the solution cells: an exercise as it is handed out, whatever a learner did to theirs."""
    for cell in cells:
        lines, inside = [], False
        for line in "".join(cell["source"]).splitlines():
            if "### BEGIN SOLUTION" in line:
                inside = True
                lines.append(
                    line.replace("### BEGIN SOLUTION", "raise NotImplementedError")
                )
            elif "### END SOLUTION" in line:
                inside = False
            elif not inside:
                lines.append(line)
        yield {**cell, "source": "\n".join(lines)}


@pytest.mark.slow
@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda p: p.stem)
def test_a_solution_earns_full_marks(path):
    answers = definitions(cells_of(path))
    for task in tasks_of(path):
        for seed in range(3):
            assert grade(task.name, answers[task.name], seed=seed) == task.points


@pytest.mark.slow
@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda p: p.stem)
def test_an_untouched_exercise_earns_nothing(path):
    answers = definitions(without_solutions(cells_of(path)))
    for task in tasks_of(path):
        assert judge(task.name, answers[task.name]).status == "not attempted"
        assert grade(task.name, answers[task.name]) == 0


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda p: p.stem)
def test_every_task_has_a_graded_cell_worth_its_points_and_a_stored_full_mark(path):
    graded = {}
    for cell in cells_of(path):
        meta = cell["metadata"].get("nbgrader", {})
        if meta.get("grade"):
            results = [o for o in cell["outputs"] if o["output_type"] == "execute_result"]
            stored = float("".join(results[0]["data"]["text/plain"]))
            graded[meta["grade_id"].removeprefix("check-")] = (
                meta["points"],
                stored,
                len(results),
            )
    assert graded == {task.name: (task.points, task.points, 1) for task in tasks_of(path)}
