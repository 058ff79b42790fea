"""Which tasks have had their deep run: a hash of each task's sources, committed beside this file.

A task whose sources have another hash is tested deeply by every run of its tests. `make deep` does that
for these tasks only, `make deep TASKS="attention split_heads"` for some, `make deep TASKS=all` for every
task, with all pairs of mistakes. It writes down which are well.
"""

import hashlib
import inspect
import json
import subprocess
import sys
from pathlib import Path

from attn_lib.checks import tasks
from attn_lib.checks.mistakes import known
from attn_lib.checks.task import find_task
from tests.checks import answers

KEPT = Path(__file__).with_name("deep.json")


def sources(name: str) -> list[Path]:
    """Return the files that say what a task is, and which answers to it are right and wrong."""
    of_tasks = {Path(inspect.getfile(task.reference)) for task in tasks()}
    mine = Path(inspect.getfile(find_task(name).reference))
    shared = sorted({*mine.parent.glob("*.py")} - of_tasks)
    name = find_task(name).repairs or name
    return [mine, *shared, Path(answers.__file__).with_name(f"{name}.py")]


def hash_of(name: str) -> str:
    """Return a hash of a task's sources, and of the mistakes that it shares with others."""
    text = b"".join(path.read_bytes() for path in sources(name))
    rows = [(mistake.id, mistake.lines) for mistake in known(name).mistakes]
    return hashlib.sha256(text + repr(rows).encode()).hexdigest()[:16]


def is_changed(name: str) -> bool:
    """Say whether a task's sources have changed since its last deep run.

    A broken answer to repair is tested deeply with the task that it answers: all else is the same.
    """
    name = find_task(name).repairs or name
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    return kept.get(name) != hash_of(name)


def main() -> int:
    """Run the deep tests, task by task, and write down which passed: a run can be broken off."""
    named = sys.argv[1:]
    every = named == ["all"]
    wanted = [find_task(name).name for name in named if not every]
    if not wanted:
        own = [task.name for task in tasks() if not task.repairs]
        wanted = [name for name in own if every or is_changed(name)]
    failed = []
    for number, name in enumerate(wanted, start=1):
        print(f"{number} of {len(wanted)}: {name}", flush=True)
        before = hash_of(name)
        if run(name, every=every):
            failed.append(name)
        else:
            keep(name, before)
    print(f"Failed: {', '.join(failed)}" if failed else "All is well.")
    return bool(failed)


def run(name: str, *, every: bool) -> int:
    """Run the deep tests of one task, in a process of their own; return its exit status."""
    tests = Path(__file__).with_name("test_tasks.py")
    deep = f"--deep={'all' if every else 'always'}"
    command = [sys.executable, "-m", "pytest", tests, "-q", "-n", "2", deep, "--task", name]
    return subprocess.run(command).returncode


def keep(name: str, of_sources: str) -> None:
    """Write down that a task has had its deep run."""
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    there = {task.name for task in tasks()}
    kept |= {name: of_sources}
    kept = {other: text for other, text in kept.items() if other in there}
    KEPT.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    sys.exit(main())
