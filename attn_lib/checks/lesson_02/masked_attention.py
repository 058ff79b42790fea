"""The task `masked_attention`: attention with heads, and with a mask of any shape that fits."""

import math

import torch
import torch.nn.functional as F

from attn_lib import einsum_attention
from attn_lib.checks.case import Case, call
from attn_lib.checks.lesson_02.runs import attention_with_finite_gradients
from attn_lib.checks.lesson_02.steps import (
    additive,
    ones,
    scaled,
    weigh,
)
from attn_lib.checks.task import task


@task(
    lesson=2,
    points=3,
    returns=("output",),
    hints=[
        "Lesson 01 had (B, L, D); here every tensor has a head axis after B. Which lines of your "
        "attention change, if you write them with `...` in einsum, or with `.mT` and `@`?",
        "The mask acts on the scores (B, H, L, S), before the softmax. All its shapes broadcast to "
        "that as they are. You have written the masked softmax already.",
        "Two branches: without a mask the plain softmax, with a mask `masked_softmax`. Ask "
        "`mask is None`: a tensor of many entries is neither true nor false. Return the output only.",
    ],
)
def masked_attention(q, k, v, mask=None):
    return einsum_attention(q, k, v, mask=mask)[0]


@masked_attention.cases
def _(rng):
    def random(B, H, L, S, D=6, Dv=4, scale=1.2):
        q, k = (torch.randn(B, H, n, D, generator=rng) * scale for n in (L, S))
        return q, k, torch.randn(B, H, S, Dv, generator=rng)

    def allowed(*shape):
        """A random mask in which each row allows at least one key and forbids at least one."""
        order = torch.rand(shape, generator=rng).argsort(-1)
        count = torch.randint(1, shape[-1], (*shape[:-1], 1), generator=rng)
        return order < count

    def padding(*lengths, S):
        return (torch.arange(S) < torch.tensor(lengths)[:, None])[:, None, None, :]

    tiny = (
        torch.tensor([[[[2.0, 0.0, 0.0, 0.0]]]]),
        torch.tensor(
            [[[[2.0, 0.0, 0.0, 1.0], [1.0, 2.0, 0.0, 1.0], [3.0, 0.0, 0.0, 0.0]]]]
        ),
        torch.tensor([[[[4.0, 0.0], [0.0, 8.0], [9.0, 9.0]]]]),
    )
    yield Case(
        "one query, the last of three keys is forbidden",
        (*tiny, torch.tensor([[True, True, False]])),
    )
    yield Case("one query, three keys, no mask", tiny)
    yield Case(
        "a query that may see nothing",
        (*tiny, ~ones(1, 3)),
        attention_with_finite_gradients,
    )
    yield Case("all sizes different, no mask", random(2, 3, 5, 7))
    given = (*random(2, 3, 5, 7), None)
    yield Case("all sizes different, `mask=None` given", given, grad=False)
    yield Case("all sizes different, one mask (L, S)", (*random(2, 3, 5, 7), allowed(5, 7)))
    yield Case(
        "unequal padding, a mask (B, 1, 1, S)", (*random(2, 3, 5, 7), padding(7, 4, S=7))
    )
    yield Case("a mask (B, 1, L, S)", (*random(2, 3, 5, 7), allowed(2, 1, 5, 7)))
    yield Case(
        "a mask for each head, (B, H, L, S)", (*random(2, 3, 5, 7), allowed(2, 3, 5, 7))
    )
    yield Case(
        "causal, two new queries, six keys", (*random(2, 3, 2, 6), ones(2, 6).tril(4))
    )
    yield Case(
        "causal and padded, a mask (B, 1, L, S)",
        (*random(2, 3, 6, 6, Dv=6), ones(6, 6).tril() & padding(4, 6, S=6)),
    )
    for about, inputs in (
        ("B = L, a mask (L, S)", (*random(4, 2, 4, 6), allowed(4, 6))),
        ("B = H, padding", (*random(3, 3, 5, 4), padding(1, 3, 4, S=4))),
        ("B = H, a mask (B, 1, L, S)", (*random(3, 3, 2, 4), allowed(3, 1, 2, 4))),
        ("H = L, a mask (L, S)", (*random(2, 4, 4, 6), allowed(4, 6))),
        ("every size 3, a mask (L, S)", (*random(3, 3, 3, 3, 3, 3), allowed(3, 3))),
        ("every size 3, padding", (*random(3, 3, 3, 3, 3, 3), padding(2, 3, 1, S=3))),
        ("every size 4, no mask", random(4, 4, 4, 4, 4, 4)),
    ):
        yield Case(about, inputs, grad=False)
    yield Case(
        "one key, allowed in one of two sentences",
        (*random(2, 3, 4, 1), padding(1, 0, S=1)),
        attention_with_finite_gradients,
    )
    yield Case("one sentence, one head, D = 1", (*random(1, 1, 3, 5, 1, 2), allowed(3, 5)))
    yield Case(
        "20 words, D = 64, causal",
        (*random(1, 2, 20, 20, 64, 8, scale=0.5), ones(20, 20).tril()),
    )
    empty = ones(5, 3).tril(-2)
    yield Case(
        "causal, more queries than keys: the first two see nothing",
        (*random(2, 3, 5, 3), empty),
        attention_with_finite_gradients,
    )
    yield Case(
        "an empty sentence beside a full one",
        (*random(2, 3, 4, 5), padding(5, 0, S=5)),
        attention_with_finite_gradients,
    )
    hidden = padding(3, 5, S=6)
    far = ~hidden.mT  # (B, 1, S, 1)
    q, k, v = random(2, 3, 4, 6)
    q[..., 0] = q[..., 0].abs() + 0.5
    k = k.masked_fill(far, 0.0)
    k[..., :1] = k[..., :1].masked_fill(far, -1e30)
    yield Case(
        "forbidden keys and values hold -1e30 and 1e30",
        (q, k, v.masked_fill(far, 1e30), hidden),
    )
    *_, v = random(1, 2, 3, 4, 4)
    right = [torch.eye(n, 4).expand(1, 2, n, 4) for n in (3, 4)]
    yield Case("vectors at right angles", (*right, v, ones(3, 4).tril(1)))
    q, k, v = random(2, 3, 4, 6)
    push = F.normalize(torch.randn(2, 3, 1, 6, generator=rng), dim=-1)
    yield Case(
        "every allowed score near -30, forbidden ones 0",
        (q * 0.3 + push * 8.6, (k * 0.3 - push * 8.6).masked_fill(far, 0.0), v, hidden),
    )
    apart = torch.tensor([[20.0, 0.0], [-20.0, 0.0]]).expand(1, 2, 2, 2)
    near = torch.randn(1, 2, 3, 2, generator=rng) * 0.5 + torch.tensor([10.0, 0.0])
    v = torch.randn(1, 2, 3, 4, generator=rng)
    yield Case(
        "scores near 140 in one row, near -140 in the other",
        (apart, near, v, ones(2, 3).tril(1)),
    )
    q, k, v = random(2, 3, 4, 6)
    # In float32, numbers near 20000 are 0.002 apart: correct answers differ by 1e-3 there.
    for about, sign in (("20000", 1), ("-20000", -1)):
        near = k * 0.1 + sign * push * 221.0
        large = (q * 0.1 + push * 221.0, near, v, hidden)
        yield Case(f"every score near {about}", large, grad=False, tolerance=2e-2)
    q, k, v = (t.transpose(1, 2).contiguous().transpose(1, 2) for t in random(2, 3, 4, 5))
    yield Case("not contiguous", (q, k, v, allowed(5, 4).T))
    some = allowed(4, 5)
    some[1] = False
    yield Case("float64", (*(t.double() for t in random(2, 3, 4, 5)), some))
    for dtype in (torch.float16, torch.bfloat16):
        about = f"{dtype}".removeprefix("torch.")
        half = tuple(t.to(dtype) for t in random(2, 3, 4, 5, scale=1.0))
        run = attention_with_finite_gradients if dtype == torch.float16 else call
        yield Case(about, (*half, some), run, grad=False)


def _attend(q, k, v, mask, scores=None):
    return weigh(scaled(q, k) if scores is None else scores, mask) @ v


def _filled(q, k, mask, value):
    scores = scaled(q, k)
    return scores if mask is None else scores.masked_fill(~mask, value)


@masked_attention.mistake(
    "mask-ignored", "Where do you use the mask? Flip one entry of it: does the output move?"
)
def _(q, k, v, mask=None):
    return _attend(q, k, v, None)


@masked_attention.mistake(
    "inverted",
    "True means 'may look' here. `masked_fill` changes the entries where its condition is True: "
    "which ones do you hide?",
)
def _(q, k, v, mask=None):
    return _filled(q, k, None if mask is None else ~mask, -torch.inf).softmax(-1) @ v


@masked_attention.mistake(
    "inverted",
    "True means 'may look' here. Does your output come from the allowed or the forbidden keys?",
)
def _(q, k, v, mask=None):
    return _attend(q, k, v, None if mask is None else ~mask)


@masked_attention.mistake(
    "inverted",
    "True means 'may look' here. `masked_fill` changes the entries where its condition is True: "
    "which ones do you hide? And what is the largest number float16 can hold?",
)
def _(q, k, v, mask=None):
    return _filled(q, k, None if mask is None else ~mask, -1e9).softmax(-1) @ v


@masked_attention.mistake(
    "full-row-nan",
    "In a row that may see nothing, what do the exponentials add up to, and what is 0 / 0? If you "
    "multiply by the mask afterwards: what is NaN * 0?",
)
def _(q, k, v, mask=None):
    return _filled(q, k, mask, -torch.inf).softmax(-1) @ v


@masked_attention.mistake(
    "full-row-uniform",
    "In a row that may see nothing, your fill makes all scores equal. A mean of which values does "
    "that query get?",
)
def _(q, k, v, mask=None):
    return _filled(q, k, mask, torch.finfo(q.dtype).min).softmax(-1) @ v


@masked_attention.mistake(
    "fill-1e9",
    "Two questions. In a row that may see nothing, all your scores are equal: what does that query "
    "get? And what is the largest number float16 can hold?",
)
def _(q, k, v, mask=None):
    return _filled(q, k, mask, -1e9).softmax(-1) @ v


@masked_attention.mistake(
    "fill-too-large-for-float16",
    "What is the largest number float16 can hold, and what do you fill in? Which fill fits into "
    "every float type?",
)
def _(q, k, v, mask=None):
    weights = _filled(q, k, mask, -1e9).softmax(-1)
    return (weights if mask is None else weights * mask) @ v


@masked_attention.mistake(
    "fill-not-low-enough",
    "What if the allowed scores are as low as your fill? And what becomes of a row in which "
    "everything is filled?",
)
def _(q, k, v, mask=None):
    return _filled(q, k, mask, -1e4).softmax(-1) @ v


@masked_attention.mistake(
    "fill-not-low-enough",
    "What if the allowed scores are as low as your fill, or lower? Which fill lies below every score?",
)
def _(q, k, v, mask=None):
    weights = _filled(q, k, mask, -1e4).softmax(-1)
    return (weights if mask is None else weights * mask) @ v


_ZERO = (
    "A forbidden score becomes 0 in yours, or nearly 0. What is exp(0), and is it smaller than the "
    "exp of every allowed score?"
)


@masked_attention.mistake("forbidden-scores-set-to-zero", _ZERO)
def _(q, k, v, mask=None):
    return _filled(q, k, mask, 0.0).softmax(-1) @ v


@masked_attention.mistake(
    "weights-not-renormalized",
    "You remove weights after the softmax. What do the others add up to, in one row?",
)
def _(q, k, v, mask=None):
    weights = scaled(q, k).softmax(-1)
    return (weights if mask is None else weights * mask) @ v


@masked_attention.mistake(
    "epsilon-in-denominator",
    "Let a forbidden score be 30 above all others. How large is what your mask leaves over, beside "
    "your epsilon? Can the mask act before the softmax?",
)
def _(q, k, v, mask=None):
    weights = scaled(q, k).softmax(-1)
    if mask is not None:
        weights = weights * mask
        weights = weights / (weights.sum(-1, keepdim=True) + 1e-9)
    return weights @ v


_PAINTED = (
    "You paint over NaN that is there already. On the way back, a gradient of 0 meets it: what is "
    "0 * NaN? Repair the weights before they meet v."
)


@masked_attention.mistake("nan-painted-over", _PAINTED)
def _(q, k, v, mask=None):
    return (_filled(q, k, mask, -torch.inf).softmax(-1) @ v).nan_to_num(0.0)


@masked_attention.mistake("nan-painted-over", _PAINTED)
def _(q, k, v, mask=None):
    if mask is None:
        return _attend(q, k, v, None)
    scores = scaled(q, k) + additive(mask).to(q)
    return scores.softmax(-1).nan_to_num(0.0) @ v


@masked_attention.mistake("nan-painted-over", _PAINTED)
def _(q, k, v, mask=None):
    if mask is None:
        return _attend(q, k, v, None)
    scores = scaled(q, k) + additive(mask).to(q)
    return (scores.softmax(-1) @ v).nan_to_num(0.0)


@masked_attention.mistake(
    "written-in-place",
    "Which line changes a tensor in place? Look for names that end in `_`, for `weights[...] = `, and "
    "for `-=`. `masked_fill` without `_` makes a new tensor.",
)
def _(q, k, v, mask=None):
    weights = _filled(q, k, mask, -torch.inf).softmax(-1)
    return (weights if mask is None else weights.masked_fill_(~mask, 0.0)) @ v


@masked_attention.mistake(
    "zero-times-inf", "What is 0 * -inf? Print what you add for an allowed key."
)
def _(q, k, v, mask=None):
    if mask is None:
        return _attend(q, k, v, None)
    return (scaled(q, k) + (~mask).to(q) * -torch.inf).softmax(-1) @ v


@masked_attention.mistake(
    "mask-added",
    "As numbers, True is 1 and False is 0. What does adding them to a score do, and is the forbidden "
    "key hidden?",
)
def _(q, k, v, mask=None):
    return _attend(q, k, v, None, scaled(q, k) + (0 if mask is None else mask))


@masked_attention.mistake(
    "boolean-subtracted",
    "The message names the way out: which operator turns True into False in a boolean tensor?",
)
def _(q, k, v, mask=None):
    if mask is None:
        return _attend(q, k, v, None)
    return _attend(q, k, v, None, scaled(q, k) + (1 - mask) * -1e9)


_ADDEND = (
    "Which dtype has what you add, and which one have the scores after it, if q is float16? Can the "
    "mask replace a score, instead of being added to it?"
)


@masked_attention.mistake("added-1e9", _ADDEND)
def _(q, k, v, mask=None):
    if mask is None:
        return _attend(q, k, v, None)
    return ((scaled(q, k) + (~mask) * -1e9).softmax(-1) * mask) @ v


@masked_attention.mistake(
    "added-1e9", _ADDEND + " And what does a query get that may see nothing?"
)
def _(q, k, v, mask=None):
    return _attend(q, k, v, None, scaled(q, k) + (0 if mask is None else (~mask) * -1e9))


_OVERFLOW = (
    "What is the exp of a score of 150, and of -150? Lesson 01 subtracted something first. Your "
    "`masked_softmax` takes care of it, too."
)


@masked_attention.mistake("maximum-not-subtracted", _OVERFLOW)
def _(q, k, v, mask=None):
    e = scaled(q, k).exp() * (True if mask is None else mask)
    total = e.sum(-1, keepdim=True)
    return (e / total.masked_fill(total == 0, 1.0)) @ v


@masked_attention.mistake(
    "maximum-not-subtracted",
    _OVERFLOW + " And what is 0 / 0, in a row that may see nothing?",
)
def _(q, k, v, mask=None):
    e = scaled(q, k).exp() * (True if mask is None else mask)
    return (e / e.sum(-1, keepdim=True)) @ v


_NONE = "What happens without a mask? Which line must not run if `mask is None`?"


@masked_attention.mistake("none-not-handled", _NONE)
def _(q, k, v, mask=None):
    return weigh(scaled(q, k), ~~mask) @ v


@masked_attention.mistake("none-not-handled", _NONE)
def _(q, k, v, mask=None):
    return weigh(scaled(q, k), mask.bool()) @ v


_ALL_TRUE = (
    "Without a mask yours forbids everything. In the mask you make up for that case, what stands for "
    "'may look', True or False? And what do you do with it afterwards?"
)


@masked_attention.mistake("inverted", _ALL_TRUE)
def _(q, k, v, mask=None):
    mask = ones(q.shape[-2], k.shape[-2]) if mask is None else mask
    return _attend(q, k, v, ~mask)


@masked_attention.mistake("inverted", _ALL_TRUE)
def _(q, k, v, mask=None):
    mask = ones(q.shape[-2], k.shape[-2]) if mask is None else mask
    return _filled(q, k, ~mask, -torch.inf).softmax(-1) @ v


@masked_attention.mistake(
    "inverted",
    "True means 'may look' here. Does your output come from the allowed or the forbidden keys? Then "
    "look at a query that may see nothing: in which line does the NaN arise?",
)
def _(q, k, v, mask=None):
    scores = _filled(q, k, None if mask is None else ~mask, -torch.inf)
    return (scores.softmax(-1) @ v).nan_to_num(0.0)


@masked_attention.mistake(
    "made-up-mask-not-boolean",
    "Without a mask you make one yourself. Which dtype does `torch.ones` give, and which one has a mask "
    "that is given?",
)
def _(q, k, v, mask=None):
    mask = torch.ones(q.shape[-2], k.shape[-2]) if mask is None else mask
    return _attend(q, k, v, mask)


_NONE_AND_EMPTY = _NONE + " Then: what does a query get that may see nothing?"


@masked_attention.mistake("none-not-handled", _NONE_AND_EMPTY)
def _(q, k, v, mask=None):
    return scaled(q, k).masked_fill(~mask, -torch.inf).softmax(-1) @ v


@masked_attention.mistake("none-not-handled", _NONE_AND_EMPTY)
def _(q, k, v, mask=None):
    return scaled(q, k).masked_fill(~mask, -1e9).softmax(-1) @ v


@masked_attention.mistake("none-not-handled", _NONE_AND_EMPTY)
def _(q, k, v, mask=None):
    return (scaled(q, k).masked_fill(~mask, -torch.inf).softmax(-1) @ v).nan_to_num()


@masked_attention.mistake("none-not-handled", _NONE_AND_EMPTY)
def _(q, k, v, mask=None):
    return scaled(q, k).masked_fill(mask == 0, -1e9).softmax(-1) @ v


_TRUTH = (
    "Python asks whether the whole mask is true. What do you want to know instead: is there one? "
    "Use `is`."
)


@masked_attention.mistake("mask-as-truth-value", _TRUTH)
def _(q, k, v, mask=None):
    return _attend(q, k, v, mask if mask else None)


@masked_attention.mistake("mask-as-truth-value", _TRUTH)
def _(q, k, v, mask=None):
    return _filled(q, k, mask if mask else None, -torch.inf).softmax(-1) @ v


@masked_attention.mistake("mask-as-truth-value", _TRUTH)
def _(q, k, v, mask=None):
    return _filled(q, k, mask if mask else None, -1e9).softmax(-1) @ v


@masked_attention.mistake(
    "none-becomes-causal", "Nobody asked for a mask here. May query 0 see the last key?"
)
def _(q, k, v, mask=None):
    if mask is None:
        mask = ones(q.shape[-2], k.shape[-2]).tril(k.shape[-2] - q.shape[-2])
    return _attend(q, k, v, mask)


@masked_attention.mistake(
    "causal-always", "Which mask do you use: your own, or the one that was given?"
)
def _(q, k, v, mask=None):
    causal = ones(q.shape[-2], k.shape[-2]).tril(k.shape[-2] - q.shape[-2])
    return _attend(q, k, v, causal if mask is None else mask & causal)


_AXES = (
    "The mask already lines up with (B, H, L, S) from the right, whatever its shape. Which of its "
    "shapes does your line misread?"
)


@masked_attention.mistake("mask-axes-changed", _AXES)
def _(q, k, v, mask=None):
    return _attend(q, k, v, mask if mask is None else mask.unsqueeze(1))


@masked_attention.mistake("mask-axes-changed", _AXES)
def _(q, k, v, mask=None):
    return _attend(q, k, v, mask if mask is None else mask[None, None])


@masked_attention.mistake("mask-axes-changed", _AXES)
def _(q, k, v, mask=None):
    if mask is not None and mask.ndim == 2:
        mask = mask[:, None, None, :]
    return _attend(q, k, v, mask)


_INDEXED = (
    "`mask[b, h]` needs a mask of four axes, none of them of size 1. What is `mask[0, 0]` if the mask is "
    "(L, S)? Which function gives any mask the shape (B, H, L, S), without a copy?"
)


def _loop(q, k, v, mask, output):
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            scores = scaled(q[b, h], k[b, h])
            output[b, h] = weigh(scores, None if mask is None else mask[b, h]) @ v[b, h]
    return output


@masked_attention.mistake("mask-indexed-without-expanding", _INDEXED)
def _(q, k, v, mask=None):
    return _loop(q, k, v, mask, q.new_zeros(*q.shape[:3], v.shape[-1]))


@masked_attention.mistake(
    "mask-indexed-without-expanding", _INDEXED + " And which dtype has the output?"
)
def _(q, k, v, mask=None):
    return _loop(q, k, v, mask, torch.zeros(*q.shape[:3], v.shape[-1]))


@masked_attention.mistake(
    "mask-not-cut-by-head",
    "Inside your loop over heads the scores have three axes, (B, L, S). Which axes has the mask there? "
    "Give it all four before the loop, then take its part for the head.",
)
def _(q, k, v, mask=None):
    heads = range(q.shape[1])
    return torch.stack([_attend(q[:, h], k[:, h], v[:, h], mask) for h in heads], 1)


_BY_HEAD = (
    "A mask (B, H, L, S) may differ from head to head. Change the mask of head 1: does the output of "
    "head 1 move?"
)


@masked_attention.mistake("one-mask-for-all-heads", _BY_HEAD)
def _(q, k, v, mask=None):
    return _attend(q, k, v, mask[:, :1] if mask is not None and mask.ndim == 4 else mask)


@masked_attention.mistake(
    "mask-repeated-in-the-wrong-order",
    "You flatten (B, H): the heads of one sentence lie side by side. `repeat` puts the sentences side "
    "by side, again and again. Whose mask does the second entry get? Try `expand`.",
)
def _(q, k, v, mask=None):
    (B, H, L, _), S = q.shape, k.shape[2]
    if mask is not None and mask.ndim == 4:
        mask = mask.expand(-1, -1, L, S)
        mask = mask[:, 0].repeat(H, 1, 1) if mask.shape[1] == 1 else mask.flatten(0, 1)
    q, k, v = (t.flatten(0, 1) for t in (q, k, v))
    return _attend(q, k, v, mask).unflatten(0, (B, H))


@masked_attention.mistake(
    "zero-scores-hidden",
    "An allowed score can be exactly 0, too. How do you tell it from a forbidden one? Ask the mask, "
    "not the score.",
)
def _(q, k, v, mask=None):
    scores = scaled(q, k)
    return weigh(scores, None if mask is None else scores * mask != 0) @ v


@masked_attention.mistake(
    "mask-transposed",
    "Row i of the mask belongs to query i. To whom does it belong in yours?",
)
def _(q, k, v, mask=None):
    return _attend(q, k, v, mask if mask is None else mask.mT)


_WRONG_AXIS = (
    "Each query of each head hands out a total of 1 among its keys. Which axis of (B, H, L, S) holds "
    "the keys?"
)


@masked_attention.mistake("softmax-over-the-wrong-axis", _WRONG_AXIS)
def _(q, k, v, mask=None):
    weights = _filled(q, k, mask, -torch.inf).softmax(-2)
    return (weights if mask is None else weights.masked_fill(~mask, 0.0)) @ v


@masked_attention.mistake("softmax-over-the-wrong-axis", _WRONG_AXIS)
def _(q, k, v, mask=None):
    weights = _filled(q, k, mask, -torch.inf).softmax(1)
    return (weights if mask is None else weights.masked_fill(~mask, 0.0)) @ v


@masked_attention.mistake("softmax-over-the-wrong-axis", _WRONG_AXIS)
def _(q, k, v, mask=None):
    weights = _filled(q, k, mask, -torch.inf).softmax(0)
    return (weights if mask is None else weights.masked_fill(~mask, 0.0)) @ v


@masked_attention.mistake("softmax-over-the-wrong-axis", _WRONG_AXIS)
def _(q, k, v, mask=None):
    return _filled(q, k, mask, -torch.inf).softmax(-2) @ v


@masked_attention.mistake(
    "softmax-missing", "What should one row of your weights add up to?"
)
def _(q, k, v, mask=None):
    return _filled(q, k, mask, 0.0) @ v


@masked_attention.mistake(
    "scale-missing", "If D grows from 16 to 1024, what happens to the spread of q·k?"
)
def _(q, k, v, mask=None):
    return _attend(q, k, v, mask, q @ k.mT)


@masked_attention.mistake(
    "scale-multiplied", "Does your factor make the scores larger or smaller?"
)
def _(q, k, v, mask=None):
    return _attend(q, k, v, mask, q @ k.mT * math.sqrt(q.shape[-1]))


@masked_attention.mistake(
    "scale-twice", "By what are the scores divided altogether: by D, or by its square root?"
)
def _(q, k, v, mask=None):
    return _attend(q, k, v, mask, q @ k.mT / q.shape[-1])


@masked_attention.mistake(
    "scale-by-the-wrong-size",
    "Print `q.shape`. Which of its sizes is the length of one query vector? Which one do you read?",
)
def _(q, k, v, mask=None):
    return _attend(q, k, v, mask, q @ k.mT / math.sqrt(q.shape[1]))


@masked_attention.mistake(
    "scale-by-the-wrong-size",
    "Print `q.shape`. Which of its sizes is the length of one query vector? Which one do you read?",
)
def _(q, k, v, mask=None):
    return _attend(q, k, v, mask, q @ k.mT / math.sqrt(q.shape[2]))


@masked_attention.mistake(
    "scale-by-the-wrong-size", "Should adding keys change how similar q and key 0 are?"
)
def _(q, k, v, mask=None):
    return _attend(q, k, v, mask, q @ k.mT / math.sqrt(k.shape[2]))


@masked_attention.mistake(
    "scale-by-the-wrong-size",
    "Which vectors meet in the dot product? Is Dv the length of one of them?",
)
def _(q, k, v, mask=None):
    return _attend(q, k, v, mask, q @ k.mT / math.sqrt(v.shape[-1]))


@masked_attention.mistake(
    "transposed-scores", "Entry (i, j): is i a query or a key in your matrix?"
)
def _(q, k, v, mask=None):
    return _attend(q, k, v, mask, scaled(k, q))


@masked_attention.mistake(
    "keys-not-transposed",
    "What are the shapes of q and k? Which two axes of k must change places, so that D meets D?",
)
def _(q, k, v, mask=None):
    return _attend(q, k, v, mask, q @ k / math.sqrt(q.shape[-1]))


@masked_attention.mistake(
    "keys-reshaped",
    "A reshape keeps the numbers in their order. Does one column of your k still hold one key? Print "
    "a small k before and after.",
)
def _(q, k, v, mask=None):
    turned = k.reshape(*k.shape[:2], k.shape[3], k.shape[2])
    return _attend(q, k, v, mask, q @ turned / math.sqrt(q.shape[-1]))


@masked_attention.mistake(
    "all-axes-reversed",
    "Print `k.shape` and `k.T.shape`: `.T` reverses all four axes. Which two should change places?",
)
def _(q, k, v, mask=None):
    return _attend(q, k, v, mask, q @ k.permute(3, 2, 1, 0) / math.sqrt(q.shape[-1]))


_COUNT_FROM_THE_END = "In lesson 01 the axes 1 and 2 of k changed places. What are they now? Count from the end."


@masked_attention.mistake("wrong-axes-transposed", _COUNT_FROM_THE_END)
def _(q, k, v, mask=None):
    return _attend(q, k, v, mask, q @ k.transpose(1, 2) / math.sqrt(q.shape[-1]))


@masked_attention.mistake("wrong-axes-transposed", _COUNT_FROM_THE_END)
def _(q, k, v, mask=None):
    scores = q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(-1) @ v


@masked_attention.mistake("wrong-axes-transposed", _COUNT_FROM_THE_END)
def _(q, k, v, mask=None):
    scores = q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return scores.softmax(-1) @ v


@masked_attention.mistake(
    "weights-times-k", "If you replace v by zeros, what should come out?"
)
def _(q, k, v, mask=None):
    return _attend(q, k, k, mask)


@masked_attention.mistake(
    "heads-mixed",
    "Does a head read the values of other heads in yours? Which letter stands for the head in each "
    "operand?",
)
def _(q, k, v, mask=None):
    weights = weigh(scaled(q, k), mask)
    return torch.einsum("bhls,bgsd->bhld", weights, v)


@masked_attention.mistake(
    "weights-returned-too", "Lesson 01 returned two things. How many are asked for here?"
)
def _(q, k, v, mask=None):
    weights = weigh(scaled(q, k), mask)
    return weights @ v, weights


_LAYOUT = "The output should be (B, H, L, Dv). In which order are its axes in yours?"


@masked_attention.mistake("output-in-another-layout", _LAYOUT)
def _(q, k, v, mask=None):
    return _attend(q, k, v, mask).transpose(1, 2)


@masked_attention.mistake("output-in-another-layout", _LAYOUT)
def _(q, k, v, mask=None):
    return _attend(q, k, v, mask).transpose(1, 2).flatten(2)


_OUTPUT_DTYPE = (
    "Give it float16, then float64: which dtype comes out? If you write the output into a tensor that "
    "you made yourself, which dtype has that?"
)


@masked_attention.mistake("dtype-changed", _OUTPUT_DTYPE)
def _(q, k, v, mask=None):
    return _attend(q.float(), k.float(), v.float(), mask)


@masked_attention.mistake("dtype-changed", _OUTPUT_DTYPE)
def _(q, k, v, mask=None):
    output = torch.zeros(*q.shape[:3], v.shape[-1])
    output[:] = _attend(q, k, v, mask)
    return output


@masked_attention.mistake(
    "head-axis-forgotten",
    "How many axes has q now, and how many letters do you give it?",
)
def _(q, k, v, mask=None):
    scores = torch.einsum("bld,bsd->bls", q, k) / math.sqrt(q.shape[-1])
    return torch.einsum("bls,bsd->bld", weigh(scores, mask), v)


@masked_attention.mistake(
    "dropout-left-in", "Call it twice with the same input. Is the answer the same?"
)
def _(q, k, v, mask=None):
    return F.dropout(weigh(scaled(q, k), mask), 0.1) @ v
