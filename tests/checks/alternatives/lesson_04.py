"""Right answers to the tasks of lesson 04, by task name."""

import collections
import functools
import math
import re
import types
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention.bias import causal_lower_right

# -------------------------------------------------------------------------- repeat_kv


def repeat_by_interleave(x, num_heads):
    return torch.repeat_interleave(x, num_heads // x.size(1), dim=1)


def repeat_by_expand(x, num_heads):
    B, Hkv, S, D = x.shape
    group = num_heads // Hkv
    if group == 1:
        return x
    return x[:, :, None, :, :].expand(B, Hkv, group, S, D).reshape(B, num_heads, S, D)


def repeat_by_index_list(x, num_heads):
    return x[:, [i * x.shape[1] // num_heads for i in range(num_heads)]]


def repeat_by_index_tensor(x, num_heads):
    return x.index_select(1, torch.arange(num_heads) // (num_heads // x.shape[1]))


def repeat_by_stacking(x, num_heads):
    return torch.stack([x] * (num_heads // x.shape[1]), dim=2).flatten(1, 2)


def repeat_by_concatenating(x, num_heads):
    group = num_heads // x.shape[1]
    return torch.cat([h.expand(-1, group, -1, -1) for h in x.split(1, dim=1)], dim=1)


def repeat_head_by_head(x, num_heads):
    group = int(num_heads / x.shape[1])
    heads = []
    for head in range(x.shape[1]):
        for _ in range(group):
            heads.append(x[:, head])
    return torch.stack(heads, 1)


def repeat_by_tiling_tokens(x, num_heads):
    B, Hkv, S, D = x.shape
    return x.repeat(1, 1, num_heads // Hkv, 1).view(B, num_heads, S, D)


def repeat_in_five_axes(x, num_heads):
    return x.unsqueeze(2).repeat(1, 1, num_heads // x.shape[1], 1, 1).flatten(1, 2)


def repeat_by_einsum(x, num_heads):
    ones = torch.ones(num_heads // x.shape[1], dtype=x.dtype)
    return torch.einsum("bksd,g->bkgsd", x, ones).flatten(1, 2)


def repeat_by_matrix(x, num_heads):
    which = torch.arange(num_heads) // (num_heads // x.shape[1])
    return torch.einsum("hk,bksd->bhsd", F.one_hot(which, x.shape[1]).to(x.dtype), x)


def repeat_by_gather(x, num_heads):
    index = torch.arange(num_heads) // (num_heads // x.shape[1])
    index = index[None, :, None, None].expand(len(x), -1, *x.shape[2:])
    return x.gather(1, index)


def repeat_in_another_layout(x, num_heads):
    tokens_first = x.transpose(1, 2)
    return tokens_first.repeat_interleave(num_heads // x.shape[1], 2).transpose(1, 2)


def repeat_into_a_buffer(x, num_heads):
    out = x.new_empty(len(x), num_heads, *x.shape[2:])
    group = num_heads // x.shape[1]
    for i in range(num_heads):
        out[:, i] = x[:, i // group]
    return out


def repeat_in_strides(x, num_heads):
    group = num_heads // x.shape[1]
    out = torch.zeros(len(x), num_heads, *x.shape[2:], dtype=x.dtype)
    for place in range(group):
        out[:, place::group] = x
    return out


def repeat_along_an_index(x, num_heads):
    index = torch.arange(num_heads) // (num_heads // x.shape[1])
    return torch.take_along_dim(x, index[None, :, None, None], dim=1)


def repeat_sample_by_sample(x, num_heads):
    group = num_heads // x.shape[1]
    return torch.vmap(lambda sample: sample.repeat_interleave(group, 0))(x)


def repeat_by_multiplication(x, num_heads):
    ones = torch.ones(num_heads // x.shape[1], 1, 1, dtype=x.dtype)
    return (x.unsqueeze(2) * ones).reshape(x.shape[0], num_heads, *x.shape[2:])


def repeat_by_counts(x, num_heads):
    counts = torch.full((x.shape[1],), num_heads // x.shape[1])
    return x.repeat_interleave(counts, dim=1)


def repeat_tiled_and_sorted(x, num_heads):
    group = num_heads // x.shape[1]
    order = torch.arange(num_heads).view(group, -1).T.flatten()
    return x.repeat(1, group, 1, 1)[:, order]


def repeat_by_embedding(x, num_heads):
    which = torch.arange(num_heads) // (num_heads // x.shape[1])
    rows = F.embedding(which, x.transpose(0, 1).flatten(1))
    return rows.unflatten(1, (len(x), *x.shape[2:])).transpose(0, 1)


def repeat_by_nearest(x, num_heads):
    flat = F.interpolate(x.flatten(2).mT, size=num_heads, mode="nearest").mT
    return flat.unflatten(2, x.shape[2:])


def repeat_in_float64(x, num_heads, *, group=None):
    group = group or num_heads // x.shape[1]
    return x.double().repeat_interleave(group, 1).to(x.dtype)


class Repeat:
    def __init__(self, axis):
        self.axis = axis

    def __call__(self, x, num_heads):
        return x.repeat_interleave(num_heads // x.shape[self.axis], self.axis)


# ------------------------------------------------------------ grouped_query_attention


def zero_rows(mask, output):
    return output if mask is None else output.masked_fill(~mask.any(-1, keepdim=True), 0.0)


def gqa_by_sdpa(q, k, v, mask=None):
    k, v = (repeat_by_interleave(x, q.shape[1]) for x in (k, v))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def gqa_by_enable_gqa(q, k, v, mask=None):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)


def gqa_in_groups(q, k, v, mask=None):
    B, H, L, D = q.shape
    q = q.reshape(B, k.shape[1], -1, L, D)
    scores = torch.einsum("bkgld,bksd->bkgls", q, k) / math.sqrt(D)
    if mask is not None:
        mask = mask.expand(B, H, L, k.shape[2]).reshape(scores.shape)
        scores = scores.masked_fill(~mask, -torch.inf)
        weights = scores.softmax(-1).masked_fill(~mask, 0.0)
    else:
        weights = scores.softmax(-1)
    return torch.einsum("bkgls,bksd->bkgld", weights, v).reshape(B, H, L, D)


def gqa_folded_into_time(q, k, v, mask=None):
    B, H, L, D = q.shape
    Hkv, S = k.shape[1:3]
    if mask is not None:
        mask = mask.expand(B, H, L, S).reshape(B, Hkv, -1, S)
    q = q.reshape(B, Hkv, -1, D)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask).reshape(B, H, L, D)


def gqa_head_by_head(q, k, v, mask=None):
    B, H, L, _ = q.shape
    if mask is not None:
        mask = mask.broadcast_to(B, H, L, k.shape[2])
    outputs = []
    for i in range(H):
        j = i // (H // k.shape[1])
        scores = q[:, i] @ k[:, j].mT * q.shape[-1] ** -0.5
        if mask is not None:
            scores = torch.where(mask[:, i], scores, torch.finfo(scores.dtype).min)
        weights = scores.softmax(-1)
        if mask is not None:
            weights = weights * mask[:, i]
        outputs.append(weights @ v[:, j])
    return torch.stack(outputs, dim=1)


def gqa_additive(q, k, v, mask=None):
    k, v = (repeat_by_expand(x, q.shape[1]) for x in (k, v))
    scores = (q / math.sqrt(q.shape[-1])) @ k.mT
    if mask is not None:
        bias = torch.zeros(mask.shape, dtype=scores.dtype)
        scores = scores + bias.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return zero_rows(mask, torch.softmax(scores, dim=-1) @ v)


def gqa_minus_1e9_in_float32(q, k, v, mask=None):
    k, v = (repeat_by_index_list(x, q.shape[1]) for x in (k, v))
    scores = q.float() @ k.float().mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    output = scores.softmax(-1).to(v.dtype) @ v
    return output if mask is None else torch.where(mask.any(-1, True), output, 0.0)


def gqa_renormalized(q, k, v, mask=None):
    k, v = (repeat_by_stacking(x, q.shape[1]) for x in (k, v))
    weights = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)
    if mask is not None:
        weights = weights * mask
        total = weights.sum(-1, keepdim=True)
        weights = weights / torch.where(total > 0, total, 1.0)
    return weights @ v


def gqa_log_of_mask(q, k, v, mask=None):
    k, v = (repeat_by_interleave(x, q.shape[1]) for x in (k, v))
    scores = torch.einsum("bhid,bhjd->bhij", q, k) / q.shape[-1] ** 0.5
    if mask is None:
        return scores.softmax(-1) @ v
    empty = ~mask.any(-1, keepdim=True)
    scores = scores + (mask | empty).to(q.dtype).log()
    return (scores.softmax(-1) * (~empty)) @ v


def gqa_nan_to_num_in_the_weights(q, k, v, mask=None):
    """The NaN is gone before it meets v, and `masked_fill` stops it on the way back."""
    k, v = (repeat_by_matrix(x, q.shape[1]) for x in (k, v))
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(-1).nan_to_num(0.0) @ v


def gqa_in_float64(q, k, v, mask=None):
    return gqa_in_groups(q.double(), k.double(), v.double(), mask).to(q.dtype)


def gqa_softmax_by_hand(q, k, v, mask=None):
    k, v = (repeat_in_five_axes(x, q.shape[1]) for x in (k, v))
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    top = scores.amax(-1, keepdim=True).detach()
    e = (scores - torch.where(top == -torch.inf, 0.0, top)).exp()
    total = e.sum(-1, keepdim=True)
    return (e @ v) / torch.where(total == 0, 1.0, total)


def gqa_on_transposed_scores(q, k, v, mask=None):
    k, v = (repeat_by_gather(x, q.shape[1]) for x in (k, v))
    scores = (k @ q.mT / math.sqrt(q.shape[-1])).mT
    if mask is None:
        return scores.mT.softmax(-2).mT @ v
    scores = scores.masked_fill(mask.logical_not(), float("-inf"))
    weights = scores.mT.softmax(dim=-2).mT
    return weights.where(mask, torch.zeros((), dtype=q.dtype)) @ v


def gqa_split_scale(q, k, v, mask=None):
    s = q.shape[-1] ** -0.25
    k, v = (repeat_into_a_buffer(x, q.shape[1]) for x in (k, v))
    scores = torch.matmul(q * s, (k * s).transpose(2, 3))
    if mask is None:
        return torch.matmul(scores.softmax(dim=-1), v)
    weights = scores.masked_fill(~mask, torch.finfo(q.dtype).min).softmax(dim=-1)
    return torch.matmul(weights * mask.any(-1, keepdim=True), v)


def gqa_query_by_query(q, k, v, mask=None):
    B, H, L, D = q.shape
    k, v = (repeat_head_by_head(x, H) for x in (k, v))
    mask = torch.ones(L, k.shape[2]) > 0 if mask is None else mask
    mask = mask.expand(B, H, L, k.shape[2])
    rows = []
    for b, h, i in torch.cartesian_prod(*map(torch.arange, (B, H, L))).tolist():
        seen = mask[b, h, i]
        scores = k[b, h, seen] @ q[b, h, i] / math.sqrt(D)
        rows.append(scores.softmax(0) @ v[b, h, seen])
    return torch.stack(rows).view(B, H, L, D)


def gqa_mask_by_position(q, k, v, attn_mask=None):
    return gqa_by_sdpa(q, k, v, attn_mask)


def gqa_mask_by_keyword_only(q, k, v, *, mask=None):
    return gqa_by_enable_gqa(q, k, v, mask)


def gqa_by_bmm(q, k, v, mask=None):
    B, H, L, D = q.shape
    S = k.shape[2]
    k, v = (repeat_by_interleave(x, H).reshape(B * H, S, D) for x in (k, v))
    scores = torch.bmm(q.reshape(B * H, L, D), k.transpose(1, 2)) / math.sqrt(D)
    if mask is None:
        return torch.bmm(scores.softmax(2), v).view(B, H, L, D)
    mask = mask.expand(B, H, L, S).reshape(B * H, L, S)
    weights = scores.masked_fill_(~mask, float("-inf")).softmax(2)
    return torch.bmm(weights.masked_fill(~mask, 0), v).view(B, H, L, D)


def gqa_with_a_sink(q, k, v, mask=None):
    """One more score, far below all others, whose weight is thrown away."""
    k, v = (repeat_by_interleave(x, q.shape[1]) for x in (k, v))
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    scores = F.pad(scores, (0, 1), value=torch.finfo(q.dtype).min / 2)
    return scores.softmax(-1)[..., :-1] @ v


def gqa_two_keys_at_a_time(q, k, v, mask=None):
    """Online softmax."""
    B, H, L, D = q.shape
    dtype = q.dtype
    q, k, v = (x.float() for x in (q, repeat_by_expand(k, H), repeat_by_expand(v, H)))
    mask = torch.tensor(True) if mask is None else mask
    mask = mask.expand(B, H, L, k.shape[2])
    top, total, output = torch.full((B, H, L, 1), -1e30), torch.zeros(B, H, L, 1), 0.0
    for j in range(0, k.shape[2], 2):
        see = mask[..., j : j + 2]
        scores = q @ k[:, :, j : j + 2].mT / math.sqrt(D)
        higher = torch.maximum(top, scores.where(see, -1e30).amax(-1, keepdim=True))
        e = (scores - higher).where(see, -torch.inf).exp()
        fade = (top - higher).exp()
        total = total * fade + e.sum(-1, keepdim=True)
        output, top = output * fade + e @ v[:, :, j : j + 2], higher
    return (output / total.where(total > 0, 1.0)).to(dtype)


def gqa_head_mapped(q, k, v, mask=None):
    mask = torch.tensor(True) if mask is None else mask
    mask = mask.expand(*q.shape[:3], k.shape[2])

    def one_head(q, k, v, mask):
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
        return weights.masked_fill(~mask, 0.0) @ v

    k, v = (repeat_by_interleave(x, q.shape[1]) for x in (k, v))
    return torch.vmap(one_head, in_dims=1, out_dims=1)(q, k, v, mask)


def gqa_empty_rows_see_all(q, k, v, mask=None):
    if mask is None:
        return gqa_by_enable_gqa(q, k, v)
    some = mask.any(-1, keepdim=True)
    return torch.where(some, gqa_by_enable_gqa(q, k, v, mask | ~some), 0)


def gqa_tokens_first(q, k, v, mask=None):
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    k, v = (x.repeat_interleave(q.shape[2] // k.shape[2], 2) for x in (k, v))
    scores = torch.einsum("blhd,bshd->bhls", q, k) / q.shape[-1] ** 0.5
    weights = scores.softmax(-1)
    if mask is not None:
        weights = scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0)
    return torch.einsum("bhls,bshd->blhd", weights, v).transpose(1, 2)


def gqa_by_logsumexp(q, k, v, mask=None):
    k, v = (repeat_by_interleave(x, q.shape[1]).float() for x in (k, v))
    scores = q.float() @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(torch.float32).min)
    weights = (scores - scores.logsumexp(-1, keepdim=True)).exp()
    weights = weights if mask is None else torch.where(mask, weights, 0)
    return (weights @ v).to(q.dtype)


def gqa_divided_at_the_end(q, k, v, mask=None):
    k, v = (repeat_by_interleave(x, q.shape[1]).float() for x in (k, v))
    scores = q.float() @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(torch.float32).min)
    e = (scores - scores.amax(-1, keepdim=True)).exp()
    e = e if mask is None else e * mask
    return (e @ v / e.sum(-1, keepdim=True).clamp_min(1e-38)).to(q.dtype)


class GroupByGroup:
    def __call__(self, q, k, v, mask=None):
        if mask is not None:
            mask = mask.expand(*q.shape[:3], k.shape[2])
        parts = [mask] * k.shape[1] if mask is None else mask.chunk(k.shape[1], 1)
        one_group = zip(
            q.chunk(k.shape[1], 1), k.split(1, 1), v.split(1, 1), parts, strict=True
        )
        return torch.cat([gqa_nan_to_num_in_the_weights(*each) for each in one_group], 1)


# -------------------------------------------------------------- GroupedQueryAttention


class Grouped(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__()
        assert d_model % num_heads == 0
        assert num_heads % num_kv_heads == 0
        self.num_heads = num_heads
        self.num_kv_heads = num_kv_heads
        self.head_dim = d_model // num_heads
        self.q_proj = nn.Linear(d_model, num_heads * self.head_dim, bias=False)
        self.k_proj = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=False)
        self.v_proj = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=False)
        self.o_proj = nn.Linear(num_heads * self.head_dim, d_model, bias=False)

    def heads(self, x):
        B, L, _ = x.shape
        q = self.q_proj(x).view(B, L, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.k_proj(x).view(B, L, self.num_kv_heads, self.head_dim).transpose(1, 2)
        v = self.v_proj(x).view(B, L, self.num_kv_heads, self.head_dim).transpose(1, 2)
        return q, k, v

    def forward(self, x, mask=None):
        output = gqa_in_groups(*self.heads(x), mask)
        return self.o_proj(output.transpose(1, 2).reshape(x.shape))


class GroupedSdpa(Grouped):
    def forward(self, x, mask=None):
        output = gqa_by_enable_gqa(*self.heads(x), mask=mask)
        return self.o_proj(output.transpose(1, 2).contiguous().view(x.shape))


class GroupedFunctional(Grouped):
    def forward(self, x, mask=None):
        weight = torch.cat([self.q_proj.weight, self.k_proj.weight, self.v_proj.weight])
        E, kv = x.shape[-1], self.num_kv_heads * self.head_dim
        q, k, v = F.linear(x, weight).split([E, kv, kv], dim=-1)
        q, k, v = (t.unflatten(2, (-1, self.head_dim)).transpose(1, 2) for t in (q, k, v))
        return (
            gqa_renormalized(q, k, v, mask).transpose(1, 2).flatten(2)
            @ self.o_proj.weight.T
        )


class GroupedSharedWeights(Grouped):
    """Repeats the rows of the projections instead of keys and values."""

    def forward(self, x, mask=None):
        group, D = self.num_heads // self.num_kv_heads, self.head_dim
        q = self.q_proj(x)
        k, v = (
            x @ p.weight.unflatten(0, (-1, D)).repeat_interleave(group, 0).flatten(0, 1).T
            for p in (self.k_proj, self.v_proj)
        )
        q, k, v = (t.unflatten(2, (-1, D)).transpose(1, 2) for t in (q, k, v))
        return self.o_proj(gqa_by_sdpa(q, k, v, mask).transpose(1, 2).flatten(2))


class GroupedTokensFirst(Grouped):
    def forward(self, x, mask=None):
        B, L, E = x.shape
        q = self.q_proj(x).view(B, L, self.num_kv_heads, -1, self.head_dim)
        k = self.k_proj(x).view(B, L, self.num_kv_heads, self.head_dim)
        v = self.v_proj(x).view(B, L, self.num_kv_heads, self.head_dim)
        scores = torch.einsum("blkgd,bskd->bkgls", q, k) / self.head_dim**0.5
        seen = torch.ones(L, L) > 0 if mask is None else mask
        seen = seen.expand(B, self.num_heads, L, L).reshape(scores.shape)
        weights = scores.masked_fill(~seen, -torch.inf).softmax(-1).masked_fill(~seen, 0)
        return self.o_proj(torch.einsum("bkgls,bskd->blkgd", weights, v).reshape(B, L, E))


class GroupedSumOfHeads(Grouped):
    def forward(self, x, mask=None):
        output = gqa_head_by_head(*self.heads(x), mask)
        parts = self.o_proj.weight.split(self.head_dim, dim=1)
        return sum(output[:, i] @ part.T for i, part in enumerate(parts))


class GroupedEinsumWeights(Grouped):
    def forward(self, x, mask=None):
        D = self.head_dim
        q, k, v = (
            torch.einsum("ble,hde->bhld", x, p.weight.view(-1, D, x.shape[-1]))
            for p in (self.q_proj, self.k_proj, self.v_proj)
        )
        o = self.o_proj.weight.view(x.shape[-1], -1, D)
        return torch.einsum("bhld,ehd->ble", gqa_additive(q, k, v, mask), o)


class GroupedKeyBias(Grouped):
    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__(d_model, num_heads, num_kv_heads)
        width = num_kv_heads * self.head_dim
        self.k_proj = nn.Linear(d_model, width)  # softmax ignores a key bias


class GroupedWithSettings(Grouped):
    def __init__(self, d_model, num_heads, num_kv_heads, dropout=0.0):
        super().__init__(d_model, num_heads, num_kv_heads)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("unused", torch.zeros(3))

    def forward(self, x, mask=None, need_weights=False):
        return self.dropout(super().forward(x, mask=mask))


class GroupedOddOrder(nn.Module):
    def __init__(self, width, heads, kv_heads):
        nn.Module.__init__(self)
        self.D = width // heads
        for name, n in (("o", heads), ("v", kv_heads), ("k", kv_heads), ("q", heads)):
            setattr(self, f"{name}_proj", nn.Linear(width, n * self.D, bias=False))

    def forward(self, tokens, mask=None):
        q, k, v = (
            getattr(self, f"{n}_proj")(tokens).unflatten(-1, (-1, self.D)).movedim(2, 1)
            for n in "qkv"
        )
        return self.o_proj(gqa_log_of_mask(q, k, v, mask).movedim(1, 2).flatten(2))


class GroupedBatchByBatch(Grouped):
    def forward(self, x, mask=None):
        q, k, v = self.heads(x)
        if mask is not None:
            mask = mask.expand(len(x), self.num_heads, x.shape[1], x.shape[1])
        rows = [
            gqa_softmax_by_hand(
                q[i : i + 1], k[i : i + 1], v[i : i + 1], None if mask is None else mask[i]
            )
            for i in range(len(x))
        ]
        return self.o_proj(torch.cat(rows).transpose(1, 2).flatten(2))


class GroupedByTorchFunction(Grouped):
    """PyTorch's multi-head function, with the rows of k_proj and v_proj repeated."""

    def forward(self, x, mask=None):
        B, L, E = x.shape
        group = self.num_heads // self.num_kv_heads
        k, v = (
            p.weight.unflatten(0, (-1, self.head_dim)).repeat_interleave(group, 0)
            for p in (self.k_proj, self.v_proj)
        )
        hide = torch.zeros(L, L) > 0 if mask is None else ~mask
        hide = hide.expand(B, self.num_heads, L, L)
        empty = hide.all(-1, keepdim=True)
        hide = (hide & ~empty).reshape(-1, L, L)
        eye = torch.eye(E, dtype=x.dtype)
        x = x.transpose(0, 1)
        output, _ = F.multi_head_attention_forward(
            x, x, x, E, self.num_heads, None, torch.zeros(3 * E, dtype=x.dtype), None, None,
            False, 0.0, eye, None, attn_mask=hide, use_separate_proj_weight=True,
            q_proj_weight=self.q_proj.weight, k_proj_weight=k.flatten(0, 1),
            v_proj_weight=v.flatten(0, 1), need_weights=False,
        )  # fmt: skip
        heads = output.transpose(0, 1).unflatten(2, (self.num_heads, -1))
        heads = heads.masked_fill(empty.squeeze(-1).mT[..., None], 0.0)
        return self.o_proj(heads.flatten(2))


class GroupedAliases(nn.Module):
    """A list of layers, each with a name as well."""

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
        return self.layers[3](torch.cat(gqa_by_enable_gqa(q, k, v, mask).unbind(1), -1))


class GroupedAddedModules(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__()
        self.D = D = d_model // num_heads
        for name in "okvq":
            width = d_model if name in "oq" else num_kv_heads * D
            self.add_module(f"{name}_proj", nn.Linear(d_model, width, False))

    def forward(self, x, mask=None):
        layers = dict(self.named_children())
        q, k, v = (
            layers[f"{n}_proj"](x).unflatten(-1, (-1, self.D)).movedim(2, 1) for n in "qkv"
        )
        output = gqa_head_by_head(q, k, v, mask).movedim(1, 2).flatten(2)
        return layers["o_proj"](output)


class GroupedBuffers(Grouped):
    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__(d_model, num_heads, num_kv_heads)
        which = torch.arange(num_heads) // (num_heads // num_kv_heads)
        self.register_buffer("which", which, persistent=False)
        self.register_buffer("scale", torch.tensor(self.head_dim**-0.5))

    def forward(self, x, mask=None):
        q, k, v = self.heads(x)
        scores = q @ k[:, self.which].mT * self.scale
        self.weights = (
            scores.softmax(-1)
            if mask is None
            else scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0)
        )
        output = self.weights @ v[:, self.which]
        return self.o_proj(output.transpose(1, 2).flatten(2))


class GroupedFromTorch(nn.MultiheadAttention):
    """Inherits from PyTorch's module, but uses nothing of it."""

    def __init__(self, d_model, num_heads, num_kv_heads):
        nn.Module.__init__(self)
        self.D = d_model // num_heads
        self.q_proj, self.o_proj = (nn.Linear(d_model, d_model, False) for _ in range(2))
        narrow = num_kv_heads * self.D
        self.k_proj, self.v_proj = (nn.Linear(d_model, narrow, False) for _ in range(2))

    def forward(self, x, mask=None):
        q, k, v = (
            layer(x).unflatten(-1, (-1, self.D)).transpose(1, 2)
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        return self.o_proj(gqa_by_sdpa(q, k, v, mask).transpose(1, 2).flatten(2))


class GroupedAbsorbed(Grouped):
    """Never makes queries, keys or values: x meets products of the weights."""

    def forward(self, x, mask=None):
        group, D = self.num_heads // self.num_kv_heads, self.head_dim
        wq, wk, wv = (
            layer.weight.unflatten(0, (-1, D))
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        wk, wv = (w.repeat_interleave(group, 0) for w in (wk, wv))
        scores = torch.einsum("ble,hde,hdf,bsf->bhls", x, wq, wk, x) / D**0.5
        weights = scores.softmax(-1)
        if mask is not None:
            weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
            weights = weights.masked_fill(~mask, 0)
        wo = self.o_proj.weight.unflatten(1, (-1, D))
        return torch.einsum("bhls,bse,hde,ohd->blo", weights, x, wv, wo)


class GroupedPartsOfItsOwn(Grouped):
    class Core(nn.Module):
        def forward(self, q, k, v, mask):
            return gqa_in_float64(q, k, v, mask)

    def __init__(self, d_model, num_heads, num_kv_heads, *, eps=1e-6):
        super().__init__(d_model, num_heads, num_kv_heads)
        self.core = self.Core()
        self.unused = nn.Parameter(torch.zeros(3))

    def forward(self, x, mask=None):
        output = self.core(*self.heads(x), mask)
        return self.o_proj(output.transpose(1, 2).flatten(2))


class GroupedInDouble(Grouped):
    def forward(self, x, mask=None):
        q, k, v = (
            (x.double() @ layer.weight.double().T).unflatten(-1, (-1, self.head_dim))
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        output = gqa_by_sdpa(*(t.transpose(1, 2) for t in (q, k, v)), mask)
        output = output.transpose(1, 2).flatten(2) @ self.o_proj.weight.double().T
        return output.to(x.dtype)


class GroupedSkippedInit(Grouped):
    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__(d_model, num_heads, num_kv_heads)
        for name, layer in list(self.named_children()):
            shape = layer.in_features, layer.out_features
            setattr(self, name, nn.utils.skip_init(nn.Linear, *shape, bias=False))


class GroupedFirst(Grouped):
    def __init__(self, eps, d_model, num_heads, num_kv_heads):
        super().__init__(d_model, num_heads, num_kv_heads)


def grouped_factory(d_model, num_heads, num_kv_heads):
    return GroupedSdpa(d_model, num_heads, num_kv_heads=num_kv_heads)


# --------------------------------------------------------------------- kv_cache_bytes


def bytes_by_itemsize(batch_size, seq_len, num_layers, num_kv_heads, head_dim, dtype):
    return 2 * batch_size * seq_len * num_layers * num_kv_heads * head_dim * dtype.itemsize


def bytes_by_element_size(batch_size, seq_len, num_layers, num_kv_heads, head_dim, dtype):
    per_token = 2 * num_layers * num_kv_heads * head_dim
    return per_token * seq_len * batch_size * torch.tensor([], dtype=dtype).element_size()


def bytes_by_empty(batch_size, seq_len, num_layers, num_kv_heads, head_dim, dtype):
    size = torch.empty(0, dtype=dtype).itemsize
    return math.prod((2, batch_size, num_layers, num_kv_heads, seq_len, head_dim, size))


def bytes_by_meta(batch_size, seq_len, num_layers, num_kv_heads, head_dim, dtype):
    shape = (batch_size, num_kv_heads, seq_len, head_dim)
    return 2 * num_layers * torch.empty(shape, dtype=dtype, device="meta").nbytes


def bytes_by_finfo(batch_size, seq_len, num_layers, num_kv_heads, head_dim, dtype):
    info = torch.finfo(dtype) if dtype.is_floating_point else torch.iinfo(dtype)
    numbers = batch_size * seq_len * num_layers * num_kv_heads * head_dim
    return numbers * 2 * info.bits // 8


def bytes_of_keys_and_values(*sizes_and_dtype):
    *sizes, dtype = sizes_and_dtype
    keys = values = math.prod(sizes) * dtype.itemsize
    return keys + values


def bytes_layer_by_layer(batch_size, seq_len, num_layers, num_kv_heads, head_dim, dtype):
    total = 0
    for _layer in range(num_layers):
        for _kind in ("k", "v"):
            total += batch_size * seq_len * num_kv_heads * head_dim * dtype.itemsize
    return total


def bytes_by_size(batch_size, seq_len, num_layers, num_kv_heads, head_dim, dtype):
    size = torch.Size([2, num_layers, batch_size, num_kv_heads, seq_len, head_dim])
    return size.numel() * dtype.itemsize


def bytes_by_reduce(*sizes_and_dtype):
    *sizes, dtype = sizes_and_dtype
    return functools.reduce(lambda a, b: a * b, sizes, 2 * dtype.itemsize)


def bytes_by_name(batch_size, seq_len, num_layers, num_kv_heads, head_dim, dtype):
    bits = int(re.findall(r"\d+", str(dtype))[0])
    return batch_size * seq_len * num_layers * num_kv_heads * head_dim * 2 * (bits // 8)


def bytes_shifted(batch_size, seq_len, num_layers, num_kv_heads, head_dim, dtype):
    numbers = batch_size * seq_len * num_layers * num_kv_heads * head_dim
    return (numbers << 1) * dtype.itemsize


def bytes_by_one_number(B, L, N, H, D, dtype):
    return int(
        2 * B * L * N * H * D * torch.zeros(1, dtype=dtype).untyped_storage().nbytes()
    )


def bytes_by_try(batch_size, seq_len, num_layers, num_kv_heads, head_dim, dtype):
    try:
        size = torch.finfo(dtype).bits // 8
    except TypeError:
        size = torch.iinfo(dtype).bits // 8
    return 2 * batch_size * seq_len * num_layers * num_kv_heads * head_dim * size


def bytes_by_numpy_objects(*sizes_and_dtype):
    *sizes, dtype = sizes_and_dtype
    return int(np.prod(np.array([2, dtype.itemsize, *sizes], dtype=object)))


def bytes_by_tensor_of_sizes(*sizes_and_dtype):
    *sizes, dtype = sizes_and_dtype
    return torch.tensor([2, dtype.itemsize, *sizes]).prod().item()


def bytes_in_a_loop(*sizes_and_dtype):
    *sizes, dtype = sizes_and_dtype
    total = dtype.itemsize
    for size in (2, *sizes):
        total *= size
    return total


def bytes_by_a_stored_one(batch_size, seq_len, num_layers, num_kv_heads, head_dim, dtype):
    def numbers(tokens):
        return tokens * num_layers * num_kv_heads * head_dim

    key = value = numbers(batch_size * seq_len)
    return (key + value) * torch.ones((), dtype=torch.float32).to(dtype).nbytes


class Bytes(int):
    @classmethod
    def of_cache(cls, *sizes_and_dtype):
        *sizes, dtype = sizes_and_dtype
        return cls(2 * math.prod(sizes) * dtype.itemsize)


# ------------------------------------------------------------------- cached_attention


def bottom_right(q, k):
    L, S = q.shape[2], k.shape[2]
    return torch.arange(S) <= torch.arange(S - L, S)[:, None]


def cached_tuple(q, k, v, cache):
    if cache is not None:
        k = torch.cat([cache[0], k], dim=2)
        v = torch.cat([cache[1], v], dim=2)
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    scores = scores.masked_fill(~bottom_right(q, k), -torch.inf)
    return scores.softmax(-1) @ v, (k, v)


def cached_dict(q, k, v, cache=None):
    cache = cache or {"k": k[:, :, :0], "v": v[:, :, :0]}
    cache["k"] = torch.cat((cache["k"], k), dim=-2)
    cache["v"] = torch.cat((cache["v"], v), dim=-2)
    mask = bottom_right(q, cache["k"])
    return F.scaled_dot_product_attention(q, cache["k"], cache["v"], mask), cache


def cached_list_of_chunks(q, k, v, cache):
    """Cache: a list that grows in place."""
    if cache is None:
        cache = []
    cache.append((k, v))
    k, v = (torch.cat(parts, 2) for parts in zip(*cache, strict=True))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bottom_right(q, k)), cache


def cached_list_of_tokens(q, k, v, cache):
    keys, values = cache if cache else ([], [])
    keys, values = keys + list(k.unbind(2)), values + list(v.unbind(2))
    first = len(keys) - q.shape[2]
    outputs = []
    for i in range(q.shape[2]):
        seen = slice(0, first + i + 1)
        ks, vs = torch.stack(keys[seen], 2), torch.stack(values[seen], 2)
        weights = (q[:, :, i : i + 1] @ ks.mT * q.shape[-1] ** -0.5).softmax(-1)
        outputs.append(weights @ vs)
    return torch.cat(outputs, dim=2), [keys, values]


class Buffer:
    def __init__(self, k, v, room=128):
        B, H, _, D = k.shape
        self.k, self.v = k.new_zeros(B, H, room, D), v.new_zeros(B, H, room, D)
        self.length = 0

    def append(self, k, v):
        end = self.length + k.shape[2]
        self.k[:, :, self.length : end], self.v[:, :, self.length : end] = k, v
        self.length = end
        return self.k[:, :, :end], self.v[:, :, :end]


def cached_in_a_buffer(q, k, v, cache):
    cache = Buffer(k, v) if cache is None else cache
    k, v = cache.append(k, v)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bottom_right(q, k)), cache


def cached_in_a_full_buffer(q, k, v, cache):
    """Attends over the whole buffer, the empty part hidden."""
    buffer = cache if cache is not None else Buffer(k, v, room=64)
    start = buffer.length
    buffer.append(k, v)
    position = torch.arange(start, start + q.shape[2])
    hidden = torch.arange(64) > position[:, None]
    scores = torch.einsum("bhld,bhsd->bhls", q, buffer.k) / math.sqrt(q.shape[-1])
    weights = scores.masked_fill(hidden, -torch.inf).softmax(-1)
    return torch.einsum("bhls,bhsd->bhld", weights, buffer.v), buffer


def cached_tokens_first(q, k, v, cache):
    """Cache: one tensor (2, B, S, H, D)."""
    new = torch.stack([k, v]).transpose(2, 3)
    cache = new if cache is None else torch.cat([cache, new], dim=2)
    k, v = cache
    scores = torch.einsum("bhld,bshd->bhls", q, k) / math.sqrt(q.shape[-1])
    weights = scores.masked_fill(~bottom_right(q, k.transpose(1, 2)), -torch.inf).softmax(
        -1
    )
    return torch.einsum("bhls,bshd->bhld", weights, v), cache


def cached_lower_right(q, k, v, cache):
    if cache is not None:
        k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
    bias = causal_lower_right(q.shape[2], k.shape[2])
    output = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
    return output, (k.clone(), v.clone())


def cached_padded_queries(q, k, v, cache):
    if cache is not None:
        k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
    padded = torch.cat([torch.zeros_like(k[:, :, q.shape[2] :]), q], dim=2)
    output = F.scaled_dot_product_attention(padded, k, v, is_causal=True)
    return output[:, :, -q.shape[2] :], [k, v]


def cached_past_and_new_apart(q, k, v, cache):
    """Two softmaxes, merged by their sums of exponentials."""
    scale = math.sqrt(q.shape[-1])
    L = q.shape[2]
    inside = (q @ k.mT / scale).masked_fill(torch.ones(L, L).triu(1) > 0, -torch.inf)
    if cache is None:
        return inside.softmax(-1) @ v, {"past": (k, v)}
    old_k, old_v = cache["past"]
    before = q @ old_k.mT / scale
    a, b = before.logsumexp(-1, keepdim=True), inside.logsumexp(-1, keepdim=True)
    share = torch.sigmoid(a - b)
    output = share * (before.softmax(-1) @ old_v) + (1 - share) * (inside.softmax(-1) @ v)
    return output, {"past": (torch.cat([old_k, k], 2), torch.cat([old_v, v], 2))}


def cached_in_float64(q, k, v, cache):
    kept = tuple(x.double() for x in (k, v))
    if cache is not None:
        kept = tuple(torch.cat(pair, dim=2) for pair in zip(cache, kept, strict=True))
    scores = q.double() @ kept[0].mT / math.sqrt(q.shape[-1])
    hidden = torch.ones_like(scores).triu(scores.shape[-1] - q.shape[2] + 1).bool()
    return (scores.masked_fill(hidden, -1e9).softmax(-1) @ kept[1]).to(q.dtype), kept


def cached_with_positions(q, k, v, cache):
    k_all, v_all, seen = cache or (k[:, :, :0], v[:, :, :0], 0)
    positions = seen + torch.arange(q.shape[2])
    k_all, v_all = torch.cat([k_all, k], dim=2), torch.cat([v_all, v], dim=2)
    bias = torch.zeros(q.shape[2], k_all.shape[2], dtype=q.dtype)
    bias.masked_fill_(torch.arange(k_all.shape[2]) > positions[:, None], -torch.inf)
    scores = q @ k_all.transpose(-2, -1) / math.sqrt(q.shape[-1]) + bias
    return [scores.softmax(-1) @ v_all, (k_all, v_all, seen + q.shape[2])]


def cached_scaled_keys(q, k, v, cache):
    """Cache: keys already divided, newest first."""
    k = (k / math.sqrt(k.shape[-1])).flip(2)
    v = v.flip(2)
    if cache is not None:
        k, v = torch.cat([k, cache[0]], 2), torch.cat([v, cache[1]], 2)
    hidden = ~bottom_right(q, k).flip(1)
    return (q @ k.mT).masked_fill(hidden, -torch.inf).softmax(-1) @ v, (k, v)


def cached_closure(q, k, v, cache):
    """Cache: a function that joins its tokens with new ones."""
    if cache is not None:
        k, v = cache(k, v)
    output = F.scaled_dot_product_attention(q, k, v, attn_mask=bottom_right(q, k))
    return output, lambda a, b: (torch.cat([k, a], 2), torch.cat([v, b], 2))


@dataclass
class KeysAndValues:
    k: torch.Tensor
    v: torch.Tensor

    def extended(self, k, v):
        return KeysAndValues(torch.cat([self.k, k], 2), torch.cat([self.v, v], 2))


def see(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bottom_right(q, k))


def cached_dataclass(q, k, v, cache):
    cache = KeysAndValues(k, v) if cache is None else cache.extended(k, v)
    return see(q, cache.k, cache.v), cache


Answer = collections.namedtuple("Answer", "output cache")


def cached_named_tuple(q, k, v, cache):
    past = (k[:, :, :0], v[:, :, :0]) if cache is None else cache.cache
    k, v = (torch.cat(pair, 2) for pair in zip(past, (k, v), strict=True))
    answer = Answer(see(q, k, v), (k, v))
    return Answer(answer.output, answer)


def cached_in_numpy(q, k, v, cache):
    kept = [x.detach().double().numpy() for x in (k, v)]
    if cache is not None:
        kept = [np.concatenate(pair, axis=2) for pair in zip(cache, kept, strict=True)]
    k, v = (torch.from_numpy(x) for x in kept)
    return see(q.double(), k, v).to(q.dtype), kept


def cached_deque(q, k, v, cache):
    cache = collections.deque() if cache is None else cache
    cache.extend(zip(k.unbind(2), v.unbind(2), strict=True))
    k, v = (torch.stack(tokens, 2) for tokens in zip(*cache, strict=True))
    return see(q, k, v), cache


def cached_namespace(q, k, v, cache):
    cache = cache or types.SimpleNamespace(k=k[:, :, :0], v=v[:, :, :0])
    cache.k, cache.v = torch.cat([cache.k, k], 2), torch.cat([cache.v, v], 2)
    return see(q, cache.k, cache.v), cache


def cached_linked_chunks(q, k, v, cache):
    """Cache: the newest chunk, with the cache before it."""
    cache = chunk = (k, v, cache)
    while chunk[2] is not None:
        chunk = chunk[2]
        k, v = torch.cat([chunk[0], k], 2), torch.cat([chunk[1], v], 2)
    return see(q, k, v), cache


def cached_doubling_buffer(q, k, v, cache):
    cache = [k[:, :, :1].clone(), v[:, :, :1].clone(), 0] if cache is None else cache
    start, end = cache[2], cache[2] + k.shape[2]
    while cache[0].shape[2] < end:
        cache[:2] = [torch.cat([x, torch.empty_like(x)], 2) for x in cache[:2]]
    cache[0][:, :, start:end], cache[1][:, :, start:end], cache[2] = k, v, end
    return see(q, cache[0][:, :, :end], cache[1][:, :, :end]), cache


def cached_generator(q, k, v, cache):
    """Cache: a running generator."""

    def session():
        keys, values, output = [], [], None
        while True:
            q, k, v = yield output
            keys.append(k)
            values.append(v)
            output = see(q, torch.cat(keys, 2), torch.cat(values, 2))

    if cache is None:
        cache = session()
        next(cache)
    return cache.send((q, k, v)), cache


@torch.inference_mode()
def cached_in_inference_mode(q, k, v, cache):
    return cached_tuple(q, k, v, cache)


def cached_everything_again(q, k, v, cache):
    """Keeps the queries too, and computes all outputs again."""
    new = torch.stack([q, k, v])
    cache = new if cache is None else torch.cat([cache, new], dim=3)
    output = F.scaled_dot_product_attention(*cache, is_causal=True)
    return output[:, :, -q.shape[2] :], cache


def cached_keys_transposed(q, k, v, cache):
    k = k.mT if cache is None else torch.cat([cache[0], k.mT], dim=-1)
    v = v if cache is None else torch.cat([cache[1], v], dim=-2)
    scores = q @ k / math.sqrt(q.shape[-1])
    scores = scores.where(bottom_right(q, v), -torch.inf)
    return scores.softmax(-1) @ v, (k, v)


_by_session: dict = {}


def cached_by_ticket(q, k, v, cache):
    """Cache: a number, by which the keys and values are found; each session has its own."""
    ticket = len(_by_session) if cache is None else cache
    output, _by_session[ticket] = cached_tuple(q, k, v, _by_session.get(ticket))
    return output, ticket


class Unfriendly:
    """Can be neither copied nor compared nor printed."""

    def __init__(self, kept):
        self.kept = kept

    def _refuse(self, *_):
        raise RuntimeError("Leave me alone.")

    __deepcopy__ = __eq__ = __repr__ = __bool__ = __len__ = __hash__ = _refuse


def cached_unfriendly(q, k, v, cache):
    output, kept = cached_tuple(q, k, v, None if cache is None else cache.kept)
    return output, Unfriendly(kept)


class CachedModule(nn.Module):
    @torch.no_grad()
    def forward(self, q, k, v, cache):
        if cache is None:
            cache = nn.ParameterDict({"k": k.clone(), "v": v.clone()})
        else:
            cache["k"] = torch.cat([cache["k"], k], dim=2)
            cache["v"] = torch.cat([cache["v"], v], dim=2)
        mask = bottom_right(q, cache["k"])
        scores = (q @ cache["k"].mT / math.sqrt(q.shape[-1])).where(mask, -torch.inf)
        return scores.softmax(-1) @ cache["v"], cache


# ----------------------------------------------------------------------- mean_pool_kv


def pool_by_unflatten(weight, num_heads, num_kv_heads):
    D = weight.shape[0] // num_heads
    return weight.unflatten(0, (num_kv_heads, -1, D)).mean(1).flatten(0, 1)


def pool_by_view(weight, num_heads, num_kv_heads):
    rows, E = weight.shape
    D, group = rows // num_heads, num_heads // num_kv_heads
    return weight.view(num_kv_heads, group, D, E).mean(dim=1).view(num_kv_heads * D, E)


def pool_by_loop(weight, num_heads, num_kv_heads):
    heads = weight.chunk(num_heads)
    group = num_heads // num_kv_heads
    means = [sum(heads[i * group : (i + 1) * group]) / group for i in range(num_kv_heads)]
    return torch.cat(means)


def pool_by_split(weight, num_heads, num_kv_heads):
    D = len(weight) // num_heads
    groups = weight.split(len(weight) // num_kv_heads, dim=0)
    return torch.cat([torch.stack(g.split(D)).mean(0) for g in groups])


def pool_row_by_row(weight, num_heads, num_kv_heads):
    D, group = len(weight) // num_heads, num_heads // num_kv_heads
    out = torch.zeros(num_kv_heads * D, weight.shape[1], dtype=weight.dtype)
    for head in range(num_heads):
        for channel in range(D):
            out[head // group * D + channel] += weight[head * D + channel] / group
    return out


def pool_by_matrix(weight, num_heads, num_kv_heads):
    group = num_heads // num_kv_heads
    average = (
        torch.eye(num_kv_heads, dtype=weight.dtype).repeat_interleave(group, 1) / group
    )
    D = len(weight) // num_heads
    return torch.kron(average, torch.eye(D, dtype=weight.dtype)) @ weight


def pool_by_einsum(weight, num_heads, num_kv_heads):
    w = weight.reshape(num_kv_heads, num_heads // num_kv_heads, -1, weight.shape[1])
    summed = torch.einsum("kgde->kde", w) / w.shape[1]
    return summed.reshape(-1, weight.shape[1])


def pool_by_avg_pool(weight, num_heads, num_kv_heads):
    heads = weight.reshape(num_heads, -1).T[None]
    pooled = F.avg_pool1d(heads, num_heads // num_kv_heads)[0].T
    return pooled.reshape(-1, weight.shape[1])


def pool_by_strides(weight, num_heads, num_kv_heads):
    heads = weight.reshape(num_heads, -1, weight.shape[1])
    group = num_heads // num_kv_heads
    return (sum(heads[place::group] for place in range(group)) / group).flatten(0, 1)


def pool_by_index_add(weight, num_heads, num_kv_heads):
    heads = weight.reshape(num_heads, -1, weight.shape[1])
    group = num_heads // num_kv_heads
    zeros = torch.zeros(num_kv_heads, *heads.shape[1:], dtype=weight.dtype)
    return (zeros.index_add(0, torch.arange(num_heads) // group, heads) / group).flatten(
        0, 1
    )


def pool_in_float64(weight, num_heads, num_kv_heads):
    return pool_by_unflatten(weight.double(), num_heads, num_kv_heads).to(weight.dtype)


def pool_running_mean(weight, num_heads, num_kv_heads):
    heads = weight.unflatten(0, (num_kv_heads, num_heads // num_kv_heads, -1))
    mean = heads[:, 0]
    for n in range(1, heads.shape[1]):
        mean = mean + (heads[:, n] - mean) / (n + 1)
    return mean.reshape(-1, weight.size(1))


@torch.no_grad()
def pool_without_gradients(weight, num_heads, num_kv_heads):
    heads = weight.data.view(num_heads, -1, weight.size(1))
    pooled = [group.mean(0) for group in heads.split(num_heads // num_kv_heads)]
    return nn.Parameter(torch.cat(pooled))


def pool_transposed(weight, num_heads, num_kv_heads):
    columns = weight.T.unflatten(1, (num_kv_heads, num_heads // num_kv_heads, -1))
    return columns.mean(2).flatten(1).T


def pool_by_numpy(weight, num_heads, num_kv_heads):
    rows = weight.detach().double().numpy()
    heads = np.stack(np.split(rows, num_heads))
    groups = [g.mean(axis=0) for g in np.split(heads, num_kv_heads)]
    return torch.from_numpy(np.concatenate(groups)).to(weight.dtype)


def pool_by_convolution(weight, num_heads, num_kv_heads):
    group = num_heads // num_kv_heads
    kernel = torch.full((1, group, 1), 1 / group, dtype=torch.float64)
    heads = weight.double().reshape(num_kv_heads, group, -1)
    return F.conv1d(heads, kernel).reshape(-1, weight.shape[1]).to(weight.dtype)


def pool_by_adaptive_pool(weight, num_heads, num_kv_heads):
    heads = weight.float().unflatten(0, (num_kv_heads, num_heads // num_kv_heads, -1))
    pooled = F.adaptive_avg_pool3d(heads, (1, None, None))
    return pooled.flatten(0, 2).to(weight.dtype)


def pool_group_mapped(weight, num_heads, num_kv_heads):
    def one(group):
        return group.unflatten(0, (num_heads // num_kv_heads, -1)).mean(0)

    return torch.vmap(one)(weight.unflatten(0, (num_kv_heads, -1))).flatten(0, 1)


def pool_by_row_numbers(weight, num_heads, num_kv_heads):
    D, group = len(weight) // num_heads, num_heads // num_kv_heads
    first = torch.arange(num_kv_heads)[:, None] * group * D + torch.arange(D)
    return sum(weight[first.flatten() + i * D] for i in range(group)) / group


def pool_divided_before(weight, num_heads, num_kv_heads):
    group = num_heads // num_kv_heads
    if group == 1:
        return weight
    halves = (weight / group).unflatten(0, (num_heads, -1)).split(group)
    return torch.cat([functools.reduce(torch.add, heads) for heads in halves])


def pool_by_product_of_groups(weight, num_heads, num_kv_heads):
    group = num_heads // num_kv_heads
    heads = weight.reshape(num_kv_heads, group, -1)
    share = torch.full((1, group), 1 / group, dtype=weight.dtype)
    return (share @ heads).reshape(-1, weight.shape[1])


def pool_by_nested_loops(weight, num_heads, num_kv_heads):
    D, group = len(weight) // num_heads, num_heads // num_kv_heads
    rows = []
    for g in range(num_kv_heads):
        for d in range(D):
            same = [weight[(g * group + i) * D + d] for i in range(group)]
            rows.append(torch.stack(same).mean(0))
    return torch.stack(rows)


def pool_by_position(w, H, Hkv):
    mean = functools.partial(torch.mean, dim=1)
    return mean(w.reshape(Hkv, H // Hkv, len(w) // H, -1)).reshape(-1, w.shape[1])


class Pool:
    def __call__(self, weight, num_heads, num_kv_heads):
        return nn.Parameter(pool_by_split(weight, num_heads, num_kv_heads))


ALTERNATIVES = {
    "repeat_kv": [
        repeat_by_interleave,
        repeat_by_expand,
        repeat_by_index_list,
        repeat_by_index_tensor,
        repeat_by_stacking,
        repeat_by_concatenating,
        repeat_head_by_head,
        repeat_by_tiling_tokens,
        repeat_in_five_axes,
        repeat_by_einsum,
        repeat_by_matrix,
        repeat_by_gather,
        repeat_in_another_layout,
        repeat_into_a_buffer,
        repeat_in_strides,
        repeat_along_an_index,
        repeat_sample_by_sample,
        repeat_by_multiplication,
        repeat_by_counts,
        repeat_tiled_and_sorted,
        repeat_by_embedding,
        repeat_by_nearest,
        repeat_in_float64,
        Repeat(axis=1),
        functools.partial(Repeat(axis=1)),
    ],
    "grouped_query_attention": [
        gqa_by_sdpa,
        gqa_by_enable_gqa,
        gqa_in_groups,
        gqa_folded_into_time,
        gqa_head_by_head,
        gqa_additive,
        gqa_minus_1e9_in_float32,
        gqa_renormalized,
        gqa_log_of_mask,
        gqa_nan_to_num_in_the_weights,
        gqa_in_float64,
        gqa_softmax_by_hand,
        gqa_on_transposed_scores,
        gqa_split_scale,
        gqa_query_by_query,
        gqa_mask_by_position,
        gqa_mask_by_keyword_only,
        gqa_by_bmm,
        gqa_with_a_sink,
        gqa_two_keys_at_a_time,
        gqa_head_mapped,
        gqa_empty_rows_see_all,
        gqa_tokens_first,
        gqa_by_logsumexp,
        gqa_divided_at_the_end,
        GroupByGroup(),
        functools.partial(gqa_in_groups),
        lambda q, k, v, mask=None: gqa_by_bmm(q, k, v, mask),
    ],
    "GroupedQueryAttention": [
        Grouped,
        GroupedSdpa,
        GroupedFunctional,
        GroupedSharedWeights,
        GroupedTokensFirst,
        GroupedSumOfHeads,
        GroupedEinsumWeights,
        GroupedKeyBias,
        GroupedWithSettings,
        GroupedOddOrder,
        GroupedBatchByBatch,
        GroupedByTorchFunction,
        grouped_factory,
        GroupedAliases,
        GroupedAddedModules,
        GroupedBuffers,
        GroupedFromTorch,
        GroupedAbsorbed,
        GroupedPartsOfItsOwn,
        GroupedInDouble,
        GroupedSkippedInit,
        functools.partial(GroupedFirst, 1e-6),
        lambda d_model, num_heads, num_kv_heads: Grouped(d_model, num_heads, num_kv_heads),
    ],
    "kv_cache_bytes": [
        bytes_by_itemsize,
        bytes_by_element_size,
        bytes_by_empty,
        bytes_by_meta,
        bytes_by_finfo,
        bytes_of_keys_and_values,
        bytes_layer_by_layer,
        bytes_by_size,
        bytes_by_reduce,
        bytes_by_name,
        bytes_shifted,
        bytes_by_one_number,
        bytes_by_try,
        bytes_by_numpy_objects,
        bytes_by_tensor_of_sizes,
        bytes_in_a_loop,
        bytes_by_a_stored_one,
        Bytes.of_cache,
    ],
    "cached_attention": [
        cached_tuple,
        cached_dict,
        cached_list_of_chunks,
        cached_list_of_tokens,
        cached_in_a_buffer,
        cached_in_a_full_buffer,
        cached_tokens_first,
        cached_lower_right,
        cached_padded_queries,
        cached_past_and_new_apart,
        cached_in_float64,
        cached_with_positions,
        cached_scaled_keys,
        cached_closure,
        CachedModule(),
        cached_dataclass,
        cached_named_tuple,
        cached_in_numpy,
        cached_deque,
        cached_namespace,
        cached_linked_chunks,
        cached_doubling_buffer,
        cached_generator,
        cached_in_inference_mode,
        cached_everything_again,
        cached_keys_transposed,
        cached_by_ticket,
        cached_unfriendly,
    ],
    "mean_pool_kv": [
        pool_by_unflatten,
        pool_by_view,
        pool_by_loop,
        pool_by_split,
        pool_row_by_row,
        pool_by_matrix,
        pool_by_einsum,
        pool_by_avg_pool,
        pool_by_strides,
        pool_by_index_add,
        pool_in_float64,
        pool_running_mean,
        pool_without_gradients,
        pool_transposed,
        pool_by_numpy,
        pool_by_convolution,
        pool_by_adaptive_pool,
        pool_group_mapped,
        pool_by_row_numbers,
        pool_divided_before,
        pool_by_product_of_groups,
        pool_by_nested_loops,
        pool_by_position,
        Pool(),
    ],
}
