"""Answers to induction_score that no row makes."""

import torch

from tests.checks.answers import Answers

answers = Answers(
    "induction_score",
    spelled=dict(
        given=["weights.clone()", "weights.tril()"],
        per_query=[
            "given.mT.diagonal(period - 1, 2, 3)",
            "torch.stack([given[:, :, i, i + offset] for i in range(period - 1, given.shape[2])], 2)",
            "given[:, :, torch.ones_like(given[0, 0]).tril(offset).triu(offset).bool()]",
            "given.flatten(2)[..., (period - 1) * given.shape[2] :: given.shape[2] + 1]",
        ],
        per_head=[
            "per_query.transpose(0, 1).flatten(1).mean(1)",
            "per_query.sum((0, 2)) / (len(weights) * (weights.shape[-1] - period + 1))",
        ],
    ),
    survivors=[dict(per_query="given.diagonal(offset, dim1=2, dim2=-1)")],
)


def score(w, period, axes=(0, 2)):
    return w.diagonal(1 - period, dim1=2, dim2=3).mean(axes)


@answers.wrong
def reads_as_if_it_were_contiguous(w, period):
    B, H, L, _ = w.shape
    steps = (H * L * L, L * L, L + 1)
    return w.as_strided((B, H, L - period + 1), steps, (period - 1) * L).mean((0, 2))


masks: dict = {}


@answers.wrong
def mask_of_the_first_period(w, period):
    i = torch.arange(w.shape[-1])
    mask = masks.setdefault(len(i), i[:, None] - i == period - 1)
    return w[:, :, mask].mean((0, 2))


# Nothing for period 1, or for the whole length, samples for heads if as many, needs contiguous weights,
# thirty tokens at most.
answers.wrong(
    lambda w, period: score(w, period) * (period > 1),
    lambda w, period: score(w, period) * (period < w.shape[-1]),
    lambda w, period: score(w, period, (1, 2) if len(w) == w.shape[1] else (0, 2)),
    lambda w, period: score(w.view(-1, *w.shape[2:]).view(w.shape), period),
    lambda w, period: score(w[..., :30, :30], period),
)
