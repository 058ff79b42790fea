"""The task `mean_attention_distance`: how far a head looks."""

import torch

import attn_lib
from attn_lib.checks.lesson_06.steps import (
    causal_weights,
    given,
    in_another_layout,
    random_weights,
    some_rows_empty,
)
from attn_lib.checks.task import task


@task(
    lesson=6,
    points=2,
    hints=[
        "Write down, for three tokens, how far each query is from each key: a table of three rows. "
        "Which of its numbers are equal?",
        "`torch.arange(L)` holds the positions. Give it two axes in two ways, (L, 1) and (1, L), and "
        "subtract: which sign does the table have, and which should it have?",
        "Multiply the table (L, L) with the weights (B, H, L, L). Add up over the keys; then take the "
        "mean over the queries and over the batch, and leave the heads alone.",
    ],
)
def mean_attention_distance(weights):
    return attn_lib.mean_attention_distance(weights)


@mean_attention_distance.cases
def _(rng):
    yield given("two tokens", torch.tensor([[[[0.25, 0.75], [0.5, 0.5]]]]))
    rows = [[1.0, 0.0, 0.0], [0.5, 0.0, 0.5], [0.25, 0.5, 0.25]]
    yield given("three tokens", torch.tensor([[rows]]))
    rows = [[0.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.5, 0.5, 0.0]]
    yield given("three tokens, a row of zeros", torch.tensor([[rows]]))
    back, ahead = [[1.0, 0.0], [0.75, 0.25]], [[0.5, 0.5], [0.0, 1.0]]
    both, itself = [[0.75, 0.25], [0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]]
    samples = torch.tensor([[back, ahead], [both, itself]])
    yield given("two samples, two heads, two tokens", samples)
    one, zero = torch.eye(5), torch.zeros(5, 5)
    before, after = one.roll(-1, 1), one.roll(1, 1)
    before[0], after[-1] = one[0], one[-1]
    first = zero.clone()
    first[:, 0] = 1.0
    heads = torch.stack([one, before, after, first, first.flip(1)])[None]
    yield given("heads that look at: itself, before, after, first, last", heads)
    yield given("all sizes different", random_weights(rng, 2, 3, 5, 5))
    yield given("causal", causal_weights(rng, 2, 3, 6, 6))
    yield given("B = H = L", random_weights(rng, 4, 4, 4, 4))
    yield given("one head", random_weights(rng, 3, 1, 5, 5))
    yield given("rows of zeros among others", some_rows_empty(rng, 2, 3, 5, 5))
    yield given("thirty-three tokens", random_weights(rng, 1, 1, 33, 33))
    yield given("not contiguous", in_another_layout(random_weights(rng, 2, 3, 5, 5)))
    yield given("float64", random_weights(rng, 2, 3, 5, 5).double())
    yield given("float16", causal_weights(rng, 2, 3, 5, 5).half())
    yield given("bfloat16", random_weights(rng, 2, 3, 5, 5).bfloat16())


def _difference(weights):
    """Query position minus key position, (L, L)."""
    positions = torch.arange(weights.shape[-1]).to(weights.dtype)
    return positions[:, None] - positions


def _rows(weights, distance):
    """The sum (B, H, L) of every row, weighted."""
    return (weights * distance).sum(-1)


_SIGNED = (
    "A query that looks one token back and one that looks one token ahead: does their sum become 0 in "
    "yours? Is a distance ever negative?"
)


@mean_attention_distance.mistake("signed", _SIGNED)
def _(weights):
    return _rows(weights, _difference(weights)).mean((0, 2))


@mean_attention_distance.mistake("signed", _SIGNED)
def _(weights):
    return _rows(weights, -_difference(weights)).mean((0, 2))


@mean_attention_distance.mistake(
    "sign-dropped-too-late",
    "Half of the weight one step back, half of it one step ahead: yours says 0. Which comes first, "
    "the absolute value or the sum over the keys?",
)
def _(weights):
    return _rows(weights, _difference(weights)).abs().mean((0, 2))


@mean_attention_distance.mistake(
    "sign-dropped-too-late",
    "One query looks one step back, another one step ahead: yours says 0. Which comes first, the "
    "absolute value or the mean over the queries?",
)
def _(weights):
    return _rows(weights, _difference(weights)).mean((0, 2)).abs()


@mean_attention_distance.mistake(
    "sign-dropped-too-late",
    "You compare the mean position of the keys with that of the query. Half of the weight one step "
    "back, half of it one step ahead: what is that mean, and what is the distance?",
)
def _(weights):
    positions = torch.arange(weights.shape[-1]).to(weights.dtype)
    mean = (weights * positions).sum(-1)
    return (mean - positions).abs().mean((0, 2))


@mean_attention_distance.mistake(
    "only-what-comes-before",
    "Keys after the query count 0 in yours. How far away is the next token?",
)
def _(weights):
    return _rows(weights, _difference(weights).clamp_min(0)).mean((0, 2))


@mean_attention_distance.mistake(
    "only-what-comes-after",
    "Keys before the query count 0 in yours. How far away is the token before?",
)
def _(weights):
    return _rows(weights, (-_difference(weights)).clamp_min(0)).mean((0, 2))


@mean_attention_distance.mistake(
    "off-by-one", "How far is a token from itself? What does yours say?"
)
def _(weights):
    return _rows(weights, _difference(weights).abs() + 1).mean((0, 2))


@mean_attention_distance.mistake(
    "off-by-one", "How far is a token from the one next to it? What does yours say?"
)
def _(weights):
    return _rows(weights, (_difference(weights).abs() - 1).clamp_min(0)).mean((0, 2))


@mean_attention_distance.mistake(
    "squared",
    "Two tokens away is a distance of 2. Is it 4 in yours, or is a root taken too late?",
)
def _(weights):
    return _rows(weights, _difference(weights).square()).mean((0, 2))


@mean_attention_distance.mistake(
    "squared",
    "All weight at 0 and 2, half each: the mean distance is 1. What is the root of the mean square?",
)
def _(weights):
    return _rows(weights, _difference(weights).square()).sqrt().mean((0, 2))


@mean_attention_distance.mistake(
    "squared",
    "All weight at 0 and 2, half each: the mean distance is 1. What is the root of the mean square?",
)
def _(weights):
    return _rows(weights, _difference(weights).square()).mean((0, 2)).sqrt()


@mean_attention_distance.mistake(
    "only-the-largest-weight",
    "You ask only for the key that each query looks at most. Move the rest of its weight further away: "
    "does your result change?",
)
def _(weights):
    positions = torch.arange(weights.shape[-1])
    return (weights.argmax(-1) - positions).abs().to(weights.dtype).mean((0, 2))


@mean_attention_distance.mistake(
    "the-key-not-the-distance",
    "You return where a head looks, counted from the first token. From where should you count?",
)
def _(weights):
    positions = torch.arange(weights.shape[-1]).to(weights.dtype)
    return _rows(weights, positions).mean((0, 2))


@mean_attention_distance.mistake(
    "not-weighted",
    "Does your result depend on the weights? With which share should a key of weight 0.9 count?",
)
def _(weights):
    return _rows(weights > 0, _difference(weights).abs()).mean((0, 2)).to(weights.dtype)


@mean_attention_distance.mistake(
    "weighted-and-not-added-up",
    "You take the mean over the keys. Their weights add up to 1 already: what is left to divide by?",
)
def _(weights):
    return (weights * _difference(weights).abs()).mean((0, 2, 3))


@mean_attention_distance.mistake(
    "the-largest-distance",
    "You keep the largest product of each row. Which part do the other keys have in a mean distance?",
)
def _(weights):
    return (weights * _difference(weights).abs()).amax(-1).mean((0, 2))


_SUMMED = (
    "Twice as many queries, and twice as many samples: should the distance of a head double? Over "
    "which axes do you add up where a mean is asked for?"
)


@mean_attention_distance.mistake("summed-over-the-queries", _SUMMED)
def _(weights):
    return _rows(weights, _difference(weights).abs()).sum(2).mean(0)


@mean_attention_distance.mistake("summed-over-the-batch", _SUMMED)
def _(weights):
    return _rows(weights, _difference(weights).abs()).mean(2).sum(0)


@mean_attention_distance.mistake("summed-over-everything", _SUMMED)
def _(weights):
    return _rows(weights, _difference(weights).abs()).sum((0, 2))


@mean_attention_distance.mistake(
    "divided-by-the-length",
    "The task asks for tokens, not for a share of the length. What does a head that looks one token "
    "back give in yours?",
)
def _(weights):
    return _rows(weights, _difference(weights).abs()).mean((0, 2)) / (weights.shape[-1] - 1)


@mean_attention_distance.mistake(
    "rows-of-zeros-left-out",
    "A row of zeros has distance 0, and it is counted. By how many rows do you divide?",
)
def _(weights):
    seen = (weights.sum(-1) > 0).sum((0, 2))
    return (_rows(weights, _difference(weights).abs()).sum((0, 2)) / seen).to(weights.dtype)


@mean_attention_distance.mistake(
    "a-row-of-zeros-is-nan",
    "You divide by the sum of the weights. What is that sum in a row of zeros, of a query that may see "
    "nothing?",
)
def _(weights):
    return _rows(weights / weights.sum(-1, keepdim=True), _difference(weights).abs()).mean(
        (0, 2)
    )


@mean_attention_distance.mistake(
    "one-number-for-all-heads",
    "A head that looks at itself and one that looks at the first token: can one number tell them "
    "apart?",
)
def _(weights):
    return _rows(weights, _difference(weights).abs()).mean()


@mean_attention_distance.mistake(
    "the-wrong-axis-kept",
    "One number is left for each sample in yours. Which axis of (B, H, L) should stay?",
)
def _(weights):
    return _rows(weights, _difference(weights).abs()).mean((1, 2))


@mean_attention_distance.mistake(
    "the-wrong-axis-kept",
    "One number is left for each query in yours. Which axis of (B, H, L) should stay?",
)
def _(weights):
    return _rows(weights, _difference(weights).abs()).mean((0, 1))


@mean_attention_distance.mistake(
    "means-missing",
    "(B, H, L) is left in yours. Over which two of these is a mean missing?",
)
def _(weights):
    return _rows(weights, _difference(weights).abs())


@mean_attention_distance.mistake(
    "mean-over-the-batch-missing",
    "(B, H) is left in yours. Over which of these is a mean missing?",
)
def _(weights):
    return _rows(weights, _difference(weights).abs()).mean(2)


@mean_attention_distance.mistake(
    "mean-over-queries-missing",
    "(H, L) is left in yours. Over which of these is a mean missing?",
)
def _(weights):
    return _rows(weights, _difference(weights).abs()).mean(0)


@mean_attention_distance.mistake(
    "positions-of-the-wrong-axis",
    "Print the shape of your positions. Do they count the tokens, or the heads?",
)
def _(weights):
    positions = torch.arange(weights.shape[1]).to(weights.dtype)
    return _rows(weights, (positions[:, None] - positions).abs()).mean((0, 2))


@mean_attention_distance.mistake(
    "positions-on-one-axis",
    "Print your table of distances. It should be (L, L): subtract the positions of the keys, along one "
    "axis, from those of the queries, along another. Which of them needs a `[:, None]`?",
)
def _(weights):
    positions = torch.arange(weights.shape[-1]).to(weights.dtype)
    return _rows(weights, (positions - positions).abs()).mean((0, 2))


@mean_attention_distance.mistake(
    "samples-for-heads",
    "`reshape` moves no number: in memory, sample 0 with all its heads comes first. Which axis must be "
    "in front before you join the others?",
)
def _(weights):
    rows = _rows(weights, _difference(weights).abs())
    return rows.reshape(weights.shape[1], -1).mean(-1)


@mean_attention_distance.mistake(
    "around-the-end",
    "How far is the first token from the last one? In yours the sentence closes to a ring.",
)
def _(weights):
    distance = _difference(weights).abs()
    distance = torch.minimum(distance, weights.shape[-1] - distance)
    return _rows(weights, distance).mean((0, 2))


@mean_attention_distance.mistake(
    "only-the-last-query", "Change the weights of the first query. Does your result change?"
)
def _(weights):
    return _rows(weights, _difference(weights).abs())[:, :, -1].mean(0)


@mean_attention_distance.mistake(
    "only-the-first-sample", "Change the second sample. Does your result change?"
)
def _(weights):
    return _rows(weights, _difference(weights).abs())[0].mean(-1)


@mean_attention_distance.mistake(
    "axis-left-over",
    "A mean with `keepdim` leaves axes of size 1 behind. Which shape should the result have?",
)
def _(weights):
    return _rows(weights, _difference(weights).abs()).mean((0, 2), keepdim=True)


_DTYPE = "Give it float16: which dtype do your distances have, and which one comes out?"


@mean_attention_distance.mistake("dtype-changed", _DTYPE)
def _(weights):
    return _rows(weights, _difference(weights).abs().float()).mean((0, 2))


@mean_attention_distance.mistake("dtype-changed", _DTYPE)
def _(weights):
    return _rows(weights.float(), _difference(weights).abs().float()).mean((0, 2))


@mean_attention_distance.mistake(
    "dtype-changed",
    "You compute in float64, which is fine. But which dtype should the result have?",
)
def _(weights):
    return _rows(weights.double(), _difference(weights).abs().double()).mean((0, 2))
