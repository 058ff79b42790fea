"""The table that `progress()` shows: lesson by lesson, or the tasks of one; and which task is next."""

import html
import re
from functools import cache
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from attn_lib.checks.kinds import came_back
from attn_lib.checks.language import translated
from attn_lib.checks.task import Task, tasks

BLOCKS = 10  # in a full bar

Kept = dict[str, dict[str, Any]]  # what the store holds on each task


def progress_table(kept: Kept, lesson: int | None = None) -> tuple[str, str]:
    """Return the table as text and as HTML.

    Args:
        kept: from task name to what is kept on it, as `store.load` returns it.
        lesson: show the tasks of this lesson; one row for each lesson if None.
    """
    among = [t for t in handed_out() if lesson in (None, t.lesson)]
    if not among:
        text = translated(f"Lesson {lesson} has no tasks.")
        return text, f"<p>{html.escape(text)}</p>"
    if lesson is None:
        header = ("lesson", "tasks passed", "points")
        groups = [(f"{n:02d}", [*g]) for n, g in groupby(among, key=attrgetter("lesson"))]
        rows = [_sum(name, group, kept) for name, group in groups]
    else:
        header = ("task", "state", "points")
        rows = [(t.name, _state(kept.get(t.name, {})), _points([t], kept)) for t in among]
    rows.append(_sum("all", among, kept))
    following = next_task(kept, lesson)
    last = "All tasks are passed."
    if following is not None:
        last = f"next: {following.name} (exercise {following.lesson:02d})"
        last = last.replace("exercise 00", "lesson 00")  # it has no exercise of its own
    if lesson is None:
        last += f"\nThe tasks of one lesson: progress(lesson={following.lesson if following else 1})"
        if again := came_back(kept):
            counts = ", ".join(f"{kind} in {count} tasks" for kind, count in again)
            last += f'\nMistakes that came back: {counts}. To practice: drill(kind="{again[0][0]}")'
    said = [tuple(map(translated, row)) for row in (header, *rows)]
    parts = said[0], said[1:], translated(last)
    return _as_text(*parts), _as_html(*parts)


@cache
def handed_out(course: Path = Path(__file__).parents[2]) -> list[Task]:
    """Return the tasks of the exercises that are here: a class may have a few of them. All, if there are none."""
    names = course.glob("exercises/[0-9][0-9]_*")
    lessons = {0, *(int(path.name[:2]) for path in names)}
    return [task for task in tasks() if task.lesson in lessons or lessons == {0}]


def next_task(kept: Kept, lesson: int | None = None) -> Task | None:
    """Return the first task not passed: of this lesson, then of the lessons after it, then of all.

    Args:
        kept: from task name to what is kept on it, in the order in which tasks were first tried.
        lesson: where to begin; that of the task tried last if None.
    """
    every = handed_out()
    if lesson is None:
        lessons = {task.name: task.lesson for task in every}
        lesson = next((lessons[name] for name in reversed(kept) if name in lessons), 0)
    in_turn = sorted(every, key=lambda t: t.lesson < lesson)  # stable: else in their order
    return next((t for t in in_turn if not kept.get(t.name, {}).get("passed")), None)


def bar(done: int, of: int) -> str:
    """Return a bar that is full only when all is done, and empty only when nothing is."""
    full = max(BLOCKS * done // of, min(done, 1))
    return "█" * full + "░" * (BLOCKS - full)


def _sum(name: str, group: list[Task], kept: Kept) -> tuple[str, ...]:
    entries = [kept.get(task.name, {}) for task in group]
    passed = sum(bool(entry.get("passed")) for entry in entries)
    attempted = sum(bool(e.get("attempts")) and not e.get("passed") for e in entries)
    state = f"{bar(passed, len(group))} {passed} of {len(group)}"
    state += f", {attempted} attempted" if attempted else ""
    return name, state, _points(group, kept)


def _state(entry: dict[str, Any]) -> str:
    mended = len(entry.get("mended", []))
    state = "✗ attempted" if entry.get("attempts") else "○ open"
    state = "✓ passed" if entry.get("passed") else state
    return f"{state}, {mended} mended" if mended else state


def _points(group: list[Task], kept: Kept) -> str:
    """Return what some tasks have earned: "3 of 10"."""
    earned = 0
    for task in group:
        entry = kept.get(task.name, {})
        earned += (
            task.points if entry.get("passed") else min(entry.get("points", 0), task.points)
        )
    total = sum(task.points for task in group)
    return f"{earned:g} of {total}" if total else "practice"


def _as_text(header: tuple[str, ...], rows: list[tuple[str, ...]], last: str) -> str:
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = (
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        for row in (header, *rows)
    )
    return "\n".join([*map(str.rstrip, lines), last])


def _as_html(header: tuple[str, ...], rows: list[tuple[str, ...]], last: str) -> str:
    left = 'style="text-align:left"'
    titles = "".join(f'<th scope="col" {left}>{title}</th>' for title in header)
    lines = "".join(
        f'<tr><th scope="row" {left}>{html.escape(name)}</th>'
        + "".join(f"<td {left}>{html.escape(cell)}</td>" for cell in rest)
        + "</tr>"
        for name, *rest in rows
    )
    # Of one width, and not read aloud: the numbers beside a bar say the same.
    blocks = r'<span aria-hidden="true" style="font-family:monospace">\1</span>'
    lines = re.sub("([█░]+)", blocks, lines)
    table = f"<table><thead><tr>{titles}</tr></thead><tbody>{lines}</tbody></table>"
    first, *more = map(html.escape, last.split("\n"))
    return f"{table}<p><strong>{first}</strong></p>" + "".join(f"<p>{x}</p>" for x in more)
