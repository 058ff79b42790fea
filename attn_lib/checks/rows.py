"""An answer in which every line has a name, and the mistakes that are one of its lines written otherwise.

The row of a mistake maps the name of a line, which is the name that the line assigns, to what is
written there instead. It is said in one of these forms:

    {"weights": "scores.softmax(-2)"}             the line is this
    {"weights": "softmax(-1) => softmax(-2)"}     in the line, this is that, wherever it occurs
    {"weights": ".softmax(-1) =>"}                in the line, this is left out
    {"gate": "1 - _"}                             `_` stands for what the line says

So two mistakes make a third one, if they do not write the same line differently.
"""

import ast
import builtins
import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property
from pathlib import Path
from types import CodeType
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

import attn_lib

Row = dict[str, str]

# All that an answer and its rows may use, beside Python's own names.
NAMES = {"torch": torch, "F": F, "nn": nn, "math": math, "attn_lib": attn_lib}


def table(text: str) -> Iterator[tuple[str, str, Row]]:
    """Yield the id, the question and the row of each mistake in a table of them.

    A question begins in the first column, and can go on in the next lines. Then comes a line for each
    mistake that it leads out of, indented: its id, and its row. One id may have several rows. A row may
    change several lines of the answer, and have several versions of the last one, each of which makes
    a mistake of its own. A line that begins with # is a comment.

        Which gate lets a head through: 0 or 1?
            upside-down     gate = 1 - _ || -_
            closed-instead  gate = torch.sigmoid(-logits) ; logits = _.abs()
        Print the shapes of q and k. Where are the heads?
            untransposed    q, k = .transpose(1, 2) =>

    Raises:
        ValueError: a line is neither, or there is no question above it.
    """
    question, is_open = "", False
    lines = (line for line in text.splitlines() if line.strip() and line[0] != "#")
    for line in lines:
        if not line.startswith(" "):
            question = f"{question} {line.strip()}" if is_open else line.strip()
            is_open = True
            continue
        is_open = False
        id, _, rest = line.strip().partition(" ")
        first, *versions = rest.split(" || ")
        up_to_text = first.rpartition(" = ")[0]
        for written in (first, *(f"{up_to_text} = {text}" for text in versions)):
            sides = (part.split(" = ", 1) for part in written.split(";") if " = " in part)
            row = {
                name: text.strip()
                for names, text in sides
                for name in re.split(r", (?![^(]*\))", names.strip())  # "(L, S)" is one
            }
            if not question or not row:
                raise ValueError(f"expected a question, then `id  line = text`: {line!r}")
            yield id, question, row


class Variants:
    """One answer and all that some rows make of it, compiled once.

    In the compiled answer, each line that a row names has all its versions, and a switch between
    them. So a combination of rows costs no more than to run it.

    Args:
        answer: a function or class. Each name that a row uses is assigned there exactly once.
        rows: the versions of its lines.

    Raises:
        ValueError: a row names a line that is not there, or there twice, or is no Python.
    """

    def __init__(self, answer: Callable, rows: Sequence[Row]):
        self.answer, self.lines = answer, lines_of(answer)
        self.rows = [expanded(row, self.lines) for row in rows]
        self._slots = [_slots(row) for row in self.rows]
        arguments = [n.arg for n in ast.walk(_tree(answer)) if isinstance(n, ast.arg)]
        # What a line may read.
        self.names = {*self.lines, *arguments, *NAMES, *dir(builtins)}

    def variant(self, *numbers: int) -> Callable:
        """Return the answer with the rows of these numbers; with none, the answer itself."""
        switches = {slot: text for n in numbers for slot, text in self._slots[n].items()}
        namespace: dict[str, Any] = {**NAMES, "_written": switches, "__name__": __name__}
        exec(self._code, namespace)
        return namespace[self.answer.__name__]

    def is_built_alike(self, *numbers: int) -> bool:
        """Say whether a class with these rows has an `__init__` without any."""
        return not any(self._of_init & self.rows[number].keys() for number in numbers)

    def compose(self, a: int, b: int) -> bool:
        """Say whether two rows can stand in one answer: nowhere do they write the same line."""
        one, other = self._slots[a], self._slots[b]
        return all(other.get(slot, text) == text for slot, text in one.items())

    def first_line(self, number: int) -> int:
        """Return the place, among the answer's lines, of the first one that a row changes."""
        names = list(self.lines)
        return min(names.index(name) for name in self.rows[number])

    @cached_property
    def _of_init(self) -> set[str]:
        """The names of the lines in `__init__`."""
        nodes = ast.walk(_tree(self.answer))
        inits = [n for n in nodes if getattr(n, "name", None) == "__init__"]
        return {name for init in inits for name, _ in _named(init)}

    @cached_property
    def _code(self) -> CodeType:
        tree = _tree(self.answer)
        texts: dict[str, dict[str, None]] = {}  # of each slot, in order, each once
        for slots in self._slots:
            for slot, text in slots.items():
                texts.setdefault(slot, {})[text] = None
        for name, statement in _named(tree):
            if name in self.lines:
                slot, value = f"around {name}", statement.value
                statement.value = _switched(name, value, texts.get(name, {}))
                if slot in texts:
                    switched = _switched(slot, ast.Name("_", ast.Load()), texts[slot])
                    kept = ast.NamedExpr(ast.Name("_", ast.Store()), statement.value)
                    both = ast.Tuple([kept, switched], ast.Load())
                    statement.value = ast.Subscript(both, ast.Constant(-1), ast.Load())
        return compile(ast.fix_missing_locations(tree), f"<{self.answer.__name__}>", "exec")


@cache
def lines_of(answer: Callable) -> dict[str, str]:
    """Return what each line of an answer says, by the name it assigns; names that occur once only."""
    named = [(name, ast.unparse(node.value)) for name, node in _named(_tree(answer))]
    names = [name for name, _ in named]
    return {name: text for name, text in named if names.count(name) == 1}


def expanded(row: Row, lines: dict[str, str]) -> Row:
    """Return a row with "this => that" carried out.

    Raises:
        ValueError: a line is not there, or does not hold what is to be replaced, or is no Python.
    """
    written = {}
    for name, text in row.items():
        if name not in lines:
            there = ", ".join(lines)
            raise ValueError(
                f"no line, or more than one, assigns {name!r}; there are {there}"
            )
        old, arrow, new = (part.strip(" ") for part in f"{text} ".partition(" => "))
        if arrow and old not in lines[name]:
            raise ValueError(f"expected {old!r} in the line {name} = {lines[name]}")
        written[name] = lines[name].replace(old, new) if arrow else text
        _parsed(written[name])
    return written


def written_otherwise(answer: Callable, *rows: Row) -> str:
    """Return the source of an answer with some of its lines written otherwise; without comments."""
    tree, lines = _tree(answer), lines_of(answer)
    written = [expanded(row, lines) for row in rows]
    for name, statement in _named(tree):
        texts = [row[name] for row in written if name in row]
        # First what the line is, then what is around it.
        for text in sorted(texts, key=_is_around):
            statement.value = _parsed(filled(text, ast.unparse(statement.value)))
    return ast.unparse(tree)


def names_read(text: str) -> set[str]:
    """Return the names that an expression reads, `_` and those it makes itself left out."""
    nodes = list(ast.walk(_parsed(text)))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    made = {node.arg for node in nodes if isinstance(node, ast.arg)}
    made |= {name.id for name in names if isinstance(name.ctx, ast.Store)}
    return {name.id for name in names} - made - {"_"}


@cache
def text_of(path: str) -> str:
    """Return a file's text as it was when this was first asked for.

    A task asks when it is imported: the file may change under a running session, by an update.
    """
    return Path(path).read_text(encoding="utf-8")


def _tree(answer: Callable) -> ast.Module:
    return ast.parse(_definition(answer))


@cache
def _definition(answer: Callable) -> str:
    """Return the code of a function or class that stands at the top level of its module."""
    function = inspect.isfunction(answer)
    for node in ast.parse(text_of(inspect.getfile(answer))).body:
        if getattr(node, "name", None) != answer.__name__:
            continue
        assert isinstance(node, ast.FunctionDef | ast.ClassDef)
        start = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        end = node.end_lineno or 0
        if not function or start <= answer.__code__.co_firstlineno <= end:
            node.decorator_list = []
            return ast.unparse(node)
    raise ValueError(f"{answer.__name__} is not defined at the top level of its module")


def _named(tree: ast.AST) -> Iterator[tuple[str, Any]]:
    """Yield the statements that have a name: "scores", "q_proj" of `self.q_proj`, and "return"."""
    statements = [
        node for node in ast.walk(tree) if isinstance(node, ast.Assign | ast.Return)
    ]
    for node in sorted(statements, key=lambda node: (node.lineno, node.col_offset)):
        if isinstance(node, ast.Return) and node.value is not None:
            yield "return", node
        elif isinstance(node, ast.Assign):
            yield ast.unparse(node.targets[0]).removeprefix("self."), node


def _slots(row: Row) -> dict[str, str]:
    """Return what a row writes, by the place: a line, or around what the line says."""
    return {f"around {n}" if _is_around(t) else n: t for n, t in row.items()}


def _is_around(text: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == "_" for n in ast.walk(_parsed(text)))


def _parsed(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"expected an expression, got {text!r}") from error


def _switched(slot: str, value: ast.expr, texts: Iterable[str]) -> ast.expr:
    """Return an expression that is one of some texts if the switch says so, else the value."""
    for text in texts:
        test = _parsed(f"_written.get({slot!r}) == {text!r}")
        value = ast.IfExp(test, _parsed(text), value)
    return value


def filled(text: str, line: str) -> str:
    """Return what is written, with what the line says in place of `_`."""

    class Fill(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return _parsed(line) if node.id == "_" else node

    return ast.unparse(Fill().visit(_parsed(text)))
