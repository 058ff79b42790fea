"""Build the course's website: sphinx-build -W --keep-going -c site . _site

The source folder is the repository itself, so the notebooks stay where they are. Nothing is
executed and nothing is fetched: pages show the committed outputs, with formulas drawn now, so that the
site works offline and straight from the disk.
"""

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from html import escape
from pathlib import Path, PurePosixPath

from docutils import nodes

ROOT = Path(__file__).resolve().parent.parent
# For the extensions beside this file, and for the scripts.
sys.path[:0] = [str(Path(__file__).parent), str(ROOT)]

from lesson_map import lesson_map  # noqa: E402
from links import open_in_colab  # noqa: E402
from live_pages import link_to  # noqa: E402

from scripts.stated_time import stated_minutes  # noqa: E402

SOURCES = ("site", "notebooks", "exercises", "solutions", "zh")

project = "Attention from Scratch"
html_last_updated_fmt = "%d %B %Y"

language = "en"
# "owner/name" on GitHub, as pyproject.toml says, or empty.
about = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
urls, release = about.get("urls", {}), about["version"]
copyright = f"the authors of Attention from Scratch, MIT license · version {release}"
repository = urls.get("Repository", "").removeprefix("https://github.com/").strip("/")
homepage = urls.get("Homepage", "")

extensions = [
    "myst_nb",
    "sphinx_copybutton",
    "formulas",
    "dark_pictures",
    "links",
    "one_sheet",
    "live_pages",
    "course_zip",
    "terms",
]
root_doc = "site/index"
include_patterns = [
    "site/*.md",
    "site/slips/*.md",
    "notebooks/*.ipynb",
    "exercises/*/*.ipynb",
    "solutions/*/*.ipynb",
    "zh/notebooks/*.ipynb",
    "zh/exercises/*/*.ipynb",
]
exclude_patterns = [
    "**/.*",
    *sorted(p.name for p in ROOT.iterdir() if p.name not in SOURCES),
]
templates_path = ["_templates"]

# Notebooks
nb_execution_mode = "off"
nb_mime_priority_overrides = [("html", "text/html", -1)]
myst_enable_extensions = ["amsmath", "dollarmath", "html_image"]
myst_heading_anchors = 3

html_math_renderer = "svg"

# Looks
html_theme = "furo"
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-dark"
html_title = project
html_favicon = "_static/icon.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"}), ("slides.js", {"defer": "defer"})]
html_additional_pages = {"index": "redirect.html"}
html_sourcelink_suffix = ""  # the copies in _sources are what "download" links to
html_show_sourcelink = False
html_scaled_image_link = False  # a picture of double density is not too large to be shown
html_use_index = False
html_domain_indices = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#17406d",
        "color-brand-content": "#1a5592",
        "color-code-background": "#f6f8fa",
    },
    "dark_css_variables": {
        "color-brand-primary": "#9ecbff",
        "color-brand-content": "#8ebefa",
    },
}
copybutton_selector = (
    "div.cell_input pre, div.highlight-bash pre, div.highlight-console pre"
)


# --- The lists of lessons, exercises and solutions, made from what is in the folders --------------


def heading(notebook: Path) -> tuple[str, str]:
    """Return a notebook's title and the line that follows it, which in a lesson is its question."""
    source = "".join(json.loads(notebook.read_text(encoding="utf-8"))["cells"][0]["source"])
    if notebook.is_relative_to(ROOT / "solutions"):
        source = without_markers(source)
    title, *rest = [line.strip() for line in source.splitlines() if line.strip()]
    if not title.startswith("# "):
        raise ValueError(f"{notebook} has no title: its first line should begin with '# '")
    return title.removeprefix("# "), rest[0].strip("*") if rest else ""


def folder_of(notebook: Path, folder: str) -> Path:
    """Return where the exercise or solution of a lesson is."""
    return ROOT / folder / notebook.stem / notebook.name


def lesson_paths() -> list[Path]:
    return sorted((ROOT / "notebooks").glob("*.ipynb"))


def opening(notebook: Path) -> str:
    """Return a lesson's first cell in one line."""
    source = "".join(json.loads(notebook.read_text(encoding="utf-8"))["cells"][0]["source"])
    return " ".join(source.split())


def stated_time(notebook: Path) -> str:
    """Return the time that a lesson's first cell states: "1 h 15"."""
    minutes = stated_minutes(opening(notebook))
    if minutes is None:
        raise ValueError(
            f"{notebook} does not state a time, such as 'An hour and a quarter'"
        )
    hours, rest = divmod(minutes, 60)
    text = f"{hours} h {rest or ''}".rstrip() if hours else f"{rest} min"
    return text.replace(" ", "\u00a0")  # on one line


def builds_on(notebook: Path) -> list[str]:
    """Return the lessons that a lesson's opening names in parentheses, or the one before."""
    number = int(notebook.name[:2])
    named = re.findall(r"\(((?:\d\d(?:, | and )?)+)\)", opening(notebook))
    lessons = sorted({n for some in named for n in re.findall(r"\d\d", some)})
    before = [f"{number - 1:02d}"] if number else []
    return [n for n in lessons if int(n) < number] or before


def lesson_table() -> Iterator[str]:
    yield "| Lesson | Its question | Time | Builds on | Practice |\n|-|-|-|-|-|"
    for lesson in lesson_paths():
        title, question = heading(lesson)
        exercise = f"[Exercises](../exercises/{lesson.stem}/{lesson.name})"
        practice = exercise if folder_of(lesson, "exercises").exists() else ""
        yield (
            f"| [{title}](../notebooks/{lesson.name}) | {question} | {stated_time(lesson)} "
            f"| {', '.join(builds_on(lesson))} | {practice} |"
        )


def map_of_lessons() -> Iterator[str]:
    yield raw(
        lesson_map(lesson_paths(), builds_on, lambda path: heading(path)[0], stated_time)
    )


def shown(notebook: Path, has: str) -> tuple[str, str]:
    """Return the source and the HTML of the first output of a notebook in which there is a text."""
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        for output in cell.get("outputs", []):
            html = "".join(output.get("data", {}).get("text/html", ""))
            if has in html:
                return "".join(cell["source"]), html
    raise ValueError(f"{notebook} shows nothing with {has!r}")


def raw(html: str) -> str:
    return f"```{{raw}} html\n{html}\n```"


def scene(lesson: str, caption: str) -> str:
    """Return a live scene as it stands in a lesson, with a link to it."""
    (notebook,) = (ROOT / "notebooks").glob(f"{lesson}_*.ipynb")
    _, html = shown(notebook, f'text-align:left">{caption}')
    return f"{raw(html)}\n\nFrom [{heading(notebook)[0]}](../notebooks/{notebook.name})."


def encoder_scene(which: str) -> str:
    """Return a scene of the pretrained encoder; lesson 06's own, if the encoder is not installed."""
    import real_heads  # takes seconds: not for every tool that reads this file

    from attn_lib.minilm import MissingWeights

    try:
        return raw(getattr(real_heads, which)()._repr_html_())
    except MissingWeights:
        return scene("06", "Head lens")


def a_recording() -> Iterator[str]:
    """Yield the own model at work."""
    from recording import (
        recording,
    )  # takes seconds: not for every tool that reads this file

    yield raw(recording())


def a_way() -> Iterator[str]:
    """Yield the way of one token, and where to go it."""
    from way import way  # takes seconds: not for every tool that reads this file

    yield raw(way("../play.html"))


def some_verdicts() -> Iterator[str]:
    """Yield answers to try, with what the check says to each."""
    from tries import tries  # takes seconds: not for every tool that reads this file

    yield raw(tries())


def course_order() -> Iterator[str]:
    """Yield each lesson and then its exercises, as entries of a table of contents."""
    for lesson in lesson_paths():
        yield f"/notebooks/{lesson.stem}"
        if folder_of(lesson, "exercises").exists():
            yield f"/exercises/{lesson.stem}/{lesson.stem}"


def chinese_order() -> Iterator[str]:
    """Yield each Chinese lesson and then its exercises, as entries of a table of contents."""
    for lesson in sorted((ROOT / "zh" / "notebooks").glob("*.ipynb")):
        yield f"/zh/notebooks/{lesson.stem}"
        if folder_of(lesson, "zh/exercises").exists():
            yield f"/zh/exercises/{lesson.stem}/{lesson.stem}"


def semester() -> Iterator[str]:
    """Yield a table of fourteen weeks: what is read in class, and what is done at home for how many points."""
    yield "| Week | In class | Time | At home | Points |\n|-|-|-|-|-|"
    first, *middle, last, own = lesson_paths()
    weeks = [[first, middle[0]], *([one] for one in middle[1:]), [last, own]]
    for week, lessons in enumerate(weeks, start=1):
        titles = ", ".join(
            f"[{heading(one)[0]}](../notebooks/{one.name})" for one in lessons
        )
        times = " + ".join(map(stated_time, lessons))
        done = [one for one in lessons if folder_of(one, "exercises").exists()]
        home = ", ".join(
            f"[exercise {one.name[:2]}](../exercises/{one.stem}/{one.name})" for one in done
        )
        points = sum(
            int(re.search(r"(\d+) points", opening(folder_of(one, "exercises")))[1])
            for one in done
        )
        yield f"| {week} | {titles} | {times} | {home} | {points} |"


def solution_list() -> Iterator[str]:
    for path in sorted((ROOT / "solutions").glob("*/*.ipynb")):
        yield f"- [{heading(path)[0]}](../solutions/{path.parent.name}/{path.name})"


LISTS = {
    "{{ lesson_table }}": lesson_table,
    "{{ course_order }}": course_order,
    "{{ chinese_order }}": chinese_order,
    "{{ solution_list }}": solution_list,
    "{{ map }}": map_of_lessons,
    "{{ tries }}": some_verdicts,
    "{{ way of a token }}": a_way,
    "{{ semester }}": semester,
    "{{ recording }}": a_recording,
}


def complete_source(app, docname, source) -> None:
    """Fill in the lists of a page; make a notebook one to read."""
    if docname.startswith("site/"):
        for name, make in LISTS.items():
            if name in source[0]:
                source[0] = source[0].replace(name, "\n".join(make()))
        source[0] = re.sub(
            r"\{\{ scene (\d\d) (.+?) \}\}", lambda found: scene(*found.groups()), source[0]
        )
        source[0] = re.sub(
            r"\{\{ real heads (\w+) \}\}", lambda found: encoder_scene(found[1]), source[0]
        )
        source[0] = re.sub(
            r"\{\{ live page (\S+) \}\}",
            lambda found: link_to(app.outdir, found[1]),
            source[0],
        )
        return
    notebook = json.loads(source[0])
    # Git does not keep this, because it holds the version of Python.
    notebook["metadata"]["language_info"] = {"name": "python", "pygments_lexer": "ipython3"}
    if docname.startswith("solutions/"):
        for cell in notebook["cells"]:
            if "nbgrader" in cell["metadata"] and cell["cell_type"] == "code":
                # Not the points, which the hidden test returned.
                cell["outputs"] = [
                    o for o in cell["outputs"] if o["output_type"] == "display_data"
                ]
            cell["source"] = without_markers("".join(cell["source"]))
    source[0] = json.dumps(notebook)


def without_markers(text: str) -> str:
    """Take out of a solution's cell what only nbgrader and the graders need."""
    text = re.sub(
        r"\n### BEGIN HIDDEN TESTS.*?### END HIDDEN TESTS", "", text, flags=re.DOTALL
    )
    text = re.sub(r"^ *### (BEGIN|END) SOLUTION\n?", "", text, flags=re.MULTILINE)
    return text.replace("# Exercise ", "# Solution ", 1).rstrip()


def always_reread_lists(app, env, added, changed, removed):
    return ["site/index", "site/solutions", "site/explorer", "site/syllabus"]


# --- What stands on top of a notebook's page ------------------------------------------------------


CODE = '<code class="docutils literal">{}</code>'


def add_notebook_bar(app, doctree) -> None:
    """Put a line with the download under a notebook's title; warn above a solution."""
    docname = app.env.current_document.docname
    folder = PurePosixPath(docname).parts[0]
    if folder not in ("notebooks", "exercises", "solutions", "zh"):
        return
    up = "../" * docname.count("/")
    colab = open_in_colab(app.config.repository, docname) if folder != "zh" else ""
    colab += other_language(docname, app.env.found_docs, up)
    bar = (
        f'<p class="notebook-bar"><a href="{up}_sources/{docname}.ipynb" download>下载这个笔记本</a>，或者'
        f'<a href="{up}site/start.html">获取课程</a>来运行：先在笔记本里用 {CODE.format("language(&quot;zh&quot;)")} '
        f"选择中文，再运行 {CODE.format('make lab')}，打开 {CODE.format(docname + '.ipynb')}{colab}</p>"
        if folder == "zh"
        else f'<p class="notebook-bar">Code does not run on this page. To run it, <a href="{up}site/start.html">get '
        f"the course</a>, type {CODE.format('make lab')}, and open {CODE.format(docname + '.ipynb')}. "
        f'<a href="{up}_sources/{docname}.ipynb" download>This notebook alone</a> needs the course '
        f"beside it.{needed(docname, up)}{colab}</p>"
    )
    if folder == "solutions":
        # Out of the search, the course's list and previous/next.
        app.env.metadata[docname].update({"nosearch": True, "orphan": True})
        exercise = docname.replace("solutions/", "exercises/", 1) + ".html"
        bar = (
            '<div class="solution-warning" role="note"><p><strong>This page gives the answers '
            f'away.</strong> The <a href="{up}{exercise}">exercises</a> are where you learn: '
            f"{CODE.format('hint(…)')} there helps one step at a time.</p></div>{bar}"
        )
    title = next(iter(doctree.findall(nodes.title)), None)
    if title is not None:
        title.parent.insert(
            title.parent.index(title) + 1, nodes.raw("", bar, format="html")
        )


def needed(docname: str, up: str) -> str:
    """Return what a lesson builds on, as links; for other pages nothing."""
    path = ROOT / f"{docname}.ipynb"
    before = builds_on(path) if docname.startswith("notebooks/") else []
    names = [
        (n, next(p.stem for p in lesson_paths() if p.name.startswith(n))) for n in before
    ]
    links = (f'<a href="{up}notebooks/{stem}.html">{number}</a>' for number, stem in names)
    return f" It builds on {', '.join(links)}." if before else ""


def other_language(docname: str, there: set[str], up: str) -> str:
    """Return the links between the Chinese and the English page of a notebook, as the end of a line."""
    english = docname.removeprefix("zh/")
    chinese = f"zh/{english}"
    if not {english, chinese} <= there:
        return ""
    if docname == english:
        link = f'<a href="{up}{chinese}.html" hreflang="zh" lang="zh" data-offer="你上次读的是中文：继续读中文">中文</a>'
        return f' · <span class="languages">{link} / English</span>'
    link = f'<a href="{up}{english}.html" hreflang="en" lang="en" data-offer="You read English last: go on in English">English</a>'
    return f' · <span class="languages">中文 / {link}</span>'


def say_the_language(app, pagename, templatename, context, doctree) -> None:
    """Tell browsers and screen readers which pages are Chinese."""
    if pagename.startswith("zh/"):
        context["language"] = "zh"


def write_chinese_notebooks(app) -> None:
    """Write the Chinese notebooks, before Sphinx looks for pages."""
    from scripts.translate_notebooks import write_translated  # takes seconds

    write_translated("zh")


def add_description(app, pagename, templatename, context, doctree) -> None:
    """Tell search engines what a page is about, by its title and its first paragraph."""
    if doctree is not None and 'name="description"' not in context["metatags"]:
        first = next(iter(doctree.findall(nodes.paragraph))).astext()
        text = escape(" ".join(f"{context['title']}: {first}".split())[:160])
        context["metatags"] += f'<meta name="description" content="{text}">'


def keep_pictures_in_the_build(app) -> None:
    """Put pictures taken from notebooks beside the doctrees, not into a folder of the repository."""
    app.env.mystnb_config = app.env.mystnb_config.copy(
        output_folder=str(app.doctreedir / "pictures")
    )


def setup(app) -> None:
    app.connect(
        "builder-inited", keep_pictures_in_the_build, priority=900
    )  # after MyST-NB's own
    app.connect("builder-inited", write_chinese_notebooks)
    app.connect("source-read", complete_source)
    app.connect("env-get-outdated", always_reread_lists)
    app.connect("doctree-read", add_notebook_bar)
    app.connect("html-page-context", add_description)
    app.connect("html-page-context", say_the_language)
