"""Debugging drills: a right answer with a line written otherwise, for the learner to find and mend."""

import ast
import hashlib
import random
import re
import sys
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

from attn_lib.checks import store
from attn_lib.checks.judge import judge
from attn_lib.checks.kinds import KINDS, kind_of
from attn_lib.checks.language import translated
from attn_lib.checks.mistakes import Known, known
from attn_lib.checks.rows import Row
from attn_lib.checks.seen import seen
from attn_lib.checks.source import definition_of
from attn_lib.checks.store import CannotKeep
from attn_lib.checks.task import Task, find_task, tasks
from attn_lib.checks.verdict import Verdict, inline, show

EASY = 3  # drills of one line to mend in a task before the first of two lines
STUCK = 3  # wrong repairs of a drill before its line is named
# The same for every drill: an import may not tell which line is wrong.
CELL = """\
# {asked} in this answer to {task}. Find what is wrong, mend it, and run the cell.
import math

import torch
import torch.nn.functional as F
from torch import nn

import attn_lib
from attn_lib.checks import drill


{code}


drill("{task}", drilled, key="{key}")"""


class Drill(NamedTuple):
    """A wrong answer to mend.

    Attributes:
        key: its name in cells and in what is kept; it changes only with the code.
        mistakes: the numbers of the known mistakes in it.
        lines: how many of its lines are written otherwise.
        code: a right answer, but for these lines; it defines `drilled`.
        wrong: the lines of it that are wrong, in backquotes.
    """

    key: str
    mistakes: tuple[int, ...]
    lines: int
    code: str
    wrong: str


_offered: dict[str, list[str]] = {}  # the drills of each task that this session has shown
_asked_from: dict[str, tuple[str, str]] = {}  # the task and key that each cell got last
_failures: dict[str, int] = {}  # wrong repairs of each drill


def drill(
    name: str = "",
    answer: Any = None,
    *,
    lesson: int | None = None,
    kind: str = "",
    key: str = "",
) -> Verdict | None:
    """Put a wrong answer to a task you have passed into the next cell, for you to find what is wrong.

    In a terminal, it is printed. Drills not mended yet come first, and those with two wrong lines
    after the first few of a task.

        drill("split_heads")    # one of this task
        drill(lesson=3)         # one of this lesson's passed tasks
        drill(kind="masks")     # one with a mistake of this kind

    Args:
        name: the task's name; without it, a passed task is chosen.
        answer: what you made of a drill. It is judged; what is mended is kept.
        lesson: choose among the tasks of this lesson.
        kind: choose a mistake of this kind: "masks", "dtypes", "state", "axes", "scale" or "counting".
        key: the drill that `answer` was made of; without an answer, the drill to show once more.
    """
    try:
        if answer is not None:
            return _judge_mended(find_task(name), answer, key)
        if isinstance(name, int):
            raise ValueError(f"Did you mean `drill(lesson={name})`?")
        if kind not in ("", *KINDS):
            raise ValueError(f"There is no kind {kind!r}: choose among {', '.join(KINDS)}.")
        task = find_task(name) if name else _choose(lesson, kind)
        kept = store.load()[0]
        entry = kept.get(task.name, {})
        if not task.drilled:
            raise ValueError(f"`{task.name}` has no drills.")
        if not entry.get("passed"):
            raise ValueError(f"Drills come after the task: pass `{task.name}` first.")
        mended = entry.get("mended", [])
        cell = _cell()
        last, open_key = _asked_from.get(cell, ("", key))
        if cell and open_key not in (key, *kept.get(last, {}).get("mended", [])):
            raise ValueError("The drill below is still open. Ask for more in a new cell.")
        found = _find(task, key) if key else _next(task, mended, kind)
        _asked_from[cell] = task.name, found.key
        _put(task, found, len(mended))
    except (ValueError, CannotKeep) as error:
        text = translated(str(error))
        show(text, f"<p>{inline(text)}</p>")
    return None


@cache
def drills(name: str) -> list[Drill]:
    """Return the drills of a task, always in the same order: one wrong line first, the easiest, then two."""
    mine = known(name)
    chosen = [_made(mine, mine.number(*row)) for row in _chosen(find_task(name))]
    one = [d for d in chosen if d.lines == 1]
    both = [(*a.mistakes, *b.mistakes) for a, b in combinations(one, 2)]
    pairs = [d for d in (_made(mine, *p) for p in both if mine.compose(*p)) if d.lines == 2]
    pairs = random.Random(name).sample(pairs, min(len(pairs), len(one)))
    return sorted({d.key: d for d in (*chosen, *pairs)}.values(), key=lambda d: d.lines)


def _made(mine: Known, *mistakes: int) -> Drill:
    """Return the drill with these mistakes."""
    code, right = map(_renamed, mine.sources(*mistakes))
    wrong = [line for line in code.splitlines() if line not in right.splitlines()]
    text = " and ".join(f"`{line.strip()}`" for line in wrong)
    key = hashlib.sha256(code.encode()).hexdigest()[:6]
    return Drill(key, mistakes, len(wrong), code, text)


def _chosen(task: Task) -> list[tuple[str, Row]]:
    """Return the mistakes that are drilled in a task: those of the task that it repairs, if it does."""
    names = [name.strip() for name in task.drilled.split(",") if name]
    return [(name.split()[0], known(task.repairs or task.name).row(name)) for name in names]


def cell_of(task: Task, drill: Drill) -> str:
    """Return the cell of a drill: imports, the wrong answer, and the call that judges it."""
    asked = "One line is wrong"
    if drill.lines == 2:
        one = len(drill.mistakes) == 1
        asked = "One mistake is made in two lines" if one else "Two lines are wrong"
    text = CELL.format(asked=asked, task=task.name, code=drill.code, key=drill.key)
    first, rest = text.split("\n", 1)
    return f"# {translated(first.removeprefix('# '))}\n{rest}"


def _renamed(code: str) -> str:
    """Return the code under another name: a learner's own answer is to stay what it is."""
    return re.sub(r"^(def|class) \w+", r"\1 drilled", code).replace("1000000000.0", "1e9")


def _is_of(found: Drill, name: str, kind: str) -> bool:
    """Say whether a drill of a task has a mistake of a kind, if one is asked for."""
    mistakes = known(name).mistakes
    return not kind or kind in {kind_of(mistakes[n].id) for n in found.mistakes}


def _choose(lesson: int | None, kind: str) -> Task:
    """Return the passed task, of a lesson, of which the fewest drills are mended or were shown."""
    kept = store.load()[0]
    among = [t for t in tasks() if t.points and t.drilled and lesson in (None, t.lesson)]
    if not among:
        raise ValueError(f"Lesson {lesson} has no tasks to drill.")
    passed = [t for t in among if kept.get(t.name, {}).get("passed")]
    if not passed:
        names = ", ".join(f"`{t.name}`" for t in among[:8])
        raise ValueError(f"Drills come after the tasks: pass one first, such as {names}.")
    if kind:
        passed = [t for t in passed if kind in {kind_of(id) for id, _ in _chosen(t)}]
        if not passed:
            raise ValueError(f"What you have passed has no drills of the kind {kind}.")
    return min(
        passed,
        key=lambda t: len({*kept[t.name].get("mended", []), *_offered.get(t.name, [])}),
    )


def _find(task: Task, key: str) -> Drill:
    for found in drills(task.name):
        if found.key == key:
            return found
    text = f"`{task.name}` has no drill {key!r}, or has none any more. Ask for another"
    raise ValueError(f'{text}: `drill("{task.name}")`.')


def _next(task: Task, mended: list[str], kind: str) -> Drill:
    """Return a drill that is not mended yet, another one at each call."""
    seen = _offered.setdefault(task.name, [])
    every = [d for d in drills(task.name) if _is_of(d, task.name, kind)]
    if all(d.key in seen or d.key in mended for d in every):
        seen.clear()  # all over again
        mended = [] if all(d.key in mended for d in every) else mended
    left = [d for d in every if d.key not in seen and d.key not in mended]
    # After the first few, those of two lines in turn with those of one.
    if len(mended) >= EASY and len(mended) % 2:
        left.sort(key=lambda d: -d.lines)
    for found in left:
        seen.append(found.key)
        # Two mistakes may cancel.
        if judge(task.name, known(task.name).answer(*found.mistakes)).status != "passed":
            return found
    raise ValueError(
        f"`{task.name}` has no more drills{f' of the kind {kind}' if kind else ''}."
    )


def _put(task: Task, found: Drill, mended: int) -> None:
    """Put a drill into the next cell, or print it where there are no cells."""
    code = cell_of(task, found)
    shell = _notebook()
    if shell is None:
        print(
            f"# Save this in a file, drilled.py say, and run it: python drilled.py\n{code}"
        )
        return
    shell.set_next_input(code)
    count = f"; {mended} mended so far" if mended else ""
    text = f"A drill for `{task.name}` is in the next cell{count}."
    text = translated(text)
    show(text, f"<p>{inline(text)}</p>")


def _notebook() -> Any:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell if hasattr(shell, "kernel") else None


def _cell() -> str:
    """Return the id of the notebook's cell that runs, where that is told."""
    shell = _notebook()
    return shell.get_parent().get("metadata", {}).get("cellId", "") if shell else ""


def _judge_mended(task: Task, answer: Any, key: str) -> Verdict:
    """Judge what a learner made of a drill, show the verdict, and keep what is mended."""
    verdict = judge(task.name, answer)
    try:
        found = _find(task, key)
        if verdict.status != "passed":
            note = _help(found)
        elif _is_mended(answer, found):
            note = _keep(task, found)
        else:
            note = (
                "Not counted: this is another answer. Mend the line that is wrong in that of the drill, "
                "and leave the others as they are."
            )
    except (ValueError, CannotKeep) as error:  # the verdict is shown all the same
        note = f"Not counted: {error}"
    if verdict.status == "passed":
        verdict = replace(verdict, points=0, max_points=0)
    verdict = verdict.with_note(note)
    verdict.show()
    return verdict


def _is_mended(answer: Any, found: Drill) -> bool:
    """Say whether a right answer is the drill's, with a line or two written otherwise."""
    try:
        text = definition_of(answer)
    except CannotKeep:
        return True
    lines, now = (
        Counter(line.strip() for line in ast.unparse(ast.parse(code)).splitlines()[1:])
        for code in (found.code, text)
    )
    # One line more may change than is wrong. Where none does, the answer stands beside the drill.
    lost, more = (lines - now).total(), (now - lines).total()
    return 0 < lost <= found.lines + 1 and more <= found.lines + 2


def _help(found: Drill) -> str:
    """Show what is wrong to those who have tried a few times."""
    _failures[found.key] = _failures.get(found.key, 0) + 1
    return f"Stuck? This is wrong: {found.wrong}." if _failures[found.key] >= STUCK else ""


def _keep(task: Task, found: Drill) -> str:
    """Keep that a drill is mended; return what it was."""
    mended: list[str] = []

    def change(entry: dict[str, Any]) -> None:
        mended[:] = dict.fromkeys([*entry.get("mended", []), found.key])  # each once
        entry["mended"] = mended

    message = store.update(task.name, change)
    mine = known(task.name)
    made = [mine.mistakes[n] for n in sorted(found.mistakes, key=mine.first_line)]
    told = dict.fromkeys(
        f"{mistake.question} {seen(mistake.id)}".strip() for mistake in made
    )
    text = f"Mended: {found.wrong}. {' '.join(told)} That makes {len(mended)} of this task."
    return f'{text} For another one: `drill("{task.name}")` {message}'.strip()
