"""Turn an answer into source code that stands alone, and back into an answer.

A learner's answer uses what other cells define: imports, constants, earlier answers. What it uses
is followed name by name and written above it, so that it runs in a later notebook.
"""

import ast
import dis
import importlib.util
import inspect
import linecache
import sys
import types
from collections.abc import Iterator
from typing import Any

from attn_lib.checks.store import CannotKeep

# Where a function without a module of its own is looked for: torch.softmax, torch.einsum, ...
PUBLIC_MODULES = ("torch", "torch.nn.functional", "torch.nn", "math", "numpy")
CONSTANTS = (type(None), bool, int, float, complex, str, bytes)


def standalone_source(answer: Any, name: str) -> str:
    """Return source that defines `name` and everything it needs.

    Args:
        answer: a function or class, defined at the top level of a cell or module.
        name: what the source shall call it: the task's name.

    Raises:
        CannotKeep: the source cannot be found, or something it uses cannot be written down.
    """
    written: dict[str, str] = {}  # statement -> itself, in the order in which they must run
    imported = _import_line(answer, name)
    if imported:
        return imported + "\n"
    own_name = _write_definition(answer, written)
    lines = [*written, *([f"{name} = {own_name}"] if own_name != name else [])]
    return "\n\n".join(lines) + "\n"


def load_source(source: str, name: str) -> Any:
    """Run kept source in a namespace of its own, and return what it calls `name`."""
    filename = f"<your {name}>"
    linecache.cache[filename] = (
        len(source),
        None,
        source.splitlines(keepends=True),
        filename,
    )
    namespace: dict[str, Any] = {"__name__": f"your_{name}"}
    exec(compile(source, filename, "exec"), namespace)
    return namespace[name]


def _write_definition(value: Any, written: dict[str, str]) -> str:
    """Write the statement that defines a function or class, after all that it uses; return its name."""
    statement, namespace = _statement(value)
    text = ast.unparse(statement) if not (source := _text(value, statement)) else source
    own_name = _defined_name(statement)
    if text in written:
        return own_name
    for used in dict.fromkeys(_global_names(compile(text, "<answer>", "exec"))):
        is_special = used.startswith("__")  # a class body reads __name__
        if used != own_name and used in namespace and not is_special:
            _write_dependency(used, namespace[used], written)
    written[text] = text
    return own_name


def _write_dependency(used: str, value: Any, written: dict[str, str]) -> None:
    line = _import_line(value, used)
    if line is None and (
        isinstance(value, CONSTANTS)
        or (
            isinstance(value, tuple | list) and all(isinstance(v, CONSTANTS) for v in value)
        )
    ):
        line = f"{used} = {value!r}".replace("= inf", '= float("inf")')
    if line is None and (inspect.isfunction(value) or inspect.isclass(value)):
        defined = _write_definition(value, written)
        line = f"{used} = {defined}" if defined != used else ""
    if line is None:
        raise CannotKeep(f"it uses `{used}`, {type(value).__name__} from another cell")
    if line:
        written[line] = line


def _import_line(value: Any, name: str) -> str | None:
    """Return the import that brings a value from an installed module, or None."""
    if isinstance(value, types.ModuleType):
        return (
            f"import {value.__name__} as {name}"
            if value.__name__ != name
            else f"import {name}"
        )
    own = getattr(value, "__name__", None)
    home = getattr(value, "__module__", None)
    candidates = [home, *PUBLIC_MODULES] if isinstance(home, str) else PUBLIC_MODULES
    for module in candidates:
        if not isinstance(own, str) or module == "__main__" or module not in sys.modules:
            continue
        if getattr(sys.modules[module], own, None) is value and _importable(module):
            return f"from {module} import {own}" + (f" as {name}" if own != name else "")
    return None


def _importable(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _code(value: Any) -> types.FunctionType:
    """Return a plain function whose code tells where the value was defined."""
    value = inspect.unwrap(value)
    if inspect.isfunction(value):
        return value
    if inspect.isclass(value):
        for member in vars(value).values():
            member = getattr(member, "__func__", member)
            if inspect.isfunction(member) and member.__qualname__.startswith(
                value.__name__ + "."
            ):
                return member
    raise CannotKeep(f"its source is not to be found ({type(value).__name__})")


def _statement(value: Any) -> tuple[ast.stmt, dict[str, Any]]:
    """Return the top-level statement that defines a value, and the names around it."""
    function = _code(value)
    lines = linecache.getlines(function.__code__.co_filename, function.__globals__)
    if not lines:
        raise CannotKeep("its source is not to be found")
    first = function.__code__.co_firstlineno
    for statement in ast.parse("".join(lines)).body:
        decorators = getattr(statement, "decorator_list", [])
        start = min([statement.lineno, *(d.lineno for d in decorators)])
        if start <= first <= (statement.end_lineno or start):
            if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.Assign):
                if function.__closure__ and not inspect.isclass(value):
                    break
                return statement, function.__globals__
            break
    raise CannotKeep("it is not defined at the top level of a cell")


def _text(value: Any, statement: ast.stmt) -> str:
    """Return the statement as it was typed, comments and all."""
    function = _code(value)
    lines = linecache.getlines(function.__code__.co_filename, function.__globals__)
    decorators = getattr(statement, "decorator_list", [])
    start = min([statement.lineno, *(d.lineno for d in decorators)])
    return "".join(lines[start - 1 : statement.end_lineno]).rstrip()


def _defined_name(statement: ast.stmt) -> str:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return statement.name
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id
    raise CannotKeep("it is not defined at the top level of a cell")


def _global_names(code: types.CodeType) -> Iterator[str]:
    """Yield the names that a piece of code reads from outside itself."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"):
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _global_names(constant)
