"""Where each cell of a tensor goes: colored by token, labeled by token and channel."""

from collections.abc import Sequence

import matplotlib as mpl
from jaxtyping import Int
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from attn_lib.plotting.charts import COLORS
from attn_lib.plotting.picture import STYLE, Picture

# Pale, so that black text can be read on them. The first letter tells tokens apart without color.
PALE = ("#cfe0f2", "#fbdcc2", "#cdeadf", "#e6d3ee")
CELL = 0.42  # inches


def cells(
    ids: Int[Tensor, "*h l w"],
    tokens: Sequence[str],
    *,
    num_heads: int = 1,
    title: str = "",
) -> Picture:
    """Draw a tensor of cell numbers, made by `torch.arange`: cell `token * E + channel`.

    Each cell is written as its token's first letter and its channel, such as t5.

    Args:
        ids: (L, E), drawn as one grid, or (H, L, D), drawn as one grid for each head.
        tokens: L words with different first letters.
        num_heads: where the channels of one grid belong to several heads, mark them.
        title: above the grids.

    Raises:
        ValueError: there are not exactly L tokens, two begin alike or there are more than four, or
            num_heads does not divide the columns.
    """
    _check(ids, tokens, num_heads)
    width = ids.numel() // len(tokens)  # E
    grids = ids[None] if ids.ndim == 2 else ids
    count, rows, columns = grids.shape
    height = CELL * rows + 1.0
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(1.0 + count * (CELL * columns + 0.5), height))
        figure.suptitle(title, y=1 - 0.08 / height, va="top", fontsize=11)
        for number, grid in enumerate(grids.tolist()):
            left = 0.9 + number * (CELL * columns + 0.5)
            width_in, height_in = figure.get_size_inches()
            box = (left / width_in, 0.3 / height_in)
            size = (CELL * columns / width_in, CELL * rows / height_in)
            axes = figure.add_axes((*box, *size))
            _draw_grid(axes, grid, tokens, width)
            axes.set_yticks([i + 0.5 for i in range(rows)], tokens if number == 0 else [])
            names = [f"head {number}"] if ids.ndim == 3 else _names(num_heads)
            _mark_heads(axes, names, rows, columns)
    read = "; ".join(
        f"{'head ' + str(h) + ', ' if ids.ndim == 3 else ''}row {tokens[i]}: "
        + " ".join(_label(cell, tokens, width) for cell in row)
        for h, grid in enumerate(grids.tolist())
        for i, row in enumerate(grid)
    )
    return Picture(figure, f"{title + '. ' if title else ''}Cells, {read}.")


def _check(ids: Tensor, tokens: Sequence[str], num_heads: int) -> None:
    if ids.ndim not in (2, 3) or ids.shape[-2] != len(tokens):
        raise ValueError(
            f"expected ids of shape (L, E) or (H, L, D) with L = {len(tokens)} tokens, "
            f"got {tuple(ids.shape)}"
        )
    if len({token[0] for token in tokens}) < len(tokens) or len(tokens) > len(PALE):
        raise ValueError(
            f"expected at most {len(PALE)} tokens with different first letters, got {tokens}"
        )
    if ids.shape[-1] % num_heads:
        raise ValueError(
            f"expected num_heads to divide the {ids.shape[-1]} columns, got {num_heads}"
        )


def _names(num_heads: int) -> list[str]:
    return [f"head {i}" for i in range(num_heads)] if num_heads > 1 else []


def _label(cell: int, tokens: Sequence[str], width: int) -> str:
    return f"{tokens[cell // width][0]}{cell % width}"


def _draw_grid(axes, grid: list[list[int]], tokens: Sequence[str], width: int) -> None:
    rows, columns = len(grid), len(grid[0])
    colors = [[cell // width for cell in row] for row in grid]
    palette = ListedColormap(PALE)
    axes.imshow(
        colors,
        palette,
        vmin=0,
        vmax=len(PALE) - 1,
        extent=(0, columns, rows, 0),
        interpolation="none",
    )
    for i, row in enumerate(grid):
        for j, cell in enumerate(row):
            label = _label(cell, tokens, width)
            axes.text(j + 0.5, i + 0.5, label, ha="center", va="center")
    _rule(axes, rows, columns)
    axes.set(xlim=(0, columns), ylim=(rows, 0), xticks=[])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _rule(axes, rows: int, columns: int) -> None:
    """Draw the lines between the cells as one path: that keeps the file small."""
    nan = float("nan")
    upright = [(x, y) for x in range(1, columns) for y in (0, rows, nan)]
    level = [(x, y) for y in range(1, rows) for x in (0, columns, nan)]
    xs, ys = zip(*upright, *level, strict=True)
    axes.plot(xs, ys, color="#555555", lw=0.7)


def _mark_heads(axes, names: list[str], rows: int, columns: int) -> None:
    """Frame the columns of each head, and write its name above."""
    for number, name in enumerate(names):
        each = columns / len(names)
        frame = Rectangle((number * each, 0), each, rows, fill=False, ec=COLORS[0], lw=2.5)
        frame.set_clip_on(False)
        axes.add_patch(frame)
        middle = (number + 0.5) * each
        axes.text(middle, -0.2, name, ha="center", va="bottom", color=COLORS[0])
