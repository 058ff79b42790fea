"""Diagrams of models and of their parts: boxes, arrows and words.

Lengths are inches, unless said otherwise. A ValueError says what was expected and what was given.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from matplotlib.colors import LinearSegmentedColormap

from attn_lib.plotting.figure import (
    Arrow,
    Box,
    Figure,
    Line,
    Mark,
    Panel,
    Point,
    Scale,
    Text,
    expect,
)
from attn_lib.plotting.picture import Picture
from attn_lib.plotting.style import COLORS, INK, PALE

GREEN = "#0f5b45"  # text beside lines of the third color
SMALL = {"fontsize": 9, "style": "italic"}


def sketch(
    marks: Sequence[Mark],
    size: tuple[float, float],
    alt: str,
    start: Point = (0, 0),
    *,
    down: bool = False,
    raster: int = 0,
) -> Picture:
    """Return a picture without axes; the marks' places are inches from a corner `start`."""
    x = Scale(low=start[0], high=start[0] + size[0])
    low, high = start[1], start[1] + size[1]
    y = Scale(low=high, high=low) if down else Scale(low=low, high=high)
    panel = Panel(marks, x=x, y=y, on=False)
    return Figure(
        [panel], size, alt, closing="", box=(0, 0, *size), raster=raster
    ).picture()


# --- The parts of attention, with shapes ----------------------------------------------------------


def data_flow(*, batch: int, length: int, num_heads: int, head_dim: int) -> Picture:
    """Draw x -> three projections -> heads -> attention -> merge -> output projection.

    Each arrow carries its shape, in letters and, below, in numbers. It is self-attention; what counts
    keys is written S all the same, so that one sees which axis is which.

    Args:
        batch: B.
        length: L, and S too.
        num_heads: H.
        head_dim: D; the width E is H * D.
    """
    width = num_heads * head_dim
    sizes = {
        "B": batch,
        "L": length,
        "S": length,
        "H": num_heads,
        "D": head_dim,
        "E": width,
    }
    columns = dict(zip("qkv", (1.0, 2.9, 4.8), strict=True))
    height, step = 0.44, 1.04  # of a box; from one row of boxes to the next
    fills = {"given": "#eeeeee", "learned": PALE[0], "moved": PALE[2], "computed": PALE[1]}
    k, middle = columns["k"], (columns["q"] + columns["k"]) / 2
    boxes = [  # column, row, words, kind, width
        (k, 0, "x    (self-attention: S = L)", "given", 5.4),
        *((x, 1, f"{letter}_proj", "learned", 1.55) for letter, x in columns.items()),
        *((x, 2, "split_heads", "moved", 1.55) for x in columns.values()),
        (middle, 3, "scores = q kᵀ / √D, and the mask", "computed", 3.5),
        (middle, 4, "softmax over the keys (S)", "computed", 3.5),
        (k, 5, "mixture = weights × v", "computed", 5.4),
        (k, 6, "merge_heads", "moved", 2.0),
        (k, 7, "o_proj", "learned", 2.0),
        (k, 8, "output", "given", 2.0),
    ]
    arrows = []  # what gives it, its column, from row, to row, its shape
    for (letter, x), n in zip(columns.items(), "LSS", strict=True):
        arrows += [
            (f"x for {letter}", x, 0, 1, f"B {n} E"),
            (f"{letter}_proj", x, 1, 2, f"B {n} E"),
            (f"split_heads of {letter}", x, 2, 5 if letter == "v" else 3, f"B H {n} D"),
        ]
    arrows += [
        ("scores", middle, 3, 4, "B H L S"),
        ("softmax", middle, 4, 5, "B H L S"),
        ("mixture", k, 5, 6, "B H L D"),
        ("merge_heads", k, 6, 7, "B L E"),
        ("o_proj", k, 7, 8, "B L E"),
    ]
    marks: list[Mark] = []
    for x, row, words, kind, wide in boxes:
        look = {"fc": fills[kind], "ec": INK}
        bold = {"weight": "bold" if kind == "learned" else "normal"}
        marks.append(Box(x, row * step, wide, height, words, look, bold))
    said = []
    for name, x, start, end, shape in arrows:
        names = f"({', '.join(shape.split())})"
        numbers = f"({', '.join(str(sizes[letter]) for letter in shape.split())})"
        said.append(f"{name} gives {names} = {numbers}")
        ends = (x, start * step + height / 2), (x, end * step - height / 2)
        marks.append(Arrow(ends, {"color": INK, "lw": 1.2}))
        at, above = (start + 0.5) * step, {"ha": "left", "fontsize": 9.5, "va": "bottom"}
        below = above | {"va": "top", "color": COLORS[0]}
        marks.append(Text(x + 0.09, at - 0.02, names, look=above))
        marks.append(Text(x + 0.09, at + 0.02, numbers, look=below))
    alt = f"Data flow from top to bottom. {'; '.join(said)}."
    return sketch(marks, (6.0, 8 * step + 0.6), alt, (0, -0.28), down=True)


def head_links(
    reads: Mapping[str, Sequence[int]], num_kv_heads: Sequence[int] | int
) -> Picture:
    """Draw panels with query heads above, K/V heads below, and a line from each to what it reads.

    A K/V head that nobody reads is an empty gray box.

    Args:
        reads: a title, and for each query head the number of the K/V head that it reads.
        num_kv_heads: Hkv, one for all panels or one for each.
    """
    counts = [num_kv_heads] * len(reads) if isinstance(num_kv_heads, int) else num_kv_heads
    one_each = len(counts) == len(reads)
    expect(one_each, f"one num_kv_heads for each of {len(reads)} panels", len(counts))
    for (title, links), count in zip(reads.items(), counts, strict=True):
        strange = [j for j in links if not 0 <= j < count]
        expect(not strange, f"{title}: K/V heads 0 to {count - 1}", strange)
    columns = 2 if len(reads) in (2, 4) else min(3, len(reads))
    query, read = {"mfc": PALE[0], "mec": COLORS[0]}, {"mfc": PALE[1], "mec": COLORS[1]}
    unread = {"mfc": "white", "mec": "#b5b5b5"}

    def panel(number: int, title: str, links: Sequence[int], count: int) -> Panel:
        width = len(links)
        above = [i + 0.5 for i in range(width)]
        below = [(j + 0.5) * width / count for j in range(count)]
        ends = [(x, below[j], math.nan) for x, j in zip(above, links, strict=True)]
        line = [x for three in ends for x in three]  # nan: lift the pen
        box = {"ls": "", "marker": "s", "ms": 12}
        marks: list[Mark] = [
            Line(line, [1, 0, math.nan] * width, look={"color": COLORS[0], "lw": 1.2}),
            Line(above, [1] * width, look=box | query),
        ]
        for j, x in enumerate(below):
            marks.append(Line([x], [0], look=box | (read if j in links else unread)))
        look = {"fontsize": 8, "va": "center_baseline"}
        for y, places in ((1, above), (0, below)):
            marks += [Text(x, y, str(n), look=look) for n, x in enumerate(places)]
        if number % columns == 0:
            for y, name in ((1, "query\nheads"), (0, "K/V\nheads")):
                marks.append(Text(-0.3, y, name, look={"ha": "right", "fontsize": 8}))
        scales = Scale(low=-0.1, high=width + 0.1), Scale(low=-0.35, high=1.35)
        said = f"{', '.join(map(str, links))} of {count}"
        small = {"fontsize": 10}
        return Panel(marks, title, *scales, on=False, title_look=small, says=said)

    each = zip(range(len(reads)), reads, reads.values(), counts, strict=True)
    return Figure(
        [panel(*one) for one in each],
        (0.5 + 1.95 * columns, 1.2 * -(-len(reads) // columns)),
        "The K/V head that each query head reads. ",
        "; ",
        columns=columns,
    ).picture()


def latent_cache(num_heads: int, num_kv_heads: int) -> Picture:
    """Draw one token's way to its keys and values, twice; what the cache keeps is filled.

    Args:
        num_heads: H, how many keys and values MLA has, each projected up from its latent vector.
        num_kv_heads: Hkv, how many keys and values GQA keeps.
    """
    divides = num_heads % num_kv_heads == 0
    expect(divides, "num_kv_heads to divide num_heads", f"{num_kv_heads} and {num_heads}")
    kept = {"facecolor": PALE[1], "edgecolor": COLORS[1], "linewidth": 1.6}
    made = {"facecolor": "white", "edgecolor": "#777777", "linestyle": "--"}
    plain = {"facecolor": PALE[0], "edgecolor": COLORS[0]}

    def box(x: float, y: float, words: str, style: dict) -> Text:
        return Text(x, y, words, look={"bbox": {"boxstyle": "round,pad=0.3", **style}})

    def line(start: Point, end: Point) -> Line:
        look = {"color": "#777777", "lw": 0.9, "zorder": 1}
        return Line([start[0], end[0]], [start[1], end[1]], look=look)

    def fan(start: float, end: float, count: int, style: dict, words: str) -> list[Mark]:
        """Return the key and value of `count` heads, one under the other, with a line to each."""
        levels = [0.5 + 0.24 * ((count - 1) / 2 - head) for head in range(count)]
        marks: list[Mark] = [line((start, 0.5), (end - 0.27, y)) for y in levels]
        marks += [box(end, y, f"K {h}, V {h}", style) for h, y in enumerate(levels)]
        return [*marks, Text((start + end) / 2 - 0.15, 0.88, words)]

    panels: dict[str, tuple[float, list[Mark]]] = {
        "GQA": (2.0, fan(0.42, 1.65, num_kv_heads, kept, "projected")),
        "MLA, without positions": (
            3.0,
            [
                line((0.42, 0.5), (0.9, 0.5)),
                box(1.25, 0.5, "latent\nvector c", kept),
                Text(0.66, 0.59, "down"),
                *fan(1.6, 2.65, num_heads, made, "up"),
            ],
        ),
    }
    start, up = box(0.3, 0.5, "x", plain), Scale(low=-0.12, high=1.0)
    return Figure(
        [
            Panel([start, *marks], title, Scale(low=0, high=width), up, on=False)
            for title, (width, marks) in panels.items()
        ],
        (5.4, 2.2),
        f"Left, GQA: from a token x, {num_kv_heads} keys and {num_kv_heads} values are projected "
        "and kept. Right, MLA: x is projected down to one latent vector c, which is kept; "
        f"{num_heads} keys and {num_heads} values, projected up from it, are not kept",
        xlabel="filled: kept in the cache; dashed: not kept, and in decoding never made",
        widths=(2, 3),
    ).picture()


def shaded_words(
    texts: Mapping[str, tuple[Sequence[str], Sequence[float]]],
    *,
    title: str = "",
    darkest: float | None = None,
) -> Picture:
    """Write texts, each word on a background that is darker the more weight it has.

    Args:
        texts: for each heading, the words, and a weight of 0 or more for each.
        title: above all texts.
        darkest: the weight of the darkest color, in all texts; else it is the largest of each text, and
            stands behind its heading.
    """
    expect(bool(texts), "at least one text", "none")
    # Black can be read on all of these.
    shades = LinearSegmentedColormap.from_list("shades", ["white", "#f0a15e"])
    high, wide, letter = 0.27, 6.2, 0.083  # inches: a line, the page, a letter on average
    marks: list[Mark] = []
    line, said = 0.0, []
    if title:
        marks.append(Text(wide / 2, high / 2, title, look={"fontsize": 11}))
        line = 1.0
    for heading, (words, weights) in texts.items():
        fits = 0 < len(words) == len(weights)
        expect(fits, f"one weight for each of {len(words)} words", len(weights))
        bold = {"ha": "left", "weight": "bold"}
        most = max(*weights, 1e-9) if darkest is None else darkest
        name = heading + f" (darkest: {most:.2f})" * (darkest is None)
        marks.append(Text(0.1, high * (line + 0.5), name, look=bold))
        line, x = line + 1, 0.15
        for word, weight in zip(words, weights, strict=True):
            width = letter * len(word) + 0.12
            if x + width > wide:
                line, x = line + 1, 0.15
            color = shades(weight / most)  # above 1 it is the darkest
            look = {"bbox": {"facecolor": color, "edgecolor": "none", "pad": 1.5}}
            marks.append(Text(x + width / 2, high * (line + 0.5), word, look=look))
            x += width
        line += 1.35
        order = sorted(range(len(words)), key=lambda i: -weights[i])[:3]
        named = ", ".join(f"{words[i]} ({weights[i]:.2f})" for i in order)
        said.append(f"{heading}: the darkest words are {named}.")
    heading = f"{title}. " if title else ""
    alt = f"{heading}Texts with shaded words. {' '.join(said)}"
    return sketch(marks, (wide, high * line + 0.05), alt, (0, -0.05), down=True)


# --- Whole models in outline ----------------------------------------------------------------------

SEES_ALL, SEES_PAST, READS = "sees all words", "sees the past only", "reads the other"
FILLED = {SEES_ALL: PALE[0], SEES_PAST: PALE[1], READS: PALE[2], "": "#eeeeee"}
ENCODER = [("self-attention", SEES_ALL), ("feed-forward", "")]
DECODER = [("self-attention", SEES_PAST), ("feed-forward", "")]
READING = [("self-attention", SEES_PAST), ("cross-attention", READS), ("feed-forward", "")]
BOX, WIDE = 0.4, 1.5
STEP, PART = 0.62, 0.86  # from row to row; a part of a block also has a +
PLUS = 0.4  # from the middle of a part to its +


def outlines() -> Picture:
    """Draw the three kinds of models from bottom to top, their blocks framed."""
    following = ("the next word", "norm, head")
    encoder, *_ = _column(1.1, ENCODER, "the text", "a vector for each word")
    decoder, *_ = _column(3.3, DECODER, "the text so far", *following)
    first, top, _ = _column(5.5, ENCODER, "the question", None)
    second, end, cross = _column(7.75, READING, "the answer so far", *following)
    names = {"encoder": 1.1, "decoder": 3.3, "encoder and decoder": 6.6}
    across = _across(5.5, 7.75, top, cross, "read by every block")
    return sketch(
        [*encoder, *decoder, *first, *second, *_titles(names, end), *across],
        (8.8, 5.4),
        "Three outlines, each from bottom to top; in a block, each part is added to what goes past it. "
        "Encoder: the text, embedding and positions, N blocks of self-attention that sees all words and "
        "feed-forward, a norm, a vector for each word. "
        "Decoder: the text so far, embedding and positions, N blocks of self-attention that sees the past "
        "only and feed-forward, a norm, a head, the next word. "
        "Both: an encoder reads the question; each block of the decoder has cross-attention between its "
        "self-attention and its feed-forward, which reads what comes out of the encoder.",
        (0, -0.3),
        raster=160,
    )


def norm_places() -> Picture:
    """Draw a pre-norm and a post-norm block from bottom to top."""
    marks: list[Mark] = []
    for x, first in ((1.1, True), (3.3, False)):
        start, y = 0.12, STEP
        for name in ("attention", "feed-forward"):
            for words in ("norm", name) if first else (name, "norm"):
                marks += [_part(x, y, words), _up(x, start, y - BOX / 2)]
                start, y = y + BOX / 2, y + STEP
                if words == name:
                    marks += _past(x, y - STEP, STEP * first)
                    start, y = y - STEP + PLUS + 0.08, y - STEP + PART
        marks += [Text(x, 0, "x", look=SMALL), _up(x, start, 3.5)]
    return sketch(
        [*marks, *_titles({"pre-norm": 1.1, "post-norm": 3.3}, 3.2)],
        (4.5, 4.15),
        "Two blocks, each from bottom to top. Pre-norm: norm, attention, plus, norm, feed-forward, plus; "
        "the way past a part goes past its norm. Post-norm: attention, plus, norm, feed-forward, plus, "
        "norm; the way up leads through each norm.",
        (0, -0.3),
        raster=160,
    )


def encoder_decoder(read: str, written: str, following: str) -> Picture:
    """Draw one model of two halves, with an example: what it reads, has written, and writes next."""
    first, top, _ = _column(1.2, ENCODER, read, None, times="")
    second, end, cross = _column(4.5, READING, written, following, "norm, output", times="")
    look = {**SMALL, "va": "bottom", "ha": "left", "color": GREEN}
    return sketch(
        [
            *first,
            *second,
            *_titles({"encoder: reads": 1.2, "decoder: writes": 4.5}, end),
            *_across(1.2, 4.5, top, cross, "a vector for each word"),
            Text(2.95, cross + 0.06, "keys,\nvalues", look=look),
            Text(3.91, cross - 0.37, "queries", look=look),
        ],
        (6.2, 5.4),
        "Two outlines, each from bottom to top; in a block, each part is added to what goes past it. "
        f"The encoder reads {read!r}: embedding and positions, a block of self-attention that sees all "
        "words and feed-forward, a norm; a vector for each word comes out. "
        f"The decoder has written {written!r}: embedding and positions, a block of self-attention that sees "
        "the past only, cross-attention and feed-forward, a norm, an output layer. The queries of the "
        "cross-attention come from below, in the decoder, its keys and values from the encoder's end. "
        f"What comes out is the next word, {following!r}.",
        (0, -0.3),
        raster=160,
    )


def _titles(names: dict[str, float], end: float) -> list[Mark]:
    look = {"weight": "bold", "fontsize": 11, "va": "baseline"}
    return [Text(x, end + 0.4, name, look=look) for name, x in names.items()]


def _column(
    x: float,
    parts: list[tuple[str, str]],
    source: str,
    sink: str | None,
    last: str = "norm",
    times: str = "× N",
) -> tuple[list[Mark], float, float]:
    """Return the marks of one model, and the heights of its upper end and its cross-attention."""
    marks: list[Mark] = [Text(x, 0, source, look=SMALL)]
    marks += [_part(x, STEP, "embedding\n(+ positions)"), _up(x, 0.12, STEP - BOX / 2)]
    start, cross, y = STEP + BOX / 2, 0.0, 2 * STEP + 0.06
    for words, kind in parts:
        marks += [_part(x, y, f"{words}\n{kind}".strip(), kind), _up(x, start, y - BOX / 2)]
        marks += _past(x, y)
        cross = y if kind == READS else cross
        start, y = y + PLUS + 0.08, y + PART
    # The frame around a block, and how often it is repeated.
    low, high, left = 2 * STEP - BOX / 2 - 0.14, y - PART + PLUS + 0.16, x - WIDE / 2 - 0.12
    dashed = {"fill": False, "ec": INK, "lw": 1.1, "ls": "--"}
    corner = {"ha": "left", "va": "top", "fontsize": 9}
    marks += [
        Box(left + WIDE / 2 + 0.16, (low + high) / 2, WIDE + 0.32, high - low, look=dashed),
        Text(left + 0.06, high - 0.06, times, look=corner),
        _part(x, y, last),
        _up(x, start, y - BOX / 2),
    ]
    if sink is None:
        return marks, y, cross
    marks += [Text(x, y + STEP, sink, look=SMALL), _up(x, y + BOX / 2, y + STEP - 0.12)]
    return marks, y + STEP, cross


def _part(x: float, y: float, words: str, kind: str = "") -> Box:
    small = {"fontsize": 8.5, "linespacing": 1.1}
    return Box(x, y, WIDE, BOX, words, {"fc": FILLED[kind], "ec": INK}, small)


def _up(x: float, start: float, end: float) -> Arrow:
    return Arrow([(x, start), (x, end)], {"color": INK, "lw": 1.1})


def _past(x: float, y: float, under: float = 0.0) -> list[Mark]:
    """Return the way past a part and what is `under` it, and the + where both ways meet."""
    side, below, plus = x + WIDE / 2 + 0.1, y - under - BOX / 2 - 0.13, y + PLUS
    blue = {"color": COLORS[0], "lw": 1.6}
    circle = {"marker": "o", "ms": 11.5, "mfc": "white", "mec": COLORS[0], "mew": 1.4}
    cross = {"marker": "+", "ms": 7.2, "mec": COLORS[0], "mew": 1.2}
    return [
        Line([x, side, side, x + 0.08], [below, below, plus, plus], look=blue),
        Line([x, x], [y + BOX / 2, plus - 0.08], look={"color": INK, "lw": 1.1}),
        Line([x], [plus], look=circle),
        Line([x], [plus], look=cross),
    ]


def _across(left: float, right: float, top: float, cross: float, words: str) -> list[Mark]:
    """Return the way from the encoder's end to the cross-attention of every block."""
    middle = (left + right) / 2 + 0.02
    start, end = (left + WIDE / 2, top), (right - WIDE / 2, cross)
    way = [start, (middle, top), (middle, cross), end]
    look = {**SMALL, "va": "baseline", "color": GREEN}
    return [
        Arrow(way, {"color": COLORS[2], "lw": 2}),
        Text(left, top + 0.3, words, look=look),
    ]


# --- The map of the course ------------------------------------------------------------------------

# Each part: its middle, its width, and the lessons about it; the first of them builds it.
PARTS = {
    "words": (0.45, 0.4, 0.7, "00 15"),
    "vectors": (1.4, 0.4, 0.8, "00 09"),
    "positions": (1.4, 1.05, 0.9, "08"),
    "norm": (2.5, 0.4, 0.6, "09"),
    "attention": (3.55, 0.4, 1.1, "01 02 03 04 05 06 07 11 12 13 14"),
    "+": (4.4, 0.4, 0.26, "09"),
    "norm ": (5.05, 0.4, 0.6, "09"),
    "feed-forward": (6.05, 0.4, 1.05, "09 14"),
    "+ ": (6.85, 0.4, 0.26, "09"),
    "output": (7.75, 0.4, 0.7, "09 10 14 15"),
    "queries": (1.0, 2.9, 0.8, "01 07"),
    "keys": (1.0, 2.4, 0.8, "01 05 07"),
    "values": (1.0, 1.9, 0.8, "01 05 07"),
    "shared, cached": (2.3, 2.15, 1.2, "04 11 14"),
    "scores": (3.5, 2.65, 0.75, "01 11"),
    "mask": (4.4, 2.65, 0.65, "02"),
    "softmax": (5.3, 2.65, 0.8, "01 06 11"),
    "mixture": (6.3, 2.65, 0.8, "01 11"),
    "heads joined": (7.4, 2.65, 1.05, "03 07"),
}
ROWS = (
    ("words", "vectors", "norm", "attention", "+", "norm ", "feed-forward", "+ ", "output"),
    ("scores", "mask", "softmax", "mixture", "heads joined"),
)
HIGH = 0.34
DOTTED = {"color": INK, "lw": 0.7, "ls": ":", "zorder": 0}
LOOKS: dict[str, dict[str, Any]] = {
    "this lesson": {"fc": "#f4b183", "ec": "#a04000", "lw": 2.0},
    "built before": {"fc": PALE[0], "ec": INK, "lw": 1.0},
    "to come": {"fc": "white", "ec": "#909090", "lw": 1.0, "ls": "--"},
}


def you_are_here(lesson: str) -> Picture:
    """Draw the parts of a language model: those built so far, those of this lesson, and the rest.

    Args:
        lesson: its two digits, "00" to "15".
    """
    known = [f"{number:02d}" for number in range(16)]
    expect(lesson in known, 'a lesson from "00" to "15"', repr(lesson))

    def kind(about: str) -> str:
        if lesson in about.split():
            return "this lesson"
        return "built before" if about < lesson else "to come"

    kinds = {part: kind(about) for part, (*_, about) in PARTS.items()}
    boxes: list[Mark] = []
    for part, (x, y, width, _) in PARTS.items():
        weight = "bold" if kinds[part] == "this lesson" else "normal"
        words = (part.strip(), LOOKS[kinds[part]], {"fontsize": 8.5, "weight": weight})
        boxes.append(Box(x, y, width, HIGH, *words))

    def listed(kind: str) -> str:
        parts = dict.fromkeys(part.strip() for part in PARTS if kinds[part] == kind)
        return ", ".join(parts) or "nothing"

    return sketch(
        [*_frames(), *boxes, *_arrows(), *_legend()],
        (8.3, 3.5),
        f"A map of a language model. The parts of lesson {lesson}: {listed('this lesson')}. "
        f"Built before: {listed('built before')}. To come: {listed('to come')}.",
        raster=32,  # with fewer, the pale blue of a small box is lost
    )


def _frames() -> list[Mark]:
    """Return the frames of the block, which is repeated, and of attention, which is shown larger."""
    look = {"fill": False, "ec": INK, "lw": 0.9, "ls": ":"}
    x, y, width, _ = PARTS["attention"]
    return [
        Box(4.525, 0.475, 5.05, 0.85, look=look),
        Box(4.15, 2.45, 8.0, 1.8, look=look),
        Text(7.0, 0.95, "a block, × N", look={**SMALL, "ha": "right", "va": "baseline"}),
        Text(4.1, 3.12, "attention", look={**SMALL, "va": "baseline"}),
        Line([x - width / 2, 0.15], [y + HIGH / 2, 1.55], look=DOTTED),
        Line([x + width / 2, 8.15], [y + HIGH / 2, 1.55], look=DOTTED),
    ]


def _legend() -> list[Mark]:
    marks: list[Mark] = []
    for place, (words, look) in enumerate(LOOKS.items()):
        x, beside = 5.15 + 1.02 * place, {"ha": "left", "fontsize": 8}
        marks += [
            Box(x + 0.07, 3.16, 0.14, 0.12, look=look),
            Text(x + 0.2, 3.16, words, look=beside),
        ]
    return marks


def _arrows() -> list[Mark]:
    ways = [
        [_side(before, +1), _side(after, -1)]
        for row in ROWS
        for before, after in pairwise(row)
    ]
    for norm, plus in (("norm", "+"), ("norm ", "+ ")):
        # What goes past a part, and is added.
        start, end, y = PARTS[norm][0] - 0.36, PARTS[plus][0], PARTS[norm][1]
        ways.append([(start, y), (start, 0.13), (end, 0.13), (end, y - HIGH / 2)])
    x, y, *_ = PARTS["mixture"]
    across = _side("shared, cached", +1, -0.08)
    ways += [
        [(1.4, 1.05 - HIGH / 2), (1.4, 0.4 + HIGH / 2)],  # positions, to the vectors
        [_side("queries", +1), _side("scores", -1, 0.08)],
        [_side("keys", +1), _side("shared, cached", -1, 0.08)],
        [_side("values", +1), _side("shared, cached", -1, -0.08)],
        [_side("shared, cached", +1, 0.08), _side("scores", -1, -0.08)],
        [across, (x, across[1]), (x, y - HIGH / 2)],
    ]
    return [Arrow(way) for way in ways]


def _side(part: str, way: int, up: float = 0.0) -> Point:
    """Return the middle of a box's right (+1) or left (-1) side, or a point above it."""
    x, y, width, _ = PARTS[part]
    return x + way * width / 2, y + up
