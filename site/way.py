"""The way of one token through the own model, as text: what the model would say if it ended after each block."""

import json
from html import escape
from urllib.parse import quote

import torch

from attn_lib.data.own_model import load_own_model

START = "Return the number of rows, and the number of"
LAYER, HEAD = 4, 0  # its last token asks "row" there, and the model guesses "column"


def way(address: str) -> str:
    """Return the model's guess after each block as HTML, and a link that goes on in the page where it runs."""
    model, tokenizer = load_own_model()
    x = model.embed(torch.tensor([tokenizer.encode(START).ids]))
    guesses = []
    for name, block in [
        ("embedding", None),
        *((f"block {i}", b) for i, b in enumerate(model.blocks)),
    ]:
        x = block(x) if block else x
        chances = (model.norm(x[0, -1]) @ model.embed.weight.T).softmax(-1)
        share, best = chances.max(-1)
        word = escape(tokenizer.decode([int(best)]))
        guesses.append(
            f"<li>after the {name}: <b>{word}</b>, {share.item():.0%}</li>".replace(
                "the block", "block"
            )
        )
    view = {
        "text": START,
        "at": None,
        "layer": LAYER,
        "head": HEAD,
        "key": None,
        "level": 1,
    }
    link = f"{address}#view={quote(json.dumps(view))}"
    return (
        f"<p>A model of five layers reads “{escape(START)}”. What would it say next, if it ended</p><ul>{''.join(guesses)}</ul>"
        f'<p class="live"><a href="{link}">Go the way of a token, of this text or yours</a></p>'
    )
