"""Answers to DecoderBlock that no row makes."""

import torch.nn.functional as F
from torch import nn

import attn_lib
from attn_lib.checks.task import find_task
from tests.checks.answers import Answers
from tests.checks.answers.PreNormBlock import Attention, Norm

answers = Answers(
    "DecoderBlock",
    spelled=dict(
        normed1=["F.layer_norm(x, x.shape[-1:], self.norm1.weight, self.norm1.bias)"],
        seen=["self.self_attn(normed1, normed1, mask=mask)"],
        middle=["seen + x"],
        read=["self.cross_attn.attend(normed2, *self.cross_attn.keys_values(context), context_mask=context_mask)"],
        later=["x + seen + read"],
        fed=["self.ff[2](F.gelu(self.ff[0](normed3)))"],
        output=["x + seen + read + fed"],
    ),
)  # fmt: skip
Right = find_task("DecoderBlock").reference


@answers.right
class TwoOfOneKind(nn.Module):
    """Both attentions are `MultiHeadAttention`, and the mask of the context gets its axes here."""

    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.norm1, self.norm2, self.norm3 = (Norm(d_model) for _ in range(3))
        kind = find_task("MultiHeadAttention").reference
        self.self_attn, self.cross_attn = kind(d_model, num_heads), kind(d_model, num_heads)
        self.ff = attn_lib.blocks.feed_forward(d_model, d_ff)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x, context, mask=None, context_mask=None):
        if context_mask is not None:
            context_mask = context_mask[:, None, None, :]
        x = x + self.dropout(self.self_attn(self.norm1(x), mask=mask))
        x = x + self.dropout(self.cross_attn(self.norm2(x), context, context_mask))
        return x + self.dropout(self.ff(self.norm3(x)))


class CrossAttention(Attention):
    def forward(self, x, context, mask):
        q, k, v = self.q_proj(x), self.k_proj(context), self.v_proj(context)
        split = (t.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for t in (q, k, v))
        heads = F.scaled_dot_product_attention(*split, attn_mask=mask)
        return self.o_proj(heads.transpose(1, 2).flatten(2))


@answers.right
class AllByHand(TwoOfOneKind):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__(d_model, num_heads, d_ff)
        self.self_attn = Attention(d_model, num_heads)
        self.cross_attn = CrossAttention(d_model, num_heads)

    def forward(self, x, context, mask=None, context_mask=None):
        mask2 = None if context_mask is None else context_mask[:, None, None, :]
        x = x + self.self_attn(self.norm1(x), mask)
        x = x + self.cross_attn(self.norm2(x), context, mask2)
        return x + self.ff(self.norm3(x))


@answers.wrong
class KeepsTheFirstContext(Right):
    def forward(self, x, context, mask=None, context_mask=None):
        self.kept = getattr(self, "kept", context.detach())
        return super().forward(x, self.kept, mask, context_mask)


@answers.wrong
class OneContextMaskForAll(Right):
    def forward(self, x, context, mask=None, context_mask=None):
        if context_mask is not None:
            context_mask = context_mask[:1].expand_as(context_mask)
        return super().forward(x, context, mask, context_mask)


@answers.wrong
class LongerContextsAreCut(Right):
    def forward(self, x, context, mask=None, context_mask=None):
        L = x.shape[1]
        masks = mask, None if context_mask is None else context_mask[:, :L]
        return super().forward(x, context[:, :L], *masks)


@answers.wrong
class WordsOfZerosAreTakenForPads(Right):
    def forward(self, x, context, mask=None, context_mask=None):
        context_mask = (context != 0).any(-1) if context_mask is None else context_mask
        return super().forward(x, context, mask, context_mask)
