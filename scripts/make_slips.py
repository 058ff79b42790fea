"""Write site/slips.md, the table of slips, from the rows of the checks: what `make slips` does."""

import argparse
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from attn_lib.checks import tasks
from attn_lib.checks.mistakes import known
from attn_lib.checks.rows import expanded, lines_of
from attn_lib.checks.slips import SHARED
from attn_lib.checks.task import Mistake, Task

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "site" / "slips.md"

INTRODUCTION = """\
# The table of slips

Everybody who writes attention makes the same mistakes, and most of them are one line of a right answer
written otherwise. The checks of this course know {ids} of them, in {ways} ways of writing. This page is
made from the rows that the checks use. So it cannot be out of date, and each of them was run: it gives
wrong numbers, or an error, on inputs that the checks try.

Look here when something is wrong and you do not see what. Each slip has a name, the question that a check
asks about it, the right line, and what is written in its place. It shows right lines, so do the
[exercises](index.md) first.

How to read the lines: `q`, `k`, `v` are (B, H, L, D). `products` are q·k and `scores` the same, divided.
`allowed` is the mask, True = may attend; `hidden` are the scores under it; `kept` are the `weights` with
zeros in rows that may see nothing. `_` stands for what the line says: `1 - _` is one minus that.
"""


def main() -> int:
    """Do what the command line asks for; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check",
        action="store_true",
        help="change nothing; exit 1 if the page is not up to date",
    )
    is_check = parser.parse_args().check
    text = page()
    if is_check:
        same = PAGE.exists() and PAGE.read_text(encoding="utf-8") == text
        print(
            "The page is up to date."
            if same
            else "The page is out of date: run `make slips`."
        )
        return 0 if same else 1
    PAGE.write_text(text, encoding="utf-8")
    print(f"Wrote {PAGE.relative_to(ROOT)}.")
    return 0


def page() -> str:
    """Return the page's Markdown."""
    every = [(task, mistake) for task in tasks() for mistake in known(task.name).mistakes]
    ids = len({(task.name, m.id) for task, m in every if m not in SHARED})
    ids += len({m.id for m in SHARED})
    ways = sum(m not in SHARED for _, m in every) + len(SHARED)
    parts = [INTRODUCTION.format(ids=ids, ways=ways), "## In many tasks\n", *shared()]
    for lesson, of_lesson in groupby(tasks(), key=lambda task: task.lesson):
        parts.append(f"## Lesson {lesson:02}\n")
        for task in of_lesson:
            parts += [f"### `{task.signature}`\n", *of_task(task)]
    return "\n".join(parts).rstrip() + "\n"


def shared() -> Iterator[str]:
    """Yield the table of the slips that many tasks share, each with a line of one of these tasks."""
    where = {
        mistake.id: [t for t in tasks() if mistake in known(t.name).mistakes]
        for mistake in SHARED
    }
    yield "| slip | asked | right | instead | where |\n|-|-|-|-|-|"
    for (id, question), rows in groupby(SHARED, key=lambda m: (m.id, m.question)):
        changes = []
        for mistake in rows:
            fits = next(t for t in tasks() if mistake in known(t.name).mistakes)
            changes += _changes(mistake, _lines(fits))
        yield _row(id, question, changes, f"{len(where[id])} tasks")
    yield ""


def of_task(task: Task) -> Iterator[str]:
    """Yield the table of a task's own slips."""
    yield "| slip | asked | right | instead |\n|-|-|-|-|"
    for (id, question), rows in groupby(task.mistakes, key=lambda m: (m.id, m.question)):
        yield _row(id, question, [c for m in rows for c in _changes(m, _lines(task))])
    yield ""


def _lines(task: Task) -> dict[str, str]:
    """Return what the lines of a task's right answers say."""
    lines: dict[str, str] = {}
    for build in (*task.others, task.reference):
        lines |= lines_of(build)
    return lines


def _changes(mistake: Mistake, lines: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the right line and what is written instead, for each line that a mistake changes."""
    if mistake.answer is not None:
        yield "", "(the whole answer is built otherwise)"
    for name, text in expanded(mistake.lines, lines).items():
        yield f"{name} = {lines[name]}", f"{name} = {text}"


def _row(id: str, question: str, changes: list[tuple[str, str]], *more: str) -> str:
    right = "<br>".join(dict.fromkeys(_code(right) for right, _ in changes if right))
    instead = "<br>".join(_code(wrong) for _, wrong in changes)
    cells = (f"**{id}**", question, right, instead, *more)
    return (
        "| "
        + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells)
        + " |"
    )


def _code(text: str) -> str:
    return text if text.startswith("(") else f"`{text}`"


if __name__ == "__main__":
    sys.exit(main())
