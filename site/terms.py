"""The glossary's terms in the search: the first hit leads to the place where a term is explained."""

import re
from pathlib import Path

from sphinx import addnodes

ROW = re.compile(
    r"^\| ([^|]+) \| ([^|]+) \|.*\(\.\./(\S+)\.ipynb#([\w-]+)\) \|$", re.MULTILINE
)


def spellings(term: str) -> set[str]:
    """Return what people type for a term: "grouped-query attention (GQA)" is three."""
    inside = re.search(r" ?\((.+?)\)", term)
    names = re.split(", |、", term.replace(inside[0], "") if inside else term)
    names += [inside[1]] if inside else []
    return {name.replace("-", sign).strip() for name in names for sign in "- "}


def add_terms(app, doctree) -> None:
    """Note in a lesson which terms of the glossary it explains, and where."""
    glossary = Path(app.confdir, "glossary.md").read_text(encoding="utf-8")
    here = [row for row in ROW.findall(glossary) if row[2] == app.env.docname]
    is_translated = Path(app.srcdir, "zh", f"{app.env.docname}.ipynb").exists()
    entries = [
        ("single", name, anchor, "main", None)
        for english, chinese, _, anchor in here
        for term in ([english] if is_translated else [english, chinese])
        for name in sorted(spellings(term))
    ]
    if entries:
        doctree.insert(0, addnodes.index(entries=entries))


def setup(app) -> dict[str, bool]:
    app.connect("doctree-read", add_terms)
    return {"parallel_read_safe": True}
