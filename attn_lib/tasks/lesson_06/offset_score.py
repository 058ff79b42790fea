"""The task `offset_score`: how much a head looks at the key a fixed number of steps away."""

import torch

import attn_lib
from attn_lib.checks.authoring import task
from attn_lib.tasks.lesson_06.steps import (
    case,
    causal,
    drawn,
    early,
    some_empty,
    turned,
)


@task(
    lesson=6,
    points=2,
    insight="One diagonal of a map, averaged: so heads are found that look at the token before.",
    library=attn_lib.offset_score,
    # It drops a row by its place among all L; here only some have a number.
    without=("rows-of-zeros-left-out",),
    hints=[
        "Write down the pairs of query and key for four tokens and offset -1. How many pairs are there, and "
        "which query has none? Do it for offset 2 as well.",
        "All these pairs are the same number of steps apart. What do they make in the square of weights: on "
        "which side of the main diagonal, and how long?",
        "`weights.diagonal(offset, dim1, dim2)` takes such a line out, and puts it last: name the axes L and "
        "L. Try it on arange(16).view(1, 1, 4, 4). Then (B, H, n) is left: over which two do you take the mean?",
    ],
)
def offset_score(weights, offset):
    given = weights
    steps = offset
    per_query = given.diagonal(steps, dim1=-2, dim2=-1)  # (B, H, n)
    per_head = per_query.mean((0, 2))
    return per_head


@offset_score.other
def by_index(weights, offset):
    given = weights
    L = weights.shape[-1]
    first = max(0, -offset)
    last = L - max(0, offset)
    queries = torch.arange(first, last)
    keys = queries + offset
    picked = given[:, :, queries, keys]  # (B, H, n)
    per_head = picked.mean((0, 2))
    return per_head


@offset_score.cases
def _(rng):
    yield case("two tokens, the next one", torch.tensor([[[[0.25, 0.75], [0.5, 0.5]]]]), 1)
    rows = [[0.5, 0.25, 0.25], [0.75, 0.125, 0.125], [0.125, 0.625, 0.25]]
    yield case("three tokens, the one before", torch.tensor([[rows]]), -1)
    yield case("three tokens, itself", torch.tensor([[rows]]), 0)
    yield case("three tokens, two ahead", torch.tensor([[rows]]), 2)
    back, ahead = [[0.5, 0.5], [0.75, 0.25]], [[0.25, 0.75], [1.0, 0.0]]
    both, itself = [[0.625, 0.375], [0.5, 0.5]], [[0.875, 0.125], [0.0, 1.0]]
    samples = torch.tensor([[back, ahead], [both, itself]])
    yield case("two samples, two heads, the token before", samples, -1)
    looks = torch.stack([torch.eye(6).roll(step, 1) for step in (-2, -1, 0, 1, 2)])[None]
    yield case("heads that look 2 back, 1 back, at itself, 1 ahead, 2 ahead", looks, -2)
    yield case("the same heads, 1 ahead", looks, 1)
    yield case("all sizes different, 2 back", drawn(rng, 2, 3, 5, 5), -2)
    yield case("all sizes different, 3 ahead", drawn(rng, 2, 3, 7, 7), 3)
    yield case("causal, the one before", causal(rng, 2, 3, 6, 6), -1)
    yield case("B = H = L", drawn(rng, 4, 4, 4, 4), -1)
    yield case("one head", drawn(rng, 3, 1, 5, 5), 2)
    yield case("from the first token to the last", drawn(rng, 2, 3, 4, 4), 3)
    yield case("from the last token to the first", drawn(rng, 2, 3, 4, 4), -3)
    yield case("itself", drawn(rng, 2, 3, 4, 4), 0)
    yield case("one token", drawn(rng, 2, 3, 1, 1), 0)
    yield case("rows of zeros among others", some_empty(rng, 2, 3, 5, 5), 1)
    yield case("thirty-three tokens", drawn(rng, 1, 1, 33, 33, spread=0.5), -16)
    yield case("not contiguous", turned(drawn(rng, 2, 3, 5, 5)), -2)
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        yield case(f"{dtype}".removeprefix("torch."), drawn(rng, 2, 3, 5, 5).to(dtype), 1)
    yield case("13 heads, 40 tokens", drawn(rng, 1, 13, 40, 40), -20)
    yield case("bfloat16, 300 tokens", early(300, -1).bfloat16(), -1)


offset_score.rows("""
Offset 1 is the key after the query. In `weights[i, j]`, which of the two is the query? Does your line
run above the main diagonal, or below it?
    sign-exchanged  steps = -offset
    sign-exchanged  per_query = given.mT.diagonal(steps, dim1=-2, dim2=-1)
How many queries have such a key? You divide by all L.
    divided-by-the-length  per_head = per_query.sum(-1).mean(0) / weights.shape[-1]
    divided-by-the-length  per_query = F.pad(_, (0, weights.shape[-1] - _.shape[-1]))
The last token has no next one. To which key does yours go there? The sentence is no ring.
    around-the-end  per_query = given.roll(-offset, -1).diagonal(dim1=-2, dim2=-1)
    around-the-end  queries = torch.arange(L) ; keys = (queries + offset) % L
An index of -1 means the last one, to PyTorch. For which queries is i + offset below 0?
    around-the-end  queries = torch.arange(L - abs(offset))
    around-the-end  queries = torch.arange(min(L, L - offset))
    around-the-end  queries = torch.arange(min(L, L - offset)) ; per_head = picked.sum(-1).mean(0) / (L - abs(offset))
You roll the keys around the end, in the other direction, too. Which key does query 0 get in yours,
with offset 1?
    rolled-the-wrong-way  per_query = given.roll(offset, -1).diagonal(dim1=-2, dim2=-1)
Where is the key i + offset of the last query, if the offset is 1? Which queries have such a key? (And
an index of -1 means the last key, to PyTorch.)
    past-the-last-key  queries = torch.arange(L)
    past-the-last-key  picked = torch.stack([given[:, :, i, i + offset] for i in range(L)], -1)
A query without such a key gets the nearest one in yours. Which queries have such a key at all?
    clamped-to-the-end  queries = torch.arange(L) ; keys = (queries + offset).clamp(0, L - 1)
How many steps is it from query i to key i + offset? Yours takes one more, or one less.
    off-by-one  steps = (offset + 1) if offset + 1 < weights.shape[-1] else (offset - 1)
    off-by-one  steps = (offset - 1) if offset - 1 > -weights.shape[-1] else (offset + 1)
    off-by-one  steps = offset + 1 || offset - 1
Is the key before the query the same as the key after it? What does your code make of the sign of the
offset?
    always-ahead  steps = abs(offset)
    always-back  steps = -abs(offset)
You count both directions, i + offset and i - offset. Only one of them is asked for.
    both-directions  per_query = given.diagonal(steps, dim1=-2, dim2=-1) + given.diagonal(-steps, dim1=-2, dim2=-1)
    both-directions  per_query = (given.diagonal(steps, dim1=-2, dim2=-1) + given.diagonal(-steps, dim1=-2, dim2=-1)) / 2
Where do you use the offset? Call it with -1 and with 2: is it the same?
    offset-ignored  steps = 0 || 1 if weights.shape[-1] > 1 else 0
    offset-ignored  steps = -1 if weights.shape[-1] > 1 else 0
The first query that has such a key counts too. Where does your range begin?
    first-query-left-out  per_query = _[..., 1:]
Key 0 is a key like every other. Which pair is missing in yours?
    key-zero-left-out  first = max(0, 1 - offset)
The last query that has such a key counts too. Where does your range end?
    last-query-left-out  per_query = _[..., :-1]
Your slices fit offsets below 0 only. For offset 1: which queries have a key, and where do their keys
begin?
    fits-one-sign-only  per_query = given[:, :, -offset:, :weights.shape[-1] + offset].diagonal(dim1=-2, dim2=-1)
Your slices fit offsets above 0 only. For offset -1: which queries have a key, and where do their keys
begin?
    fits-one-sign-only  per_query = given[:, :, :weights.shape[-1] - offset, offset:].diagonal(dim1=-2, dim2=-1)
For offset -1, L - offset is L + 1. How many queries are there, and which of them have such a key?
    fits-one-sign-only  queries = torch.arange(L - offset)
For offset 1, your range begins at -1, and an index of -1 means the last one to PyTorch. Which is the first
query that has such a key?
    fits-one-sign-only  first = -offset ; last = L
    fits-one-sign-only  first = -offset
Two lists of n numbers, taken one after the other, give a block of n * n weights. Which n of them are
the pairs of a query and its key?
    block-for-pairs  picked = given[:, :, queries][..., keys].flatten(2)
    block-for-pairs  picked = given[:, :, queries][..., keys].sum(-1)
You take one key for all queries. Which key belongs to query 1, and which to query 2?
    one-key-for-all  per_query = given[..., steps] || given[:, :, steps]
Which two axes does `diagonal` take if you do not name them? Which two hold queries and keys?
    axes-of-the-diagonal  per_query = given.diagonal(steps)
    axes-of-the-diagonal  per_query = given.diagonal(steps) ; per_head = per_query.mean((0, 1))
    axes-of-the-diagonal  per_query = given.diagonal(steps) ; per_head = per_query.mean(-1)
You count how often the largest weight of a query lies there. The task takes the mean of the weights
themselves.
    hits-counted  per_query = (_ > 0.5).to(given.dtype)
    hits-counted  picked = (given.argmax(-1)[:, :, queries] == keys).to(given.dtype)
Which function keeps one diagonal, and which keeps all that is above or below it?
    whole-triangle  per_query = given.tril(steps).sum(-1) || given.triu(steps).sum(-1)
    whole-triangle  per_query = given.tril(steps).sum(-1)[..., max(0, -offset):weights.shape[-1] - max(0, offset)]
    whole-triangle  per_query = given.triu(steps).sum(-1)[..., max(0, -offset):weights.shape[-1] - max(0, offset)]
You take the mean over the whole square, of which all but one line is 0. How many numbers should be in
the mean?
    mean-over-keys-too  per_head = per_query.sum(-1).mean(0) / weights.shape[-1] ** 2
How many numbers has the line, if it begins `abs(offset)` steps from the corner? By how many do you divide?
    divided-by-the-wrong-number  per_head = per_query.sum(-1).mean(0) / (weights.shape[-1] - abs(offset) + 1)
    divided-by-the-wrong-number  per_head = per_query.sum(-1).mean(0) / max(1, weights.shape[-1] - 1)
    divided-by-the-wrong-number  per_head = per_query.sum(-1).mean(0) / max(1, weights.shape[-1] - abs(offset) - 1)
For an offset below 0, L - offset is more than L. How many queries have such a key?
    divided-by-the-wrong-number  per_head = per_query.sum(-1).mean(0) / (weights.shape[-1] - offset)
    divided-by-the-wrong-number  per_head = per_query.sum(-1).mean(0) / (weights.shape[-1] + offset)
A pair whose weight is 0 is a pair like every other. By how many do you divide?
    zeros-not-counted  per_head = per_query.sum((0, 2)) / per_query.count_nonzero((0, 2)).clamp_min(1)
    zeros-not-counted  per_head = per_query.where(per_query != 0, torch.nan).nanmean((0, 2))
With offset 0, one of your slices ends at -0. That is 0: what does `x[:0]` hold?
    nothing-left-at-zero  per_query = (given[:, :, :-offset, offset:] if offset > 0 else given[:, :, -offset:, :offset]).diagonal(dim1=-2, dim2=-1)
`torch.diag` knows a single matrix. Which method takes the diagonals of many, along two axes that you
name?
    diagonal-of-one-matrix  per_query = torch.diag(given, steps)
In (B, H, L, L), which two axes hold queries and keys? Axes are counted from 0: which numbers have these
two?
    axes-of-the-diagonal  per_query = given.diagonal(steps, dim1=1, dim2=2)
""")

offset_score.drills(
    "diagonal-of-one-matrix, axes-of-the-diagonal, one-key-for-all, sign-exchanged, divided-by-the-length, "
    "block-for-pairs, fits-one-sign-only 3"
)
