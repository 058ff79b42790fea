"""Scene 3: one number of an einsum, computed term by term."""

import re
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attn_lib.explorer.scene import Scene, check_scores, expect, plain, rounded
from attn_lib.explorer.still import BLUE, ORANGE, PALE_BLUE, PALE_ORANGE, PANEL, SOFT, Still

MOST_CELLS = 64  # of one tensor
EQUATION = re.compile(r"([a-z]+),([a-z]+)->([a-z]+)")


class EinsumTracer(Scene):
    """An einsum of two small tensors: the letters that stay, those that are summed, and each term.

    Args:
        equation: such as "bhld,bhsd->bhls": two operands, no letter twice in one of them, one letter
            or more summed.
        a, b: the operands, at most 64 numbers each, as their result.
        names: what to call the operands and the result.

    Attributes:
        result: `torch.einsum(equation, a, b)`.

    Raises:
        ValueError: the equation is of another form, the shapes do not fit, or a tensor is too large.
    """

    script = "einsum_tracer"

    def __init__(
        self,
        equation: str,
        a: Float[Tensor, "..."],
        b: Float[Tensor, "..."],
        *,
        names: tuple[str, str, str] = ("q", "k", "scores"),
    ):
        left, right, out = _letters(equation)
        sizes: dict[str, int] = {}
        for letters, tensor in ((left, a), (right, b)):
            fits = len(letters) == tensor.ndim and all(
                sizes.setdefault(letter, size) == size
                for letter, size in zip(letters, tensor.shape, strict=False)
            )
            shapes = f"{tuple(a.shape)} and {tuple(b.shape)}"
            expect(fits, f"operands that fit {equation}", shapes)
        for name, tensor in zip(names, (a, b), strict=False):
            check_scores(name, tensor)
        self.equation, self.names, self.sizes = equation, names, sizes
        self.operands = (plain(a), plain(b))
        self.result = torch.einsum(equation, *self.operands)
        for name, tensor in zip(names, (*self.operands, self.result), strict=True):
            expect(
                0 < tensor.numel() <= MOST_CELLS and tensor.isfinite().all(),
                f"{name} of 1 to {MOST_CELLS} finite numbers",
                f"shape {tuple(tensor.shape)}",
            )
        self.summed = [letter for letter in sizes if letter not in out]
        self.title = f"Einsum tracer: where does one number of {equation} come from?"
        stays = ", ".join(f"{letter} = {sizes[letter]}" for letter in out)
        sums = ", ".join(f"{letter} = {sizes[letter]}" for letter in self.summed)
        first = self.result.flatten()[0].item()
        self.alt = (
            f"The letters {stays} stay; {sums} is summed. The first number of {names[2]} is "
            f"{first:g}: a row of {names[0]} times a row of {names[1]}, added up."
        )

    def model(self) -> dict[str, Any]:
        left, right, out = _letters(self.equation)
        tensors = zip(
            (left, right, out), (*self.operands, self.result), self.names, strict=True
        )
        return {
            "equation": self.equation,
            "sizes": self.sizes,
            "summed": self.summed,
            "tensors": [
                {"name": n, "letters": letters, "values": rounded(t.flatten())}
                for letters, t, n in tensors
            ],
        }

    def still(self) -> Still:
        still, x = Still(640, 240), 12.0
        left, right, out = _letters(self.equation)
        for letters, tensor, name in zip(
            (left, right, out), (*self.operands, self.result), self.names, strict=True
        ):
            shape = tensor.shape if tensor.ndim > 1 else (1, *tensor.shape)
            rows, columns = shape[-2:]
            axes = f" {' '.join(letters[-2:])}"
            still.text(x, 60, name + axes, bold=True)
            grid = tensor.flatten()[: rows * columns].view(rows, columns).tolist()
            # The cells that belong to the first number of the result.
            color = PALE_BLUE if name == self.names[2] else PALE_ORANGE
            row = slice(1) if len(letters) > 1 and letters[-2] in out else slice(rows)
            column = slice(1) if letters[-1] in out else slice(columns)
            fills = [[PANEL] * columns for _ in range(rows)]
            for line in fills[row]:
                line[column] = [color] * len(line[column])
            words = [[f"{value:.3g}" for value in row] for row in grid]
            still.grid(x, 74, 32, fills, words)
            x += max(32 * columns, 60) + 30
        for y, color, label, letters in (
            (14, BLUE, "stay: ", out),
            (34, ORANGE, "summed: ", "".join(self.summed)),
        ):
            listed = ", ".join(f"{letter} = {self.sizes[letter]}" for letter in letters)
            still.text(12, y, label + listed, color=color, bold=True)
        total = self.result.flatten()[0].item()
        note = f"{self.names[2]}[{', '.join('0' for _ in out)}] = {total:g}, the sum of the products"
        still.text(12, 224, note, color=SOFT)
        still.width = max(x, 420)
        return still


def _letters(equation: str) -> tuple[str, str, str]:
    match = EQUATION.fullmatch(equation.replace(" ", ""))
    left, right, out = parts = match.groups() if match else ("", "", "")
    once = all(len(set(part)) == len(part) for part in parts)
    expect(
        once and set(out) < set(left) | set(right),
        'an equation such as "ld,sd->ls": two operands, no letter twice in one part, at least one '
        "summed letter",
        repr(equation),
    )
    return left, right, out
