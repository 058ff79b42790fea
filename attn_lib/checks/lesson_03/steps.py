"""Multi-head attention in steps, so that a wrong answer can differ in one of them only."""

import math

import torch
from torch import nn


class Steps(nn.Module):
    """Right in every step; `with_step` makes a class that takes one of them differently."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.o_proj = nn.Linear(d_model, d_model)

    def project(self, x, context):
        """Queries, keys and values, all heads in one: (B, L, E), (B, S, E), (B, S, E)."""
        return self.q_proj(x), self.k_proj(context), self.v_proj(context)

    def split(self, x):
        """(B, L, E) to (B, H, L, D)."""
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def scores(self, q, k):
        """Scores (B, H, L, S)."""
        return q @ k.mT / math.sqrt(q.shape[-1])

    def share(self, scores, mask):
        """Weights (B, H, L, S), zero where the mask is False."""
        if mask is None:
            return scores.softmax(-1)
        return scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0.0)

    def mix(self, weights, v):
        """The output of every head (B, H, L, D)."""
        return weights @ v

    def merge(self, x):
        """(B, H, L, D) to (B, L, E)."""
        return x.transpose(1, 2).flatten(-2)

    def finish(self, x, mask):
        """The output (B, L, E) from the merged heads."""
        return self.o_proj(x)

    def forward(self, x, context=None, mask=None):
        q, k, v = map(self.split, self.project(x, x if context is None else context))
        heads = self.mix(self.share(self.scores(q, k), mask), v)
        return self.finish(self.merge(heads), mask)


def with_step(**steps):
    """Make a class like `Steps` with other methods: `with_step(merge=lambda self, x: ...)`."""
    return type("MultiHeadAttention", (Steps,), steps)
