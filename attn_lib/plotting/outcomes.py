"""Where runs end up, by two numbers at once: does one of them tell the other?"""

from collections.abc import Mapping, Sequence

import matplotlib as mpl
from matplotlib.figure import Figure

from attn_lib.plotting.charts import COLORS, MARKERS
from attn_lib.plotting.picture import STYLE, Picture


def outcomes(
    points: Mapping[str, Sequence[tuple[float, float]]],
    *,
    xlabel: str,
    ylabel: str,
    chance: float,
) -> Picture:
    """Draw a dot for each run, with a logarithmic horizontal axis; a dashed line where a guess would be.

    Args:
        points: for each setting, the (x, y) of its runs.
        xlabel: what x is, and when it was measured.
        ylabel: what y is, with its unit.
        chance: the y of a guess.

    Raises:
        ValueError: there are no settings, or more than styles.
    """
    if not 0 < len(points) <= len(COLORS):
        raise ValueError(f"expected 1 to {len(COLORS)} settings, got {len(points)}")
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.4, 3.1), layout="constrained")
        axes = figure.subplots()
        for (name, runs), color, marker in zip(
            points.items(), COLORS, MARKERS, strict=False
        ):
            xs, ys = zip(*runs, strict=True)
            axes.plot(xs, ys, marker, color=color, ms=6, alpha=0.8, label=name)
        axes.axhline(chance, color="#555555", ls="--", lw=1)
        axes.annotate(
            "a guess", (0, chance), (4, 3), xycoords=("axes fraction", "data"),
            textcoords="offset points", fontsize=8, color="#333333",
        )  # fmt: skip
        axes.set(xscale="log", xlabel=xlabel, ylabel=ylabel)
        axes.set_ylim(-0.06 * chance, 1.2 * chance)
        axes.grid(alpha=0.3)
        figure.legend(loc="outside lower center", ncols=2, frameon=False)
    parts = "; ".join(
        f"{name} " + ", ".join(f"({x:.2g}, {y:.2g})" for x, y in runs)
        for name, runs in points.items()
    )
    text = f"Dots of {ylabel} over {xlabel}: {parts}. A guess: {chance:.2f}."
    return Picture(figure, text, colors=32)
