"""Machine-made changes to a module: an operator, a number, an argument, a statement."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

SWAPPED = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mod, ast.Mod: ast.FloorDiv, ast.MatMult: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.And: ast.Or, ast.Or: ast.And,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
# What means nothing when the program runs, and the words of an error.
SKIPPED = {"annotation", "returns", "decorator_list", "exc", "cause", "msg"}
LOOKS = {"indent", "help", "description", "epilog", "metavar"}  # of JSON and of help texts
COMMUTATIVE = (
    *("maximum", "minimum", "max", "min", "equal", "transpose", "compare_digest"),
    *("isclose", "compose", "suppress", "cosine_similarity"),
    *("_are_floats", "_same_error"),  # of attn_lib.checks
)


class Mutant(NamedTuple):
    """A module with one change.

    Attributes:
        place: the function or class around it: "KVCache.update".
        change: "end > max_len -> end >= max_len".
        source: the whole module.
    """

    place: str
    change: str
    source: str


def mutants(source: str) -> Iterator[Mutant]:
    """Yield every mutant of a module, in the order of its lines."""
    for node, place in _nodes(ast.parse(source), ""):
        for old, new in _changes(node):
            before = ast.unparse(old)
            if new != before:  # as f(x, x) is, with its arguments exchanged
                yield Mutant(place, f"{before} -> {new}", _replaced(source, old, new))


def _nodes(node: ast.AST, place: str) -> Iterator[tuple[ast.AST, str]]:
    yield node, place
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        place = f"{place}.{node.name}".lstrip(".")
    for field, value in ast.iter_fields(node):
        children = value if isinstance(value, list) else [value]
        for child in children if field not in SKIPPED else ():
            # The parts of an f-string do not know where they stand.
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                yield from _nodes(child, place)


def _changes(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Yield a part of the code and what takes its place."""
    match node:
        case ast.Compare(ops=[op]) | ast.BinOp(op=op) | ast.BoolOp(op=op):
            if type(op) in SWAPPED:
                yield node, _with_operator(node, SWAPPED[type(op)]())
        case ast.UnaryOp(op=ast.Not() | ast.Invert() | ast.USub()):
            yield node, ast.unparse(node.operand)
        case ast.Constant(value=bool()):
            yield node, str(not node.value)
        case ast.Constant(value=int()):
            yield from ((node, str(node.value + step)) for step in (1, -1))
        case ast.Constant(value=float()):
            yield node, repr(2 * node.value or 1.0)
        case ast.Call():
            yield from ((node, new) for new in _other_calls(node))
        case ast.If() | ast.While() | ast.IfExp() if isinstance(
            node.test, ast.Name | ast.Call | ast.Attribute
        ):
            yield node.test, f"not {ast.unparse(node.test)}"
        case ast.Raise() | ast.AugAssign() | ast.Break() | ast.Continue():
            yield node, "pass"
        case ast.Expr(value=ast.Call()) | ast.Delete():
            yield node, "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield node, "pass"


def _with_operator(node: ast.AST, op: ast.AST) -> str:
    name = "ops" if isinstance(node, ast.Compare) else "op"
    fields = dict(ast.iter_fields(node)) | {name: [op] if name == "ops" else op}
    return ast.unparse(type(node)(**fields))


def _other_calls(call: ast.Call) -> Iterator[str]:
    """Write a call without each of its keywords, with two arguments exchanged, or not at all."""
    for dropped in (k for k in call.keywords if k.arg not in LOOKS and not _is_default(k)):
        kept = [keyword for keyword in call.keywords if keyword is not dropped]
        yield ast.unparse(ast.Call(call.func, call.args, kept))
    name = ast.unparse(call.func).rpartition(".")[2]
    if len(call.args) > 1 and name not in COMMUTATIVE:
        exchanged = [call.args[1], call.args[0], *call.args[2:]]
        yield ast.unparse(ast.Call(call.func, exchanged, call.keywords))
    if isinstance(call.func, ast.Attribute) and not call.args:
        yield ast.unparse(call.func.value)  # x.clone() becomes x


def _is_default(keyword: ast.keyword) -> bool:
    """Say whether `zip` does without it what it is told to: ruff wants it written."""
    return keyword.arg == "strict" and getattr(keyword.value, "value", None) is False


def _replaced(source: str, old: ast.AST, new: str) -> str:
    """Return the source with another text in the place of a part."""
    lines = source.encode().splitlines(keepends=True)  # columns count bytes
    start = sum(map(len, lines[: old.lineno - 1])) + old.col_offset
    end = sum(map(len, lines[: old.end_lineno - 1])) + old.end_col_offset
    text = new if isinstance(old, ast.stmt) else f"({new})"
    whole = b"".join(lines)
    return (whole[:start] + text.encode() + whole[end:]).decode()
