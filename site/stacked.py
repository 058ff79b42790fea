"""A second picture for phones: the panels of a wide figure below each other."""

import io
from typing import Any

from PIL import Image

PHONE = 360  # CSS pixels
LEAST = 0.62  # a title that must be made smaller than that is better scrolled
GAP = 12  # pixels
EDGE = 6  # pixels that a label of the first or last row reaches beyond it


def stacked(png: bytes, parts: dict[str, Any], scale: float) -> bytes | None:
    """Return a picture of a figure's panels below each other; None if it has none, or is narrow.

    Args:
        png: of a figure, light or dark; its first pixel is paper.
        parts: where its parts are.
        scale: CSS pixels for each of its pixels.
    """
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    room = round(PHONE / scale)
    if "columns" not in parts or picture.width <= 1.2 * room:
        return None
    above, below = (box and picture.crop(box) for box in parts["around"])
    pieces = [piece for piece in (above, *_panels(picture, parts, room), below) if piece]
    if room / max(piece.width for piece in pieces) < LEAST:
        return None
    pieces = [_fitted(piece, room) for piece in pieces]
    width = max(piece.width for piece in pieces) + 2 * GAP
    height = sum(piece.height + GAP for piece in pieces) + GAP
    page, y = Image.new("RGB", (width, height), picture.getpixel((0, 0))), GAP
    for piece in pieces:
        page.paste(piece, (GAP, y))
        y += piece.height + GAP
    out = io.BytesIO()
    page.quantize(128).save(out, format="png", optimize=True)
    return out.getvalue()


def _panels(picture: Image.Image, parts: dict[str, Any], room: int) -> list[Image.Image]:
    """Return as many columns together as a phone has room for, each group with the labels of its rows."""
    groups: list[list[dict[str, Any]]] = []
    for column in parts["columns"]:
        if groups and column["box"][2] - groups[-1][0]["box"][0] <= room:
            groups[-1].append(column)
        else:
            groups.append([column])
    return [_group(picture, parts, group) for group in groups]


def _group(
    picture: Image.Image, parts: dict[str, Any], columns: list[dict[str, Any]]
) -> Image.Image:
    """Return some columns; where they have no labels of their own, beside those of the first."""
    lefts, tops, rights, bottoms = zip(*(column["box"] for column in columns), strict=True)
    top, bottom = max(0, min(tops) - EDGE), max(bottoms) + EDGE
    group = picture.crop((lefts[0], top, rights[-1], bottom))
    if columns[0]["labels"] or columns[0] == parts["columns"][0]:
        return group
    left, right = parts["labels"]
    size = right - left + group.width, group.height
    labelled = Image.new("RGB", size, picture.getpixel((0, 0)))
    labelled.paste(group, (right - left, 0))
    for start, end in columns[0]["rows"]:  # nothing of the titles above and below
        strip = picture.crop((left, max(start - EDGE, top), right, min(end + EDGE, bottom)))
        labelled.paste(strip, (0, max(start - EDGE, top) - top))
    return labelled


def _fitted(piece: Image.Image, room: int) -> Image.Image:
    if piece.width <= room:
        return piece
    size = room, round(piece.height * room / piece.width)
    return piece.resize(size, Image.Resampling.LANCZOS)
