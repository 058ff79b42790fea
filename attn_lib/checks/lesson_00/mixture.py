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
    letters = "ls,sd->ld"
    mixed = torch.einsum(letters, weights, values)
    return mixed


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


# ------------------------------------------------------------------------------- mistakes

wrong = mixture.wrong
wrong(
    "weights-transposed",
    "Row i of the weights belongs to mixture i. Which axis of the weights has to meet the axis S "
    "of the values?",
    dict(letters="'sl,sd->ld'"),
    dict(mixed="weights.mT @ values"),
)
wrong(
    "summed-over-everything",
    "Each mixture needs a sum of its own. Which axis of the result is lost in yours?",
    dict(letters="'ls,sd->d'"),
)
wrong(
    "nothing-summed",
    "The result should be (L, D). Which axis is still there, and what should become of it?",
    dict(letters="'ls,sd->lsd'"),
)
wrong(
    "axis-not-shared",
    "Weights and values share one axis. Does each weight meet its own value in your code, or every "
    "value?",
    dict(letters="'ls,td->ld'"),
)
wrong(
    "weights-ignored",
    "If one weight doubles, does your result change? Where are the weights used?",
    dict(mixed="values.mean(dim=0).expand(weights.shape[0], -1)"),
)
wrong(
    "result-transposed",
    "The result should be (L, D). In which order do your axes stand?",
    dict(letters="'ls,sd->dl'"),
)
wrong(
    "multiplied-elementwise",
    "`*` multiplies numbers that stand in the same place. What else should happen to the products?",
    dict(mixed="weights * values"),
)
wrong(
    "only-the-largest-weight",
    "Is your result a mixture of all values, or a copy of one?",
    dict(mixed="values[weights.argmax(-1)]"),
)
