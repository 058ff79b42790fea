"""Answers to sinusoidal_positions that no row makes."""

import math

import torch

from attn_lib import sinusoidal_positions as right
from tests.checks.answers import Answers

answers = Answers(
    "sinusoidal_positions",
    spelled=dict(
        positions=["torch.arange(length)", "torch.ones(length).cumsum(0) - 1"],
        i=["torch.arange(0, d_model, 2) / 2"],
        exponents=["i / (d_model / 2)", "torch.arange(0, d_model, 2) / d_model"],
        frequencies=[
            "torch.exp(-exponents * math.log(10000))",
            "1 / torch.pow(10000, exponents)",
            "torch.logspace(0, -4, d_model // 2 + 1)[:-1]",
        ],
        angles=["torch.einsum('l,c->lc', positions.double(), frequencies.double())", "positions.float().view(-1, 1) * frequencies"],
        cosines=["(angles + math.pi / 2).sin()"],
        table=["torch.cat([sines, cosines], -1).unflatten(-1, (2, -1)).mT.flatten(-2)"],
    ),
    survivors=[{"i": "torch.arange(d_model // 2)"}],  # float32 is enough
)  # fmt: skip


@answers.right
def into_an_empty_table(length, d_model):
    table = torch.zeros(length, d_model)
    position = torch.arange(length).unsqueeze(1)
    speed = torch.exp(torch.arange(0, d_model, 2) * -(math.log(10000.0) / d_model))
    table[:, 0::2], table[:, 1::2] = (
        torch.sin(position * speed),
        torch.cos(position * speed),
    )
    return table


@answers.right
def as_powers_of_one_turn(length, d_model):
    """Each row is the one before, turned by one step."""
    step = 10000.0 ** -(torch.arange(0, d_model, 2).double() / d_model)
    powers = torch.polar(torch.ones_like(step), step) ** torch.arange(length)[:, None]
    return torch.stack([powers.imag, powers.real], -1).flatten(1).float()


# A table that ends, cut to 64 columns, turned if square, rounded, the first row left out, ones at 0, squeezed.
answers.wrong(
    lambda n, e: right(512, e)[:n],
    lambda n, e: right(5000, e)[:n],
    lambda n, e: right(n, 64)[:, :e],
    lambda n, e: right(n, e).T if n == e else right(n, e),
    lambda n, e: right(n, e).round(decimals=1),
    lambda n, e: right(n + 1, e)[1:],
    lambda n, e: right(n, e).masked_fill((torch.arange(n) == 0)[:, None], 0.0),
    lambda n, e: right(n, e).squeeze(),
)


@answers.wrong
def a_pair_too_many_where_the_steps_do_not_add_up(n, e):
    speeds = 10000.0 ** -torch.arange(0, 1, 2 / e, dtype=torch.float64)
    angles = torch.arange(n)[:, None] * speeds
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1).float()
