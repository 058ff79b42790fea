"""The task `attention_entropy`: how widely a head looks."""

import torch

import attn_lib
from attn_lib.checks.lesson_06.steps import (
    case,
    causal_weights,
    in_another_layout,
    in_steps,
    random_weights,
    some_rows_empty,
)
from attn_lib.checks.task import task


@task(
    lesson=6,
    points=2,
    library=attn_lib.attention_entropy,
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
    given = weights
    seen = given.masked_fill(given == 0, 1.0)
    logs = seen.log()
    surprise = -logs
    terms = given * surprise
    per_query = terms.sum(-1)  # (B, H, L)
    per_head = per_query.mean((0, 2))
    return per_head


@attention_entropy.cases
def _(rng):
    def rows(about, *heads):
        return case(about, torch.tensor([heads]))

    yield rows("one query, three keys", [[0.5, 0.25, 0.25]])
    yield rows("two queries, two keys", [[0.75, 0.25], [0.5, 0.5]])
    yield rows(
        "the first query does not see the last key", [[0.5, 0.5, 0], [0.25, 0.5, 0.25]]
    )
    sharp, even = [[0.0, 1.0, 0.0, 0.0]], [[0.25] * 4]
    yield rows("a head that looks at one key, and one that looks at all", sharp, even)
    samples = [[[[0.5, 0.5]], [[0.75, 0.25]]], [[[1.0, 0.0]], [[0.25, 0.75]]]]
    yield case("two samples, two heads", torch.tensor(samples))
    yield rows("a row of zeros", [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.25, 0.25]])
    yield case("all sizes different", random_weights(rng, 2, 3, 5, 7))
    yield case("causal", causal_weights(rng, 2, 3, 6, 6))
    yield case("B = H = L = S", random_weights(rng, 4, 4, 4, 4))
    yield case("one head", random_weights(rng, 3, 1, 4, 5))
    yield case("rows of zeros among others", some_rows_empty(rng, 2, 3, 5, 7))
    hidden = torch.zeros(2, 3, 5, 2)
    seen = random_weights(rng, 2, 3, 5, 4)
    yield case("keys at both ends that nobody sees", torch.cat([hidden, seen, hidden], -1))
    wide, narrow = (random_weights(rng, 1, 1, 3, 100, spread=s) for s in (2.0, 40.0))
    yield case("a hundred keys", torch.cat([wide, narrow], dim=1))
    yield case("not contiguous", in_another_layout(random_weights(rng, 3, 2, 7, 4)))
    yield case("float64", causal_weights(rng, 2, 3, 5, 5).double())
    seen = in_steps(causal_weights(rng, 2, 3, 5, 5, spread=1.0))
    yield case("float16", seen.half())
    even = in_steps(random_weights(rng, 2, 3, 9, 3, spread=0.25))
    yield case("bfloat16", even.bfloat16())


# ------------------------------------------------------------------------------- mistakes

wrong = attention_entropy.wrong
wrong(
    "nan-for-a-weight-of-zero",
    "What is log 0 to a computer, and what is 0 times that? Which number could stand in for the zero "
    "before the logarithm?",
    dict(seen="given"),
)
wrong(
    "rows-with-a-zero-lost",
    "A row with a single zero in it is nan in yours, and then it is gone, though its other weights "
    "have an entropy. Where must the nan be stopped: in the row's sum, or before it?",
    dict(seen="given", per_query="_.nan_to_num(0.0)"),
)
wrong(
    "rows-with-a-zero-left-out",
    "`nanmean` drops every row that has a single zero in it, though its other weights have an "
    "entropy. Where must the nan be stopped: in the row's sum, or before it?",
    dict(seen="given", per_head="per_query.nanmean((0, 2))"),
)
wrong(
    "heads-with-a-zero-lost",
    "A head with a single zero in it is nan in yours, and then it is 0. Where must the nan be stopped: "
    "at the end, or before the sum over the keys?",
    dict(seen="given", per_head="_.nan_to_num(0.0)"),
)
wrong(
    "epsilon-lost-in-float16",
    "Your tiny number keeps the logarithm finite in float32. What is the smallest number above 0 that "
    "float16 can hold, and what becomes of yours there?",
    dict(seen="given + 1e-9"),
    dict(seen="given.clamp_min(1e-9)"),
)
wrong(
    "epsilon-too-large",
    "Your tiny number moves the logarithm of every weight, not only that of 0. With many keys, most "
    "weights are small: how much does it change the sum? A much smaller one does not.",
    dict(seen="given + 1e-3"),
    dict(seen="given + 1e-4"),
    dict(seen="given + 1e-5"),
    dict(seen="given + 1e-3", terms="seen * surprise"),
)
wrong(
    "sign-missing",
    "The logarithm of a weight below 1 is negative. Should an entropy be negative?",
    dict(surprise="logs"),
)
wrong(
    "in-bits",
    "What is the entropy of two equal weights in yours: 1 or 0.693? To which base is your logarithm, "
    "and which base do nats have?",
    dict(logs="seen.log2()"),
)
wrong(
    "to-base-ten",
    "To which base is your logarithm, and which base do nats have?",
    dict(logs="seen.log10()"),
)
wrong(
    "logarithm-of-one-plus-w",
    "`log1p` is the logarithm of 1 + w. What is it for w = 1, and what should the entropy of a single "
    "key be?",
    dict(logs="given.log1p()"),
)
wrong(
    "divided-by-its-maximum",
    "The entropy of S equal weights is ln S. Is it 1 in yours? The task asks for nats, not for a "
    "share of the maximum.",
    dict(per_head="_ / math.log(weights.shape[-1])"),
)
wrong(
    "perplexity",
    "You return the number of keys that are looked at, in effect. What is the entropy itself, before "
    "your `exp`?",
    dict(per_head="_.exp()"),
    dict(per_query="_.exp()"),
)
wrong(
    "entropy-of-the-mean",
    "Two rows, each sure of another key: what is the entropy of each, and what is the entropy of their "
    "mean? Which comes first, the entropy or the mean?",
    dict(given="weights.mean((0, 2), keepdim=True)"),
    dict(given="weights.mean(2, keepdim=True)"),
    dict(given="weights.mean(0, keepdim=True)"),
)
wrong(
    "over-the-queries",
    "Which axis of the weights adds up to 1, that of the queries or that of the keys? An entropy is a "
    "sum over that axis.",
    dict(per_query="terms.sum(-2)"),
)
wrong(
    "over-the-heads",
    "Which axis of the weights adds up to 1, that of the heads or that of the keys? An entropy is a "
    "sum over that axis.",
    dict(per_query="terms.sum(1)", per_head="per_query.mean((0, 1))"),
    dict(per_query="terms.sum(1)"),
)
wrong(
    "a-row-of-zeros-is-nan",
    "Each row is made to add up to 1, or has to. What becomes of a row of zeros, of a query that may "
    "see nothing?",
    dict(given="weights / weights.sum(-1, keepdim=True)"),
    dict(per_query="torch.distributions.Categorical(probs=given).entropy()"),
)
wrong(
    "surprise-not-weighted",
    "Every key counts the same in yours. With which share should the -log w of a key of weight w count?",
    dict(terms="surprise"),
    dict(terms="surprise", per_query="terms.mean(-1)"),
)
wrong(
    "not-an-entropy",
    "1 minus the sum of squares grows and shrinks like an entropy, but is none. Where is the "
    "logarithm?",
    dict(per_query="1 - given.square().sum(-1)"),
)
wrong(
    "not-an-entropy",
    "You look at the largest weight only. Which part do the other weights have in an entropy?",
    dict(per_query="-given.amax(-1).where(given.any(-1), 1.0).log()"),
)
