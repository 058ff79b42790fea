"""What one token costs, part by part, beside the least that reading its weights can cost."""

from collections.abc import Mapping

import matplotlib as mpl
from matplotlib.figure import Figure

from attn_lib.plotting.charts import COLORS
from attn_lib.plotting.picture import STYLE, Picture

LIGHT = "#b9c9da"


def token_times(rows: Mapping[str, tuple[float, float, float]], *, floor: str) -> Picture:
    """Draw a bar for each way to store weights, cut in two; a mark says how short the dark part could be.

    Args:
        rows: for each way, milliseconds a token: its products with weights; all else; and how long
            memory takes to deliver these weights.
        floor: what the mark is.

    Raises:
        ValueError: there is no row, or a time is not positive.
    """
    if not rows or any(min(times) <= 0 for times in rows.values()):
        raise ValueError(f"expected rows of three positive times, got {dict(rows)}")
    products, rest, floors = zip(*rows.values(), strict=True)
    totals = [a + b for a, b in zip(products, rest, strict=True)]
    places = range(len(rows))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.8, 1.3 + 0.42 * len(rows)), layout="constrained")
        axes = figure.subplots()
        axes.barh(places, products, 0.6, color=COLORS[0], label="products with weights")
        last = axes.barh(places, rest, 0.6, left=products, color=LIGHT, label="all else")
        speeds = [f"{1000 / total:.0f} tokens/s" for total in totals]
        axes.bar_label(last, speeds, padding=4, fontsize=9)
        for place, time in zip(places, floors, strict=True):
            axes.plot([time, time], [place - 0.42, place + 0.42], color=COLORS[1], lw=3,
                label=None if place else floor)  # fmt: skip
        axes.set_yticks(places, list(rows))
        axes.invert_yaxis()
        axes.set_xlim(0, 1.25 * max(totals))
        axes.set_xlabel("ms a token")
        axes.tick_params("y", length=0)
        figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    parts = "; ".join(
        f"{name}: products {a:.0f}, all else {b:.0f}, {floor} {c:.0f}"
        for name, (a, b, c) in rows.items()
    )
    return Picture(figure, f"Bars of ms a token. {parts}.")
