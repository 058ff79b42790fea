"""Two plain charts: lines and bars."""

from collections.abc import Mapping, Sequence

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter

from attn_lib.plotting.picture import STYLE, Picture

# Dark blue, orange, teal, purple: told apart in gray and by color-blind readers, and by marker.
COLORS = ("#0b3c6f", "#d95f02", "#1b9e77", "#7b3294")
MARKERS = ("o", "s", "^", "D")


def lines(
    x: Sequence[float],
    curves: Mapping[str, Sequence[float]],
    *,
    xlabel: str,
    ylabel: str,
    title: str = "",
    x_log: bool = False,
    y_log: bool = False,
) -> Picture:
    """Draw one or more curves over x.

    Args:
        x: the common positions.
        curves: a label and as many values as x for each curve.
        xlabel: what x is, with its unit.
        ylabel: what the values are, with their unit.
        title: above the chart.
        x_log: space x by powers of 2.
        y_log: space the values by powers of 10; else they begin at 0.
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.4, 3.2), layout="constrained")
        axes = figure.subplots()
        for (label, values), color, marker in zip(
            curves.items(), COLORS, MARKERS, strict=False
        ):
            axes.plot(x, values, color=color, marker=marker, markersize=4, label=label)
        if x_log:
            axes.set_xscale("log", base=2)
            axes.set_xticks(x, [f"{value:g}" for value in x])
            axes.minorticks_off()
        axes.set(xlabel=xlabel, ylabel=ylabel, title=title)
        if y_log:
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(LogFormatter())  # 100, not a power of 10
            axes.yaxis.set_minor_formatter(LogFormatter(labelOnlyBase=False))
        else:
            axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        if len(curves) > 1:
            axes.legend(frameon=False)
    ends = "; ".join(f"{name} from {v[0]:.3g} to {v[-1]:.3g}" for name, v in curves.items())
    heading = f"{title}. " if title else ""
    alt = f"{heading}Lines of {ylabel} over {xlabel}, {x[0]:g} to {x[-1]:g}: {ends}."
    return Picture(figure, alt)


def bars(
    labels: Sequence[str],
    panels: Mapping[str, Sequence[float]],
    *,
    ylabel: str,
    title: str = "",
) -> Picture:
    """Draw bars over the same labels, one panel beside the other, on one scale.

    Args:
        labels: below the bars.
        panels: a title and one value for each label, for each panel.
        ylabel: what the values are.
        title: above all panels.
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(0.6 + 2.4 * len(panels), 2.6), layout="constrained")
        all_axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axes, (name, values) in zip(all_axes, panels.items(), strict=True):
            drawn = axes.bar(range(len(labels)), values, color=COLORS[0])
            axes.bar_label(drawn, [f"{value:.2f}" for value in values], fontsize=8)
            axes.set_xticks(
                range(len(labels)), labels, rotation=45, ha="right", rotation_mode="anchor"
            )
            axes.set_title(name)
        all_axes[0].set_ylabel(ylabel)
        figure.suptitle(title)
    parts = "; ".join(
        f"{name}: " + ", ".join(f"{k} {v:.2f}" for k, v in zip(labels, values, strict=True))
        for name, values in panels.items()
    )
    return Picture(figure, f"{title + '. ' if title else ''}Bars of {ylabel}. {parts}.")
