"""The practice task `mixture`, with which a learner meets `check` for the first time."""

import torch

from attn_lib.checks.authoring import Case, task


@task(
    lesson=0,
    points=0,
    insight="A weighted sum is all that attention ever hands on. The rest of the course is about who chooses the weights.",
    hints=[
        "Name the axes of both inputs with letters, then of the result. Which letters has the result, "
        "and in which order? Which one is missing there?",
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
    weights = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.25, 0.25]])
    values = torch.tensor([[4.0, 0.0], [0.0, 8.0], [2.0, 4.0]])
    yield Case("two mixtures of three values", (weights, values))
    for L, S, D in ((5, 7, 6), (4, 4, 4), (1, 3, 5), (6, 1, 8)):
        weights = torch.randn(L, S, generator=rng).softmax(-1)
        yield Case(f"L {L}, S {S}, D {D}", (weights, torch.randn(S, D, generator=rng)))


mixture.rows("""
Row i of the weights belongs to mixture i. Which axis of the weights has to meet the axis S of the
values?
    weights-transposed  letters = 'sl,sd->ld'
    weights-transposed  mixed = weights.mT @ values
Each mixture needs a sum of its own. Which axis of the result is lost in yours?
    summed-over-everything  letters = 'ls,sd->d'
The result should be (L, D). Which axis is still there, and what should become of it?
    nothing-summed  letters = 'ls,sd->lsd'
Weights and values share one axis. Does each weight meet its own value in your code, or every value?
    axis-not-shared  letters = 'ls,td->ld'
If one weight doubles, does your result change? Where are the weights used?
    weights-ignored  mixed = values.mean(dim=0).expand(weights.shape[0], -1)
The result should be (L, D). In which order do your axes stand?
    result-transposed  letters = 'ls,sd->dl'
`*` multiplies numbers that stand in the same place. What else should happen to the products?
    multiplied-elementwise  mixed = weights * values
Which axis do weights and values share? In which order must the two stand, so that it meets itself?
    factors-swapped  mixed = values @ weights || weights.mT @ values.mT
    factors-swapped  mixed = torch.einsum(letters, values, weights)
Does each step of your loop add to the result, or take the place of what was there?
    only-the-last-value  mixed = weights[:, -1:] * values[-1]
Each row of the weights makes a mixture. How many do you use?
    only-one-mixture  mixed = weights[0] @ values
Is your result a mixture of all values, or a copy of one?
    only-the-largest-weight  mixed = values[weights.argmax(-1)]
Which axis do weights and values share? Yours still has it. Which one is summed away in its place?
    another-axis-summed  letters = 'ls,sd->ls' || 'ls,sd->sd'
A mixture is a vector, as each value is. Which axis of the result is lost in yours?
    features-summed-too  letters = 'ls,sd->l'
Each row of the weights adds up to 1 already. What do you do to the weights before they are used?
    softmax-once-more  mixed = torch.einsum(letters, weights.softmax(-1), values)
Each row of the weights adds up to 1: its sum of values is a mean already. By what do you divide it?
    divided-by-the-count  mixed = torch.einsum(letters, weights, values) / weights.shape[1]
""")

mixture.drills(
    "nothing-summed, summed-over-everything, result-transposed, softmax-once-more, divided-by-the-count, "
    "factors-swapped 2, another-axis-summed 1, weights-transposed, axis-not-shared"
)
