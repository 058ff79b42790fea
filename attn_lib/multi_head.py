"""Several heads side by side, each with its own part of every projection."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attn_lib.attention import (
    Cache,
    Kernel,
    PositionScheme,
    einsum_attention,
    fused_attention,
)
from attn_lib.shapes import check_widths


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
        positions: how its words are told apart by place; another sequence is read without.

    Raises:
        ValueError: num_heads does not divide d_model.

    Source: Vaswani et al., "Attention Is All You Need", 2017, section 3.2.2, arxiv.org/abs/1706.03762
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        kernel: Kernel = fused_attention,
        positions: PositionScheme | None = None,
    ):
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
        self.positions = positions

    def forward(
        self,
        x: Float[Tensor, "b l e"],
        context: Float[Tensor, "b s e"] | None = None,
        *,
        mask: Bool[Tensor, "..."] | None = None,
        is_causal: bool = False,
        cache: Cache | None = None,
        return_weights: bool = False,
    ) -> Float[Tensor, "b l e"] | tuple[Float[Tensor, "b l e"], Float[Tensor, "b h l s"]]:
        """Attend from x (B, L, E) to the context (B, S, E), or to x itself.

        With a cache, also to all tokens before x, which it holds; it takes in those of x. It is for x
        itself: `CrossAttention` keeps the keys and values of another sequence.

        Returns:
            The output (B, L, E); with `return_weights` also the weights (B, H, L, S).

        Raises:
            ValueError: x or the context is not (B, length, d_model), the mask does not fit, the cache
                is full, or there is a cache and a context.
        """
        if context is not None and cache is not None:
            raise ValueError("expected a context or a cache, got both")
        is_own, context = context is None, x if context is None else context
        check_widths(self.q_proj.in_features, x=x, context=context)
        kernel = einsum_attention if return_weights else self.kernel
        q = split_heads(self.q_proj(x), self.num_heads)
        k = split_heads(self.k_proj(context), self.num_heads)
        v = split_heads(self.v_proj(context), self.num_heads)
        bias = None
        if is_own and self.positions is not None:
            q, k, bias = self.positions(q, k, 0 if cache is None else cache.length)
        if cache is not None:
            k, v = cache.update(k, v)
        output, weights = kernel(q, k, v, mask=mask, is_causal=is_causal, bias=bias)
        output = self.o_proj(merge_heads(output))
        return (output, weights) if return_weights else output

    @classmethod
    def from_torch(cls, mha: nn.MultiheadAttention) -> "MultiHeadAttention":
        """Return a module with copies of the weights of PyTorch's: the same outputs.

        PyTorch stacks the query, key and value projections into one matrix (3E, E), and its masks
        mean the opposite: True = may not attend. Dropout is not taken over.

        Raises:
            ValueError: the module's keys or values have another width than its queries, or it
                adds a bias key or a zero key: this library has no such thing.
        """
        if mha.in_proj_weight is None or mha.bias_k is not None or mha.add_zero_attn:
            raise ValueError(
                "expected an nn.MultiheadAttention with kdim = vdim = embed_dim, without add_bias_kv "
                f"and add_zero_attn, got {mha}"
            )
        module = cls(mha.embed_dim, mha.num_heads).to(mha.in_proj_weight)
        layers = (module.q_proj, module.k_proj, module.v_proj, module.o_proj)
        weights = (*mha.in_proj_weight.chunk(3), mha.out_proj.weight)
        with torch.no_grad():
            for layer, weight in zip(layers, weights, strict=True):
                layer.weight.copy_(weight)
                layer.bias.zero_()  # where PyTorch's module was made with bias=False
            if mha.in_proj_bias is not None:
                biases = (*mha.in_proj_bias.chunk(3), mha.out_proj.bias)
                for layer, bias in zip(layers, biases, strict=True):
                    layer.bias.copy_(bias)
        return module.train(mha.training)

    def to_torch(self) -> nn.MultiheadAttention:
        """Return an `nn.MultiheadAttention`, batch first, with copies of these weights."""
        layers = (self.q_proj, self.k_proj, self.v_proj)
        weight = self.q_proj.weight
        mha = nn.MultiheadAttention(
            len(weight),
            self.num_heads,
            batch_first=True,
            device=weight.device,
            dtype=weight.dtype,
        )
        with torch.no_grad():
            mha.in_proj_weight.copy_(torch.cat([layer.weight for layer in layers]))
            mha.in_proj_bias.copy_(torch.cat([layer.bias for layer in layers]))
        mha.out_proj.load_state_dict(self.o_proj.state_dict())
        return mha.train(self.training)
