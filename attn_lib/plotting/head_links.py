"""Which query head reads which key/value head, as lines between two rows of boxes."""

from collections.abc import Mapping, Sequence
from math import nan

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attn_lib.plotting.charts import COLORS
from attn_lib.plotting.picture import STYLE, Picture


def head_links(
    reads: Mapping[str, Sequence[int]], num_kv_heads: Sequence[int] | int
) -> Picture:
    """Draw panels with query heads above, K/V heads below, and a line from each to what it reads.

    A K/V head that nobody reads is an empty gray box.

    Args:
        reads: a title, and for each query head the number of the K/V head that it reads.
        num_kv_heads: Hkv, one for all panels or one for each.

    Raises:
        ValueError: there is not one num_kv_heads for each panel, or a K/V head does not exist.
    """
    counts = [num_kv_heads] * len(reads) if isinstance(num_kv_heads, int) else num_kv_heads
    if len(counts) != len(reads):
        raise ValueError(
            f"expected one num_kv_heads for each of {len(reads)} panels, got {len(counts)}"
        )
    for (title, links), count in zip(reads.items(), counts, strict=True):
        for j in links:
            if not 0 <= j < count:
                raise ValueError(f"{title}: expected K/V heads 0 to {count - 1}, got {j}")
    columns = 2 if len(reads) in (2, 4) else min(3, len(reads))
    rows = -(-len(reads) // columns)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(0.5 + 1.95 * columns, 1.2 * rows), layout="constrained")
        panels = list(figure.subplots(rows, columns, squeeze=False).flat)
        for axes in panels:
            axes.axis("off")
        for axes, (title, links), count in zip(panels, reads.items(), counts, strict=False):
            _draw(axes, links, count)
            axes.set_title(title, fontsize=10)
        for axes in panels[::columns]:
            axes.text(-0.3, 1, "query\nheads", ha="right", va="center", fontsize=8)
            axes.text(-0.3, 0, "K/V\nheads", ha="right", va="center", fontsize=8)
    parts = "; ".join(
        f"{title}: {', '.join(map(str, links))} of {count}"
        for (title, links), count in zip(reads.items(), counts, strict=True)
    )
    return Picture(figure, f"The K/V head that each query head reads. {parts}.")


def _draw(axes: Axes, links: Sequence[int], count: int) -> None:
    width = len(links)
    above = [i + 0.5 for i in range(width)]
    below = [(j + 0.5) * width / count for j in range(count)]
    ends = [
        (x, below[j], nan) for x, j in zip(above, links, strict=True)
    ]  # nan: lift the pen
    axes.plot(sum(ends, ()), (1, 0, nan) * width, color=COLORS[0], linewidth=1.2, zorder=1)
    unread = [x for j, x in enumerate(below) if j not in links]
    _boxes(axes, above, 1, facecolor="#cfe0f2", edgecolor=COLORS[0])
    _boxes(
        axes,
        [below[j] for j in sorted({*links})],
        0,
        facecolor="#fbdcc2",
        edgecolor=COLORS[1],
    )
    _boxes(axes, unread, 0, facecolor="white", edgecolor="#b5b5b5")
    for y, places in ((1, above), (0, below)):
        for number, x in enumerate(places):
            axes.text(x, y, f"{number}", ha="center", va="center_baseline", fontsize=8)
    axes.set_xlim(-0.1, width + 0.1)
    axes.set_ylim(-0.35, 1.35)


def _boxes(
    axes: Axes, places: Sequence[float], y: float, facecolor: str, edgecolor: str
) -> None:
    axes.scatter(
        places, [y] * len(places), s=150, marker="s", linewidth=1, zorder=2,
        facecolor=facecolor, edgecolor=edgecolor,
    )  # fmt: skip
