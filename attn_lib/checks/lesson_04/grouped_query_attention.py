"""The task `grouped_query_attention`: many query heads, few key/value heads."""

import math

import torch
import torch.nn.functional as F

from attn_lib import causal_mask, einsum_attention, padding_mask
from attn_lib.checks.case import Case
from attn_lib.checks.lesson_04.runs import with_mask
from attn_lib.checks.lesson_04.steps import (
    attend,
    by_group_count,
    dots,
    merge,
    mix,
    only_the_first,
    scaled,
    share,
    tile,
    weigh,
)
from attn_lib.checks.task import task


@task(
    lesson=4,
    points=3,
    hints=[
        "Only one thing is new: k and v have fewer heads than q. What have you just written for that?",
        "Give k and v as many heads as q has, each in the same way. From there on it is the masked "
        "attention of lesson 02: scores, -inf where the mask is False, softmax over the keys, "
        "mixture.",
        "A query that may see nothing has a row of -inf only, and softmax makes NaN of it. Put zeros "
        "into the weights where the mask is False, before they meet the values: then the output "
        "is 0 and no NaN gets into the gradients.",
    ],
)
def grouped_query_attention(q, k, v, mask=None):
    output, _ = einsum_attention(q, k, v, mask=mask)
    return output


@grouped_query_attention.cases
def _(rng):
    def random(B, H, Hkv, L, S, D, scale=1.4):
        q = torch.randn(B, H, L, D, generator=rng) * scale
        k = torch.randn(B, Hkv, S, D, generator=rng) * scale
        return q, k, torch.randn(B, Hkv, S, D, generator=rng)

    def case(about, *sizes, dtype=torch.float32, mask=None, **kwargs):
        qkv = tuple(t.to(dtype) for t in random(*sizes))
        if mask is None:
            return Case(about, qkv, **kwargs)
        return Case(about, (*qkv, mask), with_mask, **kwargs)

    q = torch.tensor([[1.0, 0.0, 2.0, 1.0]]).view(1, 4, 1, 1)
    k = torch.tensor([[1.0, 0.0], [0.0, 3.0]]).view(1, 2, 2, 1)
    v = torch.tensor([[1.0, 3.0], [5.0, 8.0]]).view(1, 2, 2, 1)
    yield Case("four heads of one query, two K/V heads", (q, k, v))
    hidden = torch.tensor([[True, False]])
    yield Case("the same, the second key hidden", (q, k, v, hidden), with_mask)
    yield case("eight heads, two K/V heads", 1, 8, 2, 1, 2, 1)
    yield case("six heads, three K/V heads", 1, 6, 3, 1, 2, 1)
    yield case("all sizes different", 3, 8, 2, 5, 7, 6)
    yield case("six heads, three K/V heads, two sentences", 2, 6, 3, 4, 5, 10)
    yield case("one K/V head", 2, 4, 1, 5, 7, 6)
    yield case("as many K/V heads as heads", 2, 4, 4, 5, 7, 6)
    yield case("B = H, one K/V head", 4, 4, 1, 3, 5, 6)
    yield case("B = Hkv = L = S", 2, 4, 2, 2, 2, 6)
    yield case("H = L = S = D", 2, 4, 2, 4, 4, 4)
    yield case("one query, as in decoding", 2, 6, 2, 1, 7, 3)
    yield case("one key", 2, 6, 2, 3, 1, 3)

    causal = causal_mask(5, 7)
    yield case("a causal mask (L, S)", 2, 6, 3, 5, 7, 6, mask=causal)
    padding = padding_mask(torch.tensor([7, 4]), 7)
    yield case("padding (B, 1, 1, S)", 2, 6, 3, 5, 7, 6, mask=padding)
    per_head = torch.rand(2, 6, 4, 5, generator=rng) < 0.6
    per_head[..., 0] |= ~per_head.any(-1)
    yield case("a mask for each head, no empty row", 2, 6, 3, 4, 5, 6, mask=per_head)
    heads = torch.rand(8, 1, 5, generator=rng) < 0.5
    heads[..., 2] = True
    yield case("a mask (H, 1, S)", 2, 8, 2, 3, 5, 6, mask=heads)
    one_blind = torch.ones(4, 1, 3) > 0
    one_blind[1] = False
    yield case("one of four heads sees nothing", 1, 4, 2, 2, 3, 2, mask=one_blind)
    left = (torch.arange(6) >= torch.tensor([[0], [3]]))[:, None, None]
    both = left & causal_mask(6, 6)
    yield case(
        "padding on the left and causal: some queries see nothing", 2, 6, 2, 6, 6, 3,
        mask=both,
    )  # fmt: skip
    nothing = torch.tensor([[True, True], [False, False]])
    q = torch.tensor([[1.0, 2.0], [3.0, 1.0], [0.0, 1.0], [2.0, 0.0]]).view(1, 4, 2, 1)
    k, v = torch.tensor([[[[1.0], [0.0]]], [[[2.0], [4.0]]]])[:, None]
    yield Case("the second query sees nothing", (q, k, v, nothing), with_mask)
    yield case("no query sees anything", 1, 2, 1, 2, 3, 2, mask=torch.zeros(2, 3) > 0)
    yield case("everything allowed", 2, 4, 2, 3, 4, 6, mask=torch.ones(3, 4) > 0)
    q, k, v = random(2, 6, 2, 5, 5, 3)
    v[1, :, 3:] = 1e30
    far = padding_mask(torch.tensor([5, 3]), 5)
    yield Case("huge values behind hidden keys", (q, k, v, far), with_mask, grad=False)
    q = torch.full((1, 4, 1, 1), 200.0)
    k = torch.tensor([-100.0, -100.5, -100.0] * 2).view(1, 2, 3, 1)
    v = torch.tensor([1.0, 2.0, 4.0, 3.0, 5.0, 6.0]).view(1, 2, 3, 1)
    last = torch.tensor([[True, True, False]])
    yield Case(
        "scores near -20000, the last key hidden", (q, k, v, last), with_mask, grad=False
    )
    yield Case(
        "scores up to thousands apart", random(2, 6, 2, 3, 4, 6, scale=60.0), grad=False,
        tolerance=1e-2,
    )  # fmt: skip
    q, k, v = (t.mT.contiguous().mT for t in random(2, 6, 2, 3, 4, 6))
    yield Case("not contiguous", (q, k, v))
    some = causal_mask(3, 4) & (torch.arange(3) > 0)[:, None]
    yield case("float64", 2, 6, 2, 3, 4, 6, dtype=torch.float64, mask=some)
    for dtype in (torch.float16, torch.bfloat16):
        about = f"{dtype}".removeprefix("torch.")
        yield case(about, 2, 6, 2, 3, 4, 6, dtype=dtype, mask=some, grad=False)


def _with_weights(answer):
    """Make an answer out of one that returns the weights for shared k, and the shared v."""

    def full(q, k, v, mask=None):
        H = q.shape[1]
        return mix(answer(q, share(k, H), mask), share(v, H))

    return full


def _weights_mistake(id, question):
    def keep(answer):
        grouped_query_attention.mistake(id, question)(_with_weights(answer))
        return answer

    return keep


def _mapped(for_k, for_v):
    def answer(q, k, v, mask=None):
        H = q.shape[1]
        return attend(q, for_k(k, H), for_v(v, H), mask)

    return answer


_TILED = (
    "Which K/V head do query heads 0 and 1 read in your code? Neighbors share one: 0 0 1 1, "
    "not 0 1 0 1."
)
_BY_COUNT = "How many query heads share one K/V head: Hkv, or H / Hkv? By which of the two do you divide?"
grouped_query_attention.mistake("heads-tiled", _TILED)(_mapped(tile, tile))
grouped_query_attention.mistake(
    "values-tiled",
    "Do the key and the value of query head 1 come from the same K/V head? Compare how you copy k "
    "and how you copy v.",
)(_mapped(share, tile))
grouped_query_attention.mistake(
    "keys-tiled",
    "Do the key and the value of query head 1 come from the same K/V head? Compare how you copy v "
    "and how you copy k.",
)(_mapped(tile, share))
grouped_query_attention.mistake("divided-by-num-kv-heads", _BY_COUNT)(
    _mapped(by_group_count, by_group_count)
)
grouped_query_attention.mistake(
    "all-read-head-0", "Change the last K/V head. Which query heads notice?"
)(_mapped(only_the_first, only_the_first))

_UNMATCHED = (
    "How many heads has q, and how many has k? Who gives k and v as many heads as q has?"
)


@grouped_query_attention.mistake("heads-not-matched", _UNMATCHED)
def _(q, k, v, mask=None):
    return attend(q, k, v, mask)


@grouped_query_attention.mistake("heads-not-matched", _UNMATCHED)
def _(q, k, v, mask=None):
    return weigh(q @ k.mT / math.sqrt(q.shape[-1]), mask) @ v


@grouped_query_attention.mistake("heads-not-matched", _UNMATCHED)
def _(q, k, v, mask=None):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


@grouped_query_attention.mistake(
    "batch-meets-heads",
    "With one K/V head, k without its head axis is (B, S, D). Counted from the right, which axis of "
    "q does its B meet?",
)
def _(q, k, v, mask=None):
    if k.shape[1] == 1:
        return weigh(q @ k[:, 0].mT / math.sqrt(q.shape[-1]), mask) @ v[:, 0]
    return _mapped(share, share)(q, k, v, mask)


@grouped_query_attention.mistake(
    "query-heads-pooled",
    "How many heads should come out? The queries stay as many as they are: what has to be copied?",
)
def _(q, k, v, mask=None):
    q = q.unflatten(1, (k.shape[1], -1)).mean(2)
    return attend(q, k, v, None if mask is None or mask.ndim > 2 else mask)


@grouped_query_attention.mistake(
    "output-heads-reordered",
    "Your heads are right, but in another order. Which axis stands first when you merge K/V head and "
    "place in the group?",
)
def _(q, k, v, mask=None):
    output = _mapped(share, share)(q, k, v, mask)
    return output.unflatten(1, (k.shape[1], -1)).transpose(1, 2).flatten(1, 2)


@_weights_mistake(
    "scale-missing", "If D grows from 16 to 1024, what happens to the spread of q·k?"
)
def _(q, k, mask):
    return weigh(dots(q, k), mask)


@_weights_mistake(
    "scale-by-the-whole-width",
    "How long are the vectors inside one head's dot product: D, or H * D?",
)
def _(q, k, mask):
    return weigh(dots(q, k) / math.sqrt(q.shape[1] * q.shape[-1]), mask)


@_weights_mistake(
    "scale-by-heads",
    "Which sizes stand on the last axis of q: heads or head_dim? Which one is D?",
)
def _(q, k, mask):
    return weigh(dots(q, k) / math.sqrt(q.shape[1]), mask)


@_weights_mistake(
    "scale-by-length", "Should more keys change how well a query fits the first one?"
)
def _(q, k, mask):
    return weigh(dots(q, k) / math.sqrt(k.shape[2]), mask)


@_weights_mistake(
    "scale-int-sqrt", "What is the square root of 6, as your code computes it?"
)
def _(q, k, mask):
    return weigh(dots(q, k) / math.isqrt(q.shape[-1]), mask)


@_weights_mistake(
    "scale-twice", "By what are the scores divided altogether: by D, or by its square root?"
)
def _(q, k, mask):
    return weigh(dots(q, k) / q.shape[-1], mask)


@_weights_mistake(
    "softmax-over-queries", "Over which axis must the shares of one query add up to 1?"
)
def _(q, k, mask):
    scores = scaled(q, k)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(-2).nan_to_num(0.0)


@_weights_mistake(
    "softmax-over-heads",
    "Which axis is dim 1: heads or keys? Do your heads compete with each other?",
)
def _(q, k, mask):
    scores = scaled(q, k)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(1).nan_to_num(0.0)


@_weights_mistake(
    "mask-ignored", "Where does your code use `mask`? Hide a key: does the output change?"
)
def _(q, k, mask):
    return weigh(scaled(q, k))


@_weights_mistake(
    "mask-inverted",
    "What does True promise here: 'may look' or 'hidden'? And which cells does `masked_fill` fill?",
)
def _(q, k, mask):
    scores = scaled(q, k)
    return weigh(scores) if mask is None else weigh(scores, ~mask)


@_weights_mistake(
    "mask-inverted",
    "What does True promise here: 'may look' or 'hidden'? And which cells does `masked_fill` fill?",
)
def _(q, k, mask):
    scores = scaled(q, k)
    return (scores if mask is None else scores.masked_fill(mask, -torch.inf)).softmax(-1)


@_weights_mistake("mask-multiplied", "A hidden key's score is now 0. What is exp(0)?")
def _(q, k, mask):
    scores = scaled(q, k)
    return weigh(scores if mask is None else scores * mask)


@_weights_mistake("mask-added", "What is a score plus True? Is a key hidden by that?")
def _(q, k, mask):
    scores = scaled(q, k)
    return weigh(scores if mask is None else scores + mask)


@_weights_mistake(
    "mask-after-the-softmax",
    "What do the weights of one query add up to after you have hidden some?",
)
def _(q, k, mask):
    weights = weigh(scaled(q, k))
    return weights if mask is None else weights.masked_fill(~mask, 0.0)


@_weights_mistake(
    "mask-of-one-head",
    "Can the mask be different for each query head? Which of its heads do you use?",
)
def _(q, k, mask):
    if mask is not None and mask.ndim > 2:
        mask = mask[..., :1, :, :]
    return weigh(scaled(q, k), mask)


_FIVE_AXES = (
    "Your scores have five axes, the mask has four or fewer, and they are lined up from the right. "
    "Which axis of the scores does the H of a mask (B, H, L, S) meet? Try `mask.expand(B, H, L, S)` "
    "first, and then cut its heads into groups as you cut those of q."
)


def _grouped_with_mask(q, k, v, mask):
    """Attend in five axes (B, Hkv, group, L, S), with the mask as it comes."""
    q, k, v = q.unflatten(1, (k.shape[1], -1)), k.unsqueeze(2), v.unsqueeze(2)
    return (weigh(q @ k.mT / math.sqrt(q.shape[-1]), mask) @ v).flatten(1, 2)


@grouped_query_attention.mistake("mask-not-cut-into-groups", _FIVE_AXES)
def _(q, k, v, mask=None):
    return _grouped_with_mask(q, k, v, mask)


@grouped_query_attention.mistake("mask-not-cut-into-groups", _FIVE_AXES)
def _(q, k, v, mask=None):
    return _grouped_with_mask(q, k, v, None if mask is None else mask.unsqueeze(2))


@grouped_query_attention.mistake("mask-not-cut-into-groups", _FIVE_AXES)
def _(q, k, v, mask=None):
    if mask is not None and mask.ndim > 2:
        mask = mask.unsqueeze(2)
    return _grouped_with_mask(q, k, v, mask)


@_weights_mistake(
    "mask-axis-added",
    "The mask can already be broadcast to (B, H, L, S). Which axis does your code add to it?",
)
def _(q, k, mask):
    return weigh(scaled(q, k), None if mask is None else mask.unsqueeze(1))


@_weights_mistake(
    "mask-as-index",
    "Used as an index, a mask needs all sizes of the scores. Which method fills the cells of a mask "
    "that can only be broadcast to them?",
)
def _(q, k, mask):
    scores = scaled(q, k)
    if mask is not None:
        scores[~mask] = -torch.inf
    return scores.softmax(-1).nan_to_num(0.0)


@_weights_mistake(
    "fill-not-low-enough",
    "Are all scores larger than the number you fill in? What if they are near -20000?",
)
def _(q, k, mask):
    scores = scaled(q, k)
    if mask is None:
        return scores.softmax(-1)
    return scores.masked_fill(~mask, -1e4).softmax(-1) * mask.any(-1, keepdim=True)


@_weights_mistake(
    "fill-too-large-for-float16",
    "What is the largest number float16 can hold? Which value fits into every dtype, and is lower "
    "than every score?",
)
def _(q, k, mask):
    scores = scaled(q, k)
    if mask is None:
        return scores.softmax(-1)
    return scores.masked_fill(~mask, -1e9).softmax(-1) * mask.any(-1, keepdim=True)


@_weights_mistake(
    "empty-row-nan", "What does softmax make of a row that holds nothing but -inf?"
)
def _(q, k, mask):
    scores = scaled(q, k)
    return (scores if mask is None else scores.masked_fill(~mask, -torch.inf)).softmax(-1)


_UNIFORM = "What does softmax make of a row of equal numbers? What should a query get that may see nothing?"


@_weights_mistake("empty-row-uniform", _UNIFORM + " And does -1e9 fit into a float16?")
def _(q, k, mask):
    scores = scaled(q, k)
    return (scores if mask is None else scores.masked_fill(~mask, -1e9)).softmax(-1)


@_weights_mistake("empty-row-uniform", _UNIFORM)
def _(q, k, mask):
    scores = scaled(q, k)
    lowest = torch.finfo(q.dtype).min
    return (scores if mask is None else scores.masked_fill(~mask, lowest)).softmax(-1)


@_weights_mistake("empty-row-uniform", _UNIFORM + " And are all scores above -10000?")
def _(q, k, mask):
    scores = scaled(q, k)
    return (scores if mask is None else scores.masked_fill(~mask, -1e4)).softmax(-1)


@_weights_mistake("causal", "Without a mask everything is allowed. Who hides keys here?")
def _(q, k, mask):
    causal = causal_mask(q.shape[2], k.shape[2])
    return weigh(scaled(q, k), causal if mask is None else mask & causal)


@grouped_query_attention.mistake(
    "keys-as-values", "If you replace v by zeros, what should come out?"
)
def _(q, k, v, mask=None):
    return _mapped(share, share)(q, k, k, mask)


@grouped_query_attention.mistake(
    "keys-and-values-swapped", "What is compared with the query, and what is mixed?"
)
def _(q, k, v, mask=None):
    return _mapped(share, share)(q, v, k, mask)


@grouped_query_attention.mistake(
    "weights-returned-too", "This task asks for one thing: which one?"
)
def _(q, k, v, mask=None):
    weights = weigh(scaled(q, share(k, q.shape[1])), mask)
    return mix(weights, share(v, q.shape[1])), weights


@grouped_query_attention.mistake(
    "heads-merged",
    "The heads stay apart here: (B, H, L, D). Whose work is it to merge them?",
)
def _(q, k, v, mask=None):
    return merge(_mapped(share, share)(q, k, v, mask))


@grouped_query_attention.mistake(
    "dropout-left-in", "Call it twice with the same input. Is the answer the same?"
)
def _(q, k, v, mask=None):
    weights = F.dropout(weigh(scaled(q, share(k, q.shape[1])), mask), 0.1)
    return mix(weights, share(v, q.shape[1]))
