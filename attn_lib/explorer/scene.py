"""Base class of the scenes: a figure with a picture, and a script that makes it interactive."""

import hashlib
import html
import json
import re
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from torch import Tensor

from attn_lib.explorer.still import Still
from attn_lib.files import write_whole

FRONT = Path(__file__).parent / "front"
IMPORT = re.compile(r"^import [^;]* from \"\./(\w+)\.js\";\n", re.MULTILINE)


class Scene:
    """A figure for notebooks and web pages: a picture where scripts are off, live where they run.

    A subclass gives `script` (the name of its file in front/), `title` and `alt`, and the two methods.
    """

    script: str
    title: str
    alt: str

    def model(self) -> dict[str, Any]:
        """Return the numbers that the live scene starts from, ready for JSON."""
        raise NotImplementedError

    def still(self) -> Still:
        """Draw the scene as it looks before it is touched."""
        raise NotImplementedError

    def save(self, path: str | Path) -> None:
        """Write a file: the picture (.svg), or a web page with the live scene (.html).

        Raises:
            ValueError: the file's name ends otherwise.
        """
        path = Path(path)
        fits = path.suffix in (".svg", ".html")
        expect(fits, "a name that ends in .svg or .html", path.name)
        text = str(self.still()) if path.suffix == ".svg" else self._page()
        write_whole(path, text)

    def __repr__(self) -> str:
        return f"{self.title}. {self.alt}"

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _repr_html_(self) -> str:
        # No "<" in the data, or a token such as "</script>" would end the script.
        model = json.dumps(self.model(), separators=(",", ":")).replace("<", "\\u003c")
        code = _code(self.script)
        # The same on every run, and another one for other numbers: two figures never mix.
        name = hashlib.sha256((code + model).encode()).hexdigest()[:12]
        picture = "data:image/svg+xml," + quote(str(self.still()), safe=" '/:=,;()!*@?[]")
        return (
            f'<figure class="attn-explorer" style="margin:0.5em 0">'
            f'<figcaption style="font-weight:600;margin-bottom:0.4em;text-align:left">'
            f"{html.escape(self.title)}</figcaption>"
            f'<div data-explorer="{name}">'
            f'<img alt="{html.escape(self.alt)}" src="{picture}" '
            f'style="max-width:100%;background:#ffffff"></div></figure>\n'
            f'<script type="module">{code} mount(scene, "{name}", {model});</script>'
        )

    def _page(self) -> str:
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width">\n'
            "<style>body { font-family: sans-serif; max-width: 760px; margin: 1em auto; "
            "padding: 0 1em } @media screen and (prefers-color-scheme: dark) "
            "{ body { background: #111418; color: #e8ecf1 } }</style>\n"
            f"<title>{html.escape(self.title)}</title>\n<main>{self._repr_html_()}</main>\n</html>\n"
        )


@cache
def _code(script: str) -> str:
    """Return the front end of one scene as one module in one line, without comments.

    A notebook stores each line with indentation and quotes, so that lines are what costs most.
    """
    code = "".join(modules(script, modules("core", {})).values())
    code = re.sub(r"^export |(^|\s)// .*$", "", code, flags=re.MULTILINE)
    code = re.sub(r"(?<=[(\[{,;])\n\s*|\n\s*(?=[)\]}.,])", "", code)
    return re.sub(r"\s*\n\s*", " ", code)


def modules(name: str, found: dict[str, str]) -> dict[str, str]:
    """Return the text of a module of front/ and, before it, of those that it imports."""
    text = (FRONT / f"{name}.js").read_text(encoding="utf-8")
    for other in IMPORT.findall(text):
        if other not in found:
            modules(other, found)
    found[name] = IMPORT.sub("", text)
    return found


def rounded(values: Tensor, digits: int = 4) -> Any:
    """Return a tensor as nested lists of short numbers; -inf, which JSON does not know, is None."""
    return _short(plain(values).tolist(), digits)


def _short(value: Any, digits: int) -> Any:
    if isinstance(value, list):
        return [_short(item, digits) for item in value]
    return None if value == -float("inf") else round(value, digits) + 0.0


def expect(fits: bool | Tensor, expected: str, got: object) -> None:
    """Raise a ValueError that says what was expected and what came, if it does not fit."""
    if not fits:
        raise ValueError(f"expected {expected}, got {got}")


def check_scores(name: str, values: Tensor) -> None:
    """Raise a ValueError where there is NaN or +inf: no softmax can be drawn then."""
    fits = (values < float("inf")).all()  # NaN is not
    expect(fits, f"{name} without NaN or inf (-inf is fine)", values)


def plain(values: Tensor) -> Tensor:
    """Return a copy of a tensor in double precision, on the CPU and without a gradient."""
    return values.detach().double().cpu()
