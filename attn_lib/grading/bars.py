"""The pictures of the teacher's page, as SVG inside of it: they need nothing from elsewhere."""

import html
from collections import Counter

# By status. They differ in lightness as well: they can be told apart in gray and with any color vision.
COLORS = ("#1b6ca8", "#7fb8de", "#e69f00", "#b3470f", "#d0d0d0", "#888888", "#4d3b8f")
_WIDTH, _LEFT, _RIGHT, _ROW = 720, 190, 130, 30


def legend(counts: dict[str, list[int]], labels: tuple[str, ...]) -> str:
    """Name the colors that there are."""
    items = "".join(
        f'<span><svg width="12" height="12" aria-hidden="true"><rect width="12" height="12" fill="{color}"/>'
        f"</svg> {html.escape(label)}</span> "
        for number, (label, color) in enumerate(zip(labels, COLORS, strict=True))
        if any(own[number] for own in counts.values())
    )
    return f'<p class="legend">{items}</p>\n'


def bars(
    counts: dict[str, list[int]], notes: dict[str, str], labels: tuple[str, ...]
) -> str:
    """Draw a bar for each task, cut into the numbers of those who passed, failed, and so on.

    Args:
        counts: one number for each label, by task.
        notes: what stands behind a bar, by task.
        labels: the names of the parts.
    """
    parts, said = [], []
    room = _WIDTH - _LEFT - _RIGHT
    for number, (task, own) in enumerate(counts.items()):
        y, x, whole = number * _ROW, float(_LEFT), sum(own) or 1
        parts.append(_text(_LEFT - 8, y + 19, task, "end"))
        for count, color, label in zip(own, COLORS, labels, strict=True):
            width = room * count / whole
            if count:
                title = f"<title>{html.escape(f'{task}: {count} {label}')}</title>"
                parts.append(
                    f'<rect x="{x:.1f}" y="{y + 4}" width="{width:.1f}" height="22" fill="{color}">{title}</rect>'
                )
            if width > 22:
                light = color in (COLORS[1], COLORS[2], COLORS[4])
                parts.append(
                    _text(
                        x + width / 2,
                        y + 20,
                        str(count),
                        "middle",
                        "#000" if light else "#fff",
                    )
                )
            x += width
        parts.append(_text(_WIDTH - _RIGHT + 8, y + 19, notes[task], "start"))
        said.append(
            f"{task}: "
            + ", ".join(f"{n} {s}" for n, s in zip(own, labels, strict=True) if n)
        )
    return _svg(len(counts) * _ROW + 4, "Results by task. " + "; ".join(said), parts)


def histogram(points: list[float], most: float) -> str:
    """Draw how many learners have how many points, rounded to whole ones."""
    many = Counter(int(p + 0.5) for p in points)
    width = (_WIDTH - _LEFT - _RIGHT) / (int(most + 0.5) + 1)
    tallest = max(many.values())
    parts = [
        _text(_LEFT - 8, 60, "learners", "end"),
        _text(_WIDTH - _RIGHT + 8, 117, "points", "start"),
    ]
    for value in range(int(most + 0.5) + 1):
        x, height = _LEFT + value * width, 80 * many[value] / tallest
        parts.append(_text(x + width / 2, 117, str(value), "middle"))
        if many[value]:
            parts.append(
                f'<rect x="{x + 1:.1f}" y="{100 - height:.1f}" width="{width - 2:.1f}" height="{height:.1f}" fill="{COLORS[0]}"/>'
            )
            parts.append(_text(x + width / 2, 95 - height, str(many[value]), "middle"))
    said = ", ".join(f"{many[value]} with {value}" for value in sorted(many))
    return _svg(124, f"Learners by points: {said}", parts)


def _text(x: float, y: float, text: str, anchor: str, fill: str = "currentColor") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}">{html.escape(text)}</text>'


def _svg(height: float, label: str, parts: list[str]) -> str:
    said = html.escape(label, quote=True)
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height:g}" role="img" aria-label="{said}" font-size="13">'
        f"{''.join(parts)}</svg>\n"
    )
