"""Arguments of the instructors' command, and the seed."""

import argparse
import contextlib
import os
import secrets
from datetime import datetime
from pathlib import Path

from attn_lib.checks import tasks
from attn_lib.files import write_whole
from attn_lib.grading.release import IN_IT

SEED = "ATTN_GRADING_SEED"
EPILOG = """\
exit status: 0 done, whatever points there were; 1 it could not be done; 2 wrong arguments;
3 done, but something failed here that is not a learner's fault (run again); 130 interrupted"""


class BadSeed(ValueError):
    """The seed in the environment is no seed."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line; its `command` is the name of one."""
    whole = argparse.ArgumentParser(
        prog="python -m attn_lib.grading",
        description="Grade a class: every submission in a sandbox, judged from outside of it.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = whole.add_subparsers(dest="command", required=True, metavar="COMMAND")
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
    return whole


def remembered_seed(given: int | None, out: Path) -> int:
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
            seed = _seed(file.read_bytes().decode())
    if seed is None:
        seed = secrets.randbelow(2**31)
    write_whole(file, f"{seed}\n")
    return seed


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
