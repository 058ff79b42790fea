"""Generate exercises/ from solutions/ with nbgrader (`make exercises`).

A file in exercises/ that somebody has worked in is never overwritten: learners write their answers
there. It counts as worked in when it is neither what git has at HEAD nor what this script wrote.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXERCISES = ROOT / "exercises"
WRITTEN = ROOT / "grading" / "generated.json"  # path -> hash of what this script wrote last


def main() -> int:
    """Do what the command line asks for; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--check", action="store_true", help="change nothing; exit 1 on a difference"
    )
    how.add_argument(
        "--force",
        action="store_true",
        help="replace also what somebody has worked in, setting the old file aside as NAME.bak-1",
    )
    arguments = parser.parse_args()
    fresh = generate()
    if arguments.check:
        problems = drift(fresh, committed)
        print(*problems or ["The exercises are what the solutions make."], sep="\n")
        return 1 if problems else 0
    kept = place(fresh, EXERCISES, untouched, arguments.force)
    remember({name: content for name, content in fresh.items() if name not in kept})
    return 0


def generate(root: Path = ROOT) -> dict[str, bytes]:
    """Let nbgrader make the exercises of every solution.

    Args:
        root: the folder that holds solutions/.

    Returns:
        The content of each file by its path inside exercises/, in alphabetical order.
    """
    from nbgrader.converters import GenerateAssignment
    from nbgrader.coursedir import CourseDirectory
    from traitlets.config import Config, PyFileConfigLoader

    sources = sorted(
        path for path in (root / "solutions").iterdir() if any(path.glob("*.ipynb"))
    )
    with tempfile.TemporaryDirectory() as folder:
        release = Path(folder).resolve()
        for source in sources:
            config = Config(
                PyFileConfigLoader("nbgrader_config.py", str(ROOT)).load_config()
            )
            config.CourseDirectory.root = str(root)
            config.CourseDirectory.release_directory = str(release)
            config.CourseDirectory.assignment_id = source.name
            config.GenerateAssignment.no_database = True  # with the next line: --no-db
            config.SaveCells.enabled = False
            config.GenerateAssignment.force = True
            course = CourseDirectory(config=config)
            GenerateAssignment(coursedir=course, config=config).start()
            # nbgrader may do nothing and say nothing.
            for notebook in source.glob("*.ipynb"):
                if not (release / source.name / notebook.name).exists():
                    raise SystemExit(f"nbgrader made no exercise of {notebook}.")
        files = sorted(path for path in release.rglob("*") if path.is_file())
        return {path.relative_to(release).as_posix(): path.read_bytes() for path in files}


def place(
    fresh: dict[str, bytes], exercises: Path, untouched: Callable[[Path], bool], force: bool
) -> list[str]:
    """Write the exercises, all but those that somebody has worked in; return the names of these."""
    kept = []
    for name, content in fresh.items():
        path = exercises / name
        if path.exists() and path.read_bytes() == content:
            print(f"exercises/{name}: unchanged")
            continue
        if path.exists() and not untouched(path):
            if not force:
                kept.append(name)
                print(f"exercises/{name}: kept, it was worked in (--force sets it aside)")
                continue
            aside = set_aside(path)
            print(f"exercises/{name}: what was there is now in {aside.name}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        print(f"exercises/{name}: written")
    return kept


def set_aside(path: Path) -> Path:
    """Rename a file to NAME.bak-1, or the next number that is free."""
    number = 1
    while (aside := path.with_name(f"{path.stem}.bak-{number}{path.suffix}")).exists():
        number += 1
    return path.rename(aside)


def drift(fresh: dict[str, bytes], committed: Callable[[Path], bytes | None]) -> list[str]:
    """Say what differs between the solutions' exercises and those that are there."""
    problems = []
    for name, content in fresh.items():
        there = committed(EXERCISES / name)
        if there is None:
            problems.append(f"exercises/{name} is missing: run `make exercises`.")
        elif there != content:
            problems.append(
                f"exercises/{name} is not what its solution makes: `make exercises`."
            )
    for path in sorted(EXERCISES.glob("*/*.ipynb")):
        name = path.relative_to(EXERCISES).as_posix()
        if name not in fresh and ".bak-" not in name and at_head(path) is not None:
            problems.append(f"exercises/{name} has no solution: remove it, or add one.")
    return problems


def committed(path: Path) -> bytes | None:
    """Return a file as the course has it: of a file that somebody has worked in, git's version."""
    if path.exists() and untouched(path):
        return path.read_bytes()
    return at_head(path)


def untouched(path: Path) -> bool:
    """Say whether nobody has worked in this exercise."""
    content = path.read_bytes()
    return content == at_head(path) or hashed(content) == written().get(key(path))


def at_head(path: Path) -> bytes | None:
    """Return a file as git has it at HEAD; None if git or the file is not there."""
    command = ["git", "show", f"HEAD:./{path.name}"]
    try:
        shown = subprocess.run(command, cwd=path.parent, capture_output=True)
    except OSError:  # no git, or no such folder
        return None
    return shown.stdout if shown.returncode == 0 else None


def written() -> dict[str, str]:
    """Return what this script noted about the files it wrote."""
    try:
        noted = json.loads(WRITTEN.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return noted if isinstance(noted, dict) else {}


def remember(files: dict[str, bytes]) -> None:
    """Note what was written, so that a later run knows these files from a learner's."""
    notes = written() | {
        key(EXERCISES / name): hashed(content) for name, content in files.items()
    }
    WRITTEN.parent.mkdir(exist_ok=True)
    WRITTEN.write_text(json.dumps(notes, indent=1), encoding="utf-8")


def key(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def hashed(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
