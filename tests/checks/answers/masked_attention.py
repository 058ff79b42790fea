"""Answers to masked_attention that no row makes."""

import math

import torch.nn.functional as F

import attn_lib
from tests.checks.answers import ALL_ALLOWED, Answers

answers = Answers(
    "masked_attention",
    spelled=dict(
        products=[
            "(q.unsqueeze(3) * k.unsqueeze(2)).sum(-1)",
            "torch.bmm(q.flatten(0, 1), k.flatten(0, 1).mT).unflatten(0, q.shape[:2])",
        ],
        scores=["(q * D**-0.25) @ (k * D**-0.25).mT"],
        everything=["torch.tensor(True)", "scores == scores"],
        hidden=["scores.masked_fill(forbidden, torch.finfo(q.dtype).min)"],
        weights=["hidden.mT.softmax(-2).mT"],
        kept=["weights.nan_to_num(0.0) * allowed"],
        heads=["(v.mT @ kept.mT).mT", "torch.einsum('bhls,bhse->bhle', kept, v)"],
    ),
    survivors=[dict(D="k.shape[-1]"), *ALL_ALLOWED],  # queries and keys are of one length
)


@answers.right
def fused(query, key, value, attn_mask=None):
    return F.scaled_dot_product_attention(query, key, value, attn_mask=attn_mask)


@answers.right
def two_keys_at_a_time(q, k, v, mask=None):
    return attn_lib.chunked_attention(q, k, v, mask=mask, chunk_size=2)[0]


# The mask turned in place, a root of at most 32, half precision, a list of one.
answers.wrong(
    lambda q, k, v, m=None: fused(q, k, v, m if m is None else ~m.logical_not_()),
    lambda q, k, v, m=None: fused(q * max(1, math.sqrt(q.shape[-1] / 32)), k, v, m),
    lambda q, k, v, m=None: fused(q.half(), k.half(), v.half(), m).to(q.dtype),
    lambda q, k, v, m=None: [fused(q, k, v, m)],
)
