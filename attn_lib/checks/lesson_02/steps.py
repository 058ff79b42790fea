"""The steps that right and wrong answers of this lesson are put together from."""

import math

import torch

from attn_lib.checks.task import Wrong


def ones(q_len, kv_len):
    """A mask (L, S) that allows everything."""
    return torch.ones(q_len, kv_len, dtype=torch.bool)


def age(q_len, kv_len):
    """How many steps before each query each key stands (L, S); negative = after it."""
    i, j = torch.arange(q_len)[:, None], torch.arange(kv_len)
    return i + (kv_len - q_len) - j


def additive(mask):
    """The additive mask: 0 where allowed, -inf where not."""
    return torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)


def scaled(q, k):
    """Scores (B, H, L, S)."""
    return q @ k.mT / math.sqrt(q.shape[-1])


def weigh(scores, mask):
    """Weights of the shape of the scores, right in every case."""
    if mask is None:
        return scores.softmax(-1)
    return scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0.0)


def raise_unless_gradients_are_finite(result, leaves):
    """Raise `Wrong` if NaN or inf flows back from a finite result, or nothing flows back at all.

    Args:
        result: what an answer returned, anything.
        leaves: the inputs to differentiate by, by name.
    """
    if not isinstance(result, torch.Tensor) or not result.requires_grad:
        return
    if not result.isfinite().all():
        return
    if result.dtype not in (leaf.dtype for leaf in leaves.values()):
        return  # the wrong dtype is to be reported first
    try:
        found = torch.autograd.grad(
            result.square().sum(), list(leaves.values()), allow_unused=True
        )
    except RuntimeError as error:
        if "inplace" not in str(error):
            raise
        raise Wrong(
            "The numbers may be right, but no gradient can be computed: a line writes into a tensor "
            "that the way back still needs, such as the result of the softmax."
        ) from None
    bad = [
        f"`{name}`"
        for name, gradient in zip(leaves, found, strict=True)
        if gradient is not None and not gradient.isfinite().all()
    ]
    if bad:
        raise Wrong(
            "The result is finite, but not its gradient: there is nan or inf in the gradient of "
            f"{' and '.join(bad)}."
        )
