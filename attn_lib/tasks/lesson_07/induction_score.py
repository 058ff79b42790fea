"""The task `induction_score`: does a head look at what followed the same token last time?"""

import torch

import attn_lib
from attn_lib.checks.authoring import task
from attn_lib.tasks.lesson_06.steps import case, causal, drawn, early, turned


@task(
    lesson=7,
    points=3,
    insight="Random tokens, repeated, are enough: nothing but copying can predict their second half.",
    library=attn_lib.induction_score,
    # No case has a row of zeros: in a sequence that repeats, every query sees itself.
    without=("a-row-of-zeros-is-nan", "rows-of-zeros-left-out"),
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
    given = weights
    offset = 1 - period
    per_query = given.diagonal(offset, dim1=-2, dim2=-1)  # (B, H, n)
    per_head = per_query.mean((0, 2))
    return per_head


@induction_score.cases
def _(rng):
    rows = [[1.0, 0, 0], [0.25, 0.75, 0], [0.25, 0.5, 0.25]]
    yield case("A B A, period 2", torch.tensor([[rows]]), 2)
    rows = [[1.0, 0, 0, 0, 0], [0.5, 0.5, 0, 0, 0], [0.25, 0.5, 0.25, 0, 0]]
    rows += [[0, 0.75, 0, 0.25, 0], [0.125, 0.125, 0.5, 0.125, 0.125]]
    yield case("A B C A B, period 3", torch.tensor([[rows]]), 3)
    first, itself = [1.0, 0, 0], [0, 1, 0]
    heads = [[first, [0.75, 0.25, 0], [0, 0.5, 0.5]], [first, itself, itself]]
    more = [[first, [0.5, 0.5, 0], [0.25, 0, 0.75]], [first, first, itself]]
    yield case("A B A, period 2, two samples, two heads", torch.tensor([heads, more]), 2)
    steps = [torch.eye(9).roll(-step, 1).tril() for step in (2, 3, 4, 1, 0)]
    yield case("heads that look 2, 3, 4, 1, 0 back, period 3", torch.stack(steps)[None], 3)
    yield case("two copies, causal", causal(rng, 2, 3, 8, 8), 4)
    yield case("three copies", causal(rng, 2, 3, 9, 9), 3)
    yield case("the third copy is cut off", drawn(rng, 2, 3, 8, 8), 3)
    yield case("B = H = L", drawn(rng, 4, 4, 4, 4), 2)
    yield case("one head", drawn(rng, 3, 1, 6, 6), 3)
    yield case("the period is the whole length", drawn(rng, 2, 3, 4, 4), 4)
    yield case("period 1", drawn(rng, 2, 3, 4, 4), 1)
    yield case("thirty-three tokens", causal(rng, 1, 1, 33, 33), 16)
    yield case("not contiguous", turned(drawn(rng, 2, 3, 6, 6)), 3)
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        yield case(f"{dtype}".removeprefix("torch."), drawn(rng, 2, 3, 6, 6).to(dtype), 3)
    yield case("bfloat16, 300 tokens", early(300, -1).bfloat16(), 2)


induction_score.rows("""
You look at the earlier copy of the token itself. Where is the token that came after it?
    the-same-token  offset = -period
    the-same-token  per_query = given[:, :, torch.arange(period - 1, weights.shape[-1]), torch.arange(-1, weights.shape[-1] - period)]
You look one place before the earlier copy. Is what you want before it or after it?
    the-token-before-the-copy  offset = -period - 1
You look two places after the earlier copy. Where is the token that came right after it?
    one-further  offset = 2 - period
Which keys come before query i, those below the main diagonal or those above it? Which sign has an
offset that leads there?
    keys-ahead  offset = period - 1 || period || period + 1
You score a head that looks one token back. Where do you use the period?
    the-token-before  offset = -1
You score a head that looks at itself. Where do you use the period?
    the-query-itself  offset = 0
The first query that has such a key is i = period - 1: its key is 0. Does your range begin there?
The task counts it.
    first-query-left-out  per_query = _[..., 1:]
Which is the last query, L - 1 or L - 2? Where does your range end?
    last-query-left-out  per_query = _[..., :-1]
The sequence may have three copies or more. Where does your range end?
    second-copy-only  per_query = _[..., :period + 1] || _[..., 1:period + 1]
    second-copy-only  per_query = _[..., :period]
Which queries have a part in your result? From one of them to the next, how far do you step?
    one-query-of-each-copy  per_query = _[..., ::period]
The last copy may be cut off, and its queries count too. At which query does yours stop?
    cut-off-copy-left-out  per_query = _[..., :weights.shape[-1] // period * period - period + 1]
For the first queries, i - period + 1 is negative. What does an index of -1 mean to PyTorch? Which
queries have such a key?
    around-the-end  per_query = given[:, :, torch.arange(weights.shape[-1]), torch.arange(weights.shape[-1]) + offset]
For the first queries, i - period + 1 is negative, and you make it 0. Which queries have such a key
at all?
    first-queries-at-key-zero  per_query = given[:, :, torch.arange(weights.shape[-1]), (torch.arange(weights.shape[-1]) + offset).clamp_min(0)]
With three copies, the last query has two earlier ones. Which of them do you look at: the last one?
    the-first-copy  per_query = given[:, :, torch.arange(period - 1, weights.shape[-1]), torch.arange(period, weights.shape[-1] + 1) % period]
Two lists of n numbers, taken one after the other, give a block of n * n weights. Which n of them
are the pairs of a query and its key?
    block-for-pairs  per_query = given[:, :, period - 1:, :weights.shape[-1] + offset].flatten(2)
    block-for-pairs  per_query = given[:, :, period - 1:, :weights.shape[-1] + offset].sum(-1)
    block-for-pairs  per_query = given[:, :, period:, :weights.shape[-1] - period].flatten(2)
With period 1, your slice ends at -0. Where does `[:0]` end? Count from the front instead.
    slice-to-minus-zero  per_query = given[:, :, period - 1:, :1 - period].diagonal(dim1=-2, dim2=-1)
Which two axes does `diagonal` take if you do not name them? Which two hold queries and keys?
    axes-of-the-diagonal  per_query = given.diagonal(offset)
    axes-of-the-diagonal  per_query = given.diagonal(offset) ; per_head = per_query.mean((0, 1))
    axes-of-the-diagonal  per_query = given.diagonal(offset) ; per_head = per_query.mean(-1)
You count how often the largest weight of a query lies there. The task takes the mean of the weights
themselves.
    hits-counted  per_query = (_ > 0.5).to(given.dtype)
    hits-counted  per_query = (given.argmax(-1) == torch.arange(weights.shape[-1]) + offset)[..., period - 1:].to(given.dtype)
You add up what followed all earlier copies. The task asks for the last one only.
    all-earlier-copies  per_query = sum(F.pad(given.diagonal(o, dim1=-2, dim2=-1), (offset - o, 0)) for o in range(offset, -weights.shape[-1], -period))
`tril` keeps everything below a diagonal. Which function keeps the diagonal alone?
    whole-triangle  per_query = given.tril(offset).sum(-1)[..., period - 1:]
You take the mean over a whole square that is 0 beside the diagonal. How many numbers should be in
the mean?
    zeros-in-the-mean  per_head = per_query.sum(-1).mean(0) / weights.shape[-1] ** 2
By how many do you divide: by all queries, or by those that have such a key?
    divided-by-the-length  per_head = per_query.sum(-1).mean(0) / weights.shape[-1]
A pair whose weight is 0 is a pair like every other. By how many do you divide?
    zeros-not-counted  per_head = per_query.sum((0, 2)) / per_query.count_nonzero((0, 2)).clamp_min(1)
    zeros-not-counted  per_head = per_query.where(per_query != 0, torch.nan).nanmean((0, 2))
How many numbers has the diagonal: which size does its last axis have? By how many do you divide?
    divided-by-the-wrong-number  per_head = per_query.sum(-1).mean(0) / (weights.shape[-1] - period)
    divided-by-the-wrong-number  per_head = per_query.sum(-1).mean(0) / period
    divided-by-the-wrong-number  per_head = per_query.sum(-1).mean(0) / (weights.shape[-1] - period + 2)
The first query that has such a key is i = period - 1, however many copies there are. Where does your
range begin?
    last-copy-only  per_query = given[:, :, (i := torch.arange(weights.shape[-1] - period, weights.shape[-1])), i + offset]
    last-copy-only  per_query = _[..., -period:]
What falls out at the bottom comes in again at the top when you `roll`. What does your mask hold in the
first rows? Which queries have such a key?
    rolled-around  per_query = given[:, :, (i := torch.arange(weights.shape[-1])), i + offset] ; per_head = per_query.sum((0, 2)) / (len(weights) * (weights.shape[-1] - period + 1))
""")

induction_score.drills(
    "one-number-for-all-heads, summed-instead-of-averaged, means-missing 1, the-wrong-axis-kept, keys-ahead, "
    "axis-after-a-mean, axes-of-the-diagonal, divided-by-the-length, the-same-token"
)
