"""The pages in which a model runs, beside those that Sphinx makes; and the links to them."""

from pathlib import Path

LINKS = {
    "play.html": "Play with a language model: type, and see what each of its heads looks at",
    "encoder.html": "Let the encoder read your own sentence: all 72 heads at once",
}


def write_live_pages(app) -> None:
    """Write play.html; and encoder.html with its weights, if they are installed."""
    if app.builder.format != "html":
        return
    import real_heads  # takes seconds: not for every tool that reads the configuration

    from attn_lib.data.own_model import load_own_model
    from attn_lib.explorer import page
    from attn_lib.minilm import MissingWeights, load_minilm

    app.outdir.mkdir(parents=True, exist_ok=True)
    page(
        *load_own_model(),
        app.outdir / "play.html",
        title="A small language model that has read Python's help texts",
        start="Return the number of rows, and the number of",
        head=(4, 0),  # its last token asks "row", and the model guesses "column"
        gallery="site/explorer.html",
        apart=True,
    )
    try:
        *head, token = real_heads.trophy().start
        path = app.outdir / "encoder.html"
        page(
            load_minilm(),
            None,
            path,
            start=real_heads.TROPHY,
            head=tuple(head),
            token=token,
            gallery="site/explorer.html",
        )
    except MissingWeights:
        pass


def link_to(outdir: Path, name: str) -> str:
    """Return a paragraph that leads to a page, if it was written."""
    there = (outdir / name).exists()
    return f'<p class="live"><a href="../{name}">{LINKS[name]}</a></p>' if there else ""


def setup(app) -> None:
    app.connect("builder-inited", write_live_pages)
