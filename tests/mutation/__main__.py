"""Which changes of the code no test notices: `python -m tests.mutation [FILE ...]`, run by `make deep`.

Of each file, a sample of machine-made mutants is tried in a copy of the course, one after the other, with
the tests that concern it. `done.json` notes what was found, file by file: a run can be broken off, and
does only what has changed since. More than 3 % unnoticed in a package is a failure.
"""

import contextlib
import functools
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
import torch  # noqa: F401  what every test needs, imported once for all forks

from tests.mutation.calls import Calls, Watch
from tests.mutation.harmless import HARMLESS
from tests.mutation.mutants import Mutant, mutants

ROOT = Path(__file__).resolve().parents[2]
KEPT = Path(__file__).with_name("done.json")
TESTS = {
    "attn_lib": "tests/library",
    "attn_lib/models": "tests/library",
    "attn_lib/checks": "tests/checks",
    "attn_lib/grading": "tests/grading",
}
# Left out: they look at a module from far away, and take minutes.
SLOW = re.compile("explorer|plotting|simulated|tasks|chat|serve.py|smollm2")
ONE_IN = 20  # mutants of a file, at least MINIMUM
MINIMUM = 3
ALLOWED = 0.03  # the share that may go unnoticed
CPU_SECONDS, WALL_SECONDS = 600, 1800  # for the tests of one mutant
LEFT_OUT = (".git", ".venv", "_site", "__pycache__", ".*_cache", ".hypothesis")


def main() -> int:
    """Try the files that are named, or have changed; print what went unnoticed, and the rates."""
    files = sys.argv[1:] or [path for path in everything() if is_changed(path)]
    with copied() as folder:
        for number, path in enumerate(files, start=1):
            print(f"{number} of {len(files)}: {path}", flush=True)
            keep(path, unnoticed(path, folder))
    return report()


def everything() -> list[str]:
    """Return the modules of the packages that are tested so."""
    paths = (path for package in TESTS for path in sorted(Path(ROOT, package).glob("*.py")))
    return [path.relative_to(ROOT).as_posix() for path in paths if sampled(path)]


def sampled(path: Path) -> list[Mutant]:
    """Return a sample of a file's mutants: by their hash, so that other lines do not change it."""
    name = path.relative_to(ROOT).as_posix()
    made = [
        m for m in mutants(path.read_text()) if (name, m.place, m.change) not in HARMLESS
    ]
    made.sort(
        key=lambda m: hashlib.sha256(f"{name} {m.place} {m.change}".encode()).digest()
    )
    return made[: max(MINIMUM, len(made) // ONE_IN)]


def unnoticed(path: str, folder: Path) -> list[str]:
    """Run on each mutant of the sample the tests that concern it; return those that pass them all."""
    target, survivors = folder / path, []
    before = target.read_text()
    calls = tests_by_function(str(Path(path).parent), folder)
    for mutant in sampled(ROOT / path):
        target.write_text(mutant.source)
        what = f"{mutant.place}: {mutant.change}"
        is_noticed = run(folder, concerned(calls, path, mutant.place)) != pytest.ExitCode.OK
        print(f"    {what:.100}" if is_noticed else f"    unnoticed: {what}", flush=True)
        survivors += [] if is_noticed else [what]
    target.write_text(before)
    return survivors


@functools.cache
def tests_by_function(package: str, folder: Path) -> Calls:
    """Run a package's tests as it is; return which of them call which function, and how long they take."""
    files = Path(ROOT, TESTS[package]).glob("test_*.py")
    names = [str(path.relative_to(ROOT)) for path in files if not SLOW.search(path.name)]
    if run(folder, sorted(names), note=True) != pytest.ExitCode.OK:
        sys.exit(f"Without any change:\n{_log(folder).read_text()[-3000:]}")
    return json.loads(_noted(folder).read_text())


def concerned(calls: Calls, path: str, place: str) -> list[str]:
    """Return the tests that call a function, the quickest first, and then those of its module.

    All of the package, if none of them runs it in its own process.
    """
    of_function = calls.get(f"{path}:{place}", {})
    of_module = {
        t: s
        for key, found in calls.items()
        if key.startswith(path)
        for t, s in found.items()
    }
    every = {t: s for found in calls.values() for t, s in found.items()}
    rest = of_module or every
    return [
        *sorted(of_function, key=of_function.get),
        *sorted(rest.keys() - of_function.keys(), key=rest.get),
    ]


def run(folder: Path, tests: list[str], *, note: bool = False) -> int:
    """Run test files in a fork, up to the first failure; return the exit status, -1 if it was killed."""
    child = os.fork()
    if not child:
        try:
            os._exit(_pytest(folder, tests, note))
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(pytest.ExitCode.INTERNAL_ERROR)
    end = time.monotonic() + WALL_SECONDS
    ended, status = 0, 0
    while not ended and time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        time.sleep(0.05)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what it has left behind, too
    if not ended:
        os.waitpid(child, 0)
        return -1
    return os.waitstatus_to_exitcode(status)


def _log(folder: Path) -> Path:
    return folder.with_name("log.txt")


def _noted(folder: Path) -> Path:
    return folder.with_name("calls.json")


def _pytest(folder: Path, tests: list[str], note: bool) -> int:
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    with open(_log(folder), "wb") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    os.chdir(folder)
    elsewhere = [path for path in sys.path if Path(path).resolve() != ROOT]
    sys.path[:] = [str(folder), *elsewhere]
    os.environ |= {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    sys.dont_write_bytecode = True  # two mutants in one second would share it
    for name in [name for name in sys.modules if name.split(".")[0] == "tests"]:
        del sys.modules[name]
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)  # no shrinking
    hypothesis.settings.register_profile("mutants", phases=phases, database=None)
    hypothesis.settings.load_profile("mutants")
    options = ["-x", "-q", "-W", "ignore:Module already imported", "--deep=never"]
    watch = Watch(folder)
    status = pytest.main([*options, *tests], plugins=[watch] if note else [])
    if note:
        _noted(folder).write_text(json.dumps(watch.calls))
    return status


@contextlib.contextmanager
def copied() -> Iterator[Path]:
    """Yield a copy of the course, in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="mutants-", ignore_cleanup_errors=True) as made:
        folder = Path(made).resolve() / "course"
        shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*LEFT_OUT))
        yield folder


def is_changed(path: str) -> bool:
    return _kept().get(path, {}).get("hash") != _hash_of(path)


def keep(path: str, survivors: list[str]) -> None:
    """Write down what was found in a file."""
    entry = {
        "hash": _hash_of(path),
        "tried": len(sampled(ROOT / path)),
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


def _hash_of(path: str) -> str:
    return hashlib.sha256((ROOT / path).read_bytes()).hexdigest()[:16]


if __name__ == "__main__":
    sys.exit(main())
