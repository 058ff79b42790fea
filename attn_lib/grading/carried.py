"""Errors carried forward: an answer that calls a wrong one of the same lesson is not wrong for that."""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from functools import cache

from attn_lib.checks.task import find_task

# What the right answers use (see CONTRIBUTING.md).
_HEAD = "import math, torch, attn_lib\nimport torch.nn.functional as F\nfrom torch import Tensor, nn"
_NO_PYTHON = re.compile(r"^\s*[%!?].*$", re.MULTILINE)


def called_by(name: str, cells: list[str]) -> set[str]:
    """Return the names that the code which defines a name uses, directly or by way of other names."""
    uses: dict[str, set[str]] = {}
    for cell in cells:
        for bound, statement in defined_in(cell).items():
            used = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)}
            uses[bound] = uses.get(bound, set()) | used
    found, waiting = set[str](), [name]
    while waiting:
        new = uses.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found - {name}


def with_ours(cells: list[str], names: list[str]) -> list[str]:
    """Return cells in which our answers take the place of a learner's, wherever these are defined."""
    changed, missing = list[str](), set(names)
    for cell in cells:
        here = defined_in(cell).keys()
        changed += [cell, *(our_answer(name) for name in names if name in here)]
        missing -= here
    return [*(our_answer(name) for name in names if name in missing), *changed]


@cache
def our_answer(name: str) -> str:
    """Return the right answer to a task as code that stands alone."""
    reference = find_task(name).reference
    [definition] = ast.parse(textwrap.dedent(inspect.getsource(reference))).body
    assert isinstance(definition, ast.FunctionDef | ast.ClassDef)
    definition.decorator_list = []
    return f"{_HEAD}\n\n{ast.unparse(definition)}\n\n{name} = {definition.name}"


def defined_in(cell: str) -> dict[str, ast.stmt]:
    """Return the names that a cell defines, each with the last statement that does; none if it is no Python."""
    try:
        statements = ast.parse(_NO_PYTHON.sub("", cell)).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    return {name: statement for statement in statements for name in _bound(statement)}


def _bound(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement at the top of a cell gives a value."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
    elif isinstance(statement, ast.Assign | ast.AnnAssign):
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
