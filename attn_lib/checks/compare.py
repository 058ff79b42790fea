"""Compare what an answer returned with what was expected, and say the difference to a learner."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attn_lib.checks.say import describe, shown

# Relative to the largest expected value. Correct answers written differently stay below a tenth of
# these; wrong ones were never seen below 4e-3.
TOLERANCE = {torch.float16: 1e-2, torch.bfloat16: 3e-2}
DEFAULT_TOLERANCE = 1e-4
GRADIENT_TOLERANCE = 1e-3
PLAIN = 3e-3  # what a learner sees at a glance, in four digits
MANY_DIGITS = 10**100


@dataclass
class Difference:
    """A difference from the right answer; `expected` and `actual` are the 2-D slice it is seen in."""

    # A text, or what makes it: of most differences nobody reads it.
    say: str | Callable[[], str]
    expected: Tensor | None = None
    actual: Tensor | None = None
    is_plain: bool = True  # whether it can be seen in the numbers as they are shown

    @property
    def text(self) -> str:
        return self.say if isinstance(self.say, str) else self.say()

    @property
    def is_nan(self) -> bool:
        """Whether something that is no number came where one was expected."""
        if self.expected is None or self.actual is None:
            return False
        return bool((self.expected.isfinite() & ~self.actual.isfinite()).any())


def compare(
    expected: list[Any],
    actual: list[Any],
    names: tuple[str, ...],
    tolerance: float | None = None,
) -> Difference | None:
    """Return the first difference between two lists of results, or None if they agree.

    Args:
        expected: tensors, numbers or texts.
        actual: what the answer returned, anything.
        names: what to call each result.
        tolerance: relative to the largest expected value; None = by dtype.
    """
    if len(actual) != len(expected):
        wanted = " and ".join(names) if len(expected) > 1 else "one value"
        number_of = "1 value" if len(actual) == 1 else f"{len(actual)} values"
        text = f"It should return {wanted}, but it returned {number_of}."
        return Difference(text + _what_they_are(expected, actual))
    for name, want, got in zip(names, expected, actual, strict=True):
        label = "the result" if len(expected) == 1 else f"the {name}"
        difference = _compare_one(label, want, got, tolerance)
        if difference:
            return difference
    return None


def _what_they_are(expected: list[Any], actual: list[Any]) -> str:
    """Ask about several things that came in the place of one tensor."""
    if len(expected) != 1 or not isinstance(expected[0], Tensor) or len(actual) < 2:
        return ""
    if all(type(value) is int for value in actual):
        return " They are whole numbers: is it the shape of a tensor, not the tensor?"
    if all(isinstance(value, Tensor) for value in actual):
        return " Is only one of them asked for? Or are they parts of a list: what makes one tensor of it?"
    return ""


def _compare_one(
    label: str, want: Any, got: Any, tolerance: float | None
) -> Difference | None:
    Label = label[0].upper() + label[1:]
    if isinstance(want, str):
        if type(got) is str and got == want:
            return None
        return Difference(f"{Label} should be {want!r}, but is {shown(got)}.")
    if not isinstance(want, Tensor):
        if isinstance(got, Tensor) and got.numel() == 1:
            got = got.item()
        if isinstance(got, int | float | np.integer) and got == want:
            if isinstance(got, type(want)):
                return None
            text = f"{Label} has the right value, but is {describe(got)}"
            return Difference(f"{text}: it should be {describe(want)}.")
        but_is = got if isinstance(got, int | float) else describe(got)
        if isinstance(got, int) and abs(got) >= MANY_DIGITS:
            but_is = "a number of more than 100 digits"  # Python may refuse to print it
        return Difference(f"{Label} should be {want}, but is {but_is}.")
    if not isinstance(got, Tensor):
        return Difference(f"{Label} should be {describe(want)}, but is {describe(got)}.")
    kind = "nested" if got.is_nested else got.layout
    if kind == torch.strided and got.device != want.device:
        kind = f"on device {got.device}"
    if kind != torch.strided:
        return Difference(
            f"{Label} should be an ordinary tensor on {want.device}, but is {kind}."
        )
    if got.shape != want.shape:
        text = f"{Label} should have shape {tuple(want.shape)}, but has {tuple(got.shape)}."
        if got.ndim == want.ndim >= 2 and _are_turned(want, got):
            text += " The last two sizes have changed places."
        return Difference(text)
    if got.dtype != want.dtype:
        return Difference(f"{Label} should have dtype {want.dtype}, but has {got.dtype}.")
    wrong = ~agreeing(want, got, tolerance)
    return _describe_values(label, want, got, wrong) if wrong.any() else None


def agreeing(
    want: Tensor, got: Tensor, tolerance: float | None = None, scale: float | None = None
) -> Tensor:
    """Return a boolean tensor, True where two tensors of one shape agree.

    Args:
        want: the expected values.
        got: the values to judge.
        tolerance: relative to `scale`; None = by dtype.
        scale: None = the largest finite expected value.
    """
    if not want.is_floating_point():
        return want == got
    a, b = want.detach().double(), got.detach().double()
    finite = a.isfinite()
    if scale is None:
        scale = a[finite].abs().max().item() if finite.any() else 0.0
    limit = (tolerance or TOLERANCE.get(want.dtype, DEFAULT_TOLERANCE)) * (scale or 1.0)
    same_special = (a == b) | (a.isnan() & b.isnan())
    return torch.where(finite, (a - b).abs() <= limit, same_special)


def _are_turned(want: Tensor, got: Tensor) -> bool:
    """Say whether a result has the right numbers, with its last two axes turned."""
    if got.shape != want.mT.shape or got.dtype != want.dtype:
        return False
    return bool(agreeing(want, got.mT, None).all())


def _describe_values(label: str, want: Tensor, got: Tensor, wrong: Tensor) -> Difference:
    index = wrong.nonzero()[0].tolist()
    want, got = want.detach(), got.detach()
    say = partial(_sentence, label, want, got, wrong, index)
    is_plain = not agreeing(want, got, PLAIN).all()
    if want.ndim < 2:
        return Difference(say, want.reshape(1, -1), got.reshape(1, -1), is_plain)
    page = tuple(index[:-2])
    return Difference(say, want[page], got[page], is_plain)


def _sentence(
    label: str, want: Tensor, got: Tensor, wrong: Tensor, index: list[int]
) -> str:
    text = f"In {label}" + (f", at index {index}" if index else "")
    expected, actual = _told_apart(want[tuple(index)], got[tuple(index)])
    text += f": expected {expected}, got {actual}."
    if want.numel() > 1:
        count = int(wrong.sum())
        differ = "differs" if count == 1 else "differ"
        text += f" {count} of {want.numel()} numbers {differ}"
        gaps = (want.double() - got.double()).abs()[wrong]
        finite = gaps[gaps.isfinite()]
        if len(finite) and want.is_floating_point():
            text += f", by up to {number(finite.max())}"
        text += "."
    if want.is_floating_point():
        text += _clue(want.double(), got.double())
    return text


def _clue(want: Tensor, got: Tensor) -> str:
    """Name a simple relation between the two, if there is one."""
    bad = int((~got.isfinite()).sum() - (~want.isfinite()).sum())
    if bad > 0:
        return f" {bad} of your numbers {'is' if bad == 1 else 'are'} nan or inf."
    if not want.isfinite().all() or want.numel() < 2:
        return ""

    def close(a: Tensor) -> bool:  # what it leaves is little of what it explains
        return bool((a - got).abs().max() <= 0.01 * (want - got).abs().max())

    is_square = want.ndim >= 2 and want.shape[-1] == want.shape[-2]
    if is_square and close(want.mT):
        return " Yours is the expected one transposed."
    factor = ((want * got).sum() / (want * want).sum()).item()
    if abs(factor) > 1e-6 and abs(factor - 1) > 1e-3 and close(want * factor):
        return f" Each of your numbers is {factor:.4g} times the expected one."
    shift = (got - want).mean()
    if close(want + shift):
        return f" Each of your numbers is the expected one plus {shift.item():.4g}."
    return ""


def _told_apart(want: Tensor, got: Tensor) -> tuple[str, str]:
    """Format two numbers with as many digits as they need to differ."""
    texts = number(want), number(got)
    digits = 6
    while texts[0] == texts[1] and digits < 17 and want.is_floating_point():
        digits += 2
        texts = f"{want.item():.{digits}g}", f"{got.item():.{digits}g}"
    return texts


def number(value: Tensor | float) -> str:
    """Format one number for a learner: 0.1235, 1.2e-07, True, nan."""
    value = value.item() if isinstance(value, Tensor) else value
    if isinstance(value, bool | int):
        return str(value)
    if 1e-3 <= abs(value) < 1e4 or value == 0:
        return f"{value:.4f}"
    return f"{value:.7g}" if abs(value) >= 1e4 else f"{value:.3g}"
