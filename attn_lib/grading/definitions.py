"""What a learner's cells define, read from their text. It runs inside the sandbox, before any of it does.

Parsing a stranger's code can take gigabytes and minutes, so outside nothing is parsed.
"""

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import TypedDict

_NO_PYTHON = re.compile(r"^\s*[%!?].*$", re.MULTILINE)
_ENOUGH = 60  # names, calls and signs; fewer are the same by chance
_NOTHING = SyntaxError, ValueError, RecursionError, MemoryError


class Definition(TypedDict):
    """The last statement of a cell that gives a name its value.

    Attributes:
        uses: the names in it.
        form: a hash of its code without comments, docstrings and types, its names numbered as they come; "" for a
            name that is no answer, or too deep.
        size: how many names, calls and signs it has.
    """

    uses: list[str]
    form: str
    size: int


Cell = dict[str, Definition]  # what one cell defines, by name


def definitions(cell: str, answers: Iterable[str] = ()) -> Cell:
    """Return what a cell defines; nothing if it is no Python.

    Args:
        cell: its source.
        answers: the names whose `form` is wanted.
    """
    try:
        statements = ast.parse(_NO_PYTHON.sub("", cell)).body
        said = [statement for statement in statements if not _says_nothing(statement)]
        last = {name: statement for statement in said for name in _bound(statement)}
        return {name: _definition(last[name], name in answers) for name in last}
    except _NOTHING:
        return {}


def _says_nothing(statement: ast.stmt) -> bool:
    """Say whether a statement gives a name the value that it has: `attention = attention`."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=same)):
            return name == same
    return False


def fingerprint(defined: list[Cell], answers: list[str]) -> str:
    """Return a hash of the answers in a notebook; "" if there is little in them.

    Args:
        defined: what each cell defines.
        answers: the names of the tasks.
    """
    last: dict[str, Definition] = {}
    for cell in defined:
        last |= cell
    found = [last[name] for name in answers if name in last]
    if not all(answer["form"] for answer in found):
        return ""
    if sum(answer["size"] for answer in found) <= _ENOUGH:
        return ""
    return hashlib.sha256("".join(answer["form"] for answer in found).encode()).hexdigest()


def _bound(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement at the top of a cell gives a value."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
    elif isinstance(statement, ast.Assign | ast.AnnAssign):
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


def _definition(statement: ast.stmt, is_answer: bool) -> Definition:
    nodes = list(ast.walk(statement))
    uses = sorted({node.id for node in nodes if isinstance(node, ast.Name)})
    form = _form(statement) if is_answer else ""
    return {"uses": uses, "form": form, "size": len(list(ast.walk(statement)))}


def _form(answer: ast.stmt) -> str:
    for node in ast.walk(answer):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node):
            node.body = node.body[1:]
        for place in ("annotation", "returns"):
            if hasattr(node, place):
                setattr(node, place, None)
    numbers: dict[str, str] = {}
    for node in ast.walk(answer):
        for place in ("id", "arg", "name"):
            name = getattr(node, place, None)
            if isinstance(name, str) and not isinstance(node, ast.keyword):
                setattr(node, place, numbers.setdefault(name, f"_{len(numbers)}"))
    try:
        return hashlib.sha256(ast.dump(answer).encode()).hexdigest()
    except (RecursionError, ValueError):  # a number of 5,000 digits
        return ""
