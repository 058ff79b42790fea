"""The steps of grouped-query attention that right and wrong answers of this lesson are made of."""

import inspect
import math

import torch

from attn_lib.checks.task import Wrong, describe


def share(x, num_heads):
    """Copy K/V heads, the copies side by side: 0 0 1 1."""
    return x.repeat_interleave(num_heads // x.shape[1], dim=1)


def tile(x, num_heads):
    """Copy K/V heads the wrong way: 0 1 0 1."""
    return x.repeat(1, num_heads // x.shape[1], 1, 1)


def by_group_count(x, num_heads):
    """Let head i read head floor(i / Hkv): wrong, unless H is Hkv squared."""
    return x[:, [i // x.shape[1] for i in range(num_heads)]]


def only_the_first(x, num_heads):
    """Let every head read head 0."""
    return x[:, :1].repeat(1, num_heads, 1, 1)


def dots(q, k):
    """Dot products (B, H, L, S)."""
    return torch.einsum("bhld,bhsd->bhls", q, k)


def scaled(q, k):
    """Scores (B, H, L, S)."""
    return dots(q, k) / math.sqrt(q.shape[-1])


def weigh(scores, mask=None):
    """Weights (B, H, L, S); a row without an allowed key is all zero."""
    if mask is None:
        return scores.softmax(-1)
    return scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0.0)


def mix(weights, v):
    """Output (B, H, L, D)."""
    return torch.einsum("bhls,bhsd->bhld", weights, v)


def attend(q, k, v, mask=None):
    """Output of as many key heads as query heads."""
    return mix(weigh(scaled(q, k), mask), v)


def split(x, head_dim):
    """(B, L, H*D) to (B, H, L, D)."""
    return x.unflatten(-1, (-1, head_dim)).transpose(1, 2)


def merge(x):
    """(B, H, L, D) to (B, L, H*D)."""
    return x.transpose(1, 2).flatten(2)


def with_mask(answer, q, k, v, mask):
    """Run a case that has a mask: give it by name, if the answer knows that name."""
    try:
        by_name = "mask" in inspect.signature(answer).parameters
    except (TypeError, ValueError):  # a function built into PyTorch
        by_name = False
    return answer(q, k, v, mask=mask) if by_name else answer(q, k, v, mask)


def checked_pair(result, q, chunk):
    """Take apart what `cached_attention` returned for its chunk number `chunk`, counted from 1."""
    if not isinstance(result, tuple | list):
        raise Wrong(
            "It should return two things, the output and the cache, but it returned "
            f"{describe(result)}."
        )
    if len(result) != 2:
        raise Wrong(
            f"It should return two things, the output and the cache, but it returned {len(result)}. "
            "Keys and values can share one tuple: `return output, (k, v)`."
        )
    output, cache = result
    if not isinstance(output, torch.Tensor):
        raise Wrong(
            "The first of the two things should be the output, a tensor, but it is "
            f"{describe(output)}. The cache comes second."
        )
    if output.shape != q.shape:
        raise Wrong(
            f"In chunk {chunk}, the output should have the shape of q, {tuple(q.shape)}, "
            f"but it has {tuple(output.shape)}."
        )
    if output.dtype != q.dtype:
        raise Wrong(
            f"In chunk {chunk}, the output should have the dtype of q, {q.dtype}, "
            f"but it has {output.dtype}."
        )
    if cache is None:
        raise Wrong(
            "The second of the two things, the cache, is None. The next call will be given what you "
            "return here, and nothing else."
        )
    return output, cache
