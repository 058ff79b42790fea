"""The task `gated_heads`: every token opens and closes every head by itself."""

import math

import torch

import attn_lib
from attn_lib.checks.authoring import Case, task
from attn_lib.tasks.lesson_07 import controlled
from attn_lib.tasks.lesson_07.runs import unless_changed, with_module


@task(
    lesson=7,
    points=3,
    insight="A gate that is trained tells which heads the loss can do without.",
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
    scaled = heads * factor
    merged = scaled.transpose(1, 2).flatten(2)
    output = attn.o_proj(merged)
    return output


@gated_heads.cases
def _(rng):
    def case(about, B, H, L, D, spread=2.0, dtype=torch.float32, **kwargs):
        x = torch.randn(B, L, H * D, generator=rng)
        w_gate = torch.randn(H, H * D, generator=rng) * spread / (H * D) ** 0.5
        attention = controlled.random_attention(rng, H, D, dtype)
        args = (attention, x.to(dtype), w_gate.to(dtype))
        return Case(about, args, with_module, finish=unless_changed, **kwargs)

    w_gate = [[-2.0, 1.0], [0.5, 0.0]]
    yield controlled.by_hand(0, [[2.0, 3.0]], w_gate)
    yield controlled.by_hand(1, [[2.0, 3.0]], w_gate)
    yield controlled.by_hand(2, [[1.0, 4.0], [2.0, 1.0]], w_gate)
    yield controlled.by_hand(3, [[1.0, 2.0], [2.0, 0.0], [1.0, 1.0]], [[50.0, 50.0]])
    yield case("all sizes different", 2, 3, 5, 4)
    # A sigmoid by way of abs() is right, but has no gradient at 0.
    yield case("all gates half open (w_gate is zero)", 2, 3, 5, 4, spread=0.0, grad=False)
    yield case("eight heads, seven tokens, gates almost open or closed", 1, 8, 7, 2, 15.0)
    yield case("logits as large as a few hundred", 2, 3, 5, 4, 150.0)
    yield case("one head", 2, 1, 5, 4, grad=False)
    yield case("B = H = L = D", 3, 3, 3, 3, grad=False)
    yield case("D = 1, and L = H", 2, 4, 4, 1, grad=False)
    yield case("one token", 3, 4, 1, 2, grad=False)
    yield case("float64, and L = E", 2, 3, 6, 2, dtype=torch.float64, tolerance=1e-6)
    yield case("bfloat16", 2, 3, 5, 4, 1.0, torch.bfloat16, grad=False)
    attention = controlled.random_attention(rng, 3, 4)
    x = torch.randn(5, 2, 12, generator=rng).transpose(0, 1)
    turned = torch.randn(12, 3, generator=rng).T / 2
    yield Case("not contiguous", (attention, x, turned), with_module, finish=unless_changed)
    yield case("13 heads, 20 words", 1, 13, 20, 5)
    yield controlled.by_hand(0, [[4.0, 8.0]], [[250.0, 0.0], [0.0, -125.0]])
    yield controlled.by_hand(0, [[4.0, 8.0]], [[-250.0, 0.0], [0.0, -125.0]])


controlled.add_mistakes(gated_heads, "w_gate")
gated_heads.rows(f"""
Write the shape of the gates above that of the heads, lined up from the right. Which axis of one
counts tokens, which counts heads, and do they meet?
    gate-on-the-wrong-axis  factor = gate[..., None] || gate.reshape(*heads.shape[:3], 1)
    gate-on-the-wrong-axis  factor = gate[:, None] || gate.transpose(1, 2)[:, None] || gate
    gate-on-the-wrong-axis  factor = gate.transpose(1, 2)
    gate-on-the-wrong-axis  scaled = heads ; merged = _ * gate
In the merged vector, which channels belong to head 0? Which gates do its D channels get from you?
`repeat` and `repeat_interleave` are not the same.
    gates-tiled  scaled = heads ; merged = _ * gate.repeat(1, 1, v.shape[-1])
Can two tokens of one sentence open the same head differently in your code?
    one-gate-for-the-sentence  reads = x.mean(1, keepdim=True) || x[:, :1] || x[:, -1:]
    one-gate-for-the-sentence  gate = _.mean(1, keepdim=True)
    one-gate-for-the-sentence  gate = _.mean((0, 1), keepdim=True)
How many gates has each token in your code: one, or one for each head?
    one-gate-for-all-heads  gate = _.mean(-1, keepdim=True)
Can two sentences open the same head differently in your code?
    one-gate-for-all-sentences  gate = _.mean(0, keepdim=True) || _[:1]
Do you multiply the values, or what the head says? Whose gate closes: the asking token's, or the read one's?
    gate-of-the-token-that-is-read  scaled = weights @ (v * factor)
A gate lies between closed, 0, and open, 1. Between which numbers does yours lie?
    sigmoid-missing  gate = logits
What do your gates add up to, and along which axis? Can all of them be open at the same time?
    softmax-of-gates  gate = logits.softmax(-1) || logits.softmax(1)
Which function takes 0 to 1/2, large numbers almost to 1, and very negative ones almost to 0?
    another-function-than-sigmoid  gate = logits.tanh() || logits.relu() || F.silu(logits)
    another-function-than-sigmoid  gate = F.logsigmoid(logits) || F.hardsigmoid(logits)
    another-function-than-sigmoid  gate = _.sigmoid() || 2 * _
A gate that is learned can be half open: what is the gradient of a comparison, or of `round`?
    open-or-closed  gate = (_ > 0.5).to(x.dtype) || _.round()
Which gate lets a head through: 0 or 1? What is yours for a large positive dot product?
    upside-down  gate = 1 - _
w_gate is (H, E), one row for each head. Which of its axes must meet the E numbers of a token?
    w-gate-not-transposed  logits = reads @ w_gate
A reshape moves no number. Which numbers stand in column 0 of yours, and which belong to head 0?
    w-gate-reshaped  logits = reads @ w_gate.reshape(-1, H)
A row of w_gate has E numbers. How many numbers of x does the gate of head 0 read in your code?
    gate-from-a-slice-of-x  logits = torch.einsum("blhd,hhd->blh", x.unflatten(-1, (H, -1)), w_gate.unflatten(-1, (H, -1)))
What should a closed gate leave of a head: nothing, or something else in its place?
    blended-with-the-input  scaled = _ + x.unflatten(-1, (H, -1)).transpose(1, 2) * (1 - factor)
The gate is computed from x, the input. From what do you compute it?
    gate-from-something-else  reads = heads.transpose(1, 2).flatten(2)
    gate-from-something-else  reads = attn.o_proj(heads.transpose(1, 2).flatten(2))
    gate-from-something-else  reads = queries || keys || values
The gate is the sigmoid of the dot product. By what do you divide it? Nothing is said of that here.
    logits-divided  logits = _ / math.sqrt(x.shape[-1]) || _ / math.sqrt(D)
    logits-divided  logits = _ / x.shape[-1]
What is exp(1000) in float32? And what is that number divided by itself plus 1? Which function of
PyTorch has thought of it?
    exp-too-large  gate = logits.exp() / (1 + logits.exp())
Which line of yours uses w_gate? What changes if it is all zero?
    w-gate-ignored  scaled = heads
{controlled.AFTER_O_PROJ}
    gated-after-o-proj  scaled = heads ; output = _ * gate.repeat_interleave(v.shape[-1], -1)
    gated-after-o-proj  scaled = heads ; output = _ * gate
{controlled.SCORES}
    scores-scaled  scaled = (scores * factor.mT).softmax(-1) @ v
{controlled.INPUT}
    input-gated  queries, keys, values = (x) => (x * torch.sigmoid(x @ w_gate.T).repeat_interleave(x.shape[-1] // H, -1)) ; scaled = heads
{controlled.MORE_ROWS}""")

gated_heads.drills(
    "gate-on-the-wrong-axis, softmax-of-gates, another-function-than-sigmoid 2, one-gate-for-the-sentence, "
    "gate-from-something-else 2, merged-without-transpose, w-gate-reshaped, scale-after-softmax"
)
