"""Answers to quantize_int8 that no row makes."""

import torch

from tests.checks.answers import Answers

answers = Answers(
    "quantize_int8",
    spelled=dict(
        numbers=["weight.to(torch.float32)", "weight.detach().clone().float()"],
        largest=[
            "torch.linalg.vector_norm(numbers, torch.inf, dim=1, keepdim=True)",
            "numbers.abs().max(dim=-1, keepdim=True).values",
            "torch.maximum(numbers.amax(1), -numbers.amin(1))[:, None]",
        ],
        scale=[
            "step.clamp(min=1e-37)",
            "torch.where(step > 0, step, torch.ones_like(step))",
            "step + (step == 0)",
            "step.masked_fill(largest == 0, 5.0)",
        ],
        steps=["numbers * (1 / scale)", "numbers.div(scale)", "127 * numbers / (127 * scale)"],
        rounded=["(steps + 0.5).floor()", "(steps - 0.5).ceil()", "steps.sign() * (steps.abs() + 0.5).floor()"],
        kept=["rounded", "rounded.clamp(-128, 127)", "rounded.clip(-127, 127)"],
        q=["kept.type(torch.int8)", "kept.char()", "kept.int().to(torch.int8)"],
    ),
    # No number is farther from zero than the largest of its row.
    survivors=[
        dict(scale="step.masked_fill(largest == 0, 2.0)"),
        dict(kept="rounded.clamp(-127, 128)"),
    ],
)  # fmt: skip


@answers.right
def row_by_row(weight):
    rows, scales = [], []
    for row in weight.float():
        scale = row.abs().max() / 127 if row.any() else torch.tensor(1.0)
        rows.append(torch.round(row / scale).to(torch.int8))
        scales.append(scale)
    return torch.stack(rows), torch.stack(scales)[:, None]


@answers.right
def in_float64(weight):
    scale = (weight.double().abs().amax(1, keepdim=True) / 127).clamp(min=1e-36)
    q = (weight / scale).round().to(torch.int8)
    return [q, scale.float()]


@answers.right
def by_fake_quantization(weight):
    scale = (weight.float().abs().amax(1) / 127).clamp(min=1e-36)
    zeros = torch.zeros(len(weight), dtype=torch.int32)
    q = torch.quantize_per_channel(
        weight.detach().float().contiguous(), scale.detach(), zeros, 0, torch.qint8
    )
    return q.int_repr(), scale[:, None]


def right(weight):
    return row_by_row(weight)


# One row's scale for its neighbor, five bits, the sign of -127 lost, one number in ten left out,
# a scale of zero for small rows, a negative scale, the first four columns only.
answers.wrong(
    lambda weight: (right(weight)[0], right(weight)[1].roll(1, 0)),
    lambda weight: (right(weight)[0] // 8 * 8, right(weight)[1]),
    lambda weight: (right(weight)[0].clamp(min=-126), right(weight)[1]),
    lambda weight: (right(weight)[0].roll(1, 1), right(weight)[1]),
    lambda weight: (right(weight)[0], right(weight)[1] * 1.001),
    lambda weight: (-right(weight)[0], -right(weight)[1]),
    lambda weight: (right(weight)[0], right(weight[:, :4])[1]),
)
