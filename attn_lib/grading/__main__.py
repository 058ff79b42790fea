"""The command for instructors: python -m attn_lib.grading."""

import argparse
import io
import shutil
import sys
import textwrap
import time
import unicodedata
from collections.abc import Sequence
from importlib.util import find_spec

from attn_lib.files import write_whole
from attn_lib.grading.alike import alike
from attn_lib.grading.arguments import first_seed, parser, remembered_seed
from attn_lib.grading.autograder import autograder
from attn_lib.grading.batch import alone, grade_class
from attn_lib.grading.class_page import attempts, class_page
from attn_lib.grading.doctor import examine
from attn_lib.grading.find import passed_over
from attn_lib.grading.lateness import EXTENSIONS, Deadline, read_extensions, worksheet_times
from attn_lib.grading.lms import write_import
from attn_lib.grading.overrides import read_overrides, with_overrides
from attn_lib.grading.prose import prose_page
from attn_lib.grading.refused import Refused
from attn_lib.grading.release import IN_IT, release
from attn_lib.grading.reports import problems, table, write_reports
from attn_lib.grading.roster import Roster, read_roster
from attn_lib.grading.row import Row, unfitting
from attn_lib.grading.sandbox import NoSandbox, check_sandbox
from attn_lib.grading.workers import OtherVersion

UNSAFE = (
    "WARNING: --unsafe. Submissions run WITHOUT a sandbox, as ordinary processes with YOUR rights. They "
    "can read and delete your files, use the network, and read the solutions. Only for code that you "
    "trust."
)
GRADING = "lessons", "jobs", "dask", "unsafe", "strict"  # options that reach the judge


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks for; return the exit status."""
    options = parser().parse_args(arguments)
    if isinstance(
        sys.stdout, io.TextIOWrapper
    ):  # a learner's name may have letters that a screen has not
        sys.stdout.reconfigure(errors="backslashreplace")
    commands = {
        "grade": _grade,
        "release": _release,
        "autograder": _autograder,
        "doctor": _doctor,
    }
    try:
        return commands[options.command](options)
    except KeyboardInterrupt:
        print("\nInterrupted. The same command goes on from here.", file=sys.stderr)
        return 130
    except (NoSandbox, OtherVersion, Refused) as error:
        print(error, file=sys.stderr)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"{where}{error.strerror or error}", file=sys.stderr)
    return 1


def _grade(options: argparse.Namespace) -> int:
    if options.unsafe:
        print(UNSAFE, file=sys.stderr)
    elif not options.dask:
        check_sandbox()
    if options.dask and not find_spec("distributed"):
        raise Refused("--dask needs dask: pip install 'attention-from-scratch[dask]'")
    if not options.folder.is_dir():
        raise Refused(f"There is no folder {options.folder}.")
    if options.out.resolve().is_relative_to(options.folder.resolve()):
        raise Refused(
            "--out is in the folder of the submissions, where learners' files are: choose a folder beside it."
        )
    if options.late_penalty and not options.deadline:
        raise Refused("--late-penalty needs a --deadline.")
    start = time.monotonic()
    roster = read_roster(options.roster) if options.roster else None
    if roster and not options.lessons:
        raise Refused(
            "A roster needs --lesson: in these, whoever handed in nothing gets 0 points."
        )
    if roster and roster.kind == "Moodle" and len(options.lessons) != 1:
        raise Refused(
            "Moodle's worksheet is for one assignment: add --lesson with one number."
        )
    with alone(options.out):
        seed = remembered_seed(options.seed, options.out)
        rows, unfit = _graded(options, roster, seed)
        files = _written(rows, roster, seed, options) if rows else []
    others = passed_over(options.folder)
    if not rows:
        nothing = f"Nothing was handed in: there is no notebook in {options.folder}."
        raise Refused(f"{nothing} {others}")
    print(table(rows))
    for line in filter(None, [*problems(rows), *unfit, others]):
        print(_in_one_block(f"! {line}"))
    count = sum(bool(file.sha256) for row in rows for file in row.files)
    learners = len({row.learner for row in rows})
    print(
        f"Notebooks: {count}, learners: {learners}, in {time.monotonic() - start:.0f} s, seed {seed}. "
        f"In {options.out}: {', '.join(files)}."
    )
    if any(row.again for row in rows):
        print("Something failed here: run the same command again.", file=sys.stderr)
        return 3
    if unfit:
        print("Not all that you wrote by hand fits somebody: see above.", file=sys.stderr)
    return 1 if unfit else 0


def _in_one_block(line: str) -> str:
    """Break a line where a screen would, further right: what learners have written begins no line of its own."""
    if not sys.stdout.isatty():
        return line
    width = shutil.get_terminal_size().columns
    if any(unicodedata.east_asian_width(c) in "WF" for c in line):
        width //= 2
    return textwrap.fill(line, max(width, 20), subsequent_indent="    ")


def _graded(
    options: argparse.Namespace, roster: Roster | None, seed: int
) -> tuple[list[Row], list[str]]:
    """Grade a class, then count lateness and what was changed by hand; say also which lines of these fit nobody."""
    # What the teacher wrote is read first: an error in it is said at once.
    overrides = read_overrides(options.out, options.lessons)
    times = worksheet_times(roster) if roster and options.deadline else {}
    later = read_extensions(options.out, options.lessons) if options.deadline else {}
    asked = {name: getattr(options, name) for name in GRADING}
    rows = grade_class(options.folder, options.out, seed=seed, roster=roster, **asked)
    unfit = unfitting(rows, [(o.where, o.learner, o.lesson) for o in overrides])
    unfit += unfitting(rows, [(EXTENSIONS, *key) for key in later])
    if options.deadline:
        due = Deadline(options.deadline, options.late_penalty / 100, times, later)
        rows = list(due.applied(rows))
    return list(with_overrides(rows, overrides)), unfit


def _written(
    rows: list[Row], roster: Roster | None, seed: int, options: argparse.Namespace
) -> list[str]:
    """Write everything that comes of a class; return the names of the files."""
    pages = write_reports(rows, options.out, seed)
    about = class_page(rows, attempts(options.folder, rows), alike(rows))
    write_whole(options.out / "class.html", about)
    prose = options.out / "prose.html"
    prose.unlink(missing_ok=True)
    if words := prose_page(rows, options.folder):
        write_whole(prose, words)
    files = [
        "grades.csv",
        "totals.csv",
        "grades.json",
        "feedback/",
        "class.html",
        *["prose.html"] * bool(words),
    ]
    return files + (write_import(rows, roster, options.out, pages) if roster else [])


def _release(options: argparse.Namespace) -> int:
    options.out.parent.mkdir(parents=True, exist_ok=True)
    names = release(options.out, options.lesson)
    for name in names:
        if name.endswith(".ipynb"):
            print(name)
    size = options.out.stat().st_size / 1e6
    print(f"{options.out}: {len(names)} files, {size:.1f} MB. In it: {IN_IT}.")
    return 0


def _autograder(options: argparse.Namespace) -> int:
    options.out.parent.mkdir(parents=True, exist_ok=True)
    seed = first_seed() if options.seed is None else options.seed
    names = autograder(options.out, options.lesson, seed)
    size = options.out.stat().st_size / 1e6
    print(
        f"{options.out}: {len(names)} files, {size:.1f} MB, for lesson {options.lesson}, seed {seed}."
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


if __name__ == "__main__":
    sys.exit(main())
