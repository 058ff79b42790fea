"""Scene 6: every head of every layer, one large; one query locked and read."""

import base64
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attn_lib.explorer.scene import Scene, expect, plain
from attn_lib.explorer.still import MASKED, Still, label_width, share, weight_color
from attn_lib.plotting.labels import numbered

MOST_TOKENS = 48
MOST_WEIGHTS = 150_000  # each costs 1.4 bytes of the page; in a notebook, 48,000 are a lot
LARGEST_WITH_VALUES = 12
STEPS = 40  # of color in the still picture


class HeadLens(Scene):
    """The attention weights of a model, of one layer or several; L need not equal S.

    The live scene holds the weights in steps of 1/255 that are right to the hundredth.

    Args:
        weights: (H, L, S) or (layers, H, L, S), between 0 and 1; of one sample, without a batch
            axis. At most 48 queries and keys, and 150,000 weights in all.
        queries: L labels.
        keys: S labels; the queries' if None.
        mask: (L, S), True where the query may attend; the rest is hatched.
        layers: what to call the layers; 0, 1, ... if None.
        start: the layer, the head and the query that are shown first, counted from 0.

    Raises:
        ValueError: a shape does not fit, there are too many, or a weight is not between 0 and 1.
    """

    script = "head_lens"
    title = "Head lens: what does each head look at?"

    def __init__(
        self,
        weights: Float[Tensor, "*layers h l s"],
        queries: Sequence[str],
        keys: Sequence[str] | None = None,
        *,
        mask: Bool[Tensor, "l s"] | None = None,
        layers: Sequence[object] | None = None,
        start: tuple[int, int, int] = (0, 0, 0),
    ):
        keys = queries if keys is None else keys
        L, S = len(queries), len(keys)
        expect(
            weights.ndim in (3, 4) and weights.shape[-2:] == (L, S),
            f"weights of shape (H, {L}, {S}) or (layers, H, {L}, {S}), one row for each query and "
            "one column for each key",
            tuple(weights.shape),
        )
        expect(
            1 <= min(L, S) <= max(L, S) <= MOST_TOKENS,
            f"1 to {MOST_TOKENS} queries and keys",
            f"{L} and {S}: show a part, such as weights[..., :{MOST_TOKENS}, :{MOST_TOKENS}]",
        )
        expect(
            0 < weights.numel() <= MOST_WEIGHTS,
            f"at most {MOST_WEIGHTS} weights",
            f"{weights.numel()}: show fewer layers or heads",
        )
        if mask is not None:
            fits = mask.shape == (L, S) and mask.dtype == torch.bool
            got = f"{mask.dtype} of shape {tuple(mask.shape)}"
            expect(fits, f"a boolean mask of shape ({L}, {S})", got)
        values = plain(weights)
        expect(
            ((values >= -1e-6) & (values <= 1 + 1e-6)).all(),
            "weights between 0 and 1 (after the softmax)",
            f"{values.min().item():.3g} to {values.max().item():.3g}",
        )
        self.weights = values.view(-1, *values.shape[-3:]).clamp(0, 1)
        self.layers = [str(name) for name in layers or range(len(self.weights))]
        fits = len(self.layers) == len(self.weights)
        expect(fits, f"{len(self.weights)} names of layers", len(self.layers))
        sizes = (*self.weights.shape[:2], L)
        fits = all(0 <= i < size for i, size in zip(start, sizes, strict=True))
        expect(fits, f"a start below {sizes} (layers, H, L)", start)
        self.start = start
        self.queries, self.keys = numbered(queries), numbered(keys)
        self.mask = None if mask is None else mask.cpu()
        self.views: dict[str, HeadLens] = {"": self}

    @classmethod
    def together(cls, views: Mapping[str, "HeadLens"]) -> "HeadLens":
        """Join several into one figure with a choice between them, such as self and cross.

        Raises:
            ValueError: there is none, or they hold more than 150,000 weights together.
        """
        total = sum(lens.weights.numel() for lens in views.values())
        expect(
            len(views) > 0 and total <= MOST_WEIGHTS,
            f"at least one view, and at most {MOST_WEIGHTS} weights in all",
            f"{len(views)} with {total}",
        )
        lens = copy(next(iter(views.values())))
        lens.views = dict(views)
        return lens

    @property
    def alt(self) -> str:  # type: ignore[override]
        layer, head, _ = self.start
        weights = self.weights[layer, head]
        best = weights.argmax(-1).tolist()
        rows = ", ".join(
            f"{query} to {self.keys[j]} ({weights[i, j]:.2f})"
            for i, (query, j) in enumerate(zip(self.queries, best, strict=True))
        )
        return f"Heat map of {self._named()}. The largest weight of each query: {rows}."

    def _named(self) -> str:
        layer, head, _ = self.start
        several = len(self.layers) > 1
        return f"layer {self.layers[layer]}, head {head}" if several else f"head {head}"

    def model(self) -> dict[str, Any]:
        return {
            "start": self.start,
            "views": [
                {
                    "name": name,
                    "queries": lens.queries,
                    "keys": lens.keys,
                    "layers": lens.layers,
                    "heads": lens.weights.shape[1],
                    "mask": None if lens.mask is None else lens.mask.int().tolist(),
                    "weights": _packed(lens.weights),
                }
                for name, lens in self.views.items()
            ],
        }

    def still(self) -> Still:
        layer, head, _ = self.start
        weights, (L, S) = self.weights[layer, head].tolist(), self.weights.shape[-2:]
        size = 34 if max(L, S) <= LARGEST_WITH_VALUES else max(9, min(22, 560 // S))
        height = 40 + size * L + 0.71 * label_width(self.keys)
        still = Still(label_width(self.queries) + size * S + 40, height)
        # In steps: the picture is shorter with fewer colors, and looks the same.
        fills = [[weight_color(round(w * STEPS) / STEPS) for w in row] for row in weights]
        if self.mask is not None:
            for i, j in (~self.mask).nonzero().tolist():
                fills[i][j] = MASKED
        words = [[share(w) for w in row] for row in weights]
        few = words if max(L, S) <= LARGEST_WITH_VALUES else None
        still.heat_map(0, 6, size, self._named(), self.queries, self.keys, fills, few)
        return still


def _packed(weights: Tensor) -> str:
    """Return weights as bytes, 255 for 1, in base64: the nearest that has the right hundredths."""
    hundredths = (weights * 100).round()
    steps = (weights * 255).round()
    steps = steps.clamp(
        min=(2.55 * (hundredths - 0.5)).ceil(), max=(2.55 * (hundredths + 0.5)).floor()
    )
    return base64.b64encode(bytes(steps.int().flatten().tolist())).decode()
