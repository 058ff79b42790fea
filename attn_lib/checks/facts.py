"""Facts about an input, in words: its masks, its dtype, and how its sizes compare."""

import inspect
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import torch
from torch import Tensor, nn

from attn_lib.checks.task import Task


def named(task: Task, args: tuple) -> dict[str, Any]:
    """Return a case's arguments by their names; of a module, those of `__init__` and of `forward`."""
    names = list(inspect.signature(task.reference).parameters)
    if not (isinstance(task.reference, type) and issubclass(task.reference, nn.Module)):
        return dict(zip(names, args, strict=False))
    init, _, *inputs = args
    options = inputs.pop() if inputs and isinstance(inputs[-1], dict) else {}
    forward = list(inspect.signature(task.reference.forward).parameters)[1:]
    return (
        dict(zip(names, init, strict=False))
        | dict(zip(forward, inputs, strict=False))
        | options
    )


def plain_facts(task: Task, args: tuple) -> Iterator[str]:
    """Yield what is said of the tensors of an input, but for their sizes."""
    given = named(task, args)
    tensors = {name: value for name, value in given.items() if isinstance(value, Tensor)}
    if {tensor.dtype for tensor in tensors.values()} & {torch.float16, torch.bfloat16}:
        yield "half precision"
    for name in inspect.signature(
        getattr(task.reference, "forward", task.reference)
    ).parameters:
        mask = tensors.get(name)
        if "mask" not in name:
            continue
        if mask is None:
            yield f"no `{name}`"
            continue
        yield f"a `{name}`"
        yield f"a `{name}` of {mask.ndim} axes"
        yield from (f"a `{name}` of {n} axes or more" for n in range(3, mask.ndim + 1))
        if mask.dtype == torch.bool and mask.ndim and not mask.any(-1).all():
            yield f"a row of False in `{name}`"


def size_facts(task: Task, args: tuple) -> Iterator[str]:
    """Yield which sizes are equal, which are 1, and which are larger than another of the same kind."""
    sizes: dict[str, int] = {}
    kinds: dict[str, int] = {}  # of a tensor's size, the axis; of a number, -1
    for name, value in named(task, args).items():
        if type(value) is int:
            sizes[f"`{name}`"], kinds[f"`{name}`"] = value, -1
        elif isinstance(value, Tensor):
            for axis, n in enumerate(value.shape):
                place = f"`{name}.shape[{axis}]`"
                sizes[place], kinds[place] = n, axis
    pairs = list(combinations(sizes, 2))
    yield from (f"{a} = {b}" for a, b in pairs if sizes[a] == sizes[b])
    yield from (f"{name} = 1" for name, size in sizes.items() if size == 1)
    for a, b in pairs:
        is_of_a_kind = kinds[a] == kinds[b] and "mask" not in a + b
        if sizes[a] != sizes[b] and is_of_a_kind:
            yield f"{a} {'<' if sizes[a] < sizes[b] else '>'} {b}"
