"""Grids of cells that are of one kind or another: masks, what is computed, where a number goes.

A ValueError says what was expected and what was given.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import compress, product

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attn_lib.plotting.figure import (
    Box,
    Figure,
    Line,
    Look,
    Mark,
    Panel,
    Point,
    Scale,
    Squares,
    Text,
    expect,
    expect_shape,
)
from attn_lib.plotting.maps import cells_panel, label_scale
from attn_lib.plotting.picture import Picture
from attn_lib.plotting.style import COLORS, GRAY, HATCHED, LIGHT, PALE, styled

CELL = 0.27  # inches
ALLOWED = {"facecolor": COLORS[0], "linewidth": 0}
SMALL = {"fontsize": 10}  # a title
FRAME = {"fill": False, "ec": COLORS[0], "lw": 2.2, "clip_on": False}


def where(cells: Tensor) -> list[Point]:
    """Return the (column, row) of all cells that are True."""
    return [(j, i) for i, j in cells.nonzero().tolist()]


def mask_panel(
    mask: Tensor, queries: Sequence[str], keys: Sequence[str], title: str, **more
) -> Panel:
    """Return a panel of who (query) may attend to whom (key)."""
    said = "; ".join(
        f"{query} to {', '.join(key for key, a in zip(keys, row, strict=True) if a) or 'none'}"
        for query, row in zip(queries, mask.tolist(), strict=True)
    )
    marks = [
        Squares(where(mask), ALLOWED, "may attend"),
        Squares(where(~mask), HATCHED, "may not attend"),
    ]
    panel = cells_panel(marks, queries, keys, title, **more)
    return replace(panel, title_look=SMALL, says=f"{said}.")


def masks_figure(panels: Sequence[Panel], size: tuple[float, float], **more) -> Picture:
    return Figure(
        panels,
        size,
        "Grids of who may attend (query) to whom (key). ",
        " ",
        "",
        legend="outside lower center",
        **more,
    ).picture(colors=12)


def mask_grid(
    masks: Mapping[str, Bool[Tensor, "l s"]],
    queries: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
    *,
    columns: int = 2,
) -> Picture:
    """Draw masks side by side: allowed cells filled, forbidden cells hatched.

    Args:
        masks: a title and a boolean (L, S) for each panel, True where the query may attend.
        queries: L labels for the rows of every panel; their numbers if None.
        keys: S labels; the queries' if None and the mask is square, else numbers.
        columns: how many panels stand beside each other.
    """
    expect(bool(masks), "at least one mask", "none")
    for name, mask in masks.items():
        good = mask.dtype == torch.bool and mask.ndim == 2
        got = f"{mask.dtype} {tuple(mask.shape)}"
        expect(good, f"the mask {name!r} to be boolean (L, S)", got)
    labels = {name: _labels(mask, queries, keys) for name, mask in masks.items()}
    columns = min(columns, len(masks))
    alike = len({(tuple(q), tuple(k)) for q, k in labels.values()}) == 1
    letters = max(len(label) for pair in labels.values() for side in pair for label in side)
    names = 0.5 + 0.07 * letters  # inches for the labels of rows
    cells = CELL * max(mask.shape[1] for mask in masks.values())
    width = max(cells, 0.085 * max(map(len, masks))) + 0.2 + (0 if alike else names)
    tallest = [
        max(len(mask) for mask in list(masks.values())[start : start + columns])
        for start in range(0, len(masks), columns)
    ]
    around = 0.4 if alike else 0.95 + 0.06 * letters  # inches for titles and labels
    last = 0.95 + 0.06 * letters - around

    def panel(number: int, name: str) -> Panel:
        queries, keys = labels[name]
        panel = mask_panel(masks[name], queries, keys, name, size=8)
        if alike and number % columns:  # the labels of the first panel are enough
            panel = replace(panel, y=replace(panel.y, label="", names=[""] * len(queries)))
        if alike and number + columns < len(masks):
            panel = replace(panel, x=replace(panel.x, label="", names=[""] * len(keys)))
        return panel

    return masks_figure(
        [panel(number, name) for number, name in enumerate(masks)],
        (
            max(3.0, columns * width + (names if alike else 0)),
            0.4 + last + sum(around + CELL * rows for rows in tallest),
        ),
        columns=columns,
        heights=tallest,
    )


def _labels(mask: Tensor, queries, keys) -> tuple[list[str], list[str]]:
    rows, columns = mask.shape
    keys = queries if keys is None and rows == columns else keys
    queries = [str(i) for i in range(rows)] if queries is None else list(queries)
    keys = [str(j) for j in range(columns)] if keys is None else list(keys)
    expect_shape(mask, (len(queries), len(keys)), "a mask, queries by keys,")
    return queries, keys


def three_masks(
    masks: tuple[Bool[Tensor, "..."], Bool[Tensor, "..."], Bool[Tensor, "..."]],
    source: Sequence[str],
    target: Sequence[str],
) -> Picture:
    """Draw what `encoder_decoder_masks` returns for one pair, each mask with its own labels.

    Args:
        masks: the encoder's, the decoder's and the cross mask of one pair (B = 1), each
            broadcastable to (1, 1, queries, keys).
        source: S labels of the input.
        target: L labels of the output.
    """
    labels = {
        "1. encoder: input on input": (source, source),
        "2. decoder: output on output": (target, target),
        "3. cross: output on input": (target, source),
    }
    expect(len(masks) == len(labels), "three masks", len(masks))

    def panel(mask: Tensor, name: str) -> Panel:
        queries, keys = labels[name]
        shape = (1, 1, len(queries), len(keys))
        fits = mask.ndim == 4 and all(
            m in (1, s) for m, s in zip(mask.shape, shape, strict=True)
        )
        expect(
            fits and mask.dtype == torch.bool,
            f"the mask of {name!r} to be boolean and broadcastable to {shape}",
            f"{mask.dtype} {tuple(mask.shape)}",
        )
        return mask_panel(mask.expand(shape)[0, 0], queries, keys, name, size=8)

    widths = [len(keys) for _, keys in labels.values()]
    return masks_figure(
        [panel(mask, name) for mask, name in zip(masks, labels, strict=True)],
        (sum(1.2 + CELL * n for n in widths), 1.7 + CELL * max(len(source), len(target))),
        widths=widths,
    )


def window_blocks(length: int, window: int) -> Picture:
    """Draw all pairs of query and key, and beside them the pairs that blocks of one window compute.

    Each block of `window` queries meets its own keys and those of the block before.

    Args:
        length: L, a multiple of the window, at most 32.
        window: W, how many keys a query sees, its own included.
    """
    whole = length % window == 0
    expect(whole, "a length that is a multiple of the window", f"{length} and {window}")
    i, j = torch.arange(length)[:, None], torch.arange(length)
    first = i // window * window - window  # where the keys of a query's two blocks begin
    computed = (first <= j) & (j < first + 2 * window)
    attends = (i - window < j) & (j <= i)
    k = torch.arange(2 * window)
    own = i % window + window  # the place of a query's own key among the 2 W
    folded = (own - window < k) & (k <= own) & (first + k >= 0)

    begins = range(0, length, window)
    starts = [start + 0.5 for start in begins]

    def panel(title: str, attends: Tensor, computed: Tensor, label: str, x: Scale) -> Panel:
        width = attends.shape[1]
        kinds: dict[str, tuple[Tensor, str]] = {
            "never computed": (~computed, LIGHT),
            "computed, and masked": (computed & ~attends, "#f0a15e"),
            "attends": (attends, COLORS[0]),
        }
        marks: list[Mark] = [
            Squares(where(cells), {"facecolor": fill, "linewidth": 0}, name)
            for name, (cells, fill) in kinds.items()
        ]
        gray = {"color": GRAY, "lw": 1}
        marks += [Line([0, width], [y, y], look=gray) for y in begins[1:]]
        x = replace(x, low=0, high=width, size=8, bare=True)
        y = Scale(label, length, 0, starts, begins, size=8, bare=True)
        look: Look = {"aspect": "equal", "framed": False, "title_look": SMALL}
        return Panel(marks, f"{title}: {length} × {width}", x, y, **look)

    keys = Scale("key (column)", ticks=starts, names=begins)
    halves = ["block\nbefore", "own\nblock"]
    blocks = Scale(ticks=[window / 2, 1.5 * window], names=halves)
    return Figure(
        [
            panel("all pairs", attends, computed, "query (row)", keys),
            panel("blocks", folded, torch.ones_like(folded), "", blocks),
        ],
        (1.6 + 0.2 * (length + 2 * window), 2.0 + 0.2 * length),
        f"Grid of {length} queries and {length} keys: {attends.sum()} pairs attend, in a band of "
        f"{window} along the diagonal. Beside it the same band in blocks of {window} queries and "
        f"{2 * window} keys: {length * 2 * window} pairs are computed instead of {length**2}",
        widths=[length, 2 * window],
        shared="y",
        legend="outside lower center",
        raster=64,
    ).picture()


def cache_growth(tokens: Sequence[str]) -> Picture:
    """Draw the scores of each step, queries by keys, and below them the keys and values.

    Above: a step without a cache, which computes the whole square; the mask throws its upper part
    away. Below: with a cache, one row, and one new key and value.

    Args:
        tokens: 2 to 6, one written in each step.
    """
    steps = len(tokens)
    kinds: dict[str, Look] = {
        "score": {"facecolor": COLORS[0], "edgecolor": "white"},
        "score, masked away": HATCHED,
        "of an earlier step, not computed again": {
            "facecolor": "white",
            "edgecolor": "#b5b5b5",
            "linestyle": ":",
        },
        "key and value, computed": {"facecolor": COLORS[1], "edgecolor": "white"},
        "taken from the cache": {"facecolor": PALE[1], "edgecolor": COLORS[1], "lw": 1.4},
    }

    def panel(n: int, cached: bool) -> Panel:
        below = n + 0.5
        i, j = torch.arange(n)[:, None], torch.arange(n)
        new = torch.full((n, n), not cached) | (i == n - 1)
        places: list[list[Point]] = [
            where((j <= i) & new),
            where((j > i) & ~torch.tensor(cached)),
            where((j <= i) & ~new),
            [(j, below) for j in ([n - 1] if cached else range(n))],
            [(j, below) for j in range(n - 1 if cached else 0)],
        ]
        pairs = zip(places, kinds.items(), strict=True)
        row = ("with a cache" if cached else "without a cache") if n == 1 else ""
        return Panel(
            [Squares(cells, look, name, gap=0) for cells, (name, look) in pairs],
            "" if cached else f"step {n}\n{tokens[n - 1]}",
            Scale("", -0.2, n + 0.2, ()),
            Scale(row, steps + 1.6, -0.1, ()),
            aspect="equal",
            framed=False,
            title_look=SMALL,
        )

    numbers = range(1, steps + 1)
    return Figure(
        [panel(n, cached) for cached in (False, True) for n in numbers],
        (1.3 + 0.3 * (steps * (steps + 1) / 2 + 1.4 * steps), 1.5 + 0.6 * (steps + 2.4)),
        f"Squares of scores, queries by keys, in {steps} steps. Without a cache: "
        f"{', '.join(str(n * n) for n in numbers)} scores, those above the diagonal masked away, "
        f"and {', '.join(map(str, numbers))} keys and values computed. With a cache: the last row "
        f"alone, {', '.join(map(str, numbers))} scores, and one key and value computed in each "
        f"step; the {', '.join(map(str, range(steps)))} before it are taken from the cache",
        columns=steps,
        widths=[n + 1.4 for n in numbers],
        legend="outside lower center",
        legend_columns=2,
        raster=24,
    ).picture()


def who_moves(
    sentences: Sequence[Sequence[str]],
    moves: Mapping[str, Float[Tensor, "b l"]],
    changed: tuple[int, int],
    *,
    tolerance: float = 1e-5,
) -> Picture:
    """Draw the words of a batch once for each part of a model; filled where the output moved.

    Args:
        sentences: B sentences of L words each.
        moves: for each part, how far each output moved when one word was changed, (B, L).
        changed: the sentence and the place of that word. It gets a thick frame.
        tolerance: a smaller move is one of rounding.
    """
    rows, columns = shape = (len(sentences), len(sentences[0]))
    expect(bool(moves), "at least one part", "none")
    for name, how_far in moves.items():
        expect_shape(how_far, shape, f"{name}: moves")
    edge = {"edgecolor": "#8a8a8a", "lw": 0.6}
    row, column = changed

    def panel(name: str, moved: Tensor) -> Panel:
        marks: list[Mark] = [
            Squares(where(moved), edge | {"facecolor": PALE[1]}, "output moved", 0),
            Squares(where(~moved), edge | {"facecolor": "white"}, "output as before", 0),
            Box(column + 0.5, row + 0.5, 0.94, 0.94, look=FRAME, name="word changed"),
        ]
        for i, j in product(range(rows), range(columns)):
            look = {"fontsize": 8, "weight": "bold" if moved[i, j] else "normal"}
            marks.append(Text(j + 0.5, i + 0.5, sentences[i][j], look=look))
        x, y = Scale(low=-0.02, high=columns + 0.02), Scale(low=rows + 0.02, high=-0.02)
        said = f"{_moved(sentences, moved)}."
        return Panel(marks, name, x, y, on=False, title_look=SMALL, says=said)

    return Figure(
        [panel(name, how_far > tolerance) for name, how_far in moves.items()],
        (len(moves) * (0.25 + 0.6 * columns), 0.75 + 0.3 * rows),
        f"Whose output moves when {sentences[row][column]!r} in sentence {row + 1} changes. ",
        " ",
        "",
        legend="outside lower center",
    ).picture()


def _moved(sentences: Sequence[Sequence[str]], moved: Tensor) -> str:
    if moved.all():
        return "every word of every sentence"
    parts = []
    for number, (words, row) in enumerate(zip(sentences, moved, strict=True), 1):
        if row.any():
            parts.append(f"{', '.join(compress(words, row))} in sentence {number}")
    return "; ".join(parts) or "none"


def mutant_table(
    accused: Mapping[str, Collection[str]],
    kinds: Mapping[str, Sequence[str]],
    right: Sequence[str],
) -> Picture:
    """Draw a row for each test, a dark cell for each wrong implementation that it finds.

    The last row is all tests together; the number of finds stands beside a row.

    Args:
        accused: for each test, the names of the implementations that fail it.
        kinds: the wrong implementations, in groups with a name.
        right: the right ones; one that is accused gets an orange cross.
    """
    wrong = {name for group in kinds.values() for name in group}
    everyone = {name for found in accused.values() for name in found}
    strangers = sorted(everyone - wrong - {*right})
    good = bool(accused) and not strangers
    expect(good, "tests of the given implementations", strangers)
    rows, groups = {**accused, "together": everyone}, {**kinds, "right": right}
    gap = 0.6  # cells between two groups
    places: dict[str, float] = {}
    for number, group in enumerate(groups.values()):
        places |= {name: len(places) + i + gap * number for i, name in enumerate(group)}
    width, height = max(places.values()) + 1, len(rows) + gap
    levels = [*range(len(accused)), len(accused) + gap]
    wide, high, left = 0.105, 0.165, 1.5  # inches: a cell, and the names of the tests
    small = {"fontsize": 8.5}
    marks: list[Mark] = []
    for level, (name, found) in zip(levels, rows.items(), strict=True):
        for shown, marker, color in (
            (places.keys() - found, "s", LIGHT),
            ({*found} - {*right}, "s", COLORS[0]),
            ({*found} & {*right}, "x", COLORS[1]),
        ):
            xs = [places[one] for one in shown]
            look = {"ls": "", "marker": marker, "color": color, "ms": 5.67}
            marks.append(Line(xs, [level] * len(xs), look=look | {"clip_on": False}))
        count = str(len({*found} & wrong))
        marks += [
            Text(-0.9, level, name, look=small | {"ha": "right"}),
            Text(width + 0.2, level, count, look=small | {"ha": "left"}),
        ]
    for name, group in groups.items():
        middle = (places[group[0]] + places[group[-1]]) / 2
        marks.append(Text(middle, -0.9, name, look=small | {"va": "bottom"}))
    said = "; ".join(f"{name} {len({*found} & wrong)}" for name, found in rows.items())
    alarms = ", ".join(sorted(everyone & {*right}))
    x, y = Scale(low=-0.5, high=width - 0.5), Scale(low=levels[-1] + 0.6, high=-0.6)
    return Figure(
        [Panel(marks, x=x, y=y, on=False, says=said)],
        (left + wide * width + 0.32, high * height + 0.35),
        f"How many of {len(wrong)} mutants each test finds: ",
        closing=f". Right ones accused: {alarms}." if alarms else ". No right one accused.",
        box=(left, 0.05, wide * width, high * height),
        raster=16,
    ).picture()


def cells(
    ids: Int[Tensor, "*h l w"],
    tokens: Sequence[str],
    *,
    num_heads: int = 1,
    title: str = "",
) -> Picture:
    """Draw a tensor of cell numbers, made by `torch.arange`: cell `token * E + channel`.

    Each cell is written as its token's first letter and its channel, such as t5.

    Args:
        ids: (L, E), drawn as one grid, or (H, L, D), drawn as one grid for each head.
        tokens: L words, at most four, with different first letters.
        num_heads: where the channels of one grid belong to several heads, mark them.
    """
    fits = ids.ndim in (2, 3) and ids.shape[-2] == len(tokens)
    shapes = f"ids of shape (L, E) or (H, L, D) with L = {len(tokens)} tokens"
    expect(fits, shapes, tuple(ids.shape))
    differ = len({token[0] for token in tokens}) == len(tokens) <= len(PALE)
    expect(differ, f"at most {len(PALE)} tokens with different first letters", tokens)
    rows, columns = ids.shape[-2:]
    divides = columns % num_heads == 0
    expect(divides, f"num_heads to divide the {columns} columns", num_heads)
    width = ids.numel() // len(tokens)  # E
    grids = ids[None] if ids.ndim == 2 else ids

    def panel(number: int, grid: Tensor) -> Panel:
        names = [f"head {i}" for i in range(num_heads)] if num_heads > 1 else []
        names = [f"head {number}"] if ids.ndim == 3 else names
        words = [
            [f"{tokens[c // width][0]}{c % width}" for c in row] for row in grid.tolist()
        ]
        edge = {"edgecolor": GRAY, "lw": 0.7}
        marks: list[Mark] = [
            Squares(where(grid // width == i), {"facecolor": PALE[i], **edge}, gap=0)
            for i in range(len(tokens))
        ]
        for i, j in product(range(rows), range(columns)):
            marks.append(Text(j + 0.5, i + 0.5, words[i][j]))
        for n, name in enumerate(names):
            each = columns / len(names)
            middle, above = (n + 0.5) * each, {"va": "bottom", "color": COLORS[0]}
            marks += [
                Box(middle, rows / 2, each, rows, look=FRAME),
                Text(middle, -0.2, name, look=above),
            ]
        head = f"head {number}, " if ids.ndim == 3 else ""
        said = "; ".join(
            f"{head}row {token}: {' '.join(row)}"
            for token, row in zip(tokens, words, strict=True)
        )
        shown = tokens if number == 0 else [""] * rows
        x, y = Scale(low=0, high=columns, ticks=()), label_scale(shown, "", down=True)
        room = {"pad": 28}  # above the names of the heads
        look: Look = {"aspect": "equal", "framed": False, "title_look": room}
        return Panel(marks, "", x, y, says=said, **look)

    cell = 0.42  # inches
    return Figure(
        [panel(*each) for each in enumerate(grids)],
        (1.0 + len(grids) * (cell * columns + 0.5), cell * rows + 1.0),
        "Cells, ",
        "; ",
        title=title,
    ).picture()


def letters(shape: dict[str, int]) -> Picture:
    """Draw a tensor of four axes: a row of samples, in each a stack of heads, in each a grid.

    Args:
        shape: four letters with small sizes, in order: {"B": 2, "H": 3, "L": 4, "D": 5}.
    """
    (b, samples), (h, heads), (row, rows), (column, columns) = shape.items()
    shift = 0.7  # how far each head stands behind the one before it
    width, depth = columns + heads * shift + 2.2, heads * shift
    marks: list[Mark] = []
    for sample in range(samples):
        left = sample * width
        for head in reversed(range(heads)):
            look = {"facecolor": PALE[head % 3], "edgecolor": "#444444", "lw": 0.6}
            pairs = product(range(rows), range(columns))
            cells = [(left + head * shift + j, head * shift + i) for i, j in pairs]
            marks.append(Squares(cells, look, gap=0))
        words = f"sample {sample} ({b} = {samples})"
        look = {"va": "bottom", "color": COLORS[0]}
        marks.append(Text(left + columns / 2, rows + depth + 0.2, words, look=look))
    turned = {"ha": "left", "rotation": 40}
    marks += [
        Text(-0.35, rows / 2, f"{row} = {rows}", look={"ha": "right", "rotation": 90}),
        Text(columns / 2, -0.35, f"{column} = {columns}", look={"va": "top"}),
        Text(columns + depth / 2 + 0.25, depth / 2 - 0.55, f"{h} = {heads}", look=turned),
    ]
    x = Scale(low=-1.3, high=samples * width - 1.2)
    y = Scale(low=-1.4, high=rows + depth + 1.2)
    size = (0.36 * width * samples, 0.36 * (rows + depth + 2.6))
    return Figure(
        [Panel(marks, x=x, y=y, aspect="equal", on=False)],
        size,
        f"A tensor of shape ({', '.join(shape)}) = {tuple(shape.values())}: {samples} samples side "
        f"by side, in each {heads} heads one behind the other, in each a grid of {rows} rows "
        f"and {columns} columns",
        box=(0, 0, *size),
    ).picture()


def pair_layouts(head_dim: int = 8) -> Picture:
    """Draw the channels of a head twice, and an arc over each pair that RoPE turns.

    Above, the pairs are half-split, (c, c + D/2), as in Llama's checkpoints for transformers; below
    they are interleaved, (2c, 2c + 1), as in Meta's own.

    Args:
        head_dim: D, an even number up to 8.
    """
    half = head_dim // 2
    layouts = {
        "half-split": [(c, c + half) for c in range(half)],
        "interleaved": [(2 * c, 2 * c + 1) for c in range(half)],
    }
    bottom, top = -3.0, 1.4 + 0.25 * half
    marks: list[Mark] = []
    for y, (name, pairs) in zip((0, bottom + 0.6), layouts.items(), strict=True):
        marks.append(Text(-0.3, y + 0.5, name, look={"ha": "right"}))
        for number, pair in enumerate(pairs):
            reach, middle = pair[1] - pair[0], sum(pair) / 2 + 0.5
            look = {"facecolor": PALE[number], "edgecolor": GRAY, "lw": 0.8}
            marks.append(Squares([(channel, y) for channel in pair], look, gap=0))
            marks += [Text(channel + 0.5, y + 0.5, str(channel)) for channel in pair]
            # Half an ellipse, as high as it reaches far.
            turns = [math.pi * step / 30 for step in range(31)]
            xs = [middle - reach / 2 * math.cos(turn) for turn in turns]
            ys = [y + 1 + (0.25 + 0.25 * reach) * math.sin(turn) for turn in turns]
            marks.append(Line(xs, ys, look=styled(number, lw=1.8)))
            # Arcs of pairs that lie apart cross: there the name stands below the first cell.
            below = middle if reach == 1 else pair[0] + 0.5
            look = {"va": "top", "fontsize": 8, "color": COLORS[number]}
            marks.append(Text(below, y - 0.1, f"pair {number}", look=look))
    said = []
    for name, pairs in layouts.items():
        each = [f"pair {n} is {a} and {b}" for n, (a, b) in enumerate(pairs)]
        said.append(f"{name}: {', '.join(each)}")
    across, down = Scale(low=-2.8, high=head_dim + 0.1), Scale(low=bottom, high=top)
    return Figure(
        [Panel(marks, x=across, y=down, aspect="equal", on=False)],
        (0.42 * (head_dim + 3), 0.42 * (top - bottom + 0.6)),
        f"{head_dim} channels in two layouts. {'. '.join(said)}",
    ).picture()
