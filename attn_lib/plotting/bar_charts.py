"""Bars for names, parts or counts.

Everywhere here `xlabel` and `ylabel` name an axis with its unit, `title` stands above, and a
ValueError says what was expected and what was given.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from attn_lib.plotting.figure import (
    Bars,
    Figure,
    Line,
    Mark,
    Panel,
    Scale,
    expect_few,
    expect_lengths,
)
from attn_lib.plotting.picture import Picture
from attn_lib.plotting.style import COLORS, FILLS, ON_FILLS, styled


def bars(
    labels: Sequence[str],
    panels: Mapping[str, Sequence[float]],
    *,
    ylabel: str,
    title: str = "",
) -> Picture:
    """Draw bars over the same labels, one panel beside the other, on one scale.

    Args:
        labels: below the bars.
        panels: a title and one value for each label, for each panel.
    """
    expect_lengths(panels, len(labels))
    across = Scale(ticks=range(len(labels)), names=labels, turned=True)

    def panel(name: str, values: Sequence[float], ylabel: str) -> Panel:
        words = [f"{value:.2f}" for value in values]
        said = ", ".join(map(" ".join, zip(labels, words, strict=True)))
        return Panel([Bars(values, words=words, says=said)], name, across, Scale(ylabel))

    return Figure(
        [panel(name, v, "" if i else ylabel) for i, (name, v) in enumerate(panels.items())],
        (0.6 + 2.4 * len(panels), 2.6),
        f"Bars of {ylabel}. ",
        "; ",
        title=title,
        shared="y",
    ).picture()


def rows_scale(names: Sequence[str], low: float = 0.5, high: float = 0.5) -> Scale:
    """Return a vertical scale with one name for each row, the first on top."""
    places = range(len(names))
    return Scale(low=len(names) - low, high=-high, ticks=places, names=names, bare=True)


def rows_of_bars(labels: Sequence[str], marks: Sequence, xlabel: str, high: float) -> Panel:
    """Return a panel of lying bars, the first label on top, described row by row."""
    parts = [mark for mark in marks if isinstance(mark, Bars) and mark.words]
    said = "; ".join(
        f"{label}: " + ", ".join(f"{part.name} {part.words[i]}" for part in parts)
        for i, label in enumerate(labels)
    )
    return Panel(marks, x=Scale(xlabel, 0, high), y=rows_scale(labels), says=said)


def grouped_bars(
    labels: Sequence[str],
    groups: Mapping[str, Sequence[float]],
    *,
    xlabel: str,
    title: str = "",
    decimals: int = 0,
    vector: bool = True,
) -> Picture:
    """Draw for each label one bar of each group, with the numbers beside them.

    Args:
        labels: names, left of the bars.
        groups: a legend and one value for each label.
        decimals: of the numbers.
        vector: as SVG too; without, the picture takes a third of the room.
    """
    expect_few(groups, "groups", len(FILLS))
    expect_lengths(groups, len(labels))
    longest = max(map(max, groups.values()))
    thickness = 0.8 / len(groups)
    marks = []
    for n, (name, values) in enumerate(groups.items()):
        shift = (n - (len(groups) - 1) / 2) * thickness
        places = [i + shift for i in range(len(labels))]
        words = [f"{value:,.{decimals}f}" for value in values]
        rest = (0, 0.9 * thickness, True, words, {"padding": 3})
        marks.append(Bars(values, name, FILLS[n], places, *rest))
    return Figure(
        [rows_of_bars(labels, marks, xlabel, high=1.14 * longest)],
        (5.4, 1.1 + len(labels) * (0.12 + 0.16 * len(groups))),
        f"Bars of {xlabel}. ",
        title=title,
        legend="outside lower center" * (len(groups) > 1),
        raster=0 if vector else 32,
    ).picture()


def shares(
    parts: Mapping[str, Sequence[float]],
    labels: Sequence[str],
    *,
    xlabel: str,
    title: str = "",
) -> Picture:
    """Draw a bar of the same length for each label, cut into the shares of its parts.

    Args:
        parts: a legend and one amount for each label.
        labels: names, left of the bars.
        xlabel: the whole.
    """
    expect_few(parts, "parts", len(FILLS))
    expect_lengths(parts, len(labels))
    totals = [sum(amounts) for amounts in zip(*parts.values(), strict=True)]
    left, marks = [0.0] * len(labels), []
    for n, (name, amounts) in enumerate(parts.items()):
        widths = [100 * a / total for a, total in zip(amounts, totals, strict=True)]
        inside = {"label_type": "center", "fontsize": 9, "color": ON_FILLS[n]}
        words = [f"{width:.0f}" for width in widths]
        marks.append(
            Bars(widths, name, FILLS[n], None, left, 0.7, True, words, inside, least=5)
        )
        left = [start + width for start, width in zip(left, widths, strict=True)]
    return Figure(
        [rows_of_bars(labels, marks, xlabel, high=100)],
        (5.8, 1.0 + 0.36 * len(labels)),
        f"Bars of {xlabel}. ",
        title=title,
        legend="outside lower center",
    ).picture()


def token_times(rows: Mapping[str, tuple[float, float, float]], *, floor: str) -> Picture:
    """Draw a bar for each way to store weights; a mark says how short its dark part could be.

    Args:
        rows: for each way, milliseconds a token: its products with weights; all else; and how long
            memory takes to deliver these weights.
        floor: the name of the mark.
    """
    products, rest, floors = zip(*rows.values(), strict=True)
    totals = [a + b for a, b in zip(products, rest, strict=True)]
    speeds = [f"{1000 / total:.0f} tokens/s" for total in totals]
    beside = {"padding": 4, "fontsize": 9}
    names = ("products with weights", "all else")
    look = {"color": COLORS[1], "lw": 3}
    marks = [
        Bars(products, names[0], COLORS[0], thickness=0.6, lying=True),
        Bars(rest, names[1], "#b9c9da", None, products, 0.6, True, speeds, beside),
        *(
            Line([time, time], [i - 0.42, i + 0.42], "" if i else floor, look)
            for i, time in enumerate(floors)
        ),
    ]
    said = "; ".join(
        f"{name}: products {a:.0f}, all else {b:.0f}, {floor} {c:.0f}"
        for name, (a, b, c) in rows.items()
    )
    panel = rows_of_bars(list(rows), marks, "ms a token", high=1.25 * max(totals))
    return Figure(
        [replace(panel, says=said)],
        (5.8, 1.3 + 0.42 * len(rows)),
        "Bars of ms a token. ",
        legend="outside lower center",
    ).picture()


def against_chance(
    seen: Sequence[int],
    expected: Sequence[float],
    *,
    xlabel: str,
    ylabel: str,
    title: str = "",
) -> Picture:
    """Draw how often 0, 1, 2, ... were seen as bars, and what chance gives as a line.

    Args:
        seen: how often each count was seen.
        expected: how often chance would give it, on average.
    """
    expect_lengths({"chance": expected}, len(seen))
    counts = range(len(seen))
    marks: list[Mark] = [
        Bars(seen, "seen", "#9db8d9"),
        Line(counts, expected, "by chance, on average", styled(1, marker="o", ms=4)),
    ]
    most = max(count for count in counts if seen[count])
    return Figure(
        [
            Panel(
                marks,
                x=Scale(xlabel, -0.6, len(seen) - 0.4, whole=True),
                y=Scale(ylabel, 0, 1.25 * max(*seen, *expected)),  # room for the legend
                legend="upper left",
            )
        ],
        (5.4, 2.7),
        f"Bars of {ylabel} over {xlabel}, 0 to {len(seen) - 1}, and a line of what chance "
        f"gives on average. The largest count seen is {most}. The bars are highest at "
        f"{max(counts, key=seen.__getitem__)}, the line at "
        f"{max(counts, key=expected.__getitem__)}",
        title=title,
        raster=32,
    ).picture()
