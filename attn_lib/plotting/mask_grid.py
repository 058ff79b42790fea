"""Masks as grids: which query (row) may attend to which key (column)."""

import itertools
import math
from collections.abc import Mapping, Sequence

import matplotlib as mpl
from jaxtyping import Bool
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Patch, PathPatch, Rectangle
from matplotlib.path import Path
from torch import Tensor

from attn_lib.plotting.charts import COLORS
from attn_lib.plotting.picture import STYLE, Picture

CELL = 0.27  # inches


def mask_grid(
    masks: Mapping[str, Bool[Tensor, "l s"]],
    queries: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
    *,
    columns: int = 2,
) -> Picture:
    """Draw masks side by side: allowed cells filled, forbidden cells hatched.

    Args:
        masks: a title and a boolean (L, S) for each panel, True where the query may attend.
        queries: L labels for the rows of every panel; their numbers if None.
        keys: S labels; the queries' if None and the mask is square, else numbers.
        columns: how many panels stand beside each other.

    Raises:
        ValueError: there is no mask, a mask is not boolean (L, S), or the labels do not fit.
    """
    if not masks:
        raise ValueError("expected at least one mask, got none")
    for name, mask in masks.items():
        if str(mask.dtype) != "torch.bool" or mask.ndim != 2:
            raise ValueError(
                f"expected the mask {name!r} to be boolean (L, S), got {mask.dtype} "
                f"{tuple(mask.shape)}"
            )
    labels = {name: _labels(mask, queries, keys) for name, mask in masks.items()}
    with mpl.rc_context(STYLE):
        figure = _draw(masks, labels, columns)
    rows = [f"{name}: {_describe(mask, *labels[name])}" for name, mask in masks.items()]
    alt = f"Grids of who may attend (query) to whom (key). {' '.join(rows)}"
    return Picture(figure, alt, colors=12)


def _labels(mask: Tensor, queries, keys) -> tuple[list[str], list[str]]:
    rows, columns = mask.shape
    keys = queries if keys is None and rows == columns else keys
    queries = [str(i) for i in range(rows)] if queries is None else list(queries)
    keys = [str(j) for j in range(columns)] if keys is None else list(keys)
    if (len(queries), len(keys)) != (rows, columns):
        raise ValueError(
            f"expected a mask ({len(queries)}, {len(keys)}), one row for each query and one column "
            f"for each key, got {tuple(mask.shape)}"
        )
    return queries, keys


def _draw(masks, labels, columns) -> Figure:
    columns = min(columns, len(masks))
    lines = math.ceil(len(masks) / columns)
    sizes = list(masks.values())
    tallest = [max(len(m) for m in sizes[i * columns :][:columns]) for i in range(lines)]
    widest = max(mask.shape[1] for mask in sizes)
    letters = max(len(label) for pair in labels.values() for side in pair for label in side)
    around = 0.95 + 0.06 * letters  # inches for title and labels of one line of panels
    heights = [around + CELL * rows for rows in tallest]
    alike = len({(tuple(q), tuple(k)) for q, k in labels.values()}) == 1
    names = 0.5 + 0.07 * letters  # inches for the labels of the rows
    panel = max(CELL * widest, 0.085 * max(map(len, masks))) + 0.2 + (0 if alike else names)
    width = max(3.0, columns * panel + (names if alike else 0))
    if alike:  # only the last line of panels has labels below it
        heights = [0.4 + CELL * rows for rows in tallest]
        heights[-1] += around - 0.4
    layout = ConstrainedLayoutEngine(w_pad=0.06, h_pad=0.06)
    figure = Figure(figsize=(width, 0.4 + sum(heights)), layout=layout)
    all_axes = figure.subplots(
        lines, columns, squeeze=False, gridspec_kw={"height_ratios": tallest}
    ).flatten()
    for axes in all_axes[len(masks) :]:
        axes.axis("off")
    for number, (axes, (name, mask)) in enumerate(
        zip(all_axes, masks.items(), strict=False)
    ):
        _panel(axes, name, mask, *labels[name])
        if alike and number % columns:  # the labels of the first panel are enough
            axes.set(ylabel="", yticklabels=[])
        if alike and number + columns < len(masks):
            axes.set(xlabel="", xticklabels=[])
    figure.legend(
        [_cell(0, 0, True), _cell(0, 0, False)],
        ["may attend", "may not attend"],
        loc="outside lower center", frameon=False, ncols=2, fontsize=9,
    )  # fmt: skip
    return figure


def _panel(axes: Axes, name: str, mask: Tensor, queries, keys) -> None:
    rows, columns = mask.shape
    runs: dict[bool, list[Rectangle]] = {True: [], False: []}
    for i, row in enumerate(mask.tolist()):
        start = 0
        for allowed, run in itertools.groupby(row):
            length = len(list(run))
            runs[allowed].append(Rectangle((start, i), length, 1))
            start += length
    for allowed, cells in runs.items():
        if cells:
            axes.add_patch(_cells(cells, allowed))
    lines = [Path([(0, i), (columns, i)]) for i in range(1, rows)]
    lines += [Path([(j, 0), (j, rows)]) for j in range(1, columns)]
    if lines:
        grid = Path.make_compound_path(*lines)
        axes.add_patch(PathPatch(grid, fill=False, edgecolor="white", linewidth=1))
    axes.set(xlim=(0, columns), ylim=(rows, 0), aspect="equal")
    axes.set_title(name, fontsize=10)
    axes.set_xlabel("key (column)", fontsize=9)
    axes.set_ylabel("query (row)", fontsize=9)
    axes.set_xticks([j + 0.5 for j in range(columns)], keys, fontsize=8)
    axes.set_yticks([i + 0.5 for i in range(rows)], queries, fontsize=8)
    if max(map(len, keys)) > 2:
        axes.tick_params("x", rotation=45)
        for tick_label in axes.get_xticklabels():
            tick_label.set(horizontalalignment="right", rotation_mode="anchor")
    axes.tick_params(bottom=False, left=False, pad=3)
    axes.spines[:].set_visible(False)


def _cell(x: float, y: float, allowed: bool) -> Patch:
    return _cells([Rectangle((x, y), 1, 1)], allowed)


def _cells(cells: list[Rectangle], allowed: bool) -> Patch:
    """Return all cells as one shape: a file of a tenth of the size."""
    shapes = [cell.get_path().transformed(cell.get_patch_transform()) for cell in cells]
    shape = Path.make_compound_path(*shapes)
    if allowed:
        return PathPatch(shape, facecolor=COLORS[0], linewidth=0)
    return PathPatch(
        shape, facecolor="#dddddd", edgecolor="#8a8a8a", hatch="///", linewidth=0
    )


def _describe(mask: Tensor, queries: list[str], keys: list[str]) -> str:
    rows = [
        f"{query} to {', '.join(k for k, allowed in zip(keys, row, strict=True) if allowed) or 'none'}"
        for query, row in zip(queries, mask.tolist(), strict=True)
    ]
    return "; ".join(rows) + "."
