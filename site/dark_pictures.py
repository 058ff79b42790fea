"""A second picture for dark pages: light ink on dark paper, and heat maps as they are; and both for phones."""

import base64
import hashlib
import io
import json
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from scipy import ndimage
from stacked import stacked

PAPER = 0x13 / 255  # the theme's dark background is nearly gray
INK = 0.88
BESIDE_SVG = 96 / 120  # the PNG beside an SVG has 120 dots an inch, and a page 96
ALONE = 100 / 200  # one without SVG is drawn for screens of double density
# In pixels: white ink on a map is thinner than the paper between two of them.
THIN, WIDE = 9, 17
PHONE = "(max-width: 35rem)"
IMAGE = re.compile(r'<img\b[^>]*\bsrc="([^"]*_images/)([^"/]+)"[^>]*>')


def parts_of(png: bytes) -> dict[str, Any]:
    """Return the note in a figure's file of where its parts are; nothing of a foreign picture."""
    return json.loads(Image.open(io.BytesIO(png)).info.get("Parts", "{}"))


def darkened(png: bytes, maps: Sequence[Sequence[int]]) -> bytes:
    """Return a picture with each color's lightness turned round, but in its maps."""
    light = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"), dtype=np.float32) / 255
    low, high = light.min(-1, keepdims=True), light.max(-1, keepdims=True)
    dark = PAPER + (INK - PAPER) * (light + 1 - low - high)  # the hue stays
    kept = np.zeros(light.shape[:2], dtype=bool)
    for left, top, right, bottom in maps:
        kept[top:bottom, left:right] = True
    paper = ndimage.binary_opening(light.min(-1) > 0.97, np.ones((THIN, THIN)))
    kept &= ~ndimage.binary_closing(paper, np.ones((WIDE, WIDE)))  # with the words on it
    dark = np.where(kept[..., None], light, dark)
    picture = Image.fromarray((dark * 255).round().astype(np.uint8)).quantize(128)
    out = io.BytesIO()
    picture.save(out, format="png", optimize=True)
    return out.getvalue()


def keep_pictures(app, docname, source) -> None:
    """Darken the pictures of a notebook, under the names that MyST-NB gives to them."""
    if docname.startswith("site/"):
        return
    for cell in json.loads(source[0])["cells"]:
        for output in cell.get("outputs", []):
            data = {mime: "".join(text) for mime, text in output.get("data", {}).items()}
            if png := data.get("image/png"):
                shown = base64.b64decode(png)
                if svg := data.get("image/svg+xml"):
                    named, scale = os.linesep.join(svg.splitlines()).encode(), BESIDE_SVG
                else:
                    named, scale = shown, ALONE
                _keep(app, hashlib.sha256(named).hexdigest(), shown, scale)


def _keep(app, name: str, png: bytes, scale: float) -> None:
    folder = _made(app)
    if not (folder / f"dark-{name}.png").exists():
        parts = parts_of(png)
        dark = darkened(png, parts.get("maps", ()))
        for kind, picture in (("phone", png), ("phone-dark", dark)):
            if phone := stacked(picture, parts, scale):
                (folder / f"{kind}-{name}.png").write_bytes(phone)
        (folder / f"dark-{name}.png").write_bytes(dark)


def _made(app) -> Path:
    folder = app.doctreedir / "made-pictures"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def add_dark_pictures(app, pagename, templatename, context, doctree) -> None:
    """Put beside each picture its dark one. What is not shown is not loaded."""

    def both(image: re.Match) -> str:
        name = f"{Path(image[2]).stem}.png"
        if not (_made(app) / f"dark-{name}").exists():
            return image[0]
        scale = BESIDE_SVG if image[2].endswith(".svg") else ALONE

        def size(file: str) -> str:
            with Image.open(_made(app) / file) as picture:
                width, height = (round(scale * side) for side in picture.size)
            return f'width="{width}" height="{height}"'

        def on_phones(file: str, otherwise: str) -> str:
            if not (_made(app) / file).exists():
                return otherwise
            source = f'media="{PHONE}" srcset="{image[1]}{file}" {size(file)}'
            return f"<picture><source {source}>{otherwise}</picture>"

        shape = f'{size(f"dark-{name}")} loading="lazy"'
        light = image[0].replace("<img", f'<img {shape} data-scheme="light"')
        dark = light.replace('"light"', '"dark"').replace(image[2], f"dark-{name}")
        return on_phones(f"phone-{name}", light) + on_phones(f"phone-dark-{name}", dark)

    context["body"] = IMAGE.sub(both, context.get("body", ""))


def copy_dark_pictures(app, error) -> None:
    if error is not None:
        return
    for file in _made(app).glob("*.png"):
        shutil.copyfile(file, app.outdir / "_images" / file.name)


def setup(app) -> dict[str, bool]:
    app.connect("source-read", keep_pictures)
    app.connect("html-page-context", add_dark_pictures)
    app.connect("build-finished", copy_dark_pictures)
    return {"parallel_read_safe": True}
