"""What the inputs that go wrong have in common, for results that no known mistake makes."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from attn_lib.checks.case import Case
from attn_lib.checks.compare import Difference
from attn_lib.checks.observe import named_tensors

ENOUGH = 3  # inputs that come out right, to say what sets the others apart
NEARLY = (
    "rounded",
    "Your numbers are nearly right. Which step rounds them, to a shorter dtype perhaps, or adds a small number?",
)
NOT_IN_ORDER = (
    "read-as-it-lies",
    "Only inputs that are not contiguous go wrong: in memory, their numbers do not stand in the order of their indices. "
    "Which line of yours reads them as if they did?",
)
LARGER = (
    "larger-ones-only",
    "All smaller inputs come out right. Which table, number or bound in your code is too small for this one?",
)


def pattern(
    cases: list[Case], differences: Mapping[int, Difference]
) -> tuple[str, str] | None:
    """Return what the failing inputs share, and no other one does: an id and a question; None if there is nothing.

    Args:
        cases: of the task.
        differences: what is wrong, by the number of each failing case.
    """
    if any(found.actual is None for found in differences.values()):  # no numbers came
        return None
    if not any(found.is_plain for found in differences.values()):
        return NEARLY
    failing = [cases[i] for i in differences]
    others = [case for i, case in enumerate(cases) if i not in differences]
    if len(others) < ENOUGH:
        return None
    if all(map(_is_strided, failing)) and not any(map(_is_strided, others)):
        return NOT_IN_ORDER
    if min(_size(c.args) for c in failing) > max(_size(c.args) for c in others):
        return LARGER
    return None


def _is_strided(case: Case) -> bool:
    return not all(t.is_contiguous() for t in named_tensors(case.args).values())


def _size(value: Any) -> float:
    """Return the largest axis, number or length in some arguments."""
    if isinstance(value, Tensor):
        largest = float(value.abs().amax()) if not _is_measured(value) else 0.0
        return max([*value.shape, largest], default=0)
    if isinstance(value, Mapping):
        return max(map(_size, value.values()), default=0)
    if isinstance(value, tuple | list):
        return max([len(value), *map(_size, value)])
    if isinstance(value, str):
        return len(value)
    return abs(value) if type(value) is int else 0


def _is_measured(tensor: Tensor) -> bool:
    """Return whether a tensor's numbers are no counts or places."""
    return tensor.is_floating_point() or tensor.dtype == torch.bool or not tensor.numel()
