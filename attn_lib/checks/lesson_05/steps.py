"""The steps of cross-attention that right and wrong answers of this lesson are put together from."""

import math

import torch


def split(x, num_heads):
    """Heads (B, H, L, D) of x (B, L, H*D)."""
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)


def merge(x):
    """The opposite: (B, L, H*D) of heads (B, H, L, D)."""
    return x.transpose(1, 2).flatten(2)


def scaled(q, k):
    """Scores (B, H, L, S)."""
    return q @ k.mT / math.sqrt(q.shape[-1])


def on_keys(mask):
    """A mask (B, S) as (B, 1, 1, S), or None as it is."""
    return None if mask is None else mask[:, None, None, :]


def shares(scores, mask, dim=-1):
    """Weights, zero for what `mask` (or None), broadcastable to the scores, forbids."""
    if mask is None:
        return scores.softmax(dim)
    return scores.masked_fill(~mask, -torch.inf).softmax(dim).masked_fill(~mask, 0.0)


def careless(scores, mask, dim=-1):
    """Like `shares`, by someone who has not thought of empty sentences: nan where all is hidden."""
    return (scores if mask is None else scores.masked_fill(~mask, -torch.inf)).softmax(dim)
