"""A figure as a value: marks in panels. `draw` gives the picture, `describe` its text alternative.

A function of this package makes such a value from its arguments; matplotlib is spoken to here alone.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import matplotlib as mpl
from matplotlib import patches, ticker
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure as Drawn
from matplotlib.path import Path
from torch import Tensor

from attn_lib.plotting.picture import Picture
from attn_lib.plotting.style import COLORS, GRAY, HATCHED, INK, LIGHT, MARKED, STYLE, ink_at

Look = Mapping[str, Any]  # keyword arguments of matplotlib
Point = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Mark:
    """Something that a panel shows, and its part of the description."""

    says: str = ""

    def draw(self, axes: Axes) -> Any:
        raise NotImplementedError


@dataclass(frozen=True)
class Line(Mark):
    """A line through points; with the line style "", dots at them."""

    x: Sequence[float]
    y: Sequence[float]
    name: str = ""
    look: Look = field(default_factory=dict)

    def draw(self, axes: Axes) -> None:
        axes.plot(self.x, self.y, label=self.name or None, **self.look)


@dataclass(frozen=True)
class Runs(Mark):
    """Lines that look alike: the runs of one setting, with one entry in the legend."""

    name: str
    lines: Sequence[Line]

    def draw(self, axes: Axes) -> None:
        for number, line in enumerate(self.lines):
            replace(line, name="" if number else self.name).draw(axes)


@dataclass(frozen=True)
class Rule(Mark):
    """A straight line across a panel, at a place on the axis "x" or "y"."""

    at: float
    axis: str = "y"
    name: str = ""
    look: Look = field(default_factory=lambda: {"color": GRAY, "lw": 1, "ls": "--"})

    def draw(self, axes: Axes) -> None:
        across = axes.axhline if self.axis == "y" else axes.axvline
        across(self.at, label=self.name or None, **self.look)


@dataclass(frozen=True)
class Shade(Mark):
    """A gray ground between two places on an axis."""

    start: float
    end: float
    axis: str = "x"

    def draw(self, axes: Axes) -> None:
        ground = axes.axvspan if self.axis == "x" else axes.axhspan
        ground(self.start, self.end, color=LIGHT, lw=0)


@dataclass(frozen=True)
class Text(Mark):
    """Words at a place, or at an offset in points from it.

    The coordinates are matplotlib's: "data", or "axes fraction" for parts of the panel.
    """

    x: float
    y: float
    words: str
    offset: Point = (0, 0)
    coords: tuple[str, str] = ("data", "data")
    look: Look = field(default_factory=dict)

    def draw(self, axes: Axes) -> None:
        place: dict[str, Any] = {"xycoords": self.coords, "textcoords": "offset points"}
        look = {"ha": "center", "va": "center", "annotation_clip": False, **self.look}
        axes.annotate(self.words, (self.x, self.y), self.offset, **place, **look)


@dataclass(frozen=True)
class Bars(Mark):
    """Bars at places, upright or lying, with words at their ends or inside."""

    values: Sequence[float]
    name: str = ""
    fill: str = COLORS[0]
    places: Sequence[float] | None = None
    starts: Sequence[float] | float = 0
    thickness: float = 0.8
    lying: bool = False
    words: Sequence[str] = ()
    words_look: Look = field(default_factory=dict)
    least: float = 0  # a shorter bar has no words

    def draw(self, axes: Axes) -> None:
        places = range(len(self.values)) if self.places is None else self.places
        look: dict[str, Any] = {"color": self.fill, "label": self.name or None}
        if self.lying:
            look |= {"left": self.starts, "edgecolor": "white", "lw": 0.8}
        bars = axes.barh if self.lying else axes.bar
        drawn = bars(places, self.values, self.thickness, **look)
        if self.words:
            pairs = zip(self.words, self.values, strict=True)
            words = [words if value >= self.least else "" for words, value in pairs]
            axes.bar_label(drawn, words, **{"fontsize": 8, **self.words_look})


@dataclass(frozen=True)
class Colors:
    """A scale of colors with its ends; the label stands beside its bar, no label means no bar."""

    low: float = 0
    high: float = 1
    name: str = "cividis"
    label: str = "attention weight"
    power: float = 1  # a half lets small numbers be seen
    ticks: Sequence[float] | None = None
    shrink: float = 0.8

    @property
    def map(self) -> mpl.colors.Colormap:
        return mpl.colormaps[self.name].with_extremes(bad="white")

    @property
    def norm(self) -> mpl.colors.Normalize:
        if self.power == 1:
            return mpl.colors.Normalize(self.low, self.high)
        return mpl.colors.PowerNorm(self.power, self.low, self.high)


def centered(values: Tensor, label: str) -> Colors:
    """Return a scale with 0 in its middle that holds all finite values."""
    largest = values[values.isfinite()].abs().max().item() if values.numel() else 1.0
    return Colors(-(largest or 1.0), largest or 1.0, "PuOr", label)


@dataclass(frozen=True)
class Cells(Mark):
    """Numbers as colors, a row below the other: one small image, so that files stay small.

    Args:
        values: (rows, columns).
        colors: their scale.
        hidden: (rows, columns), True where a cell is hatched instead.
        write: the words on a cell, "" for none.
        ruled: whether white lines separate the cells.
        size: of a cell.
        place: the corner of the first one.
        cover, cover_name: the look of hidden cells, and their name in the legend.
    """

    values: Tensor
    colors: Colors = Colors()
    hidden: Tensor | None = None
    write: Callable[[float], str] | None = None
    ruled: bool = False
    size: Point = (1, 1)
    place: Point = (0, 0)
    cover: Look = field(default_factory=lambda: HATCHED)
    cover_name: str = "may not attend"

    def draw(self, axes: Axes) -> Any:
        rows, columns = self.values.shape
        (wide, high), (left, top) = self.size, self.place
        shown = self.values.detach().double().cpu()
        if self.hidden is not None:
            shown = shown.masked_fill(self.hidden, math.nan)
        image = axes.imshow(
            shown.numpy(),
            cmap=self.colors.map,
            norm=self.colors.norm,
            interpolation="none",
            extent=(left, left + columns * wide, top + rows * high, top),
        )
        if self.hidden is not None and self.hidden.any():
            places = [(j, i) for i, j in self.hidden.nonzero().tolist()]
            Squares(places, self.cover, self.cover_name, gap=0).draw(axes)
        if self.ruled:
            axes.hlines(range(1, rows), 0, columns, "white", lw=0.8)
            axes.vlines(range(1, columns), 0, rows, "white", lw=0.8)
        if self.write:
            for i, j in shown.isfinite().nonzero().tolist():
                value = shown[i, j].item()
                ink = ink_at(image.cmap, float(self.colors.norm(value)))
                look = {"color": ink, "fontsize": 9}
                Text(j + 0.5, i + 0.5, self.write(value), look=look).draw(axes)
        return image


@dataclass(frozen=True)
class Squares(Mark):
    """Cells of one kind at (column, row), drawn as one shape: a tenth of the file."""

    places: Sequence[Point]
    look: Look
    name: str = ""
    gap: float = 0.03

    def draw(self, axes: Axes) -> None:
        near, far = self.gap, 1 - self.gap
        corners = [(near, near), (far, near), (far, far), (near, far), (near, near)]
        cells = [
            Path([(x + dx, y + dy) for dx, dy in corners], closed=True)
            for x, y in self.places
        ]
        shape = Path.make_compound_path(*cells) if cells else Path([(0, 0)])
        axes.add_patch(patches.PathPatch(shape, label=self.name or None, **self.look))


@dataclass(frozen=True)
class Box(Mark):
    """A box around a middle, with words in it."""

    x: float
    y: float
    width: float
    height: float
    words: str = ""
    look: Look = field(default_factory=lambda: {"fc": "white", "ec": INK})
    words_look: Look = field(default_factory=dict)
    name: str = ""

    def draw(self, axes: Axes) -> None:
        corner = (self.x - self.width / 2, self.y - self.height / 2)
        look = {"label": self.name or None, **self.look}
        axes.add_patch(patches.Rectangle(corner, self.width, self.height, **look))
        if self.words:
            look = {"ha": "center", "va": "center", **self.words_look}
            axes.text(self.x, self.y, self.words, **look)


@dataclass(frozen=True)
class Arrow(Mark):
    """A way through points, with a head at its end."""

    points: Sequence[Point]
    look: Look = field(default_factory=lambda: {"color": INK, "lw": 1.0})

    def draw(self, axes: Axes) -> None:
        *way, start, end = self.points
        if way:
            axes.plot(*zip(*way, start, strict=True), **self.look)
        style = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0, **self.look}
        axes.annotate("", end, start, arrowprops=style)


@dataclass(frozen=True)
class Scale:
    """An axis: its label, its ends, its ticks, and whether powers of a base are evenly spaced."""

    label: str = ""
    low: float | None = None
    high: float | None = None
    ticks: Sequence[float] | None = None
    names: Sequence[Any] | None = None
    log: int = 0  # the base
    marks: str = ""  # at powers of the base only, as "powers", or at 1, 2, 5, as "1 2 5"
    size: float | None = None  # of the ticks' names
    turned: bool = False  # their names
    bare: bool = False  # no strokes
    whole: bool = False  # ticks at whole numbers only
    top: bool = False  # of a horizontal axis: above
    strong: int | None = None  # the name that stands out

    def apply(self, axes: Axes, which: str) -> None:
        axis = getattr(axes, f"{which}axis")
        if self.log:
            getattr(axes, f"set_{which}scale")("log", base=self.log)
            self._mark(axis)
        if self.ticks is not None:
            axis.set_ticks(self.ticks, self.names)
        if self.whole:
            axis.set_major_locator(ticker.MaxNLocator(integer=True))
        if self.turned:
            for name in axis.get_ticklabels():
                name.set(rotation=45, ha="right", rotation_mode="anchor")
        if self.size:
            axis.set_tick_params(labelsize=self.size)
        if self.bare:
            axis.set_tick_params(length=0)
        if self.top:
            axis.set(ticks_position="top", label_position="top")
        if self.strong is not None:
            axis.get_ticklabels()[self.strong].set(color=MARKED, fontweight="bold")
        axis.set_label_text(self.label)
        if (self.low, self.high) != (None, None):
            getattr(axes, f"set_{which}lim")(self.low, self.high)

    def _mark(self, axis: Axis) -> None:
        """Choose the ticks of a logarithmic axis, with plain numbers: 100, not a power of 10."""
        if self.marks == "1 2 5":
            axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
            axis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
            axis.set_minor_locator(ticker.NullLocator())
        elif self.ticks is not None:
            axis.set_minor_locator(ticker.NullLocator())
        elif not self.marks:
            axis.set_major_formatter(ticker.LogFormatter())
            axis.set_minor_formatter(ticker.LogFormatter(labelOnlyBase=False))


@dataclass(frozen=True)
class Panel:
    """Marks on two scales.

    Args:
        marks: from back to front.
        title: above, and, if `named`, the beginning of the description.
        x, y: the scales.
        grid: the axis whose ticks have lines: "both", "x" or "".
        legend: whether it has one of its own; a place, or "" for none.
        aspect: "equal" where the units of both axes have one length.
        anchor: where a panel of equal units stands in its room: "N" above, "C" in the middle.
        framed: whether the axes have lines.
        on: whether scales are shown at all.
        says: the description, where it is not that of the marks.
    """

    marks: Sequence[Mark]
    title: str = ""
    x: Scale = Scale()
    y: Scale = Scale()
    grid: Literal["both", "x", "y", ""] = ""
    legend: Any = ""
    aspect: Literal["auto", "equal"] = "auto"
    anchor: Literal["N", "C"] = "N"
    framed: bool = True
    on: bool = True
    named: bool = True
    title_look: Look = field(default_factory=dict)
    says: str = ""

    def draw(self, axes: Axes) -> Any:
        drawn = [mark.draw(axes) for mark in self.marks]
        axes.set_title(self.title, **self.title_look)
        axes.set_aspect(self.aspect)
        axes.set_anchor(self.anchor if self.aspect == "equal" else "C")
        self.x.apply(axes, "x")
        self.y.apply(axes, "y")
        if self.grid:
            axes.grid(axis=self.grid, alpha=0.3)
        if self.legend:
            axes.legend(frameon=False, loc=self.legend)
        if not self.framed:
            axes.spines[:].set_visible(False)
        if not self.on:
            axes.axis("off")
        return next((one for one in drawn if one is not None), None)

    def describe(self) -> str:
        words = self.says or "; ".join(mark.says for mark in self.marks if mark.says)
        return f"{self.title}: {words}" if self.named and self.title and words else words

    @property
    def colors(self) -> Colors | None:
        """The scale of the panel's cells, if there are any."""
        return next(filter(None, (getattr(m, "colors", None) for m in self.marks)), None)


@dataclass(frozen=True)
class Figure:
    """Panels in rows, what stands around them, and how their description begins and ends.

    Args:
        panels: from left to right, then below.
        size: in inches.
        opening, between, closing: words around the descriptions of the panels.
        title: above all panels.
        xlabel, ylabel: of all panels.
        columns: how many panels stand side by side; all if None.
        widths, heights: of columns and rows, as parts of the whole.
        shared: the axes that all panels have in common: "x", "y" or "xy".
        legend: where the legend of all panels stands; "" for none.
        legend_columns: how many entries stand side by side.
        box: the left, bottom, width and height of the only panel, in inches.
        raster: the colors of a picture without SVG, which of many marks is larger; 0 if it has one.
    """

    panels: Sequence[Panel]
    size: tuple[float, float]
    opening: str = ""
    between: str = ". "
    closing: str = "."
    title: str = ""
    xlabel: str = ""
    ylabel: str = ""
    columns: int | None = None
    widths: Sequence[float] | None = None
    heights: Sequence[float] | None = None
    shared: str = ""
    legend: str = ""
    legend_columns: int = 4
    box: tuple[float, float, float, float] | None = None
    raster: int = 0

    def picture(self, colors: int = 48) -> Picture:
        look: dict[str, Any] = {"colors": self.raster or colors, "vector": not self.raster}
        return Picture(draw(self), describe(self), **look)


def draw(figure: Figure) -> Drawn:
    """Draw a figure with matplotlib, outside of pyplot's state."""
    with mpl.rc_context(STYLE):
        drawn = Drawn(figsize=figure.size, layout=None if figure.box else "constrained")
        grid = _axes(figure, drawn)
        images = [
            panel.draw(axes) for panel, axes in zip(figure.panels, grid, strict=False)
        ]
        for axes in grid[len(images) :]:
            axes.axis("off")
        _write_around(figure, drawn, grid)
        _add_color_bars(figure, drawn, grid, images)
        return drawn


def _axes(figure: Figure, drawn: Drawn) -> list[Axes]:
    if figure.box:
        places = zip(figure.box, figure.size * 2, strict=True)
        left, bottom, width, height = (inches / whole for inches, whole in places)
        return [drawn.add_axes((left, bottom, width, height))]
    columns = figure.columns or len(figure.panels)
    grid = drawn.subplots(
        math.ceil(len(figure.panels) / columns),
        columns,
        squeeze=False,
        sharex="x" in figure.shared,
        sharey="y" in figure.shared,
        width_ratios=figure.widths,
        height_ratios=figure.heights,
    ).flatten()
    return list(grid)


def _write_around(figure: Figure, drawn: Drawn, grid: Sequence[Axes]) -> None:
    if len(figure.panels) == 1 and not figure.panels[0].title:
        grid[0].set_title(figure.title, **figure.panels[0].title_look)
    else:
        drawn.suptitle(figure.title, fontsize=11)
    drawn.supxlabel(figure.xlabel, fontsize=9 if figure.box else 10)
    drawn.supylabel(figure.ylabel, fontsize=10)
    if figure.legend:
        entries: dict[str, Any] = {}
        for axes in grid:
            handles, names = axes.get_legend_handles_labels()
            entries |= dict(zip(names, handles, strict=True))
        if entries:
            columns = min(figure.legend_columns, len(entries))
            look: Look = {"loc": figure.legend, "frameon": False, "fontsize": 9}
            drawn.legend(list(entries.values()), list(entries), ncols=columns, **look)


def _add_color_bars(figure: Figure, drawn: Drawn, grid: Sequence[Axes], images) -> None:
    """Add a bar for each scale of colors, beside all panels that have it."""
    panels = list(zip(figure.panels, grid, images, strict=False))
    for colors in dict.fromkeys(p.colors for p in figure.panels if p.colors):
        having = [axes for panel, axes, _ in panels if panel.colors == colors]
        image = next(image for panel, _, image in panels if panel.colors == colors)
        if not colors.label:
            continue
        place: dict[str, Any] = {"ax": having, "shrink": colors.shrink}
        if figure.box:  # beside the panel, which keeps its size
            width = figure.box[2]
            place = {
                "cax": having[0].inset_axes((1 + 0.2 / width, 1 / 6, 0.14 / width, 2 / 3))
            }
        drawn.colorbar(image, label=colors.label, ticks=colors.ticks, **place)


def describe(figure: Figure) -> str:
    """Return what a figure shows, in words."""
    heading = f"{figure.title}. " if figure.title else ""
    parts = figure.between.join(filter(None, (p.describe() for p in figure.panels)))
    return f"{heading}{figure.opening}{parts}{figure.closing}"


def expect(holds: bool, expected: object, got: object) -> None:
    """Raise ValueError, naming what was expected and what was given, unless a condition holds."""
    if not holds:
        raise ValueError(f"expected {expected}, got {got}")


def expect_few(things: Mapping, what: str, most: int = len(COLORS)) -> None:
    """Expect at least one thing, and no more than there are styles."""
    expect(0 < len(things) <= most, f"1 to {most} {what}", len(things))


def expect_lengths(
    things: Mapping[str, Sequence], count: int, what: str = "values"
) -> None:
    """Expect as many values of each thing."""
    for name, values in things.items():
        expect(len(values) == count, f"{count} {what} for {name!r}", len(values))


def expect_shape(tensor: Tensor, shape: tuple[int, ...], what: str) -> None:
    expect(tuple(tensor.shape) == shape, f"{what} of shape {shape}", tuple(tensor.shape))
