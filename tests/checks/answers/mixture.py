"""Answers to mixture that no row makes."""

import torch

from tests.checks.answers import Answers

answers = Answers(
    "mixture",
    spelled=dict(
        mixed=[
            "weights @ values",
            "(values.T @ weights.T).T",
            "torch.tensordot(weights, values, 1)",
        ]
    ),
)


@answers.right
def with_broadcasting(weights, values):
    return (weights[:, :, None] * values[None]).sum(1)


@answers.right
def row_by_row(weights, values):
    rows = [sum(w * v for w, v in zip(row, values, strict=True)) for row in weights]
    return torch.stack(rows)


# The first case by heart.
answers.wrong(lambda weights, values: torch.tensor([[4.0, 0.0], [2.5, 3.0]]))
