"""Answers to MultiHeadAttention that no row makes."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.checks.answers import Answers

answers = Answers(
    "MultiHeadAttention",
    spelled=dict(
        queries=["F.linear(x, self.q_proj.weight, self.q_proj.bias)"],
        keys=["source @ self.k_proj.weight.T + self.k_proj.bias"],
        q=[
            "queries.view(*x.shape[:2], H, -1).transpose(1, 2)",
            "torch.stack(queries.chunk(H, -1), 1)",
        ],
        k=["keys.reshape(len(x), -1, H, x.shape[-1] // H).permute(0, 2, 1, 3)"],
        v=["torch.stack(values.chunk(H, -1), 1).contiguous()"],
        products=[
            "torch.einsum('bhld,bhsd->bhls', q, k)",
            "torch.matmul(q, k.transpose(-2, -1))",
            "(q[..., :, None, :] * k[..., None, :, :]).sum(-1)",
        ],
        scores=["products * D**-0.5"],
        allowed=[
            "torch.ones_like(scores, dtype=torch.bool) if mask is None else mask.bool()"
        ],
        hidden=[
            "scores.where(allowed, -torch.inf)",
            "scores.masked_fill(allowed == 0, torch.finfo(scores.dtype).min)",
        ],
        weights=[
            "F.softmax(hidden, dim=-1)",
            "hidden.double().softmax(-1).to(x.dtype)",
            "(hidden - hidden.logsumexp(-1, keepdim=True)).exp()",
        ],
        kept=["weights.where(allowed, 0.0)"],
        heads=["torch.einsum('bhls,bhsd->bhld', kept, v)"],
        merged=[
            "heads.permute(0, 2, 1, 3).reshape(x.shape)",
            "heads.transpose(1, 2).contiguous().view(x.shape)",
            "torch.cat(list(heads.unbind(1)), -1)",
        ],
        output=["merged @ self.o_proj.weight.T + self.o_proj.bias"],
    ),
)


class Heads(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            setattr(self, name, nn.Linear(d_model, d_model))

    def qkv(self, x, context):
        context = x if context is None else context
        three = self.q_proj(x), self.k_proj(context), self.v_proj(context)
        return [t.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for t in three]

    def attend(self, q, k, v, mask):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    def forward(self, x, context=None, mask=None):
        heads = self.attend(*self.qkv(x, context), mask)
        return self.o_proj(heads.transpose(1, 2).flatten(2))


answers.right(Heads)


@answers.right
class HeadByHead(Heads):
    def attend(self, q, k, v, mask):
        B, H, L, S = *q.shape[:3], k.shape[2]
        mask = (torch.ones(1, 1).bool() if mask is None else mask).expand(B, H, L, S)
        attend = super().attend
        return torch.stack(
            [attend(*(t[:, h] for t in (q, k, v, mask))) for h in range(H)], 1
        )


@answers.right
class FoldedIntoBatch(Heads):
    def attend(self, q, k, v, mask):
        B, H, L, D = q.shape
        scores = torch.bmm(q.flatten(0, 1), k.flatten(0, 1).mT) / math.sqrt(D)
        if mask is not None:
            mask = mask.expand(B, H, L, k.shape[2]).flatten(0, 1)
            scores = scores.masked_fill(~mask, torch.finfo(q.dtype).min)
        weights = scores.softmax(-1)
        weights = weights if mask is None else weights * mask
        return torch.bmm(weights, v.flatten(0, 1)).view(B, H, L, D)


@answers.right
class Renormalized(Heads):
    """Hides after the softmax, and makes what is left add up to 1 again."""

    def attend(self, q, k, v, mask):
        weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
        if mask is not None:
            weights = weights * mask
            total = weights.sum(-1, keepdim=True)
            weights = weights / total.masked_fill(total == 0, 1.0)
        return weights @ v


@answers.right
class LayersInAList(Heads):
    def __init__(self, d_model, num_heads):
        nn.Module.__init__(self)
        self.num_heads = num_heads
        self.layers = nn.ModuleList(nn.Linear(d_model, d_model) for _ in range(4))
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = self.layers


@answers.wrong
class KeepsTheFirstContext(Heads):
    kept = None

    def forward(self, x, context=None, mask=None):
        self.kept = context if self.kept is None else self.kept
        return super().forward(x, self.kept, mask)


@answers.wrong
class WithoutAMaximum(Heads):
    """exp overflows in float32 for scores above 88."""

    def attend(self, q, k, v, mask):
        e = (q @ k.mT / math.sqrt(q.shape[-1])).exp()
        e = e if mask is None else e * mask
        total = e.sum(-1, keepdim=True)
        return e / total.masked_fill(total == 0, 1.0) @ v


@answers.wrong
class NanPaintedOver(Heads):
    def attend(self, q, k, v, mask):
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores + torch.zeros(mask.shape).to(q).masked_fill(~mask, -torch.inf)
        return scores.softmax(-1).nan_to_num(0.0) @ v


@answers.wrong
class SilentIfAnyHeadIs(Heads):
    def attend(self, q, k, v, mask):
        said = super().attend(q, k, v, mask)
        if mask is None or mask.ndim < 4:
            return said
        return said * mask.any(-1, keepdim=True).all(1, keepdim=True)


@answers.wrong
class ContextIgnoredWhereTheShapesAgree(Heads):
    def forward(self, x, context=None, mask=None):
        is_like_x = context is not None and context.shape == x.shape
        return super().forward(x, x if is_like_x else context, mask)


@answers.wrong
class NoMaskIfItAllowsNothing(Heads):
    def attend(self, q, k, v, mask):
        return super().attend(q, k, v, mask if mask is not None and mask.any() else None)


@answers.wrong
class TheMaskOfHead0(Heads):
    def attend(self, q, k, v, mask):
        is_full = mask is not None and mask.ndim == 4
        return super().attend(q, k, v, mask[:, :1] if is_full else mask)


@answers.wrong
class AtMostEightKeys(Heads):
    def attend(self, q, k, v, mask):
        mask = None if mask is None else mask[..., :8]
        return super().attend(q, k[:, :, :8], v[:, :, :8], mask)


@answers.wrong
class ValuesCut(Heads):
    def attend(self, q, k, v, mask):
        return super().attend(q, k, v.detach(), mask)
