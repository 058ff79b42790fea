"""The task `gated_heads`: every token opens and closes every head by itself."""

import torch

import attn_lib
from attn_lib.checks.case import Case
from attn_lib.checks.lesson_07.masked_heads import (
    SWAPPED,
    UNIFORM,
    random_attention,
    small_attention,
)
from attn_lib.checks.lesson_07.runs import with_module, with_module_twice
from attn_lib.checks.lesson_07.steps import (
    attend,
    finish,
    gates,
    merge,
    opened,
    per_channel,
    project,
    scaled,
    split,
    tiled,
)
from attn_lib.checks.task import task


@task(
    lesson=7,
    points=3,
    hints=[
        "`masked_heads` multiplies a head by one number, for all tokens. Here the number is computed, from "
        "the token that asks. How many gates are there in all? Write down their shape.",
        "The dot product of every token (B, L, E) with every row of w_gate (H, E) gives (B, L, H): a matrix "
        "product. Then the sigmoid.",
        "Write the shape of the gates above that of the heads, (B, H, L, D). Which two axes must change "
        "places, and which axis of size 1 is missing? From there on it is as in `masked_heads`.",
    ],
)
def gated_heads(attn, x, w_gate):
    return attn_lib.gated_heads(attn, x, w_gate)


@gated_heads.cases
def _(rng):
    def case(about, B, H, L, D, spread=2.0, dtype=torch.float32, run=with_module, **kwargs):
        x = torch.randn(B, L, H * D, generator=rng)
        w_gate = torch.randn(H, H * D, generator=rng) * spread / (H * D) ** 0.5
        args = (random_attention(rng, H, D, dtype), x.to(dtype), w_gate.to(dtype))
        return Case(about, args, run, **kwargs)

    x, w_gate = torch.tensor([[[2.0, 3.0]]]), torch.tensor([[-2.0, 1.0], [1.0, 0.0]])
    about = "two heads of one channel, one token, all four layers the identity"
    yield Case(about, (small_attention(), x, w_gate), with_module_twice)
    about = (
        "two heads of one channel, one token; v_proj adds 1 and 2; o_proj swaps both channels, and "
        "then adds 10 and 20"
    )
    yield Case(about, (small_attention(**SWAPPED), x, w_gate), with_module)
    x = torch.tensor([[[1.0, 4.0], [2.0, 1.0]]])
    about = "two heads of one channel, two tokens; q_proj is zero, the other layers the identity"
    yield Case(about, (small_attention(**UNIFORM), x, w_gate), with_module)
    yield case("all sizes different", 2, 3, 5, 4, run=with_module_twice)
    # A sigmoid by way of abs() is right, but has no gradient at 0.
    yield case("all gates half open (w_gate is zero)", 2, 3, 5, 4, spread=0.0, grad=False)
    yield case("eight heads, seven tokens, gates almost open or closed", 1, 8, 7, 2, 15.0)
    yield case("gates as far open and closed as float32 can tell", 2, 3, 5, 4, 150.0)
    yield case("one head", 2, 1, 5, 4, grad=False)
    yield case("B = H = L = D", 3, 3, 3, 3, grad=False)
    yield case("D = 1, and L = H", 2, 4, 4, 1, grad=False)
    yield case("one token", 3, 4, 1, 2, grad=False)
    yield case("float64, and L = E", 2, 3, 6, 2, dtype=torch.float64)
    yield case("bfloat16", 2, 3, 5, 4, 1.0, torch.bfloat16, grad=False)
    attention = random_attention(rng, 3, 4)
    x = torch.randn(5, 2, 12, generator=rng).transpose(0, 1)
    w_gate = torch.randn(12, 3, generator=rng).T / 2
    yield Case("not contiguous", (attention, x, w_gate), with_module)


# ------------------------------------------------------------------------------- mistakes


def _apply(attn, x, gate):
    return finish(attn, opened(attend(attn, x), gate))


_AXES = (
    "Write the shape of the gates above that of the heads, lined up from the right. Which axis of one "
    "counts tokens, which counts heads, and do they meet?"
)


@gated_heads.mistake("tokens-and-heads-swapped", _AXES)
def _(attn, x, w_gate):
    return finish(attn, attend(attn, x) * gates(x, w_gate)[..., None])


@gated_heads.mistake("tokens-and-heads-reshaped", _AXES)
def _(attn, x, w_gate):
    heads = attend(attn, x)
    return finish(attn, heads * gates(x, w_gate).reshape(*heads.shape[:3], 1))


@gated_heads.mistake("gates-meet-tokens-and-channels", _AXES)
def _(attn, x, w_gate):
    return finish(attn, attend(attn, x) * gates(x, w_gate)[:, None])


@gated_heads.mistake("gates-meet-tokens-and-channels", _AXES)
def _(attn, x, w_gate):
    return finish(attn, attend(attn, x) * gates(x, w_gate).transpose(1, 2)[:, None])


@gated_heads.mistake("gate-axis-missing", _AXES)
def _(attn, x, w_gate):
    return finish(attn, attend(attn, x) * gates(x, w_gate))


@gated_heads.mistake("gate-axis-missing", _AXES)
def _(attn, x, w_gate):
    return finish(attn, attend(attn, x) * gates(x, w_gate).transpose(1, 2))


@gated_heads.mistake("merged-channels-gated", _AXES)
def _(attn, x, w_gate):
    return attn.o_proj(merge(attend(attn, x)) * gates(x, w_gate))


@gated_heads.mistake(
    "gates-tiled",
    "In the merged vector, which channels belong to head 0? Which gates do its D channels get from you? "
    "`repeat` and `repeat_interleave` are not the same.",
)
def _(attn, x, w_gate):
    return attn.o_proj(merge(attend(attn, x)) * tiled(attn, gates(x, w_gate)))


_POOLED = "Can two tokens of one sentence open the same head differently in your code?"


@gated_heads.mistake("one-gate-for-the-sentence", _POOLED)
def _(attn, x, w_gate):
    return _apply(attn, x, gates(x.mean(1, keepdim=True), w_gate))


@gated_heads.mistake("one-gate-for-the-sentence", _POOLED)
def _(attn, x, w_gate):
    return _apply(attn, x, gates(x, w_gate).mean(1, keepdim=True))


@gated_heads.mistake("gate-of-the-first-token", _POOLED)
def _(attn, x, w_gate):
    return _apply(attn, x, gates(x[:, :1], w_gate))


@gated_heads.mistake("gate-of-the-last-token", _POOLED)
def _(attn, x, w_gate):
    return _apply(attn, x, gates(x[:, -1:], w_gate))


@gated_heads.mistake(
    "one-gate-for-all-sentences",
    "Change sentence 1. Do the gates of sentence 0 change with it in your code?",
)
def _(attn, x, w_gate):
    return _apply(attn, x, gates(x, w_gate).mean((0, 1), keepdim=True))


@gated_heads.mistake(
    "one-gate-for-all-heads",
    "How many gates has each token in your code: one, or one for each head?",
)
def _(attn, x, w_gate):
    return _apply(attn, x, gates(x, w_gate).mean(-1, keepdim=True))


@gated_heads.mistake(
    "gate-of-the-token-that-is-read",
    "A gate belongs to the token that asks. If token 0 closes its gate, may token 1 still read token 0? "
    "Is it the values that you multiply, or what the head says?",
)
def _(attn, x, w_gate):
    q, k, v = project(attn, x)
    return finish(attn, scaled(q, k).softmax(-1) @ opened(v, gates(x, w_gate)))


_ALONE = "After o_proj, which heads have a part in channel 0? Where is a head still alone?"


@gated_heads.mistake("gated-after-o-proj", _ALONE)
def _(attn, x, w_gate):
    output = finish(attn, attend(attn, x))
    return output * per_channel(attn, gates(x, w_gate))


_SCORES = (
    "With a gate of 0, what should the head say? What does softmax make of a row of zeros?"
)


@gated_heads.mistake("scores-gated", _SCORES)
def _(attn, x, w_gate):
    q, k, v = project(attn, x)
    return finish(attn, opened(scaled(q, k), gates(x, w_gate)).softmax(-1) @ v)


@gated_heads.mistake("keys-gated", _SCORES)
def _(attn, x, w_gate):
    q, k, v = project(attn, x)
    return finish(attn, scaled(q, opened(k, gates(x, w_gate))).softmax(-1) @ v)


@gated_heads.mistake(
    "input-gated",
    "Which heads read channel 0 of x? Does it belong to one head before the projections?",
)
def _(attn, x, w_gate):
    return finish(attn, attend(attn, x * per_channel(attn, gates(x, w_gate))))


@gated_heads.mistake(
    "sigmoid-missing",
    "A gate lies between closed, 0, and open, 1. Between which numbers does yours lie?",
)
def _(attn, x, w_gate):
    return _apply(attn, x, x @ w_gate.T)


@gated_heads.mistake(
    "softmax-over-heads",
    "Can all heads of a token be open at the same time in your code? What do its gates add up to?",
)
def _(attn, x, w_gate):
    return _apply(attn, x, (x @ w_gate.T).softmax(-1))


@gated_heads.mistake(
    "softmax-over-tokens",
    "Can all tokens open the same head at the same time in your code? What do its gates add up to?",
)
def _(attn, x, w_gate):
    return _apply(attn, x, (x @ w_gate.T).softmax(1))


_ACTIVATION = (
    "Which function makes a gate of a number: 0 to 1/2, large ones almost to 1, very negative ones "
    "almost to 0? Which one do you use?"
)


@gated_heads.mistake("tanh-instead-of-sigmoid", _ACTIVATION)
def _(attn, x, w_gate):
    return _apply(attn, x, (x @ w_gate.T).tanh())


@gated_heads.mistake("relu-instead-of-sigmoid", _ACTIVATION)
def _(attn, x, w_gate):
    return _apply(attn, x, (x @ w_gate.T).relu())


@gated_heads.mistake("silu-instead-of-sigmoid", _ACTIVATION)
def _(attn, x, w_gate):
    return _apply(attn, x, torch.nn.functional.silu(x @ w_gate.T))


@gated_heads.mistake("sigmoid-twice", _ACTIVATION)
def _(attn, x, w_gate):
    return _apply(attn, x, gates(x, w_gate).sigmoid())


@gated_heads.mistake("gates-doubled", _ACTIVATION)
def _(attn, x, w_gate):
    return _apply(attn, x, 2 * gates(x, w_gate))


_STEP = (
    "A gate can be half open, or it could not be learned: what is the gradient of a comparison, or of "
    "`round`?"
)


@gated_heads.mistake("open-or-closed", _STEP)
def _(attn, x, w_gate):
    return _apply(attn, x, (gates(x, w_gate) > 0.5).to(x.dtype))


@gated_heads.mistake("open-or-closed", _STEP)
def _(attn, x, w_gate):
    return _apply(attn, x, gates(x, w_gate).round())


@gated_heads.mistake(
    "upside-down",
    "Which gate lets a head through: 0 or 1? What is yours for a large positive dot product?",
)
def _(attn, x, w_gate):
    return _apply(attn, x, 1 - gates(x, w_gate))


@gated_heads.mistake(
    "gate-added",
    "What should a closed gate leave of a head? What is left in your code if 0 is added?",
)
def _(attn, x, w_gate):
    heads = attend(attn, x)
    return finish(attn, heads + gates(x, w_gate).transpose(1, 2)[..., None])


@gated_heads.mistake(
    "gate-applied-twice", "How often is a head multiplied on its way to o_proj?"
)
def _(attn, x, w_gate):
    return _apply(attn, x, gates(x, w_gate).square())


@gated_heads.mistake(
    "w-gate-not-transposed",
    "w_gate is (H, E), one row for each head. Which of its axes must meet the E numbers of a token?",
)
def _(attn, x, w_gate):
    return _apply(attn, x, (x @ w_gate).sigmoid())


_READS = "The gate is computed from x, the input. From what do you compute it?"


@gated_heads.mistake("gate-from-the-heads", _READS)
def _(attn, x, w_gate):
    heads = attend(attn, x)
    return finish(attn, opened(heads, gates(merge(heads), w_gate)))


@gated_heads.mistake("gate-from-the-output", _READS)
def _(attn, x, w_gate):
    heads = attend(attn, x)
    return finish(attn, opened(heads, gates(finish(attn, heads), w_gate)))


@gated_heads.mistake("gate-from-the-queries", _READS)
def _(attn, x, w_gate):
    return _apply(attn, x, gates(attn.q_proj(x), w_gate))


@gated_heads.mistake("gate-from-the-keys", _READS)
def _(attn, x, w_gate):
    return _apply(attn, x, gates(attn.k_proj(x), w_gate))


@gated_heads.mistake("gate-from-the-values", _READS)
def _(attn, x, w_gate):
    return _apply(attn, x, gates(attn.v_proj(x), w_gate))


@gated_heads.mistake(
    "gate-from-a-slice-of-x",
    "A row of w_gate has E numbers. How many numbers of x does the gate of head 0 read in your code?",
)
def _(attn, x, w_gate):
    own = (
        split(x, attn.num_heads)
        * split(w_gate[None], attn.num_heads)
        .diagonal(dim1=1, dim2=2)
        .transpose(1, 2)[:, :, None]
    )
    return finish(attn, attend(attn, x) * own.sum(-1, keepdim=True).sigmoid())


@gated_heads.mistake(
    "logits-divided",
    "The gate is the sigmoid of the dot product. By what do you divide it? Nothing is said of that here.",
)
def _(attn, x, w_gate):
    return _apply(attn, x, (x @ w_gate.T / x.shape[-1] ** 0.5).sigmoid())


@gated_heads.mistake(
    "logits-divided",
    "The gate is the sigmoid of the dot product. By what do you divide it? Nothing is said of that here.",
)
def _(attn, x, w_gate):
    D = x.shape[-1] // attn.num_heads
    return _apply(attn, x, (x @ w_gate.T / D**0.5).sigmoid())


@gated_heads.mistake(
    "logits-divided",
    "The gate is the sigmoid of the dot product. By what do you divide it? Nothing is said of that here.",
)
def _(attn, x, w_gate):
    return _apply(attn, x, (x @ w_gate.T / x.shape[-1]).sigmoid())


@gated_heads.mistake(
    "exp-too-large",
    "What is exp(1000) in float32? And what is that number divided by itself plus 1? Which function of "
    "PyTorch has thought of it?",
)
def _(attn, x, w_gate):
    e = (x @ w_gate.T).exp()
    return _apply(attn, x, e / (1 + e))


@gated_heads.mistake(
    "w-gate-ignored", "Which line of yours uses w_gate? What changes if it is all zero?"
)
def _(attn, x, w_gate):
    return attn(x)


_BIAS = "With every gate closed, what should be left: nothing, or the bias of o_proj, once?"


@gated_heads.mistake("o-proj-bias-missing", _BIAS)
def _(attn, x, w_gate):
    return merge(opened(attend(attn, x), gates(x, w_gate))) @ attn.o_proj.weight.T


@gated_heads.mistake(
    "o-proj-missing",
    "Which layer of `attn` does your function not use? What mixes the heads?",
)
def _(attn, x, w_gate):
    return merge(opened(attend(attn, x), gates(x, w_gate)))


@gated_heads.mistake(
    "heads-not-merged",
    "Your result has four axes. Which two of them together are the E channels that o_proj reads?",
)
def _(attn, x, w_gate):
    return opened(attend(attn, x), gates(x, w_gate))


@gated_heads.mistake(
    "merged-without-transpose",
    "The shape is right, the cells are not. Which axes must stand side by side before `reshape` may "
    "merge them?",
)
def _(attn, x, w_gate):
    return attn.o_proj(opened(attend(attn, x), gates(x, w_gate)).reshape(x.shape))


@gated_heads.mistake(
    "input-added",
    "With every gate closed, what does your function return? Does it add x, which the task does not "
    "ask for?",
)
def _(attn, x, w_gate):
    return x + _apply(attn, x, gates(x, w_gate))


@gated_heads.mistake(
    "blended-with-the-input",
    "What should a closed gate leave of a head: nothing, or something else in its place?",
)
def _(attn, x, w_gate):
    gate = gates(x, w_gate)
    heads = opened(attend(attn, x), gate) + opened(split(x, attn.num_heads), 1 - gate)
    return finish(attn, heads)


_HOOK = (
    "Your hook is still there after the call. Which object did `register_...` return, and what does "
    "its method `remove` do?"
)


@gated_heads.mistake("hook-left-behind", _HOOK)
def _(attn, x, w_gate):
    factors = per_channel(attn, gates(x, w_gate))
    attn.o_proj.register_forward_pre_hook(lambda module, args: (args[0] * factors,))
    return attn(x)
