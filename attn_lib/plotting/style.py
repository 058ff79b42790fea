"""Colors and styles of all figures, told apart in gray, in print and by color-blind readers."""

from typing import Any

from matplotlib.colors import Colormap, to_rgb

STYLE: dict[Any, Any] = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.fonttype": "none",  # text stays text: small, searchable
    "svg.hashsalt": "attention-from-scratch",  # the same ids on every run
    "savefig.facecolor": "white",  # readable on a dark page too
}

# Dark blue, orange, teal, purple; each with a marker and dashes of its own.
COLORS = ("#0b3c6f", "#d95f02", "#1b9e77", "#7b3294")
MARKERS = ("o", "s", "^", "D")
DASHES = ("-", "--", ":", "-.")
# Of bars that touch: light and dark in turn, and text that can be read on them.
FILLS = (COLORS[0], "#f0a15e", "#0f5b45", "#c9a8d6")
ON_FILLS = ("white", "black", "white", "black")
# Of boxes and cells with black text.
PALE = ("#cfe0f2", "#fbdcc2", "#cdeadf", "#e6d3ee")
INK, GRAY, LIGHT = "#444444", "#555555", "#e4e4e4"
MARKED = "#b34700"  # a dark orange: on white 5.6 to 1, and far from every color of a map
HATCHED = {"facecolor": "#dddddd", "edgecolor": "#8a8a8a", "hatch": "///", "linewidth": 0}

# The relative luminance at which black and white text have the same contrast (WCAG).
DARK = 0.179


def styled(n: int, *, dashed: bool = False, marked: bool = False, **more: Any) -> dict:
    """Return what matplotlib is told of the n-th of several lines."""
    look = {"color": COLORS[n], **more}
    look |= {"ls": DASHES[n]} if dashed else {}
    return look | ({"marker": MARKERS[n]} if marked else {})


def ink_on(color: Any) -> str:
    """Return black or white, whichever can be read better on a color."""
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)
    ]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "black" if luminance > DARK else "white"


def ink_at(colors: Colormap, level: float) -> str:
    """Return black or white for text on a level, from 0 to 1, of a color map."""
    return ink_on(colors(level)[:3])
