"""A training run, and what becomes of the model in several ways of going on."""

from collections.abc import Mapping, Sequence

import matplotlib as mpl
from matplotlib.figure import Figure

from attn_lib.plotting.charts import COLORS, MARKERS
from attn_lib.plotting.picture import STYLE, Picture


def continued(
    run: Sequence[float],
    after: Mapping[str, Sequence[float]],
    *,
    every: int,
    ylabel: str,
    title: str = "",
) -> Picture:
    """Draw one curve, and beside it, larger, several others that begin where it ends.

    Args:
        run: values at step 0, `every`, 2 * `every` and so on.
        after: for each way of going on its values, the first one at the last step of `run`.
        every: the steps from one value to the next.
        ylabel: what the values are, with their unit.
        title: above the chart.

    Raises:
        ValueError: there are no ways of going on, or more than colors.
    """
    if not 0 < len(after) <= len(COLORS):
        raise ValueError(f"expected 1 to {len(COLORS)} ways of going on, got {len(after)}")
    end = every * (len(run) - 1)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.4, 2.7), layout="constrained")
        before, later = figure.subplots(1, 2, sharey=True, width_ratios=(2, 3))
        steps = [every * i for i in range(len(run))]
        before.plot(steps, run, color="#444444", linewidth=1.5)
        for (name, values), color, marker in zip(
            after.items(), COLORS, MARKERS, strict=False
        ):
            steps = [end + every * i for i in range(len(values))]
            later.plot(steps, values, color=color, marker=marker, markersize=4, label=name)
        before.set(ylabel=ylabel, title="first")
        later.set(title="and then")
        later.locator_params("x", nbins=4)
        before.locator_params("y", nbins=4)
        later.tick_params("y", labelleft=False)
        later.legend(frameon=False)
        figure.supxlabel("training step", fontsize=10)
        figure.suptitle(title)
    ends = "; ".join(f"{name} from {v[0]:.2f} to {v[-1]:.2f}" for name, v in after.items())
    heading = f"{title}. " if title else ""
    return Picture(
        figure,
        f"{heading}Lines of {ylabel} over training steps: from {run[0]:.2f} to {run[-1]:.2f} in "
        f"{end} steps; then {ends}.",
    )
