"""Answers to numerical_gradient that no row makes."""

import numpy as np
import torch

from tests.checks.answers import Answers

answers = Answers(
    "numerical_gradient",
    spelled=dict(
        around=["x.clone()", "x * 1.0"],
        one=["x.new_zeros(x.numel())"],
        moved=["(where.double() * step).reshape(x.shape)", "torch.eye(x.numel(), dtype=x.dtype)[i].view(x.shape) * eps"],
        width=["eps + eps"],
        slope=["above / width - below / width"],
        joined=["torch.tensor([s.item() for s in slopes], dtype=torch.float64)", "sum(s * e for s, e in zip(slopes, torch.eye(len(slopes), dtype=x.dtype)))"],
    ),
)  # fmt: skip


@answers.right
def by_numpy_indices(fn, x, eps):
    gradient = torch.zeros_like(x)
    for index in np.ndindex(*x.shape):
        there = x.clone()
        there[index] = x[index] + eps
        above = fn(there)
        there[index] = x[index] - eps
        gradient[index] = (above - fn(there)) / (2 * eps)
    return gradient


@answers.wrong
def five_points(fn, x, eps):  # another formula: more exact, and not what is asked
    units = torch.eye(x.numel(), dtype=x.dtype).view(-1, *x.shape) * eps
    slopes = [
        (8 * (fn(x + u) - fn(x - u)) - fn(x + 2 * u) + fn(x - 2 * u)) / (12 * eps)
        for u in units
    ]
    return torch.stack(slopes).view(x.shape)
