"""Answers to rope_attention that no row makes."""

import torch
import torch.nn.functional as F

from attn_lib import (
    RoPE,
    apply_rope,
    causal_mask,
    merge_heads,
    sliding_window_mask,
    split_heads,
)
from tests.checks.answers import Answers

answers = Answers(
    "rope_attention",
    spelled=dict(
        q_heads=["attn_lib.split_heads(q, num_heads)"],
        v_heads=["torch.stack(v.split(width, -1), 1)"],
        # Only differences of positions count.
        positions=["torch.arange(L) + 1", "torch.arange(100, 100 + L)", "torch.arange(L, dtype=torch.int32)"],
        q=["attn_lib.apply_rope(q_heads.double(), positions).to(q_heads.dtype)"],
        products=["torch.einsum('bhld,bhsd->bhls', q, k)"],
        scores=["products * D**-0.5", "(q / math.sqrt(D)) @ k.mT"],
        later=["~attn_lib.causal_mask(L, L)", "torch.arange(L) > torch.arange(L)[:, None]"],
        masked=["torch.where(later, torch.finfo(scores.dtype).min, scores)", "scores + torch.full((L, L), -torch.inf).triu(1).to(scores)"],
        weights=["F.softmax(masked.float(), dim=-1).to(q.dtype)", "(masked - masked.amax(-1, keepdim=True)).softmax(-1)"],
        heads=["torch.einsum('bhls,bhsd->bhld', weights, v)"],
        merged=["heads.transpose(1, 2).reshape(B, L, -1)", "torch.cat(heads.unbind(1), -1)"],
    ),
    survivors=[
        *(
            {line: f"{other}.{text}"}
            for other in "kv"
            for line, text in dict(
                B="shape[0]", L="shape[1]", width="shape[-1] // num_heads", D="shape[-1]"
            ).items()
        ),
        {"speeds": "10001.0 ** (-torch.arange(0, x.shape[-1], 2) / x.shape[-1])"},
        {"speeds": "9999.0 ** (-torch.arange(0, x.shape[-1], 2) / x.shape[-1])"},
        # A sign that q and k share is gone in their product.
        {"turned": "torch.cat([second * sin - first * cos, first * sin + second * cos], -1)"},
    ],
)  # fmt: skip


@answers.right
def with_the_fused_kernel(q, k, v, num_heads):
    q, k, v = (split_heads(t, num_heads) for t in (q, k, v))
    q, k, _ = RoPE()(q, k)
    return merge_heads(F.scaled_dot_product_attention(q, k, v, is_causal=True))


@answers.right
def with_all_turns_taken_by_the_keys(q, k, v, num_heads):
    """Score (i, j) asks for the turn by j - i alone."""
    q, k, v = (split_heads(t, num_heads) for t in (q, k, v))
    L, rows = q.shape[2], []
    for i in range(L):
        keys = apply_rope(k[:, :, : i + 1], torch.arange(-i, 1))
        weights = (q[:, :, i : i + 1] @ keys.mT / q.shape[-1] ** 0.5).softmax(-1)
        rows.append(weights @ v[:, :, : i + 1])
    return merge_heads(torch.cat(rows, 2))


def attend(q, k, v, num_heads, positions=None, base=1e4, mask=None):
    q, k, v = (split_heads(t, num_heads) for t in (q, k, v))
    p = torch.arange(q.shape[2]) if positions is None else positions
    q, k = apply_rope(q, p, base), apply_rope(k, p, base)
    mask = causal_mask(len(p), len(p)) if mask is None else mask
    return merge_heads(F.scaled_dot_product_attention(q, k, v, attn_mask=mask))


# Positions that end or wrap, another base, a window, queries for keys, only if H > 1, rounded positions.
answers.wrong(
    lambda q, k, v, h: attend(q, k, v, h, torch.arange(q.shape[1]).clamp(max=31)),
    lambda q, k, v, h: attend(q, k, v, h, torch.arange(q.shape[1]) % 4),
    lambda q, k, v, h: attend(q, k, v, h, base=5e5),
    lambda q, k, v, h: attend(q, k, v, h, mask=sliding_window_mask(q.shape[1], q.shape[1], 8)),
    lambda q, k, v, h: attend(q, q, v, h),
    lambda q, k, v, h: attend(q, k, v, h) + q.new_zeros(()).masked_fill(torch.tensor(False), -1e9),
    lambda q, k, v, h: attend(q, k, v, h, torch.arange(q.shape[1]) * (h > 1)),
    lambda q, k, v, h: attend(q, k, v, h, torch.arange(q.shape[1]).float().mul(0.9).round().long()),
)  # fmt: skip
