"""A picture in a smaller file: for lessons with many plain figures."""

import io
import re

from PIL import Image

from attn_lib.plotting.picture import Picture

FONTS = "'DejaVu Sans', Verdana, Arial, sans-serif"


class SmallPicture(Picture):
    """A `Picture` of few colors: the same to the eye, in two thirds of the bytes.

    Args:
        figure: a finished matplotlib figure.
        alt: what the figure shows, in words.
    """

    def _render(self, format: str) -> bytes:
        data = super()._render(format)
        if format == "svg":
            return _shortened(data.decode()).encode()
        return _with_few_colors(data) if format == "png" else data


def _shortened(svg: str) -> str:
    """Drop what no browser needs: metadata, long font lists, ids, digits, line breaks."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"font-family: 'DejaVu Sans'[^;\"]*", f"font-family: {FONTS}", svg)
    svg = re.sub(r' id="[a-z.]+_\d+"', "", svg)  # of groups: nothing refers to them
    svg = re.sub(r' d="[^"]*"', lambda d: re.sub(r"(\.\d\d)\d+", r"\1", d[0]), svg)
    return re.sub(r"\s*\n\s*", " ", svg).replace("> <", "><")


def _with_few_colors(png: bytes) -> bytes:
    reduced = io.BytesIO()
    Image.open(io.BytesIO(png)).convert("RGB").quantize(12).save(
        reduced, format="png", optimize=True
    )
    return reduced.getvalue()
