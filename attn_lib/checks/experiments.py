"""Run an answer once more under another condition: if it is right then, the condition is what it lacks.

A known mistake is recognized by the numbers that it makes. These experiments need no list of mistakes: they
change one thing and look whether the answer comes out right.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import _lru_cache_wrapper
from types import CodeType, FunctionType
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from attn_lib.checks.case import Case
from attn_lib.checks.observe import Outcome, observe

AFRESH = "afresh"  # without what it kept from earlier calls
EMPTY = "empty"  # with zeros in the tensors that it makes and does not fill
WIDE = "wide"  # every float in float64, every whole number in int64
ONE_PIECE = (
    "in one piece"  # on inputs whose numbers lie in memory in the order of their indices
)
LARGER, SMALLER = (
    "larger",
    "smaller",
)  # with "larger 0": the first large number of its code made larger
NUMBERS = 6  # of an answer's code that are tried
MOST = 2**24  # numbers that are written into one tensor: memory is taken only then
LARGE, TINY = (
    8,
    1e-2,
)  # what may be a bound, and what may be there against a division by zero


def otherwise(answer: Callable, copy: Any, case: Case, how: str) -> Outcome:
    """Run an answer on a case under another condition.

    Args:
        answer: the learner's function or class.
        copy: what `afresh` made of it before the first call, or None.
        case: the input, of a single call.
        how: AFRESH, EMPTY, WIDE, ONE_PIECE, or LARGER or SMALLER with the place of a number, from 0.

    Returns:
        What it does then; an error, if there is no such copy or number.
    """
    kind, _, place = how.rpartition(" ") if how[-1].isdigit() else (how, "", "")
    if kind == AFRESH:
        return observe(copy or _nothing_to_run, case)
    if kind == EMPTY:
        made = {
            n for f in _functions(answer) for c in _codes(f.__code__) for n in c.co_names
        }
        if not any("empty" in name for name in made):
            return observe(_nothing_to_run, case)
        return observe(answer, replace(case, run=_with(_Zeros, case.run)))
    if kind == WIDE:
        return observe(
            answer, replace(case, args=_each(_wide, case.args), run=_widely(case.run))
        )
    if kind == ONE_PIECE:
        return observe(answer, replace(case, args=_each(_in_one_piece, case.args)))
    numbers = [n for n in _numbers(answer) if (abs(n) < TINY) == (kind == SMALLER)]
    if int(place) >= len(numbers):
        return observe(_nothing_to_run, case)
    with _another_number(answer, numbers[int(place)], size(case.args)):
        return observe(answer, case)


def _nothing_to_run(*args: Any) -> None:
    raise LookupError("there is no such copy or number")


def size(value: Any) -> float:
    """Return the largest axis, number or length in some arguments."""
    if isinstance(value, Tensor):
        is_measured = value.is_floating_point() or value.dtype == torch.bool
        largest = 0.0 if is_measured or not value.numel() else float(value.abs().amax())
        return max([*value.shape, largest], default=0)
    if isinstance(value, dict):
        return max(map(size, value.values()), default=0)
    if isinstance(value, tuple | list):
        return max([len(value), *map(size, value)])
    if isinstance(value, str):
        return len(value)
    return abs(value) if type(value) is int else 0


def _each(change: Callable[[Tensor], Tensor], value: Any) -> Any:
    """Return arguments with each of their tensors changed, also inside lists and dicts."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, tuple | list):
        return type(value)(_each(change, v) for v in value)
    return (
        {k: _each(change, v) for k, v in value.items()}
        if isinstance(value, dict)
        else value
    )


def _in_one_piece(tensor: Tensor) -> Tensor:
    return tensor.clone(memory_format=torch.contiguous_format)


def _wide(tensor: Tensor) -> Tensor:
    return tensor.to(_wide_dtype(tensor.dtype))


def _wide_dtype(dtype: torch.dtype) -> torch.dtype:
    if dtype.is_floating_point:
        return torch.float64
    return dtype if dtype == torch.bool or dtype.is_complex else torch.int64


class _Wide(TorchFunctionMode):
    """Makes float64 of every float dtype that is asked for, int64 of every other one."""

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        name = getattr(function, "__name__", "")
        if name in ("half", "bfloat16", "float"):
            function = Tensor.double
        elif name in ("byte", "char", "short", "int"):
            function = Tensor.long
        kwargs = {k: self._widened(v) for k, v in (kwargs or {}).items()}
        return function(*map(self._widened, args), **kwargs)

    def _widened(self, value: Any) -> Any:
        return _wide_dtype(value) if isinstance(value, torch.dtype) else value


class _Zeros(TorchFunctionMode):
    """Fills with zeros what `torch.empty` and its kind make."""

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        made = function(*args, **(kwargs or {}))
        is_empty = isinstance(made, Tensor) and "empty" in getattr(function, "__name__", "")
        if is_empty and made.numel() <= MOST:
            made.zero_()
        return made


def _with(mode: type[TorchFunctionMode], run: Callable) -> Callable:
    def within(*args: Any) -> Any:
        with mode():
            return run(*args)

    return within


def _widely(run: Callable) -> Callable:
    def widely(*args: Any) -> Any:
        torch.set_default_dtype(torch.float64)  # `observe` puts it back
        return _with(_Wide, run)(*args)

    return widely


def _functions(answer: Any) -> list[FunctionType]:
    """List an answer's functions: its own, those of a class, and those beside it that they name.

    What `lru_cache` kept of them is forgotten.
    """
    found: list[FunctionType] = []
    waiting, seen = [answer], set[int]()
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, type):
            waiting += vars(value).values()
        if isinstance(value, _lru_cache_wrapper):
            value.cache_clear()
        if isinstance(value, _lru_cache_wrapper | staticmethod | classmethod):
            value = value.__wrapped__
        if not isinstance(value, FunctionType) or value in found:
            continue
        if found and value.__globals__ is not found[0].__globals__:
            continue  # not the learner's own
        found.append(value)
        names = {name for code in _codes(value.__code__) for name in code.co_names}
        waiting += [value.__globals__[n] for n in sorted(names) if n in value.__globals__]
    return found


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _numbers(answer: Any) -> list[float]:
    """List the large and the tiny numbers in an answer's code, in the defaults, and under the names it uses."""
    found: dict[float, None] = {}

    def walk(value: Any) -> None:
        if isinstance(value, tuple):
            for one in value:
                walk(one)
        if type(value) in (int, float) and (abs(value) >= LARGE or 0 < abs(value) < TINY):
            found[value] = None

    for function in _functions(answer):
        walk(function.__defaults__)
        for code in _codes(function.__code__):
            walk(code.co_consts)
            walk(tuple(map(function.__globals__.get, code.co_names)))
    return list(found)[:NUMBERS]


@contextmanager
def _another_number(answer: Any, number: float, more: float) -> Iterator[None]:
    """Put another number into the place of one in an answer's code, for a while."""
    if abs(number) < TINY:
        other = number * 1e-30
    else:
        other = number + int(more) if isinstance(number, int) else number * 1e12

    def changed(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(changed, value))
        if isinstance(value, CodeType):
            return value.replace(co_consts=changed(value.co_consts))
        return other if type(value) is type(number) and value == number else value

    with ExitStack() as back:
        back.callback(_functions, answer)
        for function in _functions(answer):
            names = function.__globals__
            back.callback(setattr, function, "__code__", function.__code__)
            back.callback(setattr, function, "__defaults__", function.__defaults__)
            function.__code__ = changed(function.__code__)
            function.__defaults__ = changed(function.__defaults__)
            for name in {n for code in _codes(function.__code__) for n in code.co_names}:
                if changed(names.get(name)) is other:
                    back.callback(names.__setitem__, name, names[name])
                    names[name] = other
        yield
