"""A Llama: the decoder of most open language models, out of this library's attention.

Against the model of the earlier lessons four things are new, and none of them in attention: RMSNorm
for LayerNorm, SwiGLU for the feed-forward network, no biases, and an embedding that is also the head.

Sources: Touvron et al., "LLaMA", 2023, section 2.2, arxiv.org/abs/2302.13971; Zhang and Sennrich,
"Root Mean Square Layer Normalization", 2019, arxiv.org/abs/1910.07467; Shazeer, "GLU Variants
Improve Transformer", 2020, arxiv.org/abs/2002.05202
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attn_lib.grouped_query import GroupedQueryAttention
from attn_lib.kv_cache import KVCache


@dataclass(frozen=True)
class LlamaConfig:
    """The sizes of a Llama; the defaults are those of SmolLM2-135M."""

    vocab_size: int = 49152
    d_model: int = 576
    num_heads: int = 9
    num_kv_heads: int = 3
    num_layers: int = 30
    d_ff: int = 1536
    max_len: int = 8192
    rope_base: float = 100_000.0
    eps: float = 1e-5

    @property
    def head_dim(self) -> int:
        """D, the width of a head."""
        return self.d_model // self.num_heads


class RMSNorm(nn.Module):
    """Divide each vector by its root mean square, then weigh its channels.

    y = x / sqrt(mean(x^2) + eps) * weight

    LayerNorm also takes the mean away and adds a bias; this one does neither.
    """

    def __init__(self, d_model: int, eps: float):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.eps = eps

    def forward(self, x: Float[Tensor, "*b e"]) -> Float[Tensor, "*b e"]:
        """Return y (..., E) for x (..., E)."""
        return F.rms_norm(x, self.weight.shape, self.weight, self.eps)


class SwiGLU(nn.Module):
    """A feed-forward network in which one half opens and shuts the other, channel by channel.

    y = down(silu(gate(x)) * up(x)),  silu(z) = z * sigmoid(z)
    """

    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.gate_proj = nn.Linear(d_model, d_ff, bias=False)
        self.up_proj = nn.Linear(d_model, d_ff, bias=False)
        self.down_proj = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: Float[Tensor, "*b e"]) -> Float[Tensor, "*b e"]:
        """Return y (..., E) for x (..., E)."""
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class RopeTable(nn.Module):
    """RoPE whose cosines and sines are looked up: the numbers of `RoPE`, at less work a token.

    Args:
        head_dim: D, even.
        max_len: how many positions there are.
        base: see `apply_rope`.
    """

    def __init__(self, head_dim: int, max_len: int, base: float):
        super().__init__()
        steps = torch.arange(0, head_dim, 2, device="cpu") / head_dim
        angles = torch.arange(max_len, device="cpu")[:, None] * base**-steps
        # No buffers: a model in bfloat16 would round them, and 257 is no number of bfloat16.
        self.cos = torch.cat([angles.cos(), angles.cos()], dim=-1)
        self.sin = torch.cat([-angles.sin(), angles.sin()], dim=-1)

    def forward(
        self, q: Float[Tensor, "b h l d"], k: Float[Tensor, "b hkv l d"], start: int = 0
    ) -> tuple[Tensor, Tensor, None]:
        """Turn queries and keys; see `Positions.forward`.

        Raises:
            ValueError: the last position is beyond the table.
        """
        end = start + q.shape[-2]
        if end > len(self.cos):
            raise ValueError(f"expected at most {len(self.cos)} positions, got {end}")
        cos, sin = self.cos[start:end].to(q.device), self.sin[start:end].to(q.device)
        return self._turn(q, cos, sin), self._turn(k, cos, sin), None

    @staticmethod
    def _turn(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        other = x.roll(x.shape[-1] // 2, dims=-1)  # each channel's partner in its pair
        return torch.addcmul(x * cos, other, sin).to(x.dtype)


class LlamaBlock(nn.Module):
    """x = x + attn(norm1(x)),  x = x + ff(norm2(x))"""

    def __init__(self, config: LlamaConfig, attn: nn.Module):
        super().__init__()
        self.norm1 = RMSNorm(config.d_model, config.eps)
        self.attn = attn
        self.norm2 = RMSNorm(config.d_model, config.eps)
        self.ff = SwiGLU(config.d_model, config.d_ff)

    def forward(
        self,
        x: Float[Tensor, "b l e"],
        cache: KVCache | None = None,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "b l e"]:
        """Return x (B, L, E) with what attention and feed-forward add to it."""
        x = x + self.attn(self.norm1(x), mask=mask, is_causal=True, cache=cache)
        return x + self.ff(self.norm2(x))


class Llama(nn.Module):
    """Embed, blocks, a norm, and the embedding once more, as the head.

    Args:
        config: the sizes.
    """

    def __init__(self, config: LlamaConfig):
        super().__init__()
        self.config = config
        positions = RopeTable(config.head_dim, config.max_len, config.rope_base)
        self.head = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.embed = nn.Embedding.from_pretrained(self.head.weight)
        self.embed.weight = self.head.weight  # one parameter, not two that share memory
        self.blocks = nn.ModuleList(
            LlamaBlock(
                config,
                GroupedQueryAttention(
                    config.d_model,
                    config.num_heads,
                    config.num_kv_heads,
                    positions=positions,
                ),
            )
            for _ in range(config.num_layers)
        )
        self.norm = RMSNorm(config.d_model, config.eps)

    def forward(
        self,
        ids: Int[Tensor, "b l"],
        *,
        caches: list[KVCache] | None = None,
        last: bool = False,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "b n v"]:
        """Return logits (B, L, V): those at place i are for the token at i + 1.

        Args:
            ids: (B, L); with caches, only the tokens that are new.
            caches: one for each block, of `new_caches`; they take in the new tokens.
            last: the last token's logits only, (B, 1, V): all that writing needs of a prompt.
            mask: beside the causal one, broadcastable to (B, H, L, S): False for pads, as in `padding_mask`.

        Raises:
            ValueError: a cache is full, or the positions end.
        """
        x = self.embed(ids)
        for number, block in enumerate(self.blocks):
            x = block(x, caches[number] if caches else None, mask)
        return self.head(self.norm(x[:, -1:] if last else x))

    def new_caches(self, batch_size: int, max_len: int) -> list[KVCache]:
        """Return an empty cache for each block, for max_len tokens of each sequence."""
        sizes = batch_size, self.config.num_kv_heads, max_len, self.config.head_dim
        weight = self.norm.weight
        return [
            KVCache(*sizes, dtype=weight.dtype, device=weight.device) for _ in self.blocks
        ]
