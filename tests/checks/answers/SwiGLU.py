"""Answers to SwiGLU that no row makes."""

import torch
import torch.nn.functional as F
from torch import nn

from attn_lib.checks.task import find_task
from tests.checks.answers import Answers

answers = Answers(
    "SwiGLU",
    spelled=dict(
        gate_proj=["nn.Linear(d_model, d_ff, False)"],
        gates=["x @ self.gate_proj.weight.T", "F.linear(x, self.gate_proj.weight)"],
        ups=["torch.einsum('...e,fe->...f', x, self.up_proj.weight)"],
        opened=[
            "gates * torch.sigmoid(gates)",
            "nn.SiLU()(gates)",
            "F.glu(torch.cat([gates, gates], -1))",
            "gates * (1 + torch.tanh(gates / 2)) / 2",
        ],
        inside=["ups * opened", "torch.mul(opened, ups)"],
        output=["self.down_proj.forward(inside)", "inside @ self.down_proj.weight.mT"],
    ),
)


@answers.right
class ByGlu(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.down_proj = nn.Linear(d_ff, d_model, bias=False)
        self.up_proj, self.gate_proj = (
            nn.Linear(d_model, d_ff, bias=False) for _ in range(2)
        )

    def forward(self, x):
        gate, up = self.gate_proj(x), self.up_proj(x)
        return self.down_proj(F.glu(torch.cat([gate, gate], dim=-1)) * up)


@answers.right
class WithAnActivationOfItsOwn(ByGlu):
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, d_ff)
        self.act_fn = nn.SiLU()

    def forward(self, x):
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))


Right = find_task("SwiGLU").reference


@answers.wrong
class WithALearnedBeta(Right):
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, d_ff)
        self.beta = nn.Parameter(torch.ones(()))

    def forward(self, x):
        gate = self.gate_proj(x)
        return self.down_proj(gate * torch.sigmoid(self.beta * gate) * self.up_proj(x))


@answers.wrong
class WithOneWeightForTwo(Right):
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, d_ff)
        self.up_proj.weight = self.gate_proj.weight


@answers.wrong
class WithBiasesOfZeros(Right):
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, d_ff)
        self.gate_proj = nn.Linear(d_model, d_ff)
        nn.init.zeros_(self.gate_proj.bias)


@answers.wrong
class GateWithoutGradient(Right):
    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)).detach() * self.up_proj(x))


@answers.wrong
class ProductBeforeTheGate(Right):
    """What is shut should be 0, but the product of -300 and 300 is inf in float16."""

    def forward(self, x):
        gate, up = self.gate_proj(x), self.up_proj(x)
        return self.down_proj(F.glu(torch.cat([gate * up, gate], dim=-1)))


@answers.wrong
class Clamped(Right):
    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x).clamp(-20, 20)) * self.up_proj(x))


@answers.wrong
class InHalfPrecision(Right):
    def forward(self, x):
        inside = F.silu(self.gate_proj(x)) * self.up_proj(x)
        return self.down_proj(inside.bfloat16().to(x.dtype))
