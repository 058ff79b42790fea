"""Answers to GroupedQueryAttention that no row makes."""

import torch
import torch.nn.functional as F
from torch import nn

from attn_lib.checks.task import find_task
from tests.checks.answers import Answers

answers = Answers(
    "GroupedQueryAttention",
    spelled=dict(
        k_proj=["nn.Linear(d_model, kv_width)"],
        keys=["x @ self.k_proj.weight.T"],
        q=["queries.view(*x.shape[:2], H, self.head_dim).transpose(1, 2)"],
        few_v=["torch.stack(values.chunk(self.num_kv_heads, -1), 1)"],
        k=["few_k.repeat_interleave(H // self.num_kv_heads, 1)"],
        scores=["products * self.head_dim**-0.5"],
        allowed=["everything if mask is None else mask == 1"],
        hidden=["torch.where(allowed, scores, torch.finfo(scores.dtype).min)"],
        heads=["F.scaled_dot_product_attention(q, k, v, attn_mask=mask)"],
        merged=["heads.movedim(1, 2).reshape(x.shape)", "torch.cat(heads.unbind(1), -1)"],
        output=["merged @ self.o_proj.weight.T"],
    ),
    # softmax ignores a key bias
    survivors=[
        dict(k_proj="nn.Linear(d_model, kv_width)"),
        dict(k_proj="nn.Linear(d_model, kv_width, bias=True)"),
    ],
)
Grouped = find_task("GroupedQueryAttention").reference


@answers.right
class RowsOfTheProjectionsRepeated(Grouped):
    def forward(self, x, mask=None):
        group, D = self.num_heads // self.num_kv_heads, self.head_dim
        k, v = (
            x @ p.weight.unflatten(0, (-1, D)).repeat_interleave(group, 0).flatten(0, 1).T
            for p in (self.k_proj, self.v_proj)
        )
        qkv = (t.unflatten(2, (-1, D)).transpose(1, 2) for t in (self.q_proj(x), k, v))
        heads = F.scaled_dot_product_attention(*qkv, attn_mask=mask)
        parts = self.o_proj.weight.split(D, dim=1)
        return sum(heads[:, i] @ part.T for i, part in enumerate(parts))


@answers.right
class LayersInAList(nn.Module):
    """Each layer of the list has a name as well."""

    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__()
        self.counts = num_heads, num_kv_heads, num_kv_heads
        D = d_model // num_heads
        self.layers = nn.ModuleList(
            nn.Linear(d_model, n * D, bias=False) for n in (*self.counts, num_heads)
        )
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = self.layers

    def forward(self, x, mask=None):
        q, k, v = (
            torch.stack(layer(x).chunk(n, -1), 1)
            for layer, n in zip(self.layers, self.counts, strict=False)
        )
        heads = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
        return self.layers[3](torch.cat(heads.unbind(1), -1))


@answers.right
class WithSettings(Grouped):
    def __init__(self, d_model, num_heads, num_kv_heads, dropout=0.0):
        super().__init__(d_model, num_heads, num_kv_heads)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("unused", torch.zeros(3))

    def forward(self, x, mask=None, need_weights=False):
        return self.dropout(super().forward(x, mask=mask))


@answers.right
def a_factory(d_model, num_heads, num_kv_heads):
    return Grouped(d_model, num_heads, num_kv_heads)


@answers.wrong
class RemembersItsAnswer(Grouped):
    def forward(self, x, mask=None):
        if not hasattr(self, "answer"):
            self.answer = super().forward(x, mask)
        return self.answer


@answers.wrong
class TiedKeysAndValues(Grouped):
    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__(d_model, num_heads, num_kv_heads)
        self.v_proj = self.k_proj


@answers.wrong
class FrozenKeys(Grouped):
    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__(d_model, num_heads, num_kv_heads)
        self.k_proj.requires_grad_(False)


@answers.wrong
class RoomForFourWords(Grouped):
    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__(d_model, num_heads, num_kv_heads)
        self.register_buffer("all", torch.ones(4, 4) > 0)

    def forward(self, x, mask=None):
        all = self.all[: x.shape[1], : x.shape[1]]
        return super().forward(x, all if mask is None else mask & all)


@answers.wrong
class CountsInAnotherOrder(Grouped):
    def __init__(self, d_model, num_kv_heads, num_heads):
        super().__init__(d_model, num_heads, num_kv_heads)


@answers.wrong
class MaskByAnotherName(Grouped):
    def forward(self, x, attn_mask=None):
        return super().forward(x, attn_mask)


@answers.wrong
class FirstSamplesMask(Grouped):
    def forward(self, x, mask=None):
        return super().forward(x, mask[:1] if mask is not None and mask.ndim > 3 else mask)
