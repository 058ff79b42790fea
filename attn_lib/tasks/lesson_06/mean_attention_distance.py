"""The task `mean_attention_distance`: how far a head looks."""

import torch

import attn_lib
from attn_lib.checks.authoring import task
from attn_lib.tasks.lesson_06.steps import case, causal, drawn, some_empty, turned


@task(
    lesson=6,
    points=2,
    insight="A small mean says that a head looks near. It does not say why.",
    library=attn_lib.mean_attention_distance,
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
    given = weights
    L = weights.shape[-1]
    positions = torch.arange(L)
    difference = positions[:, None] - positions  # (L, L)
    distance = difference.abs()
    terms = given * distance
    per_query = terms.sum(-1)  # (B, H, L)
    per_head = per_query.mean((0, 2))
    return per_head


@mean_attention_distance.cases
def _(rng):
    yield case("two tokens", torch.tensor([[[[0.25, 0.75], [0.75, 0.25]]]]))
    rows = [[1.0, 0.0, 0.0], [0.5, 0.0, 0.5], [0.5, 0.25, 0.25]]
    yield case("three tokens", torch.tensor([[rows]]))
    rows = [[0.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.5, 0.5, 0.0]]
    yield case("three tokens, a row of zeros", torch.tensor([[rows]]))
    back, ahead = [[1.0, 0.0], [0.75, 0.25]], [[0.5, 0.5], [0.0, 1.0]]
    both, itself = [[0.75, 0.25], [0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]]
    samples = torch.tensor([[back, ahead], [both, itself]])
    yield case("two samples, two heads, two tokens", samples)
    look_at = [0, 1, 2, 3, 4], [0, 0, 1, 2, 3], [1, 2, 3, 4, 4], [0] * 5, [4] * 5
    heads = torch.eye(5)[torch.tensor(look_at)][None]
    yield case("heads that look at: itself, before, after, first, last", heads)
    yield case("all sizes different", drawn(rng, 2, 3, 5, 5))
    yield case("causal", causal(rng, 2, 3, 6, 6))
    yield case("B = H = L", drawn(rng, 4, 4, 4, 4))
    yield case("one head", drawn(rng, 3, 1, 5, 5))
    yield case("rows of zeros among others", some_empty(rng, 2, 3, 5, 5))
    yield case("thirty-three tokens", drawn(rng, 1, 1, 33, 33, spread=0.5))
    yield case("not contiguous", turned(drawn(rng, 2, 3, 5, 5)))
    yield case("float64", drawn(rng, 2, 3, 5, 5).double())
    yield case("float16", causal(rng, 2, 3, 5, 5).half())
    yield case("bfloat16", drawn(rng, 2, 3, 5, 5).bfloat16())
    yield case("13 heads, 40 tokens", drawn(rng, 1, 13, 40, 40))


mean_attention_distance.rows("""
A query that looks one token back and one that looks one token ahead: does their sum become 0 in
yours? Is a distance ever negative?
    signed  distance = difference || -difference
One step back and one step ahead cancel in yours. Which comes first: the absolute value, or adding up?
    sign-dropped-too-late  distance = difference ; per_query = _.abs()
    sign-dropped-too-late  distance = difference ; per_head = _.abs()
    sign-dropped-too-late  per_query = ((given * positions).sum(-1) - positions).abs()
Keys after the query count 0 in yours. How far away is the next token?
    only-what-comes-before  distance = difference.clamp_min(0)
Keys before the query count 0 in yours. How far away is the token before?
    only-what-comes-after  distance = (-difference).clamp_min(0)
How far is a token from itself, and from the one next to it? What does yours say?
    off-by-one  distance = _ + 1 || (_ - 1).clamp_min(0)
    off-by-one  difference = _ + 1 || _ - 1
Two tokens away is a distance of 2. Is it 4 in yours, or is a root taken too late?
    squared  distance = _.square()
    squared  distance = _.square() ; per_query = _.sqrt()
    squared  distance = _.square() ; per_head = _.sqrt()
Each weight has a distance, at the same place of the table. Which product takes each number times the
one at its place, and which one takes rows times columns?
    matrix-product  terms = given @ distance || given @ distance.to(given.dtype)
You ask only for the key that each query looks at most. Move the rest of its weight further away:
does your result change?
    only-the-largest-weight  per_query = (given.argmax(-1) - positions).abs().to(given.dtype)
    only-the-largest-weight  given = weights.where(weights == weights.amax(-1, keepdim=True), 0.0)
You keep the largest product of each row. Which part do the other keys have in a mean distance?
    the-largest-distance  per_query = terms.amax(-1)
    the-largest-distance  per_query = (distance * (given > 0)).amax(-1).to(given.dtype)
The weights of a row add up to 1 already. Over its keys, do you add up, or is something divided by
their number?
    mean-over-keys  per_query = terms.mean(-1) || _ / given.count_nonzero(-1).clamp_min(1)
A token that looks at itself looks 0 tokens far, and that counts. By what do you divide?
    itself-left-out  per_query = _ / (1 - given.diagonal(dim1=-2, dim2=-1))
You return where a head looks, counted from the first token. From where should you count?
    the-key-not-the-distance  distance = positions
Does your result depend on the weights? With which share should a key of weight 0.9 count?
    not-weighted  given = (weights > 0).to(weights.dtype)
The task asks for tokens, not for a share of the length. What does a head that looks one token back
give in yours?
    divided-by-the-length  per_head = _ / (weights.shape[-1] - 1)
Print the shape of your positions. Do they count the tokens, or something else?
    positions-of-the-wrong-axis  L = weights.shape[1] || weights.shape[0]
Print your table of distances. It should be (L, L): subtract the positions of the keys, along one
axis, from those of the queries, along another. Which of them needs a `[:, None]`?
    positions-on-one-axis  difference = positions - positions
Give it float16, then float64: which dtype comes out, and which one should?
    dtype-changed  given = weights.float() || weights.double()
    dtype-changed  distance = _.float()
    dtype-changed  per_head = _.float()
How far is the first token from the last one? In yours the sentence closes to a ring.
    around-the-end  distance = torch.minimum(_, L - _)
Two dtypes meet in your einsum: print both. Which dtype has what `arange` counts, and which one should
it have here?
    distances-of-another-dtype  per_head = torch.einsum("bhij,ij->h", given, distance)
""")

mean_attention_distance.drills(
    "axis-after-a-mean, positions-of-the-wrong-axis, matrix-product, signed, mean-over-keys, the-wrong-axis-kept, "
    "a-row-of-zeros-is-nan, dtype-changed 2, sign-dropped-too-late"
)
