"""Arguments of the instructors' command, and the seed."""

import argparse
import contextlib
import os
import secrets
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from attn_lib.checks import tasks
from attn_lib.files import write_whole
from attn_lib.grading.lateness import moment
from attn_lib.grading.refused import Refused
from attn_lib.grading.release import IN_IT

SEED = "ATTN_GRADING_SEED"
EPILOG = """\
exit status: 0 done, whatever points there were; 1 it could not be done, or not all that you
wrote by hand fits somebody; 2 wrong arguments;
3 done, but something failed here that is not a learner's fault (run again); 130 interrupted"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line; its `command` is the name of one."""
    whole = argparse.ArgumentParser(
        prog="python -m attn_lib.grading",
        description="Grade a class: every submission in a sandbox, judged from outside of it.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = whole.add_subparsers(dest="command", required=True, metavar="COMMAND")
    lessons = sorted({task.lesson for task in tasks() if task.points})
    without = "run submissions WITHOUT a sandbox, with your rights"
    several: Any = {"type": int, "nargs": "+", "action": "extend", "metavar": "N"}
    _add_grade(commands, lessons, several, without)

    about = f"Make a zip for a class. In it: {IN_IT}."
    short = "make a zip for a class, without solutions"
    zipped = commands.add_parser("release", help=short, description=about)
    zipped.add_argument("--out", type=Path, required=True, metavar="FILE.zip")
    only = "only these, and lesson 00 (else all)"
    zipped.add_argument("--lesson", help=only, **several)

    about = (
        "Make the zip that Gradescope takes as an autograder, for one lesson. In it: the course with its grader, and "
        "the seed. Do not give it to learners."
    )
    short = "make an autograder for Gradescope"
    made = commands.add_parser("autograder", help=short, description=about)
    made.add_argument("--out", type=Path, required=True, metavar="FILE.zip")
    made.add_argument("--lesson", type=int, choices=lessons, required=True, metavar="N")
    made.add_argument(
        "--seed",
        type=_seed,
        metavar="S",
        help=f"of the inputs: a private number (else ${SEED}, else one is drawn)",
    )

    about = (
        "Check Python, torch and bubblewrap; then grade the course's own solutions, which "
        "must get every point, and its untouched exercises, which must get none."
    )
    short = "check that grading works here"
    doctor = commands.add_parser("doctor", help=short, description=about)
    doctor.add_argument("--lesson", choices=lessons, help="only these", **several)
    doctor.add_argument("--unsafe", action="store_true", help=without)
    return whole


def _add_grade(
    commands: argparse._SubParsersAction, lessons: list[int], several: Any, without: str
) -> None:
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
    add = grade.add_argument
    add("folder", type=Path, metavar="FOLDER")
    add("--out", type=Path, required=True, metavar="DIR", help="for the results")
    only = "only these; a single one also where it cannot be told"
    add("--lesson", dest="lessons", choices=lessons, default=[], help=only, **several)
    kinds = "columns id and name, Canvas's gradebook, or Moodle's grading worksheet"
    add("--roster", type=Path, metavar="CSV", help=f"the class: {kinds}")
    note = "note who was late: '2026-10-01 18:00', in your time zone"
    add("--deadline", type=_time, metavar="TIME", help=note)
    cost = "of the points, for each day that has begun"
    add("--late-penalty", type=_whole(0, 100), default=0, metavar="PERCENT", help=cost)
    strict = "no points for a right answer that calls a wrong one"
    add("--strict", action="store_true", help=strict)
    drawn = (
        f"a private number (else the one kept in DIR, else ${SEED}, else one that is drawn)"
    )
    add("--seed", type=_seed, metavar="S", help=f"of the inputs: {drawn}")
    jobs = "at a time (else one for each core)"
    add("--jobs", type=_whole(1, 1000), default=0, metavar="N", help=jobs)
    dask = "use this dask cluster: tcp://host:8786"
    add("--dask", default="", metavar="ADDRESS", help=dask)
    add("--unsafe", action="store_true", help=without)


def remembered_seed(given: int | None, out: Path) -> int:
    """Return the seed that is given, or was used here before, or `first_seed`; keep it for later.

    Raises:
        Refused: the environment has one that is none.
    """
    file = out / "seed.txt"
    seed = given
    if seed is None:
        seed = first = first_seed()
        with contextlib.suppress(OSError, UnicodeError, argparse.ArgumentTypeError):
            seed = _seed(file.read_bytes().decode())
        if os.environ.get(SEED) and seed != first:
            said = f"{file} counts, not {SEED}: for another seed, add --seed."
            print(said, file=sys.stderr)
    write_whole(file, f"{seed}\n")
    return seed


def first_seed() -> int:
    """Return the seed that the environment has, else a new one.

    Raises:
        Refused: the environment has one that is none.
    """
    text = os.environ.get(SEED)
    try:
        return _seed(text) if text else secrets.randbits(128)
    except argparse.ArgumentTypeError as error:
        raise Refused(f"{SEED}={text!r}: {error}.") from None


def _whole(least: int, most: int) -> Callable[[str], int]:
    """Return a function that reads a whole number in these bounds."""

    def read(text: str) -> int:
        number = text.strip()
        if not number.isdecimal() or not least <= int(number) <= most:
            said = f"it must be a whole number from {least} to {most}"
            raise argparse.ArgumentTypeError(said)
        return int(number)

    return read


_seed = _whole(0, 2**128 - 1)


def _time(text: str) -> datetime:
    try:
        return moment(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
