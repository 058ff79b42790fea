"""Scene 2: paint a mask, and see what it does between the scores and the weights."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attn_lib.explorer.scene import Scene, check_scores, expect, plain, rounded
from attn_lib.explorer.still import MASKED, Still, label_width, score_color, weight_color
from attn_lib.masks import causal_mask, masked_softmax, padding_mask, sliding_window_mask
from attn_lib.plotting.labels import numbered

MOST_TOKENS = 8


class MaskPainter(Scene):
    """A learner's mask on given scores: cells, presets, and three ways to fill what is masked.

    Args:
        scores: (L, S), scaled, before any mask; L and S at most 8.
        queries: L labels.
        keys: S labels; the queries' if None.

    Raises:
        ValueError: the scores do not fit the labels, are too many, or hold NaN or inf.
    """

    script = "mask_painter"
    title = "Mask painter: what does a masked score do to the others?"

    def __init__(
        self,
        scores: Float[Tensor, "l s"],
        queries: Sequence[str],
        keys: Sequence[str] | None = None,
    ):
        keys = queries if keys is None else keys
        shape = (len(queries), len(keys))
        expect(
            scores.shape == shape,
            f"scores of shape {shape}, one row for each query and one column for each key",
            tuple(scores.shape),
        )
        fits = 0 < min(shape) <= max(shape) <= MOST_TOKENS
        expect(fits, f"1 to {MOST_TOKENS} queries and keys", shape)
        check_scores("scores", scores)
        expect(scores.isfinite().all(), "scores before any mask", "-inf among them")
        self.scores = plain(scores)
        self.queries, self.keys = numbered(queries), numbered(keys)
        self.weights = masked_softmax(self.scores, causal_mask(*shape))
        rows = "; ".join(
            f"{name}: " + " ".join(f"{w:.2f}" for w in row)
            for name, row in zip(self.queries, self.weights.tolist(), strict=True)
        )
        self.alt = (
            "Scores with everything that comes after the query masked, and the weights that "
            f"the softmax makes of the rest. Weights by query: {rows}."
        )

    def presets(self) -> dict[str, Tensor]:
        """Return the masks that one click paints, (L, S), True = may attend."""
        L, S = self.scores.shape
        everything = torch.ones(L, S, dtype=torch.bool)
        real = max(1, S - 1)
        padding = padding_mask(torch.tensor([real]), S)[0, 0] & everything
        causal = causal_mask(L, S)
        empty = causal.clone()
        empty[L // 2] = False
        return {
            "everything": everything,
            "causal": causal,
            "padding": padding,
            "causal and padding": causal & padding,
            "window of 2": sliding_window_mask(L, S, 2),
            "one empty row": empty,
        }

    def model(self) -> dict[str, Any]:
        return {
            "queries": self.queries,
            "keys": self.keys,
            "scores": rounded(self.scores),
            "presets": {name: mask.int().tolist() for name, mask in self.presets().items()},
        }

    def still(self) -> Still:
        L, S = self.scores.shape
        size = 36
        width = label_width(self.queries) + size * S
        still = Still(2 * width + 50, 40 + size * L + 0.71 * label_width(self.keys))
        allowed = causal_mask(L, S).tolist()
        shown = self.scores.tolist()
        largest = self.scores.abs().max().item()
        rows, weights = range(L), self.weights.tolist()

        def cells(draw, masked):
            return [
                [draw(i, j) if allowed[i][j] else masked for j in range(S)] for i in rows
            ]

        masked = cells(lambda i, j: score_color(shown[i][j], largest), MASKED)
        numbers = cells(lambda i, j: f"{shown[i][j]:.1f}", "−∞")
        fills = cells(lambda i, j: weight_color(weights[i][j]), MASKED)
        words = cells(lambda i, j: f"{weights[i][j]:.2f}".removeprefix("0"), "")
        names = (self.queries, self.keys)
        still.heat_map(0, 6, size, "masked scores", *names, masked, numbers)
        still.heat_map(width + 40, 6, size, "weights", *names, fills, words)
        return still
