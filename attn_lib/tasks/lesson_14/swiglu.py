"""The task `SwiGLU`: a feed-forward network with a gate."""

import torch
import torch.nn.functional as F
from torch import nn

from attn_lib import llama
from attn_lib.checks.authoring import Case, run_module, run_module_in_eval, task
from attn_lib.tasks.lesson_14.runs import nothing_more, run_once, state_of


class SwiGLU(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.gate_proj = nn.Linear(d_model, d_ff, bias=False)
        self.up_proj = nn.Linear(d_model, d_ff, bias=False)
        self.down_proj = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        gates = self.gate_proj(x)
        ups = self.up_proj(x)
        opened = F.silu(gates)
        inside = opened * ups
        output = self.down_proj(inside)
        return output


swiglu = task(
    lesson=14,
    points=2,
    insight="A gate decides, number by number, how much of the other path goes on.",
    library=llama.SwiGLU,
    hints=[
        "Three matrices: two go from d_model to d_ff, side by side, and one goes back. What meets between them, "
        "channel by channel?",
        "Only the gate goes through `F.silu`. Then it is multiplied with what `up_proj` says, and `down_proj` reads "
        "the product.",
        "`nn.Linear(a, b, bias=False)`, three times, under the names `gate_proj`, `up_proj`, `down_proj`. `*` "
        "multiplies channel by channel, `@` would not.",
    ],
)(SwiGLU)


@swiglu.cases
def _(rng):
    def case(about, *shape, d_ff, gain=1.5, dtype=torch.float32, run=run_module, **kwargs):
        init = (shape[-1], d_ff)
        parameters = {
            name: torch.randn(p.shape, generator=rng) / p.shape[1] ** 0.5
            for name, p in SwiGLU(*init).named_parameters()
        }
        parameters["gate_proj.weight"] *= gain
        parameters = {name: p.to(dtype) for name, p in parameters.items()}
        x = torch.randn(shape, generator=rng).to(dtype)
        return Case(about, (init, parameters, x), run, **kwargs)

    # silu(30) is 30, and silu(-30) is 0, but for what nobody sees.
    wide = {
        "gate_proj.weight": torch.tensor([[30.0], [-30.0]]),
        "up_proj.weight": torch.tensor([[2.0], [5.0]]),
        "down_proj.weight": torch.tensor([[0.1, 0.2]]),
    }
    one = torch.tensor([[[1.0]]])
    yield Case("one number, two channels inside", ((1, 2), wide, one), run_module)
    wider = wide | {"gate_proj.weight": torch.tensor([[5e4], [-5e4]])}
    yield Case("gates of 50,000 and -50,000", ((1, 2), wider, one), run_module)
    less = wide | {
        "gate_proj.weight": torch.tensor([[-9.0], [-300.0]]),
        "up_proj.weight": torch.tensor([[1.0], [1000.0]]),
    }
    yield Case("gates of -9 and -300", ((1, 2), less, one), run_module, tolerance=1e-2)
    narrow = {
        "gate_proj.weight": torch.tensor([[1.0, 0.0]]),
        "up_proj.weight": torch.tensor([[0.0, 1.0]]),
        "down_proj.weight": torch.tensor([[1.0], [3.0]]),
    }
    x = torch.tensor([[[1.0, 2.0], [-1.0, 2.0], [0.0, 9.0]]])
    yield Case("three tokens, one channel inside", ((2, 1), narrow, x), run_module)
    kept = case("", 2, 4, 3, d_ff=5).args
    yield Case("what it keeps", kept, state_of, grad=False, finish=nothing_more)
    yield case("all sizes different", 2, 4, 3, d_ff=5)
    yield Case("in eval mode", kept, run_module_in_eval)
    yield case("d_ff smaller than d_model", 2, 3, 6, d_ff=4)
    yield case("d_ff = d_model", 2, 3, 4, d_ff=4)
    yield case("all sizes equal", 3, 3, 3, d_ff=3)
    yield case("d_ff = 4 d_model", 1, 3, 2, d_ff=8)
    yield case("one token", 1, 1, 5, d_ff=7)
    yield case("x (L, E)", 4, 3, d_ff=6)
    yield case("x (B, H, L, D)", 2, 3, 4, 5, d_ff=6)
    yield case("six axes", 2, 1, 3, 2, 1, 5, d_ff=4)
    yield case("x (d_model,)", 5, d_ff=7, run=run_once)
    yield case("gates near zero", 2, 3, 4, d_ff=6, gain=0.05)
    yield case("gates far from zero", 2, 3, 4, d_ff=6, gain=200.0)
    init, parameters, x = case("", 2, 4, 3, d_ff=5).args
    yield Case(
        "not contiguous", (init, parameters, x.mT.contiguous().mT), run_module, grad=False
    )
    about = "float64, to nine digits"
    yield case(about, 2, 4, 3, d_ff=5, dtype=torch.float64, tolerance=1e-9)
    yield case("float16", 2, 4, 3, d_ff=5, dtype=torch.float16, grad=False)
    yield case(
        "bfloat16", 2, 4, 3, d_ff=5, dtype=torch.bfloat16, grad=False, tolerance=5e-2
    )
    # What is shut is 0, however large: the product of both is too large for a float16.
    # What is open, at 300 before 200, just fits.
    shut = {
        "gate_proj.weight": torch.tensor([[2.0], [-300.0], [12.0], [300.0]]),
        "up_proj.weight": torch.tensor([[3.0], [300.0], [5.0], [200.0]]),
        "down_proj.weight": torch.tensor([[0.5, 0.05, 0.1, 2.0**-14]]),
    }
    shut = {name: p.half() for name, p in shut.items()}
    about = "float16, gates of 2, -300, 12 and 300 before 3, 300, 5 and 200"
    yield Case(about, ((1, 4), shut, one.half()), run_module, grad=False)
    wider = {name: p.bfloat16() for name, p in wider.items()}
    about = "bfloat16, gates of 50,000 and -50,000"
    yield Case(about, ((1, 2), wider, one.bfloat16()), run_module, grad=False)
    yield case("200 channels, 300 inside", 1, 20, 200, d_ff=300)


swiglu.rows("""
Two branches come in. One of them goes through silu: which of the two is it in yours?
    silu-on-up  opened = gates ; inside = opened * F.silu(ups)
    silu-on-up  gates = self.up_proj(x) ; ups = self.gate_proj(x)
Two branches come in. How many of them go through silu?
    silu-on-both  ups = F.silu(_)
What goes through silu, and how often? Does the product of the two branches come after it?
    silu-elsewhere  opened = gates ; output = F.silu(_)
    silu-elsewhere  output = F.silu(_)
    silu-elsewhere  inside = F.silu(_)
    silu-elsewhere  gates = self.gate_proj(F.silu(x)) ; opened = gates
    silu-elsewhere  opened = F.silu(F.silu(gates))
    silu-elsewhere  opened = gates ; inside = F.silu(_)
Print your function for -3 to 3, beside `F.silu`. Is it z times sigmoid(z)?
    another-activation  opened = F.gelu(gates) || F.gelu(gates, approximate="tanh")
    another-activation  opened = torch.sigmoid(gates) || F.relu(gates) || torch.tanh(gates)
    another-activation  opened = F.softplus(gates) || gates * torch.sigmoid(1.702 * gates)
    another-activation  opened = gates * torch.tanh(gates) || gates * torch.sigmoid(-gates)
    another-activation  opened = gates.softmax(-1)
What does your forward do that is not a product of two linear maps? Is there an activation?
    no-activation  opened = gates
Let a gate be 200. What is exp(200), and what is inf / inf?
    exp-overflows  opened = gates * gates.exp() / (1 + gates.exp()) || gates / (1 + (-gates).exp())
What happens where the branches meet: are they added, or does one open and shut the other?
    added-instead-of-multiplied  inside = opened + ups || (opened + ups) / 2
    added-instead-of-multiplied  output = self.down_proj(opened) + self.down_proj(ups)
Channel meets channel. Which operator multiplies number by number?
    matrix-product  inside = opened @ ups.mT || opened @ ups
Does the product come before `down_proj`, or after it?
    product-after-down  output = self.down_proj(opened) * self.down_proj(ups)
    product-after-down  output = self.down_proj(opened) * x
Three layers: which of them is not heard in your output?
    a-layer-not-used  inside = opened || ups || gates
    a-layer-not-used  output = inside
    a-layer-not-used  ups = gates
    a-layer-not-used  gates = self.up_proj(x)
    a-layer-not-used  inside = opened * x
Are `gate_proj` and `up_proj` two layers, each with numbers of its own, or one layer with two names?
    one-layer-with-two-names  up_proj = self.gate_proj
What does `up_proj` read: x, or what the gate says?
    one-after-the-other  inside = F.silu(self.up_proj(self.down_proj(gates)))
    one-after-the-other  ups = self.up_proj(gates) || self.up_proj(F.silu(gates))
Print the names in `state_dict()`: which of yours does the task not name? Which argument of `nn.Linear` is on by default?
    bias-left-in  gate_proj, up_proj, down_proj = False => True
    bias-left-in  gate_proj, up_proj = False => True
    bias-left-in  gate_proj = False => True
    bias-left-in  up_proj = False => True
    bias-left-in  down_proj = False => True
`nn.Linear(a, b)` goes from a channels to b. Which width comes in, which is inside, which goes out?
    widths-exchanged  down_proj = nn.Linear(d_model, d_ff, bias=False)
    widths-exchanged  up_proj = nn.Linear(d_ff, d_model, bias=False)
    widths-exchanged  gate_proj = nn.Linear(d_ff, d_model, bias=False)
Who says how wide it is inside? Is that what you build?
    another-width  gate_proj, up_proj = nn.Linear(d_model, 4 * d_model, bias=False) ; down_proj = nn.Linear(4 * d_model, d_model, bias=False)
    another-width  gate_proj, up_proj = nn.Linear(d_model, d_model, bias=False) ; down_proj = nn.Linear(d_model, d_model, bias=False)
    another-width  gate_proj, up_proj = nn.Linear(d_model, 2 * d_ff, bias=False) ; down_proj = nn.Linear(2 * d_ff, d_model, bias=False)
    another-width  gate_proj, up_proj = nn.Linear(d_model, d_ff // 2, bias=False) ; down_proj = nn.Linear(d_ff // 2, d_model, bias=False)
Nobody asked to add x here. Who will do that later?
    residual-added  output = _ + x
There is a norm before it, in the block. Is there one inside?
    normalized-inside  gates = self.gate_proj(F.rms_norm(x, x.shape[-1:])) ; ups = self.up_proj(F.rms_norm(x, x.shape[-1:]))
    normalized-inside  inside = F.layer_norm(_, _.shape[-1:]) || F.rms_norm(_, _.shape[-1:])
Call it twice with the same input. Is the answer the same?
    dropout-left-in  inside = F.dropout(_, 0.1)
    dropout-left-in  output = F.dropout(_, 0.1)
Give it float16: which dtype comes out, and which one should?
    dtype-changed  output = _.float()
One tensor is asked for. What do you return beside it?
    two-returned  return = _, opened
""")


@swiglu.mistake(
    "three-axes-only",
    "x is (..., d_model). How many axes may it have, and for how many does your code work?",
)
class _OfThreeAxes(SwiGLU):
    def forward(self, x):
        _B, _L, _E = x.shape
        return super().forward(x)


swiglu.drills(
    "no-activation, matrix-product 1, added-instead-of-multiplied, widths-exchanged, residual-added, silu-on-both, "
    "another-activation, silu-elsewhere 5"
)
