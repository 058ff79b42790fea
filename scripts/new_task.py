"""Write the frame of a new exercise task: `python scripts/new_task.py 06 window_share "weights, window"`.

It makes the task's file, registers it, makes the file of its answers in the tests, and adds its cells to
the solution. What is to be filled in is marked with TODO. Nothing that is there is overwritten.
"""

import argparse
import re
import sys
from pathlib import Path
from typing import Any

import nbformat

ROOT = Path(__file__).resolve().parents[1]

TASK = '''"""The task `{name}`: TODO in one line."""

import torch

from attn_lib.checks.authoring import Case, task


@task(
    lesson={lesson},
    points=2,
    insight="TODO what who passes it has understood.",
    hints=[
        "TODO a nudge.",
        "TODO the next step.",
        "TODO the last step, not the answer.",
    ],
)
def {name}({arguments}):
    result = {first}  # TODO the right answer: straight on, with a name for every line
    return result


@{name}.cases
def _(rng):
    {first} = torch.tensor([[1.0, 2.0], [3.0, 5.0]])  # TODO small, and worked out by hand
    yield Case("two numbers in two rows", ({passed}))  # TODO the arguments
    # TODO all sizes different, sizes that are equal by accident, size 1, not contiguous, other dtypes.


{name}.rows("""
TODO a question that leads out of it?
    TODO-negative  result = -_
""")
'''

ANSWERS = '''"""Answers to {name} that no row makes."""

import torch

from tests.checks.answers import Answers

answers = Answers(
    "{name}",
    spelled=dict(result=["{first} * 1"]),  # TODO right ways to write a line
)


@answers.right
def TODO_built_otherwise({arguments}):
    return {first}


@answers.wrong
def TODO_for_one_input_only({arguments}):
    return torch.tensor([[1.0, 2.0], [3.0, 5.0]])
'''

PROSE = """## {number} · `{name}`

*Difficulty TODO of 5 · TODO minutes · 2 points*

TODO what and why, in two or three sentences; then the meaning as a for-loop, or a tiny example."""

ANSWER = '''def {name}({arguments}):
    """TODO what it returns, with its shape; the shapes of the arguments."""
    ### BEGIN SOLUTION
    return {first}  # TODO
    ### END SOLUTION'''

CHECK = """check("{name}", {name})
### BEGIN HIDDEN TESTS
from attn_lib.checks import grade

grade("{name}", {name})
### END HIDDEN TESTS"""

START = """from attn_lib.checks import check, drill, hint, mine, progress"""


def main() -> int:
    """Do what the command line asks for; return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("lesson", type=int, help="its number: 06")
    parser.add_argument("name", help="of the function that the learner writes")
    parser.add_argument(
        "arguments", nargs="?", default="x", help='its arguments: "weights, window"'
    )
    options = parser.parse_args()
    try:
        for path in write(options.lesson, options.name, options.arguments):
            print(f"wrote {path.relative_to(ROOT)}")
    except (ValueError, OSError) as error:
        parser.error(str(error))
    print(
        "Fill in what is marked with TODO. CONTRIBUTING.md says how, and how to try answers."
    )
    return 0


def write(lesson: int, name: str, arguments: str, root: Path = ROOT) -> list[Path]:
    """Write the frame of a task.

    Args:
        lesson: the lesson's number; its notebook is there.
        name: of the task.
        arguments: of the task, as in its signature.
        root: a clone of the course.

    Returns:
        The files that were written or changed.

    Raises:
        ValueError: there is no such lesson, the task is there already, or a name is none.
    """
    names = re.findall(r"(\w+)\s*(?:=[^,]*)?(?:,|$)", arguments)
    if not name.isidentifier() or not names:
        raise ValueError(
            f"expected a function's name and its arguments, got {name}({arguments})"
        )
    notebooks = sorted((root / "notebooks").glob(f"{lesson:02}_*.ipynb"))
    if not notebooks:
        raise ValueError(
            f"expected a lesson, notebooks/{lesson:02}_*.ipynb, and found none"
        )
    folder = root / "attn_lib" / "tasks" / f"lesson_{lesson:02}"
    task, answers = folder / f"{name}.py", root / "tests/checks/answers" / f"{name}.py"
    for path in (task, answers):
        if path.exists():
            raise ValueError(f"{path.relative_to(root)} is there already")
    stem = notebooks[0].stem
    solution = root / "solutions" / stem / f"{stem}.ipynb"
    words = dict(lesson=lesson, name=name, arguments=arguments, first=names[0])
    words["passed"] = ", ".join(names[:1] * len(names)) + ("," if len(names) == 1 else "")
    changed = [task, answers, *register(folder, name, root), solution]
    task.write_text(TASK.format(**words), encoding="utf-8")
    answers.write_text(ANSWERS.format(**words), encoding="utf-8")
    add_cells(solution, lesson, words)
    return changed


def register(folder: Path, name: str, root: Path) -> list[Path]:
    """Import a task in its folder, and a new folder in the package; return the files changed."""
    package, changed = root / "attn_lib" / "tasks" / "__init__.py", []
    start = folder / "__init__.py"
    if not folder.exists():
        folder.mkdir()
        start.write_text(
            f'"""The tasks of lesson {folder.name[-2:]}, in the order of its exercise."""\n\n'
            f"from attn_lib.tasks.{folder.name} import (  # isort: skip\n)\n"
        )
        text = package.read_text(encoding="utf-8")
        lessons = re.findall(r"^    lesson_\d\d,\n", text, flags=re.M)
        text = text.replace(lessons[-1], f"{lessons[-1]}    {folder.name},\n")
        package.write_text(text, encoding="utf-8")
        changed.append(package)
    text = start.read_text(encoding="utf-8")
    start.write_text(
        text.rstrip().removesuffix(")") + f"    {name},\n)\n", encoding="utf-8"
    )
    return [start, *changed]


def add_cells(solution: Path, lesson: int, words: dict[str, Any]) -> None:
    """Add a task's three cells to a solution, before what ends it; begin one that is not there."""
    name = words["name"]
    if not solution.exists():
        solution.parent.mkdir(parents=True, exist_ok=True)
        cells = [
            _cell("start", f"# Exercise {lesson:02} · TODO\n\nTODO"),
            _cell("imports", START, {}),
            _cell("done", "## Done?"),
            _cell(
                "progress", f"progress(lesson={lesson})", {"tags": ["nbval-ignore-output"]}
            ),
        ]
        nbformat.write(nbformat.v4.new_notebook(cells=cells), solution)
    notebook = nbformat.read(solution, as_version=4)
    sources = [cell.source for cell in notebook.cells]
    ends = [i for i, text in enumerate(sources) if text.startswith("## Done")]
    end = ends[0] if ends else len(sources)
    words["number"] = 1 + sum(bool(re.match(r"## \d", text)) for text in sources)
    graded = {"locked": False, "schema_version": 3, "task": False}
    answer = graded | {"grade": False, "grade_id": name, "solution": True}
    check = graded | {"grade": True, "grade_id": f"check-{name}", "solution": False}
    check |= {"locked": True, "points": 2}
    notebook.cells[end:end] = [
        _cell(f"{name}-text", PROSE.format(**words)),
        _cell(f"{name}-answer", ANSWER.format(**words), {"nbgrader": answer}),
        _cell(f"{name}-check", CHECK.format(**words), {"nbgrader": check}),
    ]
    nbformat.write(notebook, solution)


def _cell(
    id: str, source: str, metadata: dict[str, Any] | None = None
) -> nbformat.NotebookNode:
    """Return a cell of code, or one of text, which has no metadata."""
    id = id.replace("_", "-")[:64]
    if metadata is None:
        return nbformat.v4.new_markdown_cell(source, id=id)
    return nbformat.v4.new_code_cell(source, id=id, metadata=metadata)


if __name__ == "__main__":
    sys.exit(main())
