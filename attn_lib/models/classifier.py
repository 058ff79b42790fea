"""An encoder that reads a whole text and names its class."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attn_lib.blocks import PreNormBlock
from attn_lib.positions import Positions


def masked_mean(
    h: Float[Tensor, "b l e"], mask: Bool[Tensor, "b l"]
) -> Float[Tensor, "b e"]:
    """Average the real tokens of each sequence, and nothing of its padding.

    Args:
        h: (B, L, E).
        mask: (B, L), True for real tokens.

    Returns:
        (B, E), of the dtype of h; zeros for a sequence without real tokens.

    Raises:
        ValueError: the mask is not boolean or not (B, L).
    """
    if mask.dtype != torch.bool or mask.shape != h.shape[:2]:
        raise ValueError(
            f"expected a boolean mask {tuple(h.shape[:2])}, got {mask.dtype} {tuple(mask.shape)}"
        )
    total = h.masked_fill(~mask[..., None], 0.0).sum(dim=1)
    return total / mask.sum(dim=1, keepdim=True).clamp(min=1)


class TextClassifier(nn.Module):
    """Embed, blocks that see everything, the mean of the real tokens, one score for each class.

    Args:
        vocab_size: V.
        num_classes: C.
        d_model: E.
        num_heads: H, a divisor of d_model.
        num_layers: how many blocks.
        positions: one scheme for the whole model.

    Raises:
        ValueError: num_heads does not divide d_model.
    """

    def __init__(
        self,
        vocab_size: int,
        num_classes: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        *,
        positions: Positions | None = None,
    ):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, d_model)
        self.positions = positions or Positions()
        self.blocks = nn.ModuleList(
            PreNormBlock(d_model, num_heads, 4 * d_model, positions=self.positions)
            for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, num_classes)

    def forward(
        self, ids: Int[Tensor, "b l"], mask: Bool[Tensor, "b l"]
    ) -> Float[Tensor, "b c"]:
        """Return scores (B, C) for ids (B, L); mask (B, L) is True for real tokens."""
        x = self.positions.add(self.embed(ids))
        for block in self.blocks:
            x = block(x, mask=mask[:, None, None, :])
        return self.head(masked_mean(self.norm(x), mask))
