"""Several settings over one axis, each with several runs: is the difference larger than chance makes it?"""

from collections.abc import Mapping, Sequence

import matplotlib as mpl
from matplotlib.figure import Figure

from attn_lib.plotting.charts import COLORS, MARKERS
from attn_lib.plotting.picture import STYLE, Picture
from attn_lib.plotting.runs import DASHES


def repeated(
    x: Sequence[float],
    curves: Mapping[str, Sequence[Sequence[float]]],
    *,
    xlabel: str,
    ylabel: str,
    x_log: bool = False,
    lowest: float = 0.0,
) -> Picture:
    """Draw a line over x for each run; the runs of one setting look alike.

    Args:
        x: the common places, in the order in which they stand from left to right.
        curves: for each setting, its runs; each run has as many values as x.
        xlabel: what x is, with its unit.
        ylabel: what the values are, with their unit.
        x_log: space x by powers of 2; else the places are evenly spaced.
        lowest: where the vertical axis begins.

    Raises:
        ValueError: there are more settings than line styles, or a run does not fit x.
    """
    if not 0 < len(curves) <= len(COLORS):
        raise ValueError(f"expected 1 to {len(COLORS)} settings, got {len(curves)}")
    for name, several in curves.items():
        if not several or any(len(run) != len(x) for run in several):
            raise ValueError(
                f"{name}: expected runs of {len(x)} values, got {[len(run) for run in several]}"
            )
    places = list(x) if x_log else list(range(len(x)))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.4, 3.0), layout="constrained")
        axes = figure.subplots()
        for n, (name, several) in enumerate(curves.items()):
            # Later lines are thinner: one on top of another leaves both visible.
            width = 2.6 - 0.6 * n
            for number, run in enumerate(several):
                axes.plot(
                    places, run, DASHES[n], color=COLORS[n], marker=MARKERS[n], markersize=3 + width,
                    lw=width, label=None if number else name,
                )  # fmt: skip
        if x_log:
            axes.set_xscale("log", base=2)
        axes.set_xticks(places, [f"{value:g}" for value in x])
        axes.minorticks_off()
        axes.set(xlabel=xlabel, ylabel=ylabel)
        axes.set_ylim(bottom=lowest)
        axes.grid(alpha=0.3)
        if len(curves) > 1:
            axes.legend(frameon=False)
    ends = "; ".join(
        f"{name}, {len(several)} runs, "
        + ", ".join(f"from {run[0]:.2f} to {run[-1]:.2f}" for run in several)
        for name, several in curves.items()
    )
    return Picture(
        figure, f"Lines of {ylabel} over {xlabel}, {x[0]:g} to {x[-1]:g}: {ends}."
    )
