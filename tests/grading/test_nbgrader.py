"""nbgrader's own commands, with our judge in place of its kernel, on a small class."""

import csv
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from nbformat import v4
from nbgrader.converters.base import NbGraderException
from nbgrader.utils import determine_grade
from traitlets.config import Config

from attn_lib.checks.task import find_task
from attn_lib.grading import nbgrader_plugin as plugin
from attn_lib.grading.grade import TaskResult
from attn_lib.grading.sandbox import NoSandbox
from tests.grading import documented
from tests.grading.fakes import full_marks

ROOT = Path(__file__).resolve().parents[2]
LESSON = "01_single_head"
CSV_EXPORT = "grading/grades.csv"


# --------------------------------------------------------------------------- one check cell


def check_cell(points: float = 3):
    cell = v4.new_code_cell("check('attention', attention)")
    cell.metadata.nbgrader = {"grade": True, "solution": False, "points": points}
    return cell


@pytest.mark.parametrize(
    ("points", "score"),
    [
        (3, 3), (0, 0), (0.0, 0), (1.5, 1.5),
        (float("nan"), 0), (float("inf"), 0), (-1, 0), (7, 3), (False, 0),
    ],
)  # fmt: skip
def test_nbgrader_reads_the_points_and_nothing_else(points, score):
    cell = check_cell()
    plugin.write_verdict(cell, TaskResult("attention", "wrong", points, 3, None, "12", "3"))
    assert determine_grade(cell) == (score, 3)


def test_points_are_scaled_to_what_the_instructors_cell_is_worth():
    cell = check_cell(points=30)
    plugin.write_verdict(cell, TaskResult("attention", "passed", 3, 3))
    assert determine_grade(cell) == (30, 30)


def test_a_task_without_a_result_gets_nothing_and_says_why():
    cell = check_cell()
    result = plugin.result_of(None, {}, {})
    plugin.write_verdict(cell, result)
    assert determine_grade(cell) == (0, 3)
    assert (result.points, result.max_points) == (0, 0)
    assert "No task" in cell.outputs[0].data["text/plain"]


def test_of_a_file_that_could_not_be_read_each_task_gets_nothing_and_says_why():
    result = plugin.result_of(find_task("attention"), {}, {plugin.PROBLEM: "It is a PDF."})
    assert result == TaskResult("attention", "error", 0, 3, message="It is a PDF.")
    assert "not judged" in plugin.result_of(find_task("attention"), {}, {}).message


def test_a_check_cell_says_of_itself_what_nbgrader_made_it_say():
    made = [
        c["metadata"]["nbgrader"]
        for c in exercise()["cells"]
        if "nbgrader" in c["metadata"]
    ]
    checks = [theirs for theirs in made if theirs.get("grade")]
    assert checks
    for theirs in checks:
        cell = plugin._check_cell(theirs["grade_id"], "check()", theirs["points"], "sum")
        assert cell.source == "check()"
        ours = cell.metadata.nbgrader
        assert {k: v for k, v in ours.items() if k in theirs} | {"checksum": theirs.get("checksum")} == {
            "checksum": None, **theirs
        }  # fmt: skip


SAFE = {"seed": None, "unsafe": False, "strict": False}


def test_the_judge_is_set_up_in_the_configuration():
    asked = {"seed": 3, "unsafe": True, "strict": True}
    for settings in ({}, asked):
        judge = plugin.SandboxedJudge(config=Config(SandboxedJudge=settings))
        assert {name: getattr(judge, name) for name in SAFE} == (settings or SAFE)


def test_the_seed_comes_from_the_configuration_or_the_environment(monkeypatch):
    monkeypatch.delenv(plugin.SEED, raising=False)
    with pytest.raises(NbGraderException, match="private seed"):
        plugin.SandboxedJudge(unsafe=True).ready()
    monkeypatch.setenv(plugin.SEED, "12")
    assert plugin.SandboxedJudge(unsafe=True).ready() == 12
    assert plugin.SandboxedJudge(unsafe=True, seed=0).ready() == 0


def test_the_sandbox_is_asked_for_first_unless_it_is_said(monkeypatch):
    def missing():
        raise NoSandbox("Use --unsafe.")

    monkeypatch.setattr(plugin, "check_sandbox", missing)
    with pytest.raises(NbGraderException, match=r"Use c\.SandboxedJudge\.unsafe = True\."):
        plugin.SandboxedJudge(seed=1).ready()
    assert plugin.SandboxedJudge(seed=1, unsafe=True).ready() == 1


@pytest.mark.parametrize(
    "metadata", [{}, {plugin.PROBLEM: "It is a PDF."}], ids=["read", "not read"]
)
def test_the_judge_fills_each_check_cell_and_notes_that_it_is_done(
    metadata, monkeypatch, caplog
):
    cells = {"attention": check_cell(), "nonsense": check_cell()}
    place = {"db_url": "sqlite://", "notebook": LESSON, "assignment": LESSON}
    given = []

    def graded(data, lesson, **options):
        given.append((json.loads(data)["nbformat"], lesson, options))
        return full_marks(data, lesson, seed=3)

    monkeypatch.setattr(
        plugin, "restore_check_cells", lambda nb, **at: cells if at == place else {}
    )
    monkeypatch.setattr(plugin, "grade_submission", graded)
    judge = plugin.SandboxedJudge(seed=3, unsafe=True, strict=True)
    notebook, _ = judge.preprocess(v4.new_notebook(metadata=metadata), {"nbgrader": place})
    assert notebook.metadata[plugin.JUDGED] is True
    assert determine_grade(cells["nonsense"]) == (0, 3)
    assert determine_grade(cells["attention"]) == (0 if metadata else 3, 3)
    options = {"seed": 3, "unsafe": True, "strict": True}
    assert given == ([] if metadata else [(4, 1, options)])


def test_what_a_killed_run_left_is_known(tmp_path):
    def unfinished(**metadata):
        outputs = metadata.pop("outputs", [])
        cells = [{}, {"outputs": outputs}]
        path = tmp_path / "a.ipynb"
        path.write_text(json.dumps({"metadata": metadata, "cells": cells}))
        return plugin._is_unfinished(path)

    assert unfinished()
    assert not unfinished(outputs=["10"])
    assert not unfinished(**{plugin.JUDGED: True})
    (tmp_path / "a.ipynb").write_text("{")
    assert plugin._is_unfinished(tmp_path / "a.ipynb")
    assert not plugin._is_unfinished(tmp_path / "b.ipynb")


def test_code_that_no_file_can_hold_is_still_code():
    assert [c.source for c in plugin._code_only(["x = 1", "y = '\ud800'"]).cells] == [
        "x = 1", "y = '?'"
    ]  # fmt: skip


# ------------------------------------------------------------------------------ a whole class


def exercise() -> dict:
    path = ROOT / "exercises" / LESSON / f"{LESSON}.ipynb"
    return json.loads(path.read_text(encoding="utf-8"))


def answered(*names: str) -> dict:
    """Return the exercise with our answers to these tasks, or to all."""
    path = ROOT / "solutions" / LESSON / f"{LESSON}.ipynb"
    answers = {
        cell["metadata"]["nbgrader"]["grade_id"]: "".join(cell["source"])
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        if cell["metadata"].get("nbgrader", {}).get("solution")
    }
    notebook = exercise()
    for cell in notebook["cells"]:
        name = cell["metadata"].get("nbgrader", {}).get("grade_id")
        if name in answers and (name in names or not names):
            cell["source"] = answers[name]
    return notebook


def vandalized() -> dict:
    """Return right answers in a notebook whose metadata nbgrader refuses."""
    notebook = answered()
    kept = []
    for cell in notebook["cells"]:
        ours = cell["metadata"].get("nbgrader", {})
        if ours.get("grade_id") == "check-attention":
            continue  # deleted
        if ours.get("grade_id") == "check-SelfAttention":
            ours["solution"], ours["points"] = True, "many"
        if ours.get("grade_id") == "stable_softmax":
            ours["schema_version"] = 1  # alone, this ends nbgrader's whole run
        kept.append(cell)
    notebook["cells"] = kept
    return notebook


def without_checks() -> dict:
    """Return right answers without a single check cell."""
    notebook = answered()
    notebook["cells"] = [
        cell
        for cell in notebook["cells"]
        if not cell["metadata"].get("nbgrader", {}).get("grade")
    ]
    return notebook


def raiding(gradebook: Path) -> dict:
    """Return one right answer, and an attempt to give everybody 10 points."""
    notebook = answered("stable_softmax")
    attempt = f"""
        import sqlite3
        for path in ({str(gradebook)!r}, "grading/gradebook.db", "../../gradebook.db"):
            try:
                with sqlite3.connect(path) as book:
                    book.execute("update grade set auto_score = 10, manual_score = 10")
            except Exception:
                pass
        import shutil
        shutil.rmtree({str(gradebook.parent)!r}, ignore_errors=True)
        print(10.0)
        10.0"""
    cell = v4.new_code_cell(re.sub("^        ", "", attempt, flags=re.MULTILINE))
    notebook["cells"].append(cell)
    notebook["metadata"] |= {
        plugin.PROBLEM: "10 of 10, says the teacher",
        plugin.JUDGED: True,
    }
    return notebook


class Class:
    """A course folder with submissions, and nbgrader to run in it."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.gradebook = folder / "grading" / "gradebook.db"
        documented.copy_course(folder)

    def hand_in(self) -> None:
        for learner, notebook in {
            "all_right": answered(),
            "damaged": '{"cells": [',
            "half": answered("stable_softmax", "attention_scores"),
            "no_checks": without_checks(),
            "raider": raiding(self.gradebook),
            "untouched": exercise(),
            "vandal": vandalized(),
        }.items():
            text = notebook if isinstance(notebook, str) else json.dumps(notebook)
            place = self.folder / "grading" / "submitted" / learner / LESSON
            place.mkdir(parents=True)
            (place / f"{LESSON}.ipynb").write_text(text, encoding="utf-8")

    def nbgrader(self, *arguments: str, path: str = "", **variables: str):
        programs = str(Path(sys.executable).parent)  # nbgrader calls alembic by its name
        environment = {
            "PATH": path or f"{programs}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "HOME": str(self.folder),
            "OMP_NUM_THREADS": "1",
            **variables,
        }
        command = [sys.executable, "-m", "nbgrader", *arguments]
        return subprocess.run(
            command,
            cwd=self.folder, env=environment, capture_output=True, text=True, timeout=300,
        )  # fmt: skip

    def pages(self) -> dict[str, str]:
        """Return the feedback pages by learner."""
        found = (self.folder / "grading" / "feedback").glob(f"*/{LESSON}/*.html")
        return {page.parts[-3]: page.read_text(encoding="utf-8") for page in found}


@pytest.fixture(scope="module")
def graded(tmp_path_factory, sandbox_works) -> Class:
    room = Class(tmp_path_factory.mktemp("class"))
    prepare, grade, *_ = documented.blocks("With nbgrader")
    environment: dict[str, str] = {}
    documented.run(prepare, room.folder, environment)
    room.hand_in()
    documented.run(grade, room.folder, environment)
    return room


@pytest.mark.slow
def test_the_documented_commands_leave_the_exercise_as_it_was(graded):
    path = Path("exercises", LESSON, f"{LESSON}.ipynb")
    assert (graded.folder / path).read_bytes() == (ROOT / path).read_bytes()


@pytest.mark.slow
def test_each_learner_has_the_right_marks_in_the_exported_csv(graded):
    with (graded.folder / CSV_EXPORT).open(newline="") as file:
        rows = {row["student_id"]: row for row in csv.DictReader(file)}
    scores = {learner: float(row["score"]) for learner, row in rows.items()}
    assert scores == {
        "all_right": 10,
        "damaged": 0,
        "half": 3,
        "no_checks": 10,
        "raider": 2,
        "untouched": 0,
        "vandal": 10,
    }
    assert {float(row["max_score"]) for row in rows.values()} == {10}


@pytest.mark.slow
def test_the_gradebook_is_whole_and_nothing_waits_for_a_person(graded):
    with sqlite3.connect(graded.gradebook) as book:
        assert book.execute("pragma integrity_check").fetchall() == [("ok",)]
        grades = book.execute(
            "select auto_score, manual_score, needs_manual_grade from grade"
        ).fetchall()
    assert len(grades) == 7 * 4
    assert all(score is not None for score, _, _ in grades)
    assert {(by_hand, waits) for _, by_hand, waits in grades} == {(None, 0)}


@pytest.mark.slow
def test_the_feedback_shows_the_verdicts_and_why_a_file_could_not_be_read(graded):
    pages = graded.pages()
    assert len(pages) == 7
    assert pages["all_right"].count('data-status="passed"') == 4
    assert pages["half"].count('data-status="passed"') == 2
    assert pages["untouched"].count('data-status="not attempted"') == 4
    assert pages["damaged"].count("This notebook could not be read") == 1 + 4
    assert "Nothing in the notebook" not in pages["damaged"]
    assert not any("NoSuchKernel" in page for page in pages.values())
    assert not any("says the teacher" in page for page in pages.values())


@pytest.mark.slow
def test_what_a_killed_run_left_unfinished_is_graded_again(graded):
    autograded = graded.folder / "grading" / "autograded"
    before = {path: path.read_bytes() for path in autograded.glob(f"*/{LESSON}/*.ipynb")}
    left = autograded / "half" / LESSON / f"{LESSON}.ipynb"
    left.unlink()  # nbgrader made it read-only
    left.write_text(json.dumps(answered("stable_softmax", "attention_scores")))
    done = graded.nbgrader("autograde", LESSON, ATTN_GRADING_SEED="271828")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr.count("was not finished") == 1
    assert (
        before.pop(left).count(b"attn_judged")
        == left.read_bytes().count(b"attn_judged")
        == 1
    )
    assert all(path.read_bytes() == content for path, content in before.items())
    assert len(before) == 6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("missing", "says"),
    [("seed", "c.SandboxedJudge.seed"), ("bubblewrap", "sudo apt install bubblewrap")],
)
def test_without_seed_or_sandbox_it_refuses_and_changes_nothing(graded, missing, says):
    shutil.rmtree(graded.folder / "grading" / "autograded", ignore_errors=True)
    before = graded.gradebook.read_bytes()
    seed = {} if missing == "seed" else {"ATTN_GRADING_SEED": "31"}
    path = str(Path(sys.executable).parent) if missing == "bubblewrap" else ""
    done = graded.nbgrader("autograde", LESSON, path=path, **seed)
    assert done.returncode == 1
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert graded.gradebook.read_bytes() == before
    assert not (graded.folder / "grading" / "autograded").exists()


@pytest.mark.slow
def test_unsafe_must_be_said_in_so_many_words(tmp_path):
    room = Class(tmp_path)
    room.hand_in()
    for learner in sorted((tmp_path / "grading" / "submitted").iterdir()):
        if learner.name != "half":
            shutil.rmtree(learner)
    with (tmp_path / "nbgrader_config.py").open("a") as file:
        file.write("\nc.SandboxedJudge.seed = 31\nc.SandboxedJudge.unsafe = True\n")
    programs = str(Path(sys.executable).parent)  # no bubblewrap
    for command in (["generate_assignment", "--force"], ["autograde"]):
        done = room.nbgrader(*command, LESSON, path=programs)
        assert done.returncode == 0, done.stdout + done.stderr
    with sqlite3.connect(room.gradebook) as book:
        assert book.execute("select sum(auto_score) from grade").fetchall() == [(3,)]
