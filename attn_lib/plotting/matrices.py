"""The weight matrices of linear layers side by side, with exact zeros in gray."""

from collections.abc import Mapping

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from torch import Tensor

from attn_lib.plotting.picture import STYLE, Picture

ZERO = "#9a9a9a"


def matrices(
    panels: Mapping[str, Tensor],
    *,
    xlabel: str = "channel in (column)",
    ylabel: str = "channel out (row)",
) -> Picture:
    """Draw matrices on one color scale centered on 0; gray is exactly zero.

    Args:
        panels: a title and a matrix for each panel, all of one shape.
        xlabel: what the columns are.
        ylabel: what the rows are.

    Raises:
        ValueError: there is no matrix, or they are not 2-D and of one shape.
    """
    shapes = [tuple(panel.shape) for panel in panels.values()]
    if len(set(shapes)) != 1 or len(shapes[0]) != 2:
        raise ValueError(f"expected matrices of one shape (rows, columns), got {shapes}")
    values = {name: panel.detach().double().cpu().numpy() for name, panel in panels.items()}
    largest = max(abs(panel).max() for panel in values.values()) or 1.0
    rows, columns = shapes[0]
    colors = mpl.colormaps["PuOr"].with_extremes(bad=ZERO)
    with mpl.rc_context(STYLE):
        size = (1.4 + len(values) * (0.3 * columns + 0.4), 1.4 + 0.3 * rows)
        figure = Figure(figsize=size, layout="constrained")
        grid = figure.subplots(1, len(values), sharey=True, squeeze=False)[0]
        for axes, (name, panel) in zip(grid, values.items(), strict=True):
            shown = np.ma.masked_equal(panel, 0)
            mesh = axes.imshow(
                shown, cmap=colors, vmin=-largest, vmax=largest, interpolation="none"
            )
            axes.set(
                title=name, xlabel=xlabel, xticks=[0, columns - 1], yticks=[0, rows - 1]
            )
            axes.tick_params(length=0)
            axes.spines[:].set_visible(False)
        grid[0].set_ylabel(ylabel)
        if any((panel == 0).any() for panel in values.values()):
            gray = mpl.patches.Patch(color=ZERO)
            figure.legend([gray], ["exactly 0"], loc="outside lower center", frameon=False)
        figure.colorbar(mesh, ax=grid, label="weight", shrink=0.8)
    parts = "; ".join(
        f"{name}: {(panel == 0).sum()} of {panel.size} weights are zero"
        for name, panel in values.items()
    )
    return Picture(figure, f"Matrices of {rows} rows by {columns} columns. {parts}.")
