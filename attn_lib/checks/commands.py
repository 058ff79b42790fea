"""The functions that a learner calls: `check`, `hint`, `progress`, `mine`, `language`; and `grade` for the grader."""

import ast
import contextlib
import html
from dataclasses import replace
from typing import Any

from attn_lib.checks import store
from attn_lib.checks.judge import judge
from attn_lib.checks.language import colon, speak, translated
from attn_lib.checks.observe import walled_off
from attn_lib.checks.progress_table import next_task, progress_table
from attn_lib.checks.say import safe_str
from attn_lib.checks.source import (
    load_source,
    standalone_source,
    tensors_of_other_cells,
    thrown_away,
    used_by,
)
from attn_lib.checks.store import CannotKeep
from attn_lib.checks.task import Task, find_task, tasks
from attn_lib.checks.verdict import Verdict, in_jupyter, inline, show, with_links

STAYS = "Each check brings this up to date. To keep it beside your notebook: right-click it, Create New View for Output."
_hints_given: dict[str, int] = {}
_panels: dict[int | None, Any] = {}  # what `progress` showed last, by lesson
# Kept answers, by task and source: judged once, or an answer that asks for another one at each call
# would take minutes. None: it does not pass.
_judged: dict[tuple[str, str], Any] = {}


def check(name: str, answer: Any = None) -> Verdict:
    """Judge an answer, show the verdict, and keep a passed answer for later lessons. Never raises.

    Args:
        name: the task's name.
        answer: your function or class, without parentheses.

    Returns:
        The verdict; `verdict.inputs` holds the tensors on which the answer failed.
    """
    try:
        verdict = _check(name, answer)
    # A check may not end a notebook, whatever the answer is made of.
    except BaseException as error:
        text = f"The check was cut short by {type(error).__name__}: {safe_str(error)[:300]}"
        verdict = Verdict(safe_str(name), "error", evidence=text)
    try:
        verdict.show()
    except Exception:  # an answer's texts can be made of anything; the status is not
        print(verdict.heading)
    with contextlib.suppress(Exception):
        for lesson, panel in _panels.items():
            text, markup = _progress(lesson)
            panel.update({"text/plain": text, "text/html": markup}, raw=True)
    return verdict


def _check(name: str, answer: Any) -> Verdict:
    try:
        task = find_task(name)
    except ValueError as error:
        shown = getattr(name, "__name__", name)  # the answer itself, say
        return Verdict(safe_str(shown), "error", evidence=str(error))
    if _is_ours(answer):
        text = "This is the library's own answer. Write yours, and check that."
        return Verdict(task.name, "not attempted", evidence=text, max_points=task.points)
    verdict = judge(task.name, answer)
    if verdict.status in ("wrong", "error"):
        verdict = replace(verdict, first=_first_to_mend(task, answer))
    kept = _keep(task, answer, verdict)
    notes = _look_also(answer, verdict), kept, _onward(task, verdict)
    return verdict.with_note("\n".join(note for note in notes if note))


def _onward(task: Task, verdict: Verdict) -> str:
    """Say what who has passed a task has understood, and which one is next."""
    if verdict.status != "passed":
        return ""
    with contextlib.suppress(CannotKeep):
        following = next_task(store.load()[0], task.lesson)
        if following is not None:
            where = f" (exercise {following.lesson:02d})" * (
                following.lesson != task.lesson
            )
            return f"{task.insight} Next: `{following.name}`{where}.".strip()
    return task.insight


def _look_also(answer: Any, verdict: Verdict) -> str:
    """Return a question for each thing that a wrong answer throws away, or reads from another cell."""
    if verdict.status not in ("wrong", "error"):
        return ""
    try:
        call, names = thrown_away(answer), tensors_of_other_cells(answer)
    except Exception:  # an answer can be made of anything
        return ""
    notes = []
    if call is not None:
        text = ast.unparse(call)
        text = text if len(text) <= 60 else text[:57] + "..."
        notes.append(
            f"`{text}`: it changes nothing and makes a new tensor. What takes that?"
        )
    if names:
        notes.append(
            f"`{names[0]}`: it is a tensor from another cell, the same for every input. "
            "Should one of the arguments stand there?"
        )
    return "\n".join(f"Look also at {note}" for note in notes)


def _first_to_mend(task: Task, answer: Any) -> str:
    """Return the first task of this exercise whose answer this one uses and that does not pass, or ""."""
    try:
        used = used_by(answer)
    except Exception:  # an answer can be made of anything
        return ""
    for other in tasks():
        mine = used.get(other.name)
        if other.lesson != task.lesson or other is task or not callable(mine):
            continue
        if not _is_ours(mine) and judge(other.name, mine).status != "passed":
            return other.name
    return ""


def _is_ours(answer: Any) -> bool:
    module = getattr(answer, "__module__", None)
    return isinstance(module, str) and module.startswith("attn_lib")


def _keep(task: Task, answer: Any, verdict: Verdict) -> str:
    """Keep the attempt and, if it passed, its source; return what the learner should know."""
    if verdict.status == "not attempted":
        return ""
    passed, note, source = verdict.status == "passed", "", ""
    if passed:
        try:
            source = standalone_source(answer, task.name)
            if judge(task.name, load_source(source, task.name)).status != "passed":
                raise CannotKeep("run alone, away from this notebook, it no longer passes")
        except Exception as error:
            kind = "" if isinstance(error, CannotKeep) else f"{type(error).__name__}: "
            source, note = "", f"Not kept for later lessons: {kind}{error}."

    def change(entry: dict[str, Any]) -> None:
        entry["attempts"] += 1
        entry["status"] = verdict.status
        if verdict.mistake and verdict.mistake not in entry.setdefault("mistakes", []):
            entry["mistakes"].append(verdict.mistake)
        if verdict.points and not passed:  # scored in steps
            entry["points"] = max(entry.get("points", 0), verdict.points)
        if passed:
            entry["passed"] = True
            entry["source"] = source or entry.get("source", "")

    try:
        return "\n".join(part for part in (note, store.update(task.name, change)) if part)
    except CannotKeep as error:
        return "\n".join(part for part in (note, str(error)) if part)


def hint(name: str = "") -> None:
    """Show the next hint of a task; the first one again in a new session. Never the answer.

    Args:
        name: the task's name.
    """
    try:
        task = find_task(name)
    except ValueError as error:
        text = translated(str(error))
        show(text, f"<p>{html.escape(text)}</p>")
        return
    given = min(_hints_given.get(task.name, 0) + 1, len(task.hints))
    last, more = " (the last one)" if given == len(task.hints) else "", ""
    title = translated(f"Hint {given} of {len(task.hints)}{last}")
    if _hints_given.get(task.name) == given:
        more = translated(
            "No more hints: look at the lesson again, or at the verdict's question."
        )
    _hints_given[task.name] = given
    text = translated(task.hints[given - 1])
    show(
        f"{title}{colon()}{text} {more}".rstrip(),
        '<div class="attn-hint" style="border:1px solid #8a6d00;border-left:6px solid #8a6d00;'
        "border-radius:4px;padding:0.5em 0.9em;margin:0.4em 0;max-width:48em;"
        f'color:var(--jp-ui-font-color1, inherit)"><strong>{title}{colon().rstrip()}</strong> {inline(text)} {more}</div>',
    )


def progress(lesson: int | None = None) -> None:
    """Show how far you are, lesson by lesson or task by task, and which task is next; each check brings it up to date.

    Args:
        lesson: show the tasks of this lesson, with the drills mended.
    """
    if panel := show(*_progress(lesson), stays=True):
        _panels[lesson] = panel


def _progress(lesson: int | None) -> tuple[str, str]:
    """Return what `progress` shows, as text and as HTML."""
    try:
        kept, message = store.load()
    except CannotKeep as error:
        kept, message = {}, str(error)
    text, table = progress_table(kept, lesson)
    message = translated(message)
    more = [html.escape(message)] if message else []
    more += [translated(STAYS)] if in_jupyter() else []
    table += "".join(f"<p>{line}</p>" for line in more)
    table = with_links(table, rf"\b({'|'.join(task.name for task in tasks())})\b")
    return f"{text}\n{message}".rstrip(), table


CHOSEN = {
    "en": "English from now on.",
    "zh": "从现在起，提示、问题和检查结果都用中文（第 00 到 03 课；其余仍是英文）。下次运行 `make lab` 时，"
    '中文课文会写进文件夹 `zh`。改回英文：`language("en")`。',
}


def language(code: str) -> None:
    """Choose the language of hints, questions and verdicts, here and in later sessions.

    Args:
        code: "en" or "zh". Chinese are lessons and exercises 00 to 03; `make lab` writes them into the folder zh.

    Raises:
        ValueError: there is no such language.
    """
    try:
        speak(code)
        text = CHOSEN[code]
    except CannotKeep as error:
        text = translated(str(error))
    show(text, f"<p>{inline(text)}</p>")


def mine(name: str) -> Any:
    """Return your own passed answer to a task, or the library's if there is none that still passes; say whose.

    Args:
        name: the task's name.

    Raises:
        ValueError: there is no task of that name.
    """
    task = find_task(name)
    reason = "you have not passed it yet"
    try:
        kept, damaged = store.load()
        reason = damaged or reason
        entry = kept.get(task.name, {})
        if entry.get("source"):
            answer = _passing(task, entry["source"])
            if answer is not None:
                text = translated(f"{task.name}: your own.")
                show(text, f"<p>{text}</p>")
                return answer
            reason = "your kept answer no longer passes; check it again in its exercise"
        elif entry.get("passed"):
            reason = "your answer passed, but its source could not be kept"
    except (Exception, SystemExit) as error:
        reason = safe_str(error) or type(error).__name__
    text = f"{task.name}: the library's version stands in for yours ({reason})."
    text = translated(text)
    show(text, f"<p>{html.escape(text)}</p>")
    return task.library


def _passing(task: Task, source: str) -> Any:
    """Return the answer that a source defines, or None if it does not pass."""
    key = task.name, source
    if key not in _judged:
        _judged[key] = None  # for an answer that asks for itself
        try:
            with walled_off():
                answer = load_source(source, task.name)
            if judge(task.name, answer).status == "passed":
                _judged[key] = answer
        except BaseException:
            del _judged[key]
            raise
    return _judged[key]


def grade(name: str, answer: Any, *, seed: int = 0) -> float:
    """Return the points an answer earns: as a number. What the hidden cells of solutions call.

    Args:
        name: the task's name.
        answer: the learner's function or class.
        seed: of the random inputs.
    """
    return float(judge(name, answer, seed=seed).points)
