"""A second picture for dark pages: light ink on dark paper, and heat maps as they are; and both for phones."""

import base64
import hashlib
import io
import json
import os
import re
import shutil
from pathlib import Path

import matplotlib as mpl
import numpy as np
from PIL import Image
from scipy import ndimage
from scipy.spatial import KDTree
from stacked import panels_of, stacked

PAPER = 0x13 / 255  # the theme's dark background is nearly gray
INK = 0.88
BESIDE_SVG = 96 / 120  # the PNG beside an SVG has 120 dots an inch, and a page 96
ALONE = 9  # pixels: what lies nearer than that belongs together, such as a heat map's cells
THIN = 5  # pixels: ink, not a surface
SCALES = [
    KDTree(mpl.colormaps[name](np.linspace(0, 1, 128))[:, :3])
    for name in ("cividis", "PuOr")
]
PHONE = "(max-width: 35rem)"
IMAGE = re.compile(r'<img\b[^>]*\bsrc="([^"]*_images/)([^"/]+)"[^>]*>')


def darkened(png: bytes) -> bytes:
    """Return a picture with each color's lightness turned round, but in its heat maps."""
    light = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"), dtype=np.float32) / 255
    low, high = light.min(-1, keepdims=True), light.max(-1, keepdims=True)
    dark = PAPER + (INK - PAPER) * (light + 1 - low - high)  # the hue stays
    dark = np.where(_heat_maps(light)[..., None], light, dark)
    picture = Image.fromarray((dark * 255).round().astype(np.uint8)).quantize(128)
    out = io.BytesIO()
    picture.save(out, format="png", optimize=True)
    return out.getvalue()


def _heat_maps(light: np.ndarray) -> np.ndarray:
    """Return where there are surfaces in several tones of one scale, with what is written on them."""
    white, ink = light.min(-1) > 0.97, np.ones((THIN, THIN))
    surfaces = ndimage.binary_opening(~white, ink)
    paper = ndimage.binary_closing(
        ndimage.binary_opening(white, ink), np.ones((ALONE, ALONE))
    )
    padded = np.pad(surfaces, 2 * ALONE)
    joined = ndimage.binary_closing(padded, np.ones((ALONE, ALONE)), iterations=2)
    names, number = ndimage.label(joined[2 * ALONE : -2 * ALONE, 2 * ALONE : -2 * ALONE])
    kept = np.zeros(number + 1, dtype=bool)
    for name in range(1, number + 1):
        tones, counts = np.unique(
            (light[(names == name) & surfaces] * 15).round(), axis=0, return_counts=True
        )
        near = np.array([scale.query(tones / 15)[0] < 0.07 for scale in SCALES])
        for of_scale, least in ((near[0], 2), (near[1], 2), (near.any(0), 3)):
            shares = counts[of_scale] / counts.sum()
            kept[name] |= shares.sum() > 0.8 and (shares > 0.001).sum() >= least
    return ndimage.binary_fill_holes(kept[names]) & ~paper


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
                    named, scale = shown, 1.0
                _keep(app, hashlib.sha256(named).hexdigest(), shown, scale)


def _keep(app, name: str, png: bytes, scale: float) -> None:
    folder = _made(app)
    if not (folder / f"dark-{name}.png").exists():
        dark, found = darkened(png), panels_of(png)
        for kind, picture in (("phone", png), ("phone-dark", dark)):
            if phone := stacked(picture, found, scale):
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
        scale = BESIDE_SVG if image[2].endswith(".svg") else 1.0

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
