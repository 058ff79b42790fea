"""A page that runs a model in any browser: a small language model inside it or beside it, or an encoder beside it."""

import base64
import html
import json
import re
from pathlib import Path
from typing import Any

from torch import nn

from attn_lib.explorer import live_models
from attn_lib.explorer.scene import FRONT, expect, modules
from attn_lib.files import write_whole
from attn_lib.llama import Llama
from attn_lib.minilm import MiniLM

LARGEST = 6_000_000  # bytes of a page
WORDS = {
    "llama": (
        "A language model, at work on this page",
        "It guesses, token by token, how your text goes on; the pictures show which earlier tokens it asks "
        "for that. Its {} parameters are {} {:.1f} MB: nothing is sent, and it works offline.",
        "Once upon a time",
    ),
    "encoder": (
        "The heads of a real encoder, on your sentence",
        "It does not write, it reads: the pictures show which tokens each token asks. Its {} parameters "
        "come {} {:.1f} MB, once you ask for it, rounded to 8 bits; what you type stays on this page.",
        "The trophy did not fit in the suitcase because it was too big.",
    ),
}


def page(
    model: nn.Module,
    tokenizer: Any,
    path: str | Path,
    *,
    title: str | None = None,
    start: str | None = None,
    head: tuple[int, int] = (0, 0),
    token: int | None = None,
    gallery: str | None = None,
    apart: bool = False,
) -> Path:
    """Write a web page in which anyone can use a model, without Python; return its path.

    A `Llama` is in the page itself, its matrices rounded to int8: the page works offline, from the
    disk, on a phone. Those of a `MiniLM` have 23 MB. They are a second file beside the page, of the same
    name with .bin, which the page fetches when it is asked to. `apart` does the same for a `Llama`, as a script
    (.js), so that the page is there at once; it works from the disk, too.

    Args:
        model: a `Llama`, also with a learner's attention in it, or a `MiniLM`.
        tokenizer: for a `Llama` a `tokenizers.Tokenizer` of byte-level BPE; for a `MiniLM`, which has
            its own, None.
        path: of the page, a name that ends in .html.
        title: its heading.
        start: the text that is there at first.
        head: the layer and the head that are shown first, counted from 0.
        token: which token of the start asks first; the last one if None.
        gallery: the address of the course's page of scenes, to which the way of a token leads, and a link above.
        apart: whether the weights of a `Llama` are a file beside the page, too.

    Raises:
        TypeError: model or tokenizer is of another class.
        ValueError: the tokenizer works otherwise, weights do not have the sizes that the model's config
            says, there is no such head, or the page would have more than 6 MB.
    """
    path = Path(path)
    expect(path.suffix == ".html", "a name that ends in .html", path.name)
    if isinstance(model, Llama):
        kind, (about, tensors) = "llama", live_models.llama(model, tokenizer)
    elif isinstance(model, MiniLM) and tokenizer is None:
        kind, (about, tensors) = "encoder", live_models.minilm(model)
    else:
        got = f"{type(model).__name__} and {type(tokenizer).__name__}"
        raise TypeError(
            f"expected a Llama and its tokenizer, or a MiniLM and None, got {got}"
        )
    fits = 0 <= head[0] < about["layers"] and 0 <= head[1] < about["heads"]
    expect(fits, f"a head below ({about['layers']}, {about['heads']})", head)
    default_title, lead, default_start = WORDS[kind]
    weights = live_models.packed(tensors)
    text = base64.b64encode(weights).decode() if kind == "llama" else ""
    file = path.with_suffix(".js" if kind == "llama" else ".bin")
    is_inside = kind == "llama" and not apart
    parameters = f"{sum(tensor.numel() for tensor in tensors.values()):,}"
    about |= {
        "start": default_start if start is None else start,
        "start_head": head,
        "start_token": token,
        "gallery": gallery and f"{gallery}#",
        "parameters": parameters,
        "shapes": {name: tuple(tensor.shape) for name, tensor in tensors.items()},
        "weights": None if is_inside else file.name,
        "weights_size": len(weights),
    }
    parts = {
        # No "<" in the data, or a token such as "</script>" would end the script.
        "about": json.dumps(about, separators=(",", ":")).replace("<", "\\u003c"),
        "weights": text if is_inside else "",
        "code": _code(kind),
        "style": _style(),
    }
    shell = (FRONT / "live_page.html").read_text(encoding="utf-8")
    inside = sum(len(part) for part in parts.values()) + len(shell)
    where = "in this file of" if is_inside else "in a file of"
    whole = shell.format(
        title=html.escape(title or default_title),
        lead=lead.format(parameters, where, (inside if is_inside else len(weights)) / 1e6),
        kind=kind,
        back=f'<a class="back" href="{html.escape(gallery)}">← Attention from Scratch</a>'
        if gallery
        else "",
        source="'none'" if is_inside else "'self'",
        scripts=" 'self' file:" * (apart and kind == "llama"),
        **parts,
    )
    size = len(whole.encode())
    expect(size <= LARGEST, f"a page of at most {LARGEST:,} bytes", f"{size:,}")
    if not is_inside:
        write_whole(file, f'globalThis.weights = "{text}";\n' if text else weights)
    write_whole(path, whole)
    return path


def _code(kind: str) -> str:
    """Return the page's modules as one."""
    code = "".join(modules(f"live_{kind}", {}).values())
    return re.sub(r"^export |^\s*// .*\n", "", code, flags=re.MULTILINE)


def _style() -> str:
    """Return the style of the scenes, which have a page each to themselves, and what is new here."""
    core = (FRONT / "core.js").read_text(encoding="utf-8")
    (scenes,) = re.findall(r"const STYLE = `(.*?)`", core, re.DOTALL)
    scenes = scenes.replace(':host([data-theme="dark"])', ':root[data-theme="dark"]')
    own = (FRONT / "live_page.css").read_text(encoding="utf-8")
    return scenes.replace(":host", ":root") + own
