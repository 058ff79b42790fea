"""The task `masked_softmax`: shares for the allowed keys only."""

import torch

import attn_lib
from attn_lib.checks.authoring import Case, task
from attn_lib.tasks.lesson_01.far_scores import APART, ROUGHLY
from attn_lib.tasks.lesson_02.runs import exact_zeros
from attn_lib.tasks.lesson_02.runs import with_finite_gradients as finite


@task(
    lesson=2,
    points=3,
    insight="A score of -inf has a share of exactly 0. Only a query that may see nothing needs a rule of its own.",
    library=attn_lib.masked_softmax,
    without=("none-not-handled", "one-mask-for-all-heads", "weights-returned-too"),
    hints=[
        "A forbidden key must get weight 0, and the other weights must still add up to 1. That is "
        "easiest if the mask acts before the softmax. Which score becomes exactly 0 after `exp`?",
        "`masked_fill` changes the entries where its condition is True. Your mask is True where a "
        "query may look, so what must the condition be? Then look at a row that is all -inf: what "
        "does the softmax make of it?",
        "Fill with -inf, take the softmax, and repair the fully masked rows last: which entries of "
        "the result must be 0 in any case? `masked_fill` does that, too. It also keeps NaN out of "
        "the gradients, where arithmetic with the mask does not: 0 * NaN is NaN.",
    ],
)
def masked_softmax(scores, mask):
    allowed = mask
    forbidden = ~allowed
    hidden = scores.masked_fill(forbidden, -torch.inf)
    weights = hidden.softmax(-1)
    # A row with nothing allowed is NaN until here.
    kept = weights.masked_fill(forbidden, 0.0)
    return kept


@masked_softmax.cases
def _(rng):
    def random(*shape, scale=2.0):
        return torch.randn(*shape, generator=rng) * scale

    def allowed(*shape):
        """A random mask in which each row allows at least one key."""
        mask = torch.rand(shape, generator=rng) < 0.6
        some = torch.randint(shape[-1], (*shape[:-1], 1), generator=rng)
        return mask.scatter(-1, some, True)

    def boolean(*rows):
        return torch.tensor(rows, dtype=torch.bool)

    one_row = (torch.tensor([[1.0, 2.0, 4.0]]), boolean([1, 1, 0]))
    yield Case("one row, the last key is forbidden", one_row)
    two_rows = (torch.tensor([[1.0, 2.0], [3.0, 4.0]]), boolean([1, 1], [0, 0]))
    yield Case("two rows, the second may see nothing", two_rows, finite)
    different = random(2, 3, 5, 7), allowed(2, 3, 5, 7)
    yield Case("all sizes different", different, finish=exact_zeros)
    yield Case("one mask (L, S) for all", (random(2, 3, 5, 7), allowed(5, 7)))
    yield Case("padding (B, 1, 1, S)", (random(2, 3, 5, 7), allowed(2, 1, 1, 7)))
    yield Case("a mask (H, 1, S)", (random(2, 3, 4, 5), allowed(3, 1, 5)))
    five_axes = (random(2, 1, 2, 3, 4), boolean(1, 0, 1, 1))
    yield Case("scores of five axes, a mask (S,)", five_axes)
    yield Case("B = L = S, a mask (L, S)", (random(4, 4, 4), allowed(4, 4)))
    yield Case("nothing forbidden", (random(2, 3, 4), boolean([1]).expand(3, 4)))
    zeros = (torch.tensor([[0.0, 1, 3], [2, 0, 0]]), boolean([1, 1, 0], [1, 0, 1]))
    yield Case("scores of 0 beside others", zeros)
    rows = torch.rand(2, 1, 5, 1, generator=rng) < 0.5
    rows[0, 0, :2, 0] = boolean(1, 0)
    about = "whole rows forbidden, a mask (B, 1, L, 1)"
    yield Case(about, (random(2, 3, 5, 4), rows), finite)
    yield Case("everything forbidden", (random(2, 3), boolean([0] * 3, [0] * 3)), finite)
    # A softmax over everything, hidden and made to add up to 1 again, is right as well: what is
    # forbidden may be larger, but not so much that nothing is left of the rest.
    few = boolean([1, 1, 1, 1], [1, 0, 0, 1], [0, 1, 0, 0])
    yield Case("forbidden scores of 60", (random(3, 4).masked_fill(~few, 60.0), few))
    far = torch.tensor([[0.0], [-200.0], [200.0]]).expand(3, 40)
    about = "rows 200 apart, two of forty equal scores allowed"
    yield Case(about, (far, torch.arange(40) < 2))
    for shift in (-150.0, 150.0):
        shifted = (random(2, 4, 6) + shift, allowed(4, 6))
        yield Case(f"every score near {shift:.0f}", shifted)
    mask = allowed(4, 6)
    mask[1], mask[0, 2], mask[2:, 4] = False, False, False
    # In float32, numbers near 20000 are 0.002 apart: correct answers differ by 1e-3 there.
    low = (random(2, 4, 6, scale=1.0) - 2e4, mask)
    yield Case("every score near -20000", low, grad=False, tolerance=1e-2)
    drawn = torch.randint(-8, 9, (2, 4, 6), generator=rng) / 4 - 2.0**20
    drawn[:, 0] += 2.0**21
    yield Case(APART, (drawn, allowed(4, 6)), **ROUGHLY)
    yield Case("not contiguous", (random(3, 6, 4).mT, mask.T.contiguous().T))
    yield Case("float64", (random(2, 4, 6).double(), mask), finite)
    half = random(2, 4, 6, scale=1.0)
    yield Case("float16", (half.half(), mask), finite, grad=False)
    yield Case("bfloat16", (half.bfloat16(), mask), grad=False)
    one_each = boolean([1, 0, 0], [0, 0, 1], [0, 0, 0])
    for dtype, lowest in (
        (torch.float32, -1e30),
        (torch.float64, -1e30),
        (torch.bfloat16, -1e30),
        (torch.float16, -3e4),
    ):
        equal = torch.full((3, 3), lowest, dtype=dtype)
        about = f"every score near {lowest:.0e}, in {dtype}, one key allowed"
        yield Case(about.replace("torch.", ""), (equal, one_each), finite, grad=False)
    exact = random(2, 4, 6).double() / 3, allowed(4, 6)
    yield Case("float64, to nine digits", exact, grad=False, tolerance=1e-9)
    about = "one of two sentences forbidden, a mask (B, 1, 1, 1)"
    yield Case(about, (random(2, 3, 2, 4), boolean(1, 0).view(2, 1, 1, 1)), finite)
    many = torch.arange(640.0).expand(2, 640) / 200, allowed(2, 640)
    yield Case("640 keys, each score above the one before", many)
    equal = torch.zeros(2, 640, dtype=torch.bfloat16)
    about = "bfloat16, 600 equal scores allowed"
    yield Case(about, (equal, torch.arange(640) < 600), grad=False)


masked_softmax.rows("""
`max`, `sum` and `any` take the last axis away. With which axis of the scores does what is left line
up? Look for `keepdim`.
    axis-lost  weights = (e := (scores - scores.amax(-1)).exp() * allowed) / e.sum(-1) ; kept = weights
    axis-lost  weights = (e := hidden.exp()) / e.sum(-1)
    axis-lost  kept = weights.masked_fill(~allowed.any(-1), 0.0)
What should one row of the result add up to? Which line of yours sees to it?
    softmax-missing  weights = hidden ; kept = weights
    softmax-missing  weights = hidden || hidden.sigmoid()
Print a row before the softmax, and after it. Which infinity do you fill in, and on which side of the softmax?
How large is the share of a forbidden key?
    forbidden-shares-not-zero  kept = weights.masked_fill(forbidden, -torch.inf)
    forbidden-shares-not-zero  kept = weights.masked_fill(forbidden, -1000000000.0)
Give it float16, float32 and float64: which dtype comes out? Which one should?
    dtype-changed  hidden = scores => scores.float() || scores => scores.double()
Which rows should be zero: those in which any key is forbidden, or those in which every key is?
    rows-with-any-forbidden-key-zeroed  kept = weights.masked_fill(~allowed.all(-1, keepdim=True), 0.0)
One row may see nothing. How many rows are zero then, and how many in yours? What does `any()` ask?
    one-empty-row-zeroes-all  kept = torch.zeros_like(weights) if weights.isnan().any() else weights
The result should have the shape of the scores. Which line of yours drops the forbidden keys instead
of setting them to 0?
    forbidden-keys-dropped  kept = scores[allowed.expand_as(scores)].softmax(-1)
You replace NaN when it is there already. On the way back, a gradient of 0 meets it: what is 0 * NaN?
`masked_fill` before the softmax stops it, adding -inf does not.
    nan-painted-over  hidden = scores + torch.zeros(allowed.shape).masked_fill(forbidden, -torch.inf).to(scores)
    nan-painted-over  hidden = scores + torch.zeros(allowed.shape).masked_fill(forbidden, -torch.inf)
Which line changes a tensor in place? Look for names that end in `_`, for `weights[...] = `, and for
`-=`. `masked_fill` without `_` makes a new tensor.
    written-in-place  kept = masked_fill => masked_fill_
Give it float16, and a row that may see nothing. What becomes of the -1e9 that you add? Can the mask
replace a score, instead of being added to it?
    added-1e9  hidden = scores + forbidden * -1e9 ; kept = weights
    added-1e9  hidden = scores + forbidden * -1e9
    added-1e9  hidden = scores + forbidden.to(scores) * -1e9 ; kept = weights
An allowed score can be exactly 0, too. How do you tell it from a forbidden one? Ask the mask, not
the score.
    zero-scores-hidden  allowed = _ & (scores != 0)
Take two rows, one with scores near 0, the other near -200. Which maximum do you subtract from the
second, and what is left of its exponentials?
    one-maximum-for-all  weights = (e := (hidden - hidden.max()).exp()) / (total := e.sum(-1, keepdim=True)).masked_fill(total == 0, 1.0)
Each query hands out a total of 1 of its own. What does one row of yours add up to, and what does the whole
tensor? Over which axis should the sum run?
    softmax-flattened  weights = (e := scores.exp().masked_fill(forbidden, 0.0)) / e.sum()
    softmax-flattened  weights = hidden.flatten().softmax(0).view_as(hidden)
What if the allowed scores are as low as your fill, or lower? Which number is below every score?
    fill-too-small  hidden = -torch.inf => -100.0
Which infinity is your fill? What is exp(inf), and what is exp(-inf)?
    fill-plus-inf  hidden = -torch.inf => torch.inf
    fill-plus-inf  hidden = -torch.inf => torch.inf ; kept = weights.nan_to_num(0.0)
""")

masked_softmax.drills(
    "fill-plus-inf, mask-added 1, softmax-over-queries, forbidden-scores-set-to-zero 1, "
    "rows-with-any-forbidden-key-zeroed, axis-lost 2, full-row-nan 1, fill-too-large-for-float16, full-row-uniform"
)
