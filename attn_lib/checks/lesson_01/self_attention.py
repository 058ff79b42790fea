"""The task `SelfAttention`: one head as a module."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from attn_lib import einsum_attention
from attn_lib.checks.case import Case
from attn_lib.checks.lesson_01.steps import dots, mix, scaled
from attn_lib.checks.module_runs import run_module, sharpened_parameters
from attn_lib.checks.task import task


class SelfAttention(nn.Module):
    def __init__(self, d_model, head_dim):
        super().__init__()
        self.q_proj = nn.Linear(d_model, head_dim, bias=False)
        self.k_proj = nn.Linear(d_model, head_dim, bias=False)
        self.v_proj = nn.Linear(d_model, head_dim, bias=False)

    def forward(self, x):
        output, _ = einsum_attention(self.q_proj(x), self.k_proj(x), self.v_proj(x))
        return output


self_attention = task(
    lesson=1,
    points=4,
    hints=[
        "In `__init__`, after `super().__init__()`: three `nn.Linear`, named `q_proj`, `k_proj`, "
        "`v_proj`. From which width to which? With a bias or not?",
        "In `forward`, one x makes all three: queries, keys and values. Then call your `attention`.",
        "`attention` returns two things, `forward` should return one: the output. And the scale "
        "belongs to head_dim, which `attention` reads from the queries by itself.",
    ],
)(SelfAttention)


@self_attention.cases
def _(rng):
    def case(about, B, L, d_model, head_dim, dtype=torch.float32, scale=1.0, **options):
        reference = SelfAttention(d_model, head_dim)
        parameters = sharpened_parameters(reference, rng)
        parameters = {name: p.to(dtype) for name, p in parameters.items()}
        x = (torch.randn(B, L, d_model, generator=rng) * scale).to(dtype)
        return Case(about, ((d_model, head_dim), parameters, x), run_module, **options)

    # Worked out by hand, so that a wrong answer is far from the right one.
    parameters = {
        "q_proj.weight": torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]),
        "k_proj.weight": torch.tensor([[0.0, 2.0, 0.0], [1.0, 0.0, -1.0]]),
        "v_proj.weight": torch.tensor([[2.0, 0.0, 1.0], [0.0, 4.0, -1.0]]),
    }
    x = torch.tensor([[[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]]])
    yield Case("two words", ((3, 2), parameters, x), run_module)
    yield case("all sizes different", 2, 5, 10, 6)
    yield case("the same sizes, other numbers", 2, 5, 10, 6)
    yield case("D larger than d_model", 2, 5, 4, 7)
    yield case("d_model = head_dim", 2, 5, 8, 8)
    yield case("B = L", 5, 5, 10, 6)
    yield case("every size 4", 4, 4, 4, 4)
    yield case("L = head_dim", 2, 6, 10, 6)
    yield case("one word", 2, 1, 10, 6)
    yield case("batch 1, D = 1", 1, 4, 5, 1)
    yield case("40 words, head_dim 64", 1, 40, 24, 64, scale=0.4)
    far = {"tolerance": 1e-2, "grad": False}
    yield case("scores in the hundreds", 2, 5, 10, 6, scale=12.0, **far)
    yield case("float64", 2, 5, 10, 6, torch.float64)
    yield case("bfloat16", 2, 5, 10, 6, torch.bfloat16, grad=False)


def _head(attend, biased=()):
    """Make a class with the three projections whose forward is `attend(self, x)`."""

    class Head(SelfAttention):
        forward = attend

        def __init__(self, d_model, head_dim):
            super().__init__(d_model, head_dim)
            for name in biased:
                setattr(self, name, nn.Linear(d_model, head_dim))

    return Head


def _qkv(self, x):
    return self.q_proj(x), self.k_proj(x), self.v_proj(x)


def _wrong_head(id, question, biased=()):
    """Register a forward as a mistake of SelfAttention."""

    def keep(attend):
        self_attention.mistake(id, question)(_head(attend, biased))
        return attend

    return keep


@_wrong_head(
    "scale-missing", "If head_dim grows from 16 to 1024, what happens to the spread of q·k?"
)
def _(self, x):
    q, k, v = _qkv(self, x)
    return mix(dots(q, k).softmax(-1), v)[0]


@_wrong_head("scale-by-d-model", "How long are the vectors inside the dot product?")
def _(self, x):
    q, k, v = _qkv(self, x)
    return mix((dots(q, k) / math.sqrt(x.shape[-1])).softmax(-1), v)[0]


@_wrong_head("scale-by-seq-len", "Should one more word change how well two others fit?")
def _(self, x):
    q, k, v = _qkv(self, x)
    return mix((dots(q, k) / math.sqrt(x.shape[1])).softmax(-1), v)[0]


@_wrong_head("scale-int-sqrt", "What is the square root of 6, as your code computes it?")
def _(self, x):
    q, k, v = _qkv(self, x)
    return mix((dots(q, k) / math.isqrt(q.shape[-1])).softmax(-1), v)[0]


@_wrong_head(
    "scale-twice", "By what are the scores divided altogether: by D, or by its square root?"
)
def _(self, x):
    q, k, v = _qkv(self, x)
    return mix((dots(q, k) / q.shape[-1]).softmax(-1), v)[0]


@_wrong_head("scale-multiplied", "Does your factor make the scores larger or smaller?")
def _(self, x):
    q, k, v = _qkv(self, x)
    return mix((dots(q, k) * math.sqrt(q.shape[-1])).softmax(-1), v)[0]


@_wrong_head(
    "softmax-over-queries", "Over which axis must the shares of one query add up to 1?"
)
def _(self, x):
    q, k, v = _qkv(self, x)
    return mix(scaled(q, k).softmax(-2), v)[0]


@_wrong_head("softmax-over-batch", "Change sample 1. Does the output of sample 0 move?")
def _(self, x):
    q, k, v = _qkv(self, x)
    return mix(scaled(q, k).softmax(0), v)[0]


@_wrong_head("softmax-missing", "Where do the scores become shares that add up to 1?")
def _(self, x):
    q, k, v = _qkv(self, x)
    return mix(scaled(q, k), v)[0]


@_wrong_head(
    "queries-and-keys-swapped", "Entry (i, j) of the scores: does i ask, or does it answer?"
)
def _(self, x):
    q, k, v = _qkv(self, x)
    return mix(scaled(k, q).softmax(-1), v)[0]


@_wrong_head("keys-as-values", "Where does `forward` use `v_proj`?")
def _(self, x):
    q, k, _ = _qkv(self, x)
    return mix(scaled(q, k).softmax(-1), k)[0]


@_wrong_head(
    "keys-and-values-swapped", "What should be compared with the query, and what be mixed?"
)
def _(self, x):
    q, k, v = _qkv(self, x)
    return mix(scaled(q, v).softmax(-1), k)[0]


@_wrong_head("queries-as-keys", "Where does `forward` use `k_proj`?")
def _(self, x):
    q, _, v = _qkv(self, x)
    return mix(scaled(q, q).softmax(-1), v)[0]


@_wrong_head(
    "values-not-projected", "What is mixed: x itself, or what `v_proj` makes of it?"
)
def _(self, x):
    q, k, _ = _qkv(self, x)
    return mix(scaled(q, k).softmax(-1), x)[0]


@_wrong_head("nothing-projected", "Where does `forward` use your three projections?")
def _(self, x):
    return mix(scaled(x, x).softmax(-1), x)[0]


@_wrong_head(
    "weights-not-transposed",
    "What is the shape of `nn.Linear(3, 5).weight`? Why not call the layer and let it transpose?",
)
def _(self, x):
    q, k, v = (x @ p.weight for p in (self.q_proj, self.k_proj, self.v_proj))
    return mix(scaled(q, k).softmax(-1), v)[0]


@_wrong_head("weights-returned-too", "What does `forward` promise: one thing, or two?")
def _(self, x):
    q, k, v = _qkv(self, x)
    return mix(scaled(q, k).softmax(-1), v)


@_wrong_head(
    "weights-returned", "`forward` should return the mixture. Which one do you return?"
)
def _(self, x):
    q, k, v = _qkv(self, x)
    return mix(scaled(q, k).softmax(-1), v)[1]


@_wrong_head(
    "residual-added", "Nobody asked to add x here. What shape would it need to have?"
)
def _(self, x):
    q, k, v = _qkv(self, x)
    return mix(scaled(q, k).softmax(-1), v)[0] + x


@_wrong_head("causal", "Nobody asked for a mask. May word 0 see word 1 here?")
def _(self, x):
    q, k, v = _qkv(self, x)
    return einsum_attention(q, k, v, is_causal=True)[0]


@_wrong_head(
    "dropout-left-in", "Call the module twice with the same input. Is the answer the same?"
)
def _(self, x):
    q, k, v = _qkv(self, x)
    return mix(F.dropout(scaled(q, k).softmax(-1), 0.1), v)[0]


_BIAS = "Feed x = 0: what should come out, and what does? Which argument of `nn.Linear` is on by default?"
_ALL = ("q_proj", "k_proj", "v_proj")


@_wrong_head("bias-left-in", _BIAS, biased=_ALL)
@_wrong_head("bias-left-in", _BIAS, biased=("q_proj",))
@_wrong_head("bias-left-in", _BIAS, biased=("v_proj",))
def _(self, x):
    q, k, v = _qkv(self, x)
    return mix(scaled(q, k).softmax(-1), v)[0]
