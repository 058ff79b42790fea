"""The steps of attention that right and wrong answers of this lesson are put together from."""

import math

import torch


def dots(q, k):
    """Dot products (B, L, S)."""
    return torch.einsum("bld,bsd->bls", q, k)


def scaled(q, k):
    """Scores (B, L, S)."""
    return dots(q, k) / math.sqrt(q.shape[-1])


def mix(weights, v):
    """Output and weights."""
    return torch.einsum("bls,bsd->bld", weights, v), weights
