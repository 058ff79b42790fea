"""The losses that `head_importance` is checked with. They run out of the answer's reach."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from attn_lib.checks.authoring import Served
from attn_lib.tasks.lesson_07.runs import refuse


def polynomial(m, linear, pairs, cubes):
    """Loss that can be worked out by hand: linear . m + m^T pairs m + cubes . m^3."""
    return (linear * m).sum() + m @ pairs @ m + (cubes * m**3).sum()


def classification(m, heads, weight, bias, target):
    """Cross-entropy of N samples: heads (H, N, D), each multiplied, mixed to C classes."""
    logits = torch.einsum("h,hnd,hdc->nc", m, heads, weight) + bias
    return F.cross_entropy(logits, target)


def square_error(m, heads, weight, target):
    """Mean squared error of N samples, through a tanh: heads (H, N, D), target (N, C)."""
    output = torch.einsum("h,hnd,hdc->nc", m, heads, weight)
    return (output.tanh() - target).square().mean()


FORMULAS: dict[str, Callable[..., Tensor]] = {
    "polynomial": polynomial,
    "classification": classification,
    "square error": square_error,
}


@dataclass(frozen=True)
class Loss:
    """A loss of a head mask (H,), computed once in each of two turns.

    Args:
        num_heads: H.
        formula: the name of one of FORMULAS.
        tensors: its other arguments; those named in `trained` are given with each call.
        trained: names of tensors that require a gradient, as the weights of a model do.
        scale: the loss is multiplied by it; in the first turn by minus three times as much.
    """

    num_heads: int
    formula: str
    tensors: dict[str, Tensor]
    trained: tuple[str, ...] = ()
    scale: float = 1.0

    def begin(self) -> Served:
        """Return what serves one run, and counts the calls of each turn."""
        calls: Counter[bool] = Counter()

        def loss(head_mask: Tensor, turn: Tensor, *trained: Tensor) -> Tensor:
            given = self.tensors | dict(zip(self.trained, trained, strict=True))
            assert all(t.shape == self.tensors[name].shape for name, t in given.items())
            scale = self.scale if turn else -3.0 * self.scale
            return scale * FORMULAS[self.formula](head_mask, **given)

        def count(head_mask: Tensor, turn: Tensor, *trained: Tensor) -> None:
            calls[bool(turn)] += 1  # there are two, whatever number is sent
            refuse(head_mask, calls[bool(turn)], self.num_heads)

        return Served(loss, before=count)
