"""Which changes of the code no test notices: `python -m tests.mutation [FILE ...]`, run by `make deep`.

Of each file, a sample of machine-made mutants is tried in a copy of the course, one after the other, with
the tests that concern it. `done.json` notes what was found, file by file: a run can be broken off, and
does only what has changed since. More than 3 % unnoticed in a package is a failure.
"""

import functools
import hashlib
import json
import re
import sys
from collections import Counter
from pathlib import Path

from tests.mutation.calls import PROCESSES, Calls
from tests.mutation.harmless import HARMLESS
from tests.mutation.mutants import Mutant, mutants
from tests.mutation.run import ROOT, Copy, copied

KEPT = Path(__file__).with_name("done.json")
TESTS = {
    "attn_lib": "tests/library",
    "attn_lib/models": "tests/library",
    "attn_lib/programs": "tests/programs",
    "attn_lib/checks": "tests/checks",
    "attn_lib/grading": "tests/grading",
}
JUDGES = "tests/grading/test_judge.py"  # tried last: most of the checks work there at once
# Left out but for the module of that name: they look at others from far away, and take minutes.
SLOW = re.compile("explorer|plotting|simulated|tasks|chat|serve.py|smollm2")
DRAWN = ("attn_lib/grading/bars.py",)  # by hand, to the pixel: pictures are looked at
FEW = 20  # tests that are run first: to collect all of them takes longer than to run these
ONE_IN = 40  # mutants of a file, at least MINIMUM
MINIMUM = 2
ALLOWED = 0.03  # the share that may go unnoticed


def main() -> int:
    """Try the files that are named, or have changed; print what went unnoticed, and the rates."""
    files = sys.argv[1:] or [path for path in everything() if is_changed(path)]
    with copied() as course:
        for number, path in enumerate(files, start=1):
            print(f"{number} of {len(files)}: {path}", flush=True)
            keep(path, course, unnoticed(path, course))
    return report()


def everything() -> list[str]:
    """Return the modules of the packages that are tested so."""
    paths = (path for package in TESTS for path in sorted(Path(ROOT, package).glob("*.py")))
    names = (path.relative_to(ROOT).as_posix() for path in paths)
    return [name for name in names if name not in DRAWN and sampled(name, ROOT)]


def sampled(path: str, root: Path) -> list[Mutant]:
    """Return a sample of a file's mutants: by a hash of each, so that other lines do not change it."""
    times = Counter[tuple[str, str, str]]()
    made = dict[bytes, Mutant]()
    for mutant in mutants((root / path).read_text()):
        key = path, mutant.place, mutant.change
        times[key] += 1  # the same change may be possible several times
        if key not in HARMLESS:
            made[hashlib.sha256(f"{key} {times[key]}".encode()).digest()] = mutant
    return [made[key] for key in sorted(made)][: max(MINIMUM, len(made) // ONE_IN)]


def unnoticed(path: str, course: Copy) -> list[str]:
    """Run on each mutant of the sample the tests that concern it; return those that pass them all."""
    target, survivors = course.folder / path, []
    before = target.read_text()
    files = test_files(path, course.folder)
    calls = tests_by_function(course, *files)
    for mutant in sampled(path, course.folder):
        target.write_text(mutant.source)
        what = f"{mutant.place}: {mutant.change}"
        quick = concerned(calls, path, mutant.place)
        few, more = quick[:FEW], quick[FEW:]
        slow = ["-m", "slow", *files, JUDGES]
        if course.passes(few) and course.passes(more) and course.passes(slow):
            survivors.append(what)
        print(f"    {'unnoticed: ' * (what in survivors)}{what}", flush=True)
    target.write_text(before)
    return survivors


def test_files(path: str, root: Path) -> list[str]:
    """Return the files of tests for a module's package."""
    files = sorted((root / TESTS[str(Path(path).parent)]).glob("test_*.py"))
    own = f"test_{Path(path).name}"
    taken = [file for file in files if file.name == own or not SLOW.search(file.name)]
    return [str(file.relative_to(root)) for file in taken]


@functools.cache
def tests_by_function(course: Copy, *files: str) -> Calls:
    """Run tests as they are, those marked slow apart; return which of them call which function, and how
    long they take.
    """
    return course.watched(["-m", "not slow", *files])


def concerned(calls: Calls, path: str, place: str) -> list[str]:
    """Return the tests that call a function, the quickest first; then those that call others of its
    module, or start processes. All of the package, if none of them runs the module in its own process.
    """
    of_function = calls.get(f"{path}:{place}", {})
    every = {test: t for tests in calls.values() for test, t in tests.items()}
    of_module = {test for key in calls if key.startswith(f"{path}:") for test in calls[key]}
    elsewhere = calls.get(PROCESSES, {}).keys()
    rest = ((of_module | elsewhere) if of_module else every.keys()) - of_function.keys()
    return [*sorted(of_function, key=every.get), *sorted(rest, key=every.get)]


def is_changed(path: str) -> bool:
    return _kept().get(path, {}).get("hash") != _hash_of(path, ROOT)


def keep(path: str, course: Copy, survivors: list[str]) -> None:
    """Write down what was found in a file."""
    entry = {
        "hash": _hash_of(path, course.folder),
        "tried": len(sampled(path, course.folder)),
        "unnoticed": survivors,
    }
    kept = {name: old for name, old in _kept().items() if (ROOT / name).exists()}
    KEPT.write_text(json.dumps(kept | {path: entry}, indent=1, sort_keys=True) + "\n")


def report() -> int:
    """Print the rate of each package and what went unnoticed; return 1 if it is too much anywhere."""
    too_much = 0
    for package in TESTS:
        mine = {p: e for p, e in _kept().items() if str(Path(p).parent) == package}
        tried = sum(entry["tried"] for entry in mine.values())
        found = [
            f"{path}: {what}" for path, entry in mine.items() for what in entry["unnoticed"]
        ]
        print(f"{package}: {len(found)} of {tried} unnoticed", *found, sep="\n    ")
        too_much |= len(found) > ALLOWED * tried
    return too_much


def _kept() -> dict[str, dict]:
    return json.loads(KEPT.read_text()) if KEPT.exists() else {}


def _hash_of(path: str, root: Path) -> str:
    return hashlib.sha256((root / path).read_bytes()).hexdigest()[:16]


if __name__ == "__main__":
    sys.exit(main())
