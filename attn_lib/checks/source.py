"""Turn an answer into source code that stands alone, and back into an answer.

A learner's answer uses what other cells define: imports, constants, earlier answers. What it uses
is followed name by name and written above it, so that it runs in a later notebook.
"""

import ast
import dis
import importlib.util
import inspect
import linecache
import re
import sys
import textwrap
import types
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from attn_lib.checks.say import describe
from attn_lib.checks.store import CannotKeep
from attn_lib.checks.task import tasks

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
    imported = _import_line(answer, name)
    if imported:
        return imported + "\n"
    # The statements in the order in which they must run. None marks one that is being written:
    # two helpers may call each other.
    written: dict[str, str | None] = {}
    own_name = _write_definition(answer, written)
    lines = [text for text in written.values() if text]
    if own_name != name:
        lines.append(f"{name} = {own_name}")
    return "\n\n".join(lines) + "\n"


def definition_of(answer: Any) -> str:
    """Return the lines that define an answer.

    Raises:
        CannotKeep: they cannot be found.
    """
    return textwrap.dedent(_find_definition(answer)[1])


def used_by(answer: Any) -> dict[str, Any]:
    """Return what an answer, and the helpers it calls, read from their notebook, by name."""
    found: dict[str, Any] = {}
    waiting = [answer]
    while waiting:
        try:
            _, text, namespace = _find_definition(waiting.pop())
        except CannotKeep:
            continue
        for name in _global_names(compile(text, "<answer>", "exec")):
            if name in namespace and name not in found:
                value = found[name] = namespace[name]
                if callable(value) and _import_line(value, name) is None:
                    waiting.append(value)
    return found


def tensors_of_other_cells(answer: Any) -> list[str]:
    """Return the names of the tensors that an answer, and the helpers it calls, read from their notebook."""
    return [name for name, value in used_by(answer).items() if isinstance(value, Tensor)]


def thrown_away(answer: Any) -> ast.Call | None:
    """Return the first call in an answer that makes a new tensor which nothing takes: `x.masked_fill(m, 0)`.

    Raises:
        CannotKeep: the source cannot be found.
    """
    _, text, _ = _find_definition(answer)
    for line in ast.walk(ast.parse(text)):
        if isinstance(line, ast.Expr) and isinstance(line.value, ast.Call):
            called = line.value.func
            if any(argument.arg == "out" for argument in line.value.keywords):
                continue  # that takes it
            if isinstance(called, ast.Attribute) and _makes_a_new_tensor(called.attr):
                return line.value
    return None


def _makes_a_new_tensor(method: str) -> bool:
    """Say whether this is a method of tensors that changes nothing, and of nothing else that changes itself."""
    others = (list, set, dict, torch.nn.Module, torch.optim.Optimizer)
    has_effect = method.endswith("_") or method in (
        "backward",
        "register_hook",
        "retain_grad",
    )
    return (
        hasattr(Tensor, method)
        and not has_effect
        and not any(hasattr(other, method) for other in others)
    )


def load_source(source: str, name: str) -> Any:
    """Run kept source in a namespace of its own, and return what it calls `name`."""
    filename = f"<your {name}>"
    lines = source.splitlines(keepends=True)
    linecache.cache[filename] = (len(source), None, lines, filename)
    namespace: dict[str, Any] = {"__name__": f"your_{name}"}
    exec(compile(source, filename, "exec"), namespace)
    return namespace[name]


def _write_definition(value: Any, written: dict[str, str | None]) -> str:
    """Write what defines a function or class, after all that it uses; return its name."""
    own_name, text, namespace = _find_definition(value)
    if text in written:
        return own_name
    written[text] = None
    for used in dict.fromkeys(_global_names(compile(text, "<answer>", "exec"))):
        is_special = used.startswith("__")  # a class body reads __name__
        if used != own_name and used in namespace and not is_special:
            _write_dependency(used, namespace[used], written)
    del written[text]  # to the end: after what it uses
    written[text] = text
    return own_name


def _write_dependency(used: str, value: Any, written: dict[str, str | None]) -> None:
    line = _import_line(value, used) or _constant_line(value, used)
    line = line or _stand_in(value, used)
    if line is None and (inspect.isfunction(value) or inspect.isclass(value)):
        defined = _write_definition(value, written)
        line = f"{used} = {defined}" if defined != used else ""
    if line is None:
        raise CannotKeep(f"it uses `{used}`, {describe(value)} from another cell")
    written[line] = line


def _stand_in(value: Any, name: str) -> str | None:
    """Write the library's version, which `mine` gives for an answer that is not there yet."""
    for task in tasks():
        if task.reference is value:
            line = f'{name} = find_task("{task.name}").reference'
            return f"from attn_lib.checks.task import find_task\n{line}"
    return None


def _constant_line(value: Any, name: str) -> str | None:
    items = value if isinstance(value, tuple | list) else [value]
    if isinstance(value, torch.dtype):
        return f"import torch\n{name} = {value}"
    if not all(isinstance(item, CONSTANTS) for item in items):
        return None
    line = f"{name} = {value!r}"
    return (
        f"from math import inf, nan\n{line}" if re.search(r"\b(inf|nan)\b", line) else line
    )


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
    candidates = [home, *PUBLIC_MODULES] if isinstance(home, str) else [*PUBLIC_MODULES]
    if home in (None, "builtins"):  # compiled, as safetensors.safe_open: who else has it?
        candidates += sorted(sys.modules, key=len)
    for module in candidates:
        if not isinstance(own, str) or module == "__main__" or module not in sys.modules:
            continue
        # Not getattr: some modules make up whatever they are asked for.
        there = getattr(sys.modules[module], "__dict__", {})
        if there.get(own) is value and _importable(module):
            return f"from {module} import {own}" + (f" as {name}" if own != name else "")
    return None


def _importable(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _find_definition(value: Any) -> tuple[str, str, dict[str, Any]]:
    """Return the name and the text of the top-level statement that defines a value, and the
    names around it."""
    function = _plain_function(value)
    code = function.__code__
    if function.__closure__ and not inspect.isclass(value):
        raise CannotKeep("it uses names of the function around it")
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines:
        raise CannotKeep(
            "its source is not to be found. Does its cell begin with %%time or the like? "
            "Remove that, and run the cell again"
        )
    for statement in ast.parse("".join(lines)).body:
        decorators = getattr(statement, "decorator_list", [])
        start = min([statement.lineno, *(d.lineno for d in decorators)])
        end = statement.end_lineno or start
        name = _defined_name(statement, is_lambda=code.co_name == "<lambda>")
        if name and start <= code.co_firstlineno <= end:
            text = "".join(lines[start - 1 : end]).strip()
            return name, text, function.__globals__
    raise CannotKeep("it is not defined at the top level of a cell")


def _plain_function(value: Any) -> types.FunctionType:
    """Return a function whose code tells where the value, a function or class, was defined."""
    value = inspect.unwrap(value)
    if inspect.isfunction(value):
        return value
    if inspect.isclass(value):
        for member in vars(value).values():
            member = getattr(member, "__func__", member)
            prefix = value.__name__ + "."
            if inspect.isfunction(member) and member.__qualname__.startswith(prefix):
                return member
    raise CannotKeep(f"its source is not to be found: it is {describe(value)}")


def _defined_name(statement: ast.stmt, *, is_lambda: bool) -> str | None:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef) and not is_lambda:
        return statement.name
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        has_lambda = any(isinstance(node, ast.Lambda) for node in ast.walk(statement.value))
        return statement.targets[0].id if has_lambda or not is_lambda else None
    return None


def _global_names(code: types.CodeType) -> Iterator[str]:
    """Yield the names that a piece of code reads from outside itself."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"):
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _global_names(constant)
