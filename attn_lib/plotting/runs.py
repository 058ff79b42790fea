"""Several runs of several settings: does the difference survive another seed?"""

from collections.abc import Mapping, Sequence

import matplotlib as mpl
from matplotlib.figure import Figure

from attn_lib.plotting.charts import COLORS
from attn_lib.plotting.picture import STYLE, Picture

DASHES = ("-", "--", ":", "-.")


def runs(
    curves: Mapping[str, Sequence[Sequence[float]]],
    *,
    ylabel: str,
    xlabel: str = "step",
    every: int = 1,
    lowest: float = 0.0,
    title: str = "",
) -> Picture:
    """Draw one curve for each run; the runs of one setting share color and dashes.

    Args:
        curves: for each setting, its runs; each run is a list of values, one for each step.
        ylabel: what the values are, with their unit.
        xlabel: what is counted.
        every: draw the mean of so many steps as one point, so that noise does not hide the curve.
        lowest: where the vertical axis begins.
        title: above the chart.

    Raises:
        ValueError: there are more settings than line styles, or a run is shorter than `every`.
    """
    if not 0 < len(curves) <= len(COLORS):
        raise ValueError(f"expected 1 to {len(COLORS)} settings, got {len(curves)}")
    shortest = min(len(run) for several in curves.values() for run in several)
    if not 1 <= every <= shortest:
        raise ValueError(f"expected every from 1 to {shortest} steps, got {every}")
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.0, 2.7), layout="constrained")
        axes = figure.subplots()
        for (name, several), color, dashes in zip(
            curves.items(), COLORS, DASHES, strict=False
        ):
            for number, run in enumerate(several):
                means = _means(run, every)
                steps = [every * (i + 0.5) for i in range(len(means))]
                label = name if number == 0 else None
                axes.plot(steps, means, dashes, color=color, label=label, linewidth=1.5)
        axes.set(xlabel=xlabel, ylabel=ylabel, title=title)
        axes.set_ylim(bottom=lowest)
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
    ends = "; ".join(
        f"{name}, {len(several)} runs, ends at "
        + ", ".join(f"{_means(run, every)[-1]:.2f}" for run in several)
        for name, several in curves.items()
    )
    heading = f"{title}. " if title else ""
    return Picture(figure, f"{heading}Lines of {ylabel} over {xlabel}: {ends}.")


def _means(run: Sequence[float], every: int) -> list[float]:
    return [sum(run[i : i + every]) / every for i in range(0, len(run) - every + 1, every)]
