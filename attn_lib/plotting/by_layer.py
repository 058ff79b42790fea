"""One number for each layer of a deep model: does it grow, shrink, or stay?"""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from attn_lib.plotting.charts import COLORS, MARKERS
from attn_lib.plotting.picture import STYLE, Picture
from attn_lib.plotting.runs import DASHES

Curves = Mapping[str, Sequence[Sequence[float]]]


def by_layer(
    panels: Mapping[str, Curves], *, ylabel: str, first: int = 1, log: bool = False
) -> Picture:
    """Draw a panel for each moment, side by side on one scale; a curve over the layers for each run.

    The runs of one setting look alike, in all panels.

    Args:
        panels: for each moment, its settings; for each setting, its runs; each run has a value for
            each layer. The title of a single panel may be empty.
        ylabel: what the values are.
        first: the number of the first layer; 0 if the first value is that of the input.
        log: space the values by powers of 10, at least two of them, else from 0.

    Raises:
        ValueError: there is no panel, more settings than line styles, or the runs differ in length.
    """
    if not panels:
        raise ValueError("expected at least 1 panel, got none")
    names = list(dict.fromkeys(name for curves in panels.values() for name in curves))
    if not 0 < len(names) <= len(COLORS):
        raise ValueError(f"expected 1 to {len(COLORS)} settings, got {len(names)}")
    every = [
        r for curves in panels.values() for several in curves.values() for r in several
    ]
    lengths = {len(run) for run in every}
    if len(lengths) != 1:
        raise ValueError(f"expected runs of one length, got {sorted(lengths)}")
    layers = range(first, first + lengths.pop())
    with mpl.rc_context(STYLE):
        size = (5.4 if len(panels) == 1 else 1.0 + 3.4 * len(panels), 3.1)
        figure = Figure(figsize=size, layout="constrained")
        all_axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        labels: dict[str, Line2D] = {}
        for axes, (title, curves) in zip(all_axes, panels.items(), strict=True):
            labels |= _draw(axes, curves, names, layers)
            axes.set(xlabel="layer, from the input on", title=title)
        if log:
            low, high = min(map(min, every)), max(map(max, every))
            around = max(1.3, (100 * low / high) ** 0.5)
            all_axes[0].set_yscale("log")
            all_axes[0].set_ylim(low / around, high * around)
        else:
            all_axes[0].set_ylim(bottom=0)
        all_axes[0].set_ylabel(ylabel)
        if len(names) > 1:
            figure.legend(
                list(labels.values()), list(labels),
                loc="outside lower center", ncols=len(names), frameon=False,
            )  # fmt: skip
    parts = [
        (f"{title}: " if title else "") + _describe(curves)
        for title, curves in panels.items()
    ]
    return Picture(
        figure,
        f"Lines of {ylabel} over layers {layers[0]} to {layers[-1]}. {'. '.join(parts)}.",
        colors=32,
        vector=False,  # hundreds of markers: as SVG the file would be three times as large
    )


def _draw(axes: Axes, curves: Curves, names: list[str], layers: range) -> dict[str, Line2D]:
    """Draw one panel; return a line of each setting for the legend."""
    drawn: dict[str, Line2D] = {}
    for name, several in curves.items():
        n = names.index(name)
        style: dict[str, Any] = {
            "color": COLORS[n],
            "linestyle": DASHES[n],
            "marker": MARKERS[n],
        }
        for run in several:
            (drawn[name],) = axes.plot(layers, run, markersize=4, linewidth=1.3, **style)
    axes.set_xticks(layers)
    axes.tick_params("x", labelsize=9)
    axes.grid(alpha=0.3)
    return drawn


def _describe(curves: Curves) -> str:
    return "; ".join(
        f"{name}, {len(several)} runs, "
        + ", ".join(f"from {run[0]:.2g} to {run[-1]:.2g}" for run in several)
        for name, several in curves.items()
    )
