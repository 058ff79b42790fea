"""The task `attention_entropy`: how widely a head looks."""

import torch
import torch.nn.functional as F

import attn_lib
from attn_lib.checks.authoring import task
from attn_lib.tasks.lesson_06.steps import case, causal, coarse, drawn, some_empty, turned


@task(
    lesson=6,
    points=2,
    insight="The exp of the entropy is a number of keys: so many, looked at alike, have the same entropy.",
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
    unseen = [[0.5, 0.5, 0], [0.25, 0.5, 0.25]]
    yield rows("the first query does not see the last key", unseen)
    sharp, even = [[0.0, 1.0, 0.0, 0.0]], [[0.25] * 4]
    yield rows("a head that looks at one key, and one that looks at all", sharp, even)
    samples = [[[[0.5, 0.5]], [[0.75, 0.25]]], [[[1.0, 0.0]], [[0.25, 0.75]]]]
    yield case("two samples, two heads", torch.tensor(samples))
    yield rows("a row of zeros", [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.25, 0.25]])
    yield case("all sizes different", drawn(rng, 2, 3, 5, 7))
    yield case("causal", causal(rng, 2, 3, 6, 6))
    yield case("B = H = L = S", drawn(rng, 4, 4, 4, 4))
    yield case("one head", drawn(rng, 3, 1, 4, 5))
    yield case("rows of zeros among others", some_empty(rng, 2, 3, 5, 7))
    yield case("keys at both ends that nobody sees", F.pad(drawn(rng, 2, 3, 5, 4), (2, 2)))
    wide, narrow = (drawn(rng, 1, 1, 3, 100, spread=s) for s in (2.0, 40.0))
    yield case("a hundred keys", torch.cat([wide, narrow], dim=1))
    yield case("not contiguous", turned(drawn(rng, 3, 2, 7, 4)))
    yield case("float64", causal(rng, 2, 3, 5, 5).double())
    yield case("float16", coarse(causal(rng, 2, 3, 5, 5, spread=1.0)).half())
    yield case("bfloat16", coarse(drawn(rng, 2, 3, 9, 3, spread=0.25)).bfloat16())
    yield case("13 heads, 40 queries", drawn(rng, 2, 13, 40, 30))


attention_entropy.rows("""
What shape has `weights[weights > 0]`? In what is left, can you still tell the rows and the heads?
    rows-lost-by-choosing  given = weights[weights > 0]
`math.log` takes a single number. Which logarithm takes a whole tensor?
    logarithm-of-one-number  logs = math.log(given)
What is log 0 to a computer, and what is 0 times that? Which number could stand in for the zero
before the logarithm?
    nan-for-a-weight-of-zero  seen = given
A row with a single zero in it is nan in yours, and then it is gone, though its other weights have
an entropy. Where must the nan be stopped: in the row's sum, or before it?
    rows-with-a-zero-lost  seen = given ; per_query = _.nan_to_num(0.0)
`nanmean` drops every row that has a single zero in it, though its other weights have an entropy.
Where must the nan be stopped: in the row's sum, or before it?
    rows-with-a-zero-left-out  seen = given ; per_head = per_query.nanmean((0, 2))
A head with a single zero in it is nan in yours, and then it is 0. Where must the nan be stopped: at
the end, or before the sum over the keys?
    heads-with-a-zero-lost  seen = given ; per_head = _.nan_to_num(0.0)
Your tiny number keeps the logarithm finite in float32. What is the smallest number above 0 that
float16 can hold, and what becomes of yours there?
    epsilon-lost-in-float16  seen = given + 1e-9
Your tiny number moves the logarithm of every weight, not only that of 0. With many keys, most
weights are small: how much does it change the sum? A much smaller one does not.
    epsilon-too-large  seen = given + 1e-3 || given + 1e-4 || given + 1e-5 || given + 1e-2
    epsilon-too-large  seen = given + 1e-3 ; terms = seen * surprise
The logarithm of a weight below 1 is negative. Should an entropy be negative?
    sign-missing  surprise = logs
What is the entropy of two equal weights in yours: 1 or 0.693? To which base is your logarithm, and
which base do nats have?
    in-bits  logs = seen.log2()
To which base is your logarithm, and which base do nats have?
    to-base-ten  logs = seen.log10()
`log1p` is the logarithm of 1 + w. What is it for w = 1, and what should the entropy of a single key
be?
    logarithm-of-one-plus-w  logs = given.log1p()
The entropy of S equal weights is ln S. Is it 1 in yours? The task asks for nats, not for a share of
the maximum.
    divided-by-its-maximum  per_head = _ / math.log(weights.shape[-1])
    divided-by-its-maximum  per_query = _ / given.count_nonzero(-1).clamp_min(2).log()
Is yours 0 for the head that looks at all keys alike, and largest for the one that looks at a single
key? Which of them looks widely?
    distance-from-even  per_query = math.log(weights.shape[-1]) - _
You return the number of keys that are looked at, in effect. What is the entropy itself, before your
`exp`?
    perplexity  per_head = _.exp()
    perplexity  per_query = _.exp()
Two rows, each sure of another key: what is the entropy of each, and what is the entropy of their
mean? Which comes first, the entropy or the mean?
    entropy-of-the-mean  given = weights.mean((0, 2), keepdim=True)
    entropy-of-the-mean  given = weights.mean(2, keepdim=True)
    entropy-of-the-mean  given = weights.mean(0, keepdim=True)
Change one sample after the other. Does your result change each time?
    only-the-first-sample  given = _[:1] || _[-1:]
Two heads that look at different places: can one number tell them apart?
    one-number-for-all-heads  per_head = per_query.mean()
    one-number-for-all-heads  given = weights.mean(1, keepdim=True)
    one-number-for-all-heads  given = weights.mean(1, keepdim=True) ; per_head = per_query.mean()
    one-number-for-all-heads  per_head = per_query.sum() || per_query.mean((0, 2)).sum()
Which axis of the weights adds up to 1, that of the queries or that of the keys? An entropy is a sum
over that axis.
    over-the-queries  per_query = terms.sum(-2)
Which axis of the weights adds up to 1, that of the heads or that of the keys? An entropy is a sum
over that axis.
    over-the-heads  per_query = terms.sum(1) ; per_head = per_query.mean((0, 1))
    over-the-heads  per_query = terms.sum(1)
The weights of a row add up to 1 already. Over its keys, do you add up, or is something divided by
their number?
    mean-over-keys  per_query = terms.mean(-1) || _ / given.count_nonzero(-1).clamp_min(1)
    mean-over-keys  seen = given ; per_head = terms.nanmean((0, 2, 3))
After a zero in a row, can there be weights that are not 0? What does your loop do with them?
    ends-at-the-first-zero  given = weights * (weights != 0).cumprod(-1)
You make each row add up to 1. What does that do to a row of zeros, of a query that may see nothing?
    a-row-of-zeros-is-nan  given = weights / weights.sum(-1, keepdim=True)
`Categorical` wants shares that add up to 1, and refuses all others. Which row of weights here is no
such thing, and what is the entropy of a query that sees nothing?
    a-row-of-zeros-is-nan  per_query = torch.distributions.Categorical(probs=given).entropy()
    a-row-of-zeros-is-nan  per_query = torch.stack([torch.distributions.Categorical(row).entropy() for row in given.flatten(0, 2)]).view(given.shape[:-1])
The weights come out of a softmax already. Is there another one in what you call?
    softmax-once-more  given = weights.softmax(-1)
    softmax-once-more  logs = given.log_softmax(-1)
Every key counts the same in yours. With which share should the -log w of a key of weight w count?
    surprise-not-weighted  terms = surprise
    surprise-not-weighted  terms = surprise ; per_query = terms.mean(-1)
    surprise-not-weighted  seen = given ; terms = surprise.nan_to_num(0.0)
An entropy has one term for each key: its -w log w. What is your second one, with 1 - w, for?
    binary-entropy  terms = F.binary_cross_entropy(given, given, reduction="none")
1 minus the sum of squares grows and shrinks like an entropy, but is none. Where is the logarithm?
    not-an-entropy  per_query = 1 - given.square().sum(-1)
You look at the largest weight only. Which part do the other weights have in an entropy?
    not-an-entropy  per_query = -given.amax(-1).where(given.any(-1), 1.0).log()
""")

attention_entropy.drills(
    "sign-missing, over-the-queries, mean-over-keys, in-bits, nan-for-a-weight-of-zero, summed-instead-of-averaged, "
    "softmax-once-more, entropy-of-the-mean 1, a-row-of-zeros-is-nan, epsilon-lost-in-float16, "
    "rows-with-a-zero-lost"
)
