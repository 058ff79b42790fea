"""Judge every answer in a file: `python -m attn_lib.checks answers.py`.

For those who write tasks: try the mistakes that people make, and see which are named, and how.

The file holds Python. Each function or class with the name of a task is an answer to it; with --task, the
last one is, whatever its name. Several answers to one task stand in cells, which begin with `# %%` and a title:
what comes before the first cell is run before each of them.
"""

import argparse
import inspect
import sys
from pathlib import Path
from typing import Any

from attn_lib.checks.judge import judge
from attn_lib.checks.mistakes import known
from attn_lib.checks.rows import NAMES
from attn_lib.checks.shared_mistakes import SHARED
from attn_lib.checks.task import find_task, tasks


def main(arguments: list[str]) -> int:
    """Do what the command line asks for; return the exit status."""
    doc = __doc__ or ""
    parser = argparse.ArgumentParser(
        prog="python -m attn_lib.checks",
        description=doc,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", type=Path, nargs="?", help="the answers")
    parser.add_argument("--task", help="the task that they answer; else each by its name")
    parser.add_argument("--seed", type=int, default=0, help="of the inputs (0)")
    parser.add_argument("--rows", metavar="TASK", help="judge this task's own rows instead")
    options = parser.parse_args(arguments)
    if options.rows:
        return judge_rows(options.rows, options.seed)
    if options.file is None:
        parser.error("expected a file with answers, or --rows TASK")
    try:
        text = options.file.read_text(encoding="utf-8")
        if options.task:
            find_task(options.task)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    named = total = passed = 0
    for title, start, code in snippets(text):
        try:
            answers = defined(title, start, code, options.task)
            verdicts = [judge(*answer, seed=options.seed) for answer in answers]
        except Exception as error:
            print(f"\n{title}\n  not judged: {type(error).__name__}: {error}")
            continue
        for verdict in verdicts:
            total, named = total + 1, named + (verdict.mistake is not None)
            passed += verdict.status == "passed"
            said = verdict.mistake or "no mistake named"
            said += f", and {verdict.second}" if verdict.second else ""
            of = f", {verdict.task}" if len(verdicts) > 1 else ""
            print(f"\n{title}{of}\n  {verdict.status}: {said}")
            if verdict.status != "passed":
                print("  " + verdict.message.replace("\n", "\n  "))
    print(f"\n{total} answers judged: {passed} passed, in {named} a mistake is named.")
    return 0


def judge_rows(name: str, seed: int) -> int:
    """Judge a task's known mistakes; say which are accepted, or taken for another one."""
    mistakes = known(find_task(name).name).mistakes
    wrong = 0
    for number, mistake in enumerate(mistakes):
        verdict = judge(name, known(name).answer(number), seed=seed)
        if verdict.mistake != mistake.id:
            wrong += 1
            lines = " ; ".join(f"{line} = {text}" for line, text in mistake.lines.items())
            named = verdict.mistake or verdict.status
            print(f"{mistake.id}: {named}\n    {lines or '(a whole answer)'}")
    shared = sum(mistake in SHARED for mistake in mistakes)
    print(
        f"{len(mistakes)} rows, {shared} of them shared; {wrong} taken for something else."
    )
    return bool(wrong)


def snippets(text: str) -> list[tuple[str, str, str]]:
    """Split a file into its cells: their titles, what comes before the first, and their code."""
    start, *cells = f"\n{text}".split("\n# %%")
    found = []
    for number, cell in enumerate(cells, start=1):
        title, _, code = cell.partition("\n")
        found.append((title.strip() or f"cell {number}", start, code))
    return found or [("the file", "", text)]


def defined(title: str, start: str, code: str, task: str | None) -> list[tuple[str, Any]]:
    """Run the code of a cell; return its answers, each with the name of its task.

    Raises:
        ValueError: it defines nothing, or nothing named after a task.
    """
    names: dict[str, Any] = {**NAMES, "__name__": "answers"}
    exec(compile(start, f"<{title}>", "exec"), names)
    before = dict(names)
    exec(compile(code, f"<{title}>", "exec"), names)
    own = {
        name: value
        for name, value in names.items()
        if value is not before.get(name) and _is_definition(value)
    }
    if not own:
        raise ValueError("expected a function or a class, got none")
    last = [*own][-1]
    if task:
        return [(task, own[last])]
    there = {task.name for task in tasks()}
    answers = [(name, value) for name, value in own.items() if name in there]
    if not answers:
        find_task(last)  # says which name is near
    return answers


def _is_definition(value: Any) -> bool:
    """Say whether it is a function or a class, or one that a decorator has wrapped."""
    return (
        inspect.isfunction(value) or inspect.isclass(value) or hasattr(value, "__wrapped__")
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
