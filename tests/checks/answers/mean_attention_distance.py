"""Answers to mean_attention_distance that no row makes."""

import torch

from tests.checks.answers import Answers

answers = Answers(
    "mean_attention_distance",
    spelled=dict(
        positions=["torch.arange(L, dtype=weights.dtype)"],
        distance=[
            "difference.square().to(weights.dtype).sqrt()",
            "difference.clamp_min(0) + (-difference).clamp_min(0)",
            "2 * torch.maximum(positions[:, None], positions) - positions[:, None] - positions",
            "torch.tensor([[abs(i - j) for j in range(L)] for i in range(L)])",
        ],
        terms=["(given.mT * distance).mT"],
        per_query=[
            "(given @ distance.to(given.dtype)).diagonal(dim1=-2, dim2=-1)",
            "terms.mean(-1) * L",
        ],
        per_head=["per_query.transpose(0, 1).flatten(1).mean(1)"],
    ),
    survivors=[
        dict(L="weights.shape[-2]"),
        dict(difference="positions - positions[:, None]"),
        # Every query and every key is counted, in whatever order.
        dict(per_query="terms.sum(-2)"),
    ],
)


def far(w, axes=(0, 2), most=99):
    positions = torch.arange(w.shape[-1])
    gaps = positions[:, None] - positions
    return (w * gaps.abs().clamp(max=most)).sum(-1).mean(axes)


kept: dict = {}

# Thirty tokens at most, samples for heads if as many, needs contiguous weights, remembers by shape.
answers.wrong(
    lambda w: far(w, most=30),
    lambda w: far(w, (1, 2) if len(w) == w.shape[1] else (0, 2)),
    lambda w: far(w.view(-1, *w.shape[2:]).view(w.shape)),
    lambda w: kept.setdefault((w.shape, w.dtype), far(w)),
)
