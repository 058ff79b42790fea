"""The same question asked of several things: panels of lines side by side, on one scale."""

from collections.abc import Mapping, Sequence

import matplotlib as mpl
from matplotlib.figure import Figure

from attn_lib.plotting.charts import COLORS
from attn_lib.plotting.picture import STYLE, Picture

DASHES = ("-", "--", ":", "-.")


def line_panels(
    x: Sequence[float],
    panels: Mapping[str, Mapping[str, Sequence[float]]],
    *,
    xlabel: str,
    ylabel: str,
    title: str = "",
) -> Picture:
    """Draw a panel for each thing; the lines have the same labels, and lie on top of each other or not.

    Args:
        x: the common places, increasing.
        panels: a title, and for each line its label and as many values as x.
        xlabel: what x is, with its unit.
        ylabel: what the values are, with their unit.
        title: above all panels.

    Raises:
        ValueError: there is no panel, a panel has not 1 to 4 lines, or a line does not fit x.
    """
    if not panels:
        raise ValueError("expected at least 1 panel, got none")
    for name, curves in panels.items():
        if not 0 < len(curves) <= len(COLORS):
            raise ValueError(
                f"{name}: expected 1 to {len(COLORS)} lines, got {len(curves)}"
            )
        for label, values in curves.items():
            if len(values) != len(x):
                raise ValueError(
                    f"{label}: expected {len(x)} values, as many as x, got {len(values)}"
                )
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(0.9 + 2.6 * len(panels), 2.7), layout="constrained")
        row = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axes, (name, curves) in zip(row, panels.items(), strict=True):
            for n, (label, values) in enumerate(curves.items()):
                # Later lines are thinner and dashed: one on top of another leaves both visible.
                width = 3.2 - 0.7 * n
                axes.plot(x, values, DASHES[n], color=COLORS[n], lw=width, label=label)
            axes.set_title(name, fontsize=10)
            axes.grid(alpha=0.3)
            axes.locator_params("x", nbins=5)
        row[0].set_ylabel(ylabel)
        figure.supxlabel(xlabel, fontsize=10)
        figure.suptitle(title, fontsize=11)
        handles, labels = row[0].get_legend_handles_labels()
        if len(labels) > 1:
            figure.legend(
                handles,
                labels,
                loc="outside upper center",
                ncols=len(labels),
                frameon=False,
            )
    parts = ". ".join(
        f"{name}: "
        + "; ".join(
            f"{label} from {v[0]:.2f} to {v[-1]:.2f}" for label, v in curves.items()
        )
        for name, curves in panels.items()
    )
    heading = f"{title}. " if title else ""
    return Picture(
        figure, f"{heading}Lines of {ylabel} over {xlabel}, {x[0]:g} to {x[-1]:g}. {parts}."
    )
