"""Find changes of the code that no test notices: `python -m tests.mutation [FILE ...]`, run by `make deep`.

Small changes are drawn from the modules, and each is tried in a copy of the course: with the module's own
tests, then with all of its folder. Each day draws others. More than one in twenty unnoticed is a failure;
of those that are printed, some mean nothing, such as a bound that could as well be a little larger.
"""

import argparse
import datetime
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.mutation.mutants import Mutant, mutants

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("attn_lib", "tests", "scripts", "site", "notebooks", "exercises", "solutions")
SECONDS = 1800  # for one run of tests
ALLOWED = 1 / 20


def main() -> int:
    """Try a sample of mutants; return 1 if too many are unnoticed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", help="all modules but those of tasks, if empty")
    parser.add_argument("--count", type=int, default=40, help="how many mutants: 40")
    parser.add_argument("--seed", type=int, default=datetime.date.today().toordinal())
    options = parser.parse_args()
    drawn = sample(options.files or modules(), options.count, options.seed)
    unnoticed = 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as made:
        course = copy_course(Path(made).resolve())
        for number, (path, mutant) in enumerate(drawn, start=1):
            survived = survives(course, path, mutant)
            unnoticed += survived
            verdict = "UNNOTICED" if survived else "noticed"
            what = f"{path}: {mutant.place}: {mutant.change}"
            print(f"{number} of {len(drawn)}, {verdict}: {what}", flush=True)
    print(f"{unnoticed} of {len(drawn)} unnoticed, seed {options.seed}")
    return unnoticed > ALLOWED * len(drawn)


def modules() -> list[str]:
    """Return the modules of attn_lib, but for the tasks, which have mutants of their own."""
    paths = sorted(ROOT.glob("attn_lib/**/*.py"))
    names = [path.relative_to(ROOT).as_posix() for path in paths]
    return [name for name in names if not name.startswith("attn_lib/tasks/")]


def sample(files: list[str], count: int, seed: int) -> list[tuple[str, Mutant]]:
    """Draw mutants from files: each mutant of the whole is as likely."""
    every = [
        (name, mutant) for name in files for mutant in mutants((ROOT / name).read_text())
    ]
    return sorted(random.Random(seed).sample(every, min(count, len(every))))


def copy_course(folder: Path) -> Path:
    """Copy what the tests need."""
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name)
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, folder)
    return folder


def survives(course: Path, path: str, mutant: Mutant) -> bool:
    """Say whether the tests that concern a module pass with a change in it."""
    target = course / path
    before = target.read_text()
    target.write_text(mutant.source)
    try:
        return all(passes(course, tests) for tests in concerned(course, path) if tests)
    finally:
        target.write_text(before)


def concerned(course: Path, path: str) -> tuple[list[str], list[str]]:
    """Return a module's own test files, and the others of its folder; the library's, if it has none."""
    package, stem = Path(path).parent.name, Path(path).stem
    files = {*course.glob(f"tests/{package}/test_*.py")}
    files = files or {*course.glob("tests/library/test_*.py")}
    names = (f"test_{stem}", f"test_{package}_{stem}")
    own = {file for file in files if file.stem.startswith(names)}
    return sorted(map(str, own)), sorted(map(str, files - own))


def passes(course: Path, tests: list[str]) -> bool:
    """Run test files up to the first failure; to take too long is to fail."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    command += tests
    env = os.environ | {"PYTHONPATH": str(course), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        ran = subprocess.run(
            command, cwd=course, env=env, capture_output=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return False
    return ran.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
