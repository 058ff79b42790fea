"""The task `induction_score`: does a head look at what followed the same token last time?"""

import torch

import attn_lib
from attn_lib.checks.lesson_06.steps import (
    causal_weights,
    given,
    in_another_layout,
    random_weights,
)
from attn_lib.checks.task import task


@task(
    lesson=6,
    points=3,
    hints=[
        "Write down A B C A B and number the tokens from 0. B at 4 stood at 1 before. What followed it "
        "there, and how many steps back is that? Do it for A at 3 as well.",
        "All these pairs of query and key are the same number of steps apart. What do they make in the "
        "square of weights, and which is the first row that has one?",
        "`weights.diagonal(offset, dim1, dim2)` takes one diagonal out, and puts it last: name the "
        "axes L and L. Below the main diagonal the offset is negative. Then (B, H, n) is left: over "
        "which two do you take the mean?",
    ],
)
def induction_score(weights, period):
    return attn_lib.induction_score(weights, period)


@induction_score.cases
def _(rng):
    rows = [[1.0, 0, 0], [0.25, 0.75, 0], [0.25, 0.5, 0.25]]
    yield given("A B A, period 2", torch.tensor([[rows]]), 2)
    rows = [
        [1.0, 0, 0, 0, 0],
        [0.5, 0.5, 0, 0, 0],
        [0.25, 0.5, 0.25, 0, 0],
        [0, 0.75, 0, 0.25, 0],
        [0.125, 0.125, 0.5, 0.125, 0.125],
    ]
    yield given("A B C A B, period 3", torch.tensor([[rows]]), 3)
    heads = [
        [[1.0, 0, 0], [0.75, 0.25, 0], [0, 0.5, 0.5]],
        [[1.0, 0, 0], [0, 1, 0], [0, 1, 0]],
    ]
    more = [
        [[1.0, 0, 0], [0.5, 0.5, 0], [0.25, 0, 0.75]],
        [[1.0, 0, 0], [1, 0, 0], [0, 1, 0]],
    ]
    yield given("A B A, period 2, two samples, two heads", torch.tensor([heads, more]), 2)
    L = 9
    steps = [torch.eye(L).roll(-step, 1).tril() for step in (2, 3, 4, 1, 0)]
    yield given("heads that look 2, 3, 4, 1, 0 back, period 3", torch.stack(steps)[None], 3)
    yield given("two copies, causal", causal_weights(rng, 2, 3, 8, 8), 4)
    yield given("three copies", causal_weights(rng, 2, 3, 9, 9), 3)
    yield given("the third copy is cut off", random_weights(rng, 2, 3, 8, 8), 3)
    yield given("B = H = L", random_weights(rng, 4, 4, 4, 4), 2)
    yield given("one head", random_weights(rng, 3, 1, 6, 6), 3)
    yield given("the period is the whole length", random_weights(rng, 2, 3, 4, 4), 4)
    yield given("period 1", random_weights(rng, 2, 3, 4, 4), 1)
    yield given("thirty-three tokens", causal_weights(rng, 1, 1, 33, 33), 16)
    layout = in_another_layout(random_weights(rng, 2, 3, 6, 6))
    yield given("not contiguous", layout, 3)
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        weights = random_weights(rng, 2, 3, 6, 6).to(dtype)
        yield given(f"{dtype}".removeprefix("torch."), weights, 3)


def _stripe(weights, offset):
    """The weights w[i, i + offset] of all i that have one, (B, H, n); nan if none has."""
    return weights.diagonal(offset, dim1=-2, dim2=-1)


def _mean(stripe):
    """The mean (H,) over batch and queries."""
    return stripe.mean((0, 2))


@induction_score.mistake(
    "the-same-token",
    "You look at the earlier copy of the token itself. Where is the token that came after it?",
)
def _(weights, period):
    return _mean(_stripe(weights, -period))


@induction_score.mistake(
    "the-token-before-the-copy",
    "You look one place before the earlier copy. Is what you want before it or after it?",
)
def _(weights, period):
    return _mean(_stripe(weights, -period - 1))


@induction_score.mistake(
    "one-further",
    "You look two places after the earlier copy. Where is the token that came right after it?",
)
def _(weights, period):
    return _mean(_stripe(weights, 2 - period))


@induction_score.mistake(
    "keys-ahead",
    "Does the sign of your offset lead below the main diagonal, where the earlier keys are, or above "
    "it?",
)
def _(weights, period):
    return _mean(_stripe(weights, period - 1))


@induction_score.mistake(
    "keys-ahead",
    "Which keys come before query i, those below the main diagonal or those above it? And what came "
    "after the earlier copy: is that at i - period, or one further?",
)
def _(weights, period):
    return _mean(_stripe(weights, period))


@induction_score.mistake(
    "keys-ahead",
    "Which keys come before query i, those below the main diagonal or those above it?",
)
def _(weights, period):
    return _mean(_stripe(weights, period + 1))


@induction_score.mistake(
    "the-token-before",
    "You score a head that looks one token back. Where do you use the period?",
)
def _(weights, period):
    return _mean(_stripe(weights, -1))


@induction_score.mistake(
    "the-query-itself",
    "You score a head that looks at itself. Where do you use the period?",
)
def _(weights, period):
    return _mean(_stripe(weights, 0))


@induction_score.mistake(
    "first-query-left-out",
    "The first query that has such a key is i = period - 1: its key is 0. Does your range begin "
    "there? The task counts it.",
)
def _(weights, period):
    return _mean(_stripe(weights, 1 - period)[..., 1:])


@induction_score.mistake(
    "last-query-left-out",
    "Which is the last query, L - 1 or L - 2? Where does your range end?",
)
def _(weights, period):
    return _mean(_stripe(weights, 1 - period)[..., :-1])


@induction_score.mistake(
    "second-copy-only",
    "The sequence may have three copies or more. Where does your range end?",
)
def _(weights, period):
    return _mean(_stripe(weights, 1 - period)[..., : period + 1])


@induction_score.mistake(
    "second-copy-only",
    "The sequence may have three copies or more, and the first query that has such a key is "
    "i = period - 1. Where does your range begin, and where does it end?",
)
def _(weights, period):
    return _mean(_stripe(weights, 1 - period)[..., 1 : period + 1])


@induction_score.mistake(
    "around-the-end",
    "For the first queries, i - period + 1 is negative. What does an index of -1 mean to PyTorch? "
    "Which queries have such a key?",
)
def _(weights, period):
    queries = torch.arange(weights.shape[-1])
    return _mean(weights[:, :, queries, queries - period + 1])


@induction_score.mistake(
    "slice-to-minus-zero",
    "With period 1, your slice ends at -0. Where does `[:0]` end? Count from the front instead.",
)
def _(weights, period):
    return _mean(_stripe(weights[:, :, period - 1 :, : 1 - period], 0))


@induction_score.mistake(
    "cut-off-copy-left-out",
    "The last copy may be cut off, and its queries count too. At which query does yours stop?",
)
def _(weights, period):
    L = weights.shape[-1] // period * period
    return _mean(_stripe(weights[:, :, :L, :L], 1 - period))


@induction_score.mistake(
    "divided-by-the-length",
    "By how many do you divide: by all queries, or by those that have such a key?",
)
def _(weights, period):
    return _stripe(weights, 1 - period).sum(-1).mean(0) / weights.shape[-1]


@induction_score.mistake(
    "divided-by-the-wrong-number",
    "How many numbers has the diagonal, L - period or L - period + 1? By how many do you divide?",
)
def _(weights, period):
    return _stripe(weights, 1 - period).sum(-1).mean(0) / (weights.shape[-1] - period)


@induction_score.mistake(
    "divided-by-the-wrong-number",
    "How many numbers has the diagonal, `period` or L - period + 1? By how many do you divide?",
)
def _(weights, period):
    return _stripe(weights, 1 - period).sum(-1).mean(0) / period


_SUMMED = (
    "Twice as many queries, and twice as many samples: should the score of a head double? Over which "
    "axes do you add up where a mean is asked for?"
)


@induction_score.mistake("summed-over-the-queries", _SUMMED)
def _(weights, period):
    return _stripe(weights, 1 - period).sum(2).mean(0)


@induction_score.mistake("summed-over-the-batch", _SUMMED)
def _(weights, period):
    return _stripe(weights, 1 - period).mean(2).sum(0)


@induction_score.mistake("summed-over-everything", _SUMMED)
def _(weights, period):
    return _stripe(weights, 1 - period).sum((0, 2))


@induction_score.mistake(
    "largest-weight",
    "You keep the largest weight on the diagonal. A head that hits once and misses ten times: which "
    "score should it have?",
)
def _(weights, period):
    return _stripe(weights, 1 - period).amax(2).mean(0)


@induction_score.mistake(
    "hits-counted",
    "You count how often the largest weight of a query lies there. The task takes the mean of the "
    "weights themselves.",
)
def _(weights, period):
    queries = torch.arange(period - 1, weights.shape[-1])
    hits = weights[:, :, period - 1 :].argmax(-1) == queries - period + 1
    return hits.to(weights.dtype).mean((0, 2))


@induction_score.mistake(
    "all-earlier-copies",
    "You add up what followed all earlier copies. The task asks for the last one only.",
)
def _(weights, period):
    total = _stripe(weights, 1 - period).sum(2)
    for offset in range(1 - 2 * period, -weights.shape[-1], -period):
        total = total + _stripe(weights, offset).sum(2)
    return (total / (weights.shape[-1] - period + 1)).mean(0)


@induction_score.mistake(
    "axes-of-the-diagonal",
    "Which two axes does `diagonal` take if you do not name them? Which two hold queries and keys?",
)
def _(weights, period):
    return weights.diagonal(1 - period).mean((0, 1))


@induction_score.mistake(
    "axes-of-the-diagonal",
    "Which two axes does `diagonal` take if you do not name them? Which two hold queries and keys?",
)
def _(weights, period):
    return weights.diagonal(1 - period).mean((0, 2))


@induction_score.mistake(
    "axes-of-the-diagonal",
    "Which two axes does `diagonal` take if you do not name them? Which two hold queries and keys?",
)
def _(weights, period):
    return weights.diagonal(offset=1 - period).mean(-1)


@induction_score.mistake(
    "one-number-for-all-heads",
    "One head copies, the others do not: can one number tell them apart?",
)
def _(weights, period):
    return _stripe(weights, 1 - period).mean()


@induction_score.mistake(
    "the-wrong-axis-kept",
    "One number is left for each sample in yours. Which axis of (B, H, n) should stay?",
)
def _(weights, period):
    return _stripe(weights, 1 - period).mean((1, 2))


@induction_score.mistake(
    "the-wrong-axis-kept",
    "One number is left for each query in yours. Which axis of (B, H, n) should stay?",
)
def _(weights, period):
    return _stripe(weights, 1 - period).mean((0, 1))


@induction_score.mistake(
    "means-missing",
    "(B, H, n) is left in yours. Over which two of these is a mean missing?",
)
def _(weights, period):
    return _stripe(weights, 1 - period)


@induction_score.mistake(
    "mean-over-the-batch-missing",
    "(B, H) is left in yours. Over which of these is a mean missing?",
)
def _(weights, period):
    return _stripe(weights, 1 - period).mean(2)


@induction_score.mistake(
    "mean-over-queries-missing",
    "(H, n) is left in yours. Over which of these is a mean missing?",
)
def _(weights, period):
    return _stripe(weights, 1 - period).mean(0)


@induction_score.mistake(
    "samples-for-heads",
    "`reshape` moves no number: in memory, sample 0 with all its heads comes first. Which axis must be "
    "in front before you join the others?",
)
def _(weights, period):
    return _stripe(weights, 1 - period).reshape(weights.shape[1], -1).mean(-1)


@induction_score.mistake(
    "whole-triangle",
    "`tril` keeps everything below a diagonal. Which function keeps the diagonal alone?",
)
def _(weights, period):
    queries = weights.shape[-1] - period + 1
    return weights.tril(1 - period).sum(-1).sum(2).mean(0) / queries


@induction_score.mistake(
    "zeros-in-the-mean",
    "You take the mean over a whole square that is 0 beside the diagonal. How many numbers should be "
    "in the mean?",
)
def _(weights, period):
    return weights.tril(1 - period).triu(1 - period).mean((0, 2, 3))


@induction_score.mistake(
    "only-the-last-query", "Change the weights of query `period`. Does your result change?"
)
def _(weights, period):
    return _stripe(weights, 1 - period)[..., -1].mean(0)


@induction_score.mistake(
    "only-the-first-sample", "Change the second sample. Does your result change?"
)
def _(weights, period):
    return _stripe(weights, 1 - period)[0].mean(-1)


@induction_score.mistake(
    "axis-left-over",
    "A mean with `keepdim` leaves axes of size 1 behind. Which shape should the result have?",
)
def _(weights, period):
    return _stripe(weights, 1 - period).mean((0, 2), keepdim=True)


@induction_score.mistake(
    "dtype-changed",
    "Give it float16, then float64: which dtype comes out? Which one should?",
)
def _(weights, period):
    return _mean(_stripe(weights, 1 - period).float())


@induction_score.mistake(
    "dtype-changed",
    "You compute in float64, which is fine. But which dtype should the result have?",
)
def _(weights, period):
    return _mean(_stripe(weights, 1 - period).double())


@induction_score.mistake(
    "a-list-of-numbers",
    "You return a list of Python numbers. What makes one tensor of them, in the dtype of the weights?",
)
def _(weights, period):
    return _mean(_stripe(weights, 1 - period)).tolist()
