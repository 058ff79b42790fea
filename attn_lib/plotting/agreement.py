"""The same things measured in two ways: dots near the diagonal, and both ways say the same."""

from collections.abc import Sequence

import matplotlib as mpl
from matplotlib.figure import Figure

from attn_lib.plotting.charts import COLORS
from attn_lib.plotting.picture import STYLE, Picture


def agreement(
    x: Sequence[float],
    y: Sequence[float],
    names: Sequence[str],
    *,
    xlabel: str,
    ylabel: str,
    named: Sequence[str] = (),
) -> Picture:
    """Draw a dot for each thing, the diagonal, and both zeros, as the signs matter.

    Args:
        x: what the first way gives for each thing.
        y: what the second gives, in the same unit.
        names: of the things.
        xlabel: what x is, with its unit.
        ylabel: what y is.
        named: the names that are written beside their dots.

    Raises:
        ValueError: there are not as many of each, or a name to be written is none of theirs.
    """
    if not len(x) == len(y) == len(names) > 0 or not {*named} <= {*names}:
        raise ValueError(
            f"expected as many x, y and names, got {len(x)}, {len(y)} and {len(names)}, and to "
            f"name some of {list(names)}, got {list(named)}"
        )
    low, high = min(*x, *y), max(*x, *y)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(4.6, 4.2), layout="constrained")
        axes = figure.subplots()
        for line in (axes.axhline, axes.axvline):
            line(0, color="#888888", lw=1)
        axes.axline((0, 0), slope=1, color="#888888", ls="--", lw=1)
        axes.plot(x, y, "o", color=COLORS[0], ms=5, alpha=0.7)
        for name in named:
            place = names.index(name)
            axes.plot([x[place]], [y[place]], "o", color=COLORS[1], ms=7)
            axes.annotate(
                name, (x[place], y[place]), (7, -3),
                textcoords="offset points", va="top", fontsize=9,
            )  # fmt: skip
        margin = 0.08 * (high - low) or 1
        axes.set(xlim=(low - margin, high + margin), ylim=(low - margin, high + margin))
        axes.set(xlabel=xlabel, ylabel=ylabel, aspect="equal")
    parts = "; ".join(
        f"{name} {x[names.index(name)]:.1f} and {y[names.index(name)]:.1f}"
        for name in named
    )
    above = [sum(value > 0 for value in values) for values in (x, y)]
    return Picture(
        figure,
        f"{len(x)} dots: {ylabel} over {xlabel}. Above zero: {above[1]} and {above[0]}."
        + (f" {parts}." if parts else ""),
    )
