"""Attention from one sequence to another: queries from here, keys and values from there."""

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attn_lib.attention import Kernel, einsum_attention, fused_attention
from attn_lib.masks import causal_mask
from attn_lib.multi_head import merge_heads, split_heads
from attn_lib.shapes import check_widths


class CrossAttention(nn.Module):
    """H heads that ask in x and find in the context, which has its own length and width.

    The context does not change while a decoder writes, so its keys and values can be computed once
    with `keys_values` and used for every new token with `attend`.

    Args:
        d_model: E, the width of x and of the output.
        d_context: the width of the context.
        num_heads: H, a divisor of d_model; head_dim D is d_model / num_heads.
        kernel: the attention function; weights are asked of `einsum_attention` in any case.

    Raises:
        ValueError: num_heads does not divide d_model.

    Source: Vaswani et al., "Attention Is All You Need", 2017, section 3.2.3, arxiv.org/abs/1706.03762
    """

    def __init__(
        self,
        d_model: int,
        d_context: int,
        num_heads: int,
        *,
        kernel: Kernel = fused_attention,
    ):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(
                f"expected num_heads to divide d_model, got d_model {d_model}, num_heads {num_heads}"
            )
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_context, d_model)
        self.v_proj = nn.Linear(d_context, d_model)
        self.o_proj = nn.Linear(d_model, d_model)
        self.kernel = kernel

    def forward(
        self,
        x: Float[Tensor, "b l e"],
        context: Float[Tensor, "b s c"],
        *,
        context_mask: Bool[Tensor, "b s"] | None = None,
        return_weights: bool = False,
    ) -> Float[Tensor, "b l e"] | tuple[Float[Tensor, "b l e"], Float[Tensor, "b h l s"]]:
        """Attend from x (B, L, E) to the context (B, S, d_context).

        Args:
            x: the sequence that asks.
            context: the sequence that is read.
            context_mask: (B, S), True for real tokens of the context, False for padding.
            return_weights: also return the weights.

        Returns:
            The output (B, L, E); with `return_weights` also the weights (B, H, L, S).

        Raises:
            ValueError: x, the context or the mask has another shape.
        """
        k, v = self.keys_values(context)
        return self.attend(
            x, k, v, context_mask=context_mask, return_weights=return_weights
        )

    def keys_values(
        self, context: Float[Tensor, "b s c"]
    ) -> tuple[Float[Tensor, "b h s d"], Float[Tensor, "b h s d"]]:
        """Return the keys and values (B, H, S, D) of a context (B, S, d_context)."""
        check_widths(self.k_proj.in_features, context=context)
        k = split_heads(self.k_proj(context), self.num_heads)
        return k, split_heads(self.v_proj(context), self.num_heads)

    def attend(
        self,
        x: Float[Tensor, "b l e"],
        k: Float[Tensor, "b h s d"],
        v: Float[Tensor, "b h s d"],
        *,
        context_mask: Bool[Tensor, "b s"] | None = None,
        return_weights: bool = False,
    ) -> Float[Tensor, "b l e"] | tuple[Float[Tensor, "b l e"], Float[Tensor, "b h l s"]]:
        """Do the rest of `forward`, with keys and values from `keys_values`."""
        check_widths(self.q_proj.in_features, x=x)
        mask = None
        if context_mask is not None:
            expected = (len(k), k.shape[2])
            if context_mask.shape != expected:
                raise ValueError(
                    f"expected context_mask of shape {expected} (B, S), "
                    f"got {tuple(context_mask.shape)}"
                )
            mask = context_mask[:, None, None, :]
        kernel = einsum_attention if return_weights else self.kernel
        q = split_heads(self.q_proj(x), self.num_heads)
        output, weights = kernel(q, k, v, mask=mask)
        output = self.o_proj(merge_heads(output))
        return (output, weights) if return_weights else output


def encoder_decoder_masks(
    src_ids: Int[Tensor, "b s"], tgt_ids: Int[Tensor, "b l"], pad_id: int
) -> tuple[Bool[Tensor, "b 1 1 s"], Bool[Tensor, "b 1 l l"], Bool[Tensor, "b 1 1 s"]]:
    """Return the three masks of an encoder-decoder, made from its padded token ids.

    Args:
        src_ids: (B, S) ids of the input.
        tgt_ids: (B, L) ids of the output so far.
        pad_id: the id that stands for "no token"; a pad is hidden as a key. The rows of pads, whose
            outputs nobody reads, are left as they are.

    Returns:
        The encoder's mask (B, 1, 1, S), the decoder's own (B, 1, L, L), which is causal too, and
        the cross mask (B, 1, 1, S): all pads of the input hidden from the output.

    Source: Vaswani et al., "Attention Is All You Need", 2017, section 3.2.3, arxiv.org/abs/1706.03762
    """
    src_real = (src_ids != pad_id)[:, None, None, :]
    tgt_real = (tgt_ids != pad_id)[:, None, None, :]
    length = tgt_ids.shape[1]
    causal = causal_mask(length, length, device=tgt_ids.device)
    return src_real, tgt_real & causal, src_real
