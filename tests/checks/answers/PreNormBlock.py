"""Answers to PreNormBlock that no row makes."""

import torch
import torch.nn.functional as F
from torch import nn

import attn_lib
from attn_lib.checks.task import find_task
from tests.checks.answers import Answers

answers = Answers(
    "PreNormBlock",
    spelled=dict(
        normed1=["F.layer_norm(x, x.shape[-1:], self.norm1.weight, self.norm1.bias)"],
        seen=["self.attn(normed1, normed1, mask=mask)", "self.attn(normed1, mask=mask, return_weights=True)[0]"],
        middle=["seen + x"],
        normed2=["self.norm2(middle.double().float()) if x.dtype == torch.float else self.norm2(middle)"],
        fed=["self.ff[2](F.gelu(self.ff[0](normed2)))", "torch.stack([self.ff(word) for word in normed2.unbind(1)], 1)"],
        output=["x + seen + fed", "torch.stack([middle, fed]).sum(0)"],
    ),
)  # fmt: skip
Right = find_task("PreNormBlock").reference


@answers.right
class WithDropout(Right):
    """In eval mode, a dropout does nothing."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.5):
        super().__init__(d_model, num_heads, d_ff)
        self.ff.append(nn.Dropout(dropout))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        x = x + self.dropout(self.attn(self.norm1(x), mask=mask))
        return x + self.ff(self.norm2(x))


class Attention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        for name in "qkvo":
            setattr(self, f"{name}_proj", nn.Linear(d_model, d_model))

    def forward(self, x, mask):
        layers = self.q_proj, self.k_proj, self.v_proj
        split = (f(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for f in layers)
        heads = F.scaled_dot_product_attention(*split, attn_mask=mask)
        return self.o_proj(heads.transpose(1, 2).flatten(2))


class Norm(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.weight, self.bias = (
            nn.Parameter(torch.ones(d_model)),
            nn.Parameter(torch.zeros(d_model)),
        )

    def forward(self, x):
        apart = x - x.mean(-1, keepdim=True)
        variance = apart.square().mean(-1, keepdim=True)
        return apart * (variance + 1e-5).rsqrt() * self.weight + self.bias


@answers.right
class AllByHand(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.norm1, self.attn = Norm(d_model), Attention(d_model, num_heads)
        self.norm2, self.ff = Norm(d_model), attn_lib.blocks.feed_forward(d_model, d_ff)

    def forward(self, x, mask=None):
        for norm, part in (
            (self.norm1, lambda h: self.attn(h, mask)),
            (self.norm2, self.ff),
        ):
            x = x + part(norm(x))
        return x


@answers.wrong
class AttendsOncePerBlock(Right):
    """Keeps what the attention said first."""

    def forward(self, x, mask=None):
        self.seen = getattr(self, "seen", None)
        self.seen = (
            self.attn(self.norm1(x), mask=mask).detach() if self.seen is None else self.seen
        )
        return x + self.seen + self.ff(self.norm2(x + self.seen))


@answers.wrong
class WithTheLastMask(Right):
    last = None

    def forward(self, x, mask=None):
        self.last = self.last if mask is None else mask
        return super().forward(x, self.last)


@answers.wrong
class CausalWithoutAMask(Right):
    def forward(self, x, mask=None):
        mask = attn_lib.causal_mask(x.shape[1], x.shape[1]) if mask is None else mask
        return super().forward(x, mask)


@answers.wrong
class OnlyTwoAxesOfTheMask(Right):
    def forward(self, x, mask=None):
        return super().forward(x, mask if mask is None else mask[(0,) * (mask.ndim - 2)])


@answers.wrong
class DropsOutWhereGradientsAreRecorded(Right):
    def forward(self, x, mask=None):
        return F.dropout(super().forward(x, mask), 0.1, torch.is_grad_enabled())
