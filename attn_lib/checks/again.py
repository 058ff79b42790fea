"""Cases that a task has beside its own: called again, gradients for one input alone, a module in training mode or with words of zeros."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from inspect import Parameter, signature
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from attn_lib.checks.case import Case, call, parts
from attn_lib.checks.module_runs import (
    MODULE_RUNS,
    run_module_in_eval,
    run_module_in_training,
)
from attn_lib.checks.observe import plain_values
from attn_lib.checks.task import Task

FEWEST, MOST = 24, 5_000  # numbers of a case that is taken


def called_again(answer: Callable, *args: Any) -> tuple:
    """Call an answer on an earlier input and on another, then on the earlier one's tensors with the other's numbers.

    Args:
        answer: the learner's function.
        args: of the other input; then a dict with those of the earlier one, and the path of the `run`.

    Returns:
        What it made of the earlier input, as that is after the second call; and what it made last.
    """
    *other, earlier, path = args
    run, given = find(path), list(earlier.values())
    first, second = plain_values(run(answer, *given)), plain_values(run(answer, *other))
    first = _copies(first)
    if any(isinstance(x, Tensor) and x.requires_grad for x in given):
        return *first, *second
    before = _copies(given)
    _write(given, other)
    second = _copies(plain_values(run(answer, *given)))
    _write(given, before)
    return *first, *second


def one_at_a_time(answer: Callable, *args: Any) -> tuple:
    """Call an answer once for each float tensor, which alone may ask for a gradient.

    Args:
        answer: the learner's function.
        args: of the input; then the path of the `run`.
    """
    *given, path = args
    run, results = find(path), []
    for place in _floats(given):
        others = (
            x if n == place or not isinstance(x, Tensor) else x.detach()
            for n, x in enumerate(given)
        )
        results += plain_values(run(answer, *others))
    return tuple(results)


def more_cases(task: Task, cases: list[Case], seed: int) -> Iterator[Case]:
    """Yield such cases for a task, made of the first of its own that fits.

    Args:
        task: its reference is called on them.
        cases: its own, made with a seed.
        seed: another one.
    """
    if task.score:
        return
    in_eval = [case for case in cases if case.run is run_module_in_eval]
    if in_eval:
        case = max(in_eval, key=_masks)
        about = f"{case.about}; in training mode"
        yield replace(
            case, about=about, run=run_module_in_training, grad=False, is_slow=True
        )
    unmasked = (case for case in cases if _reads_words(case))
    for case in islice(unmasked, 1):
        init, parameters, *inputs = case.args
        inputs = [x.index_fill(1, torch.tensor([1]), 0.0) for x in inputs]
        about, args = f"{case.about}; word 1 is zeros", (init, parameters, *inputs)
        yield replace(case, about=about, args=args, grad=False, is_slow=True)
    if isinstance(task.reference, type):
        return
    names = list(signature(task.reference).parameters)
    others = task.make_cases(torch.Generator().manual_seed(seed))
    both = zip(cases, others, strict=False)
    twice = (
        (case, other)
        for case, other in both
        if _is_plain(case) and _fit(case.args, other.args)
    )
    for case, other in islice(twice, 1):
        given = map(_another, _all(task, case), _all(task, other))
        earlier = {
            f"{names[n] if n < len(names) else n} before": x for n, x in enumerate(given)
        }
        yield _made(task, case, "called again", called_again, earlier)
    alone = (case for case in cases if _is_plain(case) and case.grad and not case.finish)
    for case in islice((case for case in alone if len(_floats(case.args)) > 1), 1):
        yield _made(task, case, "one input alone needs a gradient", one_at_a_time)


def find(path: str) -> Any:
    """Return what "package.module:name" names."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def _made(task: Task, case: Case, about: str, run: Callable, *more: Any) -> Case:
    path = f"{case.run.__module__}:{case.run.__name__}"
    made = replace(case, about=f"{case.about}; {about}", run=run, is_slow=True)
    args = (*_all(task, case), *more, path)
    if case.finish is None:
        return replace(made, args=args)

    def finish(returned: Any, *_: Any) -> tuple:
        assert case.finish
        values = parts(returned)
        half = len(values) // 2
        inputs = list(more[0].values()), case.args
        done = []
        for some, given in zip((values[:half], values[half:]), inputs, strict=True):
            done += plain_values(case.finish(some if half > 1 else some[0], *given))
        return tuple(done)

    return replace(made, args=args, finish=finish)


def _is_plain(case: Case) -> bool:
    """Say whether the input is a small one of a single call, with numbers in float32 or whole ones."""
    if not all(isinstance(x, Tensor | int | float | str | None) for x in case.args):
        return False
    tensors = [x for x in case.args if isinstance(x, Tensor)]
    of_width = {torch.float16, torch.bfloat16, torch.float64}
    return (
        case.run not in MODULE_RUNS
        and not (case.in_turns or case.serves or case.is_slow)
        and not any(x.dtype in of_width or 0 in x.stride() for x in tensors)
        and FEWEST <= _size(case) <= MOST
    )


def _size(case: Case) -> int:
    return sum(x.numel() for x in case.args if isinstance(x, Tensor))


def _reads_words(case: Case) -> bool:
    """Say whether a module gets rows of vectors (B, L, E), float32, and no mask."""
    inputs = case.args[2:]
    return case.run in MODULE_RUNS and all(
        isinstance(x, Tensor)
        and x.dtype == torch.float32
        and x.ndim == 3
        and x.shape[1] > 1
        and x.numel() >= FEWEST
        for x in inputs
    )


def _masks(case: Case) -> int:
    """Return how many arguments a module is given by name."""
    return len(case.args[-1]) if isinstance(case.args[-1], dict) else 0


def _fit(args: tuple, others: tuple) -> bool:
    """Say whether two inputs differ in their tensors' numbers, and in nothing else."""
    if len(args) != len(others):
        return False
    differ = False
    for x, y in zip(args, others, strict=True):
        if not isinstance(x, Tensor) or not isinstance(y, Tensor):
            if type(x) is not type(y) or x != y:
                return False
        elif (x.shape, x.dtype) != (y.shape, y.dtype):
            return False
        else:
            differ = differ or not x.equal(_another(x, y))
    return differ


def _another(mine: Any, other: Any) -> Any:
    """Return other numbers for a tensor: those of a mask, of positions or ids turned round, if another seed has the same."""
    if isinstance(mine, Tensor) and not mine.is_floating_point() and mine.ndim:
        return other if not mine.equal(other) else mine.flip(0)
    return other


def _all(task: Task, case: Case) -> tuple:
    """Return a case's arguments, and after them what the signature has for those that are not given."""
    if case.run is not call:
        return case.args
    given = list(signature(task.reference).parameters.values())[len(case.args) :]
    return *case.args, *(x.default for x in given if x.default is not Parameter.empty)


def _floats(args: Any) -> list[int]:
    return [
        n for n, x in enumerate(args) if isinstance(x, Tensor) and x.is_floating_point()
    ]


def _copies(values: list) -> list:
    return [x.clone() if isinstance(x, Tensor) else x for x in values]


def _write(tensors: list, numbers: list) -> None:
    for tensor, other in zip(tensors, numbers, strict=True):
        if isinstance(tensor, Tensor):
            tensor.copy_(other)
