"""Scaled dot-product attention, twice: written out, and PyTorch's fused kernel.

Both are *kernels*: they take `(q, k, v, *, mask=None, is_causal=False, bias=None)` and return
`(output, weights)`, so that any module can use either. The fused kernel never forms the weights,
and returns None in their place.

Keys and values may have fewer heads than the queries (grouped-query attention): then k and v are
(B, Hkv, S, D), Hkv divides H, and query head i reads K/V head floor(i * Hkv / H).
"""

import math
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from attn_lib.masks import masked_softmax
from attn_lib.shapes import full_mask

# (q, k, v, *, mask=None, is_causal=False, bias=None) -> (output, weights or None)
Kernel = Callable[..., tuple[Tensor, Any]]
# (q, k, start) -> (q, k, bias or None): a scheme of `positions`, as attention calls it
PositionScheme = Callable[..., tuple[Tensor, Tensor, Any]]


@runtime_checkable
class Cache(Protocol):
    """The part of `KVCache` that attention modules need."""

    length: int

    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Append new keys and values; return all so far."""


def einsum_attention(
    q: Float[Tensor, "*batch l d"],
    k: Float[Tensor, "*kv_batch s d"],
    v: Float[Tensor, "*kv_batch s dv"],
    *,
    mask: Bool[Tensor, "..."] | None = None,
    is_causal: bool = False,
    bias: Float[Tensor, "..."] | None = None,
) -> tuple[Float[Tensor, "*batch l dv"], Float[Tensor, "*batch l s"]]:
    """Attend, and show the weights: softmax(q k^T / sqrt(D) + bias) v.

    Args:
        q: queries (..., L, D); `...` is usually (B, H).
        k: keys (..., S, D), or (B, Hkv, S, D) for queries (B, H, L, D).
        v: values (..., S, Dv), or (B, Hkv, S, Dv).
        mask: boolean, broadcastable to (..., L, S), True where a query may attend.
        is_causal: also forbid every key that comes after the query (see `causal_mask`).
        bias: added to the scores, broadcastable to (..., L, S); some position schemes use it.

    Returns:
        The output (..., L, Dv) and the weights (..., L, S). Each row of weights sums to 1, or is
        all zero where a query may attend to nothing.

    Raises:
        ValueError: the shapes do not fit together, or the mask is not boolean.

    Source: Vaswani et al., "Attention Is All You Need", 2017, equation 1, arxiv.org/abs/1706.03762
    """
    mask = full_mask(q, k, v, mask, is_causal)
    if q.shape[:-2] != k.shape[:-2]:
        group = q.shape[1] // k.shape[1]
        k, v = (t.repeat_interleave(group, dim=1) for t in (k, v))
    scores = torch.einsum("...ld,...sd->...ls", q, k) / math.sqrt(q.shape[-1])
    if bias is not None:
        scores = scores + bias
    weights = scores.softmax(dim=-1) if mask is None else masked_softmax(scores, mask)
    return torch.einsum("...ls,...sd->...ld", weights, v), weights


def fused_attention(
    q: Float[Tensor, "*batch l d"],
    k: Float[Tensor, "*kv_batch s d"],
    v: Float[Tensor, "*kv_batch s dv"],
    *,
    mask: Bool[Tensor, "..."] | None = None,
    is_causal: bool = False,
    bias: Float[Tensor, "..."] | None = None,
) -> tuple[Float[Tensor, "*batch l dv"], None]:
    """Attend with PyTorch's fused kernel: faster, less memory, no weights to look at.

    Arguments and errors are those of `einsum_attention`. PyTorch aligns its own `is_causal`
    top-left, so it is used only where both conventions agree: L = S.

    In grouped-query attention the kernel would read each K/V head once for every query head. So where
    all queries see the same keys, as in decoding, a group's queries are put side by side: H/Hkv L
    queries of Hkv heads. Then each K/V head is read once.

    Returns:
        The output (..., L, Dv), and None.
    """
    torch_causal = False
    # An `if`, because under torch.compile a comparison of lengths is a symbol, and not yet a bool.
    if is_causal and mask is None and bias is None and q.shape[-2] == k.shape[-2]:
        torch_causal = True
    mask = full_mask(q, k, v, mask, is_causal and not torch_causal)
    if bias is not None:
        mask = bias if mask is None else torch.where(mask, bias, -torch.inf)
        mask = mask if mask.ndim > 1 else mask[None]  # PyTorch's kernel wants both axes
    shape, grouped = (*q.shape[:-1], v.shape[-1]), q.shape[:-2] != k.shape[:-2]
    by_group = not torch_causal and (mask is None or q.shape[-2] == 1)
    if grouped and by_group and not torch.compiler.is_exporting():  # that would fix L
        q = q.reshape(*k.shape[:2], -1, q.shape[-1])
        if mask is not None and mask.ndim > 2 and mask.shape[-3] > 1:  # (..., H, 1, S)
            mask = mask.reshape(*mask.shape[:-3], k.shape[1], -1, mask.shape[-1])
        grouped = False
    output = F.scaled_dot_product_attention(
        q, k, v, attn_mask=mask, is_causal=torch_causal, enable_gqa=grouped
    )
    return output.reshape(shape), None
