"""Machine-made mutants of a right answer: one line, changed in one small way.

`python -m tests.checks.mutants TASK` prints those that the check accepts and nobody has looked at.
"""

import ast
import inspect
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy

from attn_lib.checks import judge
from attn_lib.checks.rows import Row, Variants
from attn_lib.checks.task import find_task
from tests.checks.answers import answers_to

SECONDS = 10  # for one mutant; one that never ends counts as rejected

SWAPPED = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mod, ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip


def mutants(answer: Callable) -> Iterator[Row]:
    """Yield rows of an answer's lines: operators swapped, calls dropped, names and constants changed."""
    variants = Variants(answer, [])
    arguments = sorted(_arguments(answer))
    for line, text in variants.lines.items():
        if line == "return":
            continue
        tree = ast.parse(text, mode="eval").body
        seen = {text}
        for number, node in enumerate(ast.walk(tree)):
            for change in _changes(node, arguments):
                copied = ast.Expression(deepcopy(tree))
                old = list(ast.walk(copied.body))[number]
                mutant = ast.unparse(_Replace(old, change(old)).visit(copied))
                if mutant not in seen:
                    seen.add(mutant)
                    yield {line: mutant}


def _changes(node: ast.AST, arguments: list[str]) -> Iterator[Callable[[ast.AST], ast.AST]]:
    """Yield functions that change a copy of the node and return what takes its place."""
    if isinstance(node, ast.BinOp):
        if type(node.op) in SWAPPED:
            yield lambda n: ast.BinOp(n.left, SWAPPED[type(n.op)](), n.right)
        if isinstance(node.op, ast.MatMult | ast.Sub | ast.Div | ast.FloorDiv):
            yield lambda n: ast.BinOp(n.right, n.op, n.left)
        yield lambda n: n.left
        yield lambda n: n.right
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPPED:
        yield lambda n: ast.Compare(n.left, [SWAPPED[type(n.ops[0])]()], n.comparators)
    if isinstance(node, ast.UnaryOp):
        yield lambda n: n.operand
    if isinstance(node, ast.IfExp):
        yield lambda n: n.body
        yield lambda n: n.orelse
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute):
            yield lambda n: n.func.value  # x.f(...) becomes x
        if node.args:
            yield lambda n: n.args[0]  # f(x, ...) becomes x
        if node.keywords:
            yield lambda n: ast.Call(n.func, n.args, n.keywords[1:])
        is_transpose = getattr(node.func, "attr", None) == "transpose"
        if len(node.args) > 1 and not is_transpose:  # it does not mind the order
            yield lambda n: ast.Call(n.func, [*n.args[1::-1], *n.args[2:]], n.keywords)
    if isinstance(node, ast.Subscript):
        yield lambda n: n.value
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield lambda n: ast.Constant(not n.value)
        elif isinstance(node.value, int | float):
            yield lambda n: ast.Constant(n.value + 1)
            yield lambda n: ast.Constant(n.value - 1)
    if isinstance(node, ast.Name) and node.id in arguments:
        for other in arguments:
            yield lambda n, other=other: ast.Name(other, ast.Load())


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST):
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else self.generic_visit(node)


def _arguments(answer: Callable) -> set[str]:
    values = vars(answer).values() if inspect.isclass(answer) else [answer]
    functions = filter(inspect.isfunction, values)
    return {name for f in functions for name in inspect.signature(f).parameters} - {"self"}


def accepted(name: str, *, seed: int = 0) -> list[Row]:
    """Return the mutants of a task's annotated answers that pass and are not known to be right."""
    task, survivors = find_task(name), answers_to(name).survivors
    found = []
    for build in (task.reference, *task.others):
        rows = [row for row in mutants(build) if row not in survivors]
        variants = Variants(build, rows)
        with warnings.catch_warnings(action="ignore", category=SyntaxWarning):
            variants.variant()  # compiles them all: `1[0]`, made from `x[0]`, warns
        for number, row in enumerate(rows):
            with limited(SECONDS):
                if judge(name, variants.variant(number), seed=seed).status == "passed":
                    found.append(row)
    return found


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Interrupt what takes longer: the check then says that it was interrupted, which is no pass."""

    def interrupt(*args: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


if __name__ == "__main__":
    for row in accepted(sys.argv[1]):
        print(row)
