"""What models say of short and long texts: one panel for each, and where their training ended."""

from collections.abc import Mapping, Sequence

import matplotlib as mpl
from matplotlib.figure import Figure

from attn_lib.plotting.charts import COLORS
from attn_lib.plotting.picture import STYLE, Picture


def by_length(
    lengths: Sequence[int],
    curves: Mapping[str, Sequence[Sequence[float]]],
    *,
    trained: int,
    ylabel: str,
    xlabel: str = "length",
    columns: int = 4,
    top: float | None = None,
    title: str = "",
) -> Picture:
    """Draw a panel for each model, all on one scale; what is longer than in training is shaded.

    Args:
        lengths: increasing; they are spaced by powers of 2.
        curves: for each model its runs, and for each run one value for each length.
        trained: the longest length of the training.
        ylabel: what the values are, with their unit.
        xlabel: what is counted.
        columns: how many panels stand side by side.
        top: where the scale ends; curves may leave it. As high as the highest value if None.
        title: above all panels.

    Raises:
        ValueError: there is no curve, a run has not one value for each length, or columns is below 1.
    """
    if not curves or columns < 1:
        raise ValueError(
            f"expected at least 1 model and 1 column, got {len(curves)} and {columns}"
        )
    for name, several in curves.items():
        if not several or any(len(run) != len(lengths) for run in several):
            raise ValueError(
                f"{name}: expected runs of {len(lengths)} values, got "
                f"{[len(run) for run in several]}"
            )
    values = [v for several in curves.values() for run in several for v in run]
    low, high = min(values), max(values) if top is None else top
    margin = 0.06 * (high - low) or 1.0
    longer = lengths[-1] > trained
    columns = min(columns, len(curves))
    rows = -(-len(curves) // columns)
    with mpl.rc_context(STYLE):
        size = (0.7 + 1.75 * columns, 0.9 + 1.55 * rows)
        figure = Figure(figsize=size, layout="constrained")
        grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        for axes, (name, several) in zip(grid.flat, curves.items(), strict=False):
            if longer:
                axes.axvspan(trained, lengths[-1] * 1.4, color="#e4e4e4", lw=0)
            for run in several:
                axes.plot(lengths, run, color=COLORS[0], linewidth=1.3)
            axes.set_xscale("log", base=2)
            axes.set_xticks(lengths[::2], [f"{n:g}" for n in lengths[::2]])
            axes.minorticks_off()
            axes.set_xlim(lengths[0] / 1.4, lengths[-1] * 1.4)
            axes.set_ylim(low - margin, high + margin)
            axes.grid(alpha=0.3)
            axes.set_title(name, fontsize=10)
            axes.tick_params(labelsize=8, labelbottom=True)
        for axes in grid.flat[len(curves) :]:
            axes.axis("off")
        gray = " (gray: longer than in training)" if longer else ""
        figure.supxlabel(xlabel + gray, fontsize=10)
        figure.supylabel(ylabel, fontsize=10)
        figure.suptitle(title, fontsize=11)
    at = lengths.index(trained) if trained in lengths else 0
    parts = "; ".join(
        f"{name}: " + ", ".join(_described(run, at) for run in several)
        for name, several in curves.items()
    )
    heading = f"{title}. " if title else ""
    return Picture(
        figure,
        f"{heading}Lines of {ylabel} over {xlabel} {lengths[0]}, {lengths[at]} and {lengths[-1]}, "
        f"trained at {trained}. {parts}.",
        vector=False,  # of many panels the SVG is larger
    )


def _described(run: Sequence[float], at: int) -> str:
    return f"{run[0]:.2f} to {run[at]:.2f} to {run[-1]:.2f}"
