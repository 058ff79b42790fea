"""Answers to MultiHeadAttention that no row makes."""

import torch.nn.functional as F
from torch import nn

from tests.checks.answers import ALL_ALLOWED, Answers

answers = Answers(
    "MultiHeadAttention",
    survivors=ALL_ALLOWED,
    spelled=dict(
        keys=["source @ self.k_proj.weight.T + self.k_proj.bias"],
        q=["torch.stack(queries.chunk(H, -1), 1)"],
        k=["keys.reshape(len(x), -1, H, x.shape[-1] // H).permute(0, 2, 1, 3)"],
        products=["(q[..., :, None, :] * k[..., None, :, :]).sum(-1)"],
        allowed=["torch.ones_like(scores, dtype=torch.bool) if mask is None else mask.bool()"],
        hidden=["scores.masked_fill(allowed == 0, torch.finfo(scores.dtype).min)"],
        weights=["(hidden - hidden.logsumexp(-1, keepdim=True)).exp()"],
        kept=["weights.where(allowed, 0.0)"],
        merged=["heads.permute(0, 2, 1, 3).reshape(x.shape)", "torch.cat(list(heads.unbind(1)), -1)"],
    ),
)  # fmt: skip


@answers.right
class Heads(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.layers = nn.ModuleList(nn.Linear(d_model, d_model) for _ in range(4))
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = self.layers

    def attend(self, q, k, v, mask):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    def forward(self, x, context=None, mask=None):
        context = x if context is None else context
        three = self.q_proj(x), self.k_proj(context), self.v_proj(context)
        split = (t.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for t in three)
        return self.o_proj(self.attend(*split, mask).transpose(1, 2).flatten(2))


@answers.right
class WithDropout(Heads):
    """In eval mode, a dropout does nothing."""

    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.dropout = nn.Dropout(0.5)

    def attend(self, q, k, v, mask):
        p = 0.5 if self.training else 0.0
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=p)

    def forward(self, x, context=None, mask=None):
        return self.dropout(super().forward(x, context, mask))


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


@answers.wrong
class KeepsTheFirstContext(Heads):
    kept = None

    def forward(self, x, context=None, mask=None):
        self.kept = context if self.kept is None else self.kept
        return super().forward(x, self.kept, mask)


@answers.wrong
class ContextIgnoredWhereTheShapesAgree(Heads):
    def forward(self, x, context=None, mask=None):
        is_like_x = context is not None and context.shape == x.shape
        return super().forward(x, x if is_like_x else context, mask)


@answers.wrong
class AtMostEightKeys(Heads):
    def attend(self, q, k, v, mask):
        mask = None if mask is None else mask[..., :8]
        return super().attend(q, k[:, :, :8], v[:, :, :8], mask)
