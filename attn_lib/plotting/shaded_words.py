"""Texts whose words are shaded by how much attention they get."""

from collections.abc import Mapping, Sequence

import matplotlib as mpl
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from attn_lib.plotting.picture import STYLE, Picture

INK = LinearSegmentedColormap.from_list(
    "ink", ["#ffffff", "#f0a15e"]
)  # black stays readable
LINE = 0.27  # inches
WIDTH = 6.2
LETTER = 0.083  # of the font at size 10, as wide as its widest letters on average


def shaded_words(
    texts: Mapping[str, tuple[Sequence[str], Sequence[float]]], *, title: str = ""
) -> Picture:
    """Write texts, each word on a background that is darker the more weight it has.

    The darkest word of each text has its largest weight, which is written behind the heading.

    Args:
        texts: for each heading, the words, and a weight of 0 or more for each.
        title: above all texts.

    Raises:
        ValueError: there is no text, or not one weight for each word.
    """
    if not texts:
        raise ValueError("expected at least one text, got none")
    for words, weights in texts.values():
        if not words or len(words) != len(weights):
            raise ValueError(
                f"expected one weight for each of {len(words)} words, got {len(weights)}"
            )
    placed, heading_lines, line = [], [], 1.0 if title else 0.0
    for heading, (words, weights) in texts.items():
        heading_lines.append((line, f"{heading} (darkest: {max(weights):.2f})"))
        line, x = line + 1, 0.15
        for word, weight in zip(words, weights, strict=True):
            width = LETTER * len(word) + 0.12
            if x + width > WIDTH:
                line, x = line + 1, 0.15
            placed.append((x, line, width, word, weight / max(*weights, 1e-9)))
            x += width
        line += 1.35
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, LINE * line + 0.05))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, WIDTH), ylim=(LINE * line, -0.05))
        axes.axis("off")
        if title:
            axes.text(WIDTH / 2, LINE / 2, title, ha="center", va="center", fontsize=11)
        for at, heading in heading_lines:
            axes.text(0.1, LINE * (at + 0.5), heading, va="center", weight="bold")
        for x, at, width, word, share in placed:
            axes.text(
                x + width / 2, LINE * (at + 0.5), word, ha="center", va="center",
                bbox=dict(facecolor=INK(share), edgecolor="none", pad=1.5),
            )  # fmt: skip
    parts = " ".join(
        f"{heading}: the darkest words are {_darkest(words, weights)}."
        for heading, (words, weights) in texts.items()
    )
    return Picture(
        figure, f"{title + '. ' if title else ''}Texts with shaded words. {parts}"
    )


def _darkest(words: Sequence[str], weights: Sequence[float]) -> str:
    order = sorted(range(len(words)), key=lambda i: -weights[i])[:3]
    return ", ".join(f"{words[i]} ({weights[i]:.2f})" for i in order)
