"""Queries and keys whose scores are a million from zero, and exact.

A fill that is not low enough shows there, a running maximum that begins too high, and one maximum for all rows, in
float64 too.
"""

from typing import Any

import torch
from torch import Tensor

FAR = "every score near -1,000,000"
# A sum of exponentials whose logarithm is added to such a maximum is rounded to a sixteenth, and is right.
ROUGHLY: dict[str, Any] = {"tolerance": 0.1}
APART = "scores near 1,000,000 in the first row, near -1,000,000 in the others"


def set_far(parameters: dict[str, Tensor]) -> None:
    """Change the parameters of attentions so that every score is the same, near -1,000,000."""
    for name, parameter in parameters.items():
        *_, layer, kind = name.split(".")
        if layer in ("q_proj", "k_proj"):
            far = 850.0 if layer == "q_proj" else -850.0
            parameter.fill_(far if kind == "bias" else 0.0)


def far_scores(
    rng: torch.Generator, B: int, H: int, L: int, S: int, kv_heads: int | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Draw q (B, H, L, 16), k and v (B, Hkv, S, 16) whose scores q·k/4 are near -1,048,576, and above 0 in row 0.

    They are quarters of whole numbers of at most 23 bits, so float32 holds every sum on the way to them, in
    any order, and with the root of the scale on both sides as well. A key of zeros has a score of 0.
    """

    def small(heads: int, length: int) -> Tensor:
        numbers = torch.zeros(B, heads, length, 16)
        few = torch.randint(-2, 3, (B, heads, length, 4), generator=rng)
        return numbers.index_copy(-1, torch.arange(4), few.float())

    q, k = small(H, L), small(kv_heads or H, S)
    q[..., -1], k[..., -1] = 2048.0, -2048.0
    q[..., 0, -1] = -2048.0
    return q, k, torch.randn(k.shape, generator=rng)
