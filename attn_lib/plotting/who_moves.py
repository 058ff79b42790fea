"""Change one word: which outputs move? A batch of sentences, one grid for each part of a model."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from attn_lib.plotting.charts import COLORS
from attn_lib.plotting.picture import STYLE, Picture

MOVED, STILL = "#fbdcc2", "white"
CELL = (0.6, 0.3)  # inches


def who_moves(
    sentences: Sequence[Sequence[str]],
    moves: Mapping[str, Float[Tensor, "b l"]],
    changed: tuple[int, int],
    *,
    tolerance: float = 1e-5,
) -> Picture:
    """Draw the words of a batch once for each part; filled where the output moved.

    Args:
        sentences: B sentences of L words each.
        moves: for each part, how far each output moved when one word was changed, (B, L).
        changed: which word that was: its sentence and its place. It gets a thick frame.
        tolerance: a smaller move is one of rounding.

    Raises:
        ValueError: there is no part, or its moves do not fit the sentences.
    """
    shape = (len(sentences), len(sentences[0]))
    if not moves:
        raise ValueError("expected at least one part, got none")
    for name, how_far in moves.items():
        if tuple(how_far.shape) != shape:
            raise ValueError(f"{name}: expected moves {shape}, got {tuple(how_far.shape)}")
    moved = {name: (how_far > tolerance).tolist() for name, how_far in moves.items()}
    with mpl.rc_context(STYLE):
        size = (len(moves) * (0.25 + CELL[0] * shape[1]), 0.75 + CELL[1] * shape[0])
        figure = Figure(figsize=size, layout="constrained")
        for axes, (name, grid) in zip(
            figure.subplots(1, len(moves), squeeze=False)[0], moved.items(), strict=True
        ):
            _panel(axes, name, sentences, grid, changed)
        frame: dict[str, Any] = {
            "facecolor": STILL,
            "edgecolor": COLORS[0],
            "linewidth": 2.2,
        }
        figure.legend(
            [Rectangle((0, 0), 1, 1, **frame), _cell(0, 0, True), _cell(0, 0, False)],
            ["word changed", "output moved", "output as before"],
            loc="outside lower center", frameon=False, ncols=3, fontsize=9,
        )  # fmt: skip
    word = sentences[changed[0]][changed[1]]
    parts = [f"{name}: {_describe(sentences, grid)}." for name, grid in moved.items()]
    where = f"{word!r} in sentence {changed[0] + 1}"
    return Picture(
        figure, f"Whose output moves when {where} changes. {' '.join(parts)}", colors=16
    )


def _panel(axes: Axes, name: str, sentences, grid, changed: tuple[int, int]) -> None:
    for i, (words, row) in enumerate(zip(sentences, grid, strict=True)):
        for j, (word, is_moved) in enumerate(zip(words, row, strict=True)):
            axes.add_patch(_cell(i, j, is_moved))
            weight = "bold" if is_moved else "normal"
            axes.text(
                j + 0.5, i + 0.5, word, ha="center", va="center", fontsize=8, weight=weight
            )
    i, j = changed
    axes.add_patch(
        Rectangle((j + 0.03, i + 0.03), 0.94, 0.94, fill=False, ec=COLORS[0], lw=2.2)
    )
    axes.set(xlim=(-0.02, len(grid[0]) + 0.02), ylim=(len(grid) + 0.02, -0.02))
    axes.set_title(name, fontsize=10)
    axes.axis("off")


def _cell(i: int, j: int, is_moved: bool) -> Rectangle:
    return Rectangle(
        (j, i), 1, 1, facecolor=MOVED if is_moved else STILL, edgecolor="#8a8a8a", lw=0.6
    )


def _describe(sentences, grid: list[list[bool]]) -> str:
    everywhere = all(all(row) for row in grid)
    if everywhere:
        return "every word of every sentence"
    found = []
    for number, (words, row) in enumerate(zip(sentences, grid, strict=True), 1):
        moved = [word for word, is_moved in zip(words, row, strict=True) if is_moved]
        if moved:
            found.append(f"{', '.join(moved)} in sentence {number}")
    return "; ".join(found) or "none"
