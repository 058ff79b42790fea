"""Answers to attention that no row makes."""

import math

import torch

from tests.checks.answers import Answers

answers = Answers(
    "attention",
    spelled=dict(
        products=["q @ k.mT", "(k @ q.mT).mT", "q @ (k - k.mean(1, keepdim=True)).mT"],
        scores=["products * D**-0.5", "_ - _.amax(-1, keepdim=True)", "_ + 3.0"],
        weights=[
            "F.softmax(scores, dim=2)",
            "scores.mT.softmax(1).mT",
            "(scores - scores.logsumexp(-1, keepdim=True)).exp()",
        ],
        output=[
            "torch.bmm(weights, v)",
            "torch.einsum('bls,bsv->blv', weights, v)",
            "F.scaled_dot_product_attention(q, k, v)",
        ],
        **{"return": ["[output, weights]"]},
    ),
    survivors=[dict(D="k.shape[-1]")],
)


@answers.right
def divided_after_the_product(q, k, v):
    s = q @ k.mT / math.sqrt(q.shape[-1])
    e = (s - s.amax(-1, keepdim=True)).exp()
    return (e @ v) / e.sum(-1, keepdim=True), e / e.sum(-1, keepdim=True)


@answers.right
def query_by_query(q, k, v):
    outputs, rows = [], []
    for i in range(q.shape[1]):
        scores = torch.einsum("bd,bsd->bs", q[:, i], k) / math.sqrt(q.shape[-1])
        rows.append(scores.softmax(-1))
        outputs.append((rows[-1][..., None] * v).sum(1))
    return torch.stack(outputs, 1), torch.stack(rows, 1)


@answers.right
def in_float64(q, k, v):
    w = (q.double() @ k.double().mT / math.sqrt(q.shape[-1])).softmax(-1)
    return (w @ v.double()).to(v.dtype), w.to(v.dtype)


def attend(q, k, v):
    w = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)
    return w @ v, w


@answers.wrong
def weights_cut_off(q, k, v):
    output, weights = attend(q, k, v)
    return output, weights.detach()


@answers.wrong
def output_of_sample_0(q, k, v):
    output, weights = attend(q, k, v)
    return output[:1].expand(len(q), -1, -1), weights


@answers.wrong
def a_little_too_sharp(q, k, v):
    return attend(q * 1.05, k, v)


@answers.wrong
def wrong_when_square(q, k, v):
    return attend(q, k.mT if k.shape[1] == k.shape[2] else k, v)


@answers.wrong
def small_weights_forgotten(q, k, v):
    weights = attend(q, k, v)[1]
    weights = weights.where(weights > 0.05, 0.0)
    return weights @ v, weights
