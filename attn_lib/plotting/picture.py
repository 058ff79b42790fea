"""A finished figure that shows itself in a notebook, the same on every run."""

import base64
import hashlib
import io
import json
import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from attn_lib.files import write_whole
from attn_lib.plotting.panels import panels
from attn_lib.plotting.style import STYLE

PAGE = 100  # pixels an inch of a page
SHARP = 200  # of a picture without SVG: for screens of double density
FONTS = "'DejaVu Sans', Verdana, Arial, sans-serif"


class Picture:
    """A figure with its text alternative.

    It shows itself as SVG, and as PNG where SVG is not trusted; it stays out of pyplot's state.

    Args:
        figure: a finished matplotlib figure.
        alt: what the figure shows, in words.
        colors: how many the PNG keeps; few are enough for a plain figure, and make a small file.
        vector: whether to show SVG as well. Without it, a figure of many cells makes a third of the file.
    """

    def __init__(self, figure: Figure, alt: str, *, colors: int = 48, vector: bool = True):
        self.figure = figure
        self.alt = alt
        self.colors = colors
        self.vector = vector
        self.dpi = 120 if vector else SHARP

    def save(self, path: str | Path) -> None:
        """Write the figure to a file; the ending (.svg, .png, .pdf) chooses the format."""
        path = Path(path)
        write_whole(path, self._render(path.suffix.removeprefix(".") or "png"))

    def __repr__(self) -> str:
        return self.alt

    def png(self) -> bytes:
        """Return the picture as PNG, of `dpi` pixels an inch."""
        return self._render("png")

    def _repr_mimebundle_(
        self, include=None, exclude=None
    ) -> tuple[dict[str, str], dict[str, Any]]:
        png = self.png()
        bundle = {"text/plain": self.alt, "image/png": base64.b64encode(png).decode()}
        if self.vector:
            return bundle | {"image/svg+xml": self._render("svg").decode()}, {}
        width, height = (side * PAGE // SHARP for side in Image.open(io.BytesIO(png)).size)
        return bundle, {"image/png": {"width": width, "height": height}}

    def _render(self, format: str) -> bytes:
        buffer = io.BytesIO()
        metadata = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}
        with mpl.rc_context(STYLE):
            self.figure.savefig(
                buffer, format=format, dpi=self.dpi, metadata=metadata.get(format)
            )
        if format == "svg":
            return _shortened(buffer.getvalue().decode(), self.alt).encode()
        if format != "png":
            return buffer.getvalue()
        return _with_palette(buffer, self.colors, panels(self.figure, self.dpi))


def _shortened(svg: str, alt: str) -> str:
    """Drop what no browser needs: metadata, long font lists, ids, digits, line breaks.

    matplotlib names a clip after its place to the last digit, which differs from run to run. Here it is
    named after the text alternative, as several pictures may stand in one page.
    """
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"font-family: 'DejaVu Sans'[^;\"]*", f"font-family: {FONTS}", svg)
    svg = re.sub(r' id="[a-z.]+_\d+"', "", svg)  # of groups: nothing refers to them
    svg = re.sub(r' d="[^"]*"', lambda d: re.sub(r"(\.\d\d)\d+", r"\1", d[0]), svg)
    clips = dict.fromkeys(re.findall(r"url\(#(p[0-9a-f]{10})\)", svg))
    for number, clip in enumerate(clips):
        digest = hashlib.sha256(f"{number} {alt}".encode()).hexdigest()
        svg = svg.replace(clip, f"p{digest[:10]}")
    return re.sub(r"\s*\n\s*", " ", svg).replace("> <", "><")


def _with_palette(png: io.BytesIO, colors: int, found: dict[str, Any]) -> bytes:
    """Reduce a PNG to few colors: a third of the size, and no difference to the eye.

    Args:
        png: the picture.
        colors: how many.
        found: where its parts are, noted in the file for the site, which darkens and cuts it.
    """
    reduced = io.BytesIO()
    # MAXCOVERAGE keeps rare colors, such as the yellow of a few large weights.
    picture = Image.open(png).convert("RGB").quantize(colors, Image.Quantize.MAXCOVERAGE)
    notes = PngInfo()
    notes.add_text("Parts", json.dumps(found, separators=(",", ":")))
    picture.save(reduced, format="png", optimize=True, pnginfo=notes)
    return reduced.getvalue()
