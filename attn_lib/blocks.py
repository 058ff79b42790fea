"""Transformer blocks: attention and a feed-forward network, with norms and residual connections."""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from attn_lib.cross_attention import CrossAttention
from attn_lib.kv_cache import KVCache
from attn_lib.multi_head import MultiHeadAttention
from attn_lib.positions import Positions


def feed_forward(d_model: int, d_ff: int) -> nn.Sequential:
    """Return the network that acts on each token alone: E to d_ff and back, a GELU between."""
    return nn.Sequential(nn.Linear(d_model, d_ff), nn.GELU(), nn.Linear(d_ff, d_model))


class PreNormBlock(nn.Module):
    """Attention, then a feed-forward network; each reads a normalized x and adds to x itself.

    x = x + attn(norm1(x)),  x = x + ff(norm2(x))

    With `is_causal` this is a block of GPT; without, one of an encoder.

    Args:
        d_model: E.
        num_heads: H, a divisor of d_model.
        d_ff: the width inside the feed-forward network, often 4 E.
        dropout: the share of numbers that training drops from what is added to x.
        positions: how the attention tells places apart.

    Raises:
        ValueError: num_heads does not divide d_model.

    Source: Xiong et al., "On Layer Normalization in the Transformer Architecture", 2020, figure 1,
    arxiv.org/abs/2002.04745
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        *,
        dropout: float = 0.0,
        positions: Positions | None = None,
    ):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attn = MultiHeadAttention(d_model, num_heads, positions=positions)
        self.norm2 = nn.LayerNorm(d_model)
        self.ff = feed_forward(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Float[Tensor, "b l e"],
        *,
        mask: Bool[Tensor, "..."] | None = None,
        is_causal: bool = False,
        cache: KVCache | None = None,
    ) -> Float[Tensor, "b l e"]:
        """Return x (B, L, E) with what attention and feed-forward add to it.

        Raises:
            ValueError: x, the mask or the cache does not fit.
        """
        seen = self.attn(self.norm1(x), mask=mask, is_causal=is_causal, cache=cache)
        x = x + self.dropout(seen)
        return x + self.dropout(self.ff(self.norm2(x)))


class PostNormBlock(PreNormBlock):
    """The block of 2017: each norm comes after the addition, on the residual path itself.

    x = norm1(x + attn(x)),  x = norm2(x + ff(x))

    Source: Vaswani et al., "Attention Is All You Need", 2017, section 3.1, arxiv.org/abs/1706.03762
    """

    def forward(
        self,
        x: Float[Tensor, "b l e"],
        *,
        mask: Bool[Tensor, "..."] | None = None,
        is_causal: bool = False,
        cache: KVCache | None = None,
    ) -> Float[Tensor, "b l e"]:
        """Return x (B, L, E), attended and fed forward; errors are those of `PreNormBlock`."""
        seen = self.attn(x, mask=mask, is_causal=is_causal, cache=cache)
        x = self.norm1(x + self.dropout(seen))
        return self.norm2(x + self.dropout(self.ff(x)))


class DecoderBlock(nn.Module):
    """A block that also reads another sequence: self-attention, cross-attention, feed-forward.

    x = x + self_attn(norm1(x)),  x = x + cross_attn(norm2(x), context),  x = x + ff(norm3(x))

    The context is read as it comes: an encoder ends with a norm of its own.

    Args:
        d_model: E, the width of x and of the context.
        num_heads: H, a divisor of d_model.
        d_ff: the width inside the feed-forward network.
        dropout: the share of numbers that training drops from what is added to x.
        positions: how the self-attention tells places apart.

    Raises:
        ValueError: num_heads does not divide d_model.

    Source: Vaswani et al., 2017, section 3.1, with the norms before
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        *,
        dropout: float = 0.0,
        positions: Positions | None = None,
    ):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.self_attn = MultiHeadAttention(d_model, num_heads, positions=positions)
        self.norm2 = nn.LayerNorm(d_model)
        self.cross_attn = CrossAttention(d_model, d_model, num_heads)
        self.norm3 = nn.LayerNorm(d_model)
        self.ff = feed_forward(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Float[Tensor, "b l e"],
        context: Float[Tensor, "b s e"],
        *,
        mask: Bool[Tensor, "..."] | None = None,
        is_causal: bool = False,
        context_mask: Bool[Tensor, "b s"] | None = None,
        cache: KVCache | None = None,
    ) -> Float[Tensor, "b l e"]:
        """Return x (B, L, E) with what it found in itself and in the context (B, S, E).

        Args:
            x: the sequence that is written.
            context: the sequence that is read.
            mask: of the self-attention, broadcastable to (B, H, L, L).
            is_causal: also forbid the self-attention every later token.
            context_mask: (B, S), True for real tokens of the context, False for padding.
            cache: of the self-attention.

        Raises:
            ValueError: x, the context, a mask or the cache does not fit.
        """
        seen = self.self_attn(self.norm1(x), mask=mask, is_causal=is_causal, cache=cache)
        x = x + self.dropout(seen)
        read = self.cross_attn(self.norm2(x), context, context_mask=context_mask)
        x = x + self.dropout(read)
        return x + self.dropout(self.ff(self.norm3(x)))
