"""Numbers, and the levels that they are rounded to: which scale leaves room for the small ones?"""

from collections.abc import Mapping, Sequence

import matplotlib as mpl
from matplotlib.figure import Figure

from attn_lib.plotting.charts import COLORS
from attn_lib.plotting.picture import STYLE, Picture


def levels(
    rows: Mapping[str, tuple[Sequence[float], float]],
    *,
    bits: int,
    xlabel: str,
    limit: float | None = None,
) -> Picture:
    """Draw a number line for each row, first row on top: a dot for each number, a tick for each level.

    The levels of a row are its scale times the whole numbers that so many bits hold, symmetric
    around 0. From each dot a line leads down to the level that it is rounded to.

    Args:
        rows: for each label, the numbers, and the scale: the distance of two levels.
        bits: of a rounded number; the largest is 2^(bits - 1) - 1.
        xlabel: what the numbers are.
        limit: where the picture ends on both sides; numbers beyond it are left out.

    Raises:
        ValueError: there is no row, a row without numbers, or a scale that is not positive.
    """
    if not rows or any(len(values) == 0 or scale <= 0 for values, scale in rows.values()):
        raise ValueError(
            f"expected rows with numbers and a positive scale each, got {dict(rows)}"
        )
    top = 2 ** (bits - 1) - 1
    if limit is None:
        limit = 1.04 * max(scale * top for _, scale in rows.values())
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.2, 0.6 + 0.5 * len(rows)), layout="constrained")
        axes = figure.subplots()
        said = []
        for row, (label, (values, scale)) in enumerate(rows.items()):
            shown = [value for value in values if abs(value) <= limit]
            near = [k * scale for k in range(-top, top + 1) if abs(k * scale) <= limit]
            hit = [max(-top, min(top, round(value / scale))) * scale for value in shown]
            axes.vlines(near, row + 0.05, row + 0.35, color="#777777", lw=0.7)
            for value, level in zip(shown, hit, strict=True):
                axes.plot([value, level], [row - 0.2, row + 0.05], color=COLORS[1], lw=0.8)
            axes.plot(shown, [row - 0.2] * len(shown), "o", color=COLORS[0], ms=3.5)
            said.append(
                f"{label}: {len(shown)} numbers on {len(set(hit))} of {len(near)} levels"
            )
        axes.set_yticks(range(len(rows)), list(rows))
        axes.set(xlim=(-limit, limit), ylim=(len(rows) - 0.45, -0.55), xlabel=xlabel)
        axes.tick_params("y", length=0)
        axes.spines["left"].set_visible(False)
    return Picture(
        figure,
        f"Number lines of {xlabel}, from {-limit:.2g} to {limit:.2g}, {bits} bits. "
        f"{'; '.join(said)}.",
        colors=32,
        vector=False,  # hundreds of ticks
    )
