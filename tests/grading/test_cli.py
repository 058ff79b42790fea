"""The instructor's command: what it says, what it refuses, what it hands out."""

import csv
import json
import os
import shlex
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock

from attn_lib.grading import __main__ as command
from attn_lib.grading import doctor
from attn_lib.grading.__main__ import main
from attn_lib.grading.arguments import SEED, parser
from attn_lib.grading.batch import grade_class
from attn_lib.grading.release import CannotRelease, release
from attn_lib.grading.sandbox import NoSandbox, keeps_fork_server
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


@pytest.fixture
def grade(tmp_path, graded_without_running):
    """Run the command on a class of one, with more arguments; return its exit status."""
    command = ["grade", class_of(tmp_path / "class", ONE), "--out", tmp_path / "out"]
    return lambda *more: main([str(part) for part in (*command, *more)])


def lines_of(out):
    text = (out / "grades.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


@pytest.mark.parametrize("arguments", [[], ["grade"], ["release"], ["doctor"]], ids=str)
def test_help_explains_itself(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert "python -m attn_lib.grading" in said
    assert arguments or "\n3 done, but something failed" in said


def test_an_option_that_is_not_given_changes_nothing():
    asked = vars(parser().parse_args(["grade", "class", "--out", "out"]))
    assert asked == {
        "command": "grade", "folder": Path("class"), "out": Path("out"), "lesson": None, "roster": None,
        "deadline": None, "late_penalty": 0.0, "strict": False, "seed": None, "jobs": 0, "dask": "",
        "unsafe": False,
    }  # fmt: skip


def test_what_is_asked_for_reaches_what_grades(tmp_path, monkeypatch):
    given = {}

    def grade_class(folder, out, **options):
        given.update(options, folder=folder, out=out)
        return []

    monkeypatch.setattr(command, "grade_class", grade_class)
    monkeypatch.setattr(command, "_refused", lambda options: "")
    (tmp_path / "roster.csv").write_text("id,name\n1,Ada\n")
    line = f"--lesson 1 --roster {tmp_path}/roster.csv --strict --jobs 5 --dask tcp://x:1 --unsafe --seed 7"
    assert main(["grade", str(tmp_path), "--out", f"{tmp_path}/out", *line.split()]) == 1
    assert given.pop("roster").people[0].name == "Ada"
    assert given == {
        "folder": tmp_path, "out": tmp_path / "out", "seed": 7, "lesson": 1, "jobs": 5,
        "dask": "tcp://x:1", "unsafe": True, "strict": True,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["grade", "x"], "--out"),
        (["grade", "x", "--out", "y", "--lesson", "99"], "no such lesson"),
        (["grade", "x", "--out", "y", "--lesson", "x"], "no such lesson"),
        (["grade", "x", "--out", "y", "--seed", "-1"], "whole number"),
        (["grade", "x", "--out", "y", "--seed", str(2**63)], "whole number"),
        (["grade", "x", "--out", "y", "--late-penalty", "101"], "from 0 to 100"),
        (["grade", "x", "--out", "y", "--late-penalty", "x"], "from 0 to 100"),
        (["grade", "x", "--out", "y", "--deadline", "soon"], "write a time"),
        (["grade", "x", "--out", "y", "--jobs", "x"], "from 1 on"),
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


def test_the_seed_is_drawn_once_and_kept(grade, tmp_path, capsys, monkeypatch):
    def seed(*more):
        assert grade(*more) == 0
        return json.loads((tmp_path / "out/grades.json").read_bytes())["seed"]

    first = seed()
    assert seed() == first
    assert f"seed {first}" in capsys.readouterr().out
    monkeypatch.setenv(SEED, "my seed")
    assert grade() == 1
    assert SEED in capsys.readouterr().err
    monkeypatch.setenv(SEED, "12")
    assert seed() == 12
    assert seed("--seed", "11") == 11
    assert (tmp_path / "out").stat().st_mode & 0o077 == 0


@pytest.mark.usefixtures("graded_without_running")
def test_results_inside_of_the_class_are_no_submission(tmp_path):
    folder = class_of(tmp_path, ONE)
    for out in ("results", "results/../results"):
        assert main(["grade", str(folder), "--out", f"{folder}/{out}"]) == 0
    assert (
        len((folder / "results/grades.csv").read_text(encoding="utf-8").splitlines()) == 2
    )


def test_a_run_that_has_to_wait_leaves_the_seed_of_the_other_alone(grade, tmp_path, capsys):
    assert grade("--seed", "11") == 0
    with FileLock(tmp_path / "out/.lock"):
        assert grade("--seed", "12") == 1
    assert "Another run" in capsys.readouterr().err
    assert (tmp_path / "out/seed.txt").read_text() == "11\n"


@pytest.mark.usefixtures("graded_without_running")
def test_the_results_do_not_go_among_the_submissions(tmp_path, capsys):
    folder = class_of(tmp_path, ONE)
    assert main(["grade", str(folder), "--out", f"{folder}/ada/.."]) == 1
    assert "choose another" in capsys.readouterr().err
    assert main(["grade", f"{folder}/ada/..", "--out", str(folder)]) == 1
    assert [path.name for path in folder.iterdir()] == ["ada"]


@pytest.mark.usefixtures("graded_without_running")
def test_loose_files_that_are_no_notebooks_are_named(tmp_path, capsys):
    folder = class_of(tmp_path / "class", {"bob.zip": b"PK"})
    arguments = ["grade", str(folder), "--out", str(tmp_path / "out")]
    assert main(arguments) == 1
    assert "bob.zip" in capsys.readouterr().err
    class_of(folder, ONE)
    assert main(arguments) == 0
    said, errors = capsys.readouterr()
    assert "WARNING" not in errors
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


def test_what_does_not_fit_together_is_refused(grade, tmp_path, capsys):
    (tmp_path / "moodle.csv").write_text(MOODLE, encoding="utf-8")
    assert grade("--roster", tmp_path / "moodle.csv") == 1
    assert "add --lesson" in capsys.readouterr().err
    assert grade("--late-penalty", "10") == 1
    assert "needs a --deadline" in capsys.readouterr().err
    assert grade() == 0
    overrides = tmp_path / "out/overrides.csv"
    overrides.write_text("learner,lesson,task,points,reason\neve,1,,1,\n")
    assert grade() == 1
    assert "line 2: nobody called eve" in capsys.readouterr().err
    overrides.write_text("learner,lesson,task,points,reason\neve,2,,1,\n")
    assert grade("--lesson", "1") == 0  # it is about another lesson


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


def test_what_fails_here_has_an_exit_status_of_its_own(grade, monkeypatch, capsys):
    def full(*arguments):
        raise OSError(28, "No space left on device", "there")

    def interrupted(*arguments):
        raise KeyboardInterrupt

    for place, fails, status, said in (
        ("batch.read", full, 3, "run the same command again"),
        ("__main__.write_reports", full, 1, "there: No space left on device"),
        ("__main__.write_reports", interrupted, 130, "command goes on from here"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(f"attn_lib.grading.{place}", fails)
            assert grade("--seed", "1") == status
        assert said in capsys.readouterr().err
    assert grade("--seed", "1") == 0


def test_dask_that_is_not_installed_is_said(grade, monkeypatch, capsys):
    def missing():
        raise NoSandbox("needed by the workers only")

    monkeypatch.setattr(command, "check_sandbox", missing)
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert grade("--dask", "tcp://127.0.0.1:9") == 1
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
    path = tmp_path / "to" / "the" / "class.zip"
    assert main(["release", str(path), "--lesson", "1"]) == 0
    *listed, about = capsys.readouterr().out.splitlines()
    assert listed == [
        "exercises/01_single_head/01_single_head.ipynb",
        "notebooks/00_start_here.ipynb",
        "notebooks/01_single_head.ipynb",
    ]
    assert f"{path}: " in about
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
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        entries = archive.infolist()
    assert {(e.date_time, e.create_system, e.external_attr, e.compress_type) for e in entries} == {
        ((1980, 1, 1, 0, 0, 0), 3, 0o100644 << 16, zipfile.ZIP_DEFLATED)
    }  # fmt: skip
    made = {e.filename for e in entries if "/exercises/" in e.filename}
    assert len(made) == len(list(ROOT.glob("exercises/[0-9]*/[0-9][0-9]_*[a-z].ipynb")))


def test_a_release_needs_one_name_and_lessons_that_exist(tmp_path, capsys):
    path = str(tmp_path / "a.zip")
    assert main(["release"]) == 2
    assert main(["release", path, "--out", path]) == 2
    assert main(["release", path, "--lesson", "1", "99"]) == 1
    assert "There is no lesson 99; there are 00, 01, 02," in capsys.readouterr().err
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
    with pytest.raises(CannotRelease, match="Makefile is missing"):
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
    assert "bubblewrap keeps submissions in" in said
    assert ("submissions start quickly" in said) == keeps_fork_server()
    assert "Grading works here." in said


@pytest.mark.parametrize(
    ("version", "fits"),
    [((3, 10, 9), False), ((3, 11, 0), True), ((3, 13, 9), True), ((3, 14, 0), False), ((2, 12), False)],
)  # fmt: skip
def test_the_doctor_knows_which_python_fits(version, fits, monkeypatch):
    monkeypatch.setattr(sys, "version_info", version)
    fine, text = next(doctor.examine())
    assert (fine, text.endswith("is needed")) == (fits, not fits)


@pytest.mark.parametrize(
    ("pins", "said"),
    [
        (["numpy", "torch==2.0.1"], (True, "torch 2.0.1")),
        (["torch==2.0.2"], (False, "torch 2.0.1: the course needs 2.0.2")),
        (None, (True, "torch 2.0.1")),
    ],
)
def test_the_doctor_knows_which_torch_fits(pins, said, monkeypatch):
    monkeypatch.setattr("torch.__version__", "2.0.1+cpu")
    monkeypatch.setattr("importlib.metadata.requires", lambda name: pins)
    assert doctor._torch() == said


@pytest.mark.parametrize(
    ("kind", "points", "problem", "fine", "said"),
    [
        ("solutions", 10, "", True, "gets 10 of 10 points"),
        ("solutions", 8, "", False, "gets 8 of 10 points, not 10. stable_softmax: why"),
        ("solutions", 10, "a flaw", False, "not 10. a flaw"),
        ("exercises", 0, "", True, "gets 0 of 10 points"),
    ],
)
def test_the_doctor_says_what_our_own_notebooks_got(
    kind, points, problem, fine, said, monkeypatch
):
    def graded(data, lesson, *, seed, unsafe):
        assert unsafe
        report = full_marks(data, lesson, seed=seed)
        softmax, *others = report.tasks
        lost = {0: [replace(t, points=0) for t in others], 8: others, 10: others}[points]
        softmax = replace(softmax, points=2 * (points == 10), message="why")
        return replace(report, tasks=(*lost, softmax), problem=problem)

    monkeypatch.setattr(doctor, "grade_submission", graded)
    found = doctor._graded(kind, 1, True)
    assert found[0] is fine
    assert found[1].endswith(said)


def test_the_doctor_says_what_is_missing(monkeypatch, capsys):
    monkeypatch.setattr("attn_lib.grading.sandbox.shutil.which", lambda name: None)
    assert main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert "✗ Grading runs what learners hand in, and needs bubblewrap" in said
    assert "✗ the solutions were not graded, for want of a sandbox" in said
    assert said.endswith("Grading does not work here yet: see ✗.\n")


def test_the_doctor_finds_an_exercise_with_answers_in_it(monkeypatch, capsys):
    def all_right(data, lesson, *, seed, unsafe):
        return full_marks(data, lesson, seed=seed)

    monkeypatch.setattr("attn_lib.grading.doctor.grade_submission", all_right)
    assert main(["doctor", "--lesson", "1", "--unsafe"]) == 1
    said = capsys.readouterr()
    assert "✗ lesson 01: the untouched exercise gets 10 of 10 points, not 0" in said.out
    assert "✓ bubblewrap is not asked for (--unsafe)" in said.out
    assert "submission" not in said.out  # how they start in it is not said
    assert said.err.startswith("WARNING")
