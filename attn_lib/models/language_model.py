"""A decoder-only language model: embed, blocks that see the past only, and a guess at the next token."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attn_lib.blocks import PreNormBlock
from attn_lib.kv_cache import KVCache
from attn_lib.positions import Positions


class LanguageModel(nn.Module):
    """Scores for the next token at every place, as GPT gives them.

    Args:
        vocab_size: V.
        d_model: E.
        num_heads: H, a divisor of d_model.
        num_layers: how many blocks.
        positions: one scheme for the whole model; it is told about embeddings and about attention.
        dropout: the share of numbers that training drops.
        block: the class of a block.

    Raises:
        ValueError: num_heads does not divide d_model.
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        *,
        positions: Positions | None = None,
        dropout: float = 0.0,
        block: type[PreNormBlock] = PreNormBlock,
    ):
        super().__init__()
        self.num_heads = num_heads
        self.embed = nn.Embedding(vocab_size, d_model)
        self.positions = positions or Positions()
        self.blocks = nn.ModuleList(
            block(
                d_model, num_heads, 4 * d_model, dropout=dropout, positions=self.positions
            )
            for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)

    def forward(
        self, ids: Int[Tensor, "b l"], *, caches: list[KVCache] | None = None
    ) -> Float[Tensor, "b l v"]:
        """Return logits (B, L, V): those at place i are for the token at i + 1.

        Args:
            ids: (B, L); with caches, only the tokens that are new.
            caches: one for each block, of `new_caches`; they take in the new tokens.

        Raises:
            ValueError: a cache is full, or the positions end.
        """
        start = caches[0].length if caches else 0
        x = self.positions.add(self.embed(ids), start)
        for number, block in enumerate(self.blocks):
            x = block(x, is_causal=True, cache=caches[number] if caches else None)
        return self.head(self.norm(x))

    def new_caches(self, batch_size: int, max_len: int) -> list[KVCache]:
        """Return an empty cache for each block, for max_len tokens of each sequence."""
        weight, heads = self.embed.weight, self.num_heads
        sizes = batch_size, heads, max_len, weight.shape[1] // heads
        return [
            KVCache(*sizes, dtype=weight.dtype, device=weight.device) for _ in self.blocks
        ]

    @torch.no_grad()
    def write(
        self,
        ids: Int[Tensor, "b l"],
        max_new_tokens: int,
        *,
        temperature: float = 1.0,
        generator: torch.Generator | None = None,
    ) -> Int[Tensor, "b n"]:
        """Go on after ids (B, L), one token at a time, each drawn from the model's own guess.

        Args:
            ids: (B, L), what to go on from.
            max_new_tokens: how many tokens.
            temperature: below 1, likely tokens become likelier; at 0, always the likeliest one.
            generator: where the draws come from; PyTorch's own if None.

        Returns:
            The ids with the new ones behind, (B, L + max_new_tokens).
        """
        caches = self.new_caches(len(ids), ids.shape[1] + max_new_tokens)
        new = ids
        for _ in range(max_new_tokens):
            logits = self(new, caches=caches)[:, -1]
            if temperature == 0:
                new = logits.argmax(-1, keepdim=True)
            else:
                chances = (logits / temperature).softmax(-1)
                new = torch.multinomial(chances, 1, generator=generator)
            ids = torch.cat([ids, new], dim=1)
        return ids
