"""Where the panels of a figure are, so that a narrow page can put them below each other."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

MARGIN = 3  # pixels: letters reach a little beyond their boxes


def panels(figure: Figure, dpi: int) -> dict[str, Any] | None:
    """Return where a figure can be cut between panels that stand side by side; None if there are none.

    Args:
        figure: finished.
        dpi: pixels an inch of its rendering.

    Returns:
        In pixels from the top left corner:
            "columns": (left, right, whether it has labels of its own) of each column of panels,
            "band": (top, bottom) of all panels: what is above and below belongs to the whole figure,
            "labels": (right, [(top, bottom) of each row]) of the labels on the left of the first column.
    """
    if len(figure.axes) < 2:
        return None
    figure.draw_without_rendering()
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
    frames = [box(axes.bbox) for axes in columns[0]]
    return {
        "columns": [
            (min(tight[a][0] for a in own), max(tight[a][1] for a in own), _has_labels(own))
            for own in columns
        ],
        "band": (
            max(0, min(t[2] for t in tight.values()) - MARGIN),
            max(t[3] for t in tight.values()) + MARGIN,
        ),
        "labels": (
            min(left for left, *_ in frames),
            sorted({(top, bottom) for _, _, top, bottom in frames}),
        ),
    }


def _has_labels(column: list[Axes]) -> bool:
    """Say whether the panels of a column name their rows."""
    ticks = (label for axes in column for label in axes.get_yticklabels())
    return any(label.get_visible() and label.get_text() for label in ticks)
