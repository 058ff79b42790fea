"""Grouped-query attention: fewer K/V heads than query heads. MHA and MQA are its two ends."""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from attn_lib.attention import Kernel, PositionScheme, einsum_attention, fused_attention
from attn_lib.kv_cache import KVCache
from attn_lib.multi_head import merge_heads, split_heads
from attn_lib.shapes import check_widths


class GroupedQueryAttention(nn.Module):
    """H query heads share Hkv key/value heads: query head i reads K/V head floor(i * Hkv / H).

    `num_kv_heads` is a dial. At num_heads it is multi-head attention, at 1 multi-query attention;
    between them it is grouped-query attention. The projections have no bias, as in Llama.

    Args:
        d_model: E, the width of input and output.
        num_heads: H, a divisor of d_model; head_dim D is d_model / num_heads.
        num_kv_heads: Hkv, a divisor of num_heads.
        kernel: the attention function; weights are asked of `einsum_attention` in any case.
        positions: how its tokens are told apart by place; with a cache they go on counting.

    Raises:
        ValueError: num_heads does not divide d_model, or num_kv_heads does not divide num_heads.

    Sources: Ainslie et al., "GQA", 2023, arxiv.org/abs/2305.13245; Shazeer, "Fast Transformer
    Decoding" (MQA), 2019, arxiv.org/abs/1911.02150
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        num_kv_heads: int,
        *,
        kernel: Kernel = fused_attention,
        positions: PositionScheme | None = None,
    ):
        super().__init__()
        if d_model % num_heads or num_heads % num_kv_heads:
            raise ValueError(
                "expected num_heads to divide d_model, and num_kv_heads to divide num_heads, got "
                f"d_model {d_model}, num_heads {num_heads}, num_kv_heads {num_kv_heads}"
            )
        self.num_heads, self.num_kv_heads = num_heads, num_kv_heads
        kv_width = d_model // num_heads * num_kv_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=False)
        self.k_proj = nn.Linear(d_model, kv_width, bias=False)
        self.v_proj = nn.Linear(d_model, kv_width, bias=False)
        self.o_proj = nn.Linear(d_model, d_model, bias=False)
        self.kernel = kernel
        self.positions = positions

    def forward(
        self,
        x: Float[Tensor, "b l e"],
        *,
        mask: Bool[Tensor, "..."] | None = None,
        is_causal: bool = False,
        cache: KVCache | None = None,
        return_weights: bool = False,
    ) -> Float[Tensor, "b l e"] | tuple[Float[Tensor, "b l e"], Float[Tensor, "b h l s"]]:
        """Attend from x (B, L, E) to x itself and, with a cache, to all tokens before it.

        The cache takes in the new keys and values. S counts them and all that it held before.

        Returns:
            The output (B, L, E); with `return_weights` also the weights (B, H, L, S).

        Raises:
            ValueError: x is not (B, length, d_model), the mask does not fit, or the cache is full.
        """
        check_widths(self.q_proj.in_features, x=x)
        q = split_heads(self.q_proj(x), self.num_heads)
        k = split_heads(self.k_proj(x), self.num_kv_heads)
        v = split_heads(self.v_proj(x), self.num_kv_heads)
        bias = None
        if self.positions is not None:
            q, k, bias = self.positions(q, k, 0 if cache is None else cache.length)
        if cache is not None:
            k, v = cache.update(k, v)
        kernel = einsum_attention if return_weights else self.kernel
        output, weights = kernel(q, k, v, mask=mask, is_causal=is_causal, bias=bias)
        output = self.o_proj(merge_heads(output))
        return (output, weights) if return_weights else output


def repeat_kv(
    x: Float[Tensor, "b hkv s d"], num_heads: int
) -> Float[Tensor, "b {num_heads} s d"]:
    """Copy each K/V head for its group of query heads, side by side: 0 0 1 1, not 0 1 0 1.

    Args:
        x: keys or values (B, Hkv, S, D).
        num_heads: H, the number of query heads, a multiple of Hkv.

    Returns:
        (B, H, S, D), where head i is head floor(i * Hkv / H) of x.

    Raises:
        ValueError: x does not have four axes, or num_heads is not a multiple of Hkv.

    Source: Ainslie et al., "GQA", 2023, figure 2, arxiv.org/abs/2305.13245
    """
    if x.ndim != 4 or num_heads % x.shape[1]:
        raise ValueError(
            f"expected x (B, Hkv, S, D) with Hkv a divisor of {num_heads}, got {tuple(x.shape)}"
        )
    return x.repeat_interleave(num_heads // x.shape[1], dim=1)


def mean_pool_kv(
    weight: Float[Tensor, "hd e"], num_heads: int, num_kv_heads: int
) -> Float[Tensor, "kd e"]:
    """Average the rows of a key or value projection over each group of heads.

    Args:
        weight: (H*D, E), the weight of an MHA's `k_proj` or `v_proj`; head 0 has the first D rows.
        num_heads: H.
        num_kv_heads: Hkv, a divisor of H.

    Returns:
        (Hkv*D, E): a start from which a GQA model can be trained further.

    Raises:
        ValueError: the rows are not H heads, or Hkv does not divide H.

    Source: Ainslie et al., "GQA", 2023, section 2.1, arxiv.org/abs/2305.13245
    """
    if weight.ndim != 2 or len(weight) % num_heads or num_heads % num_kv_heads:
        raise ValueError(
            f"expected a weight (H*D, E) of {num_heads} heads, and num_kv_heads to divide "
            f"{num_heads}, got {tuple(weight.shape)} and num_kv_heads {num_kv_heads}"
        )
    group, head_dim = num_heads // num_kv_heads, len(weight) // num_heads
    return weight.unflatten(0, (num_kv_heads, group, head_dim)).mean(dim=1).flatten(0, 1)
