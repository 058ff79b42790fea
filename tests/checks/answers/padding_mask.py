"""Answers to padding_mask that no row makes."""

import torch

from tests.checks.answers import Answers

answers = Answers(
    "padding_mask",
    spelled=dict(
        position=["torch.ones(len(lengths), max_len).cumsum(-1) - 1"],
        ends=["lengths.unsqueeze(-1).double()"],
        is_real=[
            "(position >= ends).logical_not()",
            "torch.ones(max_len + 1, max_len).tril(-1)[lengths.long()].bool()",
            "F.one_hot(lengths.long(), max_len + 1).cumsum(-1)[:, :-1] == 0",
            "torch.from_numpy(torch.arange(max_len).numpy() < lengths.numpy()[:, None])",
        ],
        mask=["real.view(-1, 1, 1, max_len)", "real.T[None, None].permute(3, 0, 1, 2)"],
    ),
)


def right(lengths, max_len):
    return (torch.arange(max_len) < lengths[:, None])[:, None, None]


# Positions in int8.
answers.wrong(lambda n, m: right(n.char(), m) & (torch.arange(m).char() >= 0))
