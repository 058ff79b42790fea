"""A map of the lessons: what builds on what, with times, drawn as SVG whose boxes are links."""

from collections.abc import Callable
from html import escape
from pathlib import Path

WIDE, HIGH, ACROSS, DOWN = 166, 46, 178, 76  # pixels of a box, and from one to the next


def lesson_map(
    lessons: list[Path],
    builds_on: Callable[[Path], list[str]],
    heading: Callable[[Path], str],
    time: Callable[[Path], str],
) -> str:
    """Return the map. A lesson stands below all that it builds on, with lines to those that no other one leads to."""
    needs = {path.name[:2]: builds_on(path) for path in lessons}
    row: dict[str, int] = {}
    before: dict[str, set[str]] = {}  # all that has to be read first
    for number, direct in needs.items():
        row[number] = max((row[n] + 1 for n in direct), default=0)
        before[number] = {*direct}.union(*(before[n] for n in direct))
    rows = [[n for n in row if row[n] == at] for at in range(max(row.values()) + 1)]
    place = {
        n: (3 + at * ACROSS, 3 + down * DOWN)
        for down, one in enumerate(rows)
        for at, n in enumerate(one)
    }
    drawn = []
    for number, direct in needs.items():
        x, y = place[number]
        for other in direct:
            if not any(other in before[n] for n in direct):
                a, b = place[other]
                start, end = (a + WIDE / 2, b + HIGH), (x + WIDE / 2, y)
                bend = f"C{start[0]} {y} {end[0]} {start[1]}"
                drawn.append(f'<path d="M{start[0]} {start[1]}{bend} {end[0]} {end[1]}"/>')
    for path in lessons:
        x, y = place[path.name[:2]]
        title = heading(path)
        number, name = title.split(" · ")
        drawn.append(
            f'<a href="../notebooks/{path.stem}.html" aria-label="{escape(title)}, {time(path)}">'
            f'<rect x="{x}" y="{y}" width="{WIDE}" height="{HIGH}" rx="7"/>'
            f'<text x="{x + 8}" y="{y + 19}">{number} · {time(path)}</text>'
            f'<text class="name" x="{x + 8}" y="{y + 36}">{escape(name)}</text></a>'
        )
    width, height = (
        6 + ACROSS * max(map(len, rows)) - ACROSS + WIDE,
        6 + DOWN * len(rows) - DOWN + HIGH,
    )
    return (
        f'<figure class="map"><div class="across"><svg viewBox="0 0 {width} {height}" width="{width}" role="group" '
        f'aria-label="Map of the lessons">{"".join(drawn)}</svg></div><figcaption>A line leads down to what builds on a lesson. '
        "Thick: the lesson that you have read last, on this device.</figcaption></figure>"
    )
