"""Many small and large numbers on one logarithmic line: is there a gap, and where?"""

import math
from collections.abc import Mapping, Sequence

import matplotlib as mpl
from matplotlib.figure import Figure

from attn_lib.plotting.charts import COLORS, MARKERS
from attn_lib.plotting.picture import STYLE, Picture


def strips(
    panels: Mapping[str, Mapping[str, Sequence[float]]],
    *,
    xlabel: str,
    limits: tuple[float, float],
    lines: Mapping[str, float],
) -> Picture:
    """Draw panels of rows of dots on one logarithmic axis, and thresholds across all of them.

    Args:
        panels: for each title, its rows; for each row, positive values. Those outside the limits are
            drawn at the edge, infinite ones in a column beside the axis: "not comparable".
        xlabel: what the values are.
        limits: where the axis begins and ends.
        lines: the names of the thresholds, and where they are.

    Raises:
        ValueError: there is no panel, or a panel without rows.
    """
    if not panels or not all(panels.values()):
        raise ValueError(f"expected panels with at least one row, got {panels}")
    low, high = limits
    beside, end = 8 * high, 30 * high
    most = max(map(len, panels.values()))
    with mpl.rc_context(STYLE):
        size = (5.4, 0.9 + len(panels) * (0.35 + 0.42 * most))
        figure = Figure(figsize=size, layout="constrained")
        all_axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (title, rows) in zip(all_axes, panels.items(), strict=True):
            for row, values in enumerate(rows.values()):
                xs = [
                    min(max(x, low), high) if math.isfinite(x) else beside for x in values
                ]
                # One above the other, so that equal numbers are seen as many.
                ys = [row + 0.5 * (i / len(xs) - 0.5) for i in range(len(xs))]
                style = {"color": COLORS[row], "marker": MARKERS[row]}
                axes.plot(xs, ys, ls="", ms=3.5, alpha=0.7, clip_on=False, **style)
            for place in lines.values():
                axes.axvline(place, color="#555555", ls="--", lw=1)
            axes.axvspan(2 * high, end, color="#eeeeee", lw=0)
            axes.set(xscale="log", xlim=(low, end), ylim=(len(rows) - 0.5, -0.6))
            axes.set_yticks(range(len(rows)), list(rows))
            powers = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1, 2)
            axes.set_xticks([10.0**n for n in powers])
            axes.set_title(title, loc="left", pad=14 if axes is all_axes[0] else 6)
            axes.tick_params("y", length=0)
        for name, place in {**lines, "not comparable": beside}.items():
            all_axes[0].annotate(
                name, (place, 1), (0, 2), xycoords=("data", "axes fraction"),
                textcoords="offset points", ha="center", va="bottom", fontsize=8,
            )  # fmt: skip
        all_axes[-1].set_xlabel(xlabel)
    parts = ". ".join(
        f"{title}: "
        + "; ".join(
            f"{name}, {len(values)} from {min(values):.0e} to {max(values):.0e}"
            for name, values in rows.items()
        )
        for title, rows in panels.items()
    )
    marks = ", ".join(f"{name} at {place:.0e}" for name, place in lines.items())
    return Picture(figure, f"Dots of {xlabel}. {parts}. Lines: {marks}.", colors=32)
