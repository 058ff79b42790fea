"""Where the parts of a figure are: a dark page keeps its maps, a phone stacks its panels."""

from collections.abc import Iterable
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.path import Path

SCALES = ("cividis", "PuOr")  # their light and dark colors mean something
MARGIN = 3  # pixels: letters reach a little beyond their boxes

Box = tuple[
    int, int, int, int
]  # left, top, right, bottom, in pixels from the top left corner


def panels(figure: Figure, dpi: int) -> dict[str, Any]:
    """Return the places of a figure's parts, as it was drawn last.

    Args:
        figure: a drawn one; another drawing could move its parts.
        dpi: pixels an inch of that.

    Returns:
        "maps": the boxes of all maps in colors of a scale, and of the bars of scales.
        If panels stand side by side, also:
            "columns": of each column of panels its "box", the "rows" [(top, bottom), ...] of its panels, and
                whether they have "labels" of their own,
            "labels": (left, right) of the labels beside the first column,
            "around": the boxes of what belongs to the whole figure, above and below all panels.
    """
    scale, height = dpi / figure.dpi, figure.bbox.height

    def box(bounds) -> Box:
        left, right, top, bottom = (
            bounds.x0,
            bounds.x1,
            height - bounds.y1,
            height - bounds.y0,
        )
        return tuple(round(scale * x) for x in (left, top, right, bottom))

    found: dict[str, Any] = {"maps": sorted({box(one) for one in _maps(figure)})}
    drawn = [axes for axes in figure.axes if axes.axison]
    tight = {axes: box(axes.get_tightbbox()) for axes in drawn}
    columns: list[list[Axes]] = []
    end = 0
    for axes in sorted(drawn, key=lambda axes: tight[axes][0]):
        left, _, right, _ = tight[axes]
        if not columns or left >= end:
            columns.append([])
        columns[-1].append(axes)
        end = max(end, right)
    if sum(any(a.get_label() != "<colorbar>" for a in own) for own in columns) < 2:
        return found
    _, top, _, bottom = _union(tight.values())
    others = [*figure.texts, *figure.legends]
    boxes = [box(one.get_window_extent()) for one in others if not _is_empty(one)]
    above = [one for one in boxes if one[3] <= top + MARGIN]
    below = [one for one in boxes if one[1] >= bottom - MARGIN]
    beside = [one for one in boxes if one not in above + below]
    wholes = [_union(tight[axes] for axes in own) for own in columns]
    labels = (wholes[0][0], min(box(axes.bbox)[0] for axes in columns[0]))
    wholes[0] = _union([wholes[0], *beside])
    return found | {
        "columns": [
            {
                "box": whole,
                "rows": sorted({box(axes.bbox)[1::2] for axes in own}),
                "labels": _has_labels(own),
            }
            for whole, own in zip(wholes, columns, strict=True)
        ],
        "labels": labels,
        "around": [_union(part) if part else None for part in (above, below)],
    }


def _maps(figure: Figure) -> Iterable[Any]:
    """Yield the bounds of what is drawn in the colors of a scale."""
    artist: Any
    for artist in figure.findobj(lambda artist: isinstance(artist, ScalarMappable)):
        if artist.get_array() is not None and artist.get_cmap().name in SCALES:
            if isinstance(artist, AxesImage):
                yield artist.get_window_extent()
            elif artist.axes.name == "3d":
                drawn = Path.make_compound_path(*artist.get_paths())
                yield drawn.get_extents(artist.axes.transData)
            else:
                yield artist.axes.bbox


def _union(boxes: Iterable[Box]) -> Box:
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def _is_empty(artist: Artist) -> bool:
    return getattr(artist, "get_text", lambda: "legend")() == ""


def _has_labels(column: list[Axes]) -> bool:
    """Say whether the panels of a column name their rows."""
    ticks = (label for axes in column for label in axes.get_yticklabels())
    return any(label.get_visible() and label.get_text() for label in ticks)
