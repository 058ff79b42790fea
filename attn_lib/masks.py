"""Boolean masks: True means "this query may attend to this key".

They broadcast to (B, H, L, S), so combine them with `&`: a key must be allowed by every mask.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


def causal_mask(
    q_len: int, kv_len: int, *, device: torch.device | str | None = None
) -> Bool[Tensor, "l s"]:
    """Let each query see itself and what came before it; the last query sees the last key.

    Query i may see key j when j <= i + (kv_len - q_len): the triangle is aligned bottom-right, so
    it stays right when the first keys come from a cache.

    Args:
        q_len: L, the number of queries.
        kv_len: S, the number of keys; where S < L the first queries see nothing.
        device: where the mask is made.

    Returns:
        Boolean (L, S), True where the query may attend.
    """
    return torch.ones(q_len, kv_len, dtype=torch.bool, device=device).tril(kv_len - q_len)


def sliding_window_mask(
    q_len: int, kv_len: int, window: int, *, device: torch.device | str | None = None
) -> Bool[Tensor, "l s"]:
    """Let each query see the last `window` keys, its own included: a causal band.

    Args:
        q_len: L, the number of queries.
        kv_len: S, the number of keys; the last query sees the last key, as in `causal_mask`.
        window: W, how many keys a query may see, at least 1.
        device: where the mask is made.

    Returns:
        Boolean (L, S), True where the query may attend.

    Raises:
        ValueError: the window is smaller than 1.

    Source: Beltagy et al., "Longformer", 2020, section 3.1, arxiv.org/abs/2004.05150
    """
    if window < 1:
        raise ValueError(f"expected a window of at least 1 key, got {window}")
    causal = causal_mask(q_len, kv_len, device=device)
    return causal.triu(kv_len - q_len - window + 1)


def padding_mask(lengths: Int[Tensor, " b"], max_len: int) -> Bool[Tensor, "b 1 1 s"]:
    """Let every query see the real keys of its own sentence, and none of the padding after them.

    Args:
        lengths: (B,) integers, the number of real tokens of each sentence, padded at the end.
        max_len: S, the length to which all sentences are padded.

    Returns:
        Boolean (B, 1, 1, S), True for real keys; it broadcasts over heads and queries.

    Raises:
        ValueError: lengths is not one-dimensional.
    """
    if lengths.ndim != 1:
        raise ValueError(f"expected lengths of shape (B,), got {tuple(lengths.shape)}")
    real = torch.arange(max_len, device=lengths.device) < lengths[:, None]
    return real[:, None, None, :]


def masked_softmax(
    scores: Float[Tensor, "..."], mask: Bool[Tensor, "..."]
) -> Float[Tensor, "..."]:
    """Softmax over the allowed keys of each row; a row with no allowed key is all zero.

    Args:
        scores: (..., L, S), of any float dtype.
        mask: boolean, broadcastable to the scores, True where a query may attend.

    Returns:
        Weights of the shape and dtype of the scores, with finite gradients everywhere.
    """
    # A row with nothing to attend to is all -inf, and its softmax is NaN. The second fill makes the
    # weights zero; the first one keeps the NaN out of the gradients, which it zeroes on the way back.
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1).masked_fill(~mask, 0.0)
