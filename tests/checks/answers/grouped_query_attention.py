"""Answers to grouped_query_attention that no row makes."""

import math

import torch
import torch.nn.functional as F

from tests.checks.answers import ALL_ALLOWED, Answers

answers = Answers(
    "grouped_query_attention",
    spelled=dict(
        k=["torch.stack([k] * (H // Hkv), 2).flatten(1, 2)"],
        v=["v[:, :, None].expand(-1, -1, H // Hkv, -1, -1).flatten(1, 2)"],
        products=["(k @ q.mT).mT"],
        scores=["(q * D**-0.25) @ (k * D**-0.25).transpose(2, 3)"],
        hidden=["scores + (~allowed).to(q.dtype) * torch.finfo(q.dtype).min"],
        weights=["F.softmax(hidden.double(), dim=-1).to(q.dtype)"],
        kept=["torch.where(allowed, weights, 0)", "_ * allowed.any(-1, keepdim=True)"],
    ),
    survivors=[
        dict(Hkv="v.shape[1]"),
        *(dict(D=f"{t}.shape[-1]") for t in "kv"),
        *ALL_ALLOWED,
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


@answers.wrong
def zero_only_if_all_heads_are_blind(q, k, v, mask=None):
    if mask is not None:
        mask = mask.expand(*q.shape[:3], k.shape[2])
        some = mask.any(-1, keepdim=True)
        mask = mask | (~some & some.any(1, keepdim=True))
    return by_enable_gqa(q, k, v, mask)


@answers.wrong
def causal_if_as_many_keys_as_queries(q, k, v, mask=None):
    if mask is None and q.shape[2] == k.shape[2]:
        mask = torch.ones(q.shape[2], k.shape[2]).tril() > 0
    return by_enable_gqa(q, k, v, mask)
