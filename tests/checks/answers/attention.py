"""Answers to attention that no row makes."""

import math

import torch

from tests.checks.answers import Answers

answers = Answers(
    "attention",
    spelled=dict(
        products=["(k @ q.mT).mT", "q @ (k - k.mean(1, keepdim=True)).mT"],
        scores=["products * D**-0.5", "_ - _.amax(-1, keepdim=True)"],
        weights=["scores.mT.softmax(1).mT", "(scores - scores.logsumexp(-1, keepdim=True)).exp()"],
        output=["torch.einsum('bls,bsv->blv', weights, v)", "F.scaled_dot_product_attention(q, k, v)"],
        **{"return": ["[output, weights]"]},
    ),
    survivors=[dict(D="k.shape[-1]")],
)  # fmt: skip


@answers.right
def query_by_query(q, k, v):
    outputs, rows = [], []
    for i in range(q.shape[1]):
        scores = torch.einsum("bd,bsd->bs", q[:, i], k) / math.sqrt(q.shape[-1])
        rows.append(scores.softmax(-1))
        outputs.append((rows[-1][..., None] * v).sum(1))
    return torch.stack(outputs, 1), torch.stack(rows, 1)


def attend(q, k, v):
    w = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)
    return w @ v, w


@answers.wrong
def wrong_when_square(q, k, v):
    return attend(q, k.mT if k.shape[1] == k.shape[2] else k, v)


@answers.wrong
def a_little_too_sharp(q, k, v):
    return attend(q * 1.05, k, v)
