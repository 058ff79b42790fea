"""The own model at work, recorded: what it wrote, whom one head asked for each token, what else it could have written."""

import json
from html import escape
from typing import Any

import torch

from attn_lib.data.own_model import END_ID, load_own_model
from attn_lib.generation import next_token
from attn_lib.smollm2 import attention_weights

STARTS = ("Raises a ValueError if the", "Returns True if the specified", "If the file is")
TEMPERATURE, TOP_P, SEED = 0.5, 0.9, 1
LAYER, HEAD = 4, 0
MOST, SHOWN = 16, 3  # tokens that are written, and likeliest ones that are shown


def steps() -> list[dict[str, Any]]:
    """Return each step of each text: the words so far, the head's weights on them, the likeliest next words."""
    model, tokenizer = load_own_model()
    found = []
    for start in STARTS:
        ids = [END_ID, *tokenizer.encode(start).ids]
        generator = torch.Generator().manual_seed(SEED)
        for _ in range(MOST):
            with torch.no_grad():
                logits = model(torch.tensor([ids]))[0, -1]
                weights = attention_weights(model, torch.tensor([ids]))[LAYER, 0, HEAD, -1]
            likeliest = logits.softmax(-1).topk(SHOWN)
            chosen = next_token(logits, TEMPERATURE, TOP_P, generator)
            words = [tokenizer.decode([i]) for i in ids[1:]]
            after = [tokenizer.decode([int(i)]) or "(end)" for i in likeliest.indices]
            found.append(
                {
                    "words": words,
                    "weights": [round(w, 2) for w in weights[1:].tolist()],
                    "given": len(tokenizer.encode(start).ids),
                    "next": list(zip(after, [round(p, 2) for p in likeliest.values.tolist()], strict=True)),
                }
            )  # fmt: skip
            ids.append(chosen)
            if chosen == END_ID or words[-1].endswith("."):
                break
    return found


def recording() -> str:
    """Return the recording as HTML; without a script, its first text is there as a whole."""
    made = steps()
    whole = max(
        (s for s in made if s["words"][0] == made[0]["words"][0]),
        key=lambda s: len(s["words"]),
    )
    text = escape("".join(whole["words"]))
    data = escape(json.dumps(made, separators=(",", ":"), ensure_ascii=False))
    return f"""<figure class="recording" data-steps="{data}">
<p class="words" aria-label="A model of five layers, trained in lesson 15, writes: {text}"><b>{text}</b></p>
<div class="next" aria-hidden="true"></div>
<figcaption>Recorded: the model of lesson 15 has learned from Python's help. It reads the words in thin print, and writes those in bold, piece by piece.
Color shows which pieces one of its heads looks at, the bars what it thinks likely next. <button type="button" hidden>Pause</button></figcaption>
</figure>
<script src="../_static/recording.js" defer></script>"""
