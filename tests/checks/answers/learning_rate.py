"""Answers to learning_rate that no row makes."""

import math

import numpy as np
import torch

from tests.checks.answers import Answers

answers = Answers(
    "learning_rate",
    spelled=dict(
        rising=["warmup > step", "not step >= warmup", "step < warmup and warmup > 0"],
        rise=["step / warmup if warmup else 0.0", "step / (warmup or 1)", "step * (1.0 / max(1, warmup))"],
        passed=["max(step - warmup, 0)", "min(step, total) - warmup"],
        length=["float(total - warmup)"],
        share=["passed / length if step < total else 1", "min(1, passed / length)", "float(torch.tensor(passed / length).clamp(max=1))"],
        cosine=["math.cos(share * math.pi)", "math.cos(math.radians(180 * share))", "float(torch.cos(torch.tensor(torch.pi * share)))", "math.sin(math.pi * (0.5 - share))"],
        height=["0.5 * (1.0 + cosine)", "0.5 + cosine / 2", "math.cos(math.pi * share / 2) ** 2"],
        down=["height * peak + (1 - height) * floor", "peak - (peak - floor) * (1 - height)"],
        rate=["down if step >= warmup else up"],
    ),
    survivors=[
        dict(rise="step / max(1, warmup)"),
        dict(rise="step / max(warmup, 2)"),  # a warmup of 1 has only the step 0
        dict(share="min(1.0, passed / length)"),
    ],
)  # fmt: skip


@answers.right
def in_three_parts(step, warmup, total, peak, floor):
    if step < warmup:
        return peak * step / warmup
    if step >= total:
        return floor
    progress = (step - warmup) / (total - warmup)
    return floor + 0.5 * (peak - floor) * (1 + math.cos(math.pi * progress))


@answers.right
def in_numpy(step, warmup, total, peak, floor):
    down = np.interp(step, [warmup, total], [0, np.pi])
    down = np.float32(floor + (peak - floor) * (np.cos(down) + 1) / 2)
    return down if step >= warmup else np.interp(step, [0, warmup], [0, peak])


@answers.right
def of_torch(step, warmup, total, peak, floor):
    step = torch.tensor(step)
    progress = ((step - warmup) / (total - warmup)).clamp(0, 1)
    down = torch.lerp(
        torch.tensor(float(floor)),
        torch.tensor(float(peak)),
        (1 + (progress * torch.pi).cos()) / 2,
    )
    return torch.where(step < warmup, peak * step / max(warmup, 1), down)


@answers.wrong
def kept_between_calls(step, warmup, total, peak, floor, seen=[]):  # noqa: B006
    """Counts its calls instead of looking at the step."""
    seen.append(step)
    return in_three_parts(len(seen), warmup, total, peak, floor)


answers.wrong(
    lambda step, warmup, total, peak, floor: in_three_parts(step, 2, 6, peak, floor),
    lambda step, *rest: in_three_parts(min(step, 50), *rest),
    lambda step, warmup, *rest: in_three_parts(step, max(warmup, 1), *rest),
    lambda step, warmup, total, peak, floor: in_three_parts(
        step, warmup, total, peak, peak / 10
    ),
    lambda *arguments: complex(in_three_parts(*arguments)),
)


@answers.wrong
def down_a_thousand_stairs(step, warmup, total, peak, floor):
    count = min(1000, total - warmup)
    stair = max(step - warmup, 0) * count // (total - warmup)
    on_it = warmup + stair * (total - warmup) / count
    return in_three_parts(min(step, on_it), warmup, total, peak, floor)
