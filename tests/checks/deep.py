"""Which tasks have had their deep run: a hash of each task's sources, committed beside this file.

A task whose sources have another hash is tested deeply by every run of its tests. `make deep` does that
for these tasks only, `make deep TASKS=all` for every task, and writes the hashes down when all is well.
"""

import hashlib
import inspect
import json
import sys
from pathlib import Path

import pytest

from attn_lib.checks import slips, tasks
from attn_lib.checks.task import find_task
from tests.checks import answers

KEPT = Path(__file__).with_name("deep.json")


def sources(name: str) -> list[Path]:
    """Return the files that say what a task is, and which answers to it are right and wrong."""
    of_tasks = {Path(inspect.getfile(task.reference)) for task in tasks()}
    mine = Path(inspect.getfile(find_task(name).reference))
    shared = sorted({*mine.parent.glob("*.py")} - of_tasks)
    return [
        mine,
        *shared,
        Path(slips.__file__),
        Path(answers.__file__).with_name(f"{name}.py"),
    ]


def hash_of(name: str) -> str:
    """Return a hash of a task's sources."""
    text = b"".join(path.read_bytes() for path in sources(name))
    return hashlib.sha256(text).hexdigest()[:16]


def is_changed(name: str) -> bool:
    """Say whether a task's sources have changed since its last deep run."""
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    return kept.get(name) != hash_of(name)


def main() -> int:
    """Run the deep tests, and write down that they passed."""
    tests = str(Path(__file__).with_name("test_tasks.py"))
    every = sys.argv[1:] == ["all"]
    changed = [task.name for task in tasks() if every or is_changed(task.name)]
    print(
        f"Deep tests of {len(changed)} tasks: {', '.join(changed) or 'nothing has changed'}"
    )
    hashes = {task.name: hash_of(task.name) for task in tasks()}
    options = ["-n", "auto", "--maxprocesses=4", "--dist=loadgroup"]
    failed = pytest.main([tests, f"--deep={'all' if every else 'changed'}", *options])
    if not failed:
        KEPT.write_text(json.dumps(hashes, indent=1) + "\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
