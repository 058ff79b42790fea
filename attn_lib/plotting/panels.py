"""Where the panels of a figure are, so that a narrow page can put them below each other."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

MARGIN = 3  # pixels: letters reach a little beyond their boxes


def panels(figure: Figure, dpi: int) -> dict[str, Any] | None:
    """Return where a figure can be cut between panels that stand side by side; None if there are none.

    Args:
        figure: as it was drawn last: another drawing could move its panels.
        dpi: pixels an inch of that.

    Returns:
        In pixels from the top left corner:
            "columns": of each column of panels its "x" (left, right), the "rows" [(top, bottom), ...] of its
                panels, and whether they have "labels" of their own,
            "labels": (left, right) of the labels beside the first column,
            "band": (top, bottom) of all panels: what is above and below belongs to the whole figure.
    """
    if len(figure.axes) < 2:
        return None
    scale, height = dpi / figure.dpi, figure.bbox.height

    def box(bounds) -> tuple[int, ...]:
        top, bottom = height - bounds.y1, height - bounds.y0
        return tuple(round(scale * x) for x in (bounds.x0, bounds.x1, top, bottom))

    drawn = [axes for axes in figure.axes if axes.axison]
    tight = {axes: box(axes.get_tightbbox()) for axes in drawn}
    columns: list[list[Axes]] = []
    end = 0
    for axes in sorted(drawn, key=lambda axes: tight[axes][0]):
        left, right, *_ = tight[axes]
        if not columns or left >= end:
            columns.append([])
        columns[-1].append(axes)
        end = max(end, right)
    if sum(any(a.get_label() != "<colorbar>" for a in own) for own in columns) < 2:
        return None
    return {
        "columns": [
            {
                "x": (min(tight[a][0] for a in own), max(tight[a][1] for a in own)),
                "rows": sorted({box(axes.bbox)[2:] for axes in own}),
                "labels": _has_labels(own),
            }
            for own in columns
        ],
        "labels": (
            min(tight[axes][0] for axes in columns[0]),
            min(box(axes.bbox)[0] for axes in columns[0]),
        ),
        "band": (
            max(0, min(t[2] for t in tight.values()) - MARGIN),
            max(t[3] for t in tight.values()) + MARGIN,
        ),
    }


def _has_labels(column: list[Axes]) -> bool:
    """Say whether the panels of a column name their rows."""
    ticks = (label for axes in column for label in axes.get_yticklabels())
    return any(label.get_visible() and label.get_text() for label in ticks)
