"""Write the table of mistakes, site/slips.md and site/slips/, from the rows of the checks: `make slips`."""

import argparse
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from attn_lib.checks import tasks
from attn_lib.checks.mistakes import known
from attn_lib.checks.rows import expanded, filled, lines_of
from attn_lib.checks.shared_mistakes import SHARED
from attn_lib.checks.task import Mistake, Task, find_task

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "site"

INTRODUCTION = """\
# The table of mistakes

Everybody who writes attention makes the same mistakes, and most of them are one line of a right answer
written otherwise. The checks of this course know {ids} of them, in {rows} rows: a row is one way of writing
a mistake. These pages are made from the rows that the checks use. So they cannot be out of date, and each row was
run: it gives wrong numbers, or an error, on inputs that the checks try.

Look here when something is wrong and you do not see what. Each mistake has a name, and the question that a
check asks about it. Below stands, after a minus, one way to write it, and after a plus, the right line. That gives
answers away, so do the [exercises](index.md) first.

{links}

```{{toctree}}
:hidden:

{toctree}
```

## In many tasks

These mistakes are recognized in every task whose answer has such a line. `q`, `k`, `v` are (B, H, L, D) or
(B, L, D). `products` are q·k, and `scores` the same, divided. `allowed` is the mask, True = may attend;
`hidden` are the scores under it; `kept` are the `weights`, with zeros in rows that may see nothing.
"""


MORE = (
    "Not here? [Mistakes in many tasks](../slips.md#in-many-tasks) are on the first page.\n"
)


def main() -> None:
    """Write every page."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    for path, text in pages().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")


def pages() -> dict[Path, str]:
    """Return the Markdown of each page, by its path."""
    lessons = {n: list(of) for n, of in groupby(tasks(), key=lambda task: task.lesson)}
    own = [(t.name, m) for t in tasks() if not t.repairs for m in t.mistakes]
    introduction = INTRODUCTION.format(
        ids=len({(name, m.id) for name, m in own}) + len({m.id for m in SHARED}),
        rows=len(own) + len(SHARED),
        links="\n".join(
            f"- [Lesson {n:02}](slips/{n:02}.md): "
            + ", ".join(
                f"[`{t.name}`](slips/{n:02}.md#{t.name.lower().replace('_', '-')})"
                for t in of
            )
            for n, of in lessons.items()
        ),
        toctree="\n".join(f"slips/{n:02}" for n in lessons),
    )
    found = {SITE / "slips.md": introduction + "\n" + "\n".join(shared())}
    for n, of in lessons.items():
        parts = [f"# Mistakes of lesson {n:02}\n"]
        for task in of:
            parts += [f"## {task.name}\n", f"`{task.signature}`\n", MORE, *of_task(task)]
        found[SITE / "slips" / f"{n:02}.md"] = "\n".join(parts)
    return found


def shared() -> Iterator[str]:
    """Yield the mistakes that many tasks share, each with a line of one of these tasks."""
    for (id, question), rows in groupby(SHARED, key=lambda m: (m.id, m.question)):
        blocks = []
        for mistake in rows:
            fits = next((t for t in tasks() if mistake in known(t.name).mistakes), None)
            if fits is not None:
                blocks.append(_mended(mistake, _lines(fits)))
        first, *rest = _entry(id, question, blocks)
        yield f'<span id="{id}"></span>{first}'  # to be linked to
        yield from rest


def of_task(task: Task) -> Iterator[str]:
    """Yield a task's own mistakes."""
    if task.repairs:
        lesson = f"{find_task(task.repairs).lesson:02}"
        yield f"A broken answer to `{task.repairs}`, and so its mistakes are in [lesson {lesson}]({lesson}.md).\n"
        return
    lines = _lines(task)
    for (id, question), rows in groupby(task.mistakes, key=lambda m: (m.id, m.question)):
        yield from _entry(id, question, [_mended(mistake, lines) for mistake in rows])


def _entry(id: str, question: str, blocks: Iterable[str]) -> Iterator[str]:
    yield f"**{id}.** {question}\n"
    if first := next(filter(None, blocks), ""):
        yield f"```diff\n{first}\n```\n"


def _lines(task: Task) -> dict[str, str]:
    """Return what the lines of a task's right answers say."""
    lines: dict[str, str] = {}
    for build in (*task.others, task.reference):
        lines |= lines_of(build)
    return lines


def _mended(mistake: Mistake, lines: dict[str, str]) -> str:
    """Return the lines of a mistake, and those that mend it, as a diff; "" for a whole wrong answer."""
    written = expanded(mistake.lines, lines)
    wrong = [f"- {name} = {filled(text, lines[name])}" for name, text in written.items()]
    return "\n".join([*wrong, *(f"+ {name} = {lines[name]}" for name in written)])


if __name__ == "__main__":
    main()
