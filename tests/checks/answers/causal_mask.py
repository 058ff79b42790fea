"""Answers to causal_mask that no row makes."""

import functools

import numpy as np
import torch

from tests.checks.answers import Answers

answers = Answers(
    "causal_mask",
    spelled=dict(
        i=["torch.ones(q_len, kv_len).cumsum(0) - 1"],
        j=["torch.arange(q_len, q_len + kv_len) - q_len"],
        last=["torch.arange(kv_len - q_len, kv_len).unsqueeze(-1)", "offset + i.float()"],
        is_past=[
            "(j - last).clamp(min=0) == 0",
            "~torch.ones(q_len, kv_len, dtype=torch.bool).triu(offset + 1)",
            "torch.full((q_len, kv_len), -torch.inf).triu(offset + 1) == 0",
            "torch.ones(q_len, kv_len).flip(0, 1).triu().flip(0, 1).bool()",
            "torch.ones(q_len, kv_len, dtype=torch.int8).tril(offset).view(torch.bool)",
        ],
        mask=["_.mT.contiguous().mT"],
    ),
)


@answers.right
@functools.lru_cache
def kept_by_numpy(q_len, kv_len):
    return torch.from_numpy(np.tri(q_len, kv_len, kv_len - q_len, dtype=bool))


def right(n, m):
    return torch.ones(n, m, dtype=torch.bool).tril(m - n)


# 512 steps back, squeezed.
answers.wrong(
    lambda n, m: right(n, m).triu(m - n - 511),
    lambda n, m: right(n, m).squeeze(),
)
