"""The exercises are what the solutions make, they earn nothing, and nobody's work is lost."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from attn_lib.checks import grade, judge, tasks
from scripts import make_exercises
from scripts.make_exercises import committed, drift, place

ROOT = Path(__file__).resolve().parents[1]
SOLUTIONS = sorted(ROOT.glob("solutions/*/*.ipynb"))
EXERCISES = sorted(p for p in ROOT.glob("exercises/*/*.ipynb") if ".bak-" not in p.name)


@pytest.mark.slow
def test_the_exercises_are_what_the_solutions_make():
    command = [sys.executable, "scripts/make_exercises.py", "--check"]
    check = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert check.returncode == 0, check.stdout + check.stderr


@pytest.mark.parametrize("path", EXERCISES, ids=lambda path: path.stem)
def test_an_exercise_gives_nothing_away(path):
    text = committed(path).decode()
    for leak in ("BEGIN SOLUTION", "END SOLUTION", "HIDDEN TESTS", "grade("):
        assert leak not in text
    assert "raise NotImplementedError" in text


def definitions(cells):
    """Run what a notebook imports and defines, and nothing else; return what it defines."""
    namespace = {"__name__": "notebook"}
    kinds = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef
    for cell in cells:
        if cell["cell_type"] == "code":
            tree = ast.parse("".join(cell["source"]))
            tree.body = [node for node in tree.body if isinstance(node, kinds)]
            exec(compile(tree, "<cell>", "exec"), namespace)
    return namespace


def cells_of(content):
    return json.loads(content)["cells"]


def tasks_of(path):
    return [task for task in tasks() if task.lesson == int(path.stem[:2]) and task.points]


@pytest.mark.slow
@pytest.mark.parametrize("path", EXERCISES, ids=lambda path: path.stem)
def test_an_untouched_exercise_earns_nothing(path):
    answers = definitions(cells_of(committed(path)))
    for task in tasks_of(path):
        assert judge(task.name, answers[task.name]).status == "not attempted"
        assert grade(task.name, answers[task.name]) == 0


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.stem)
def test_every_task_has_a_graded_cell_worth_its_points_and_a_stored_full_mark(path):
    graded = {}
    for cell in cells_of(path.read_bytes()):
        meta = cell["metadata"].get("nbgrader", {})
        if meta.get("grade"):
            [result] = [o for o in cell["outputs"] if o["output_type"] == "execute_result"]
            stored = float("".join(result["data"]["text/plain"]))
            graded[meta["grade_id"].removeprefix("check-")] = meta["points"], stored
    assert graded == {task.name: (task.points, task.points) for task in tasks_of(path)}


# --------------------------------------------------- a changed exercise is never overwritten


def write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("there", "untouched", "after"),
    [
        (None, True, b"new"),
        (b"old", True, b"new"),
        (b"my answer", False, b"my answer"),
    ],
)
def test_an_exercise_that_was_worked_in_is_kept_and_named(
    tmp_path, capsys, there, untouched, after
):
    path = tmp_path / "01/a.ipynb"
    if there:
        write(path, there)
    kept = place({"01/a.ipynb": b"new"}, tmp_path, lambda path: untouched, force=False)
    assert path.read_bytes() == after
    assert kept == ([] if untouched else ["01/a.ipynb"])
    assert ("01/a.ipynb: kept" in capsys.readouterr().out) != untouched


def test_force_sets_the_work_aside_under_a_name_that_is_free(tmp_path):
    path = write(tmp_path / "01/a.ipynb", b"first answer")
    place({"01/a.ipynb": b"new"}, tmp_path, lambda path: False, force=True)
    path.write_bytes(b"second answer")
    place({"01/a.ipynb": b"newer"}, tmp_path, lambda path: False, force=True)
    assert path.read_bytes() == b"newer"
    assert (tmp_path / "01/a.bak-1.ipynb").read_bytes() == b"first answer"
    assert (tmp_path / "01/a.bak-2.ipynb").read_bytes() == b"second answer"


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A git repository with one committed exercise, which make_exercises takes for the course."""
    monkeypatch.setattr(make_exercises, "ROOT", tmp_path)
    monkeypatch.setattr(make_exercises, "EXERCISES", tmp_path / "exercises")
    monkeypatch.setattr(make_exercises, "WRITTEN", tmp_path / "grading" / "generated.json")
    exercise = write(tmp_path / "exercises/01/a.ipynb", b"committed")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "one"]):
        subprocess.run(git + command, cwd=tmp_path, check=True)
    return exercise


def test_what_differs_from_git_and_from_what_the_script_wrote_was_worked_in(
    course, tmp_path
):
    assert make_exercises.untouched(course)
    course.write_bytes(b"generated")
    assert not make_exercises.untouched(course)
    assert committed(course) == b"committed"
    make_exercises.remember({"01/a.ipynb": b"generated"})
    assert make_exercises.untouched(course)
    course.write_bytes(b"committed")
    (tmp_path / ".git").rename(tmp_path / "no-git")
    assert not make_exercises.untouched(course)


def test_drift_is_found_but_not_in_a_learners_copy(course):
    assert drift({"01/a.ipynb": b"committed"}, committed) == []
    assert len(drift({"01/a.ipynb": b"other"}, committed)) == 1
    assert len(drift({"01/a.ipynb": b"committed", "02/b.ipynb": b""}, committed)) == 1
    assert len(drift({}, committed)) == 1
    course.write_bytes(b"my answer")
    assert drift({"01/a.ipynb": b"committed"}, committed) == []
