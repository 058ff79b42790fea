"""How far back a forecaster looks: attention by the time that lies between."""

from collections.abc import Mapping, Sequence

import matplotlib as mpl
from matplotlib.figure import Figure

from attn_lib.plotting.charts import COLORS
from attn_lib.plotting.picture import STYLE, Picture
from attn_lib.plotting.runs import DASHES


def by_lag(
    lags: Sequence[float],
    runs: Mapping[str, Sequence[float]],
    *,
    xlabel: str,
    ylabel: str,
    even: float | None = None,
    mark: tuple[float, str] | None = None,
    title: str = "",
) -> Picture:
    """Draw a line for each run over the lag, and where one would look for something.

    Args:
        lags: the time back, common to all runs.
        runs: a label and as many values as lags for each run.
        xlabel: what the lag is, with its unit.
        ylabel: what the values are.
        even: what every lag would get if nothing were preferred.
        mark: a lag, and what stands there.
        title: above the chart.

    Raises:
        ValueError: there are more runs than line styles, or one does not fit the lags.
    """
    if len(runs) > len(COLORS):
        raise ValueError(f"expected at most {len(COLORS)} runs, got {len(runs)}")
    for name, values in runs.items():
        if len(values) != len(lags):
            raise ValueError(f"{name}: expected {len(lags)} values, got {len(values)}")
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.0, 2.7), layout="constrained")
        axes = figure.subplots()
        for (name, values), color, dashes in zip(
            runs.items(), COLORS, DASHES, strict=False
        ):
            axes.plot(lags, values, dashes, color=color, lw=1.8, label=name)
        if even is not None:
            axes.axhline(even, color="#555555", lw=1, ls=(0, (1, 3)), label="even")
        if mark is not None:
            axes.axvline(mark[0], color="#555555", lw=1)
            axes.annotate(
                mark[1], (mark[0], 0.03), (4, 0), xycoords=("data", "axes fraction"),
                textcoords="offset points", fontsize=9, color="#333333",
            )  # fmt: skip
        axes.set(xlabel=xlabel, ylabel=ylabel, title=title)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, fontsize=8)
    peaks = "; ".join(
        f"{name} is highest at {lags[max(range(len(lags)), key=list(v).__getitem__)]:g}"
        for name, v in runs.items()
    )
    heading = f"{title}. " if title else ""
    alt = f"{heading}Lines of {ylabel} over {xlabel}: {peaks}."
    return Picture(figure, alt, colors=32, vector=False)
