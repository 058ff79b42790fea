"""Every page of the site, opened from the disk, at desktop and phone width, light and dark."""

import re
from urllib.parse import quote

import pytest

from tests.browser.looks import lowest_contrast, violations

WIDTHS = {"desktop": (1280, 800), "phone": (390, 844)}
SCHEMES = ("light", "dark")

ALL_FORMULAS_SHOW = """() => [...document.querySelectorAll("svg.formula")]
    .every(formula => !formula.checkVisibility() || formula.getBBox().width > 2)"""
UNREACHABLE_BOXES = """() => [...document.querySelectorAll("pre")]
    .filter(p => p.scrollWidth > p.clientWidth + 1 && p.tabIndex < 0).length"""
UNLOADED_IMAGES = """() => [...document.images]
    .filter(i => i.loading !== "lazy" && !(i.complete && i.naturalWidth)).map(i => i.src)"""
ALL_SCENES_ARE_LIVE = """theme => [...document.querySelectorAll("[data-explorer]")]
    .every(host => host.explorer && host.dataset.theme === theme)"""

# Links inside of a sentence are as high as its line.
SMALL_TARGETS = """() => [...document.querySelectorAll("a[href], button, summary")]
    .filter(e => !e.closest("p, td, dd, blockquote, article li:not(#search-results li)")
        && !e.classList.contains("headerlink"))
    .filter(e => { const r = e.getBoundingClientRect();
        return r.width && r.height && Math.min(r.width, r.height) < 23.5; })
    .map(e => `${e.tagName} ${e.className} ${e.textContent.trim().slice(0, 30)}`)"""

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture
def page(chromium):
    """A page that notes what goes wrong in it, in `page.troubles`."""
    # Playwright evaluates text, which the policy of the pages with a model forbids.
    page = chromium.new_page(bypass_csp=True)
    page.set_default_timeout(10_000)
    page.troubles = []
    page.on("requestfailed", lambda request: page.troubles.extend(failure(request)))
    page.on("request", lambda request: page.troubles.extend(outside(request.url)))
    page.on("pageerror", lambda error: page.troubles.append(f"script: {error}"))
    page.on("console", lambda message: page.troubles.extend(complaint(message)))
    yield page
    page.close()


def failure(request):
    # A picture that is still being loaded when the next page is opened has not failed.
    left = request.failure == "net::ERR_ABORTED"
    return [] if left else [f"failed: {request.url}, {request.failure}"]


def outside(url):
    return [] if url.startswith(("file:", "data:", "blob:")) else [f"outside: {url}"]


def complaint(message):
    return [f"console: {message.text}"] if message.type in ("error", "warning") else []


RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]


@pytest.mark.parametrize(
    "every", [False, pytest.param(True, marks=pytest.mark.nightly)], ids=["main", "every"]
)
def test_pages_open_from_the_disk_fit_the_screen_and_are_accessible(page, site, every):
    """By day the lessons and the pages around them, and of exercises and solutions those of lesson 01."""
    files = sorted(site.rglob("*.html"))
    if not every:
        main = ("notebooks/*", "site/*", "*/01_*/*")
        files = [
            file for file in files if any(file.relative_to(site).match(p) for p in main)
        ]
    scenes = {file for file in files if "data-explorer" in file.read_text(encoding="utf-8")}
    names = {str(file.relative_to(site)) for file in scenes}
    assert names >= {"site/explorer.html", "site/index.html"}
    # axe is slow on a long page: it looks at four, each at another width and in another scheme.
    looked_at = sorted(scenes)[:: len(scenes) // 4][:4]
    found = []
    for file in files:
        page.troubles.clear()
        page.goto(file.as_uri(), wait_until="load")
        page.wait_for_function(ALL_FORMULAS_SHOW)
        problems = [f"not loaded: {url}" for url in page.evaluate(UNLOADED_IMAGES)]
        # What fits depends on the width alone, and the contrast on the scheme.
        for (screen, (width, height)), scheme in zip(WIDTHS.items(), SCHEMES, strict=True):
            page.set_viewport_size({"width": width, "height": height})
            page.emulate_media(color_scheme=scheme)
            where = f"{screen}, {scheme}"
            page.evaluate("() => new Promise(requestAnimationFrame)")
            if file in scenes:
                page.wait_for_function(ALL_SCENES_ARE_LIVE, arg=scheme)
            wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            if wide > 0:
                problems.append(f"{where}: the page is {wide} pixels too wide")
            if page.evaluate(UNREACHABLE_BOXES):
                problems.append(
                    f"{where}: code that scrolls is out of the keyboard's reach"
                )
            small = page.evaluate(SMALL_TARGETS)
            problems += [f"{where}: less than 24 pixels: {target}" for target in small]
            for verdict in page.locator(".attn-verdict").all():
                if (contrast := lowest_contrast(verdict)) < 4.5:
                    problems.append(f"{where}: a verdict's contrast is {contrast:.1f}")
            if file in looked_at and looked_at.index(file) % 2 == SCHEMES.index(scheme):
                problems += [f"{where}: {text}" for text in violations(page, "html", RULES)]
        found += [
            f"{file.relative_to(site)}: {text}" for text in (*page.troubles, *problems)
        ]
    assert not found, "\n".join(found)


def test_every_scene_of_the_gallery_moves_and_can_be_sent(page, site):
    page.goto((site / "site/explorer.html").as_uri())
    page.wait_for_function(ALL_SCENES_ARE_LIVE, arg="light")
    told, seen = "h => [h.explorer.numbers, h.explorer.name]", set()
    for scene in page.locator("[data-explorer]").all():
        numbers, name = scene.evaluate(told)
        used = scene.locator(
            "input:not(:checked)[type=radio], input[type=checkbox], input[type=range]"
        ).first
        used.focus()
        slides = used.get_attribute("type") == "range"
        page.keyboard.press("ArrowRight" if slides else "Space")
        assert scene.evaluate(told)[0] != numbers, name
        page.wait_for_url(re.compile(rf"[#&]{name}="))
        seen.add(page.url)
    assert len(seen) == 9
    last = page.url
    page.goto("about:blank")
    page.goto(last)
    page.wait_for_function(
        """name => [...document.querySelectorAll("[data-explorer]")].some(h =>
            h.explorer?.name === name && Math.abs(h.getBoundingClientRect().top) < 99)""",
        arg=name,
    )
    assert page.troubles == []


def test_the_search_works_from_the_disk_and_hides_the_solutions(page, site):
    page.goto((site / "site/index.html").as_uri())
    lesson = page.locator(".sidebar-tree a[href*='notebooks/']").last
    title, link = lesson.text_content(), lesson.get_attribute("href").removeprefix("../")
    page.goto((site / "search.html").as_uri() + f"?q={quote(title)}")
    page.locator("#search-results li a").first.wait_for()
    page.get_by_text("Search finished").wait_for()
    results = page.locator("#search-results li a").all()
    found = [result.get_attribute("href") for result in results]
    assert page.evaluate(SMALL_TARGETS) == []
    assert link in [href.partition("?")[0].partition("#")[0] for href in found]
    assert not [href for href in found if "solutions/" in href]
    assert page.troubles == []


def test_on_a_phone_large_figures_keep_their_size_and_say_that_they_scroll(page, site):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto((site / "notebooks/02_masks.html").as_uri(), wait_until="load")
    figure = page.locator(".cell_output img[data-scheme=light]:visible").first
    assert figure.bounding_box()["width"] == float(figure.get_attribute("width")) > 560
    cell = page.locator("div.cell.has-scrolling").first
    said = "e => getComputedStyle(e, '::after').content"
    assert "scrolls sideways" in cell.evaluate(said)
    page.set_viewport_size({"width": 1280, "height": 844})
    page.wait_for_function("""() => !document.querySelector(".cell.has-scrolling")""")
    assert page.troubles == []


def test_on_a_phone_the_panels_of_a_figure_stand_below_each_other(page, site):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto((site / "notebooks/03_multi_head.html").as_uri(), wait_until="load")
    shown = """([figure, start]) => figure.complete
        && figure.currentSrc.replace(/.*_images./, "").startsWith("phone") === Boolean(start)
        && figure.currentSrc.replace(/.*_images./, "").startsWith(start)"""
    for scheme, start in (("light", "phone-"), ("dark", "phone-dark-")):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": 390, "height": 844})
        figure = page.locator("picture img:visible").first
        figure.scroll_into_view_if_needed()
        page.wait_for_function(shown, arg=[figure.element_handle(), start])
        box = figure.bounding_box()
        assert box["width"] <= 390 - 32 < box["height"]
        page.set_viewport_size({"width": 1280, "height": 844})
        page.wait_for_function(shown, arg=[figure.element_handle(), ""])
    assert page.troubles == []


def test_the_menu_of_a_narrow_page_opens_by_the_keyboard(page, site):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto((site / "notebooks/01_single_head.html").as_uri())
    first = page.locator(".sidebar-tree a").first
    for name in ("nav-overlay-icon", "toc-header-icon"):
        for _ in range(10):
            page.keyboard.press("Tab")
            if page.evaluate(f"document.activeElement.classList.contains('{name}')"):
                break
        assert page.evaluate(f"document.activeElement.classList.contains('{name}')")
    page.locator("button.nav-overlay-icon").focus()
    assert not first.is_visible() or first.bounding_box()["x"] < 0
    page.keyboard.press("Enter")
    page.wait_for_function(
        "document.querySelector('.sidebar-tree a').getBoundingClientRect().x >= 0"
    )


def test_dark_mode_is_one_click_away_and_stays(page, site):
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto((site / "site/index.html").as_uri())
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    for _ in range(3):  # auto, light, dark in an order that depends on the system's scheme
        if page.evaluate("document.body.dataset.theme") == "dark":
            break
        page.locator(".theme-toggle-content button").click()
    assert page.evaluate(background) != light
    page.goto((site / "site/start.html").as_uri())
    assert page.evaluate("document.body.dataset.theme") == "dark"


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_lesson_can_be_shown_as_slides(page, site, width, scheme):
    lesson = (site / "notebooks/02_masks.html").as_uri()
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 720})
    page.goto(lesson)
    page.get_by_role("button", name="Show as slides").click()
    place, slide = page.locator(".slides [role=status]"), page.locator(".slides .slide")
    at, last = (int(n) for n in place.text_content().split(" of "))
    assert at == 1
    assert last > 15
    figures = 0
    for number in range(1, last + 1):
        assert place.text_content() == f"{number} of {last}"
        # A heading, and something to see or to think about.
        shown = slide.locator("> *").evaluate_all(
            "all => all.map(e => e.checkVisibility())"
        )
        assert len(shown) >= 2, number
        assert all(shown), number
        assert slide.evaluate("e => e.scrollWidth - e.clientWidth") <= 0, number
        figures += slide.locator("img").count()
        page.keyboard.press("ArrowRight")
    assert (
        figures == page.locator(f"article .cell_output img[data-scheme={scheme}]").count()
    )
    assert violations(page, ".slides") == []
    page.keyboard.press("Escape")
    assert page.locator(".slides").count() == 0
    assert page.url == lesson
    page.goto(f"{lesson}#slide=3")
    page.reload()
    assert place.text_content() == f"3 of {last}"
    assert page.troubles == []


def test_the_map_marks_the_lesson_that_was_read_last(page, site):
    index = (site / "site/index.html").as_uri()
    page.goto(index)
    assert page.locator(".map a").count() == 16
    assert page.locator(".map a.here").count() == 0
    page.goto((site / "notebooks/02_masks.html").as_uri())
    page.goto(index)
    assert page.locator(".map a.here").get_attribute("href").endswith("02_masks.html")
    assert page.troubles == []


def test_the_recording_writes_stops_at_the_button_and_for_who_wants_no_motion(page, site):
    page.goto((site / "site/index.html").as_uri())
    words = page.locator(".recording .words > *")
    before = words.count()
    page.wait_for_function(
        "n => document.querySelectorAll('.recording .words > *').length > n", arg=before
    )
    page.get_by_role("button", name="Pause").click()
    stopped = words.all_text_contents()
    page.wait_for_timeout(1000)
    assert words.all_text_contents() == stopped
    page.emulate_media(reduced_motion="reduce")
    page.reload()
    assert page.get_by_role("button", name="Play").is_visible()
    assert words.count() == 1
    assert words.first.text_content().startswith("Raises a ValueError if the")
    assert words.first.text_content().endswith(".")
    assert page.troubles == []


def test_on_paper_folded_answers_are_open_and_buttons_are_gone(page, site):
    page.goto((site / "notebooks/01_single_head.html").as_uri())
    answers = page.locator("article details")
    assert answers.count()
    closed = "() => document.querySelectorAll('article details:not([open])').length"
    assert page.evaluate(closed)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.evaluate(closed) == 0
    assert not page.locator(".skip-to-content").is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(closed)


def test_a_hit_leads_to_the_words_that_were_looked_for(page, site):
    page.goto((site / "search.html").as_uri() + "?q=rescaled")
    page.get_by_text("Search finished").wait_for()
    page.wait_for_timeout(200)
    hits = page.locator("#search-results li a").all()
    assert all("#" in hit.get_attribute("href") for hit in hits)
    page.goto((site / "search.html").as_uri() + "?q=kv+cache")
    page.get_by_text("Search finished").wait_for()
    first = page.locator("#search-results li a").first.get_attribute("href")
    assert first.endswith("04_mqa_gqa.html#keep-keys-and-values")
