"""Words that look at a picture: cross-attention from a caption to patches."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from attn_lib.cross_attention import CrossAttention


def patchify(images: Float[Tensor, "b c h w"], patch: int) -> Float[Tensor, "b n p"]:
    """Cut pictures into square patches, row by row, each laid out as one vector.

    Args:
        images: (B, C, height, width).
        patch: the side of a patch, a divisor of height and width.

    Returns:
        (B, N, C * patch * patch), N = height / patch * width / patch; the first patches are the top row,
        from left to right. Inside a patch: channel by channel, row by row.

    Raises:
        ValueError: the images do not have four axes, or patches do not fill them.
    """
    if images.ndim != 4 or images.shape[2] % patch or images.shape[3] % patch:
        raise ValueError(
            f"expected images (B, C, height, width) that patches of {patch} fill, "
            f"got {tuple(images.shape)}"
        )
    grid = images.unflatten(2, (-1, patch)).unflatten(
        4, (-1, patch)
    )  # (B, C, rows, p, columns, p)
    return grid.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)


class WordsOverPatches(nn.Module):
    """Each word of a caption attends over the patches of a picture; a pair gets a score.

    The score is the mean, over the words, of the cosine between a word and what it found. Nobody tells a
    word where to look: it has to find what tells its picture from the others in the batch.

    Args:
        vocab_size: V.
        patch_dim: the numbers of one patch.
        d_model: E.
        num_heads: H, a divisor of d_model.

    Raises:
        ValueError: num_heads does not divide d_model.

    Source: after Lee et al., "Stacked Cross Attention for Image-Text Matching", 2018,
    arxiv.org/abs/1803.08024
    """

    def __init__(self, vocab_size: int, patch_dim: int, d_model: int, num_heads: int = 1):
        super().__init__()
        self.words = nn.Embedding(vocab_size, d_model)
        self.patches = nn.Sequential(
            nn.Linear(patch_dim, d_model), nn.GELU(), nn.Linear(d_model, d_model)
        )
        self.cross = CrossAttention(d_model, d_model, num_heads)
        self.log_temperature = nn.Parameter(torch.tensor(2.0))

    def forward(
        self, ids: Int[Tensor, "b l"], patches: Float[Tensor, "b n p"]
    ) -> tuple[Float[Tensor, " b"], Float[Tensor, "b h l n"]]:
        """Return a score for each pair of caption (B, L) and patches (B, N, P), and the weights."""
        alike, weights = self.resemblance(self.words(ids), self.patches(patches))
        return alike.mean(-1), weights

    def resemblance(
        self, words: Float[Tensor, "b l e"], seen: Float[Tensor, "b n e"]
    ) -> tuple[Float[Tensor, "b l"], Float[Tensor, "b h l n"]]:
        """Return the cosine of each embedded word and what it found in the patches, and the weights."""
        found, weights = self.cross(words, seen, return_weights=True)
        return F.cosine_similarity(words, found, dim=-1), weights

    def all_pairs(
        self, ids: Int[Tensor, "b l"], patches: Float[Tensor, "c n p"]
    ) -> Float[Tensor, "b c"]:
        """Return the score of every caption (B, L) with every picture (C, N, P), sharpened for a softmax."""
        words = self.words(ids).flatten(0, 1)  # (B·L, E): all of them look at each picture
        alike, _ = self.resemblance(
            words.expand(len(patches), -1, -1), self.patches(patches)
        )  # (C, B·L)
        scores = alike.unflatten(1, ids.shape).mean(-1).T
        return scores * self.log_temperature.exp()
