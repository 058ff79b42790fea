"""A function without its past: what it keeps between calls is as it was when the copy was made."""

import copy
import functools
from types import CellType, FunctionType
from typing import Any


def afresh(answer: Any) -> FunctionType | None:
    """Return a copy of a function, and of what it and the functions beside it can keep; None for anything else.

    Lists, dicts and sets are copied, in defaults, closures, attributes and global names; what `lru_cache` wraps
    comes without its cache.
    """
    function = _unwrapped(answer)
    if function is None:
        return None
    names = {name: _copied(value) for name, value in function.__globals__.items()}
    for name, value in names.items():
        inner = _unwrapped(value)
        if inner is not None and inner.__globals__ is function.__globals__:
            names[name] = _among(inner, names)
    return _among(function, names)


def _unwrapped(value: Any) -> FunctionType | None:
    if isinstance(value, functools._lru_cache_wrapper):
        value = value.__wrapped__
    return value if isinstance(value, FunctionType) else None


def _copied(value: Any) -> Any:
    return copy.copy(value) if type(value) in (list, dict, set) else value


def _among(function: FunctionType, names: dict[str, Any]) -> FunctionType:
    """Return a function that looks its global names up elsewhere."""
    cells = tuple(map(_cell, function.__closure__ or ()))
    defaults = tuple(map(_copied, function.__defaults__ or ()))
    made = FunctionType(
        function.__code__, names, function.__name__, defaults, cells or None
    )
    made.__kwdefaults__ = {
        n: _copied(v) for n, v in (function.__kwdefaults__ or {}).items()
    }
    made.__dict__.update({name: _copied(value) for name, value in vars(function).items()})
    return made


def _cell(cell: CellType) -> CellType:
    try:
        return CellType(_copied(cell.cell_contents))
    except ValueError:  # nothing was ever put there
        return CellType()
