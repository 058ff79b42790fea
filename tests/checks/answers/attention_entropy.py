"""Answers to attention_entropy that no row makes."""

import math

import torch
import torch.nn.functional as F

from tests.checks.answers import Answers

answers = Answers(
    "attention_entropy",
    spelled=dict(
        seen=[
            "given + (given == 0)",
            "torch.where(given > 0, given, torch.ones_like(given))",
            "given.clamp_min(torch.finfo(given.dtype).tiny)",
            "given + torch.finfo(given.dtype).eps",
            "given + 1e-6",
        ],
        logs=["seen.log2() * math.log(2)", "torch.log(seen)"],
        terms=[
            "torch.special.entr(given)",
            "-torch.special.xlogy(given, given)",
            "-(given * given.log()).nan_to_num(0.0)",
            "-given * given.log().nan_to_num(neginf=0.0)",
            "-(given**given).log()",
        ],
        per_query=["terms.nansum(-1)", "terms.mean(-1) * weights.shape[-1]"],
        per_head=[
            "per_query.mean(2).mean(0)",
            "per_query.transpose(0, 1).flatten(1).mean(1)",
            "per_query.sum((0, 2)) / (len(weights) * weights.shape[2])",
            "torch.stack([head.mean() for head in per_query.unbind(1)])",
        ],
    ),
    survivors=[
        dict(seen="given.masked_fill(given == 0, 2.0)"),
    ],
)


@answers.right
def of_what_is_not_zero(weights):
    B, H, L, _ = weights.shape
    head = weights.nonzero()[:, 1]
    seen = weights[weights != 0].double()
    total = torch.zeros(H, dtype=torch.float64).index_add(0, head, -seen * seen.log())
    return (total / (B * L)).to(weights.dtype)


@answers.right
def by_cross_entropy(weights):
    w = weights.double().movedim(-1, 1)
    rows = F.cross_entropy(w.clamp_min(1e-300).log(), w, reduction="none")
    return rows.mean((0, 2)).to(weights.dtype)


@answers.right
def in_place_on_a_copy(weights):
    w = weights.clone()
    w[w == 0] = 1
    return w.log_().mul_(weights).neg_().sum(-1).mean((0, 2))


@answers.wrong
def zeros_replaced_in_the_input(w):
    zeros = w == 0
    w[zeros] = 1.0
    return -(w.masked_fill(zeros, 0.0) * w.log()).sum(-1).mean((0, 2))


@answers.wrong
def breaks_where_it_is_not_contiguous(w):
    rows = torch.special.entr(w.view(-1, *w.shape[2:])).sum(-1)
    return rows.view(w.shape[:3]).mean((0, 2))


@answers.wrong
def samples_for_heads_if_as_many(w):
    axes = (1, 2) if len(w) == w.shape[1] else (0, 2)
    return torch.special.entr(w).sum(-1).mean(axes)


@answers.wrong
def stops_at_the_first_zero(w):
    return (torch.special.entr(w) * (w > 0).cumprod(-1)).sum(-1).mean((0, 2))


@answers.wrong
def small_weights_dropped(w):
    return torch.special.entr(w.where(w > 1e-3, 0.0)).sum(-1).mean((0, 2))


@answers.wrong
def a_row_of_zeros_is_uniform(w):
    rows = torch.special.entr(w).sum(-1)
    return rows.where(w.any(-1), math.log(w.shape[-1])).mean((0, 2))


_kept: dict = {}


@answers.wrong
def remembers_by_shape(w):
    entropy = torch.special.entr(w).sum(-1).mean((0, 2))
    return _kept.setdefault((w.shape, w.dtype), entropy)
