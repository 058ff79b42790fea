"""Several heads side by side, each with its own part of every projection."""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from attn_lib.attention import Kernel, check_widths, einsum_attention, fused_attention


def split_heads(x: Float[Tensor, "b l e"], num_heads: int) -> Float[Tensor, "b h l d"]:
    """Cut the channels into heads: (B, L, H*D) to (B, H, L, D), head 0 from the first D channels."""
    if x.shape[-1] % num_heads:
        raise ValueError(
            f"expected a width divisible by {num_heads} heads, got {tuple(x.shape)}"
        )
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)


def merge_heads(x: Float[Tensor, "b h l d"]) -> Float[Tensor, "b l e"]:
    """Put the heads back side by side: (B, H, L, D) to (B, L, H*D). Undoes `split_heads`."""
    return x.transpose(1, 2).flatten(-2)


class MultiHeadAttention(nn.Module):
    """H heads of width D = d_model / num_heads, merged and mixed by an output projection.

    output = merge(softmax(q k^T / sqrt(D)) v) W_o,  with q, k, v split from x W_q, c W_k, c W_v

    where c is the context: x itself, or another sequence.

    Args:
        d_model: E, the width of input and output.
        num_heads: H, a divisor of d_model.
        kernel: the attention function; weights are asked of `einsum_attention` in any case.

    Raises:
        ValueError: num_heads does not divide d_model.

    Source: Vaswani et al., "Attention Is All You Need", 2017, section 3.2.2, arxiv.org/abs/1706.03762
    """

    def __init__(self, d_model: int, num_heads: int, *, kernel: Kernel = fused_attention):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(
                f"expected num_heads to divide d_model, got d_model {d_model}, num_heads {num_heads}"
            )
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.o_proj = nn.Linear(d_model, d_model)
        self.kernel = kernel

    def forward(
        self,
        x: Float[Tensor, "b l e"],
        context: Float[Tensor, "b s e"] | None = None,
        *,
        mask: Bool[Tensor, "..."] | None = None,
        is_causal: bool = False,
        return_weights: bool = False,
    ) -> Float[Tensor, "b l e"] | tuple[Float[Tensor, "b l e"], Float[Tensor, "b h l s"]]:
        """Attend from x (B, L, E) to the context (B, S, E), or to x itself.

        Returns:
            The output (B, L, E); with `return_weights` also the weights (B, H, L, S).

        Raises:
            ValueError: x or the context is not (B, length, d_model), or the mask does not fit.
        """
        context = x if context is None else context
        check_widths(self.q_proj.in_features, x=x, context=context)
        kernel = einsum_attention if return_weights else self.kernel
        q = split_heads(self.q_proj(x), self.num_heads)
        k = split_heads(self.k_proj(context), self.num_heads)
        v = split_heads(self.v_proj(context), self.num_heads)
        output, weights = kernel(q, k, v, mask=mask, is_causal=is_causal)
        output = self.o_proj(merge_heads(output))
        return (output, weights) if return_weights else output
