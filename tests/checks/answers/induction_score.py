"""Answers to induction_score that no row makes."""

import torch
import torch.nn.functional as F

from tests.checks.answers import Answers

answers = Answers(
    "induction_score",
    spelled=dict(
        given=["weights.clone()", "weights.tril()"],
        per_query=[
            "torch.linalg.diagonal(given, offset=offset)",
            "given.mT.diagonal(period - 1, 2, 3)",
            "given[:, :, period - 1 :].diagonal(dim1=2, dim2=3)",
            "torch.stack([given[:, :, i, i + offset] for i in range(period - 1, given.shape[2])], 2)",
            "given[:, :, torch.arange(period - 1, given.shape[2]), torch.arange(given.shape[2] + offset)]",
            "given[:, :, torch.ones_like(given[0, 0]).tril(offset).triu(offset).bool()]",
            "given.flatten(2)[..., (period - 1) * given.shape[2] :: given.shape[2] + 1]",
        ],
        per_head=[
            "per_query.mean(2).mean(0)",
            "per_query.transpose(0, 1).flatten(1).mean(1)",
            "per_query.sum((0, 2)) / (len(weights) * (weights.shape[-1] - period + 1))",
        ],
    ),
    survivors=[
        dict(per_query="given.diagonal(offset, dim1=2, dim2=-1)"),
    ],
)


@answers.right
def by_gather(weights, period):
    rows = weights[:, :, period - 1 :]
    index = torch.arange(rows.shape[2])[:, None].expand(*rows.shape[:3], 1)
    return rows.gather(3, index).squeeze(3).mean((0, 2))


@answers.right
def by_repeated_letters(weights, period):
    n = weights.shape[-1] - period + 1
    return torch.einsum("bhii->h", weights[:, :, period - 1 :, :n]) / (len(weights) * n)


@answers.right
def by_padding(weights, period):
    padded = F.pad(weights, (period - 1, 0))[..., : weights.shape[-1]]
    return padded.diagonal(dim1=2, dim2=3)[..., period - 1 :].mean((0, 2))


def stripe(w, period):
    return w.diagonal(1 - period, dim1=2, dim2=3)


@answers.wrong
def the_first_queries_look_at_key_0(w, period):
    i = torch.arange(w.shape[-1])
    return w[:, :, i, (i - period + 1).clamp_min(0)].mean((0, 2))


@answers.wrong
def nothing_for_period_1(w, period):
    return stripe(w, period).mean((0, 2)) if period > 1 else w.new_zeros(w.shape[1])


@answers.wrong
def nothing_for_the_whole_length(w, period):
    score = stripe(w, period).mean((0, 2))
    return score if period < w.shape[-1] else torch.zeros_like(score)


@answers.wrong
def samples_for_heads_if_as_many(w, period):
    return stripe(w, period).mean((1, 2) if len(w) == w.shape[1] else (0, 2))


@answers.wrong
def breaks_where_it_is_not_contiguous(w, period):
    flat = w.view(*w.shape[:2], -1)
    return flat[..., (period - 1) * w.shape[-1] :: w.shape[-1] + 1].mean((0, 2))


@answers.wrong
def reads_as_if_it_were_contiguous(w, period):
    B, H, L, _ = w.shape
    steps = (H * L * L, L * L, L + 1)
    return w.as_strided((B, H, L - period + 1), steps, (period - 1) * L).mean((0, 2))


@answers.wrong
def empties_the_diagonal(w, period):
    score = stripe(w, period).mean((0, 2))
    stripe(w, period).zero_()
    return score


@answers.wrong
def thirty_tokens_at_most(w, period):
    return stripe(w[..., :30, :30], period).mean((0, 2))


_masks: dict = {}


@answers.wrong
def mask_of_the_first_period(w, period):
    i = torch.arange(w.shape[-1])
    mask = _masks.setdefault(len(i), i[:, None] - i == period - 1)
    return w[:, :, mask].mean((0, 2))
