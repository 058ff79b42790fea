"""The task `attention_entropy`: how widely a head looks."""

import math

import torch
from torch.distributions import Categorical

import attn_lib
from attn_lib.checks.lesson_06.steps import (
    causal_weights,
    given,
    in_another_layout,
    in_steps,
    random_weights,
    some_rows_empty,
)
from attn_lib.checks.task import task


@task(
    lesson=6,
    points=2,
    hints=[
        "Begin with one row of weights, [0.5, 0.5, 0]. What should its entropy be, and what does your "
        "formula say to its last number?",
        "Three axes must go, and the heads stay. Over which of the three do you add up, and over which "
        "two do you take the mean?",
        "0 · log 0 is nan to a computer: 0 times -inf. Replace the zeros before the logarithm by a "
        "number whose logarithm does no harm. `masked_fill` and `torch.where` can do that. A tiny "
        "number that you add instead has to survive float16.",
    ],
)
def attention_entropy(weights):
    return attn_lib.attention_entropy(weights)


@attention_entropy.cases
def _(rng):
    def rows(about, *heads):
        return given(about, torch.tensor([heads]))

    yield rows("one query, three keys", [[0.5, 0.25, 0.25]])
    yield rows("two queries, two keys", [[0.75, 0.25], [0.5, 0.5]])
    yield rows(
        "the first query does not see the last key", [[0.5, 0.5, 0], [0.25, 0.5, 0.25]]
    )
    sharp, even = [[0.0, 1.0, 0.0, 0.0]], [[0.25] * 4]
    yield rows("a head that looks at one key, and one that looks at all", sharp, even)
    samples = [[[[0.5, 0.5]], [[0.75, 0.25]]], [[[1.0, 0.0]], [[0.25, 0.75]]]]
    yield given("two samples, two heads", torch.tensor(samples))
    yield rows("a row of zeros", [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.25, 0.25]])
    yield given("all sizes different", random_weights(rng, 2, 3, 5, 7))
    yield given("causal", causal_weights(rng, 2, 3, 6, 6))
    yield given("B = H = L = S", random_weights(rng, 4, 4, 4, 4))
    yield given("one head", random_weights(rng, 3, 1, 4, 5))
    yield given("rows of zeros among others", some_rows_empty(rng, 2, 3, 5, 7))
    hidden = torch.zeros(2, 3, 5, 2)
    seen = random_weights(rng, 2, 3, 5, 4)
    yield given("keys at both ends that nobody sees", torch.cat([hidden, seen, hidden], -1))
    wide, narrow = (random_weights(rng, 1, 1, 3, 100, spread=s) for s in (2.0, 40.0))
    yield given("a hundred keys", torch.cat([wide, narrow], dim=1))
    yield given("not contiguous", in_another_layout(random_weights(rng, 3, 2, 7, 4)))
    yield given("float64", causal_weights(rng, 2, 3, 5, 5).double())
    seen = in_steps(causal_weights(rng, 2, 3, 5, 5, spread=1.0))
    yield given("float16", seen.half())
    even = in_steps(random_weights(rng, 2, 3, 9, 3, spread=0.25))
    yield given("bfloat16", even.bfloat16())


def _logs(weights):
    """Logarithms, with 0 for that of 0."""
    return weights.masked_fill(weights == 0, 1.0).log()


def _rows(weights):
    """The entropy (B, H, L) of every row."""
    return -(weights * _logs(weights)).sum(-1)


_NAN = (
    "What is log 0 to a computer, and what is 0 times that? Which number could stand in for the zero "
    "before the logarithm?"
)


@attention_entropy.mistake("nan-for-a-weight-of-zero", _NAN)
def _(weights):
    return -(weights * weights.log()).sum(-1).mean((0, 2))


@attention_entropy.mistake(
    "rows-with-a-zero-lost",
    "A row with a single zero in it is nan in yours, and then it is gone, though its other weights "
    "have an entropy. Where must the nan be stopped: in the row's sum, or before it?",
)
def _(weights):
    return -(weights * weights.log()).sum(-1).nan_to_num(0.0).mean((0, 2))


@attention_entropy.mistake(
    "rows-with-a-zero-left-out",
    "`nanmean` drops every row that has a single zero in it, though its other weights have an "
    "entropy. Where must the nan be stopped: in the row's sum, or before it?",
)
def _(weights):
    return -(weights * weights.log()).sum(-1).nanmean((0, 2))


@attention_entropy.mistake(
    "heads-with-a-zero-lost",
    "A head with a single zero in it is nan in yours, and then it is 0. Where must the nan be stopped: "
    "at the end, or before the sum over the keys?",
)
def _(weights):
    return -(weights * weights.log()).sum(-1).mean((0, 2)).nan_to_num(0.0)


_LOST = (
    "Your tiny number keeps the logarithm finite in float32. What is the smallest number above 0 that "
    "float16 can hold, and what becomes of yours there?"
)


@attention_entropy.mistake("epsilon-lost-in-float16", _LOST)
def _(weights):
    return -(weights * (weights + 1e-9).log()).sum(-1).mean((0, 2))


@attention_entropy.mistake("epsilon-lost-in-float16", _LOST)
def _(weights):
    return -(weights * weights.clamp_min(1e-9).log()).sum(-1).mean((0, 2))


@attention_entropy.mistake(
    "epsilon-too-large",
    "Your tiny number moves the logarithm of every weight, not only that of 0. What is the entropy "
    "of a single key of weight 1 in yours?",
)
def _(weights):
    return -(weights * (weights + 1e-3).log()).sum(-1).mean((0, 2))


_TOO_LARGE = (
    "Your tiny number moves the logarithm of each small weight. With a hundred keys, most weights are "
    "small: how much does it change the sum? A much smaller one does not."
)


@attention_entropy.mistake("epsilon-too-large", _TOO_LARGE)
def _(weights):
    return -(weights * (weights + 1e-4).log()).sum(-1).mean((0, 2))


@attention_entropy.mistake("epsilon-too-large", _TOO_LARGE)
def _(weights):
    return -(weights * (weights + 1e-5).log()).sum(-1).mean((0, 2))


@attention_entropy.mistake(
    "epsilon-too-large",
    "A weight of 0 becomes a small one in yours, and adds to the entropy. How much may a key add that "
    "nobody looks at?",
)
def _(weights):
    shifted = weights + 1e-3
    return -(shifted * shifted.log()).sum(-1).mean((0, 2))


@attention_entropy.mistake(
    "sign-missing",
    "The logarithm of a weight below 1 is negative. Should an entropy be negative?",
)
def _(weights):
    return (weights * _logs(weights)).sum(-1).mean((0, 2))


@attention_entropy.mistake(
    "in-bits",
    "What is the entropy of two equal weights in yours: 1 or 0.693? To which base is your logarithm, "
    "and which base do nats have?",
)
def _(weights):
    return _rows(weights).mean((0, 2)) / math.log(2)


@attention_entropy.mistake(
    "to-base-ten", "To which base is your logarithm, and which base do nats have?"
)
def _(weights):
    return _rows(weights).mean((0, 2)) / math.log(10)


@attention_entropy.mistake(
    "divided-by-its-maximum",
    "The entropy of S equal weights is ln S. Is it 1 in yours? The task asks for nats, not for a "
    "share of the maximum.",
)
def _(weights):
    return _rows(weights).mean((0, 2)) / math.log(weights.shape[-1])


@attention_entropy.mistake(
    "perplexity",
    "You return the number of keys that a head looks at, in effect. What is the entropy itself, before "
    "your `exp`?",
)
def _(weights):
    return _rows(weights).mean((0, 2)).exp()


@attention_entropy.mistake(
    "perplexity",
    "You return the number of keys that a row looks at, in effect. What is the entropy itself, before "
    "your `exp`?",
)
def _(weights):
    return _rows(weights).exp().mean((0, 2))


_MEAN_FIRST = (
    "Two queries, each sure of another key: what is the entropy of each, and what is the entropy of "
    "their mean? Which comes first, the entropy or the mean?"
)


@attention_entropy.mistake("entropy-of-the-mean", _MEAN_FIRST)
def _(weights):
    return _rows(weights.mean((0, 2)))


@attention_entropy.mistake("entropy-of-the-mean", _MEAN_FIRST)
def _(weights):
    return _rows(weights.mean(2)).mean(0)


@attention_entropy.mistake(
    "entropy-of-the-mean",
    "Two samples, each sure of another key: what is the entropy of each, and what is the entropy of "
    "their mean? Which comes first, the entropy or the mean?",
)
def _(weights):
    return _rows(weights.mean(0)).mean(-1)


@attention_entropy.mistake(
    "over-the-queries",
    "Which axis of the weights adds up to 1, that of the queries or that of the keys? An entropy is a "
    "sum over that axis.",
)
def _(weights):
    return -(weights * _logs(weights)).sum(-2).mean((0, 2))


@attention_entropy.mistake(
    "over-the-heads",
    "Which axis of the weights adds up to 1, that of the heads or that of the keys? An entropy is a "
    "sum over that axis.",
)
def _(weights):
    return -(weights * _logs(weights)).sum(1).mean((0, 1))


@attention_entropy.mistake(
    "mean-over-keys",
    "The entropy of a row is a sum over its keys. Do you add up there, or take the mean?",
)
def _(weights):
    return -(weights * _logs(weights)).mean((0, 2, 3))


_SUMMED = (
    "Twice as many queries, and twice as many samples: should the entropy of a head double? Over "
    "which axes do you add up where a mean is asked for?"
)


@attention_entropy.mistake("summed-over-the-queries", _SUMMED)
def _(weights):
    return _rows(weights).sum(2).mean(0)


@attention_entropy.mistake("summed-over-the-batch", _SUMMED)
def _(weights):
    return _rows(weights).mean(2).sum(0)


@attention_entropy.mistake("summed-over-everything", _SUMMED)
def _(weights):
    return _rows(weights).sum((0, 2))


_HEADS = "A head that looks at one key and one that looks at all: can one number tell them apart?"


@attention_entropy.mistake("one-number-for-all-heads", _HEADS)
def _(weights):
    return _rows(weights).mean()


@attention_entropy.mistake(
    "the-wrong-axis-kept",
    "One number is left for each sample in yours. Which axis of (B, H, L) should stay?",
)
def _(weights):
    return _rows(weights).mean((1, 2))


@attention_entropy.mistake(
    "the-wrong-axis-kept",
    "One number is left for each query in yours. Which axis of (B, H, L) should stay?",
)
def _(weights):
    return _rows(weights).mean((0, 1))


@attention_entropy.mistake(
    "means-missing",
    "(B, H, L) is left in yours. Over which two of these is a mean missing?",
)
def _(weights):
    return _rows(weights)


@attention_entropy.mistake(
    "mean-over-the-batch-missing",
    "(B, H) is left in yours. Over which of these is a mean missing?",
)
def _(weights):
    return _rows(weights).mean(2)


@attention_entropy.mistake(
    "mean-over-queries-missing",
    "(H, L) is left in yours. Over which of these is a mean missing?",
)
def _(weights):
    return _rows(weights).mean(0)


@attention_entropy.mistake(
    "samples-for-heads",
    "`reshape` moves no number: in memory, sample 0 with all its heads comes first. Which axis must be "
    "in front before you join the others?",
)
def _(weights):
    return _rows(weights).reshape(weights.shape[1], -1).mean(-1)


@attention_entropy.mistake(
    "rows-of-zeros-left-out",
    "A row of zeros has entropy 0, and it is counted. By how many rows do you divide?",
)
def _(weights):
    seen = (weights.sum(-1) > 0).sum((0, 2))
    return (_rows(weights).sum((0, 2)) / seen).to(weights.dtype)


@attention_entropy.mistake(
    "softmax-once-more",
    "The weights come out of a softmax already. Is there another one in what you call?",
)
def _(weights):
    return _rows(weights.softmax(-1)).mean((0, 2))


@attention_entropy.mistake(
    "a-row-of-zeros-is-no-distribution",
    "`Categorical` wants rows that add up to 1. What does it do with a row of zeros, of a query that "
    "may see nothing? Can you write the sum yourself?",
)
def _(weights):
    return Categorical(probs=weights).entropy().mean((0, 2))


@attention_entropy.mistake(
    "a-row-of-zeros-is-no-distribution",
    "You make each row add up to 1. What does that do to a row of zeros, of a query that may see "
    "nothing?",
)
def _(weights):
    return _rows(weights / weights.sum(-1, keepdim=True)).mean((0, 2))


@attention_entropy.mistake(
    "surprise-not-weighted",
    "You take the mean of -log w, as if every key counted the same. With which share should a key of "
    "weight w count?",
)
def _(weights):
    return -_logs(weights).mean((0, 2, 3))


@attention_entropy.mistake(
    "surprise-not-weighted",
    "You add up -log w, as if every key counted the same. With which share should a key of weight w "
    "count?",
)
def _(weights):
    return -_logs(weights).sum(-1).mean((0, 2))


@attention_entropy.mistake(
    "logarithm-of-one-plus-w",
    "`log1p` is the logarithm of 1 + w. What is it for w = 1, and what should the entropy of a single "
    "key be?",
)
def _(weights):
    return -(weights * weights.log1p()).sum(-1).mean((0, 2))


@attention_entropy.mistake(
    "not-an-entropy",
    "1 minus the sum of squares grows and shrinks like an entropy, but is none. Where is the "
    "logarithm?",
)
def _(weights):
    return (1 - weights.square().sum(-1)).mean((0, 2))


@attention_entropy.mistake(
    "not-an-entropy",
    "You look at the largest weight only. Which part do the other weights have in an entropy?",
)
def _(weights):
    return -_logs(weights.amax(-1)).mean((0, 2))


@attention_entropy.mistake(
    "only-the-first-sample", "Change the second sample. Does your result change?"
)
def _(weights):
    return _rows(weights)[0].mean(-1)


@attention_entropy.mistake(
    "only-the-last-query",
    "Change the weights of the first query. Does your result change?",
)
def _(weights):
    return _rows(weights)[:, :, -1].mean(0)


@attention_entropy.mistake(
    "axis-left-over",
    "A mean with `keepdim` leaves axes of size 1 behind. Which shape should the result have?",
)
def _(weights):
    return _rows(weights).mean((0, 2), keepdim=True)


@attention_entropy.mistake(
    "dtype-changed",
    "Give it float16, then float64: which dtype comes out? Which one should?",
)
def _(weights):
    return _rows(weights.float()).mean((0, 2))


@attention_entropy.mistake(
    "dtype-changed",
    "You compute in float64, which is fine. But which dtype should the result have?",
)
def _(weights):
    return _rows(weights.double()).mean((0, 2))
