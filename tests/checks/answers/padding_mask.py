"""Answers to padding_mask that no row makes."""

import torch
import torch.nn.functional as F

from tests.checks.answers import Answers

answers = Answers(
    "padding_mask",
    spelled=dict(
        position=[
            "torch.arange(max_len).unsqueeze(0)",
            "torch.arange(max_len, dtype=torch.float32)",
            "torch.ones(len(lengths), max_len).cumsum(-1) - 1",
        ],
        ends=["lengths.reshape(-1, 1)", "lengths.unsqueeze(-1).double()", "lengths[..., None]"],
        is_real=[
            "ends > position",
            "position + 1 <= ends",
            "(position >= ends).logical_not()",
            "(ends - position).sign() == 1",
            "(torch.arange(max_len)[:, None] < lengths).T",
            "torch.ones(max_len + 1, max_len).tril(-1)[lengths.long()].bool()",
            "F.one_hot(lengths.long(), max_len + 1).cumsum(-1)[:, :-1] == 0",
            "torch.tensor([[j < n for j in range(max_len)] for n in lengths.tolist()])",
            "torch.from_numpy(torch.arange(max_len).numpy() < lengths.numpy()[:, None])",
        ],
        mask=[
            "real.unsqueeze(1).unsqueeze(2)",
            "real.view(-1, 1, 1, max_len)",
            "real[:, None, None].clone()",
            "real.T[None, None].permute(3, 0, 1, 2)",
        ],
    ),
)  # fmt: skip


@answers.right
def row_by_row(lengths, max_len):
    mask = torch.zeros(len(lengths), 1, 1, max_len, dtype=torch.bool)
    for b, length in enumerate(lengths):
        mask[b, :, :, :length] = True
    return mask


def right(lengths, max_len):
    return (torch.arange(max_len) < lengths[:, None])[:, None, None]


@answers.wrong
def writes_into_lengths(lengths, max_len):
    lengths -= 1
    return right(lengths + 1, max_len)


# Sorted, at most six words, int64 only, positions in int8, relative to the longest, no class for a full
# sentence.
for wrong in (
    lambda n, m: right(n.sort(descending=True).values, m),
    lambda n, m: right(n.clamp(max=6), m),
    lambda n, m: right(n.view(torch.int64), m),
    lambda n, m: right(n.char(), m) & (torch.arange(m).char() >= 0),
    lambda n, m: right(n + m - n.max(), m),
    lambda n, m: (F.one_hot(n.long(), m).cumsum(-1) == 0)[:, None, None],
):
    answers.wrong(wrong)
