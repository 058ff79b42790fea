"""The command for instructors: python -m attn_lib.grading."""

import argparse
import contextlib
import os
import secrets
import sys
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from attn_lib.checks import tasks
from attn_lib.grading.alike import alike
from attn_lib.grading.attempts import attempts
from attn_lib.grading.batch import Busy, alone, grade_class
from attn_lib.grading.class_page import class_page
from attn_lib.grading.doctor import examine
from attn_lib.grading.find import passed_over
from attn_lib.grading.keep import write_whole
from attn_lib.grading.lateness import Deadline
from attn_lib.grading.lms import write_import
from attn_lib.grading.overrides import read_overrides, with_overrides
from attn_lib.grading.release import IN_IT, CannotRelease, release
from attn_lib.grading.reports import problems, table, write_reports
from attn_lib.grading.roster import BadTable, Roster, read_roster
from attn_lib.grading.row import Row
from attn_lib.grading.sandbox import NoSandbox, check_sandbox
from attn_lib.grading.workers import OtherVersion

SEED = "ATTN_GRADING_SEED"
UNSAFE = (
    "WARNING: --unsafe. Submissions run WITHOUT a sandbox, as ordinary processes with YOUR rights. They "
    "can read and delete your files, use the network, and read the solutions. Only for code that you "
    "trust."
)
EPILOG = """\
exit status: 0 done, whatever points there were; 1 it could not be done; 2 wrong arguments;
3 done, but something failed here that is not a learner's fault (run again); 130 interrupted"""


class BadSeed(ValueError):
    """The seed in the environment is no seed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks for; return the exit status."""
    options = _parser().parse_args(arguments)
    try:
        return options.do(options)
    except KeyboardInterrupt:
        print("\nInterrupted. The same command goes on from here.", file=sys.stderr)
        return 130
    except (NoSandbox, Busy, OtherVersion, CannotRelease, BadSeed, BadTable) as error:
        print(error, file=sys.stderr)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"{where}{error.strerror or error}", file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m attn_lib.grading",
        description="Grade a class: every submission in a sandbox, judged from outside of it.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    without = "run submissions WITHOUT a sandbox, with your rights"

    grade = commands.add_parser(
        "grade",
        help="grade a folder of notebooks",
        description="Grade a folder of notebooks. Writes grades.csv, grades.json, a page for each learner "
        "in feedback/, and class.html for you. Run it again to go on after an interruption, after new "
        "submissions, or after a change in overrides.csv: what is graded already is kept.",
        epilog="FOLDER holds <learner>/<lesson>/<notebook>.ipynb, <learner>/<any>.ipynb, "
        "<learner>_<anything>.ipynb or <learner>.ipynb. The lesson is found in the notebook, else in "
        "its name. Of several notebooks of one learner for one lesson, only the latest is graded. "
        + " ".join(EPILOG.split())
        + ".",
    )
    grade.add_argument("folder", type=Path, metavar="FOLDER")
    grade.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="for the results"
    )
    grade.add_argument(
        "--lesson",
        type=_lesson,
        metavar="N",
        help="only this one; also where it cannot be told",
    )
    grade.add_argument(
        "--roster",
        type=Path,
        metavar="CSV",
        help="the class: columns id and name, Canvas's gradebook, or Moodle's grading worksheet",
    )
    grade.add_argument(
        "--deadline",
        type=_time,
        metavar="TIME",
        help="note who was late: '2026-10-01 18:00', in your time zone",
    )
    grade.add_argument(
        "--late-penalty",
        type=_percent,
        default=0.0,
        metavar="PERCENT",
        help="of the points, for each day that has begun",
    )
    grade.add_argument(
        "--strict",
        action="store_true",
        help="no points for a right answer that calls a wrong one",
    )
    grade.add_argument(
        "--seed",
        type=_seed,
        metavar="S",
        help=f"of the inputs: a private number (else ${SEED}, else one that is drawn and kept in DIR)",
    )
    grade.add_argument(
        "--jobs",
        type=_positive,
        default=0,
        metavar="N",
        help="at a time (else one for each core)",
    )
    grade.add_argument(
        "--dask",
        default="",
        metavar="ADDRESS",
        help="use this dask cluster: tcp://host:8786",
    )
    grade.add_argument("--unsafe", action="store_true", help=without)
    grade.set_defaults(do=_grade)

    zipped = commands.add_parser(
        "release",
        help="make a zip for a class, without solutions",
        description=f"Make a zip for a class. In it: {IN_IT}.",
    )
    zipped.add_argument("file", nargs="?", type=Path, metavar="FILE.zip")
    zipped.add_argument("--out", type=Path, metavar="FILE.zip", help="the same")
    zipped.add_argument(
        "--lesson",
        type=int,
        nargs="+",
        action="extend",
        metavar="N",
        help="only these, and lesson 00 (else all)",
    )
    zipped.set_defaults(do=_release)

    doctor = commands.add_parser(
        "doctor",
        help="check that grading works here",
        description="Check Python, torch and bubblewrap; then grade the course's own solutions, which "
        "must get every point, and its untouched exercises, which must get none.",
    )
    doctor.add_argument(
        "--lesson", type=_lesson, nargs="+", action="extend", metavar="N", help="only these"
    )
    doctor.add_argument("--unsafe", action="store_true", help=without)
    doctor.set_defaults(do=_doctor)
    return parser


def _grade(options: argparse.Namespace) -> int:
    if options.unsafe:
        print(UNSAFE, file=sys.stderr)
    elif not options.dask:
        check_sandbox()
    if refused := _refused(options):
        print(refused, file=sys.stderr)
        return 1
    start = time.monotonic()
    roster = read_roster(options.roster) if options.roster else None
    if roster and roster.kind == "Moodle" and options.lesson is None:
        print("Moodle's worksheet is for one assignment: add --lesson.", file=sys.stderr)
        return 1
    with alone(options.out):
        overrides = read_overrides(options.out)
        seed = _remembered_seed(options.seed, options.out)
        rows = grade_class(
            options.folder,
            options.out,
            seed=seed,
            lesson=options.lesson,
            roster=roster,
            jobs=options.jobs,
            dask=options.dask,
            unsafe=options.unsafe,
            strict=options.strict,
        )
        if options.deadline:
            due = Deadline(options.deadline, options.late_penalty)
            rows = list(due.applied(rows, roster))
        rows = list(with_overrides(rows, overrides))
        files = _written(rows, roster, seed, options) if rows else []
    others = passed_over(options.folder, leave_out=options.out)
    if not rows:
        print(
            f"Nothing was handed in: there is no notebook in {options.folder}. {others}".rstrip(),
            file=sys.stderr,
        )
        return 1
    print(table(rows))
    for line in problems(rows):
        print(f"! {line}")
    if others:
        print(f"! {others}")
    count = sum(bool(file.sha256) for row in rows for file in row.files)
    learners = len({row.learner for row in rows})
    print(
        f"Notebooks: {count}, learners: {learners}, in {time.monotonic() - start:.0f} s, seed {seed}. "
        f"In {options.out}: {', '.join(files)}."
    )
    if any(row.again for row in rows):
        print("Something failed here: run the same command again.", file=sys.stderr)
        return 3
    return 0


def _refused(options: argparse.Namespace) -> str:
    """Say why this cannot be graded, or nothing."""
    if options.dask:
        try:
            import distributed  # noqa: F401
        except ImportError:
            return "--dask needs dask: pip install 'attention-from-scratch[dask]'"
    if not options.folder.is_dir():
        return f"There is no folder {options.folder}."
    if options.out.resolve() == options.folder.resolve():
        return "--out is the folder of the submissions: choose another."
    if options.late_penalty and not options.deadline:
        return "--late-penalty needs a --deadline."
    return ""


def _written(
    rows: list[Row], roster: Roster | None, seed: int, options: argparse.Namespace
) -> list[str]:
    """Write everything that comes of a class; return the names of the files."""
    pages = write_reports(rows, options.out, seed)
    about = class_page(rows, attempts(options.folder), alike(rows, options.folder))
    write_whole(options.out / "class.html", about)
    files = ["grades.csv", "grades.json", "feedback/", "class.html"]
    return files + (write_import(rows, roster, options.out, pages) if roster else [])


def _remembered_seed(given: int | None, out: Path) -> int:
    """Return the seed that is given, or was used here before, or a new one; keep it for later.

    Raises:
        BadSeed: the environment has one that is none.
    """
    file = out / "seed.txt"
    seed = given
    if seed is None and os.environ.get(SEED):
        try:
            seed = _seed(os.environ[SEED])
        except argparse.ArgumentTypeError as error:
            raise BadSeed(f"{SEED}={os.environ[SEED]!r}: {error}.") from None
    if seed is None:
        with contextlib.suppress(OSError, UnicodeError, argparse.ArgumentTypeError):
            seed = _seed(file.read_text(encoding="utf-8"))
    if seed is None:
        seed = secrets.randbelow(2**31)
    write_whole(file, f"{seed}\n")
    return seed


def _release(options: argparse.Namespace) -> int:
    if (options.file is None) == (options.out is None):
        print("Give the name of the zip once: release FILE.zip", file=sys.stderr)
        return 2
    path = options.out or options.file
    path.parent.mkdir(parents=True, exist_ok=True)
    names = release(path, options.lesson)
    for name in names:
        if name.endswith(".ipynb"):
            print(name)
    print(
        f"{path}: {len(names)} files, {path.stat().st_size / 1e6:.1f} MB. In it: {IN_IT}."
    )
    return 0


def _doctor(options: argparse.Namespace) -> int:
    if options.unsafe:
        print(UNSAFE, file=sys.stderr)
    failed = 0
    for fine, text in examine(options.lesson, unsafe=options.unsafe):
        print(f"{'✓' if fine else '✗'} {text}", flush=True)
        failed += not fine
    print("Grading works here." if not failed else "Grading does not work here yet: see ✗.")
    return 1 if failed else 0


def _lesson(text: str) -> int:
    there = sorted({task.lesson for task in tasks() if task.points})
    if not text.isdecimal() or int(text) not in there:
        raise argparse.ArgumentTypeError(
            f"no such lesson; there are {', '.join(map(str, there))}"
        )
    return int(text)


def _seed(text: str) -> int:
    if not text.strip().isdecimal() or int(text) >= 2**63:
        raise argparse.ArgumentTypeError("a seed is a whole number from 0 to 2**63 - 1")
    return int(text)


def _time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text.replace(" UTC", "+00:00")).astimezone()
    except ValueError:
        raise argparse.ArgumentTypeError(
            "write a time as '2026-10-01 18:00', in your time zone, or with ' UTC' behind it"
        ) from None


def _percent(text: str) -> float:
    if not text.isdecimal() or int(text) > 100:
        raise argparse.ArgumentTypeError("a whole number from 0 to 100")
    return int(text) / 100


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("a whole number from 1 on")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
