"""Answers to a task, each with what the check says to it: to be tried on a page, without installing anything."""

from html import escape
from textwrap import dedent

import torch
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from attn_lib.checks import judge

TASK = "attention"
ANSWERS = {
    "softmax over the wrong axis": """
        def attention(q, k, v):
            scores = q @ k.mT / q.shape[-1] ** 0.5
            weights = scores.softmax(dim=1)
            return weights @ v, weights
    """,
    "not divided by √D": """
        def attention(q, k, v):
            weights = (q @ k.mT).softmax(dim=-1)
            return weights @ v, weights
    """,
    "the wrong mixture": """
        def attention(q, k, v):
            scores = q @ k.mT / q.shape[-1] ** 0.5
            weights = scores.softmax(dim=-1)
            return weights @ k, weights
    """,
    "right": """
        def attention(q, k, v):
            scores = torch.einsum("ble,bse->bls", q, k) / q.shape[-1] ** 0.5
            weights = scores.softmax(dim=-1)
            return torch.einsum("bls,bsd->bld", weights, v), weights
    """,
}


def tries() -> str:
    """Return the answers, one to choose, and the verdict on it."""
    names, panels = [], []
    for number, (name, source) in enumerate(ANSWERS.items()):
        source = dedent(source).strip()
        cell: dict = {"torch": torch}
        exec(source, cell)
        verdict = judge(TASK, cell[TASK])
        checked = " checked" * (number == 0)
        names.append(
            f'<input type="radio" name="try" id="try{number}"{checked}>'
            f'<label for="try{number}">{escape(name)}</label>'
        )
        code = highlight(source, PythonLexer(), HtmlFormatter(nowrap=True))
        panels.append(
            f'<div class="try"><div class="highlight"><pre>{code}</pre></div>{verdict._repr_html_()}</div>'
        )
    return f'<div class="tries" role="group" aria-label="Answers">{"".join([*names, *panels])}</div>'
