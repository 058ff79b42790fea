"""Scene 8: attention of one query, block by block, without ever holding all weights."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attn_lib.explorer.scene import Scene, check_scores, expect, plain, rounded
from attn_lib.explorer.still import BLUE, Still

MOST_KEYS, WIDEST_VALUE = 24, 4


class OnlineSoftmax(Scene):
    """The running maximum, sum and output of one query, block after block of keys.

    Args:
        scores: (S,), scaled; -inf where the query may not attend. S at most 24.
        values: (S, Dv), finite; Dv at most 4.
        block_size: keys taken at a time, to begin with.

    Attributes:
        output: (Dv,), what all keys at once give; zeros if the query may attend to nothing.

    Raises:
        ValueError: the shapes do not fit, are too large, or there is a NaN.

    Source: Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018,
    arxiv.org/abs/1805.02867
    """

    script = "online_softmax"
    title = "Online softmax: how can blocks give the same answer as the whole row?"

    def __init__(
        self,
        scores: Float[Tensor, " s"],
        values: Float[Tensor, "s dv"],
        *,
        block_size: int = 3,
    ):
        expect(
            scores.ndim == 1 and values.ndim == 2 and len(scores) == len(values),
            "scores (S,) and values (S, Dv), one value for each key",
            f"{tuple(scores.shape)} and {tuple(values.shape)}",
        )
        S, Dv = values.shape
        expect(
            1 <= S <= MOST_KEYS and 1 <= Dv <= WIDEST_VALUE,
            f"1 to {MOST_KEYS} keys and Dv of 1 to {WIDEST_VALUE}",
            f"{S} and {Dv}",
        )
        expect(1 <= block_size <= S, f"a block_size of 1 to {S}", block_size)
        check_scores("scores", scores)
        expect(values.isfinite().all(), "finite values", values)
        self.scores, self.values, self.block_size = plain(scores), plain(values), block_size
        weights = self.scores.softmax(-1).nan_to_num(0.0)
        self.output = weights @ self.values
        listed = ", ".join(f"{s:.1f}" for s in self.scores.tolist())
        result = ", ".join(f"{o:.2f}" for o in self.output.tolist())
        self.alt = (
            f"Bars of the scores of {S} keys, in blocks of {block_size}: {listed}. "
            f"After the last block the output is {result}, as with all keys at once."
        )

    def model(self) -> dict[str, Any]:
        return {
            "scores": rounded(self.scores),
            "values": rounded(self.values),
            "block_size": self.block_size,
        }

    def steps(self) -> list[tuple[float, float, Tensor]]:
        """Return the running maximum, sum and unnormalized output after each block."""
        m, total = torch.tensor(-torch.inf).double(), torch.tensor(0.0).double()
        acc, steps = torch.zeros_like(self.output), []
        for start in range(0, len(self.scores), self.block_size):
            scores = self.scores[start : start + self.block_size]
            new = torch.maximum(m, scores.max())
            if new > -torch.inf:  # else -inf - -inf is NaN, and there is nothing to add
                p, factor = (scores - new).exp(), (m - new).exp()
                total = total * factor + p.sum()
                acc = acc * factor + p @ self.values[start : start + self.block_size]
            m = new
            steps.append((m.item(), total.item(), acc))
        return steps

    def still(self) -> Still:
        steps, S = self.steps(), len(self.scores)
        still = Still(560, 200 + 22 * len(steps))
        scores = self.scores.tolist()
        finite = [s for s in scores if s > -torch.inf]
        high, low = max([0.0, *finite]), min([0.0, *finite])
        unit, step = 96 / (high - low or 1), 540 / S
        still.text(10, 14, "scores", bold=True)
        still.line([(10, 30 + high * unit), (550, 30 + high * unit)])
        for j, score in enumerate(scores):
            x, shown = 10 + j * step, max(score, low)
            top, tall = 30 + (high - max(shown, 0.0)) * unit, abs(shown) * unit
            if score > -torch.inf:
                still.rect(x + 0.15 * step, top, 0.7 * step, tall, BLUE)
            name = f"{score:.1f}".replace("-inf", "−∞")
            still.text(x + step / 2, 142, name, anchor="middle", size=11)
        for block in range(1, len(steps)):
            x = 10 + block * self.block_size * step
            still.line([(x, 26), (x, 150)])
        columns = ("block", "m", "l", "output, acc / l")
        places = (10, 90, 170, 260)
        for x, name in zip(places, columns, strict=True):
            still.text(x, 176, name, bold=True)
        for n, (m, total, acc) in enumerate(steps):
            output = ", ".join(f"{o:.2f}" for o in (acc / (total or 1)).tolist())
            row = (f"{n + 1}", f"{m:.2f}", f"{total:.2f}", output)
            for x, words in zip(places, row, strict=True):
                still.text(x, 198 + 22 * n, words.replace("-inf", "−∞"))
        still.height = 214 + 22 * len(steps)
        return still
