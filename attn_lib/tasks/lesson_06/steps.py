"""The inputs of this lesson's tasks: attention weights as a model would give them."""

import torch

from attn_lib.checks.authoring import Case
from attn_lib.masks import causal_mask, masked_softmax


def case(about, *args, **options):
    """A case of a measure. Measures are for looking: who works under `no_grad` is right."""
    return Case(about, args, grad=False, **options)


def drawn(rng, *shape, spread=2.0):
    """Weights whose rows add up to 1, none of them zero; a larger spread makes them sharper."""
    return (torch.randn(*shape, generator=rng) * spread).softmax(-1)


def causal(rng, *shape, spread=2.0):
    """Weights with exact zeros for all keys after the query."""
    scores = torch.randn(*shape, generator=rng) * spread
    return masked_softmax(scores, causal_mask(*shape[-2:]))


def some_empty(rng, *shape):
    """Weights of which whole rows are zero: the first, some others, never all."""
    rows = torch.rand(*shape[:-1], 1, generator=rng) < 0.6
    rows[..., 0, :], rows[..., 1, :] = False, True
    return drawn(rng, *shape) * rows


def coarse(weights):
    """Weights in steps of 1/64: their rows add up to 1 in half precision too, as `Categorical` demands."""
    weights = (weights * 64).round() / 64
    rest = 1 - weights.sum(-1, keepdim=True)
    return weights.scatter_add(-1, weights.argmax(-1, keepdim=True), rest)


def turned(weights):
    """The same numbers, with the axes in reverse order in memory: no two can be joined by a view."""
    return weights.permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0)


def early(L, offset):
    """One head whose first 200 queries look `offset` keys away, all others at themselves.

    bfloat16 cannot tell position 257 from 256.
    """
    is_early = torch.arange(L)[:, None] < 200
    return torch.where(is_early, torch.eye(L).roll(offset, 1), torch.eye(L))[None, None]
