"""Dots: single measurements, compared with each other, with a guess or with a limit.

Everywhere here `xlabel` and `ylabel` name an axis with its unit, `title` stands above, and a
ValueError says what was expected and what was given.
"""

import math
from collections.abc import Mapping, Sequence

from attn_lib.plotting.bar_charts import rows_scale
from attn_lib.plotting.figure import (
    Figure,
    Line,
    Mark,
    Panel,
    Rule,
    Scale,
    Shade,
    Text,
    expect,
    expect_few,
)
from attn_lib.plotting.picture import Picture
from attn_lib.plotting.style import COLORS, INK, styled

Pairs = Sequence[tuple[float, float]]


def agreement(
    x: Sequence[float],
    y: Sequence[float],
    names: Sequence[str],
    *,
    xlabel: str,
    ylabel: str,
    named: Sequence[str] = (),
    hardly: float = 0.0,
) -> Picture:
    """Draw a dot for each thing that was measured in two ways, the diagonal, and both zeros.

    Args:
        x, y: what the first and the second way give for each thing, in the same unit.
        names: of the things.
        named: the names that are written beside their dots.
        hardly: what is not farther from zero counts as zero: gray bands.
    """
    lengths = (len(x), len(y), len(names))
    expect(len({*lengths}) == 1 and lengths[0] > 0, "as many x, y and names", lengths)
    expect({*named} <= {*names}, f"to name some of {list(names)}", list(named))
    low, high = min(*x, *y), max(*x, *y)
    margin = 0.08 * (high - low) or 1
    low, high = low - margin, high + margin
    gray = {"color": "#888888", "lw": 1}
    beside = {"ha": "left", "va": "top", "fontsize": 9}
    places = [names.index(name) for name in named]
    marks: list[Mark] = [
        *(Shade(-hardly, hardly, axis) for axis in ("x", "y") if hardly),
        Rule(0, "y", look=gray),
        Rule(0, "x", look=gray),
        Line([low, high], [low, high], look=gray | {"ls": "--"}),
        Line(x, y, look=styled(0, ls="", marker="o", ms=5, alpha=0.7)),
        *(Line([x[i]], [y[i]], look=styled(1, marker="o", ms=7)) for i in places),
        *(Text(x[i], y[i], names[i], (7, -3), look=beside) for i in places),
    ]
    said = "; ".join(f"{names[i]} {x[i]:.1f} and {y[i]:.1f}" for i in places)
    above = [sum(value > hardly for value in values) for values in (x, y)]
    below = [sum(value < -hardly for value in values) for values in (x, y)]
    across, up = Scale(xlabel, low, high), Scale(ylabel, low, high)
    return Figure(
        [Panel(marks, x=across, y=up, aspect="equal")],
        (4.6, 4.2),
        f"{len(x)} dots: {ylabel} over {xlabel}. Above zero: {above[1]} and {above[0]}."
        + (
            f" Below: {below[1]} and {below[0]}; the others hardly differ from it."
            if hardly
            else ""
        )
        + (f" {said}." if said else ""),
        closing="",
    ).picture()


def outcomes(
    points: Mapping[str, Pairs], *, xlabel: str, ylabel: str, chance: float
) -> Picture:
    """Draw a dot for each run, with a logarithmic horizontal axis, and the outcome of a guess.

    Args:
        points: for each setting, the (x, y) of its runs.
        chance: the y of a guess.
    """
    expect_few(points, "settings")
    guess = {"ha": "left", "va": "baseline", "fontsize": 8, "color": INK}
    marks: list[Mark] = []
    for n, (name, runs) in enumerate(points.items()):
        look = styled(n, marked=True, ls="", ms=6, alpha=0.8)
        said = ", ".join(f"({x:.2g}, {y:.2g})" for x, y in runs)
        x, y = zip(*runs, strict=True)
        marks.append(Line(x, y, name, look, says=f"{name} {said}"))
    marks += [
        Rule(chance),
        Text(0, chance, "a guess", (4, 3), ("axes fraction", "data"), guess),
    ]
    up = Scale(ylabel, -0.06 * chance, 1.2 * chance)
    return Figure(
        [Panel(marks, x=Scale(xlabel, log=10, marks="powers"), y=up, grid="both")],
        (5.4, 3.1),
        f"Dots of {ylabel} over {xlabel}: ",
        closing=f". A guess: {chance:.2f}.",
        legend="outside lower center",
        legend_columns=2,
    ).picture()


def time_over_bytes(points: Mapping[str, Pairs], *, gigabytes_per_second: float) -> Picture:
    """Draw times over megabytes, and the line where reading alone takes so long.

    Args:
        points: for each setting, pairs of the megabytes (10^6 bytes) that were read and the
            milliseconds that it took.
        gigabytes_per_second: the speed of the memory, in 10^9 bytes.
    """
    expect_few(points, "settings")
    sizes = [size for pairs in points.values() for size, _ in pairs]
    ends = [min(sizes) / 1.3, max(sizes) * 1.3]
    floor = [megabytes / gigabytes_per_second for megabytes in ends]
    least = f"eading alone, at {gigabytes_per_second:.1f} GB/s"
    marks = []
    for n, (name, pairs) in enumerate(points.items()):
        said = ", ".join(f"{size:.3g} MB in {time:.2g} ms" for size, time in pairs)
        look = styled(n, marked=True, ms=5, lw=1)
        x, y = zip(*pairs, strict=True)
        marks.append(Line(x, y, name, look, says=f"{name} {said}"))
    marks.append(Line(ends, floor, f"r{least}", {"color": INK, "ls": "--"}))
    left, right = ends
    across = Scale("read for one token (MB)", left, right, log=10, marks="1 2 5")
    up = Scale("time for one token (ms)", log=10, marks="1 2 5")
    return Figure(
        [Panel(marks, x=across, y=up, grid="both", legend="best")],
        (5.4, 3.4),
        "Times for one token over the megabytes that it reads. ",
        closing=f". R{least}: {floor[0]:.2g} to {floor[1]:.2g} ms.",
        raster=32,
    ).picture()


def strips(
    panels: Mapping[str, Mapping[str, Sequence[float]]],
    *,
    xlabel: str,
    limits: tuple[float, float],
    lines: Mapping[str, float],
) -> Picture:
    """Draw panels of rows of dots on one logarithmic axis, and thresholds across all of them.

    Args:
        panels: for each title, its rows; for each row, positive values. Those outside the limits are
            drawn at the edge, infinite ones in a column beside the axis: "not comparable".
        limits: the ends of the axis.
        lines: the names of the thresholds, and where they are.
    """
    low, high = limits
    beside, end = 8 * high, 30 * high
    powers = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1, 2)

    def dots(row: int, name: str, values: Sequence[float]) -> Line:
        xs = [min(max(x, low), high) if math.isfinite(x) else beside for x in values]
        # One above the other, so that equal numbers are seen as many.
        ys = [row + 0.5 * (i / len(xs) - 0.5) for i in range(len(xs))]
        said = f"{name}, {len(values)} from {min(values):.0e} to {max(values):.0e}"
        look = styled(row, marked=True, ls="", ms=3.5, alpha=0.7, clip_on=False)
        return Line(xs, ys, look=look, says=said)

    def panel(title: str, rows: Mapping[str, Sequence[float]]) -> Panel:
        first, last = title == next(iter(panels)), title == list(panels)[-1]
        above, look = ("data", "axes fraction"), {"va": "bottom", "fontsize": 8}
        names = {**lines, "not comparable": beside} if first else {}
        marks: list[Mark] = [
            Shade(2 * high, end),
            *(dots(row, *pair) for row, pair in enumerate(rows.items())),
            *(Rule(place, "x") for place in lines.values()),
            *(Text(at, 1, name, (0, 2), above, look) for name, at in names.items()),
        ]
        ticks = [10.0**n for n in powers]
        across = Scale(xlabel if last else "", low, end, ticks, log=10, marks="powers")
        title_look = {"loc": "left", "pad": 14 if first else 6}
        return Panel(
            marks, title, across, rows_scale(list(rows), 0.5, 0.6), title_look=title_look
        )

    marks = ", ".join(f"{name} at {place:.0e}" for name, place in lines.items())
    return Figure(
        [panel(title, rows) for title, rows in panels.items()],
        (5.4, 0.9 + len(panels) * (0.35 + 0.42 * max(map(len, panels.values())))),
        f"Dots of {xlabel}. ",
        closing=f". Lines: {marks}.",
        columns=1,
        shared="x",
    ).picture()


def trials(
    results: Mapping[str, Sequence[float]],
    *,
    xlabel: str,
    title: str = "",
    decimals: int = 2,
    chance: float | None = None,
    lowest: float = 0.0,
) -> Picture:
    """Draw a row for each method: a dot for each run, a bar from the lowest to the highest, the mean.

    Args:
        results: for each method, what its runs reached; a method without chance has one.
        decimals: of the means beside the rows.
        chance: the result of a guess, drawn as a dashed line.
        lowest: where the axis begins.
    """
    good = bool(results) and all(len(values) for values in results.values())
    expect(good, "methods with at least one run each", results)
    marks: list = []
    for row, (name, values) in enumerate(results.items()):
        mean = sum(values) / len(values)
        said = f"{name} " + ", ".join(f"{value:.{decimals}f}" for value in values)
        dots = styled(0, ls="", marker="o", ms=5, alpha=0.6)
        beside = {"ha": "left", "fontsize": 9}
        marks += [
            Line([min(values), max(values)], [row, row], look=styled(0, lw=2)),
            Line(values, [row] * len(values), look=dots, says=said),
            Line([mean, mean], [row - 0.22, row + 0.22], look=styled(1, lw=2.5)),
            Text(max(values), row, f"{mean:.{decimals}f}", (9, 0), look=beside),
        ]
    if chance is not None:
        look = {"ha": "left", "va": "top", "fontsize": 8, "color": INK}
        above = ("data", "axes fraction")
        marks += [Rule(chance, "x"), Text(chance, 1, "a guess", (4, -4), above, look)]
    every = [value for values in results.values() for value in values]
    every += [] if chance is None else [chance]
    reach = max(every) + 0.16 * ((max(every) - min(every)) or 1)
    across = Scale(xlabel, lowest, reach)
    return Figure(
        [Panel(marks, x=across, y=rows_scale(list(results)), grid="x")],
        (5.4, 0.9 + 0.42 * len(results)),
        f"Dots of {xlabel}, one for each run. ",
        closing="." if chance is None else f". A guess: {chance:.{decimals}f}.",
        title=title,
    ).picture()


def levels(
    rows: Mapping[str, tuple[Sequence[float], float]],
    *,
    bits: int,
    xlabel: str,
    limit: float | None = None,
) -> Picture:
    """Draw a number line for each row: a dot for each number, a tick for each level.

    The levels of a row are its scale times the whole numbers that so many bits hold, symmetric
    around 0. From each dot a line leads down to the level that it is rounded to.

    Args:
        rows: for each label, the numbers, and the scale: the distance of two levels.
        bits: of a rounded number; the largest is 2^(bits - 1) - 1.
        limit: where the picture ends on both sides; numbers beyond it are left out.
    """
    top = 2 ** (bits - 1) - 1
    if limit is None:
        limit = 1.04 * max(scale * top for _, scale in rows.values())
    marks: list[Line] = []
    for row, (label, (values, scale)) in enumerate(rows.items()):
        shown = [value for value in values if abs(value) <= limit]
        near = [k * scale for k in range(-top, top + 1) if abs(k * scale) <= limit]
        hit = [max(-top, min(top, round(value / scale))) * scale for value in shown]
        said = f"{label}: {len(shown)} numbers on {len(set(hit))} of {len(near)} levels"
        dots = styled(0, ls="", marker="o", ms=3.5)
        marks += [
            strokes([(x, x) for x in near], row + 0.05, row + 0.35, "#777777", 0.7),
            strokes(zip(shown, hit, strict=True), row - 0.2, row + 0.05, COLORS[1], 0.8),
            Line(shown, [row - 0.2] * len(shown), look=dots, says=said),
        ]
    across, up = Scale(xlabel, -limit, limit), rows_scale(list(rows), 0.45, 0.55)
    return Figure(
        [Panel(marks, x=across, y=up)],
        (6.2, 0.6 + 0.5 * len(rows)),
        f"Number lines of {xlabel}, from {-limit:.2g} to {limit:.2g}, {bits} bits. ",
        raster=32,
    ).picture()


def strokes(pairs, low: float, high: float, color: str, lw: float) -> Line:
    """Return many short lines, from the first x of each pair at `low` to the second at `high`."""
    ends = [(start, end, math.nan) for start, end in pairs]  # nan: lift the pen
    xs = [x for three in ends for x in three]
    return Line(xs, [low, high, math.nan] * len(ends), look={"color": color, "lw": lw})
