"""The instructor's command: what it says, what it refuses, what it hands out."""

import csv
import json
import os
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from filelock import FileLock

from attn_lib.grading import __main__ as command
from attn_lib.grading.__main__ import main
from attn_lib.grading.arguments import SEED
from attn_lib.grading.batch import grade_class
from attn_lib.grading.release import CannotRelease, release
from attn_lib.grading.workers import Done
from tests.grading import documented
from tests.grading.fakes import full_marks
from tests.grading.test_batch import EXERCISE, SOLUTION, class_of, notebook
from tests.grading.test_roster import CANVAS, MOODLE

ROOT = Path(__file__).resolve().parents[2]
ONE = {"ada/01_single_head.ipynb": SOLUTION}


@pytest.fixture(autouse=True)
def no_seed_of_this_machine(monkeypatch):
    monkeypatch.delenv(SEED, raising=False)


@pytest.fixture
def graded_without_running(monkeypatch):
    """Let the command do everything but the grading itself."""

    def grade_class(*arguments, **options):
        return command_grade_class(*arguments, **options | {"jobs": 1, "grade": full_marks})

    command_grade_class = command.grade_class
    monkeypatch.setattr(command, "grade_class", grade_class)
    monkeypatch.setattr(command, "check_sandbox", lambda: None)


def lines_of(out):
    return list(
        csv.DictReader((out / "grades.csv").read_text(encoding="utf-8").splitlines())
    )


@pytest.mark.parametrize("arguments", [[], ["grade"], ["release"], ["doctor"]], ids=str)
def test_help_explains_itself(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--help"])
    assert ended.value.code == 0
    assert "python -m attn_lib.grading" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["grade", "x"], "--out"),
        (["grade", "x", "--out", "y", "--lesson", "99"], "no such lesson"),
        (["grade", "x", "--out", "y", "--seed", "-1"], "whole number"),
        (["grade", "x", "--out", "y", "--jobs", "0"], "from 1 on"),
        ([], "COMMAND"),
    ],
)
def test_wrong_arguments_are_named(arguments, said, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


# ----------------------------------------------------------------------------------- grade


def test_without_bubblewrap_it_refuses_and_says_what_to_install(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr("attn_lib.grading.sandbox.shutil.which", lambda name: None)
    folder = class_of(tmp_path / "class", ONE)
    assert main(["grade", str(folder), "--out", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    assert "sudo apt install bubblewrap" in said
    assert "--unsafe" in said
    assert "YOUR rights" in said
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_unsafe_is_said_loudly_and_grades_without_bubblewrap(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("attn_lib.grading.sandbox.shutil.which", lambda name: None)
    folder = class_of(tmp_path / "class", {"ada.ipynb": notebook()})
    out = tmp_path / "out"
    assert main(["grade", str(folder), "--out", str(out), "--unsafe", "--jobs", "1"]) == 0
    said = capsys.readouterr()
    assert said.err.startswith("WARNING: --unsafe. Submissions run WITHOUT a sandbox")
    assert "stable_softmax" in said.out
    [line] = lines_of(out)
    assert (line["learner"], line["total"]) == ("ada", "2")


@pytest.mark.usefixtures("graded_without_running")
def test_the_seed_is_drawn_once_and_kept(tmp_path, capsys, monkeypatch):
    arguments = [
        "grade",
        str(class_of(tmp_path / "class", ONE)),
        "--out",
        str(tmp_path / "out"),
    ]

    def seed():
        assert main(arguments) == 0
        return json.loads((tmp_path / "out/grades.json").read_text(encoding="utf-8"))[
            "seed"
        ]

    first = seed()
    assert seed() == first
    assert f"seed {first}" in capsys.readouterr().out
    monkeypatch.setenv(SEED, "12")
    assert seed() == 12
    arguments += ["--seed", "11"]
    assert seed() == 11
    assert (tmp_path / "out").stat().st_mode & 0o077 == 0


@pytest.mark.usefixtures("graded_without_running")
def test_a_seed_in_the_environment_that_is_no_number_is_an_error(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setenv(SEED, "my seed")
    folder = class_of(tmp_path / "class", ONE)
    assert main(["grade", str(folder), "--out", str(tmp_path / "out")]) == 1
    assert SEED in capsys.readouterr().err


@pytest.mark.usefixtures("graded_without_running")
def test_results_inside_of_the_class_are_no_submission(tmp_path):
    folder = class_of(tmp_path, ONE)
    for _ in range(2):
        assert main(["grade", str(folder), "--out", str(folder / "results")]) == 0
    assert (
        len((folder / "results/grades.csv").read_text(encoding="utf-8").splitlines()) == 2
    )


@pytest.mark.usefixtures("graded_without_running")
def test_a_run_that_has_to_wait_leaves_the_seed_of_the_other_alone(tmp_path, capsys):
    arguments = [
        "grade", str(class_of(tmp_path / "class", ONE)), "--out", str(tmp_path / "out"),
    ]  # fmt: skip
    assert main([*arguments, "--seed", "11"]) == 0
    with FileLock(tmp_path / "out/.lock"):
        assert main([*arguments, "--seed", "12"]) == 1
    assert "Another run" in capsys.readouterr().err
    assert (tmp_path / "out/seed.txt").read_text() == "11\n"


@pytest.mark.usefixtures("graded_without_running")
def test_the_results_do_not_go_among_the_submissions(tmp_path, capsys):
    folder = class_of(tmp_path, ONE)
    assert main(["grade", str(folder), "--out", f"{folder}/ada/.."]) == 1
    assert "choose another" in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["ada"]


@pytest.mark.usefixtures("graded_without_running")
def test_loose_files_that_are_no_notebooks_are_named(tmp_path, capsys):
    folder = class_of(tmp_path / "class", {"bob.zip": b"PK"})
    arguments = ["grade", str(folder), "--out", str(tmp_path / "out")]
    assert main(arguments) == 1
    assert "bob.zip" in capsys.readouterr().err
    class_of(folder, ONE)
    assert main(arguments) == 0
    said = capsys.readouterr().out
    assert "! Passed over, being neither notebooks nor folders: bob.zip." in said
    assert "Notebooks: 1, learners: 1" in said


@pytest.mark.usefixtures("graded_without_running")
def test_the_documented_options_do_what_is_said(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    class_of(tmp_path / "grading/submitted", ONE)
    os.utime(tmp_path / "grading/submitted/ada/01_single_head.ipynb", (2e9, 2e9))
    Path("class.csv").write_text(CANVAS.replace("8,al", "8,ada"), encoding="utf-8")
    lines = [
        shlex.split(line)[3:]
        for part in ("A roster, and the way back to Canvas or Moodle", "Late work")
        for [line] in documented.blocks(part)
    ]
    points = {}
    for number, arguments in enumerate(lines):
        assert main(arguments) == 0
        rows = lines_of(Path("grading/results"))
        points[number] = {row["learner"]: (row["id"], row["total"]) for row in rows}
    assert points == {
        0: {"'=Lovelace, Ada": ("8", "10"), "Hopper, Grace": ("7", "0")}, 1: {"ada": ("", "0")},
    }  # fmt: skip
    assert "0.00" in Path("grading/results/canvas.csv").read_text(encoding="utf-8")
    assert "100% of the points are lost" in capsys.readouterr().out


@pytest.mark.usefixtures("graded_without_running")
def test_what_does_not_fit_together_is_refused(tmp_path, capsys):
    folder, out = class_of(tmp_path / "class", ONE), tmp_path / "out"
    arguments = ["grade", str(folder), "--out", str(out)]
    (tmp_path / "moodle.csv").write_text(MOODLE, encoding="utf-8")
    assert main([*arguments, "--roster", str(tmp_path / "moodle.csv")]) == 1
    assert "add --lesson" in capsys.readouterr().err
    assert main([*arguments, "--late-penalty", "10"]) == 1
    assert "needs a --deadline" in capsys.readouterr().err
    assert main(arguments) == 0
    (out / "overrides.csv").write_text("learner,lesson,task,points,reason\neve,1,,1,\n")
    assert main(arguments) == 1
    assert "line 2: nobody called eve" in capsys.readouterr().err
    (out / "overrides.csv").write_text("learner,lesson,task,points,reason\neve,2,,1,\n")
    assert main([*arguments, "--lesson", "1"]) == 0  # it is about another lesson
    for wrong in (["--deadline", "soon"], ["--late-penalty", "101"]):
        with pytest.raises(SystemExit):
            main([*arguments, *wrong])


@pytest.mark.usefixtures("graded_without_running")
def test_strict_reaches_the_judge(tmp_path, monkeypatch):
    given = []

    def graded(data, lesson, *, seed, unsafe=False, strict=False):
        given.append(strict)
        return full_marks(data, lesson, seed=seed)

    def here(jobs, read, *, grade, **options):
        return (Done(job, grade(read(job), job.lesson, seed=1)) for job in jobs)

    monkeypatch.setattr("attn_lib.grading.batch.on_this_machine", here)
    folder = class_of(tmp_path / "class", ONE)
    for strict in (True, False, True):
        grade_class(folder, tmp_path / "out", seed=1, strict=strict, grade=graded)
    assert given == [True, False]  # and the two are kept apart


@pytest.mark.usefixtures("graded_without_running")
def test_nothing_to_grade_is_an_error(tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    assert main(["grade", str(tmp_path / "none"), "--out", str(tmp_path / "out")]) == 1
    assert main(["grade", str(tmp_path / "empty"), "--out", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    assert "There is no folder" in said
    assert "Nothing was handed in" in said


@pytest.mark.usefixtures("graded_without_running")
def test_what_fails_here_has_an_exit_status_of_its_own(tmp_path, monkeypatch, capsys):
    def full(*arguments):
        raise OSError(28, "No space left on device", "there")

    folder = class_of(tmp_path / "class", ONE)
    arguments = ["grade", str(folder), "--out", str(tmp_path / "out"), "--seed", "1"]
    with monkeypatch.context() as patch:
        patch.setattr("attn_lib.grading.batch.read", full)
        assert main(arguments) == 3
        assert "run the same command again" in capsys.readouterr().err
    with monkeypatch.context() as patch:
        patch.setattr(command, "write_reports", full)
        assert main(arguments) == 1
        assert "there: No space left on device" in capsys.readouterr().err
    with monkeypatch.context() as patch:
        patch.setattr(
            command, "write_reports", lambda *a: (_ for _ in ()).throw(KeyboardInterrupt)
        )
        assert main(arguments) == 130
    assert main(arguments) == 0


def test_dask_that_is_not_installed_is_said(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "distributed", None)
    folder = class_of(tmp_path / "class", ONE)
    arguments = [
        "grade",
        str(folder),
        "--out",
        str(tmp_path / "out"),
        "--dask",
        "tcp://127.0.0.1:9",
    ]
    assert main(arguments) == 1
    assert "attention-from-scratch[dask]" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox_works")
def test_the_command_itself_grades_a_class(tmp_path):
    files = ONE | {"bob.ipynb": EXERCISE, "cut_01.ipynb": SOLUTION[:99], "=x_01.ipynb": b""}
    documented.copy_course(tmp_path)
    class_of(tmp_path / "grading/submitted", files)
    [line] = [x for b in documented.blocks("Without nbgrader") for x in b if " grade " in x]
    [run] = documented.run([line], tmp_path, {})
    assert "100%" in run.stderr
    assert "cut, lesson 1: It is not valid JSON" in run.stdout
    out = tmp_path / "grading/results"
    assert [(line["learner"], line["total"]) for line in lines_of(out)] == [
        ("'=x", "0"), ("ada", "10"), ("bob", "0"), ("cut", "0"),
    ]  # fmt: skip
    assert len(list((out / "feedback").iterdir())) == 4
    assert "Lesson 01" in (out / "class.html").read_text(encoding="utf-8")


# --------------------------------------------------------------------------------- release


def test_a_release_holds_what_a_learner_needs_and_no_answers(tmp_path, capsys):
    path = tmp_path / "to" / "class.zip"
    assert main(["release", str(path), "--lesson", "1"]) == 0
    assert "exercises/01_single_head/01_single_head.ipynb" in capsys.readouterr().out
    with zipfile.ZipFile(path) as archive:
        names = {
            name.removeprefix("attention-from-scratch/") for name in archive.namelist()
        }
        archive.extractall(tmp_path / "there")
    notebooks = {name for name in names if name.endswith(".ipynb")}
    assert notebooks == {
        "notebooks/00_start_here.ipynb",
        "notebooks/01_single_head.ipynb",
        "exercises/01_single_head/01_single_head.ipynb",
    }
    assert {"README.md", "Makefile", "requirements.txt", "scripts/set_up.py"} <= names
    for part in ("solutions", "tests", ".git", "attn_lib/grading", "nbgrader_config"):
        assert not [name for name in names if name.startswith(part)]
    assert not [name for name in names if "__pycache__" in name]
    code = "from attn_lib.checks import check; import attn_lib.plotting; check('attention')"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path / "there" / "attention-from-scratch",
        env=os.environ | {"PYTHONPATH": "."},
        capture_output=True,
        text=True,
    )
    assert "Not attempted: attention" in ran.stdout, ran.stderr


def test_the_same_course_gives_the_same_bytes(tmp_path):
    for name in ("a.zip", "b.zip"):
        assert main(["release", "--out", str(tmp_path / name)]) == 0
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_a_release_needs_one_name_and_lessons_that_exist(tmp_path, capsys):
    path = str(tmp_path / "a.zip")
    assert main(["release"]) == 2
    assert main(["release", path, "--out", path]) == 2
    assert main(["release", path, "--lesson", "1", "99"]) == 1
    assert "There is no lesson 99" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_exercise_with_an_answer_in_it_is_not_handed_out(tmp_path):
    skip = shutil.ignore_patterns("__pycache__", "*.bak-*")
    for name in ("exercises", "notebooks"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=skip)
    exercise = tmp_path / "exercises/01_single_head/01_single_head.ipynb"
    content = json.loads(SOLUTION)
    exercise.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(CannotRelease, match="holds an answer"):
        release(tmp_path / "a.zip", root=tmp_path)
    answered = EXERCISE.decode().replace('  raise NotImplementedError"', '  return x"', 1)
    exercise.write_text(answered, encoding="utf-8")
    with pytest.raises(CannotRelease, match="in the cell stable_softmax"):
        release(tmp_path / "a.zip", root=tmp_path)
    exercise.write_bytes(EXERCISE)
    with pytest.raises(CannotRelease, match="LICENSE is missing"):
        release(tmp_path / "a.zip", root=tmp_path)
    with pytest.raises(CannotRelease, match="no notebooks"):
        release(tmp_path / "a.zip", root=tmp_path / "notebooks")


# ---------------------------------------------------------------------------------- doctor


@pytest.mark.usefixtures("sandbox_works")
def test_the_doctor_finds_nothing_wrong(capsys):
    assert main(["doctor", "--lesson", "1"]) == 0
    said = capsys.readouterr().out
    assert "✗" not in said
    assert "the solution gets 10 of 10 points" in said
    assert "the untouched exercise gets 0 of 10 points" in said


def test_the_doctor_says_what_is_missing(monkeypatch, capsys):
    monkeypatch.setattr("attn_lib.grading.sandbox.shutil.which", lambda name: None)
    assert main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert "✗ Grading runs what learners hand in, and needs bubblewrap" in said


def test_the_doctor_finds_an_exercise_with_answers_in_it(monkeypatch, capsys):
    def all_right(data, lesson, *, seed, unsafe):
        return full_marks(data, lesson, seed=seed)

    monkeypatch.setattr("attn_lib.grading.doctor.grade_submission", all_right)
    assert main(["doctor", "--lesson", "1", "--unsafe"]) == 1
    said = capsys.readouterr()
    assert "✗ lesson 01: the untouched exercise gets 10 of 10 points, not 0" in said.out
    assert said.err.startswith("WARNING")
