"""Small SVG pictures, which a scene shows where no script runs."""

import html
import math
from collections.abc import Sequence

from matplotlib import colormaps, colors

from attn_lib.plotting.style import ink_on

INK, SOFT, LINE = "#1b1f24", "#57606a", "#d3d9e0"
BLUE, ORANGE, PALE_BLUE, PALE_ORANGE = "#0b3c6f", "#b34700", "#cfe0f2", "#fbdcc2"
FONTS = "DejaVu Sans, Verdana, Arial, sans-serif"
MASKED, PANEL = "#dddddd", "#f3f5f8"
DEFAULTS = {"fill": INK, "stroke": "none", "stroke-width": "1"}
DEFAULTS |= {"text-anchor": "start", "font-size": "12"}
INKS = {"black": "#000", "white": "#fff"}


class Still:
    """A picture that grows by calls; `str` gives the SVG.

    Args:
        width, height: in pixels.
    """

    def __init__(self, width: float, height: float):
        self.width, self.height = width, height
        self.parts: list[str] = []

    def text(
        self,
        x: float,
        y: float,
        words: object,
        *,
        anchor: str = "start",
        color: str = INK,
        size: float = 12,
        bold: bool = False,
        turn: float = 0,
    ) -> None:
        """Write words whose middle line is at y; `turn` is in degrees."""
        look = {"x": _n(x), "y": _n(y + 0.35 * size), "text-anchor": anchor, "fill": color}
        look |= {"font-size": f"{size:g}", "font-weight": "600" if bold else ""}
        look["transform"] = f"rotate({turn:g} {_n(x)} {_n(y)})" if turn else ""
        self._add("text", look, html.escape(str(words), quote=False))

    def rect(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: str,
        stroke: str = "none",
    ) -> None:
        self._path(_box(x, y, width, height), fill, stroke)

    def line(
        self, points: Sequence[tuple[float, float]], color: str = SOFT, width: float = 1
    ) -> None:
        path = "M" + "L".join(f"{_n(x)} {_n(y)}" for x, y in points)
        self._path(path, "none", color, f"{width:g}")

    def grid(
        self,
        x: float,
        y: float,
        size: float,
        fills: Sequence[Sequence[str]],
        words: Sequence[Sequence[str]] | None = None,
    ) -> None:
        """Draw cells in rows: a color each (MASKED is hatched), and perhaps words in them."""
        places: dict[str, list[tuple[float, float]]] = {}  # one path a color is short
        for i, row in enumerate(fills):
            for j, fill in enumerate(row):
                places.setdefault(fill, []).append((x + j * size, y + i * size))
        for fill, corners in places.items():
            path = "".join(_box(left, top, size, size) for left, top in corners)
            self._path(path, fill, "#fff", "1" if size >= 14 else "0.4")
        hatch = "".join(
            f"M{_n(left)} {_n(top + t * size)}L{_n(left + t * size)} {_n(top)}"
            for left, top in places.get(MASKED, ())
            for t in (0.33, 0.67, 1.0)
        )
        if hatch:
            self._path(hatch, stroke="#8a8a8a")
        for i, row in enumerate(words or ()):
            for j, word in enumerate(row):
                ink = INKS[ink_on(fills[i][j])]
                middle = (x + (j + 0.5) * size, y + (i + 0.5) * size)
                if word:
                    self.text(*middle, word, anchor="middle", color=ink, size=11)

    def _path(
        self, path: str, fill: str = INK, stroke: str = "none", width: str = "1"
    ) -> None:
        look = {"d": path, "fill": fill, "stroke": stroke, "stroke-width": width}
        self._add("path", look)

    def _add(self, tag: str, attributes: dict[str, str], content: str = "") -> None:
        """Add an element; an attribute that has its default value is left out."""
        given = "".join(
            f" {name}='{value}'"
            for name, value in attributes.items()
            if value != DEFAULTS.get(name, "")
        )
        end = f">{content}</{tag}>" if content else "/>"
        self.parts.append(f"<{tag}{given}{end}")

    def heat_map(
        self,
        x: float,
        y: float,
        size: float,
        title: str,
        queries: Sequence[str],
        keys: Sequence[str],
        fills: Sequence[Sequence[str]],
        words: Sequence[Sequence[str]] | None = None,
    ) -> None:
        """Draw a grid with a title and names: queries on the left, keys below."""
        left, bottom = x + label_width(queries), y + 24 + size * len(queries)
        middle = left + size * len(keys) / 2
        self.text(middle, y + 10, title, anchor="middle", bold=True)
        self.grid(left, y + 24, size, fills, words)
        small = min(12.0, size)
        for i, name in enumerate(queries):
            at = y + 24 + (i + 0.5) * size
            self.text(left - 6, at, name, anchor="end", size=small)
        for j, name in enumerate(keys):
            at = left + (j + 0.5) * size
            self.text(at + 3, bottom + 9, name, anchor="end", size=small, turn=-45)
        end = bottom + 0.71 * label_width(keys)
        self.text(middle, end, "key (column)", anchor="middle", color=SOFT)
        rows = y + 24 + size * len(queries) / 2
        self.text(x + 8, rows, "query (row)", anchor="middle", color=SOFT, turn=-90)

    def bars(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        values: Sequence[float],
        names: Sequence[str],
        title: str,
    ) -> None:
        """Draw upright bars from 0 with their values above and their names below."""
        self.text(x, y + 8, title, bold=True)
        step, top, foot = width / len(values), y + 38, y + height - 20
        largest = max(*values, 1e-12)
        for i, (value, name) in enumerate(zip(values, names, strict=True)):
            tall = (foot - top) * max(value, 0) / largest
            middle = x + (i + 0.5) * step
            self.rect(x + (i + 0.15) * step, foot - tall, 0.7 * step, tall, BLUE)
            self.text(middle, foot - tall - 9, f"{value:.2f}", anchor="middle", size=11)
            self.text(middle, foot + 11, name, anchor="middle", size=11)
        self.line([(x, foot), (x + width, foot)])

    def __str__(self) -> str:
        size = f"{math.ceil(self.width)} {math.ceil(self.height)}"
        wide, high = size.split()
        return (
            f"<svg xmlns='http://www.w3.org/2000/svg' width='{wide}' height='{high}' "
            f"viewBox='0 0 {size}' font-family='{FONTS}' font-size='12' fill='{INK}'>"
            f"<path d='M0 0H{wide}V{high}H0z' fill='#fff'/>{''.join(self.parts)}</svg>"
        )


def label_width(names: Sequence[str]) -> float:
    """Return the pixels that the longest of some names and an axis title take."""
    return 30 + 6.6 * max(len(name) for name in names)


def weight_color(weight: float) -> str:
    return colors.to_hex(colormaps["cividis"](float(weight)))


def score_color(score: float, largest: float) -> str:
    return colors.to_hex(colormaps["PuOr"]((score / (largest or 1) + 1) / 2))


def share(weight: float) -> str:
    """Write a weight as the course's figures do: .31, and nothing below .05."""
    return "" if weight < 0.05 else f"{weight:.2f}".removeprefix("0")


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _box(x: float, y: float, width: float, height: float) -> str:
    return f"M{_n(x)} {_n(y)}h{_n(width)}v{_n(height)}h{_n(-width)}z"


def byte_count(size: float) -> str:
    """Write bytes with a unit: 48.0 MiB."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"
