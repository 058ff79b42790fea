"""The steps of grouped-query attention that right and wrong answers of this lesson are made of."""

import math

import torch


def share(x, num_heads):
    """Copy K/V heads, the copies side by side: 0 0 1 1."""
    return x.repeat_interleave(num_heads // x.shape[1], dim=1)


def tile(x, num_heads):
    """Copy K/V heads the wrong way: 0 1 0 1."""
    return x.repeat(1, num_heads // x.shape[1], 1, 1)


def by_group_count(x, num_heads):
    """Let head i read head floor(i / Hkv): wrong, unless H is Hkv squared."""
    return x[:, [i // x.shape[1] for i in range(num_heads)]]


def only_the_first(x, num_heads):
    """Let every head read head 0."""
    return x[:, :1].repeat(1, num_heads, 1, 1)


def dots(q, k):
    """Dot products (B, H, L, S)."""
    return torch.einsum("bhld,bhsd->bhls", q, k)


def scaled(q, k):
    """Scores (B, H, L, S)."""
    return dots(q, k) / math.sqrt(q.shape[-1])


def weigh(scores, mask=None):
    """Weights (B, H, L, S); a row without an allowed key is all zero."""
    if mask is None:
        return scores.softmax(-1)
    return scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0.0)


def mix(weights, v):
    """Output (B, H, L, D)."""
    return torch.einsum("bhls,bhsd->bhld", weights, v)


def attend(q, k, v, mask=None):
    """Output of as many key heads as query heads."""
    return mix(weigh(scaled(q, k), mask), v)


def split(x, head_dim):
    """(B, L, H*D) to (B, H, L, D)."""
    return x.unflatten(-1, (-1, head_dim)).transpose(1, 2)


def merge(x):
    """(B, H, L, D) to (B, L, H*D)."""
    return x.transpose(1, 2).flatten(2)
