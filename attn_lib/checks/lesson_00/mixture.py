"""The practice task `mixture`, with which a learner meets `check` for the first time."""

import torch

from attn_lib.checks.case import Case
from attn_lib.checks.task import task


@task(
    lesson=0,
    points=0,
    hints=[
        "Name the axes of both inputs with letters, then of the result. Which letter is missing "
        "in the result?",
        "The weights are `(L, S)`, the values `(S, D)`, the result `(L, D)`: S is summed away.",
        'In einsum, each input is written with its letters and the result after the arrow: "..,..->..".',
    ],
)
def mixture(weights, values):
    return torch.einsum("ls,sd->ld", weights, values)


@mixture.cases
def _(rng):
    yield Case(
        "two mixtures of three values",
        (
            torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.25, 0.25]]),
            torch.tensor([[4.0, 0.0], [0.0, 8.0], [2.0, 4.0]]),
        ),
    )
    for L, S, D in ((5, 7, 6), (4, 4, 4), (1, 3, 5), (3, 1, 2)):
        weights = torch.randn(L, S, generator=rng).softmax(-1)
        yield Case(f"L {L}, S {S}, D {D}", (weights, torch.randn(S, D, generator=rng)))


@mixture.mistake(
    "weights-transposed",
    "Row i of the weights belongs to mixture i. Which axis of the weights has to meet the axis S "
    "of the values?",
)
def _(weights, values):
    return weights.mT @ values


@mixture.mistake(
    "summed-over-everything",
    "Each mixture needs a sum of its own. Which letters are still there after your arrow?",
)
def _(weights, values):
    return torch.einsum("ls,sd->d", weights, values)


@mixture.mistake(
    "weights-ignored",
    "If one weight doubles, does your result change? Where are the weights used?",
)
def _(weights, values):
    return values.mean(dim=0).expand(weights.shape[0], -1)


@mixture.mistake(
    "result-transposed",
    "The result should be (L, D). In which order do your letters stand?",
)
def _(weights, values):
    return torch.einsum("ls,sd->dl", weights, values)
