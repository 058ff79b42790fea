"""Several measures of the same runs, one above the other: do they change at the same step?"""

from collections.abc import Mapping, Sequence

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attn_lib.plotting.charts import COLORS
from attn_lib.plotting.picture import STYLE, Picture
from attn_lib.plotting.runs import DASHES

Curves = Mapping[str, Sequence[Sequence[float]]]


def stacked_runs(panels: Mapping[str, Curves], *, steps: int, title: str = "") -> Picture:
    """Draw a panel for each measure over one common axis of steps; a curve for each run.

    The runs of one setting share color and dashes. A run may have been measured as often as one
    likes: its values stand in the middle of equal parts of the steps.

    Args:
        panels: for each measure, named with its unit, its settings; for each setting, its runs.
        steps: how many steps all runs took.
        title: above the panels.

    Raises:
        ValueError: there is no panel, a panel has more settings than there are line styles, or a
            run has no value or more values than steps.
    """
    if not panels:
        raise ValueError("expected at least 1 panel, got none")
    for curves in panels.values():
        if not 0 < len(curves) <= len(COLORS):
            raise ValueError(f"expected 1 to {len(COLORS)} settings, got {len(curves)}")
        for run in (run for several in curves.values() for run in several):
            if not 0 < len(run) <= steps:
                raise ValueError(f"expected runs of 1 to {steps} values, got {len(run)}")
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.0, 0.5 + 2.1 * len(panels)), layout="constrained")
        rows = figure.subplots(len(panels), sharex=True, squeeze=False)[:, 0]
        for axes, (measure, curves) in zip(rows, panels.items(), strict=True):
            _draw(axes, curves, steps)
            axes.set_ylabel(measure)
        rows[-1].set_xlabel("step")
        figure.suptitle(title)
    ends = ". ".join(
        f"{measure}: "
        + "; ".join(
            f"{name}, {len(several)} runs, ends at "
            + ", ".join(f"{run[-1]:.2f}" for run in several)
            for name, several in curves.items()
        )
        for measure, curves in panels.items()
    )
    heading = f"{title}. " if title else ""
    # Many points and few colors: as SVG the file would be twice as large.
    return Picture(
        figure, f"{heading}Lines over {steps} steps. {ends}.", colors=32, vector=False
    )


def _draw(axes: Axes, curves: Curves, steps: int) -> None:
    for (name, several), color, dashes in zip(curves.items(), COLORS, DASHES, strict=False):
        for number, run in enumerate(several):
            x = [steps / len(run) * (i + 0.5) for i in range(len(run))]
            label = name if number == 0 else None
            axes.plot(x, run, dashes, color=color, label=label, linewidth=1.5)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    if len(curves) > 1:
        axes.legend(frameon=False)
