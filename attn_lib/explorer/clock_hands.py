"""Scene 9: rotary positions as clock hands: the score sees the difference of positions alone."""

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attn_lib.explorer.scene import Scene, expect, plain, rounded
from attn_lib.explorer.still import BLUE, LINE, ORANGE, SOFT, Still
from attn_lib.positions import apply_rope

WIDEST_HEAD, MOST_POSITIONS, FURTHER = 8, 32, 1000
# Pairs (c, c + 4) of length 1 or 1.3, whose query and key do not point the same way.
QUERY = torch.tensor([0.8, 1.2, 0.6, 1.0, 0.6, 0.5, -0.8, 0.0])
KEY = torch.tensor([1.0, 0.6, 1.2, 0.8, 0.0, 0.8, -0.5, 0.6])


class ClockHands(Scene):
    """One query and one key under RoPE: each pair of channels is a hand that turns with the position.

    Args:
        q, k: (D,), D even and at most 8: the query and the key before they are turned.
        base: the larger, the slower the last pairs turn.
        query_position, key_position: 0 to 31, to begin with.
        pair: c, of the channels c and c + D/2, to begin with.

    Raises:
        ValueError: the shapes do not fit, are too large, or a number lies outside its range.

    Source: Su et al., "RoFormer", 2021, section 3.2, arxiv.org/abs/2104.09864
    """

    script = "clock_hands"
    title = "RoPE as clock hands: what does the score see of two positions?"

    def __init__(
        self,
        q: Float[Tensor, " d"] = QUERY,
        k: Float[Tensor, " d"] = KEY,
        *,
        base: float = 10000.0,
        query_position: int = 3,
        key_position: int = 1,
        pair: int = 0,
    ):
        expect(
            q.ndim == 1 and q.shape == k.shape and len(q) in range(2, WIDEST_HEAD + 1, 2),
            f"q and k of the same shape (D,), D even and 2 to {WIDEST_HEAD}",
            f"{tuple(q.shape)} and {tuple(k.shape)}",
        )
        finite = q.isfinite().all() and k.isfinite().all()
        expect(finite, "finite numbers in q and k", f"{q} and {k}")
        expect(1 <= base < math.inf, "a base of at least 1", base)
        positions = (query_position, key_position)
        inside = all(p in range(MOST_POSITIONS) for p in positions)
        expect(inside, f"positions of 0 to {MOST_POSITIONS - 1}", positions)
        expect(pair in range(len(q) // 2), f"a pair of 0 to {len(q) // 2 - 1}", pair)
        self.q, self.k = plain(q), plain(k)
        self.base, self.positions, self.pair = base, positions, pair
        self.degrees = math.degrees(base ** (-2 * pair / len(q)))  # of the pair, a position
        near, far = (self._words(further) for further in (0, FURTHER))
        self.alt = (
            f"Two clock hands: pair {pair} of a query and of a key under RoPE, which turns by "
            f"{self.degrees:.3g}° with each position. {near} {far}"
        )

    def hands(
        self, query_position: int, key_position: int
    ) -> tuple[Float[Tensor, "half two"], Float[Tensor, "half two"]]:
        """Return each pair of the turned query and of the turned key, as a point (x, y)."""
        q, k = (
            apply_rope(x[None, None, None], torch.tensor([position]), self.base)
            for x, position in ((self.q, query_position), (self.k, key_position))
        )
        return q.view(2, -1).T, k.view(2, -1).T

    def scores(self, query_position: int, key_position: int) -> Float[Tensor, " half"]:
        """Return what each pair adds to q · k, before any division."""
        q, k = self.hands(query_position, key_position)
        return (q * k).sum(-1)

    def model(self) -> dict[str, Any]:
        return {
            "q": rounded(self.q),
            "k": rounded(self.k),
            "base": self.base,
            "positions": self.positions,
            "pair": self.pair,
        }

    def _facts(self, further: int) -> tuple[int, int, float, float, float]:
        """Return positions, angle, score of the pair and of all, with both positions moved."""
        query, key = (p + further for p in self.positions)
        q, k = (torch.view_as_complex(x.contiguous()) for x in self.hands(query, key))
        scores = self.scores(query, key)
        angle = (q * k.conj()).angle().rad2deg()[self.pair].item()
        angle += 360 * (angle < -180 + 1e-6)  # -180 and 180 differ by rounding alone
        return query, key, angle, scores[self.pair].item(), scores.sum().item()

    def _words(self, further: int) -> str:
        query, key, angle, score, total = self._facts(further)
        pairs = len(self.q) // 2
        return (
            f"Query at {query:,}, key at {key:,}: the angle between them is {angle:z.1f}°, its score "
            f"{score:z.2f}{f'; all {pairs} pairs give q · k = {total:z.2f}' if pairs > 1 else ''}."
        )

    def still(self) -> Still:
        still = Still(560, 296)
        for x, further in ((140, 0), (420, FURTHER)):
            query, key, angle, score, total = self._facts(further)
            pairs = f"all {len(self.q) // 2} pairs"
            lines = (
                f"angle from k to q: {angle:z.1f}°",
                f"score of pair {self.pair}: {score:z.2f}",
                f"{pairs}: q · k = {total:z.2f}",
            )
            where = f"query at {query:,}, key at {key:,}"
            still.text(x, 14, where, anchor="middle", bold=True)
            self._dial(still, x, 116, query, key)
            still.text(x, 212, "thin: at position 0", anchor="middle", color=SOFT, size=11)
            for n, words in enumerate(lines):
                still.text(x, 236 + 22 * n, words.replace("-", "−"), anchor="middle")
        return still

    def _dial(self, still: Still, x: float, y: float, query: int, key: int) -> None:
        """Draw the hands of the pair, turned and, thin, as they stand at position 0."""
        radius, steps = 82, [math.pi * n / 24 for n in range(49)]
        rim = [(x + radius * math.cos(a), y - radius * math.sin(a)) for a in steps]
        still.line(rim, LINE, 1.5)
        start, now = self.hands(0, 0), self.hands(query, key)
        unit = radius / max(*(hands.norm(dim=-1).max().item() for hands in start), 1e-9)
        for n, (name, color) in enumerate((("q", BLUE), ("k", ORANGE))):
            for hands, width in ((start, 1), (now, 3)):
                right, up = (hands[n][self.pair] * unit).tolist()
                still.line([(x, y), (x + right, y - up)], color, width)
            beyond = 1 + 11 / (math.hypot(right, up) or 1)
            place = (x + right * beyond, y - up * beyond)
            still.text(*place, name, anchor="middle", color=color, bold=True)
