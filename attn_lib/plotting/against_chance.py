"""How often each count was seen, beside how often pure chance would give it."""

from collections.abc import Sequence

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from attn_lib.plotting.charts import COLORS
from attn_lib.plotting.picture import STYLE, Picture


def against_chance(
    seen: Sequence[int],
    expected: Sequence[float],
    *,
    xlabel: str,
    ylabel: str,
    title: str = "",
) -> Picture:
    """Draw what was seen as bars, and what chance would give as a line.

    Args:
        seen: how often 0, 1, 2, ... were seen.
        expected: how often chance would give them, on average.
        xlabel: what was counted.
        ylabel: what has these counts.
        title: above the chart.

    Raises:
        ValueError: the two do not have the same length.
    """
    if len(seen) != len(expected):
        raise ValueError(f"expected {len(seen)} values of chance, got {len(expected)}")
    counts = range(len(seen))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.4, 2.7), layout="constrained")
        axes = figure.subplots()
        axes.bar(counts, seen, color="#9db8d9", label="seen")
        axes.plot(
            counts, expected, "o-", color=COLORS[1], ms=4, label="by chance, on average"
        )
        axes.set(xlabel=xlabel, ylabel=ylabel, title=title, xlim=(-0.6, len(seen) - 0.4))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_ylim(top=1.25 * max(*seen, *expected))  # room for the legend
        axes.legend(frameon=False, loc="upper left")
    most = max(count for count in counts if seen[count])
    heading = f"{title}. " if title else ""
    alt = (
        f"{heading}Bars of {ylabel} over {xlabel}, 0 to {len(seen) - 1}, and a line of what chance "
        f"gives on average. The largest count seen is {most}. The bars are highest at "
        f"{max(counts, key=seen.__getitem__)}, the line at {max(counts, key=expected.__getitem__)}."
    )
    return Picture(figure, alt, colors=32, vector=False)
