"""Scaled dot-product attention, twice: written out, and PyTorch's fused kernel.

Both are *kernels*: they take `(q, k, v, *, mask=None, is_causal=False)` and return
`(output, weights)`, so that any module can use either. The fused kernel never forms the weights,
and returns None in their place.

Keys and values may have fewer heads than the queries (grouped-query attention): then k and v are
(B, Hkv, S, D), Hkv divides H, and query head i reads K/V head floor(i * Hkv / H).
"""

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from attn_lib.masks import causal_mask, masked_softmax

# (q, k, v, *, mask=None, is_causal=False) -> (output, weights or None)
Kernel = Callable[..., tuple[Tensor, Any]]


def einsum_attention(
    q: Float[Tensor, "*batch l d"],
    k: Float[Tensor, "*kv_batch s d"],
    v: Float[Tensor, "*kv_batch s dv"],
    *,
    mask: Bool[Tensor, "..."] | None = None,
    is_causal: bool = False,
) -> tuple[Float[Tensor, "*batch l dv"], Float[Tensor, "*batch l s"]]:
    """Attend, and show the weights: softmax(q k^T / sqrt(D)) v.

    Args:
        q: queries (..., L, D); `...` is usually (B, H).
        k: keys (..., S, D), or (B, Hkv, S, D) for queries (B, H, L, D).
        v: values (..., S, Dv), or (B, Hkv, S, Dv).
        mask: boolean, broadcastable to (..., L, S), True where a query may attend.
        is_causal: also forbid every key that comes after the query (see `causal_mask`).

    Returns:
        The output (..., L, Dv) and the weights (..., L, S). Each row of weights sums to 1, or is
        all zero where a query may attend to nothing.

    Raises:
        ValueError: the shapes do not fit together, or the mask is not boolean.

    Source: Vaswani et al., "Attention Is All You Need", 2017, equation 1, arxiv.org/abs/1706.03762
    """
    mask = _full_mask(q, k, v, mask, is_causal)
    if q.shape[:-2] != k.shape[:-2]:
        group = q.shape[1] // k.shape[1]
        k, v = (t.repeat_interleave(group, dim=1) for t in (k, v))
    scores = torch.einsum("...ld,...sd->...ls", q, k) / math.sqrt(q.shape[-1])
    weights = scores.softmax(dim=-1) if mask is None else masked_softmax(scores, mask)
    return torch.einsum("...ls,...sd->...ld", weights, v), weights


def fused_attention(
    q: Float[Tensor, "*batch l d"],
    k: Float[Tensor, "*kv_batch s d"],
    v: Float[Tensor, "*kv_batch s dv"],
    *,
    mask: Bool[Tensor, "..."] | None = None,
    is_causal: bool = False,
) -> tuple[Float[Tensor, "*batch l dv"], None]:
    """Attend with PyTorch's fused kernel: faster, less memory, no weights to look at.

    Arguments and errors are those of `einsum_attention`. PyTorch aligns its own `is_causal`
    top-left, so it is used only where both conventions agree: L = S.

    Returns:
        The output (..., L, Dv), and None.
    """
    torch_causal = False
    # An `if`, because under torch.compile a comparison of lengths is a symbol, and not yet a bool.
    if is_causal and mask is None and q.shape[-2] == k.shape[-2]:
        torch_causal = True
    mask = _full_mask(q, k, v, mask, is_causal and not torch_causal)
    output = F.scaled_dot_product_attention(
        q, k, v,
        attn_mask=mask, is_causal=torch_causal, enable_gqa=q.shape[:-2] != k.shape[:-2],
    )  # fmt: skip
    return output, None


def _full_mask(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, is_causal: bool
) -> Tensor | None:
    """Check all shapes; return one mask that holds everything, or None if all is allowed."""
    same_axes = q.ndim == k.ndim == v.ndim >= 2 and k.shape[:-2] == v.shape[:-2]
    if not same_axes or (q.shape[:-2] != k.shape[:-2] and not _is_grouped(q, k)):
        raise ValueError(
            "expected q (..., L, D), k (..., S, D) and v (..., S, Dv) with the same leading sizes, "
            "or, in four axes, fewer K/V heads that divide the query heads, "
            f"got q {tuple(q.shape)}, k {tuple(k.shape)}, v {tuple(v.shape)}"
        )
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(
            f"expected queries and keys of one head_dim D, got q {tuple(q.shape)}, k {tuple(k.shape)}"
        )
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(
            f"expected one value for each key, got k {tuple(k.shape)}, v {tuple(v.shape)}"
        )
    scores_shape = (*q.shape[:-1], k.shape[-2])
    if mask is not None:
        if mask.dtype != torch.bool:
            raise ValueError(
                f"expected a boolean mask, True = may attend, got {mask.dtype}"
            )
        if mask.ndim > len(scores_shape) or any(
            m not in (1, s)
            for m, s in zip(reversed(mask.shape), reversed(scores_shape), strict=False)
        ):
            raise ValueError(
                f"expected a mask broadcastable to {scores_shape} (..., L, S), "
                f"got {tuple(mask.shape)}"
            )
        if mask.ndim < 2:  # PyTorch's kernel wants both axes
            mask = mask.expand(scores_shape[-2:])
    if is_causal and q.shape[-2] > 1:  # a single query is the last: it sees every key
        causal = causal_mask(*scores_shape[-2:], device=q.device)
        mask = causal if mask is None else mask & causal
    return mask


def _is_grouped(q: Tensor, k: Tensor) -> bool:
    return q.ndim == 4 and len(q) == len(k) and q.shape[1] % k.shape[1] == 0


def check_widths(width: int, **tensors: Tensor) -> None:
    """Raise a ValueError unless every tensor is (B, length, width)."""
    for name, tensor in tensors.items():
        if tensor.ndim != 3 or tensor.shape[-1] != width:
            raise ValueError(
                f"expected {name} of shape (B, length, {width}), got {tuple(tensor.shape)}"
            )
