"""Answers to grouped_query_attention that no row makes."""

import math

import torch
import torch.nn.functional as F

from tests.checks.answers import Answers

answers = Answers(
    "grouped_query_attention",
    spelled=dict(
        k=[
            "k.repeat_interleave(H // Hkv, dim=1)",
            "torch.stack([k] * (H // Hkv), 2).flatten(1, 2)",
        ],
        v=[
            "attn_lib.repeat_kv(v, H)",
            "v[:, :, None].expand(-1, -1, H // Hkv, -1, -1).flatten(1, 2)",
        ],
        products=["torch.einsum('bhid,bhjd->bhij', q, k)", "(k @ q.mT).mT"],
        scores=["products * D**-0.5", "(q * D**-0.25) @ (k * D**-0.25).transpose(2, 3)"],
        hidden=[
            "torch.where(allowed, scores, torch.finfo(scores.dtype).min)",
            "scores + (~allowed).to(q.dtype) * torch.finfo(q.dtype).min",
        ],
        weights=["F.softmax(hidden.double(), dim=-1).to(q.dtype)"],
        kept=["torch.where(allowed, weights, 0)", "_ * allowed.any(-1, keepdim=True)"],
        heads=["torch.einsum('bhls,bhsd->bhld', kept, v)"],
    ),
    survivors=[
        dict(Hkv="v.shape[1]"),
        dict(D="k.shape[-1]"),
        dict(D="v.shape[-1]"),
        dict(everything="torch.ones(scores.shape[2:], dtype=torch.bool)"),
    ],
)


@answers.right
def by_enable_gqa(q, k, v, mask=None):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)


@answers.right
def in_groups(q, k, v, mask=None):
    B, H, L, D = q.shape
    q = q.reshape(B, k.shape[1], -1, L, D)
    scores = torch.einsum("bkgld,bksd->bkgls", q, k) / math.sqrt(D)
    mask = torch.tensor(True) if mask is None else mask
    mask = mask.expand(B, H, L, k.shape[2]).reshape(scores.shape)
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0.0)
    return torch.einsum("bkgls,bksd->bkgld", weights, v).reshape(B, H, L, D)


@answers.right
def query_by_query(q, k, v, attn_mask=None):
    B, H, L, D = q.shape
    mask = torch.ones(L, k.shape[2]) > 0 if attn_mask is None else attn_mask
    mask = mask.expand(B, H, L, k.shape[2])
    rows = []
    for b, h, i in torch.cartesian_prod(*map(torch.arange, (B, H, L))).tolist():
        seen, own = mask[b, h, i], h * k.shape[1] // H
        scores = k[b, own, seen] @ q[b, h, i] / math.sqrt(D)
        rows.append(scores.softmax(0) @ v[b, own, seen])
    return torch.stack(rows).view(B, H, L, D)


@answers.right
def softmax_by_hand(q, k, v, mask=None):
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    top = scores.amax(-1, keepdim=True).detach()
    e = (scores - torch.where(top == -torch.inf, 0.0, top)).exp()
    total = e.sum(-1, keepdim=True)
    return (e @ v) / torch.where(total == 0, 1.0, total)


def _share(x, H):
    return x.repeat_interleave(H // x.shape[1], 1)


@answers.wrong
def nan_painted_over(q, k, v, mask=None):
    scores = q @ _share(k, q.shape[1]).mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return (scores.softmax(-1) @ _share(v, q.shape[1])).nan_to_num(0.0)


@answers.wrong
def zero_only_if_all_heads_are_blind(q, k, v, mask=None):
    scores = q @ _share(k, q.shape[1]).mT / math.sqrt(q.shape[-1])
    if mask is None:
        return scores.softmax(-1) @ _share(v, q.shape[1])
    mask = mask.expand(scores.shape)
    weights = scores.masked_fill(~mask, torch.finfo(q.dtype).min).softmax(-1)
    blind = ~mask.any(-1, keepdim=True).any(1, keepdim=True)
    return weights.masked_fill(blind, 0.0) @ _share(v, q.shape[1])


@answers.wrong
def mask_of_each_groups_first_head(q, k, v, mask=None):
    if mask is not None:
        mask = mask.expand(*q.shape[:3], k.shape[2])
        mask = _share(mask[:, :: q.shape[1] // k.shape[1]], q.shape[1])
    return by_enable_gqa(q, k, v, mask)


@answers.wrong
def exp_without_the_maximum(q, k, v, mask=None):
    e = (q @ _share(k, q.shape[1]).mT / math.sqrt(q.shape[-1])).exp()
    e = e if mask is None else e * mask
    total = e.sum(-1, keepdim=True)
    return e @ _share(v, q.shape[1]) / torch.where(total > 0, total, 1.0)


@answers.wrong
def causal_if_as_many_keys_as_queries(q, k, v, mask=None):
    if mask is None and q.shape[2] == k.shape[2]:
        mask = torch.ones(q.shape[2], k.shape[2]).tril() > 0
    return by_enable_gqa(q, k, v, mask)


@answers.wrong
def changes_the_mask(q, k, v, mask=None):
    return by_enable_gqa(q, k, v, None if mask is None else ~mask.logical_not_())
