"""The instructor's command: what it says, what it refuses, what it hands out."""

import csv
import json
import os
import re
import shlex
import subprocess
import sys
import zipfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from filelock import FileLock

from attn_lib.grading import __main__ as command
from attn_lib.grading import doctor
from attn_lib.grading.__main__ import main
from attn_lib.grading.arguments import SEED
from attn_lib.grading.batch import grade_class
from attn_lib.grading.grade import Report, grade_submission
from attn_lib.grading.keep import course_version
from attn_lib.grading.refused import Refused
from attn_lib.grading.release import _notebooks, release
from attn_lib.grading.workers import Done
from tests.grading import documented
from tests.grading.fakes import full_marks
from tests.grading.judging import EXERCISE, ROOT, SOLUTION, class_of
from tests.grading.test_batch import told
from tests.grading.test_roster import CANVAS, MOODLE

ONE = {"ada/01_single_head.ipynb": SOLUTION}


@pytest.fixture(autouse=True)
def no_seed_of_this_machine(monkeypatch):
    monkeypatch.delenv(SEED, raising=False)


@pytest.fixture
def graded_without_running(monkeypatch, in_this_process):
    """Let the command do everything but the grading itself."""
    monkeypatch.setattr(command, "grade_class", partial(grade_class, grade=full_marks))
    monkeypatch.setattr(command, "check_sandbox", lambda: None)


@pytest.fixture
def without_bubblewrap(monkeypatch):
    monkeypatch.setattr("attn_lib.grading.sandbox.shutil.which", lambda name: None)


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
    with pytest.raises(SystemExit, match="0"):
        main([*arguments, "--help"])
    said = capsys.readouterr().out
    assert "python -m attn_lib.grading" in said
    assert arguments or "\n3 done, but something failed" in said


@pytest.mark.parametrize(
    ("asked", "strict", "where"),
    [
        ("", False, {"processes": 3}),
        ("--strict --jobs 2", True, {"processes": 2}),
        ("--jobs 9 --unsafe", False, {"processes": 4}),
        ("--strict --dask tcp://x:1", True, {"address": "tcp://x:1"}),
    ],
)
def test_what_is_asked_for_reaches_the_workers(
    tmp_path, monkeypatch, capsys, asked, strict, where
):
    given, checked, unsafe = [], [], "unsafe" in asked

    def outcomes(todo, read, grade, **options):
        version, judge = grade.args
        assert (version, judge.func) == (course_version(), grade_submission)
        given.append(options | judge.keywords)
        return (Done(job, full_marks(read(job), job.lesson, seed=7)) for job in todo)

    for name in ("on_this_machine", "on_cluster"):
        monkeypatch.setattr(f"attn_lib.grading.batch.{name}", outcomes)
    monkeypatch.setattr("attn_lib.grading.batch.cores", lambda: 3)
    monkeypatch.setattr(command, "check_sandbox", lambda: checked.append(1))
    monkeypatch.setitem(sys.modules, "distributed", None if "dask" not in asked else sys)
    folder, out = told(tmp_path / "class", 4), tmp_path / "out"
    line = ["grade", str(folder), "--out", str(out), "--seed", "7"]
    assert main([*line, *asked.split()]) == 0
    assert len(checked) == (not unsafe and "dask" not in asked)
    assert capsys.readouterr().err.startswith("WARNING: --unsafe. Submissions") == unsafe
    assert main([*line, *asked.split()]) == 0  # all is kept
    where |= {"folder": out / ".work"} if "processes" in where else {}
    assert given == [where | {"seed": 7, "unsafe": unsafe, "strict": strict}]
    assert main([*line, *([] if strict else ["--strict"])]) == 0
    assert len(given) == 2  # with and without --strict are kept apart


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("", "COMMAND"),
        ("grade x", "--out"),
        ("release --lesson 1", "--out"),
        ("grade x --out y --lesson 99", "invalid choice: 99 (choose from 1, 2"),
        ("grade x --out y --lesson x", "invalid int"),
        ("grade x --out y --seed -1", "whole number"),
        (f"grade x --out y --seed {2**128}", "whole number"),
        ("grade x --out y --late-penalty 101", "from 0 to 100"),
        ("grade x --out y --late-penalty x", "from 0 to 100"),
        ("grade x --out y --deadline soon", "write a time"),
        ("grade x --out y --jobs x", "from 1 to"),
        ("grade x --out y --jobs 0", "from 1 to"),
    ],
)
def test_wrong_arguments_are_named(arguments, said, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(arguments.split())
    assert said in capsys.readouterr().err


@pytest.mark.usefixtures("without_bubblewrap")
def test_without_bubblewrap_it_refuses_and_says_what_to_install(tmp_path, capsys):
    folder = class_of(tmp_path / "class", ONE)
    assert main(["grade", str(folder), "--out", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    for part in ("sudo apt install bubblewrap", "--unsafe", "YOUR rights"):
        assert part in said
    assert not (tmp_path / "out").exists()


def test_the_seed_is_drawn_once_and_kept(grade, tmp_path, capsys, monkeypatch):
    def seed(*more):
        assert grade(*more) == 0
        return json.loads((tmp_path / "out/grades.json").read_bytes())["seed"]

    first = seed()
    assert first > 2**64  # once in 10^19 times it is not
    assert seed() == first
    assert f"seed {first}" in capsys.readouterr().out
    monkeypatch.setenv(SEED, "12")
    assert seed() == first
    assert f"seed.txt counts, not {SEED}" in capsys.readouterr().err
    assert seed("--seed", "11") == 11
    (tmp_path / "out/seed.txt").unlink()
    assert seed() == 12
    assert (tmp_path / "out").stat().st_mode & 0o077 == 0


def test_a_run_that_has_to_wait_leaves_the_seed_of_the_other_alone(grade, tmp_path, capsys):
    assert grade("--seed", "11") == 0
    with FileLock(tmp_path / "out/.lock"):
        assert grade("--seed", "12") == 1
    assert "Another run" in capsys.readouterr().err
    assert (tmp_path / "out/seed.txt").read_text() == "11\n"


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


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("nowhere --out out", "There is no folder"),
        ("class --out class/ada/..", "choose a folder beside it"),
        ("class/ada/.. --out class", "choose a folder beside it"),
        ("class --out class/ada", "choose a folder beside it"),
        (
            "empty --out out",
            "Nothing was handed in: there is no notebook in empty. Passed over",
        ),
        ("class --out out --roster moodle.csv --lesson 1 --lesson 2", "with one number"),
        ("class --out out --roster canvas.csv", "A roster needs --lesson"),
        ("class --out out --late-penalty 10", "needs a --deadline"),
        ("class --out out --dask tcp://127.0.0.1:9", "attention-from-scratch[dask]"),
        ("class --out out", f"{SEED}='my seed'"),
    ],
)
@pytest.mark.usefixtures("graded_without_running")
def test_what_cannot_be_done_is_refused(tmp_path, monkeypatch, capsys, arguments, said):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(SEED, "my seed" if SEED in said else "1")
    monkeypatch.setitem(sys.modules, "distributed", None)
    class_of(tmp_path, {"empty/bob.zip": b"PK", "moodle.csv": MOODLE.encode()})
    class_of(tmp_path, {"canvas.csv": CANVAS.encode()})
    class_of(tmp_path / "class", ONE)
    assert main(["grade", *arguments.split()]) == 1
    assert said in capsys.readouterr().err
    assert [path.name for path in Path("class").iterdir()] == ["ada"]


def test_what_is_passed_over_is_named(grade, tmp_path, capsys):
    class_of(tmp_path / "class", {"bob.zip": b"PK"})
    assert grade() == 0
    said = capsys.readouterr().out
    assert "! Passed over, being neither notebooks nor folders: bob.zip." in said
    assert "Notebooks: 1, learners: 1" in said


def test_no_name_begins_a_line_on_the_screen(grade, tmp_path, capsys, monkeypatch):
    blanks, forged = "\u2800" * 25 + "\u3164" * 20, "! ada, lesson 1: Set by hand: 0 points"
    class_of(
        tmp_path / "class", {f"x{blanks}{forged}.txt": b"", f"{'y' * 29}{forged}": b""}
    )
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert grade() == 0
    said = capsys.readouterr().out.splitlines()
    assert [line[:20] for line in said if line.startswith("! ")] == ["! Passed over, being"]
    place = said.index(next(line for line in said if line.startswith("! ")))
    assert all(line.startswith("    ") for line in said[place + 1 : -1])


def test_overrides_of_another_lesson_do_not_matter(grade, tmp_path, capsys):
    head = "learner,lesson,task,points,reason\n"
    class_of(tmp_path / "out", {"overrides.csv": f"{head}eve,1,,1,\n".encode()})
    assert grade() == 1
    said = capsys.readouterr()
    assert "! overrides.csv, line 2: nobody called eve" in said.out
    assert "Not all that you wrote by hand" in said.err
    assert (tmp_path / "out/grades.csv").exists()
    class_of(tmp_path / "out", {"overrides.csv": f"{head}eve,2,,1,\n".encode()})
    assert grade("--lesson", "1") == 0


def test_what_fails_here_has_an_exit_status_of_its_own(grade, monkeypatch, capsys):
    def full(*arguments):
        raise OSError(28, "No space left on device", "there")

    def interrupted(*arguments):
        raise KeyboardInterrupt

    def failed(jobs, *arguments, **options):
        return (Done(job, failure="full") for job in jobs)

    for place, fails, status, said in (
        ("batch.on_this_machine", failed, 3, "run the same command again"),
        ("__main__.write_reports", full, 1, "there: No space left on device"),
        ("__main__.write_reports", interrupted, 130, "command goes on from here"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(f"attn_lib.grading.{place}", fails)
            assert grade("--seed", "1") == status
        assert said in capsys.readouterr().err
    assert grade("--seed", "1") == 0


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox_works")
def test_the_command_itself_grades_a_class(tmp_path):
    files = ONE | {"bob.ipynb": EXERCISE, "cut_01.ipynb": SOLUTION[:99], "=x_01.ipynb": b""}
    documented.copy_course(tmp_path)
    class_of(tmp_path / "grading/submitted", files)
    [line] = [x for b in documented.blocks("Without nbgrader") for x in b if " grade " in x]
    [said] = documented.run_all([line], tmp_path, {})
    assert "100%" in said
    assert "cut, lesson 1: It is not valid JSON" in said
    out = tmp_path / "grading/results"
    assert [(line["learner"], line["total"]) for line in lines_of(out)] == [
        ("'=x", "0"), ("ada", "10"), ("bob", "0"), ("cut", "0"),
    ]  # fmt: skip
    assert len(list((out / "feedback").iterdir())) == 4
    assert "Lesson 01" in (out / "class.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_release_holds_what_a_learner_needs_and_no_answers(tmp_path, capsys):
    path = tmp_path / "to" / "the" / "class.zip"
    assert main(["release", "--out", str(path), "--lesson", "1"]) == 0
    *listed, about = capsys.readouterr().out.splitlines()
    notebooks = "notebooks/00_start_here.ipynb", "notebooks/01_single_head.ipynb"
    assert listed == ["exercises/01_single_head/01_single_head.ipynb", *notebooks]
    assert f"{path}: " in about
    with zipfile.ZipFile(path) as archive:
        names = [n.removeprefix("attention-from-scratch/") for n in archive.namelist()]
        archive.extractall(tmp_path / "there")
    assert [name for name in names if name.endswith(".ipynb")] == listed
    assert {"README.md", "Makefile", "requirements.txt", "scripts/set_up.py"} <= {*names}
    for part in ("solutions", "tests", ".git", "attn_lib/grading", "nbgrader_config"):
        assert not [n for n in names if n.startswith(part) or "__pycache__" in n]
    there = tmp_path / "there" / "attention-from-scratch"
    readme = (there / "README.md").read_text(encoding="utf-8")
    assert "(notebooks/01_single_head.ipynb)" in readme
    assert "(https://" in readme
    assert "Masks" in readme
    assert "## What to hand in" in readme
    for missing in ("make test", "attn_lib.grading", "solutions/", "uvx", "git pull"):
        assert missing not in readme
    made = subprocess.run(["make", "-C", there], capture_output=True, text=True)
    targets = re.findall(r"^make (\w+)", made.stdout, re.MULTILINE)
    assert targets == ["help", "lab", "models"]
    told = subprocess.run(
        [sys.executable, "-m", "scripts.translate_notebooks"],
        cwd=there,
        env=os.environ | {"PYTHONPATH": ".", "ATTN_LANGUAGE": "zh"},
        capture_output=True,
        text=True,
    )
    assert told.returncode == 0, told.stderr
    assert (there / "zh/exercises/01_single_head/01_single_head.ipynb").exists()
    for place in (there / "README.md", *there.glob("**/*.ipynb")):
        for link in re.findall(r"\]\((?!\w+:|#)([^)#\s]+)", _text(place)):
            assert (place.parent / link).exists(), (place, link)
    code = "from attn_lib.checks import check; import attn_lib.plotting; check('attention')"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=there,
        env=os.environ | {"PYTHONPATH": "."},
        capture_output=True,
        text=True,
    )
    assert "Not attempted: attention" in ran.stdout, ran.stderr


def test_a_release_holds_only_what_git_knows_and_no_links(tmp_path):
    root = tmp_path / "course"
    subprocess.run(
        ["git", "clone", "-q", "--depth", "1", f"file://{ROOT}", root], check=True
    )
    (root / "attn_lib/grades_2026.csv").write_text("ada,10")
    (root / "attn_lib/data/link.csv").symlink_to(tmp_path)
    names = release(tmp_path / "class.zip", [1], root)
    assert not [name for name in names if "grades_2026" in name or "link.csv" in name]
    assert "attn_lib/attention.py" in names


def _text(path: Path) -> str:
    """Return the prose of a README or a notebook."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return text
    cells = json.loads(text)["cells"]
    return "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")


def test_the_same_course_gives_the_same_bytes(tmp_path):
    a, b = tmp_path / "a.zip", tmp_path / "b.zip"
    assert main(["release", "--out", str(a), "--lesson", "2", "3"]) == 0
    release(b, [3, 2])
    assert a.read_bytes() == b.read_bytes()
    with zipfile.ZipFile(a) as archive:
        for entry in archive.infolist():  # of no time, and of no system
            assert entry.date_time == (1980, 1, 1, 0, 0, 0)
            assert (entry.create_system, entry.external_attr) == (3, 0o100644 << 16)
    made = [name for name in _notebooks(ROOT, None) if name.startswith("exercises/")]
    assert len(made) == len(list(ROOT.glob("exercises/[0-9]*/[0-9][0-9]_*[a-z].ipynb")))


def test_a_release_is_of_lessons_that_exist(tmp_path, capsys):
    assert main(["release", "--out", str(tmp_path / "a.zip"), "--lesson", "1", "99"]) == 1
    assert "There is no lesson 99; there are 00, 01, 02," in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_exercise_with_an_answer_in_it_is_not_handed_out(tmp_path):
    exercise = "exercises/01_single_head/01_single_head.ipynb"
    class_of(tmp_path, {"notebooks/00_start_here.ipynb": b"", exercise: EXERCISE})
    answered = EXERCISE.replace(b'  raise NotImplementedError"', b'  return x"', 1)
    for content, why in (
        (SOLUTION, "holds an answer"),
        (answered, "in the cell stable_softmax"),
        (EXERCISE, "Makefile is missing"),
    ):
        (tmp_path / exercise).write_bytes(content)
        with pytest.raises(Refused, match=why):
            release(tmp_path / "a.zip", root=tmp_path)
    with pytest.raises(Refused, match="no notebooks"):
        release(tmp_path / "a.zip", root=tmp_path / "notebooks")


def test_the_doctor_knows_which_python_and_torch_fit(monkeypatch):
    for version, fits in (((3, 10, 9), False), ((3, 11, 0), True), ((3, 14, 0), False)):
        monkeypatch.setattr(sys, "version_info", version)
        fine, text = next(doctor.examine())
        assert (fine, text.endswith("is needed")) == (fits, not fits)
    monkeypatch.setattr("torch.__version__", "2.0.1+cpu")
    for pins, said in (
        (["numpy", "torch==2.0.1"], (True, "torch 2.0.1")),
        (["torch==2.0.2"], (False, "torch 2.0.1: the course needs 2.0.2")),
        (None, (True, "torch 2.0.1")),
    ):
        monkeypatch.setattr("importlib.metadata.requires", lambda name, pins=pins: pins)
        assert doctor._torch() == said


@pytest.mark.parametrize(
    ("solved", "untouched", "problem", "said"),
    [
        (10, 0, "", "gets 0 of 10 points"),
        (8, 0, "", "the solution gets 8 of 10 points, not 10. stable_softmax: why"),
        (10, 0, "a flaw", "the solution gets 10 of 10 points, not 10. a flaw"),
        (10, 10, "", "the untouched exercise gets 10 of 10 points, not 0"),
    ],
)
@pytest.mark.parametrize(("unsafe", "quick"), [(True, True), (False, True), (False, False)])
def test_the_doctor_says_what_our_own_notebooks_got(
    solved, untouched, problem, said, unsafe, quick, monkeypatch, capsys
):
    def graded(data, lesson, *, seed, unsafe):
        left = solved if data == SOLUTION else untouched
        tasks = []
        for task in reversed(full_marks(data, lesson, seed=seed).tasks):
            tasks.insert(0, replace(task, points=min(left, task.points), message="why"))
            left -= tasks[0].points
        return Report(lesson, seed, problem, tuple(tasks))

    monkeypatch.setattr(doctor, "grade_submission", graded)
    monkeypatch.setattr(doctor, "check_sandbox", lambda: None)
    monkeypatch.setattr(doctor, "keeps_fork_server", lambda: quick)
    fine = (solved, untouched, problem) == (10, 0, "")
    assert main(["doctor", "--lesson", "1", *["--unsafe"] * unsafe]) == 1 - fine
    found = capsys.readouterr()
    sandbox = "bubblewrap is not asked for" if unsafe else "bubblewrap keeps submissions in"
    for part in (f"{'✓' if fine else '✗'} lesson 01: ", said, f"✓ {sandbox}"):
        assert part in found.out
    assert ("Grading works here." in found.out) == fine
    assert ("submissions start quickly" in found.out) == (quick and not unsafe)
    assert ("each submission takes some seconds" in found.out) == (not quick and not unsafe)
    assert found.err.startswith("WARNING") == unsafe


@pytest.mark.usefixtures("without_bubblewrap")
def test_the_doctor_says_what_is_missing(capsys):
    assert main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert "✗ Grading runs what learners hand in, and needs bubblewrap" in said
    assert "✗ the solutions were not graded, for want of a sandbox" in said
    assert said.endswith("Grading does not work here yet: see ✗.\n")
