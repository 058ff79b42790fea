"""Scene 1: the effect of the scores' divisor on the softmax, from narrow to wide heads."""

from typing import Any

import torch

from attn_lib.explorer.scene import Scene, expect, rounded
from attn_lib.explorer.still import Still

HEAD_DIMS = (4, 8, 16, 32, 64, 128, 256)
MOST_KEYS = 16
TYPICAL = 367  # of 4,000 seeds, the one whose draw comes closest to the means of all


class Scale(Scene):
    """One random query and its keys, at head_dims from 4 to 256, under any divisor.

    The query and the keys have independent entries of mean 0 and spread 1. A narrower head has the
    first entries of the same vectors.

    Args:
        num_keys: S, 2 to 16.
        seed: of the random numbers.

    Attributes:
        scores: (7, S), the dot products before any division, one row for each head_dim.

    Raises:
        ValueError: there are fewer or more keys.
    """

    script = "scale"
    title = "Scale: which divisor keeps the softmax from saturating?"

    def __init__(self, *, num_keys: int = 8, seed: int = TYPICAL):
        expect(2 <= num_keys <= MOST_KEYS, f"2 to {MOST_KEYS} keys", num_keys)
        generator = torch.Generator().manual_seed(seed)
        q = torch.randn(HEAD_DIMS[-1], generator=generator, dtype=torch.float64)
        k = torch.randn(num_keys, HEAD_DIMS[-1], generator=generator, dtype=torch.float64)
        self.scores = torch.stack([k[:, :d] @ q[:d] for d in HEAD_DIMS])
        plain = self.scores[HEAD_DIMS.index(64)]
        self.weights = {
            "not divided": plain.softmax(-1),
            "divided by √64": (plain / 8).softmax(-1),
        }
        self.alt = (
            f"Bars of the weights of {num_keys} keys for head_dim 64. "
            + ". ".join(
                f"{name[0].upper()}{name[1:]}, the largest weight is {w.max():.2f}"
                for name, w in self.weights.items()
            )
            + "."
        )

    def model(self) -> dict[str, Any]:
        return {"dims": HEAD_DIMS, "scores": rounded(self.scores, 3)}

    def still(self) -> Still:
        still = Still(640, 190)
        for i, (name, weights) in enumerate(self.weights.items()):
            names = [f"{j}" for j in range(len(weights))]
            title = f"head_dim 64, {name}"
            still.bars(15 + 320 * i, 10, 290, 170, weights.tolist(), names, title)
        return still
