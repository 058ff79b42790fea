"""Checks of the attention functions' arguments: shapes that fit, a mask that broadcasts."""

import torch
from torch import Tensor

from attn_lib.masks import causal_mask


def full_mask(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, is_causal: bool
) -> Tensor | None:
    """Check all shapes; return one mask that holds everything, or None if all is allowed.

    Args:
        q: queries (..., L, D).
        k: keys (..., S, D), or (B, Hkv, S, D) for queries (B, H, L, D).
        v: values (..., S, Dv), or (B, Hkv, S, Dv).
        mask: boolean, broadcastable to (..., L, S), True where a query may attend.
        is_causal: also forbid every key that comes after the query.

    Raises:
        ValueError: the shapes do not fit together, or the mask is not boolean.
    """
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
    return q.ndim == 4 and q.shape[0] == k.shape[0] and q.shape[1] % k.shape[1] == 0


def check_widths(width: int, **tensors: Tensor) -> None:
    """Raise a ValueError unless every tensor is (B, length, width)."""
    for name, tensor in tensors.items():
        if tensor.ndim != 3 or tensor.shape[-1] != width:
            raise ValueError(
                f"expected {name} of shape (B, length, {width}), got {tuple(tensor.shape)}"
            )
