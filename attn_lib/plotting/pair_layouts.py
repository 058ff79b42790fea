"""Which two channels turn together: the same pairs laid out in two ways."""

from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Arc, Rectangle

from attn_lib.plotting.charts import COLORS
from attn_lib.plotting.picture import STYLE, Picture

# Pale, so that black text can be read on them; the number of the pair stands in each cell.
PALE = ("#cfe0f2", "#fbdcc2", "#cdeadf", "#e6d3ee")


def pair_layouts(head_dim: int = 8) -> Picture:
    """Draw the channels of a head twice, and an arc over each pair that RoPE turns.

    Above, the pairs are half-split, (c, c + D/2), as in Llama's checkpoints for transformers; below
    they are interleaved, (2c, 2c + 1), as in Meta's own.

    Args:
        head_dim: D, an even number up to 8.

    Raises:
        ValueError: head_dim is odd or leaves 2 to 8.
    """
    if head_dim % 2 or not 2 <= head_dim <= 2 * len(PALE):
        raise ValueError(
            f"expected an even head_dim from 2 to {2 * len(PALE)}, got {head_dim}"
        )
    half = head_dim // 2
    layouts = {
        "half-split": [(c, c + half) for c in range(half)],
        "interleaved": [(2 * c, 2 * c + 1) for c in range(half)],
    }
    with mpl.rc_context(STYLE):
        bottom, top = -3.0, 1.4 + 0.25 * half
        size = (0.42 * (head_dim + 3), 0.42 * (top - bottom + 0.6))
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots()
        for y, (name, pairs) in zip((0, bottom + 0.6), layouts.items(), strict=True):
            axes.text(-0.3, y + 0.5, name, ha="right", va="center")
            for number, pair in enumerate(pairs):
                _draw_pair(axes, number, pair, y)
        axes.set(xlim=(-2.8, head_dim + 0.1), ylim=(bottom, top))
        axes.set_aspect("equal")
        axes.axis("off")
    read = ". ".join(
        f"{name}: "
        + ", ".join(f"pair {n} is {a} and {b}" for n, (a, b) in enumerate(pairs))
        for name, pairs in layouts.items()
    )
    return Picture(figure, f"{head_dim} channels in two layouts. {read}.")


def _draw_pair(axes: Axes, number: int, pair: tuple[int, int], y: float) -> None:
    reach, middle = pair[1] - pair[0], sum(pair) / 2 + 0.5
    for channel in pair:
        cell = Rectangle((channel, y), 1, 1, fc=PALE[number], ec="#555555", lw=0.8)
        axes.add_patch(cell)
        axes.text(channel + 0.5, y + 0.5, str(channel), ha="center", va="center")
    arc: dict[str, Any] = {"theta1": 0, "theta2": 180, "color": COLORS[number], "lw": 1.8}
    axes.add_patch(Arc((middle, y + 1), reach, 0.5 + 0.5 * reach, **arc))
    # Arcs of pairs that lie apart cross: there the name stands below the first cell.
    below = middle if reach == 1 else pair[0] + 0.5
    style: dict[str, Any] = {
        "ha": "center",
        "va": "top",
        "fontsize": 8,
        "color": COLORS[number],
    }
    axes.text(below, y - 0.1, f"pair {number}", **style)
