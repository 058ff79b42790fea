"""Keys and values of the tokens so far, kept so that each is computed once."""

import torch
from jaxtyping import Float
from torch import Tensor


class KVCache:
    """One layer's keys and values, in memory that is taken once, for `max_len` tokens.

    Without a cache, token n projects and attends for all n tokens again. With it, only the new
    token is projected. A cache is for decoding: no gradients flow through it.

    Args:
        batch_size: B.
        num_kv_heads: Hkv.
        max_len: the largest number of tokens it can hold.
        head_dim: D.
        dtype: of keys and values; PyTorch's default if None.
        device: where they are kept.

    Attributes:
        length: how many tokens it holds.
    """

    def __init__(
        self,
        batch_size: int,
        num_kv_heads: int,
        max_len: int,
        head_dim: int,
        *,
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
    ):
        shape = (batch_size, num_kv_heads, max_len, head_dim)
        self.k = torch.zeros(shape, dtype=dtype, device=device)
        self.v = torch.zeros(shape, dtype=dtype, device=device)
        self.length = 0

    def update(
        self, k: Float[Tensor, "b hkv l d"], v: Float[Tensor, "b hkv l d"]
    ) -> tuple[Float[Tensor, "b hkv s d"], Float[Tensor, "b hkv s d"]]:
        """Append the keys and values of L new tokens, and return those of all S tokens so far.

        Args:
            k: (B, Hkv, L, D).
            v: (B, Hkv, L, D).

        Returns:
            Views (B, Hkv, S, D) of what is kept, where S is the new length.

        Raises:
            ValueError: the shapes or dtypes do not fit, or there is no room left.
        """
        batch, heads, max_len, width = self.k.shape
        fits = k.ndim == 4 and k.shape == v.shape == (batch, heads, k.shape[2], width)
        if not fits or not self.k.dtype == k.dtype == v.dtype:
            raise ValueError(
                f"expected k and v ({batch}, {heads}, L, {width}) of {self.k.dtype}, got "
                f"{tuple(k.shape)} and {tuple(v.shape)} of {k.dtype} and {v.dtype}"
            )
        start, end = self.length, self.length + k.shape[2]
        if end > max_len:
            raise ValueError(
                f"expected at most {max_len} tokens, got {start} in the cache and {k.shape[2]} more"
            )
        self.k[:, :, start:end] = k.detach()
        self.v[:, :, start:end] = v.detach()
        self.length = end
        return self.k[:, :, :end], self.v[:, :, :end]


def kv_cache_bytes(
    batch_size: int,
    seq_len: int,
    num_layers: int,
    num_kv_heads: int,
    head_dim: int,
    dtype: torch.dtype,
) -> int:
    """Return the bytes of a whole model's keys and values, for `seq_len` tokens a sequence.

    2 (keys and values) x batch x tokens x layers x K/V heads x head_dim x bytes of one number.
    """
    numbers = 2 * batch_size * seq_len * num_layers * num_kv_heads * head_dim
    return numbers * dtype.itemsize
