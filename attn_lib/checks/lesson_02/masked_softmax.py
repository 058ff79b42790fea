"""The task `masked_softmax`: shares for the allowed keys only."""

import torch

import attn_lib
from attn_lib.checks.case import Case, call
from attn_lib.checks.lesson_02.runs import exact_zeros, softmax_with_finite_gradients
from attn_lib.checks.lesson_02.steps import (
    additive,
    weigh,
)
from attn_lib.checks.task import task


@task(
    lesson=2,
    points=3,
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
    return attn_lib.masked_softmax(scores, mask)


@masked_softmax.cases
def _(rng):
    def random(*shape, scale=2.0):
        return torch.randn(*shape, generator=rng) * scale

    def allowed(*shape):
        """A random mask in which each row allows at least one key."""
        mask = torch.rand(shape, generator=rng) < 0.6
        some = torch.randint(shape[-1], (*shape[:-1], 1), generator=rng)
        return mask.scatter(-1, some, True)

    def boolean(rows):
        return torch.tensor(rows, dtype=torch.bool)

    yield Case(
        "one row, the last key is forbidden",
        (torch.tensor([[1.0, 2.0, 4.0]]), boolean([[1, 1, 0]])),
    )
    yield Case(
        "two rows, the second may see nothing",
        (torch.tensor([[1.0, 2.0], [3.0, 4.0]]), boolean([[1, 1], [0, 0]])),
        softmax_with_finite_gradients,
    )
    yield Case(
        "all sizes different", (random(2, 3, 5, 7), allowed(2, 3, 5, 7)), exact_zeros
    )
    yield Case("one mask (L, S) for all", (random(2, 3, 5, 7), allowed(5, 7)))
    yield Case("padding (B, 1, 1, S)", (random(2, 3, 5, 7), allowed(2, 1, 1, 7)))
    yield Case("a mask (B, 1, L, S)", (random(3, 2, 4, 6), allowed(3, 1, 4, 6)))
    yield Case("a mask (H, 1, S)", (random(2, 3, 4, 5), allowed(3, 1, 5)))
    yield Case(
        "scores of five axes, a mask (S,)", (random(2, 1, 2, 3, 4), boolean([1, 0, 1, 1]))
    )
    yield Case("scores (B, L, S), a mask (L, S)", (random(2, 5, 4), allowed(5, 4)))
    yield Case("B = L = S, a mask (L, S)", (random(4, 4, 4), allowed(4, 4)))
    yield Case(
        "every size 3, padding (B, 1, 1, S)", (random(3, 3, 3, 3), allowed(3, 1, 1, 3))
    )
    yield Case("a causal square", (random(5, 5), torch.ones(5, 5).tril().bool()))
    yield Case("nothing forbidden", (random(2, 3, 4), boolean([[True]]).expand(3, 4)))
    yield Case(
        "scores of 0 beside others",
        (torch.tensor([[0.0, 1.0, 3.0], [2.0, 0.0, 0.0]]), boolean([[1, 1, 0], [1, 0, 1]])),
    )
    yield Case("one key, allowed or not", (random(2, 3, 1), boolean([[1], [0], [1]])))
    rows = torch.rand(2, 1, 5, 1, generator=rng) < 0.5
    rows[0, 0, :2, 0] = boolean([True, False])
    yield Case(
        "whole rows forbidden, a mask (B, 1, L, 1)",
        (random(2, 3, 5, 4), rows),
        softmax_with_finite_gradients,
    )
    yield Case(
        "causal, more queries than keys: the first rows see nothing",
        (random(2, 5, 3), torch.ones(5, 3).tril(-2).bool()),
        softmax_with_finite_gradients,
    )
    yield Case(
        "everything forbidden",
        (random(2, 3), boolean([[False]]).expand(2, 3)),
        softmax_with_finite_gradients,
    )
    mask = allowed(4, 6)
    mask[1], mask[0, 2], mask[2:, 4] = False, False, False
    scores = random(2, 4, 6)
    # A softmax over everything, hidden and made to add up to 1 again, is right as well: what is
    # forbidden may be larger, but not so much that nothing is left of the rest.
    few = allowed(3, 4)
    few[0], few[1, 2] = True, False
    few[1, 0] = True
    yield Case("forbidden scores of 60", (random(3, 4).masked_fill(~few, 60.0), few))
    low = random(2, 4, 6).masked_fill(~mask, -1e30)
    yield Case("forbidden scores of -1e30", (low, mask))
    far = torch.tensor([[0.0], [-200.0], [200.0]]).expand(3, 40)
    two = torch.arange(40) < 2
    yield Case("rows 200 apart, two of forty equal scores allowed", (far, two))
    for shift in (-30.0, -150.0, 150.0):
        yield Case(
            f"every score near {shift:.0f}", (random(2, 4, 6) + shift, allowed(4, 6))
        )
    # In float32, numbers near 20000 are 0.002 apart: correct answers differ by 1e-3 there.
    for shift in (-2e4, 2e4):
        scores = random(2, 4, 6, scale=1.0) + shift
        about = f"every score near {shift:.0f}"
        yield Case(about, (scores, mask), grad=False, tolerance=1e-2)
    yield Case("not contiguous", (random(3, 6, 4).mT, mask.T.contiguous().T))
    yield Case("float64", (random(2, 4, 6).double(), mask), softmax_with_finite_gradients)
    for dtype in (torch.float16, torch.bfloat16):
        about = f"{dtype}".removeprefix("torch.")
        half = random(2, 4, 6, scale=1.0).to(dtype)
        run = softmax_with_finite_gradients if dtype == torch.float16 else call
        yield Case(about, (half, mask), run, grad=False)


@masked_softmax.mistake(
    "inverted",
    "True means 'may look' here. `masked_fill` changes the entries where its condition is True: "
    "which ones do you hide?",
)
def _(scores, mask):
    return scores.masked_fill(mask, -torch.inf).softmax(-1)


@masked_softmax.mistake(
    "inverted",
    "True means 'may look' here. Which entries of yours are 0, the allowed or the forbidden ones?",
)
def _(scores, mask):
    return weigh(scores, ~mask)


@masked_softmax.mistake(
    "inverted",
    "`masked_fill` changes the entries where its condition is True. Which weights does your last step "
    "remove, the allowed or the forbidden ones?",
)
def _(scores, mask):
    return scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(mask, 0.0)


@masked_softmax.mistake(
    "inverted",
    "True means 'may look' here. `masked_fill` changes the entries where its condition is True: "
    "which ones do you hide? And what is the largest number float16 can hold?",
)
def _(scores, mask):
    return scores.masked_fill(mask, -1e9).softmax(-1)


@masked_softmax.mistake(
    "full-row-nan",
    "In a row that may see nothing, what do the exponentials add up to, and what is 0 / 0? If you "
    "multiply by the mask afterwards: what is NaN * 0?",
)
def _(scores, mask):
    return scores.masked_fill(~mask, -torch.inf).softmax(-1)


@masked_softmax.mistake(
    "full-row-nan",
    "You ask whether everything is forbidden, in all rows. What if it is so in one row only?",
)
def _(scores, mask):
    if not mask.any():
        return torch.zeros_like(scores)
    return scores.masked_fill(~mask, -torch.inf).softmax(-1)


@masked_softmax.mistake(
    "full-row-uniform",
    "In a row that may see nothing, your fill makes all scores equal. What does the softmax make of "
    "equal scores, and to whom does that row attend now?",
)
def _(scores, mask):
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1)


@masked_softmax.mistake(
    "fill-1e9",
    "Two questions. In a row that may see nothing, all your scores are equal: what does the softmax "
    "make of them? And what is the largest number float16 can hold?",
)
def _(scores, mask):
    return scores.masked_fill(~mask, -1e9).softmax(-1)


@masked_softmax.mistake(
    "fill-too-large-for-float16",
    "What is the largest number float16 can hold, and what do you fill in? Which fill fits into "
    "every float type?",
)
def _(scores, mask):
    return scores.masked_fill(~mask, -1e9).softmax(-1).masked_fill(~mask, 0.0)


@masked_softmax.mistake(
    "fill-not-low-enough",
    "What if the allowed scores are as low as your fill? And what becomes of a row in which "
    "everything is filled?",
)
def _(scores, mask):
    return scores.masked_fill(~mask, -1e4).softmax(-1)


@masked_softmax.mistake(
    "fill-not-low-enough",
    "What if the allowed scores are as low as your fill, or lower? Which fill lies below every score?",
)
def _(scores, mask):
    return scores.masked_fill(~mask, -1e4).softmax(-1).masked_fill(~mask, 0.0)


_ZERO = (
    "A forbidden score becomes 0 in yours, or nearly 0. What is exp(0), and is it smaller than the "
    "exp of every allowed score?"
)


@masked_softmax.mistake("forbidden-scores-set-to-zero", _ZERO)
def _(scores, mask):
    return (scores * mask).softmax(-1)


@masked_softmax.mistake("forbidden-scores-set-to-zero", _ZERO)
def _(scores, mask):
    return scores.masked_fill(~mask, -1e-9).softmax(-1)


@masked_softmax.mistake("forbidden-scores-set-to-zero", _ZERO)
def _(scores, mask):
    return (scores * mask).softmax(-1) * mask


@masked_softmax.mistake(
    "not-renormalized",
    "What do your weights of one row add up to, after you have removed the forbidden ones?",
)
def _(scores, mask):
    return scores.softmax(-1) * mask


_EPSILON = (
    "Let a forbidden score be 60, and the others near 0. How large is what your mask leaves over, "
    "beside your epsilon? Can the mask act before the softmax?"
)


@masked_softmax.mistake("epsilon-in-denominator", _EPSILON)
def _(scores, mask):
    weights = scores.softmax(-1) * mask
    return weights / (weights.sum(-1, keepdim=True) + 1e-9)


@masked_softmax.mistake("epsilon-in-denominator", _EPSILON)
def _(scores, mask):
    weights = scores.softmax(-1) * mask
    return weights / (weights.sum(-1, keepdim=True) + 1e-6)


_OVERFLOW = (
    "What is the exp of a score of 150, and of -150? What is inf * 0? Lesson 01 subtracted "
    "something first: which maximum is it, now that some keys are forbidden?"
)


@masked_softmax.mistake("maximum-not-subtracted", _OVERFLOW)
def _(scores, mask):
    e = scores.exp() * mask
    return e / e.sum(-1, keepdim=True)


@masked_softmax.mistake("maximum-not-subtracted", _OVERFLOW)
def _(scores, mask):
    e = scores.exp() * mask
    return e / (e.sum(-1, keepdim=True) + 1e-9)


@masked_softmax.mistake("maximum-not-subtracted", _OVERFLOW)
def _(scores, mask):
    e = scores.exp().masked_fill(~mask, 0.0)
    return e / (e.sum(-1, keepdim=True) + 1e-9)


@masked_softmax.mistake("maximum-not-subtracted", _OVERFLOW)
def _(scores, mask):
    e = scores.exp() * mask
    return e / (e.sum(-1, keepdim=True) + 1e-6)


@masked_softmax.mistake("maximum-not-subtracted", _OVERFLOW)
def _(scores, mask):
    e = scores.exp() * mask
    total = e.sum(-1, keepdim=True)
    return e / total.masked_fill(total == 0, 1.0)


@masked_softmax.mistake(
    "axis-lost",
    "`max` and `sum` take the last axis away. With which axis of the scores do they line up then? Look "
    "for `keepdim`. And what is 0 / 0, in a row that may see nothing?",
)
def _(scores, mask):
    e = (scores - scores.amax(-1)).exp() * mask
    return e / e.sum(-1)


@masked_softmax.mistake(
    "one-maximum-for-all",
    "Take two rows, one with scores near 0, the other near -200. Which maximum do you subtract from "
    "the second, and what is left of its exponentials?",
)
def _(scores, mask):
    e = (scores - scores.max()).exp() * mask
    total = e.sum(-1, keepdim=True)
    return e / total.masked_fill(total == 0, 1.0)


_WRONG_AXIS = (
    "Each query hands out a total of 1 among its keys. Which axis of the scores holds the keys, in "
    "2 axes as well as in 4?"
)


@masked_softmax.mistake("softmax-over-the-wrong-axis", _WRONG_AXIS)
def _(scores, mask):
    return scores.masked_fill(~mask, -torch.inf).softmax(-2).masked_fill(~mask, 0.0)


@masked_softmax.mistake("softmax-over-the-wrong-axis", _WRONG_AXIS)
def _(scores, mask):
    return scores.masked_fill(~mask, -torch.inf).softmax(1).masked_fill(~mask, 0.0)


@masked_softmax.mistake("softmax-over-the-wrong-axis", _WRONG_AXIS)
def _(scores, mask):
    return scores.masked_fill(~mask, -torch.inf).softmax(0).masked_fill(~mask, 0.0)


@masked_softmax.mistake("softmax-over-the-wrong-axis", _WRONG_AXIS)
def _(scores, mask):
    return scores.masked_fill(~mask, -torch.inf).softmax(-2)


_PAINTED = (
    "You replace NaN when it is there already. On the way back, a gradient of 0 meets it: what is "
    "0 * NaN? `masked_fill` before the softmax stops it, adding -inf does not."
)


@masked_softmax.mistake("nan-painted-over", _PAINTED)
def _(scores, mask):
    return (scores + additive(mask).to(scores)).softmax(-1).nan_to_num(0.0)


@masked_softmax.mistake(
    "nan-painted-over", _PAINTED + " And which dtype comes out for float16?"
)
def _(scores, mask):
    return (scores + additive(mask)).softmax(-1).nan_to_num(0.0)


@masked_softmax.mistake(
    "written-in-place",
    "Which line changes a tensor in place? Look for names that end in `_`, for `weights[...] = `, and "
    "for `-=`. `masked_fill` without `_` makes a new tensor.",
)
def _(scores, mask):
    return scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill_(~mask, 0.0)


_ZERO_TIMES_INF = "What is 0 * -inf? Print what you add, for an allowed key."


@masked_softmax.mistake("zero-times-inf", _ZERO_TIMES_INF)
def _(scores, mask):
    return (scores + (~mask).to(scores) * -torch.inf).softmax(-1)


@masked_softmax.mistake("zero-times-inf", _ZERO_TIMES_INF)
def _(scores, mask):
    return (scores + (~mask).to(scores) * -torch.inf).softmax(-1).nan_to_num(0.0)


@masked_softmax.mistake(
    "boolean-subtracted",
    "The message names the way out: which operator turns True into False in a boolean tensor?",
)
def _(scores, mask):
    return (scores + (1 - mask) * -1e9).softmax(-1)


@masked_softmax.mistake(
    "added-1e9",
    "Two things to try: a row that may see nothing, and the dtype of your result for float16. Can "
    "the mask replace a score, instead of being added to it?",
)
def _(scores, mask):
    return (scores + (1 - mask.float()) * -1e9).softmax(-1)


@masked_softmax.mistake(
    "added-1e9",
    "Give it float16 scores: which dtype has what you add, and which one comes out? Can the mask "
    "replace a score, instead of being added to it?",
)
def _(scores, mask):
    return (scores + (~mask) * -1e9).softmax(-1) * mask


@masked_softmax.mistake(
    "added-1e9",
    "What is the largest number float16 can hold, and what becomes of -1e9 there? Then look at a row "
    "that may see nothing: what does your last step make of NaN?",
)
def _(scores, mask):
    return (scores + (1 - mask.to(scores)) * -1e9).softmax(-1) * mask


@masked_softmax.mistake(
    "mask-added",
    "As numbers, True is 1 and False is 0. What does adding them to a score do, and is the forbidden "
    "key hidden?",
)
def _(scores, mask):
    return (scores + mask).softmax(-1)


@masked_softmax.mistake(
    "mask-added",
    "As numbers, True is 1 and False is 0. What does adding them to a score do? And what do your "
    "weights of one row add up to?",
)
def _(scores, mask):
    return (scores + mask).softmax(-1) * mask


@masked_softmax.mistake(
    "dtype-changed",
    "Give it float16, then float64: which dtype comes out? Which one should?",
)
def _(scores, mask):
    return weigh(scores.float(), mask)


@masked_softmax.mistake(
    "dtype-changed",
    "You compute in float64, which is fine. But which dtype should the result have?",
)
def _(scores, mask):
    return weigh(scores.double(), mask)


@masked_softmax.mistake("mask-ignored", "Where do you use the mask? Flip one entry of it.")
def _(scores, mask):
    return scores.softmax(-1)


@masked_softmax.mistake(
    "mask-transposed",
    "Row i of the mask belongs to query i. To whom does it belong in yours?",
)
def _(scores, mask):
    return weigh(scores, mask.mT)


@masked_softmax.mistake(
    "softmax-missing", "These are scores. What should one row of the result add up to?"
)
def _(scores, mask):
    return scores.masked_fill(~mask, -torch.inf)


@masked_softmax.mistake(
    "rows-with-any-forbidden-key-zeroed",
    "Which rows should be zero: those in which any key is forbidden, or those in which every key is?",
)
def _(scores, mask):
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
    return weights.masked_fill(~mask.all(-1, keepdim=True), 0.0)


@masked_softmax.mistake(
    "zero-scores-hidden",
    "An allowed score can be exactly 0, too. How do you tell it from a forbidden one? Ask the mask, "
    "not the score.",
)
def _(scores, mask):
    hidden = scores * mask == 0
    return scores.masked_fill(hidden, -torch.inf).softmax(-1).masked_fill(hidden, 0.0)


@masked_softmax.mistake(
    "zero-scores-hidden",
    "An allowed score can be exactly 0, too. How do you tell it from a forbidden one? And what "
    "becomes of a row that may see nothing?",
)
def _(scores, mask):
    return scores.masked_fill(scores * mask == 0, -torch.inf).softmax(-1)


_INDEX = (
    "`scores[~mask]` needs a mask of the very shape of the scores. Which function takes one that is "
    "broadcast?"
)


@masked_softmax.mistake("mask-as-index", _INDEX)
def _(scores, mask):
    scores = scores.clone()
    scores[~mask] = -torch.inf
    return scores.softmax(-1)


@masked_softmax.mistake("mask-as-index", _INDEX)
def _(scores, mask):
    scores = scores.clone()
    scores[~mask] = -torch.inf
    return scores.softmax(-1).nan_to_num(0.0)


@masked_softmax.mistake(
    "mask-as-index",
    "`weights[...] = 0` needs an index of the very shape of the weights, and it writes into a tensor "
    "that the way back still needs. Which function makes a new one, of a mask that is broadcast?",
)
def _(scores, mask):
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
    weights[~mask.any(-1)] = 0.0
    return weights


@masked_softmax.mistake(
    "axis-of-the-row-test-lost",
    "You ask for each row whether any key is allowed. Print the shape of that: which axis is lost, and "
    "with which axes of the weights does it line up now? Look for `keepdim`.",
)
def _(scores, mask):
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
    return weights.masked_fill(~mask.any(-1), 0.0)


@masked_softmax.mistake(
    "forbidden-keys-dropped",
    "The result should have the shape of the scores. Which line of yours drops the forbidden keys "
    "instead of setting them to 0?",
)
def _(scores, mask):
    return scores[mask.expand_as(scores)].softmax(-1)
