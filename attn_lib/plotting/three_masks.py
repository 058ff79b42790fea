"""The three masks of an encoder-decoder in one figure."""

from collections.abc import Sequence

import matplotlib as mpl
from jaxtyping import Bool
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from torch import Tensor

from attn_lib.plotting.charts import COLORS
from attn_lib.plotting.picture import STYLE, Picture

CELL = 0.27  # inches


def three_masks(
    masks: tuple[Bool[Tensor, "..."], Bool[Tensor, "..."], Bool[Tensor, "..."]],
    source: Sequence[str],
    target: Sequence[str],
) -> Picture:
    """Draw what `encoder_decoder_masks` returns for one pair, each mask with its own labels.

    Args:
        masks: the encoder's, the decoder's and the cross mask of one pair (B = 1), each
            broadcastable to (1, 1, queries, keys).
        source: S labels of the input.
        target: L labels of the output.

    Raises:
        ValueError: a mask does not fit the labels.
    """
    panels = {
        "1. encoder: input on input": (source, source),
        "2. decoder: output on output": (target, target),
        "3. cross: output on input": (target, source),
    }
    if len(masks) != len(panels):
        raise ValueError(f"expected three masks, got {len(masks)}")
    grids = [_grid(*each) for each in zip(masks, panels.items(), strict=True)]
    with mpl.rc_context(STYLE):
        width = sum(1.2 + CELL * len(keys) for _, keys in panels.values())
        height = 1.7 + CELL * max(len(source), len(target))
        figure = Figure(figsize=(width, height), layout="constrained")
        widths = [len(keys) for _, keys in panels.values()]
        all_axes = figure.subplots(1, len(panels), width_ratios=widths)
        for axes, grid, (name, labels) in zip(all_axes, grids, panels.items(), strict=True):
            _panel(axes, name, grid, *labels)
        figure.legend(
            [_cells([(0, 0)], True), _cells([(0, 0)], False)],
            ["may attend", "may not attend"],
            loc="outside lower center", frameon=False, ncols=2, fontsize=9,
        )  # fmt: skip
    rows = [
        f"{name}: {_describe(grid, *labels)}"
        for grid, (name, labels) in zip(grids, panels.items(), strict=True)
    ]
    return Picture(
        figure, f"Grids of who may attend (query) to whom (key). {' '.join(rows)}"
    )


def _grid(mask: Tensor, panel: tuple[str, tuple[Sequence[str], Sequence[str]]]) -> Tensor:
    """Return the mask as (queries, keys), or say what is wrong with it."""
    name, (queries, keys) = panel
    shape = (1, 1, len(queries), len(keys))
    fits = mask.ndim == len(shape) and all(
        m in (1, s) for m, s in zip(mask.shape, shape, strict=True)
    )
    if not fits or str(mask.dtype) != "torch.bool":
        raise ValueError(
            f"expected the mask of {name!r} to be boolean and broadcastable to {shape}, "
            f"got {mask.dtype} {tuple(mask.shape)}"
        )
    return mask.expand(shape)[0, 0]


def _panel(axes: Axes, name: str, grid: Tensor, queries, keys) -> None:
    for allowed in (True, False):
        corners = (grid == allowed).nonzero().tolist()
        if corners:
            axes.add_patch(_cells([(j, i) for i, j in corners], allowed))
    axes.set(xlim=(0, len(keys)), ylim=(len(queries), 0), aspect="equal", anchor="N")
    axes.set_title(name, fontsize=10)
    axes.set_xlabel("key (column)", fontsize=9)
    axes.set_ylabel("query (row)", fontsize=9)
    axes.set_xticks(
        [j + 0.5 for j in range(len(keys))], keys,
        fontsize=8, rotation=45, ha="right", rotation_mode="anchor",
    )  # fmt: skip
    axes.set_yticks([i + 0.5 for i in range(len(queries))], queries, fontsize=8)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _cells(corners: Sequence[tuple[float, float]], allowed: bool) -> PathPatch:
    """Return all cells as one shape, which keeps the file small."""
    gap = 0.03
    square = [(gap, gap), (1 - gap, gap), (1 - gap, 1 - gap), (gap, 1 - gap), (gap, gap)]
    shapes = [Path([(x + dx, y + dy) for dx, dy in square]) for x, y in corners]
    shape = Path.make_compound_path(*shapes)
    if allowed:
        return PathPatch(shape, facecolor=COLORS[0], linewidth=0)
    return PathPatch(
        shape, facecolor="#dddddd", edgecolor="#8a8a8a", hatch="///", linewidth=0
    )


def _describe(grid: Tensor, queries: Sequence[str], keys: Sequence[str]) -> str:
    rows = []
    for query, row in zip(queries, grid.tolist(), strict=True):
        seen = [key for key, allowed in zip(keys, row, strict=True) if allowed]
        rows.append(f"{query} to {', '.join(seen) or 'none'}")
    return "; ".join(rows) + "."
