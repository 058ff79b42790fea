"""The task `GroupedQueryAttention`: the module with the dial `num_kv_heads`."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from attn_lib import causal_mask, einsum_attention, padding_mask
from attn_lib.checks.case import Case
from attn_lib.checks.lesson_04.steps import (
    attend,
    by_group_count,
    dots,
    merge,
    mix,
    only_the_first,
    scaled,
    share,
    split,
    tile,
    weigh,
)
from attn_lib.checks.module_runs import run_module, sharpened_parameters
from attn_lib.checks.task import task


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__()
        self.num_heads, self.num_kv_heads = num_heads, num_kv_heads
        self.head_dim = d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=False)
        self.k_proj = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=False)
        self.v_proj = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=False)
        self.o_proj = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, mask=None):
        q, k, v = (
            split(p(x), self.head_dim) for p in (self.q_proj, self.k_proj, self.v_proj)
        )
        output, _ = einsum_attention(q, k, v, mask=mask)
        return self.o_proj(merge(output))


grouped_query_module = task(
    lesson=4,
    points=3,
    hints=[
        "It is your `MultiHeadAttention` of lesson 03, with two projections that are narrower. How "
        "wide are num_kv_heads heads of head_dim channels?",
        "In `forward`: project, split q into H heads but k and v into Hkv heads, call your "
        "`grouped_query_attention` with the mask, merge, and project once more.",
        "head_dim is d_model // num_heads, for all three. Splitting is `unflatten` or `view` to "
        "(B, L, heads, head_dim), and then the axes of L and of the heads change places; merging goes "
        "the same way back.",
    ],
)(GroupedQueryAttention)


@grouped_query_module.cases
def _(rng):
    def case(about, B, L, d_model, H, Hkv, dtype=torch.float32, mask=None, **kwargs):
        reference = GroupedQueryAttention(d_model, H, Hkv)
        parameters = sharpened_parameters(reference, rng)
        parameters = {name: p.to(dtype) for name, p in parameters.items()}
        x = torch.randn(B, L, d_model, generator=rng).to(dtype)
        options = () if mask is None else ({"mask": mask},)
        args = ((d_model, H, Hkv), parameters, x, *options)
        return Case(about, args, run_module, **kwargs)

    eye = torch.eye(4)
    parameters = {
        "q_proj.weight": eye + eye.roll(1, 0),
        "k_proj.weight": torch.tensor([[1.0, 0, 0, 1], [0, 1, 1, 0]]),
        "v_proj.weight": torch.tensor([[1.0, 0, 2, 0], [0, 1, 0, 3]]),
        "o_proj.weight": eye + 2 * eye.roll(1, 1),
    }
    x = torch.tensor([[[1.0, 0, 2, 0], [0, 1, 1, 1]]])
    yield Case("two words", ((4, 2, 1), parameters, x), run_module)
    yield case("two words, four heads, two K/V heads", 1, 2, 8, 4, 2)
    yield case("all sizes different", 2, 5, 24, 8, 2)
    yield case("six heads, three K/V heads", 2, 5, 24, 6, 3)
    yield case("one K/V head", 2, 5, 12, 4, 1)
    yield case("as many K/V heads as heads", 2, 5, 12, 4, 4)
    yield case("B = H, one K/V head", 4, 5, 12, 4, 1)
    yield case("L = H", 2, 8, 24, 8, 2)
    yield case("B = L = Hkv", 2, 2, 12, 6, 2)
    yield case("one head", 2, 5, 6, 1, 1)
    yield case("head_dim 1", 2, 3, 6, 6, 2)
    yield case("head_dim 6", 2, 5, 24, 4, 2)
    yield case("one word", 2, 1, 12, 4, 2)
    causal = causal_mask(3, 3)
    yield case("three words, a causal mask", 1, 3, 4, 2, 1, mask=causal)
    both = padding_mask(torch.tensor([5, 3]), 5) & causal_mask(5, 5)
    yield case("padding and causal", 2, 5, 24, 8, 2, mask=both)
    per_head = torch.rand(2, 6, 5, 5, generator=rng) < 0.5
    per_head |= torch.eye(5) > 0
    yield case("a mask for each head", 2, 5, 24, 6, 3, mask=per_head)
    left = (torch.arange(5) >= torch.tensor([[0], [2]]))[:, None, None] & causal_mask(5, 5)
    yield case("words that see nothing", 2, 5, 12, 4, 2, mask=left)
    yield case("float64", 2, 5, 24, 8, 2, torch.float64)
    yield case("bfloat16", 2, 4, 12, 4, 2, torch.bfloat16, grad=False)


def _module(forward, widths=None, biased=()):
    """Make a class with the four projections whose forward is `forward(self, x, mask)`.

    `widths(d_model, num_heads, num_kv_heads)` is the output width of k_proj and v_proj.
    """

    class Grouped(GroupedQueryAttention):
        def __init__(self, d_model, num_heads, num_kv_heads):
            super().__init__(d_model, num_heads, num_kv_heads)
            kv_width = num_kv_heads * self.head_dim
            if widths is not None:
                kv_width = widths(d_model, num_heads, num_kv_heads)
            out = dict.fromkeys(("q_proj", "o_proj"), d_model)
            out |= dict.fromkeys(("k_proj", "v_proj"), kv_width)
            for name, width in out.items():
                setattr(self, name, nn.Linear(d_model, width, bias=name in biased))

        def forward(self, x, mask=None):
            return forward(self, x, mask)

    return Grouped


def _mistake(id, question, **options):
    """Register a forward as a mistake of the module."""

    def keep(forward):
        grouped_query_module.mistake(id, question)(_module(forward, **options))
        return forward

    return keep


def _heads(self, x):
    return [split(p(x), self.head_dim) for p in (self.q_proj, self.k_proj, self.v_proj)]


def _finish(self, q, k, v, mask):
    return self.o_proj(merge(attend(q, share(k, len(q[0])), share(v, len(q[0])), mask)))


def _right(self, x, mask):
    q, k, v = _heads(self, x)
    return _finish(self, q, k, v, mask)


def _with_weights(self, x, weights_of):
    q, k, v = _heads(self, x)
    weights = weights_of(q, share(k, self.num_heads))
    return self.o_proj(merge(mix(weights, share(v, self.num_heads))))


def _mapped(id, question, for_k, for_v):
    def forward(self, x, mask):
        q, k, v = _heads(self, x)
        H = self.num_heads
        return self.o_proj(merge(attend(q, for_k(k, H), for_v(v, H), mask)))

    _mistake(id, question)(forward)


_SAME = "Do the key and the value of query head 1 come from the same K/V head?"
_mapped(
    "heads-tiled",
    "Which K/V head do query heads 0 and 1 read? Neighbors share one: 0 0 1 1, not 0 1 0 1.",
    tile,
    tile,
)
_mapped("values-tiled", _SAME, share, tile)
_mapped("keys-tiled", _SAME, tile, share)
_mapped(
    "divided-by-num-kv-heads",
    "How many query heads share one K/V head: Hkv, or H / Hkv?",
    by_group_count,
    by_group_count,
)
_mapped(
    "all-read-head-0",
    "Change the rows of the last K/V head in `k_proj`. Which query heads notice?",
    only_the_first,
    only_the_first,
)

_WIDTH = "How many heads does `k_proj` make, and how many channels has each of them?"
_mistake("kv-at-full-width", _WIDTH, widths=lambda E, H, Hkv: E)(_right)
_mistake("kv-one-channel-a-head", _WIDTH, widths=lambda E, H, Hkv: Hkv)(_right)
_mistake(
    "head-dim-from-kv-heads",
    "Into how many heads is d_model cut: into num_heads, or into num_kv_heads? How wide is a head?",
    widths=lambda E, H, Hkv: E // Hkv,
)(_right)

_BIAS = (
    "Feed x = 0: what should come out, and what does? Which argument of `nn.Linear` is on by "
    "default?"
)
for _biased in (
    ("q_proj", "k_proj", "v_proj", "o_proj"),
    ("q_proj", "k_proj", "v_proj"),
    ("o_proj",),
    ("v_proj",),
    ("q_proj",),
):
    _mistake("bias-left-in", _BIAS, biased=_biased)(_right)


@_mistake("heads-cut-from-words", "Which numbers of word 0 end up in head 0? Try `arange`.")
def _(self, x, mask):
    B, L, _ = x.shape
    q, k, v = (
        p(x).view(B, -1, L, self.head_dim) for p in (self.q_proj, self.k_proj, self.v_proj)
    )
    return _finish(self, q, k, v, mask)


@_mistake(
    "channels-dealt-out",
    "Which rows of `q_proj.weight` belong to head 0: the first head_dim rows, or every H-th?",
)
def _(self, x, mask):
    q, k, v = (
        p(x).unflatten(-1, (self.head_dim, -1)).permute(0, 3, 1, 2)
        for p in (self.q_proj, self.k_proj, self.v_proj)
    )
    return _finish(self, q, k, v, mask)


@_mistake(
    "merged-without-transpose",
    "Before you merge, which axis stands next to the channels: words or heads?",
)
def _(self, x, mask):
    q, k, v = _heads(self, x)
    output = attend(q, share(k, self.num_heads), share(v, self.num_heads), mask)
    return self.o_proj(output.reshape(x.shape))


@_mistake(
    "merged-channels-first",
    "Where should channel 0 of head 1 land in the merged vector: at 1, or at head_dim?",
)
def _(self, x, mask):
    q, k, v = _heads(self, x)
    output = attend(q, share(k, self.num_heads), share(v, self.num_heads), mask)
    return self.o_proj(output.permute(0, 2, 3, 1).flatten(2))


@_mistake("o-proj-missing", "Where does `forward` use `o_proj`?")
def _(self, x, mask):
    q, k, v = _heads(self, x)
    return merge(attend(q, share(k, self.num_heads), share(v, self.num_heads), mask))


@_mistake(
    "o-proj-twice", "How many matrices stand between the merged heads and the result?"
)
def _(self, x, mask):
    return self.o_proj(_right(self, x, mask))


@_mistake("scale-missing", "If head_dim grows, what happens to the spread of q·k?")
def _(self, x, mask):
    return _with_weights(self, x, lambda q, k: weigh(dots(q, k), mask))


@_mistake("scale-by-d-model", "How long are the vectors inside one head's dot product?")
def _(self, x, mask):
    scale = math.sqrt(x.shape[-1])
    return _with_weights(self, x, lambda q, k: weigh(dots(q, k) / scale, mask))


@_mistake(
    "softmax-over-queries", "Over which axis must the shares of one word add up to 1?"
)
def _(self, x, mask):
    def weights(q, k):
        scores = scaled(q, k)
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        return scores.softmax(-2).nan_to_num(0.0)

    return _with_weights(self, x, weights)


@_mistake("softmax-over-heads", "Which axis is dim 1: heads or keys?")
def _(self, x, mask):
    def weights(q, k):
        scores = scaled(q, k)
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        return scores.softmax(1).nan_to_num(0.0)

    return _with_weights(self, x, weights)


@_mistake("mask-ignored", "Where does `forward` pass `mask` on?")
def _(self, x, mask):
    return _right(self, x, None)


@_mistake("mask-inverted", "What does True promise here: 'may look' or 'hidden'?")
def _(self, x, mask):
    return _right(self, x, None if mask is None else ~mask)


@_mistake(
    "mask-of-one-head", "Can the mask be different for each head? Which part do you use?"
)
def _(self, x, mask):
    return _right(self, x, mask if mask is None or mask.ndim < 4 else mask[:, :1])


@_mistake(
    "mask-axis-added",
    "The mask can already be broadcast to (B, H, L, S). Which axis does your code add to it?",
)
def _(self, x, mask):
    return _right(self, x, None if mask is None else mask.unsqueeze(1))


@_mistake("empty-row-nan", "What does softmax make of a row that holds nothing but -inf?")
def _(self, x, mask):
    def weights(q, k):
        scores = scaled(q, k)
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        return scores.softmax(-1)

    return _with_weights(self, x, weights)


@_mistake(
    "empty-row-uniform",
    "What does softmax make of a row of equal numbers? What should a word get that may see nothing?",
)
def _(self, x, mask):
    def weights(q, k):
        scores = scaled(q, k)
        return (scores if mask is None else scores.masked_fill(~mask, -1e9)).softmax(-1)

    return _with_weights(self, x, weights)


@_mistake("causal", "Without a mask everything is allowed. May word 0 see word 1 here?")
def _(self, x, mask):
    causal = causal_mask(x.shape[1], x.shape[1])
    return _right(self, x, causal if mask is None else mask & causal)


@_mistake("keys-as-values", "Where does `forward` use `v_proj`?")
def _(self, x, mask):
    q, k, _ = _heads(self, x)
    return _finish(self, q, k, k, mask)


@_mistake("keys-and-values-swapped", "What is compared with the query, and what is mixed?")
def _(self, x, mask):
    q, k, v = _heads(self, x)
    return _finish(self, q, v, k, mask)


@_mistake("weights-returned-too", "What does `forward` promise: one thing, or two?")
def _(self, x, mask):
    q, k, _ = _heads(self, x)
    return _right(self, x, mask), weigh(scaled(q, share(k, self.num_heads)), mask)


@_mistake("residual-added", "Nobody asked to add x here. Who will do that later?")
def _(self, x, mask):
    return _right(self, x, mask) + x


@_mistake(
    "dropout-left-in", "Call the module twice with the same input. Is the answer the same?"
)
def _(self, x, mask):
    return _with_weights(self, x, lambda q, k: F.dropout(weigh(scaled(q, k), mask), 0.1))


@_mistake(
    "dropout-left-in", "Call the module twice with the same input. Is the answer the same?"
)
def _(self, x, mask):
    return F.dropout(_right(self, x, mask), 0.1)
