"""Maps of attention and of other tables of numbers, in color.

Rows are queries and columns are keys, unless an axis says otherwise. `title` stands above; a
ValueError says what was expected and what was given.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import torch
from jaxtyping import Bool, Float
from matplotlib.axes import Axes
from torch import Tensor

from attn_lib.plotting.figure import (
    Box,
    Cells,
    Colors,
    Figure,
    Line,
    Look,
    Mark,
    Panel,
    Rule,
    Scale,
    Text,
    centered,
    expect,
    expect_few,
    expect_shape,
)
from attn_lib.plotting.labels import numbered
from attn_lib.plotting.picture import Picture
from attn_lib.plotting.style import COLORS, MARKED, styled

LARGEST_WITH_VALUES = 12  # tokens; beyond it the numbers would be too small to read
SPACE = "␣"  # a space that can be seen
ZERO = {"facecolor": "#9a9a9a", "linewidth": 0}


def label_scale(names: Sequence[str], label: str, *, down: bool = False, **more) -> Scale:
    """Return a scale that names cells; `down` for one that begins at the top."""
    low, high = (len(names), 0) if down else (0, len(names))
    ticks = [i + 0.5 for i in range(len(names))]
    turned = not down and max(map(len, names)) > 2
    return Scale(label, low, high, ticks, names, turned=turned, bare=True, **more)


def cells_panel(
    marks: Sequence[Mark],
    queries: Sequence[str],
    keys: Sequence[str],
    title: str = "",
    labels: tuple[str, str] = ("key (column)", "query (row)"),
    **more,
) -> Panel:
    """Return a panel of square cells with their names, and `more` for its scales."""
    x = label_scale(keys, labels[0], **more)
    y = label_scale(queries, labels[1], down=True, **more)
    return Panel(marks, title, x, y, aspect="equal", framed=False)


def weight_map(values: Tensor, hidden: Tensor | None = None, label="", **more) -> Cells:
    """Return weights between 0 and 1; written where there is room, as .31, from .05 on."""
    few = max(values.shape) <= LARGEST_WITH_VALUES
    colors = Colors(label=label or "attention weight")
    return Cells(values, colors, hidden, _weight if few else None, **more)


def _weight(value: float) -> str:
    return f"{value:.2f}".replace("0.", ".", 1) if value >= 0.05 else ""


def score_map(values: Tensor, hidden: Tensor | None, **more) -> Cells:
    """Return scores of any size, on colors centered on 0."""
    few = max(values.shape) <= LARGEST_WITH_VALUES
    write = "{:.3g}".format if few else None
    return Cells(values, centered(values, "score"), hidden, write, **more)


def largest_of_rows(values: Tensor, queries: Sequence[str], keys: Sequence[str]) -> str:
    """Name the key with the largest value of each query."""
    best = values.nan_to_num(nan=-math.inf).argmax(dim=-1).tolist()
    return ", ".join(
        f"{query} to {keys[j]} ({values[i, j]:.2f})"
        for i, (query, j) in enumerate(zip(queries, best, strict=True))
    )


def cell_size(values: Tensor, small: float = 0.32) -> float:
    """Return the inches of a cell: more where numbers stand in it."""
    return 0.44 if max(values.shape) <= LARGEST_WITH_VALUES else small


def hidden_cells(values: Tensor, mask: Tensor | None) -> Tensor:
    """Return the cells that are hatched: not allowed by the mask, or a score of -inf."""
    return ~(values.isfinite() if mask is None else mask.cpu() & values.isfinite())


def heat_map(
    weights: Float[Tensor, "l s"],
    queries: Sequence[str],
    keys: Sequence[str] | None = None,
    *,
    mask: Bool[Tensor, "l s"] | None = None,
    title: str = "",
    kind: str = "weights",
    mark: str = "",
) -> Picture:
    """Draw one head's attention; each row is one query.

    Args:
        weights: (L, S), weights between 0 and 1, or scores of any size.
        queries: L labels.
        keys: S labels; the queries' if None.
        mask: (L, S), True where the query may attend; the rest is hatched.
        kind: "weights" (one color scale from 0 to 1) or "scores" (centered on 0).
        mark: the query whose row is framed: the one that the text speaks of.
    """
    keys = queries if keys is None else keys
    expect_shape(weights, (len(queries), len(keys)), f"{kind}, queries by keys,")
    expect(kind in ("weights", "scores"), 'kind "weights" or "scores"', f'"{kind}"')
    values = weights.detach().double().cpu()
    queries, keys = numbered(queries), numbered(keys)
    expect(not mark or mark in queries, f"to mark one of {', '.join(queries)}", repr(mark))
    make = weight_map if kind == "weights" else score_map
    said = largest_of_rows(values, queries, keys)
    marks: list[Mark] = [make(values, hidden_cells(values, mask), ruled=True, says=said)]
    panel = cells_panel(marks, queries, keys)
    if mark:
        row, width = queries.index(mark), len(keys)
        look = {"fill": False, "ec": MARKED, "lw": 2.5, "clip_on": False}
        marks.append(Box(width / 2, row + 0.5, width, 1, look=look))
        panel = replace(panel, y=replace(panel.y, strong=row))
    rows, columns = values.shape
    cell = cell_size(values)
    return Figure(
        [panel],
        (2.0 + cell * columns, 1.3 + cell * rows),
        f"Heat map of {kind}. The largest in each row: ",
        title=title,
        legend="outside lower center",
    ).picture()


def scores_and_weights(
    scores: Float[Tensor, "l s"],
    weights: Float[Tensor, "l s"],
    queries: Sequence[str],
    keys: Sequence[str] | None = None,
    *,
    mask: Bool[Tensor, "l s"] | None = None,
) -> Picture:
    """Draw one head's scores, with colors centered on 0, and beside them its weights, from 0 to 1.

    Args:
        scores: (L, S), as the softmax gets them.
        weights: (L, S), between 0 and 1.
        queries: L labels.
        keys: S labels; the queries' if None.
        mask: (L, S), True where the query may attend; the rest is hatched.
    """
    keys = queries if keys is None else keys
    rows, columns = shape = (len(queries), len(keys))
    for kind, values in (("scores", scores), ("weights", weights)):
        expect_shape(values, shape, kind)
    scores, weights = (values.detach().double().cpu() for values in (scores, weights))
    hidden, names = hidden_cells(scores, mask), (numbered(queries), numbered(keys))
    # Beside its weight, one digit of a score is enough.
    score = score_map(scores.round(decimals=1), hidden, ruled=True)
    weight = weight_map(weights, hidden, "weight", ruled=True)
    cell = cell_size(weights)
    shown = scores[scores.isfinite()]
    return Figure(
        [
            cells_panel([score], *names, title="scores"),
            cells_panel([weight], *names, title="weights", labels=("key (column)", "")),
        ],
        (3.0 + 2 * cell * columns, 1.2 + cell * rows),
        f"Two heat maps of the same head: scores from {shown.min():.1f} to {shown.max():.1f}, "
        f"on colors centered on 0, and weights from 0 to {weights.max().item():.2f}, on a scale "
        "from 0 to 1",
        shared="y",
        legend="outside lower center",
        raster=64,
    ).picture()


def head_maps(
    weights: Float[Tensor, "h l s"],
    queries: Sequence[str],
    keys: Sequence[str] | None = None,
    *,
    titles: Sequence[str] | None = None,
    columns: int | None = None,
    mask: Bool[Tensor, "l s"] | None = None,
    label: str = "attention weight",
) -> Picture:
    """Draw one heat map for each head, all on one scale.

    Args:
        weights: (H, L, S), between 0 and 1.
        queries: L labels.
        keys: S labels; the queries' if None.
        titles: H titles; "head 0", "head 1" and so on if None.
        columns: how many maps stand side by side; all if None.
        mask: (L, S), True where the query may attend; the rest is hatched.
        label: of the color scale.
    """
    keys = queries if keys is None else keys
    shape = (len(queries), len(keys))
    expect_shape(weights, (len(weights), *shape), "weights, heads by queries by keys,")
    if mask is not None:
        expect_shape(mask, shape, "a mask")
    heads = len(weights)
    titles = [f"head {i}" for i in range(heads)] if titles is None else titles
    expect(len(titles) == heads, f"{heads} titles", len(titles))
    columns = heads if columns is None else columns
    expect(1 <= columns <= heads, f"columns from 1 to {heads}", columns)
    few = max(shape) <= LARGEST_WITH_VALUES
    cell = cell_size(weights[0], 0.155)
    queries, keys = numbered(queries), numbered(keys)
    rows = -(-heads // columns)
    hidden = None if mask is None else ~mask.cpu()

    def panel(n: int, values: Tensor) -> Panel:
        said = largest_of_rows(values, queries, keys)
        cells = weight_map(values, hidden, label, says=said)
        low, left = n + columns >= heads, n % columns == 0
        labels = ("key (column)" * low, "query (row)" * left)
        size = None if few else 7.5
        return cells_panel([cells], queries, keys, titles[n], labels, size=size)

    values = weights.detach().double().cpu()
    return Figure(
        [panel(*each) for each in enumerate(values)],
        (1.9 + columns * (cell * shape[1] + 0.2), 0.9 + rows * (0.5 + cell * shape[0])),
        "Heat maps of weights. The largest in each row. ",
        "; ",
        columns=columns,
        shared="xy",
        legend="outside lower center",
        raster=0 if few else 96,
    ).picture()


def alignment(
    weights: Mapping[str, Float[Tensor, "l s"]], output: Sequence[str], *, title: str = ""
) -> Picture:
    """Draw one head's cross-attention for one or more inputs that have the same output.

    Args:
        weights: for each input, (L, S) weights between 0 and 1. An input of S characters has one
            column for each.
        output: L labels, one for each row: what is written there.
    """
    expect(bool(weights), "at least one input", "none")
    for text, values in weights.items():
        expect_shape(values, (len(output), len(text)), f"weights for {text!r}")

    def panel(text: str, values: Tensor, label: str) -> Panel:
        shown = text.replace(" ", SPACE)
        best = values.argmax(dim=-1).tolist()
        said = ", ".join(
            f"{letter} to {shown[j]} at {j} ({values[i, j]:.2f})"
            for i, (letter, j) in enumerate(zip(output, best, strict=True))
        )
        said = f"Input {text!r}, the largest weight of each output: {said}."
        cells = Cells(values, ruled=True, says=said)
        return cells_panel([cells], output, list(shown), labels=("input (key)", label))

    lengths, cell = [len(text) for text in weights], 0.22  # inches
    return Figure(
        [
            panel(*each, "" if i else "output (query)")
            for i, each in enumerate(weights.items())
        ],
        (1.4 + sum(0.45 + cell * n for n in lengths), 0.7 + cell * len(output)),
        "Heat map of cross-attention weights. ",
        " ",
        "",
        title=title,
        widths=lengths,
        raster=128,
    ).picture()


def layer_heads(panels: Mapping[str, Float[Tensor, "layers h"]]) -> Picture:
    """Draw maps of the same heads one above the other, layers across and heads down.

    Args:
        panels: a title and (layers, H) numbers between 0 and 1 for each map.
    """
    shapes = {tuple(scores.shape) for scores in panels.values()}
    one = len(shapes) == 1 and len(next(iter(shapes))) == 2
    expect(one, "maps of one shape (layers, H)", sorted(shapes))
    for scores in panels.values():
        good = bool(((scores >= 0) & (scores <= 1)).all())
        expect(good, "numbers between 0 and 1", f"{scores.min():.3g} to {scores.max():.3g}")
    layers, heads = next(iter(shapes))

    def panel(title: str, scores: Tensor, label: str) -> Panel:
        values, places = scores.flatten().topk(min(5, scores.numel()))
        pairs = zip(places.tolist(), values.tolist(), strict=True)
        said = ", ".join(f"{p // heads}.{p % heads} {value:.2f}" for p, value in pairs)
        cells = Cells(scores.T, Colors(label="score", shrink=0.6), says=said)
        return Panel(
            [cells],
            title,
            numbers_scale(layers, 5, label),
            numbers_scale(heads, 2, "head", down=True),
            aspect="equal",
            framed=False,
            title_look={"loc": "left"},
        )

    last = list(panels)[-1]
    return Figure(
        [panel(name, scores, "layer" * (name == last)) for name, scores in panels.items()],
        (1.6 + 0.16 * layers, 0.5 + len(panels) * (0.55 + 0.16 * heads)),
        f"Maps of {layers} layers of {heads} heads; the largest, as layer.head. ",
        columns=1,
        shared="x",
        raster=64,
    ).picture()


def numbers_scale(count: int, every: int, label: str, *, down: bool = False) -> Scale:
    """Return a scale that numbers every so many cells."""
    shown = range(0, count, every)
    low, high = (count, 0) if down else (0, count)
    return Scale(label, low, high, [n + 0.5 for n in shown], [str(n) for n in shown])


def matrices(
    panels: Mapping[str, Tensor],
    *,
    xlabel: str = "channel in (column)",
    ylabel: str = "channel out (row)",
) -> Picture:
    """Draw matrices on one color scale centered on 0; gray is exactly zero.

    Args:
        panels: a title and a matrix for each panel, all of one shape.
        xlabel: the columns.
        ylabel: the rows.
    """
    shapes = [tuple(panel.shape) for panel in panels.values()]
    one = len(set(shapes)) == 1 and len(shapes[0]) == 2
    expect(one, "matrices of one shape (rows, columns)", shapes)
    rows, columns = shapes[0]
    colors = centered(torch.stack(list(panels.values())).detach(), "weight")

    def panel(title: str, matrix: Tensor, label: str) -> Panel:
        zero = matrix.cpu() == 0
        said = f"{zero.sum()} of {zero.numel()} weights are zero"
        cover: Look = {"cover": ZERO, "cover_name": "exactly 0"}
        cells = Cells(matrix, colors, zero, says=said, **cover)
        x = replace(numbers_scale(columns, max(columns - 1, 1), xlabel), bare=True)
        y = replace(numbers_scale(rows, max(rows - 1, 1), label, down=True), bare=True)
        return Panel([cells], title, x, y, aspect="equal", framed=False)

    return Figure(
        [panel(*each, "" if i else ylabel) for i, each in enumerate(panels.items())],
        (1.4 + len(panels) * (0.3 * columns + 0.4), 1.4 + 0.3 * rows),
        f"Matrices of {rows} rows by {columns} columns. ",
        "; ",
        shared="y",
        legend="outside lower center",
    ).picture()


def position_codes(
    codes: Float[Tensor, "l e"], positions: Sequence[int], *, title: str = ""
) -> Picture:
    """Draw a table of codes, a row for each position, and the dot products of some rows with all.

    Args:
        codes: (L, E).
        positions: 1 to 4 rows; each gets a line of its dot products with all L rows.
    """
    length, width = codes.shape
    expect_few(dict.fromkeys(positions), "positions")
    there = all(0 <= p < length for p in positions)
    expect(there, f"positions from 0 to {length - 1}", list(positions))
    table = codes.detach().double().cpu()
    lines, said = [], []
    for n, p in enumerate(positions):
        values = (table @ table[p]).tolist()
        said.append(
            f"of position {p}: {values[p]:.2f} with itself, {values[0]:.2f} with 0, "
            f"{values[-1]:.2f} with {length - 1}"
        )
        lines += [
            Line(range(length), values, f"position {p}", styled(n, dashed=True, lw=1.5)),
            Line([p], [values[p]], look=styled(n, marker="o", ms=5)),
        ]
    colors = centered(table, "number")
    across, down = Scale("channel", 0, width), Scale("position", length, 0)
    products = Panel(
        lines,
        "how alike",
        Scale("the other position"),
        Scale("dot product"),
        grid="both",
        named=False,
        says="; ".join(said),
    )
    colored = Panel([Cells(table, colors)], "the codes", across, down, framed=False)
    return Figure(
        [colored, products],
        (7.0, 2.9),
        f"Colors of {length} codes of {width} numbers, and dot products ",
        title=title,
        widths=(1, 1.15),
        legend="outside lower right",
        raster=96,
    ).picture()


def words_on_picture(
    image: Float[Tensor, "h w"],
    words: Sequence[str],
    weights: Float[Tensor, "l n"],
    *,
    title: str = "",
) -> Picture:
    """Draw the picture, and for each word the picture again under its weights.

    Args:
        image: (height, width), 0 is paper and 1 is ink.
        words: L words.
        weights: (L, N), one weight for each patch, row by row; as many rows of patches as columns.
    """
    side = math.isqrt(weights.shape[-1])
    expect_shape(
        weights, (len(words), side * side), "weights, words by patches of a square,"
    )
    image = image.detach().cpu()
    height, width = image.shape
    grid = weights.detach().cpu().view(-1, side, side)
    paper = Cells(image, Colors(name="gray_r", label=""))

    def panel(word: str, values: Tensor) -> Panel:
        best = int(values.argmax())
        said = f"{word}: {values.max():.2f} on row {best // side}, column {best % side}"
        cells = Cells(values, size=(width / side, height / side))
        return picture_panel([cells, Ink(image, values)], f"“{word}”", said)

    return Figure(
        [picture_panel([paper], "picture", ""), *map(panel, words, grid)],
        (1.55 * (len(words) + 1) + 0.6, 2.0),
        "A picture, and the patch that gets the largest weight of each word: ",
        "; ",
        title=title,
        raster=64,
    ).picture()


def picture_panel(marks: Sequence[Mark], title: str, said: str) -> Panel:
    """Return a panel without scales."""
    none = Scale(ticks=())
    look: Look = {"aspect": "equal", "anchor": "C", "framed": False, "named": False}
    return Panel(marks, title, none, none, says=said, **look)


@dataclass(frozen=True)
class Ink(Mark):
    """The ink of a picture over weights: black on bright patches, white on dark ones."""

    image: Tensor
    weights: Tensor

    def draw(self, axes: Axes) -> None:
        height, width = self.image.shape
        rows, columns = (
            torch.arange(size) * len(self.weights) // size for size in (height, width)
        )
        bright = self.weights[rows[:, None], columns] > 0.5
        shade = torch.where(bright, 0.0, 1.0)[..., None].expand(-1, -1, 3)
        inked = torch.cat([shade, 0.9 * self.image[..., None]], dim=-1).clamp(0, 1)
        axes.imshow(inked.numpy(), extent=(0, width, height, 0))


def patch_order(cuts: dict[str, Float[Tensor, "n p"]], *, title: str = "") -> Picture:
    """Lay patches out from left to right and from top to bottom, each with its number.

    Args:
        cuts: for each heading, (N, patch * patch) gray values; N a square number, at most 36.
    """

    def panel(name: str, patches: Tensor) -> Panel:
        squares = all(math.isqrt(size) ** 2 == size for size in patches.shape)
        expect(squares, "(N, P), both square numbers", tuple(patches.shape))
        n, p = (math.isqrt(size) for size in patches.shape)
        laid = patches.view(n, n, p, p).transpose(1, 2).reshape(n * p, n * p)
        number = {"ha": "left", "va": "top", "fontsize": 7, "color": COLORS[1]}
        line = {"lw": 0.6, "color": COLORS[1]}
        marks: list[Mark] = [Cells(laid, Colors(name="gray_r", label=""))]
        marks += [Rule(i * p, axis, look=line) for axis in "xy" for i in range(1, n)]
        for i in range(n * n):
            corner = (i % n * p + 0.2, i // n * p + 0.2)
            marks.append(Text(*corner, str(i), look=number))
        return picture_panel(marks, name, name)

    return Figure(
        [panel(name, patches) for name, patches in cuts.items()],
        (2.3 * len(cuts), 2.6),
        "Patches in their order, laid out row by row, for: ",
        ", ",
        title=title,
        raster=64,
    ).picture()


def head_grid(
    weights: Float[Tensor, "layers h l s"],
    numbers: Mapping[str, Float[Tensor, "layers h"]] | None = None,
    *,
    layers: Sequence[str] | None = None,
    num_kv_heads: int | None = None,
    title: str = "",
    root: bool = False,
) -> Picture:
    """Draw one small map for each head; a row of maps is a layer, or another set of heads.

    Args:
        weights: (layers, H, L, S), between 0 and 1.
        numbers: written below each map, in this order: a name with its unit, and (layers, H).
        layers: the names of the rows; layer 0, 1, ... if None.
        num_kv_heads: where query heads share keys and values, bracket the heads of each group.
        root: let the colors follow the square root of a weight, so that small ones can be seen.
    """
    numbers = numbers or {}
    expect(weights.ndim == 4, "weights (layers, H, L, S)", tuple(weights.shape))
    count, heads, rows, columns = weights.shape
    names = [str(i) for i in range(count)] if layers is None else layers
    expect(len(names) == count, f"{count} names of layers", len(names))
    for name, values in numbers.items():
        expect_shape(values, (count, heads), f"{name}: numbers")
    groups = num_kv_heads or heads
    expect(heads % groups == 0, f"num_kv_heads to divide {heads}", num_kv_heads)
    height = rows + round((0.4 if numbers else 0.15) * rows) + 1  # of a map and its margin
    width = columns + round(0.15 * columns) + 1
    # About half an inch a map; whole dots of a hundredth for each cell: sharp, and a small file.
    inch = max(1, round(50 / max(rows, columns))) / 100
    inner = (inch * width * heads, inch * height * count)

    # One panel: axes for each map would make the file ten times larger.
    ticks = (0, 0.01, 0.05, 0.1, 0.2, 0.5, 1) if root else None
    colors = Colors(power=0.5 if root else 1, ticks=ticks)
    marks: list[Mark] = []
    for layer, head in product(range(count), range(heads)):
        left, top = head * width, layer * height
        marks.append(Cells(weights[layer, head], colors, place=(left, top)))
        words = " · ".join(f"{values[layer, head]:.1f}" for values in numbers.values())
        if words:
            look = {"va": "top", "fontsize": 7}
            marks.append(Text(left + columns / 2, top + rows * 1.05, words, look=look))
    if num_kv_heads:
        size, low, high = heads // groups, -0.005 * count * height, -0.015 * count * height
        for group in range(groups):
            left, right = group * size * width, ((group + 1) * size - 1) * width + columns
            way = ([left, left, right, right], [low, high, high, low])
            marks.append(Line(*way, look=styled(0, lw=1.5, clip_on=False)))
    places = [head * width + columns / 2 for head in range(heads)]
    middles = [layer * height + rows / 2 for layer in range(count)]
    x = Scale("head", 0, heads * width, places, range(heads), bare=True, top=True)
    y = Scale("" if layers else "layer", count * height, 0, middles, names, bare=True)
    notes = [f"Below each map: {' · '.join(numbers)}."] if numbers else []
    notes.append("In each map: queries from top to bottom, keys from left to right.")
    ranges = "".join(
        f" {name}: {values.min():.1f} to {values.max():.1f}."
        for name, values in numbers.items()
    )
    return Figure(
        [Panel(marks, x=x, y=y, framed=False)],
        (inner[0] + 1.9, inner[1] + 1.3),
        f"Small heat maps of {heads} heads in each of {count} rows. The largest weight is "
        f"{weights.max():.2f}.{ranges}",
        closing="",
        title=title,
        xlabel=("\n" if inner[0] + 1.9 < 8 else " ").join(notes),
        box=(0.85, 0.45, *inner),
        raster=48,
    ).picture()
