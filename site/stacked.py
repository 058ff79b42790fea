"""A second picture for phones: the panels of a wide figure below each other."""

import io
import json
from itertools import pairwise

import numpy as np
from PIL import Image

PHONE = 360  # CSS pixels
LEAST = 0.62  # a title that must be made smaller than that is better scrolled
GAP = 12  # pixels
EDGE = 6  # pixels that a label of the first or last row reaches beyond it


def panels_of(png: bytes) -> dict | None:
    """Return the note in a figure's file of where its panels are, if there is one."""
    return json.loads(Image.open(io.BytesIO(png)).info.get("Panels", "null"))


def stacked(png: bytes, found: dict | None, scale: float) -> bytes | None:
    """Return a picture of a figure's panels below each other; None if it has none, or is narrow.

    Args:
        png: of a figure, light or dark; its first pixel is paper.
        found: where its panels are.
        scale: CSS pixels for each of its pixels.
    """
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    room = round(PHONE / scale)
    if not found or picture.width <= 1.2 * room:
        return None
    whole = np.asarray(picture)
    paper = whole[0, 0]
    top, bottom = found["band"]
    parts = [
        _fitted(part, room, paper)
        for part in (
            whole[:top],
            *_panels(whole[top:bottom], found, room, paper),
            whole[bottom:],
        )
    ]
    if any(part is None for part in parts):
        return None
    pieces = [part for part in parts if part is not None and part.size]
    return _below_each_other(pieces, paper)


def _panels(
    band: np.ndarray, found: dict, room: int, paper: np.ndarray
) -> list[np.ndarray]:
    """Return as many columns together as a phone has room for, each group with the labels of its rows."""
    columns = found["columns"]
    between = [(one["x"][1] + next["x"][0]) // 2 for one, next in pairwise(columns)]
    groups: list[list[np.ndarray]] = []
    for (start, end), column in zip(
        pairwise([0, *between, band.shape[1]]), columns, strict=True
    ):
        panel = band[:, start:end]
        if groups and sum(part.shape[1] for part in groups[-1]) + end - start <= room:
            groups[-1].append(panel)
        elif start == 0 or column["labels"]:
            groups.append([panel])
        else:
            groups.append([_labels(band, found, column["rows"], paper), panel])
    return [np.concatenate(group, axis=1) for group in groups]


def _labels(band: np.ndarray, found: dict, rows: list, paper: np.ndarray) -> np.ndarray:
    """Return the strip with the labels of the rows, and nothing of the titles above and below."""
    left, right = found["labels"]
    strip = np.full((band.shape[0], right - left, 3), paper, np.uint8)
    for top, bottom in rows:
        here = slice(
            max(top - found["band"][0] - EDGE, 0), bottom - found["band"][0] + EDGE
        )
        strip[here] = band[here, left:right]
    return strip


def _fitted(part: np.ndarray, room: int, paper: np.ndarray) -> np.ndarray | None:
    """Return what is drawn on a part, no wider than a phone; None if it would be too small to be read."""
    drawn = np.abs(part.astype(int) - paper).max(axis=-1) > 5
    if not drawn.any():
        return part[:0, :0]
    (y0, y1), (x0, x1) = ((np.flatnonzero(drawn.any(axis))[[0, -1]]) for axis in (1, 0))
    part = part[y0 : y1 + 1, x0 : x1 + 1]
    height, width = part.shape[:2]
    if width <= room:
        return part
    if room / width < LEAST:
        return None
    size = room, round(height * room / width)
    return np.asarray(Image.fromarray(part).resize(size, Image.Resampling.LANCZOS))


def _below_each_other(parts: list[np.ndarray], paper: np.ndarray) -> bytes:
    width = max(part.shape[1] for part in parts) + 2 * GAP
    height = sum(part.shape[0] + GAP for part in parts) + GAP
    page = np.full((height, width, 3), paper, np.uint8)
    y = GAP
    for part in parts:
        page[y : y + part.shape[0], GAP : GAP + part.shape[1]] = part
        y += part.shape[0] + GAP
    out = io.BytesIO()
    Image.fromarray(page).quantize(128).save(out, format="png", optimize=True)
    return out.getvalue()
