"""The steps that right and wrong answers of this lesson are put together from."""

import math

import torch


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
