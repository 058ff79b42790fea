"""Answers to dequantize_int8 that no row makes."""

import torch

from tests.checks.answers import Answers

answers = Answers(
    "dequantize_int8",
    spelled=dict(
        steps=["q.to(torch.float32)", "q", "q.to(scale.dtype)", "q.int()"],
        weight=["scale * steps", "torch.mul(steps, scale)", "torch.einsum('oi,oj->oi', steps.float(), scale)"],
    ),
)  # fmt: skip


@answers.right
def row_by_row(q, scale):
    return torch.stack([row * one for row, one in zip(q, scale, strict=True)])


@answers.right
def with_a_diagonal_matrix(q, scale):
    return torch.diag(scale[:, 0]) @ q.float()


# The sign of -127 lost, the last row in the step of the first, all steps a little too long.
answers.wrong(
    lambda q, scale: q.clamp(min=-126) * scale,
    lambda q, scale: q * torch.cat([scale[:-1], scale[:1]]),
    lambda q, scale: q * scale * 1.001,
    lambda q, scale: q * scale.clamp(max=1.0),
)
