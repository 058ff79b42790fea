"""One attention head with its three projections."""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from attn_lib.attention import Kernel, einsum_attention, fused_attention
from attn_lib.shapes import check_widths


class SingleHeadAttention(nn.Module):
    """One head: project to queries, keys and values, then attend.

    q = x W_q,  k = c W_k,  v = c W_v,  output = softmax(q k^T / sqrt(head_dim)) v

    where c is the context: x itself (self-attention), or another sequence (cross-attention).
    `nn.Linear` stores each W transposed, as (head_dim, d_model).

    Args:
        d_model: E, the width of x and of the context.
        head_dim: D, the width of queries, keys, values and output.
        kernel: the attention function; weights are asked of `einsum_attention` in any case.

    Source: Vaswani et al., "Attention Is All You Need", 2017, section 3.2, arxiv.org/abs/1706.03762
    """

    def __init__(self, d_model: int, head_dim: int, *, kernel: Kernel = fused_attention):
        super().__init__()
        self.q_proj = nn.Linear(d_model, head_dim, bias=False)
        self.k_proj = nn.Linear(d_model, head_dim, bias=False)
        self.v_proj = nn.Linear(d_model, head_dim, bias=False)
        self.kernel = kernel

    def forward(
        self,
        x: Float[Tensor, "b l e"],
        context: Float[Tensor, "b s e"] | None = None,
        *,
        mask: Bool[Tensor, "..."] | None = None,
        is_causal: bool = False,
        return_weights: bool = False,
    ) -> Float[Tensor, "b l d"] | tuple[Float[Tensor, "b l d"], Float[Tensor, "b l s"]]:
        """Attend from x (B, L, E) to the context (B, S, E), or to x itself.

        Returns:
            The output (B, L, D); with `return_weights` also the weights (B, L, S).

        Raises:
            ValueError: x or the context is not (B, length, d_model), or the mask does not fit.
        """
        context = x if context is None else context
        check_widths(self.q_proj.in_features, x=x, context=context)
        kernel = einsum_attention if return_weights else self.kernel
        q, k, v = self.q_proj(x), self.k_proj(context), self.v_proj(context)
        output, weights = kernel(q, k, v, mask=mask, is_causal=is_causal)
        return (output, weights) if return_weights else output


# Self-attention is the same head with no context given.
SelfAttention = SingleHeadAttention
