"""A small picture of a difference: expected, yours, and where they differ.

An <img> with the SVG in it, because notebooks that are not trusted drop a bare <svg>.
"""

import base64

from torch import Tensor

from attn_lib.checks.compare import agreeing
from attn_lib.checks.language import translated

GAP, TOP = 28, 20  # pixels
LARGEST = 12  # rows or columns; beyond it the picture is left out
LARGEST_WITH_NUMBERS = 5


def difference_picture(expected: Tensor | None, actual: Tensor | None) -> str:
    """Return an <img> of three grids, small ones with their numbers, or "" where it would not help.

    Args:
        expected: a 2-D slice of the expected result.
        actual: the same slice of the answer's.
    """
    if (
        expected is None
        or actual is None
        or max(expected.shape) > LARGEST
        or expected.numel() < 2
    ):
        return ""
    wrong = ~agreeing(expected, actual)
    rows, columns = expected.shape
    known = [v for v in (*_numbers(expected), *_numbers(actual)) if _is_finite(v)]
    low, high = min(known, default=0.0), max(known, default=1.0)

    def shade(value: float) -> tuple[str, str, str]:
        """Return the color of a cell, that of its number, and the number."""
        if not _is_finite(value):
            return "#d1495b", "#ffffff", str(value)
        level = (value - low) / (high - low) if high > low else 0.5
        color = "rgb({:.0f},{:.0f},{:.0f})".format(*(a + level * (b - a) for a, b in _RAMP))
        return color, "#ffffff" if level > 0.4 else "#000000", _short(value)

    panels = (
        ("expected", [shade(v) for v in _numbers(expected)]),
        ("yours", [shade(v) for v in _numbers(actual)]),
        ("differs", [("#1b1b1b" if w else "#eeeeee", "", "") for w in _numbers(wrong)]),
    )
    numbered = max(rows, columns) <= LARGEST_WITH_NUMBERS
    longest = max(len(number) for _, cells in panels for *_, number in cells)
    wide, tall = (7 * longest + 8, 20) if numbered else (16, 16)  # of a cell
    step = max(columns * wide, 52) + GAP
    width, height = 3 * step - GAP + 12, TOP + rows * tall + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
    ]
    for p, (title, cells) in enumerate(panels):
        left = 6 + p * step
        parts.append(f'<text x="{left}" y="14">{translated(title)}</text>')
        for i, (fill, ink, number) in enumerate(cells):
            x, y = left + i % columns * wide, TOP + i // columns * tall
            parts.append(
                f'<rect x="{x}" y="{y}" width="{wide}" height="{tall}" fill="{fill}" stroke="#ffffff"/>'
            )
            if numbered and number:
                parts.append(
                    f'<text x="{x + wide // 2}" y="{y + 14}" fill="{ink}" font-size="11" '
                    f'text-anchor="middle">{number}</text>'
                )
    data = base64.b64encode("".join([*parts, "</svg>"]).encode()).decode()
    alt = f"Grids of the expected and your values; {int(wrong.sum())} of {wrong.numel()} cells differ."
    return (
        f'<img src="data:image/svg+xml;base64,{data}" alt="{translated(alt)}" width="{width}" '
        f'height="{height}" style="max-width:100%;margin:0.2em 0">'
    )


_RAMP = ((232, 0), (238, 51), (246, 105))  # pale to dark blue, as (from, to) for r, g, b


def _short(value: float) -> str:
    return f"{round(value, 2) + 0.0:.2f}" if abs(value) < 10 else f"{value:.3g}"


def _numbers(tensor: Tensor) -> list[float]:
    return tensor.detach().double().flatten().tolist()


def _is_finite(value: float) -> bool:
    return abs(value) < float("inf")
