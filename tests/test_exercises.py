"""The exercises are what the solutions make, they give nothing away, and nobody's work is lost."""

import subprocess
import sys
from pathlib import Path

import pytest

from scripts import make_exercises
from scripts.make_exercises import committed, drift, place

ROOT = Path(__file__).resolve().parents[1]
SOLUTIONS = sorted(ROOT.glob("solutions/*/*.ipynb"))
EXERCISES = sorted(p for p in ROOT.glob("exercises/*/*.ipynb") if ".bak-" not in p.name)


def test_the_exercises_are_what_the_solutions_make():
    command = [sys.executable, "scripts/make_exercises.py", "--check"]
    check = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert check.returncode == 0, check.stdout + check.stderr


@pytest.mark.slow
def test_generating_twice_gives_the_same_bytes_and_an_exercise_for_every_solution():
    code = "from scripts.make_exercises import generate; a = generate(); assert a == generate(); "
    command = [sys.executable, "-c", code + "print(*a)"]
    names = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    solutions = {path.relative_to(ROOT / "solutions").as_posix() for path in SOLUTIONS}
    assert set(names.split()) >= solutions > set()


@pytest.mark.parametrize("path", EXERCISES, ids=lambda path: path.stem)
def test_an_exercise_gives_nothing_away(path):
    text = committed(path).decode()
    for leak in ("BEGIN SOLUTION", "END SOLUTION", "HIDDEN TESTS", "grade("):
        assert leak not in text
    assert "raise NotImplementedError" in text


# --------------------------------------------------- a changed exercise is never overwritten


def write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("there", [None, b"old"])
def test_an_exercise_that_is_missing_or_untouched_is_written(tmp_path, there):
    path = tmp_path / "01/a.ipynb"
    if there:
        write(path, there)
    assert place({"01/a.ipynb": b"new"}, tmp_path, lambda path: True, force=False) == []
    assert path.read_bytes() == b"new"


def test_an_exercise_that_was_worked_in_is_kept_and_named(tmp_path, capsys):
    path = write(tmp_path / "01/a.ipynb", b"my answer")
    kept = place({"01/a.ipynb": b"new"}, tmp_path, lambda path: False, force=False)
    assert kept == ["01/a.ipynb"]
    assert path.read_bytes() == b"my answer"
    assert "01/a.ipynb: kept" in capsys.readouterr().out


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


def test_what_differs_from_git_was_worked_in(course):
    assert make_exercises.untouched(course)
    course.write_bytes(b"my answer")
    assert not make_exercises.untouched(course)
    assert committed(course) == b"committed"


def test_what_the_script_wrote_itself_was_not_worked_in(course):
    course.write_bytes(b"generated")
    make_exercises.remember({"01/a.ipynb": b"generated"})
    assert make_exercises.untouched(course)
    course.write_bytes(b"generated, and my answer")
    assert not make_exercises.untouched(course)


def test_without_git_every_difference_counts_as_work(course, tmp_path):
    (tmp_path / ".git").rename(tmp_path / "no-git")
    assert not make_exercises.untouched(course)


def test_drift_is_found_but_not_in_a_learners_copy(course):
    assert drift({"01/a.ipynb": b"committed"}, committed) == []
    assert len(drift({"01/a.ipynb": b"other"}, committed)) == 1
    assert len(drift({"01/a.ipynb": b"committed", "02/b.ipynb": b""}, committed)) == 1
    assert len(drift({}, committed)) == 1
    course.write_bytes(b"my answer")
    assert drift({"01/a.ipynb": b"committed"}, committed) == []
