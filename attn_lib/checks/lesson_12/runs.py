"""How the cases of this lesson call an answer, where it is more than one plain call.

Nothing here is an answer: this file goes into the sandbox with a learner's code.
"""

import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import TextIOBase
from typing import Any

import torch
from torch import Tensor

from attn_lib.checks.case import Wrong
from attn_lib.checks.say import describe

# ---------------------------------------------------------------------------- test_attention

SILENT, RETURNED, PRINTED, RETURNED_FALSE = range(4)  # what a test did that raised nothing


class _Heard(TextIOBase):
    """Passes on what is printed, and remembers that something was."""

    def __init__(self, stream: Any):
        self.stream, self.anything = stream, False

    def write(self, text: str) -> int:
        self.anything = True
        return self.stream.write(text)


def tested(answer: Callable, call: Callable[..., Tensor]) -> int:
    """Let the answer test one implementation; it shall raise an error if that is wrong."""

    def implementation(q, k, v, mask=None):
        return call(q, k, v, mask)

    heard = _Heard(sys.stdout)
    with redirect_stdout(heard):
        returned = answer(implementation)
    if returned is False or (isinstance(returned, Tensor) and not returned.all()):
        return RETURNED_FALSE
    if returned is not None:
        return RETURNED
    return PRINTED if heard.anything else SILENT


# ------------------------------------------------------------------------ numerical_gradient


# A mistake is recognized by the kind of its errors too: so each kind has a class.
class WrongArgument(Wrong):
    """Raised if a function is called with something that is not like x."""


def cubes(x, weights):
    """The cubes of all numbers, each times its weight: the slope of a large step shows."""
    return (weights * x**3).sum()


def products(x, weights):
    """Each number times the next one, and a sine: no number's slope is that of it alone."""
    flat = x.flatten()
    return (flat * flat.roll(1) * weights.flatten()).sum() + (x * weights).sin().sum()


def corners(x, weights):
    """A function with corners, far above zero."""
    return (weights * x.abs()).sum() + 3.0


def line(x, weights):
    """A straight line: its slope is the same for every step."""
    return (weights * x).sum()


def mixed(x, weights):
    """A softmax, as in attention, and what it mixes."""
    return (x.softmax(-1) * weights).sum()


FORMULAS = {f.__name__: f for f in (cubes, products, corners, line, mixed)}


@dataclass(frozen=True)
class Slope:
    """What `fn` computes: a formula, with weights like x, of its argument, or of that less x itself."""

    formula: str
    weights: Tensor
    knows_x: bool = False


def differentiated(answer: Callable, fn: Slope, x: Tensor, eps: float) -> Any:
    """Ask for the gradient of a function that autograd cannot follow."""

    def function(point: Tensor) -> Tensor:
        wanted = f"shape {tuple(fn.weights.shape)}, dtype torch.float64"
        received = describe(point)
        if isinstance(point, Tensor):
            received = f"shape {tuple(point.shape)}, dtype {point.dtype}"
        if received != wanted:
            raise WrongArgument(
                f"`fn` needs a tensor like x, {wanted}, but received {received}."
            )
        with torch.no_grad():
            origin = x if fn.knows_x else 0.0
            return FORMULAS[fn.formula](point.detach() - origin, fn.weights)

    return answer(function, x, eps)
