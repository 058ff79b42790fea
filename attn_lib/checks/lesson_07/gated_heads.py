"""The task `gated_heads`: every token opens and closes every head by itself."""

import math

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
from attn_lib.checks.task import task


@task(
    lesson=7,
    points=3,
    library=attn_lib.gated_heads,
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
    H = attn.num_heads
    queries = attn.q_proj(x)
    keys = attn.k_proj(x)
    values = attn.v_proj(x)
    q = queries.unflatten(-1, (H, -1)).transpose(1, 2)  # (B, H, L, D)
    k = keys.unflatten(-1, (H, -1)).transpose(1, 2)
    v = values.unflatten(-1, (H, -1)).transpose(1, 2)
    D = q.shape[-1]
    products = q @ k.mT
    scores = products / math.sqrt(D)
    weights = scores.softmax(-1)
    heads = weights @ v
    reads = x
    logits = reads @ w_gate.T  # (B, L, H)
    gate = torch.sigmoid(logits)
    factor = gate.transpose(1, 2)[..., None]  # (B, H, L, 1)
    gated = heads * factor
    merged = gated.transpose(1, 2).flatten(2)
    output = attn.o_proj(merged)
    return output


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

AXES = (
    "Write the shape of the gates above that of the heads, lined up from the right. Which axis of one "
    "counts tokens, which counts heads, and do they meet?"
)
wrong = gated_heads.wrong
wrong("tokens-and-heads-swapped", AXES, dict(factor="gate[..., None]"))
wrong("tokens-and-heads-reshaped", AXES, dict(factor="gate.reshape(*heads.shape[:3], 1)"))
wrong(
    "gates-meet-tokens-and-channels",
    AXES,
    dict(factor="gate[:, None]"),
    dict(factor="gate.transpose(1, 2)[:, None]"),
)
wrong("gate-axis-missing", AXES, dict(factor="gate"), dict(factor="gate.transpose(1, 2)"))
wrong(
    "merged-channels-gated",
    AXES,
    dict(gated="heads", merged="_ * gate"),
)
wrong(
    "gates-tiled",
    "In the merged vector, which channels belong to head 0? Which gates do its D channels get from you? "
    "`repeat` and `repeat_interleave` are not the same.",
    dict(gated="heads", merged="_ * torch.cat([gate] * D, -1)"),
)
POOLED = "Can two tokens of one sentence open the same head differently in your code?"
wrong(
    "one-gate-for-the-sentence",
    POOLED,
    dict(reads="x.mean(1, keepdim=True)"),
    dict(gate="_.mean(1, keepdim=True)"),
)
wrong("gate-of-the-first-token", POOLED, dict(reads="x[:, :1]"))
wrong("gate-of-the-last-token", POOLED, dict(reads="x[:, -1:]"))
wrong(
    "one-gate-for-all-sentences",
    "Change sentence 1. Do the gates of sentence 0 change with it in your code?",
    dict(gate="_.mean((0, 1), keepdim=True)"),
)
wrong(
    "one-gate-for-all-heads",
    "How many gates has each token in your code: one, or one for each head?",
    dict(gate="_.mean(-1, keepdim=True)"),
)
wrong(
    "gate-of-the-token-that-is-read",
    "A gate belongs to the token that asks. If token 0 closes its gate, may token 1 still read token 0? "
    "Is it the values that you multiply, or what the head says?",
    dict(gated="weights @ (v * factor)"),
)
wrong(
    "gated-after-o-proj",
    "After o_proj, which heads have a part in channel 0? Where is a head still alone?",
    dict(gated="heads", output="_ * gate.repeat_interleave(D, -1)"),
)
SCORES = (
    "With a gate of 0, what should the head say? What does softmax make of a row of zeros?"
)
wrong("scores-gated", SCORES, dict(gated="(scores * factor).softmax(-1) @ v"))
wrong(
    "keys-gated",
    SCORES,
    dict(gated="(q @ (k * factor).mT / math.sqrt(D)).softmax(-1) @ v"),
)
wrong(
    "input-gated",
    "Which heads read channel 0 of x? Does it belong to one head before the projections?",
    dict(
        queries="attn.q_proj(x * torch.sigmoid(x @ w_gate.T).repeat_interleave(x.shape[-1] // H, -1))",
        keys="attn.k_proj(x * torch.sigmoid(x @ w_gate.T).repeat_interleave(x.shape[-1] // H, -1))",
        values="attn.v_proj(x * torch.sigmoid(x @ w_gate.T).repeat_interleave(x.shape[-1] // H, -1))",
        gated="heads",
    ),
)
wrong(
    "sigmoid-missing",
    "A gate lies between closed, 0, and open, 1. Between which numbers does yours lie?",
    dict(gate="logits"),
)
wrong(
    "softmax-over-heads",
    "Can all heads of a token be open at the same time in your code? What do its gates add up to?",
    dict(gate="logits.softmax(-1)"),
)
wrong(
    "softmax-over-tokens",
    "Can all tokens open the same head at the same time in your code? What do its gates add up to?",
    dict(gate="logits.softmax(1)"),
)
ACTIVATION = (
    "Which function makes a gate of a number: 0 to 1/2, large ones almost to 1, very negative ones "
    "almost to 0? Which one do you use?"
)
wrong("tanh-instead-of-sigmoid", ACTIVATION, dict(gate="logits.tanh()"))
wrong("relu-instead-of-sigmoid", ACTIVATION, dict(gate="logits.relu()"))
wrong("silu-instead-of-sigmoid", ACTIVATION, dict(gate="F.silu(logits)"))
wrong("sigmoid-twice", ACTIVATION, dict(gate="_.sigmoid()"))
wrong("gates-doubled", ACTIVATION, dict(gate="2 * _"))
wrong(
    "open-or-closed",
    "A gate can be half open, or it could not be learned: what is the gradient of a comparison, or of "
    "`round`?",
    dict(gate="(_ > 0.5).to(x.dtype)"),
    dict(gate="_.round()"),
)
wrong(
    "upside-down",
    "Which gate lets a head through: 0 or 1? What is yours for a large positive dot product?",
    dict(gate="1 - _"),
)
wrong(
    "gate-added",
    "What should a closed gate leave of a head? What is left in your code if 0 is added?",
    dict(gated="heads + factor"),
)
wrong(
    "gate-applied-twice",
    "How often is a head multiplied on its way to o_proj?",
    dict(factor="_.square()"),
)
wrong(
    "w-gate-not-transposed",
    "w_gate is (H, E), one row for each head. Which of its axes must meet the E numbers of a token?",
    dict(logits="reads @ w_gate"),
)
READS = "The gate is computed from x, the input. From what do you compute it?"
wrong("gate-from-the-heads", READS, dict(reads="heads.transpose(1, 2).flatten(2)"))
wrong(
    "gate-from-the-output",
    READS,
    dict(reads="attn.o_proj(heads.transpose(1, 2).flatten(2))"),
)
wrong("gate-from-the-queries", READS, dict(reads="queries"))
wrong("gate-from-the-keys", READS, dict(reads="keys"))
wrong("gate-from-the-values", READS, dict(reads="values"))
wrong(
    "gate-from-a-slice-of-x",
    "A row of w_gate has E numbers. How many numbers of x does the gate of head 0 read in your code?",
    dict(
        logits="torch.einsum('blhd,hhd->blh', x.unflatten(-1, (H, -1)), w_gate.unflatten(-1, (H, -1)))"
    ),
)
wrong(
    "logits-divided",
    "The gate is the sigmoid of the dot product. By what do you divide it? Nothing is said of that here.",
    dict(logits="_ / math.sqrt(x.shape[-1])"),
    dict(logits="_ / math.sqrt(D)"),
    dict(logits="_ / x.shape[-1]"),
)
wrong(
    "exp-too-large",
    "What is exp(1000) in float32? And what is that number divided by itself plus 1? Which function of "
    "PyTorch has thought of it?",
    dict(gate="logits.exp() / (1 + logits.exp())"),
)
wrong(
    "w-gate-ignored",
    "Which line of yours uses w_gate? What changes if it is all zero?",
    dict(gated="heads"),
)
wrong(
    "o-proj-bias-missing",
    "With every gate closed, what should be left: nothing, or the bias of o_proj, once?",
    dict(output="merged @ attn.o_proj.weight.T"),
)
wrong(
    "heads-not-merged",
    "Your result has four axes. Which two of them together are the E channels that o_proj reads?",
    dict(output="gated"),
)
wrong(
    "input-added",
    "With every gate closed, what does your function return? Does it add x, which the task does not "
    "ask for?",
    dict(output="x + _"),
)
wrong(
    "blended-with-the-input",
    "What should a closed gate leave of a head: nothing, or something else in its place?",
    dict(gated="_ + (1 - factor) * x.unflatten(-1, (H, -1)).transpose(1, 2)"),
)


@gated_heads.mistake(
    "hook-left-behind",
    "Your hook is still there after the call. Which object did `register_...` return, and what does "
    "its method `remove` do?",
)
def _(attn, x, w_gate):
    factors = (x @ w_gate.T).sigmoid().repeat_interleave(x.shape[-1] // attn.num_heads, -1)
    attn.o_proj.register_forward_pre_hook(lambda module, args: (args[0] * factors,))
    return attn(x)
