"""A series, where its past ends, and what was forecast from there."""

from collections.abc import Mapping, Sequence

import matplotlib as mpl
from matplotlib.figure import Figure

from attn_lib.plotting.charts import COLORS
from attn_lib.plotting.picture import STYLE, Picture
from attn_lib.plotting.runs import DASHES


def forecasts(
    past: tuple[Sequence[float], Sequence[float]],
    future: tuple[Sequence[float], Sequence[float]],
    guesses: Mapping[str, Sequence[float]],
    *,
    xlabel: str,
    ylabel: str,
    title: str = "",
) -> Picture:
    """Draw the past in gray, what really came in black, and forecasts as lines.

    Args:
        past: dates and values that were known.
        future: dates and values that came.
        guesses: for each method, one value for each date of the future.
        xlabel: what the dates are.
        ylabel: what the values are, with their unit.
        title: above the chart.

    Raises:
        ValueError: there are more methods than line styles, or a forecast does not fit the future.
    """
    if len(guesses) > len(COLORS):
        raise ValueError(f"expected at most {len(COLORS)} methods, got {len(guesses)}")
    for name, values in guesses.items():
        if len(values) != len(future[0]):
            raise ValueError(f"{name}: expected {len(future[0])} values, got {len(values)}")
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.0, 2.9), layout="constrained")
        axes = figure.subplots()
        axes.plot(*past, color="#777777", lw=1.2, label="past")
        few = len(future[0]) <= 40  # dots can be told apart from the lines of forecasts
        style = "o" if few else "-"
        axes.plot(*future, style, color="black", ms=3.5, lw=1.2, label="what came")
        for (name, values), color, dashes in zip(
            guesses.items(), COLORS, DASHES, strict=False
        ):
            axes.plot(future[0], values, dashes, color=color, lw=2, label=name)
        axes.axvline((past[0][-1] + future[0][0]) / 2, color="#555555", ls=":", lw=1)
        axes.set(xlabel=xlabel, ylabel=ylabel, title=title)
        axes.grid(alpha=0.3)
        figure.legend(loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    ends = "; ".join(f"{name} ends at {v[-1]:.1f}" for name, v in guesses.items())
    heading = f"{title}. " if title else ""
    alt = (
        f"{heading}{ylabel} over {xlabel}: the past to {past[0][-1]:.1f}, and what came to "
        f"{future[0][-1]:.1f}, where it was {future[1][-1]:.1f}; {ends}."
    )
    return Picture(figure, alt, colors=32, vector=False)
