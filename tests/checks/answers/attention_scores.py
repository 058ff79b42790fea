"""Answers to attention_scores that no row makes."""

import math

import torch

from tests.checks.answers import Answers

answers = Answers(
    "attention_scores",
    spelled=dict(
        D=["k.size(2)"],
        products=[
            "q @ k.mT",
            "torch.bmm(q, k.permute(0, 2, 1))",
            "(k @ q.mT).mT",
            "(q[:, :, None] * k[:, None]).sum(-1)",
            "torch.stack([a @ b.T for a, b in zip(q, k, strict=True)])",
        ],
        scores=["products * D**-0.5", "products / torch.tensor(D).sqrt().to(q.dtype)"],
    ),
    survivors=[dict(D="k.shape[-1]")],
)


@answers.right
def with_the_scale_on_both(q, k):
    s = q.shape[-1] ** -0.25
    return (q * s) @ (k * s).mT


@answers.right
def with_vmap(q, k):
    one = torch.vmap(torch.dot, in_dims=(None, 0))
    many = torch.vmap(torch.vmap(one, in_dims=(0, None)))
    return many(q, k) / math.sqrt(q.shape[-1])


def scores(q, k):
    return q @ k.mT / math.sqrt(q.shape[-1])


@answers.wrong
def root_of_ten_at_most(q, k):
    return q @ k.mT / min(q.shape[-1], 10) ** 0.5


@answers.wrong
def zero_scores_hidden(q, k):
    return scores(q, k).masked_fill(q @ k.mT == 0, -torch.inf)


@answers.wrong
def scaled_in_place(q, k):
    return q.div_(q.shape[-1] ** 0.5) @ k.mT


@answers.wrong
def keys_cut_off(q, k):
    return scores(q, k.detach())


@answers.wrong
def centered(q, k):
    return scores(q, k - k.mean(1, keepdim=True))
