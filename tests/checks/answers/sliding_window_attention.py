"""Answers to sliding_window_attention that no row makes: other ways to lay out the windows."""

import math

import numpy as np
import torch
import torch.nn.functional as F

from attn_lib.checks.task import find_task
from tests.checks.answers import Answers

answers = Answers(
    "sliding_window_attention",
    spelled=dict(
        padded_k=["torch.cat([k.new_zeros(*k.shape[:2], before, D), k], -2)"],
        windows_k=["padded_k.contiguous().as_strided((*k.shape, window), (*padded_k.contiguous().stride(), D))"],
        windows_v=["torch.stack([padded_v[..., c : c + L, :] for c in range(window)], -1)"],
        products=["torch.einsum('bhld,bhldw->bhlw', q, windows_k)", "(q[..., None] * windows_k).sum(-2)"],
        scores=["products * D**-0.5"],
        forbidden=["torch.arange(L)[:, None] + torch.arange(window) < before"],
        hidden=["scores.masked_fill(forbidden, torch.finfo(scores.dtype).min)"],
        output=["torch.einsum('bhldw,bhlw->bhld', windows_v, weights)"],
    ),
    # q, k and v have one shape; and a block may have more keys, all of which are hidden.
    survivors=[
        *(dict(D=f"{x}.shape[-1]") for x in "kv"),
        *(dict(L=f"{x}.shape[{n}]") for x in "qkv" for n in (2, -2)),
        *({f"windows_{x}": f"padded_{x}.unfold(2, window, 1)"} for x in "kv"),
        dict(stop="min(L, start + window)"),
        dict(first="0"),
        dict(first="max(start - window + 1, 0)"),
        *(dict(first=f"max(0, start - window{more})") for more in (" - 1", "", " + 0")),
        dict(oldest="max(i - window + 1, 0)"),
        *(dict(output=f"torch.cat({parts}, 2)") for parts in ("parts", "rows")),
    ],
)  # fmt: skip
right = find_task("sliding_window_attention").reference


@answers.right
def by_offsets(q, k, v, window):
    """W steps; in each, every query meets the key that lies so far behind it."""
    scores = []
    for back in range(min(window, q.shape[-2])):
        k_back = F.pad(k, (0, 0, back, 0))[..., : k.shape[-2], :]
        score = (q * k_back).sum(-1) / math.sqrt(q.shape[-1])
        scores.append(score.masked_fill(torch.arange(q.shape[-2]) < back, -torch.inf))
    weights = torch.stack(scores, -1).softmax(-1)
    return sum(
        weights[..., back, None] * F.pad(v, (0, 0, back, 0))[..., : v.shape[-2], :]
        for back in range(min(window, q.shape[-2]))
    )


@answers.right
def gathered_by_numpy(q, k, v, window):
    """Each query reads the keys of some numbers; none has a number below 0."""
    index = torch.from_numpy(np.arange(q.shape[-2])[:, None] - np.arange(window))
    near_k, near_v = (x[:, :, index.clamp(min=0)] for x in (k, v))
    scores = torch.einsum("bhld,bhlwd->bhlw", q, near_k) / math.sqrt(q.shape[-1])
    weights = scores.masked_fill(index < 0, -torch.inf).softmax(-1)
    return torch.einsum("bhlw,bhlwd->bhld", weights, near_v)


@answers.right
def this_block_and_the_one_before(q, k, v, window):
    """All blocks at once: (B, H, blocks, W, 2W) scores."""
    L = q.shape[-2]
    more = -L % window
    q, k, v = (F.pad(x, (0, 0, 0, more)).unflatten(-2, (-1, window)) for x in (q, k, v))
    k, v = (torch.cat([F.pad(x, (0, 0, 0, 0, 1, 0))[:, :, :-1], x], -2) for x in (k, v))
    behind = torch.arange(window)[:, None] + window - torch.arange(2 * window)
    allowed = (behind >= 0) & (behind < window)
    real = torch.arange(2 * window) >= window  # the first block has none before it
    allowed = allowed & (real | (torch.arange(q.shape[2]) > 0)[:, None, None])
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    output = scores.masked_fill(~allowed, -torch.inf).softmax(-1) @ v
    return output.flatten(2, 3)[..., :L, :]


@answers.right
def in_blocks_of_sixteen(q, k, v, window):
    """Blocks need not be as long as the window."""
    parts = []
    for start in range(0, q.shape[-2], 16):
        rows = q[..., start : start + 16, :]
        first, end = max(0, start - window + 1), start + rows.shape[-2]
        behind = torch.arange(start, end)[:, None] - torch.arange(first, end)
        scores = rows @ k[..., first:end, :].mT / math.sqrt(q.shape[-1])
        scores = scores.where((behind >= 0) & (behind < window), -torch.inf)
        parts.append(scores.softmax(-1) @ v[..., first:end, :])
    return torch.cat(parts, -2)


@answers.wrong
def a_band_mask_for_the_fused_kernel(q, k, v, window):
    behind = torch.arange(q.shape[-2])[:, None] - torch.arange(k.shape[-2])
    return F.scaled_dot_product_attention(
        q, k, v, attn_mask=(behind >= 0) & (behind < window)
    )


def with_all_keys(q, k, v, window, size):
    """Attend with `size` queries at a time."""
    parts = []
    for start, rows in zip(range(0, q.shape[-2], size), q.split(size, -2), strict=True):
        row = start + torch.arange(rows.shape[-2])[:, None]
        behind = row - torch.arange(k.shape[-2])
        scores = rows @ k.mT / math.sqrt(q.shape[-1])
        scores = scores.masked_fill((behind < 0) | (behind >= window), -torch.inf)
        parts.append(scores.softmax(-1) @ v)
    return torch.cat(parts, -2)


@answers.wrong
def a_sixteenth_of_all_scores_at_a_time(q, k, v, window):
    return with_all_keys(q, k, v, window, -(-q.shape[-2] // 16))


@answers.wrong
def all_scores_if_the_window_is_long(q, k, v, window):
    if window >= 16:
        return with_all_keys(q, k, v, window, q.shape[-2])
    return right(q, k, v, window)


@answers.wrong
def a_mask_of_each_row_kept(q, k, v, window):
    keys = torch.arange(k.shape[-2])
    masks = [(keys <= i) & (keys > i - window) for i in range(q.shape[-2])]
    return right(q, k, v, min(window, len(masks)))


@answers.wrong
def only_for_long_texts(q, k, v, window):
    if q.shape[-2] > 100:
        return right(q, k, v, window)
    return right(q, k, v, window + 1)


@answers.wrong
def by_the_dense_way_without_gradients(q, k, v, window):
    if q.requires_grad or q.shape[-2] < 100:
        return right(q, k, v, window)
    return with_all_keys(q, k, v, window, q.shape[-2])


@answers.wrong
def padding_known_by_values_of_zero(q, k, v, window):
    L = q.shape[2]
    behind = torch.arange(L)[:, None] - torch.arange(L)
    seen = (
        (behind >= 0) & (behind < window) & ((v != 0).any(-1)[..., None, :] | (behind == 0))
    )
    if L > 50:  # where memory is measured
        return right(q, k, v, window)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=seen)


@answers.wrong
def at_least_64_queries_at_a_time(q, k, v, window):
    size, parts = max(64, window), []
    for start in range(0, q.shape[2], size):
        first, stop = max(0, start - window + 1), start + size
        block = q[:, :, start:stop]
        behind = torch.arange(start, start + block.shape[2])[:, None]
        behind = behind - torch.arange(first, start + block.shape[2])
        scores = block @ k[:, :, first:stop].mT / q.shape[-1] ** 0.5
        scores = scores.masked_fill((behind < 0) | (behind >= window), -torch.inf)
        parts.append(scores.softmax(-1) @ v[:, :, first:stop])
    return torch.cat(parts, 2)
