"""Answers to offset_score that no row makes."""

import torch

from tests.checks.answers import Answers

answers = Answers(
    "offset_score",
    spelled=dict(
        given=["weights.clone()"],
        per_query=[
            "given.mT.diagonal(-steps, 2, 3)",
            "torch.stack([given[:, :, i, i + offset] for i in range(given.shape[2]) if 0 <= i + offset < given.shape[2]], 2)",
            "given[:, :, torch.ones_like(given[0, 0]).tril(offset).triu(offset).bool()]",
            "torch.diagonal(given, steps, -2, -1)",
        ],
        per_head=[
            "per_query.transpose(0, 1).flatten(1).mean(1)",
            "per_query.sum((0, 2)) / (len(weights) * (weights.shape[-1] - abs(offset)))",
            "per_query.mean(0).mean(-1)",
        ],
    ),
    survivors=[
        dict(per_query="given.diagonal(steps, dim1=2, dim2=-1)"),
        dict(L="weights.shape[-2]"),
        dict(first="max(-offset, 0)"),
        dict(last="L - max(offset, 0)"),
    ],
)  # fmt: skip


@answers.right
def by_slices(weights, offset):
    n = weights.shape[-1] - abs(offset)
    start = max(0, -offset)
    block = weights[:, :, start : start + n, start + offset : start + offset + n]
    return torch.einsum("bhii->h", block) / (len(weights) * n)


def score(w, offset, axes=(0, 2)):
    return w.diagonal(offset, dim1=2, dim2=3).mean(axes)


masks: dict = {}


@answers.wrong
def mask_of_the_first_offset(w, offset):
    i = torch.arange(w.shape[-1])
    mask = masks.setdefault(len(i), i - i[:, None] == offset)
    return w[:, :, mask].mean((0, 2))


# Nothing for the farthest pair, samples for heads if as many, needs contiguous weights, thirty tokens at
# most.
answers.wrong(
    lambda w, offset: score(w, offset) * (abs(offset) < w.shape[-1] - 1),
    lambda w, offset: score(w, offset, (1, 2) if len(w) == w.shape[1] else (0, 2)),
    lambda w, offset: score(w.view(-1, *w.shape[2:]).view(w.shape), offset),
    lambda w, offset: score(w[..., :30, :30], offset),
)
