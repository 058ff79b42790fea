"""Answers to mean_attention_distance that no row makes."""

import torch

from tests.checks.answers import Answers

answers = Answers(
    "mean_attention_distance",
    spelled=dict(
        positions=["torch.arange(L, dtype=weights.dtype)", "torch.tensor(range(L))"],
        difference=[
            "positions - positions[:, None]",
            "positions[:, None] - positions[None]",
        ],
        distance=[
            "difference.square().to(weights.dtype).sqrt()",
            "difference.clamp_min(0) + (-difference).clamp_min(0)",
            "2 * torch.maximum(positions[:, None], positions) - positions[:, None] - positions",
            "torch.tensor([[abs(i - j) for j in range(L)] for i in range(L)])",
        ],
        terms=["distance * given", "(given.mT * distance).mT"],
        per_query=[
            "(given @ distance.to(given.dtype)).diagonal(dim1=-2, dim2=-1)",
            "torch.einsum('bhij,ij->bhi', given, distance.to(given.dtype))",
            "terms.mean(-1) * L",
        ],
        per_head=[
            "per_query.mean(2).mean(0)",
            "per_query.transpose(0, 1).flatten(1).mean(1)",
            "per_query.sum((0, 2)) / (len(weights) * L)",
        ],
    ),
    survivors=[
        dict(L="weights.shape[-2]"),
        dict(difference="positions - positions[:, None]"),
        # Every query and every key is counted, in whatever order.
        dict(per_query="terms.sum(-2)"),
    ],
)


@answers.right
def by_diagonals(weights):
    B, H, L, _ = weights.shape
    total = torch.zeros(H)
    for step in range(1 - L, L):
        total += abs(step) * weights.float().diagonal(step, dim1=2, dim2=3).sum((0, 2))
    return (total / (B * L)).to(weights.dtype)


@answers.right
def by_what_crosses_each_gap(weights):
    w = weights.double()
    L = w.shape[-1]
    left = w.cumsum(-1)[..., :-1]  # weight of the keys up to j
    after = torch.arange(L)[:, None] > torch.arange(L - 1)
    crossing = torch.where(after, left, w.sum(-1, keepdim=True) - left)
    return crossing.sum(-1).mean((0, 2)).to(weights.dtype)


def gaps(w):
    positions = torch.arange(w.shape[-1])
    return (positions[:, None] - positions).abs()


@answers.wrong
def in_place(w):
    return w.mul_(gaps(w)).sum(-1).mean((0, 2))


@answers.wrong
def only_its_own_weights_changed(w):
    w.diagonal(dim1=2, dim2=3).zero_()
    return (w * gaps(w)).sum(-1).mean((0, 2))


@answers.wrong
def thirty_tokens_at_most(w):
    return (w * gaps(w).clamp(max=30)).sum(-1).mean((0, 2))


@answers.wrong
def in_bytes(w):
    positions = torch.arange(w.shape[-1], dtype=torch.uint8)
    return (w * (positions[:, None] - positions)).sum(-1).mean((0, 2))


@answers.wrong
def samples_for_heads_if_as_many(w):
    return (w * gaps(w)).sum(-1).mean((1, 2) if len(w) == w.shape[1] else (0, 2))


@answers.wrong
def breaks_where_it_is_not_contiguous(w):
    rows = (w.view(-1, *w.shape[2:]) * gaps(w)).sum(-1)
    return rows.view(w.shape[:3]).mean((0, 2))


_kept: dict = {}


@answers.wrong
def remembers_by_shape(w):
    return _kept.setdefault((w.shape, w.dtype), (w * gaps(w)).sum(-1).mean((0, 2)))
