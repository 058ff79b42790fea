"""Answers to RMSNorm that no row makes."""

import torch
import torch.nn.functional as F
from torch import nn

from attn_lib.checks.task import find_task
from tests.checks.answers import Answers

answers = Answers(
    "RMSNorm",
    spelled=dict(
        beginning=["torch.ones((d_model,))", "torch.full((d_model,), 1.0)", "torch.zeros(d_model) + 1"],
        weight=["nn.Parameter(data=torch.ones(d_model))"],
        exact=["x.to(torch.float32)", "x.double()"],
        squares=["exact**2", "exact * exact", "exact.pow(2)"],
        mean=["squares.sum(-1, keepdim=True) / x.shape[-1]", "squares.mean(dim=-1).unsqueeze(-1)", "torch.einsum('...e,...e->...', exact, exact)[..., None] / exact.shape[-1]"],
        above_zero=["self.eps + mean"],
        root=["above_zero**0.5", "torch.sqrt(above_zero)", "1 / above_zero.rsqrt()"],
        normed=["exact * (1 / root)", "exact * above_zero.rsqrt()"],
        rounded=["normed.type_as(x)", "normed.to(x)"],
        output=["self.weight * rounded", "(normed * self.weight.float()).to(x.dtype)", "torch.einsum('...e,e->...e', rounded, self.weight)"],
    ),
)  # fmt: skip


@answers.right
class ByPyTorch(nn.RMSNorm):
    def __init__(self, d_model, eps):
        super().__init__(d_model, eps=eps)


@answers.right
class AsInTransformers(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.variance_epsilon = eps

    def forward(self, hidden_states):
        input_dtype = hidden_states.dtype
        hidden_states = hidden_states.to(torch.float32)
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
        return self.weight * hidden_states.to(input_dtype)


@answers.right
class ByTheLength(nn.Module):
    """A token divided by its length is the same, but for the root of E, if eps grows with E."""

    def __init__(self, d_model, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.d_model, self.eps = d_model, eps

    def forward(self, x):
        length = (x.float().square().sum(-1, keepdim=True) + self.d_model * self.eps).sqrt()
        return (x / length * self.d_model**0.5 * self.weight).to(x.dtype)


Right = find_task("RMSNorm").reference


@answers.wrong
class AtLeastASmallEps(Right):
    def __init__(self, d_model, eps):
        super().__init__(d_model, max(eps, 1e-6))


@answers.wrong
class BFloat16AsItIs(nn.Module):
    """It computes in float32 for a float16 only."""

    def __init__(self, d_model, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.eps = eps

    def forward(self, x):
        exact = x.float() if x.dtype == torch.float16 else x
        root = torch.rsqrt(exact.pow(2).mean(-1, keepdim=True) + self.eps)
        return (exact * root * self.weight).to(x.dtype)


@answers.wrong
class WithoutGradient(Right):
    def forward(self, x):
        root = (x.detach().float().square().mean(-1, keepdim=True) + self.eps).sqrt()
        return (x / root * self.weight).to(x.dtype)


@answers.wrong
class RoundedEarly(Right):
    def forward(self, x):
        return F.rms_norm(
            x.half().float(), self.weight.shape, self.weight.float(), self.eps
        ).to(x)
