"""Answers to masked_attention that no row makes."""

import math

import torch
import torch.nn.functional as F

from tests.checks.answers import Answers

answers = Answers(
    "masked_attention",
    spelled=dict(
        D=["len(q[0, 0, 0])", "k.size(3)"],
        products=[
            "torch.matmul(q, k.transpose(-2, -1))",
            "torch.einsum('bhld,bhsd->bhls', q, k)",
            "(k @ q.mT).mT",
            "(q.unsqueeze(3) * k.unsqueeze(2)).sum(-1)",
            "torch.bmm(q.flatten(0, 1), k.flatten(0, 1).mT).unflatten(0, q.shape[:2])",
        ],
        scores=["products * D**-0.5", "(q * D**-0.25) @ (k * D**-0.25).mT"],
        everything=[
            "torch.tensor(True)",
            "torch.full(scores.shape, True)",
            "scores == scores",
        ],
        allowed=["everything if mask is None else mask.expand_as(scores)"],
        forbidden=["allowed == 0", "allowed.logical_not()"],
        hidden=[
            "torch.where(allowed, scores, -torch.inf)",
            "scores.masked_fill(forbidden, torch.finfo(q.dtype).min)",
        ],
        weights=["F.softmax(hidden, -1)", "hidden.mT.softmax(-2).mT"],
        kept=["weights.nan_to_num(0.0) * allowed", "torch.where(allowed, weights, 0.0)"],
        heads=[
            "torch.einsum('bhls,bhse->bhle', kept, v)",
            "(v.mT @ kept.mT).mT",
            "torch.stack([w @ x for w, x in zip(kept.unbind(1), v.unbind(1))], 1)",
        ],
    ),
    survivors=[dict(D="k.shape[-1]")],  # queries and keys are of one length
)


def attend(q, k, v, mask):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is None:
        return scores.softmax(-1) @ v
    return scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0.0) @ v


@answers.right
def fused(query, key, value, attn_mask=None):
    return F.scaled_dot_product_attention(query, key, value, attn_mask=attn_mask)


@answers.right
def empty_queries_zeroed(q, k, v, mask=None):
    if mask is None:
        return attend(q, k, v, None)
    some = mask.any(-1, keepdim=True)
    return attend(q, k, v, mask | ~some).masked_fill(~some, 0.0)


@answers.right
def two_keys_at_a_time(q, k, v, mask=None):
    m = torch.full((*q.shape[:-1], 1), torch.finfo(q.dtype).min / 2, dtype=q.dtype)
    total = torch.zeros_like(m)
    output = torch.zeros(*q.shape[:-1], v.shape[-1], dtype=q.dtype)
    for start in range(0, k.shape[2], 2):
        some = slice(start, start + 2)
        s = q @ k[:, :, some].mT / math.sqrt(q.shape[-1])
        if mask is not None:
            s = s.masked_fill(~mask[..., some], -torch.inf)
        new = torch.maximum(m, s.amax(-1, keepdim=True)).detach()
        e = (s - new).exp()
        total = total * (m - new).exp() + e.sum(-1, keepdim=True)
        output = output * (m - new).exp() + e @ v[:, :, some]
        m = new
    return output / torch.where(total == 0, 1.0, total)


@answers.right
def query_by_query_with_its_keys_only(q, k, v, mask=None):
    full = torch.ones(*q.shape[:3], k.shape[2], dtype=torch.bool)
    full = full if mask is None else full & mask
    rows = []
    for b, h, i in torch.cartesian_prod(*map(torch.arange, q.shape[:3])):
        keys = full[b, h, i]
        w = (k[b, h, keys] @ q[b, h, i] / math.sqrt(q.shape[-1])).softmax(0)
        rows.append(w @ v[b, h, keys])
    return torch.stack(rows).view(*q.shape[:3], -1)


@answers.wrong
def scaled_in_place(q, k, v, mask=None):
    q.mul_(q.shape[-1] ** -0.5)
    return attend(q * math.sqrt(q.shape[-1]), k, v, mask)


@answers.wrong
def mask_turned_in_place(q, k, v, mask=None):
    return attend(q, k, v, mask if mask is None else ~mask.logical_not_())


@answers.wrong
def any_key_of_any_head(q, k, v, mask=None):
    is_full = mask is not None and mask.ndim == 4
    return attend(q, k, v, mask.any(1, keepdim=True) if is_full else mask)


@answers.wrong
def pads_see_nothing(q, k, v, mask=None):
    is_square = mask is not None and q.shape == k.shape
    return attend(q, k, v, mask & mask.mT if is_square else mask)


@answers.wrong
def root_of_at_most_32(q, k, v, mask=None):
    return attend(q * max(1.0, math.sqrt(q.shape[-1] / 32)), k, v, mask)


@answers.wrong
def in_float16(q, k, v, mask=None):
    return attend(q.half(), k.half(), v.half(), mask).to(q.dtype)


@answers.wrong
def zeroed_after_v(q, k, v, mask=None):
    if mask is None:
        return attend(q, k, v, None)
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    output = scores.masked_fill(~mask, -torch.inf).softmax(-1) @ v
    return torch.where(mask.any(-1, keepdim=True), output, 0.0)


@answers.wrong
def a_list_of_one(q, k, v, mask=None):
    return [attend(q, k, v, mask)]
