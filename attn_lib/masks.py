"""Boolean masks: True means "this query may attend to this key"."""

import torch
from jaxtyping import Bool
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
