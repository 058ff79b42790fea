"""Errors carried forward: an answer that calls a wrong one of the same lesson is not wrong for that."""

import ast
import inspect
import textwrap
from functools import cache

from attn_lib.checks.task import find_task
from attn_lib.grading.definitions import Cell

# What the right answers use (see CONTRIBUTING.md). It stays in a function: an answer is not to find it there.
_HEAD = "import math, torch, attn_lib\nimport torch.nn.functional as F\nfrom torch import Tensor, nn"


def called_by(name: str, defined: list[Cell]) -> set[str]:
    """Return the names that the code which defines a name uses, directly or by way of other names.

    Args:
        name: of an answer.
        defined: what each cell defines.
    """
    uses: dict[str, set[str]] = {}
    for cell in defined:
        for bound, definition in cell.items():
            uses.setdefault(bound, set()).update(definition["uses"])
    found, waiting = set[str](), [name]
    while waiting:
        new = uses.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found - {name}


def with_ours(cells: list[str], defined: list[Cell], names: list[str]) -> list[str]:
    """Return cells in which our answers take the place of a learner's, wherever these are defined."""
    changed, missing = list[str](), set(names)
    for cell, here in zip(cells, defined, strict=True):
        changed += [cell, *(our_answer(name) for name in names if name in here)]
        missing -= here.keys()
    return [*(our_answer(name) for name in names if name in missing), *changed]


@cache
def our_answer(name: str) -> str:
    """Return the right answer to a task as code that stands alone, and leaves nothing but the answer."""
    reference = find_task(name).reference
    [definition] = ast.parse(textwrap.dedent(inspect.getsource(reference))).body
    assert isinstance(definition, ast.FunctionDef | ast.ClassDef)
    definition.decorator_list = []
    inside = f"{_HEAD}\n\n{ast.unparse(definition)}\n\nreturn {definition.name}"
    return f"def _ours():\n{textwrap.indent(inside, '    ')}\n\n{name} = _ours()"
