"""Answers to GroupedQueryAttention that no row makes."""

import torch
from torch import nn

from attn_lib.checks.task import find_task
from tests.checks.answers import ALL_ALLOWED, Answers

answers = Answers(
    "GroupedQueryAttention",
    spelled=dict(
        k_proj=["nn.Linear(d_model, kv_width)"],
        keys=["x @ self.k_proj.weight.T"],
        few_v=["torch.stack(values.chunk(self.num_kv_heads, -1), 1)"],
        k=["few_k.repeat_interleave(H // self.num_kv_heads, 1)"],
        allowed=["everything if mask is None else mask == 1"],
        hidden=["torch.where(allowed, scores, torch.finfo(scores.dtype).min)"],
        heads=["F.scaled_dot_product_attention(q, k, v, attn_mask=mask)"],
        merged=["torch.cat(heads.unbind(1), -1)"],
    ),
    # softmax ignores a key bias
    survivors=[
        *(dict(k_proj=f"nn.Linear(d_model, kv_width{more})") for more in ("", ", bias=True")),
        *ALL_ALLOWED,
    ],
)  # fmt: skip
Grouped = find_task("GroupedQueryAttention").reference


@answers.right
class WithSettings(Grouped):
    def __init__(self, d_model, num_heads, num_kv_heads, dropout=0.0):
        super().__init__(d_model, num_heads, num_kv_heads)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("unused", torch.zeros(3))

    def forward(self, x, mask=None, need_weights=False):
        return self.dropout(super().forward(x, mask=mask))


answers.right(lambda d_model, H, Hkv: WithSettings(d_model, H, Hkv))


@answers.wrong
class RemembersItsAnswer(Grouped):
    def forward(self, x, mask=None):
        if not hasattr(self, "answer"):
            self.answer = super().forward(x, mask)
        return self.answer
