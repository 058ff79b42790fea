"""Which test finds which mutant: a row for each test, a column for each implementation."""

from collections.abc import Collection, Mapping, Sequence

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attn_lib.plotting.charts import COLORS
from attn_lib.plotting.picture import STYLE, Picture

CELL, ROW = 0.105, 0.165  # inches, wide and high
GAP = 0.6  # cells between two groups
LEFT, RIGHT = 1.5, 0.32  # inches for the names of the tests, and for their counts
TOGETHER = "together"


def mutant_table(
    accused: Mapping[str, Collection[str]],
    kinds: Mapping[str, Sequence[str]],
    right: Sequence[str],
) -> Picture:
    """Draw a dark cell for each wrong implementation that a test finds; the last row is all tests.

    Args:
        accused: for each test, the names of the implementations that fail it.
        kinds: the wrong implementations, in groups with a name.
        right: the right ones; one that is accused gets an orange cross.

    Raises:
        ValueError: there is no test, or an accused name is neither wrong nor right.
    """
    names = [name for group in kinds.values() for name in group]
    everyone = {name for found in accused.values() for name in found}
    if not accused or not everyone <= {*names, *right}:
        strangers = sorted(everyone - {*names, *right})
        raise ValueError(f"expected tests of the given implementations, got {strangers}")
    rows = {**accused, TOGETHER: everyone}
    groups = {**kinds, "right": right}
    places = _places(groups)
    width, height = max(places.values()) + 1, len(rows) + GAP
    size = (LEFT + CELL * width + RIGHT, ROW * height + 0.35)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=size)
        box = (LEFT / size[0], 0.05 / size[1], CELL * width / size[0])
        axes = figure.add_axes((*box, ROW * height / size[1]))
        levels = [n + (GAP if name == TOGETHER else 0) for n, name in enumerate(rows)]
        for level, (name, found) in zip(levels, rows.items(), strict=True):
            _draw_row(axes, level, found, places, right)
            axes.text(-0.9, level, name, ha="right", va="center", fontsize=8.5)
            count = len({*found} & {*names})
            axes.text(width + 0.2, level, f"{count}", ha="left", va="center", fontsize=8.5)
        _name_groups(axes, groups, places)
        axes.set(xlim=(-0.5, width - 0.5), ylim=(levels[-1] + 0.6, -0.6))
        axes.set_axis_off()
    # As SVG, a thousand cells would make a file six times as large.
    return Picture(figure, _describe(rows, len(names), right), colors=16, vector=False)


def _places(groups: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Return the column of each implementation: groups stand apart."""
    found: dict[str, float] = {}
    for number, group in enumerate(groups.values()):
        for name in group:
            found[name] = len(found) + GAP * number
    return found


def _draw_row(
    axes: Axes,
    level: float,
    found: Collection[str],
    places: Mapping[str, float],
    right: Sequence[str],
) -> None:
    missed = [place for name, place in places.items() if name not in found]
    caught = [places[name] for name in found if name not in right]
    alarms = [places[name] for name in found if name in right]
    size = 72 * CELL * 0.75
    for xs, marker, color in (
        (missed, "s", "#e4e4e4"),
        (caught, "s", COLORS[0]),
        (alarms, "x", COLORS[1]),
    ):
        axes.plot(xs, [level] * len(xs), marker, color=color, ms=size, clip_on=False)


def _name_groups(
    axes: Axes, groups: Mapping[str, Sequence[str]], places: Mapping[str, float]
) -> None:
    for name, group in groups.items():
        middle = (places[group[0]] + places[group[-1]]) / 2
        axes.text(middle, -0.9, name, ha="center", va="bottom", fontsize=8.5)


def _describe(
    rows: Mapping[str, Collection[str]], number: int, right: Sequence[str]
) -> str:
    parts = "; ".join(
        f"{name} {len([one for one in found if one not in right])}"
        for name, found in rows.items()
    )
    alarms = sorted({name for found in rows.values() for name in found if name in right})
    end = (
        f" Right ones accused: {', '.join(alarms)}." if alarms else " No right one accused."
    )
    return f"How many of {number} mutants each test finds: {parts}.{end}"
