"""Where the parameters are: one bar for each model, cut into the shares of its parts."""

from collections.abc import Mapping, Sequence

import matplotlib as mpl
from matplotlib.figure import Figure

from attn_lib.plotting.grouped_bars import FILLS
from attn_lib.plotting.picture import STYLE, Picture

INK = ("white", "black", "white", "black")  # readable on the fills


def shares(
    parts: Mapping[str, Sequence[float]],
    labels: Sequence[str],
    *,
    xlabel: str,
    title: str = "",
) -> Picture:
    """Draw a bar of the same length for each label, first label on top; each part by its share.

    Args:
        parts: a legend and one amount for each label.
        labels: names, left of the bars.
        xlabel: what the whole is.
        title: above the chart.

    Raises:
        ValueError: there are more parts than fills, or a part has not one amount for each label.
    """
    if not 0 < len(parts) <= len(FILLS):
        raise ValueError(f"expected 1 to {len(FILLS)} parts, got {len(parts)}")
    for name, amounts in parts.items():
        if len(amounts) != len(labels):
            raise ValueError(
                f"{name}: expected one amount for each of {len(labels)} labels, got {len(amounts)}"
            )
    totals = [sum(amounts) for amounts in zip(*parts.values(), strict=True)]
    percent = {
        name: [100 * a / total for a, total in zip(amounts, totals, strict=True)]
        for name, amounts in parts.items()
    }
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.8, 1.0 + 0.36 * len(labels)), layout="constrained")
        axes = figure.subplots()
        left = [0.0] * len(labels)
        for n, (name, widths) in enumerate(percent.items()):
            drawn = axes.barh(
                range(len(labels)), widths, 0.7,
                left=left, label=name, color=FILLS[n], edgecolor="white",
            )  # fmt: skip
            numbers = [f"{width:.0f}" if width >= 5 else "" for width in widths]
            axes.bar_label(drawn, numbers, label_type="center", fontsize=9, color=INK[n])
            left = [start + width for start, width in zip(left, widths, strict=True)]
        axes.set_yticks(range(len(labels)), labels)
        axes.invert_yaxis()
        axes.set(xlim=(0, 100), xlabel=xlabel, title=title)
        axes.tick_params("y", length=0)
        axes.spines["left"].set_visible(False)
        figure.legend(loc="outside lower center", ncols=len(parts), frameon=False)
    rows = "; ".join(
        f"{label}: " + ", ".join(f"{name} {v[i]:.0f}" for name, v in percent.items())
        for i, label in enumerate(labels)
    )
    heading = f"{title}. " if title else ""
    return Picture(figure, f"{heading}Bars of {xlabel}. {rows}.")
