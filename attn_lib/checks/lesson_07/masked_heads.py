"""The task `masked_heads`: every head multiplied by a number, where it is still alone."""

import torch
from torch import nn

import attn_lib
from attn_lib import MultiHeadAttention
from attn_lib.checks.case import Case
from attn_lib.checks.lesson_07.runs import Attention, with_module, with_module_twice
from attn_lib.checks.lesson_07.steps import (
    attend,
    finish,
    merge,
    per_channel,
    project,
    scaled,
    split,
    tiled,
)
from attn_lib.checks.module_runs import sharpened_parameters
from attn_lib.checks.task import task


@task(
    lesson=7,
    points=3,
    hints=[
        "Write down the steps of multi-head attention: project, split, attend, merge, project. Between "
        "which two is a head still alone, with everything that it says, the bias of its values included?",
        "`attn` has `q_proj`, `k_proj`, `v_proj`, `o_proj` and `num_heads`. Use these layers to get what "
        'the heads say, (B, H, L, D). `mine("split_heads")`, `mine("masked_attention")` and '
        '`mine("merge_heads")` may help.',
        "Shapes line up from the right. Which axes of size 1 does `head_mask` (H,) need behind it to "
        "meet (B, H, L, D) at its second axis? After that: merge, and `attn.o_proj`.",
    ],
)
def masked_heads(attn, x, head_mask):
    return attn_lib.masked_heads(attn, x, head_mask)


def small_attention(**tensors):
    """Two heads of one channel; layers that are not named are the identity, without bias."""
    identity = {
        f"{layer}.{kind}": torch.eye(2) if kind == "weight" else torch.zeros(2)
        for layer in ("q_proj", "k_proj", "v_proj", "o_proj")
        for kind in ("weight", "bias")
    }
    return Attention(2, identity | tensors)


SWAPPED = {
    "v_proj.bias": torch.tensor([1.0, 2.0]),
    "o_proj.weight": torch.eye(2).flip(0),
    "o_proj.bias": torch.tensor([10.0, 20.0]),
}
UNIFORM = {"q_proj.weight": torch.zeros(2, 2)}


def random_attention(rng, H, D, dtype=torch.float32):
    """Scores that spread, and biases that are not zero."""
    tensors = sharpened_parameters(MultiHeadAttention(H * D, H), rng)
    return Attention(H, {name: t.to(dtype) for name, t in tensors.items()})


@masked_heads.cases
def _(rng):
    def case(
        about, B, H, L, D, head_mask=None, dtype=torch.float32, run=with_module, **kwargs
    ):
        x = torch.randn(B, L, H * D, generator=rng)
        factors = torch.randn(H, generator=rng) if head_mask is None else head_mask
        factors = torch.as_tensor(factors, dtype=dtype)
        args = (random_attention(rng, H, D, dtype), x.to(dtype), factors)
        return Case(about, args, run, **kwargs)

    x, factors = torch.tensor([[[3.0, 5.0]]]), torch.tensor([0.5, 0.0])
    about = "two heads of one channel, one token, all four layers the identity"
    yield Case(about, (small_attention(), x, factors), with_module_twice)
    about = (
        "two heads of one channel, one token; v_proj adds 1 and 2; o_proj swaps both channels, and "
        "then adds 10 and 20"
    )
    factors = torch.tensor([0.0, 2.0])
    yield Case(about, (small_attention(**SWAPPED), x, factors), with_module)
    x, factors = torch.tensor([[[1.0, 2.0], [3.0, 6.0]]]), torch.tensor([1.0, -1.0])
    about = "two heads of one channel, two tokens; q_proj is zero, the other layers the identity"
    yield Case(about, (small_attention(**UNIFORM), x, factors), with_module)
    yield case("all sizes different", 2, 3, 5, 4, run=with_module_twice)
    yield case("heads 0 and 2 of four ablated", 2, 4, 5, 3, [0, 1, 0, 1])
    yield case("all heads ablated", 2, 3, 5, 4, [0, 0, 0])
    yield case("all factors one", 2, 3, 5, 4, [1, 1, 1], grad=False)
    many = [30, -7, 0, 1.5, -1, 0.3, 2, 0.5]
    yield case("eight heads, seven tokens, factors from -7 to 30", 1, 8, 7, 2, many)
    yield case("B = H, factors that add up to zero", 2, 2, 5, 4, [1.5, -1.5], grad=False)
    yield case("one head", 2, 1, 5, 4, [0.3], grad=False)
    yield case("B = H = L = D", 3, 3, 3, 3, grad=False)
    yield case("D = 1, so that E = H", 2, 5, 4, 1, grad=False)
    yield case("one token", 3, 4, 1, 2, grad=False)
    yield case("float64, and L = E", 2, 3, 6, 2, dtype=torch.float64)
    yield case("bfloat16", 2, 3, 5, 4, dtype=torch.bfloat16, grad=False)
    attention = random_attention(rng, 3, 4)
    x = torch.randn(5, 2, 12, generator=rng).transpose(0, 1)
    factors = torch.randn(6, generator=rng)[::2]
    yield Case("not contiguous", (attention, x, factors), with_module)


# ------------------------------------------------------------------------------- mistakes


_ALONE = "After o_proj, which heads have a part in channel 0? Where is a head still alone?"


@masked_heads.mistake("scaled-after-o-proj", _ALONE)
def _(attn, x, head_mask):
    return finish(attn, attend(attn, x)) * per_channel(attn, head_mask)


@masked_heads.mistake("scaled-after-o-proj", _ALONE)
def _(attn, x, head_mask):
    output = finish(attn, attend(attn, x))
    return merge(split(output, attn.num_heads) * head_mask[:, None, None])


@masked_heads.mistake(
    "scaled-before-o-proj-weight-of-a-row",
    "A weight of nn.Linear is (out, in). Which of its columns read head 0, and what do its rows make?",
)
def _(attn, x, head_mask):
    weight = attn.o_proj.weight * per_channel(attn, head_mask)[:, None]
    return nn.functional.linear(merge(attend(attn, x)), weight, attn.o_proj.bias)


_SCORES = (
    "What does softmax make of a row of zeros? What does the head say then: nothing, or the mean of "
    "all values?"
)


@masked_heads.mistake("scores-scaled", _SCORES)
def _(attn, x, head_mask):
    q, k, v = project(attn, x)
    scores = scaled(q, k) * head_mask[:, None, None]
    return finish(attn, scores.softmax(-1) @ v)


@masked_heads.mistake(
    "all-three-scaled",
    "How often does the factor act if queries, keys and values are all multiplied? Which of the three "
    "does softmax turn into something else?",
)
def _(attn, x, head_mask):
    q, k, v = (t * head_mask[:, None, None] for t in project(attn, x))
    return finish(attn, scaled(q, k).softmax(-1) @ v)


@masked_heads.mistake(
    "scores-masked-with-inf",
    "What is softmax of a row in which every score is -inf? Which numbers can the factor be, beside 0 "
    "and 1?",
)
def _(attn, x, head_mask):
    q, k, v = project(attn, x)
    hidden = (head_mask == 0)[:, None, None]
    return finish(attn, scaled(q, k).masked_fill(hidden, -torch.inf).softmax(-1) @ v)


@masked_heads.mistake(
    "value-bias-still-flows",
    "v_proj has a weight and a bias. With factor 0, what is left of the values in your code?",
)
def _(attn, x, head_mask):
    q, k, _ = project(attn, x)
    v = (x @ attn.v_proj.weight.T) * per_channel(attn, head_mask) + attn.v_proj.bias
    return finish(attn, scaled(q, k).softmax(-1) @ split(v, attn.num_heads))


_AXES = (
    "Print the shape of what you multiply, and below it that of head_mask, lined up from the right. "
    "Which axis does the H of head_mask meet?"
)


@masked_heads.mistake("channels-scaled", _AXES)
def _(attn, x, head_mask):
    return finish(attn, attend(attn, x) * head_mask)


@masked_heads.mistake("tokens-scaled", _AXES)
def _(attn, x, head_mask):
    return finish(attn, attend(attn, x) * head_mask[:, None])


@masked_heads.mistake("sentences-scaled", _AXES)
def _(attn, x, head_mask):
    return finish(attn, attend(attn, x) * head_mask[:, None, None, None])


@masked_heads.mistake("merged-channels-scaled", _AXES)
def _(attn, x, head_mask):
    return attn.o_proj(merge(attend(attn, x)) * head_mask)


@masked_heads.mistake(
    "factors-tiled",
    "In the merged vector, which channels belong to head 0? Which factors do the first D channels get "
    "from you? `repeat` and `repeat_interleave` are not the same.",
)
def _(attn, x, head_mask):
    return attn.o_proj(merge(attend(attn, x)) * tiled(attn, head_mask))


_KEPT = (
    "Which columns of o_proj's weight read head 2? Which do they read in your code, once head 1 is "
    "left out?"
)


@masked_heads.mistake("heads-shifted", _KEPT)
def _(attn, x, head_mask):
    heads, kept = attend(attn, x), head_mask != 0
    packed = torch.zeros_like(heads)
    packed[:, : int(kept.sum())] = heads[:, kept] * head_mask[kept, None, None]
    return finish(attn, packed)


@masked_heads.mistake(
    "heads-left-out",
    "How many channels does o_proj expect, and how many are left when a head is missing? Zeros keep a "
    "place, too.",
)
def _(attn, x, head_mask):
    kept = head_mask != 0
    return finish(attn, attend(attn, x)[:, kept] * head_mask[kept, None, None])


_YES_OR_NO = (
    "What should a factor of 0.5 do? And one of -1? What does your code make of them?"
)


@masked_heads.mistake("zero-or-not", _YES_OR_NO)
def _(attn, x, head_mask):
    return finish(attn, attend(attn, x) * (head_mask != 0).to(x.dtype)[:, None, None])


@masked_heads.mistake("zero-or-not", _YES_OR_NO)
def _(attn, x, head_mask):
    return finish(attn, attend(attn, x).masked_fill((head_mask == 0)[:, None, None], 0))


@masked_heads.mistake(
    "positive-or-not",
    "What should a factor of 0.5 do? And one of -1? What does your comparison make of them?",
)
def _(attn, x, head_mask):
    return finish(attn, attend(attn, x) * (head_mask > 0).to(x.dtype)[:, None, None])


@masked_heads.mistake(
    "above-one-half-or-not",
    "What should a factor of 0.3 do? And one of 2? What does your comparison make of them?",
)
def _(attn, x, head_mask):
    return finish(attn, attend(attn, x) * (head_mask > 0.5).to(x.dtype)[:, None, None])


@masked_heads.mistake(
    "factors-clamped",
    "The factors may be any numbers. What does your code make of 2, and of -1?",
)
def _(attn, x, head_mask):
    return finish(attn, attend(attn, x) * head_mask.clamp(0, 1)[:, None, None])


@masked_heads.mistake(
    "factors-clamped",
    "The factors may be any numbers. What does your code make of 2, and of -1?",
)
def _(attn, x, head_mask):
    return finish(attn, attend(attn, x) * head_mask.clamp(min=0)[:, None, None])


@masked_heads.mistake(
    "upside-down",
    "Which factor silences a head: 0 or 1? What does yours do with a head whose factor is 1?",
)
def _(attn, x, head_mask):
    return finish(attn, attend(attn, x) * (1 - head_mask)[:, None, None])


@masked_heads.mistake(
    "factors-normalized",
    "Each head is multiplied by its own number. Does your number for head 0 depend on that of head 1?",
)
def _(attn, x, head_mask):
    return finish(attn, attend(attn, x) * head_mask.softmax(-1)[:, None, None])


@masked_heads.mistake(
    "factors-normalized",
    "Each head is multiplied by its own number. Does your number for head 0 depend on that of head 1?",
)
def _(attn, x, head_mask):
    factors = head_mask * attn.num_heads / head_mask.sum()
    return finish(attn, attend(attn, x) * factors[:, None, None])


@masked_heads.mistake(
    "scaled-twice", "How often is a head multiplied on its way to o_proj?"
)
def _(attn, x, head_mask):
    return finish(attn, attend(attn, x) * head_mask[:, None, None].square())


@masked_heads.mistake(
    "input-scaled",
    "Which heads read channel 0 of x? Does it belong to one head before the projections?",
)
def _(attn, x, head_mask):
    return finish(attn, attend(attn, x * per_channel(attn, head_mask)))


_BIAS = "Silence all heads. What should be left: nothing, or the bias of o_proj, once?"


@masked_heads.mistake("o-proj-bias-missing", _BIAS)
def _(attn, x, head_mask):
    heads = attend(attn, x) * head_mask[:, None, None]
    return merge(heads) @ attn.o_proj.weight.T


@masked_heads.mistake("o-proj-bias-of-every-head", _BIAS)
def _(attn, x, head_mask):
    heads = attend(attn, x) * head_mask[:, None, None]
    alone = torch.eye(attn.num_heads, dtype=x.dtype)[:, None, :, None, None]
    return sum(finish(attn, heads * one) for one in alone)


@masked_heads.mistake("o-proj-bias-of-every-head", _BIAS)
def _(attn, x, head_mask):
    heads = attend(attn, x)
    alone = torch.eye(attn.num_heads, dtype=x.dtype)[:, None, :, None, None]
    outputs = [finish(attn, heads * one) for one in alone]
    return sum(m * output for m, output in zip(head_mask, outputs, strict=True))


@masked_heads.mistake(
    "o-proj-missing",
    "Which layer of `attn` does your function not use? What mixes the heads?",
)
def _(attn, x, head_mask):
    return merge(attend(attn, x) * head_mask[:, None, None])


@masked_heads.mistake(
    "heads-not-merged",
    "Your result has four axes. Which two of them together are the E channels that o_proj reads?",
)
def _(attn, x, head_mask):
    return attend(attn, x) * head_mask[:, None, None]


@masked_heads.mistake(
    "merged-without-transpose",
    "The shape is right, the cells are not. Which axes must stand side by side before `reshape` may "
    "merge them?",
)
def _(attn, x, head_mask):
    heads = attend(attn, x) * head_mask[:, None, None]
    return attn.o_proj(heads.reshape(x.shape))


@masked_heads.mistake(
    "split-without-transpose",
    "Which numbers of token 0 end up in head 0? Does a `view` to (B, H, L, D) move tokens, too?",
)
def _(attn, x, head_mask):
    shape = (x.shape[0], attn.num_heads, x.shape[1], -1)
    q, k, v = (p(x).reshape(shape) for p in (attn.q_proj, attn.k_proj, attn.v_proj))
    return finish(attn, scaled(q, k).softmax(-1) @ v * head_mask[:, None, None])


@masked_heads.mistake(
    "head-mask-ignored",
    "Which line of yours uses head_mask? What changes if it is all zero?",
)
def _(attn, x, head_mask):
    return attn(x)


@masked_heads.mistake(
    "input-added",
    "With all heads silenced, what does your function return? Does it add x, which the task does not "
    "ask for?",
)
def _(attn, x, head_mask):
    return x + finish(attn, attend(attn, x) * head_mask[:, None, None])


@masked_heads.mistake(
    "scale-missing",
    "Compare with `attn(x)` for a mask of ones. What are the scores divided by?",
)
def _(attn, x, head_mask):
    q, k, v = project(attn, x)
    heads = (q @ k.mT).softmax(-1) @ v
    return finish(attn, heads * head_mask[:, None, None])


@masked_heads.mistake(
    "scale-of-the-whole-width",
    "Compare with `attn(x)` for a mask of ones. How long are the vectors in the dot product of one head: "
    "E, or D?",
)
def _(attn, x, head_mask):
    q, k, v = project(attn, x)
    heads = (q @ k.mT / x.shape[-1] ** 0.5).softmax(-1) @ v
    return finish(attn, heads * head_mask[:, None, None])


_HOOK = (
    "Your hook is still there after the call. Which object did `register_...` return, and what does "
    "its method `remove` do?"
)


@masked_heads.mistake("hook-left-behind", _HOOK)
def _(attn, x, head_mask):
    factors = per_channel(attn, head_mask)
    attn.o_proj.register_forward_pre_hook(lambda module, args: (args[0] * factors,))
    return attn(x)


@masked_heads.mistake("hook-left-behind", _HOOK)
def _(attn, x, head_mask):
    factors = per_channel(attn, head_mask)
    attn.v_proj.register_forward_hook(lambda module, args, output: output * factors)
    return attn(x)


_CHANGED = (
    "Which line of yours writes into `attn`, or into one of its layers? Everybody else who uses this "
    "module gets your version. Can you multiply what the layer is given, instead of the layer?"
)


@masked_heads.mistake("attn-changed", _CHANGED)
def _(attn, x, head_mask):
    with torch.no_grad():
        attn.o_proj.weight.mul_(per_channel(attn, head_mask))
    return attn(x)


@masked_heads.mistake("attn-changed", _CHANGED)
def _(attn, x, head_mask):
    attn.o_proj.weight = nn.Parameter(attn.o_proj.weight * per_channel(attn, head_mask))
    return attn(x)


@masked_heads.mistake("attn-changed", _CHANGED)
def _(attn, x, head_mask):
    with torch.no_grad():
        attn.v_proj.weight.mul_(per_channel(attn, head_mask)[:, None])
        attn.v_proj.bias.mul_(per_channel(attn, head_mask))
    return attn(x)


_KERNEL = (
    "A function or a number that you store in `attn` is still there in the next call. Is there a way "
    "without storing anything?"
)


@masked_heads.mistake("something-stored-in-attn", _KERNEL)
def _(attn, x, head_mask):
    kernel = attn.kernel

    def masked(*args, **kwargs):
        output, weights = kernel(*args, **kwargs)
        return output * head_mask[:, None, None], weights

    attn.kernel = masked
    return attn(x)


@masked_heads.mistake("something-stored-in-attn", _KERNEL)
def _(attn, x, head_mask):
    attn.head_mask = head_mask
    return finish(attn, attend(attn, x) * attn.head_mask[:, None, None])


@masked_heads.mistake("something-stored-in-attn", _KERNEL)
def _(attn, x, head_mask):
    attn.register_buffer("head_mask", head_mask)
    return finish(attn, attend(attn, x) * attn.head_mask[:, None, None])
