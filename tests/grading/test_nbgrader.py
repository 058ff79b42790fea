"""nbgrader's own commands, with our judge in place of its kernel, on a small class."""

import csv
import json
import math
import os
import re
import shutil
import sqlite3
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
from tests.grading.documented import LESSON
from tests.grading.fakes import full_marks
from tests.grading.judging import ROOT


def check_cell(points: float = 3):
    cell = v4.new_code_cell("check('attention', attention)")
    cell.metadata.nbgrader = {"grade": True, "solution": False, "points": points}
    return cell


@pytest.mark.parametrize(
    ("points", "worth", "score"),
    [
        (3, 3, 3),
        (0, 3, 0),
        (1.5, 3, 1.5),
        (3, 30, 30),  # scaled to what the instructor's cell is worth
        (math.nan, 3, 0),
        (math.inf, 3, 0),
        (-1, 3, 0),
        (7, 3, 3),
        (False, 3, 0),
    ],
)
def test_nbgrader_reads_the_points_and_nothing_else(points, worth, score):
    cell = check_cell(worth)
    plugin.write_verdict(cell, TaskResult("attention", "wrong", points, 3, None, "12", "3"))
    assert determine_grade(cell) == (score, worth)


@pytest.mark.parametrize(
    ("task", "metadata", "said"),
    [
        (None, {}, "No task of the course"),
        (find_task("attention"), {}, "not judged"),
        (find_task("attention"), {plugin.PROBLEM: "It is a PDF."}, "It is a PDF."),
    ],
)
def test_a_task_without_a_result_gets_nothing_and_says_why(task, metadata, said):
    cell = check_cell()
    result = plugin.result_of(task, {}, metadata)
    assert (result.points, result.max_points) == (0, 3 if task else 0)
    plugin.write_verdict(cell, result)
    assert determine_grade(cell) == (0, 3)
    assert said in cell.outputs[0].data["text/plain"]


def test_a_check_cell_says_of_itself_what_nbgrader_made_it_say():
    made = [cell["metadata"].get("nbgrader", {}) for cell in exercise()["cells"]]
    checks = [theirs for theirs in made if theirs.get("grade")]
    assert checks
    for theirs in checks:
        name, points, checksum = map(theirs.get, ("grade_id", "points", "checksum"))
        cell = plugin._check_cell(name, "check()", points, checksum)
        assert cell.source == "check()"
        assert cell.metadata.nbgrader.items() >= theirs.items()


def test_the_seed_comes_from_the_configuration_or_the_environment(monkeypatch):
    monkeypatch.delenv(plugin.SEED, raising=False)
    for made in (
        lambda: plugin.SandboxedJudge(unsafe=True).ready(),
        plugin.SubmissionExporter,
    ):
        with pytest.raises(NbGraderException, match="private seed"):
            made()
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
    ("problem", "strict"), [({}, True), ({plugin.PROBLEM: "PDF"}, False)]
)
def test_the_judge_fills_each_check_cell_and_notes_that_it_is_done(
    problem, strict, monkeypatch
):
    cells = {"attention": check_cell(), "nonsense": check_cell()}
    place = {"db_url": "sqlite://", "notebook": LESSON, "assignment": LESSON}
    given, asked = [], []

    def graded(data, lesson, **options):
        given.append((json.loads(data)["nbformat"], lesson, options))
        return full_marks(data, lesson, seed=3)

    def restored(nb, *at):
        asked.extend(at)
        return cells

    monkeypatch.setattr(plugin, "restore_check_cells", restored)
    monkeypatch.setattr(plugin, "grade_submission", graded)
    options = {"seed": 3, "unsafe": True, "strict": strict}
    judge = plugin.SandboxedJudge(config=Config(SandboxedJudge=options))
    notebook, _ = judge.preprocess(v4.new_notebook(metadata=problem), {"nbgrader": place})
    assert asked == [*place.values()]
    assert notebook.metadata[plugin.JUDGED] is True
    assert determine_grade(cells["nonsense"]) == (0, 3)
    assert determine_grade(cells["attention"]) == (0 if problem else 3, 3)
    assert given == ([] if problem else [(4, 1, options)])


def test_what_a_killed_run_left_is_known(tmp_path):
    path = tmp_path / "a.ipynb"
    assert not plugin._is_unfinished(path)
    for outputs, metadata, unfinished in (
        ([], {}, True),
        (["10"], {}, False),
        ([], {plugin.JUDGED: True}, False),
    ):
        cells = [{}, {"outputs": outputs}]
        path.write_text(json.dumps({"metadata": metadata, "cells": cells}))
        assert plugin._is_unfinished(path) == unfinished
    path.write_text("{")
    assert plugin._is_unfinished(path)


@pytest.mark.parametrize("text", ["{}", "[]", "1", '{"metadata": {}, "cells": [1]}', None])
@pytest.mark.parametrize("name", ["x.ipynb", ".x.ipynb", "._01_single_head.ipynb"])
def test_what_a_learner_put_beside_it_stops_no_later_run(tmp_path, name, text):
    path = tmp_path / name
    path.mkdir() if text is None else path.write_text(text)
    assert not plugin._is_unfinished(path)


def test_hidden_files_are_never_ours(tmp_path):
    path = tmp_path / "._01_single_head.ipynb"
    path.write_bytes(b"\x00\x05\x16\x07")
    assert not plugin._is_unfinished(path)


def test_code_that_no_file_can_hold_is_still_code():
    made = plugin._code_only(["x = 1", "y = '\ud800'"])
    assert [cell.source for cell in made.cells] == ["x = 1", "y = '?'"]


def exercise(folder: str = "exercises") -> dict:
    path = ROOT / folder / LESSON / f"{LESSON}.ipynb"
    return json.loads(path.read_text(encoding="utf-8"))


def name_of(cell: dict) -> str | None:
    """Return the name that nbgrader gave to a cell."""
    return cell["metadata"].get("nbgrader", {}).get("grade_id")


def answered(*names: str) -> dict:
    """Return the exercise with our answers to these tasks, or to all."""
    notebook, solution = exercise(), exercise("solutions")
    ours = {name_of(cell): cell["source"] for cell in solution["cells"]}
    for cell in notebook["cells"]:
        name = name_of(cell)
        is_answer = cell["metadata"].get("nbgrader", {}).get("solution")
        if is_answer and (name in names or not names):
            cell["source"] = ours[name]
    return notebook


def vandalized() -> dict:
    """Return right answers in a notebook whose metadata nbgrader refuses."""
    notebook = answered()
    ours = {name_of(cell): cell["metadata"].get("nbgrader") for cell in notebook["cells"]}
    ours["check-SelfAttention"] |= {"solution": True, "points": "many"}
    ours["attention"]["grade_id"] = {"no": "name"}
    notebook["metadata"]["widgets"] = {"application/vnd.jupyter.widget-state+json": 5}
    ours["stable_softmax"]["schema_version"] = 1  # alone, this ends nbgrader's whole run
    notebook["cells"] = [c for c in notebook["cells"] if name_of(c) != "check-attention"]
    return notebook


def without_checks() -> dict:
    """Return right answers without a single check cell, and a cell of a kind that the gradebook does not know."""
    notebook = answered()
    cells = notebook["cells"]
    notebook["cells"] = [c for c in cells if not (name_of(c) or "").startswith("check-")]
    task = {"grade_id": "of_mine", "schema_version": 3, "points": 5, "task": True}
    task |= dict.fromkeys(("grade", "solution", "locked"), False)
    notebook["cells"].append(v4.new_markdown_cell("", metadata={"nbgrader": task}))
    return notebook


def raiding(gradebook: Path) -> dict:
    """Return one right answer, and an attempt to give everybody 10 points."""
    notebook = answered("stable_softmax")
    attempt = f"""
import pathlib, shutil, sqlite3
if pathlib.Path({str(gradebook)!r}).exists():
    with sqlite3.connect({str(gradebook)!r}) as book:
        book.execute("update grade set auto_score = 10, manual_score = 10")
shutil.rmtree({str(gradebook.parent)!r}, ignore_errors=True)
print(10.0)
10.0"""
    notebook["cells"].append(v4.new_code_cell(attempt))
    said = "10 of 10, says the teacher"
    notebook["metadata"] |= {plugin.PROBLEM: said, plugin.JUDGED: True}
    return notebook


ESCAPE = "\x1b]0;title\x07\x1b[31m\n\x9b2J"


LOUD = "loud_cell", "loud_format", "loud_language"


def shouting(**changed) -> dict:
    """Return the untouched exercise with what nbgrader, or what it calls, logs a word of."""
    notebook = exercise() | changed
    notebook["cells"].append({"cell_type": ESCAPE, "metadata": {}, "source": ""})
    return notebook


GRADEBOOK = "grading/gradebook.db"


# What nbgrader's own reader of time stamps stumbles over, or reads a file for.
STAMPS = {
    "late": "yesterday evening",
    "dots": "2026-10-01 18:00:00 ..",
    "week": "2026-10-01 18:00:00 W4" + 31 * "0" + "m",
    "file": "2026-10-01 18:00:00 /etc/passwd",
    "long": "2026-10-01 18:30:00" + 90 * " " + "garbage",
    "days": "2026-W40-4",
}
# Folders that nbgrader would take for several, or that would end its run for everybody.
UNTAKEN = (
    "*",
    "[h]alf",
    "d?n",
    "line\nbreak",
    "=1+1",
    "\x1b[31mred",
    '"aaa',
    "b,=1",
    *STAMPS,
)


@pytest.fixture(scope="module")
def graded(tmp_path_factory, sandbox_works) -> Path:
    """Return a course folder with a class, graded by the commands that we tell teachers."""
    folder = tmp_path_factory.mktemp("class")
    documented.copy_course(folder)
    half = answered("stable_softmax", "attention_scores")
    submitted, left = (
        f"grading/{part}/{{}}/{LESSON}" for part in ("submitted", "autograded")
    )
    for place, notebook in {
        submitted.format("damaged"): '{"cells": [',
        submitted.format("half"): half,
        submitted.format("no_checks"): without_checks(),
        submitted.format("loud_cell"): shouting(),
        submitted.format("loud_format"): shouting(nbformat=ESCAPE),
        submitted.format("loud_language"): shouting(
            metadata={"language_info": {"name": f"R{ESCAPE}"}}
        ),
        submitted.format("raider"): raiding(folder / GRADEBOOK),
        submitted.format("untouched"): exercise(),
        submitted.format("vandal"): vandalized(),
        left.format("half"): half,  # by a run that was killed
    }.items():
        text = notebook if isinstance(notebook, str) else json.dumps(notebook)
        (folder / place).mkdir(parents=True)
        (folder / place / f"{LESSON}.ipynb").write_text(text, encoding="utf-8")
    linking = folder / submitted.format("linking")
    (linking / "more").mkdir(parents=True)
    (folder / "secret.txt").write_text("of the teacher")
    (linking / f"{LESSON}.ipynb").symlink_to(
        ROOT / "solutions" / LESSON / f"{LESSON}.ipynb"
    )
    (linking / "more" / "notes.txt").symlink_to(folder / "secret.txt")
    for name in UNTAKEN:
        shutil.copytree(folder / submitted.format("half"), folder / submitted.format(name))
    for name, stamp in STAMPS.items():
        (folder / submitted.format(name) / "timestamp.txt").write_text(stamp)
    half = folder / submitted.format("half")
    (half / "timestamp.txt").write_text("2026-10-01 18:30:00 UTC")
    (half / "[s]").mkdir()
    (half / "[s]/.zero").symlink_to("/dev/zero")
    os.mkfifo(half / "\x1b[31mred.txt")
    for odd in ("\x1b[31mred.ipynb", "a\n[AutogradeApp | INFO] forged.ipynb"):
        (half / odd).write_text(json.dumps(exercise()))
    (half / "gone.txt").symlink_to("nowhere")
    environment: dict[str, str] = {}
    first, second, *_ = documented.blocks("With nbgrader")
    documented.run_all(first, folder, environment)
    said = "".join(documented.run_all(second, folder, environment))
    assert said.count("was not finished") == 1
    assert said.count("Passed over: ") == len(UNTAKEN) + 2
    assert "\n[AutogradeApp | INFO] forged" not in said
    assert "0;title" in said
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", said)
    return folder


@pytest.mark.slow
def test_the_documented_commands_leave_the_exercise_as_it_was(graded):
    path = Path("exercises", LESSON, f"{LESSON}.ipynb")
    assert (graded / path).read_bytes() == (ROOT / path).read_bytes()


@pytest.mark.slow
def test_each_learner_has_the_right_marks_in_the_exported_csv(graded):
    with (graded / "grading/grades.csv").open(newline="") as file:
        rows = {row["student_id"]: row for row in csv.DictReader(file)}
    scores = {learner: float(row["score"]) for learner, row in rows.items()}
    full = dict.fromkeys(("no_checks", "vandal"), 10)
    none = dict.fromkeys(("damaged", "linking", "untouched", *LOUD), 0)
    assert scores == full | none | {"half": 3, "raider": 2}
    assert {float(row["max_score"]) for row in rows.values()} == {10}


@pytest.mark.slow
def test_only_the_notebook_and_its_time_are_copied(graded):
    made = graded / "grading/autograded/half" / LESSON
    assert sorted(path.name for path in made.iterdir()) == [
        f"{LESSON}.ipynb",
        "timestamp.txt",
    ]
    assert (made / "timestamp.txt").read_text() == "2026-10-01 18:30:00 UTC"


@pytest.mark.slow
def test_the_gradebook_is_whole_and_nothing_waits_for_a_person(graded):
    with sqlite3.connect(graded / GRADEBOOK) as book:
        assert book.execute("pragma integrity_check").fetchall() == [("ok",)]
        query = "select auto_score, manual_score, needs_manual_grade from grade"
        grades = book.execute(query).fetchall()
    assert len(grades) == 10 * 4
    assert all(score is not None for score, _, _ in grades)
    assert {(by_hand, waits) for _, by_hand, waits in grades} == {(None, 0)}


@pytest.mark.slow
def test_the_feedback_shows_the_verdicts_and_why_a_file_could_not_be_read(graded):
    found = (graded / "grading" / "feedback").glob(f"*/{LESSON}/*.html")
    pages = {page.parts[-3]: page.read_text(encoding="utf-8") for page in found}
    assert len(pages) == 10
    assert pages["no_checks"].count('data-status="passed"') == 4
    assert pages["half"].count('data-status="passed"') == 2
    assert pages["untouched"].count('data-status="not attempted"') == 4
    assert pages["damaged"].count("This notebook could not be read") == 1 + 4
    assert "Nothing in the notebook" not in pages["damaged"]
    assert "it is a link" in pages["linking"]
    made = [*(graded / "grading").glob("[af]*/linking/**/*")]
    assert len(made) == 4  # a folder and a file in each: the notebook and its page
    assert not [path for path in made if path.name == "notes.txt"]
    assert not any("NoSuchKernel" in page for page in pages.values())
    assert not any("says the teacher" in page for page in pages.values())


@pytest.mark.nightly
def test_without_a_seed_it_refuses_and_changes_nothing(graded):
    shutil.rmtree(graded / "grading" / "autograded", ignore_errors=True)
    before = (graded / GRADEBOOK).read_bytes()
    done = documented.run(f"nbgrader autograde {LESSON}", graded)
    assert done.returncode == 1
    assert "c.SandboxedJudge.seed" in done.stderr
    assert "Traceback" not in done.stderr
    assert (graded / GRADEBOOK).read_bytes() == before
    assert not (graded / "grading" / "autograded").exists()
