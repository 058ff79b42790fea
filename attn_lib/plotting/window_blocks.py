"""A causal window, cut into blocks: what is computed, and what never is."""

import matplotlib as mpl
import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from attn_lib.plotting.charts import COLORS
from attn_lib.plotting.picture import STYLE, Picture

NEVER, MASKED, ATTENDS = 0, 1, 2
FILLS = ("#e4e4e4", "#f0a15e", COLORS[0])
NAMES = ("never computed", "computed, and masked", "attends")


def window_blocks(length: int, window: int) -> Picture:
    """Draw all pairs of query and key, and beside them the pairs that blocks of one window compute.

    Each block of `window` queries meets its own keys and those of the block before.

    Args:
        length: L, a multiple of the window, at most 32.
        window: W, how many keys a query sees, its own included.

    Raises:
        ValueError: the length is above 32, or no multiple of the window.
    """
    if not 1 <= window <= length <= 32 or length % window:
        raise ValueError(
            f"expected a length of at most 32, a multiple of the window, got {length} and {window}"
        )
    i, j = np.arange(length)[:, None], np.arange(length)
    first = i // window * window - window  # where the keys of a query's two blocks begin
    computed = (first <= j) & (j < first + 2 * window)
    pairs = np.where(computed, MASKED, NEVER)
    pairs[(i - window < j) & (j <= i)] = ATTENDS
    k = np.arange(2 * window)
    own = i % window + window  # the place of a query's own key among the 2 W
    folded = np.where((own - window < k) & (k <= own) & (first + k >= 0), ATTENDS, MASKED)
    with mpl.rc_context(STYLE):
        size = (1.6 + 0.2 * (length + 2 * window), 2.0 + 0.2 * length)
        figure = Figure(figsize=size, layout="constrained")
        panels = figure.subplots(1, 2, sharey=True, width_ratios=[length, 2 * window])
        titles = (f"all pairs: {length} × {length}", f"blocks: {length} × {2 * window}")
        for axes, cells, title in zip(panels, (pairs, folded), titles, strict=True):
            columns = cells.shape[1]
            axes.pcolormesh(
                cells,
                cmap=ListedColormap(FILLS),
                vmin=0,
                vmax=2,
                edgecolors="white",
                lw=0.8,
            )
            axes.hlines(range(window, length, window), 0, columns, color="#555555", lw=1)
            axes.set(aspect="equal", ylim=(length, 0), xlim=(0, columns))
            axes.set_title(title, fontsize=10)
            axes.spines[:].set_visible(False)
            axes.tick_params(length=0, labelsize=8)
            ticks = range(0, length, window)
            axes.set_yticks([t + 0.5 for t in ticks], [str(t) for t in ticks])
        panels[0].set_xticks([t + 0.5 for t in ticks], [str(t) for t in ticks])
        panels[0].set(xlabel="key (column)", ylabel="query (row)")
        panels[1].set_xticks([window / 2, 1.5 * window], ["block\nbefore", "own\nblock"])
        shown = [
            Patch(color=fill, label=name) for fill, name in zip(FILLS, NAMES, strict=True)
        ]
        figure.legend(
            handles=shown, loc="outside lower center", ncols=3, frameon=False, fontsize=9
        )
    count = int((pairs == ATTENDS).sum())
    return Picture(
        figure,
        f"Grid of {length} queries and {length} keys: {count} pairs attend, in a band of {window} "
        f"along the diagonal. Beside it the same band in blocks of {window} queries and "
        f"{2 * window} keys: {length * 2 * window} pairs are computed instead of {length**2}.",
        colors=64,
        vector=False,  # of many cells the SVG is larger
    )
