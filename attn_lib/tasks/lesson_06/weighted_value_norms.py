"""The task `weighted_value_norms`: how long is what each key adds to a query's output?"""

import torch

import attn_lib
from attn_lib.checks.authoring import task
from attn_lib.tasks.lesson_06.steps import case, causal, drawn, some_empty, turned


@task(
    lesson=6,
    points=2,
    insight="A large weight on a short value moves little: a weight alone is no contribution.",
    library=attn_lib.weighted_value_norms,
    # The values differ from sample to sample: this task asks its own question.
    without=("only-the-first-sample",),
    hints=[
        "One query and one key: the weight is a number w, the value a vector v. Which vector does this key add "
        "to the output, and how long is it if v is [3, 4] and w is 0.5?",
        "How long is w · v, if you know how long v is? So each value needs one length: over which axis of v do "
        "you take it, and which shape is left?",
        "The lengths (B, H, S) belong to keys. Line them up with the weights (B, H, L, S) from the right: "
        "which axis of size 1 is missing, and where?",
    ],
)
def weighted_value_norms(weights, v):
    given = weights
    vectors = v
    squares = vectors.square()
    summed = squares.sum(-1)
    lengths = summed.sqrt()  # (B, H, S)
    per_key = lengths[:, :, None]  # (B, H, 1, S)
    result = given * per_key
    return result


@weighted_value_norms.other
def vector_by_vector(weights, v):
    given = weights
    lined_up = v[:, :, None]  # (B, H, 1, S, D)
    shares = given[..., None]  # (B, H, L, S, 1)
    weighted = shares * lined_up  # (B, H, L, S, D)
    norms = weighted.norm(dim=-1)
    return norms


@weighted_value_norms.cases
def _(rng):
    def values(*shape):
        return torch.randn(*shape, generator=rng) + 0.5

    weights, v = torch.tensor([[[[0.2, 0.8]]]]), torch.tensor([[[[3.0, 4.0], [0.0, 1.0]]]])
    yield case("one query, two keys", weights, v)
    weights = torch.tensor([[[[0.25, 0.75], [0.5, 0.5]]]])
    yield case("two queries, two keys", weights, v)
    heads = torch.tensor([[[[0.25, 0.75]], [[0.5, 0.5]]], [[[1.0, 0.0]], [[0.125, 0.875]]]])
    v = torch.tensor([[[[3.0, 4.0], [0.0, 1.0]], [[6.0, 8.0], [0.0, -2.0]]]])
    yield case("two samples, two heads", heads, torch.cat([v, v.flip(1) / 2]))
    yield case("all sizes different", drawn(rng, 2, 3, 4, 5), values(2, 3, 5, 6))
    yield case(
        "causal, as many queries as keys", causal(rng, 2, 3, 5, 5), values(2, 3, 5, 4)
    )
    yield case("B = H = L = S = D", drawn(rng, 4, 4, 4, 4), values(4, 4, 4, 4))
    yield case("one head", drawn(rng, 3, 1, 4, 5), values(3, 1, 5, 2))
    yield case("one channel", drawn(rng, 2, 3, 4, 5), values(2, 3, 5, 1))
    yield case("one sample", drawn(rng, 1, 3, 4, 5), values(1, 3, 5, 2))
    yield case("one query", drawn(rng, 2, 3, 1, 5), values(2, 3, 5, 4))
    yield case("one key", drawn(rng, 2, 3, 4, 1), values(2, 3, 1, 4))
    yield case(
        "rows of zeros among others", some_empty(rng, 2, 3, 4, 5), values(2, 3, 5, 4)
    )
    tiny = values(2, 3, 5, 4) * torch.tensor([1.0, 1e-3, 1.0, 0.0, 1.0])[:, None]
    yield case("a value near zero, and one of zeros", drawn(rng, 2, 3, 4, 5), tiny)
    yield case("not contiguous", turned(drawn(rng, 2, 3, 4, 5)), turned(values(2, 3, 5, 4)))
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        weights, v = drawn(rng, 2, 3, 4, 5).to(dtype), values(2, 3, 5, 4).to(dtype)
        yield case(f"{dtype}".removeprefix("torch."), weights, v)
    yield case("13 heads, 40 channels", drawn(rng, 1, 13, 20, 30), values(1, 13, 30, 40))
    short = values(2, 3, 5, 4) * 1e-5
    yield case("every value near zero", drawn(rng, 2, 3, 4, 5), short)


weighted_value_norms.rows("""
Halve a weight: should what its key adds become shorter? Where do you use the weights?
    weight-forgotten  result = per_key.expand_as(given) || lengths
    weight-forgotten  result = vectors.norm(dim=-1).expand_as(given)
Change a value: does your result move? Where do you use v?
    value-forgotten  result = given
How long is the vector [3, 4]? Is it 25?
    squared  lengths = summed
    squared  result = given.square() * per_key.square()
    squared  norms = weighted.square().sum(-1)
You take the root after the weight came in: what is the root of w · |v|²? Square w as well, or multiply
by it last.
    weight-under-the-root  lengths = summed ; result = (given * per_key).sqrt()
How often is the weight multiplied in? Take a weight of 0.5 and a vector of length 1.
    weighted-twice  result = given * given * per_key
How long is the vector [3, 4]: 5, or 7? Do you add up squares, and is the root taken after that?
    absolute-values-added  squares = vectors.abs() ; lengths = summed
    absolute-values-added  norms = weighted.abs().sum(-1)
    absolute-values-added  squares = vectors.abs()
What do 3 and -3 give together in yours? A length does not know the sign of a channel.
    channels-added-up  squares = vectors ; lengths = summed || summed.abs()
    channels-added-up  norms = weighted.sum(-1) || weighted.sum(-1).abs()
    channels-added-up  squares = vectors
How long is the vector [3, 4]: 5, or 4? You keep its largest channel.
    largest-channel  summed = squares.amax(-1)
    largest-channel  norms = weighted.abs().amax(-1)
A length adds up its squares. What does a mean over the channels make of [3, 4]?
    mean-over-channels  summed = squares.mean(-1)
    mean-over-channels  lengths = _ / v.shape[-1]
    mean-over-channels  norms = weighted.mean(-1) || weighted.abs().mean(-1)
Each key has one length. Over which axis of v are the squares added up: over the channels, or over the
keys?
    norm-over-the-keys  summed = squares.sum(-2)
    norm-over-the-keys  norms = weighted.norm(dim=-2)
    norm-over-the-keys  vectors = v.mT
Each head has values of its own. Over which axis of v are the squares added up?
    norm-over-the-wrong-axis  summed = squares.sum(1)
    norm-over-the-wrong-axis  summed = squares.sum(1) ; per_key = lengths
Your vectors are (B, H, L, S, D). Which of these axes holds the channels of one vector, and along which
one do you measure?
    norm-over-the-wrong-axis  norms = weighted.norm(dim=2) || weighted.norm(dim=1)
For how many vectors is your length? `norm()` without an axis takes all numbers together.
    one-length-for-all  lengths = summed.sum().sqrt()[None, None, None]
    one-length-for-all  result = given * v.norm()
    one-length-for-all  norms = weighted.norm()
    one-length-for-all  lengths = summed.sum((0, 1), keepdim=True).sqrt().expand_as(summed)
What you take from v belongs to keys. Line the shapes of the two that you multiply up from the right: does
it meet the keys of the weights in yours, or the queries?
    lengths-at-the-queries  per_key = lengths[..., None]
    lengths-at-the-queries  result = torch.stack([given[:, :, i] * lengths[:, :, i, None] for i in range(given.shape[2])], 2)
    lengths-at-the-queries  lined_up = v[:, :, :, None]
Print the shapes of the two that you multiply, and line them up from the right. Does B meet B, and H
meet H?
    lengths-not-lined-up  per_key = lengths || lengths[:, None]
    lengths-not-lined-up  lined_up = v
    lengths-not-lined-up  weighted = torch.stack([torch.stack([given[:, :, i, j] * v[:, :, j] for j in range(v.shape[2])], 2) for i in range(given.shape[2])], 2)
Row i of the weights belongs to query i. To whom does it belong in yours?
    transposed-weights  given = weights.mT
    transposed-weights  result = _.mT
What is the length of a sum, and what are the lengths of its parts? One number for each key is asked for.
    length-of-the-output  result = (given @ vectors).norm(dim=-1)
    length-of-the-output  result = (given @ vectors).norm(dim=-1, keepdim=True).expand_as(given)
    length-of-the-output  norms = weighted.sum(-2).norm(dim=-1)
    length-of-the-output  norms = weighted.sum(-2).norm(dim=-1, keepdim=True).expand_as(given)
`@` adds up over the keys. A number for each pair of query and key is asked for: which product adds
up nothing?
    keys-added-up  result = given @ lengths || given @ lengths[..., None]
You return the vectors themselves. How long is each of them?
    vectors-returned  norms = weighted
    vectors-returned  result = given @ vectors
You make each row add up to 1. The lengths themselves are asked for; shares can be taken from them later.
    shares-of-the-row  result = _ / (given * per_key).sum(-1, keepdim=True)
    shares-of-the-row  result = _ / (given * per_key).sum(-1, keepdim=True).clamp_min(1e-9)
    shares-of-the-row  norms = _ / weighted.norm(dim=-1).sum(-1, keepdim=True)
Each value has length 1 in yours. What tells a large value from a small one then?
    values-of-length-one  vectors = F.normalize(v, dim=-1)
    values-of-length-one  vectors = v / v.norm(dim=-1, keepdim=True)
Do you subtract something from the values first? The length of the value itself is asked for.
    values-centered  vectors = v - v.mean(-1, keepdim=True) || v - v.mean(-2, keepdim=True)
Two heads with different weights: can one map tell them apart? Which axis did you lose?
    heads-averaged  result = _.mean(1)
    heads-averaged  given = weights.mean(1, keepdim=True)
    heads-averaged  vectors = v.mean(1, keepdim=True)
You add up, or average, over queries. A number for each pair of query and key is asked for.
    queries-averaged  result = _.mean(2) || _.sum(2) || _.mean((0, 2))
You add up over keys. A number for each pair of query and key is asked for.
    keys-added-up  result = _.sum(-1) || _.mean(-1)
Change the weights of the second sample. Do the other samples' results change, or its own?
    only-the-first-sample  given = weights[:1]
    only-the-first-sample  vectors = v[:1]
    only-the-first-sample  result = _[:1]
Each head has values of its own. Whose lengths do all your heads use?
    values-of-the-first-head  vectors = v[:, :1]
Give it float16, then float64: which dtype comes out, and which one should?
    dtype-changed  given = weights.float()
    dtype-changed  vectors = v.float()
    dtype-changed  result = _.float() || _.double()
    dtype-changed  lengths = _.float()
What stands first in the brackets of `norm` is the kind of length, 2 by default, and not the axis. By
which name is the axis given?
    order-for-the-axis  result = given * v.norm(-1)
    order-for-the-axis  lengths = vectors.norm(-1) || torch.linalg.norm(vectors, -1)
    order-for-the-axis  norms = weighted.norm(-1)
Each channel has a root of its own in yours. What is added up before the root?
    nothing-added-up  norms = weighted.abs()
`@` adds up over the channels here. A length for each pair of query and key is asked for: where do you
take it?
    channels-multiplied-by-keys  result = given @ vectors.mT
Before the length is taken, each pair of query and key has a vector: (B, H, L, S, D). Which of these axes
do the weights lack, which do the values lack, and where does a size of 1 stand for it in yours?
    pairs-not-lined-up  shares = given ; lined_up = v
    pairs-not-lined-up  shares = given[:, :, :, None] ; lined_up = v[:, :, :, None]
    pairs-not-lined-up  shares = given[:, :, None] ; lined_up = v[:, :, :, None]
    pairs-not-lined-up  shares = given[:, :, :, None] || given[:, :, None]
""")

weighted_value_norms.drills(
    "one-length-for-all 2, lengths-not-lined-up 1, pairs-not-lined-up 4, squared 2, norm-over-the-keys, "
    "lengths-at-the-queries, order-for-the-axis 3, length-of-the-output 2"
)
