"""Answers to attention_scores that no row makes."""

import math

import torch

from tests.checks.answers import Answers

answers = Answers(
    "attention_scores",
    spelled=dict(
        D=["k.size(2)"],
        products=[
            "torch.bmm(q, k.permute(0, 2, 1))",
            "(k @ q.mT).mT",
            "(q[:, :, None] * k[:, None]).sum(-1)",
            "torch.stack([a @ b.T for a, b in zip(q, k, strict=True)])",
        ],
        scores=["products * D**-0.5", "(q * D**-0.25) @ (k * D**-0.25).mT"],
    ),
    survivors=[dict(D="k.shape[-1]")],
)


@answers.right
def with_vmap(q, k):
    one = torch.vmap(torch.dot, in_dims=(None, 0))
    many = torch.vmap(torch.vmap(one, in_dims=(0, None)))
    return many(q, k) / math.sqrt(q.shape[-1])


def scores(q, k):
    return q @ k.mT / math.sqrt(q.shape[-1])


# A root of ten at most, zero scores hidden.
answers.wrong(
    lambda q, k: q @ k.mT / min(q.shape[-1], 10) ** 0.5,
    lambda q, k: scores(q, k).masked_fill(q @ k.mT == 0, -torch.inf),
)
