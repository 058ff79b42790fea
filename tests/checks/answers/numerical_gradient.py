"""Answers to numerical_gradient that no row makes."""

import itertools

import numpy as np
import torch

from tests.checks.answers import Answers

answers = Answers(
    "numerical_gradient",
    spelled=dict(
        around=["x.clone()", "x * 1.0"],
        one=["x.new_zeros(x.numel())"],
        moved=["(where * step).reshape(x.shape)", "torch.eye(x.numel(), dtype=x.dtype)[i].view(x.shape) * eps"],
        width=["eps + eps"],
        slope=["above / width - below / width"],
        joined=["torch.tensor([s.item() for s in slopes], dtype=torch.float64)", "sum(s * e for s, e in zip(slopes, torch.eye(len(slopes), dtype=x.dtype)))"],
    ),
    survivors=[dict(one="torch.zeros(x.numel())")],  # a step of 7 digits
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
def put_back_to_the_bit(fn, x, eps):
    gradient = torch.zeros_like(x)
    for index in itertools.product(*map(range, x.shape)):
        before = x[index].clone()
        x[index] = before + eps
        above = fn(x)
        x[index] = before - eps
        below = fn(x)
        x[index] = before
        gradient[index] = (above - below) / eps / 2
    return gradient


@answers.right
def by_unit_vectors(fn, x, eps):
    units = torch.eye(x.numel(), dtype=x.dtype).view(-1, *x.shape) * eps
    slopes = [(fn(x + u).item() - fn(x - u).item()) / (2 * eps) for u in units]
    return torch.tensor(slopes, dtype=x.dtype).view(x.shape)


@answers.wrong
def view_of_what_may_not_be_contiguous(fn, x, eps):
    gradient = torch.zeros(x.numel(), dtype=x.dtype)
    flat = x.clone().view(-1)
    for i in range(len(flat)):
        step = torch.zeros_like(flat)
        step[i] = eps
        above, below = (fn((flat + s).view(x.shape)) for s in (step, -step))
        gradient[i] = (above - below) / (2 * eps)
    return gradient.view(x.shape)


@answers.wrong
def undone_by_arithmetic(fn, x, eps):
    gradient = torch.zeros_like(x)
    for index in np.ndindex(*x.shape):
        x[index] += eps
        above = fn(x)
        x[index] -= 2 * eps
        gradient[index] = (above - fn(x)) / (2 * eps)
        x[index] += eps
    return gradient


@answers.wrong
def of_one_axis_only(fn, x, eps):
    gradient = torch.zeros_like(x)
    for i in range(len(x)):
        step = torch.zeros_like(x)
        step[i] = eps
        gradient[i] = (fn(x + step) - fn(x - step)) / (2 * eps)
    return gradient


@answers.wrong
def of_two_axes_only(fn, x, eps):
    gradient = torch.zeros_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            step = torch.zeros_like(x)
            step[i, j] = eps
            gradient[i, j] = (fn(x + step) - fn(x - step)) / (2 * eps)
    return gradient


@answers.wrong
def five_points(fn, x, eps):  # another formula: more exact, and not what is asked
    units = torch.eye(x.numel(), dtype=x.dtype).view(-1, *x.shape) * eps
    slopes = [
        (8 * (fn(x + u) - fn(x - u)) - fn(x + 2 * u) + fn(x - 2 * u)) / (12 * eps)
        for u in units
    ]
    return torch.stack(slopes).view(x.shape)
