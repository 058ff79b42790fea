"""Every page of the site, opened from the disk, at desktop and phone width, light and dark."""

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
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]

# Links inside of a sentence are as high as its line.
SMALL_TARGETS = """() => [...document.querySelectorAll("a[href], button, label[tabindex], summary")]
    .filter(e => !e.closest("p, td, dd, blockquote, article li:not(#search-results li)")
        && !e.classList.contains("headerlink"))
    .filter(e => { const r = e.getBoundingClientRect();
        return r.width && r.height && Math.min(r.width, r.height) < 23.5; })
    .map(e => `${e.tagName} ${e.className} ${e.textContent.trim().slice(0, 30)}`)"""

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture
def page(chromium):
    """A page that notes what goes wrong in it, in `page.troubles`."""
    page = chromium.new_page()
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


def test_every_page_opens_from_the_disk_and_fits_the_screen(page, site):
    found = []
    for file in sorted(site.rglob("*.html")):
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
            wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            if wide > 0:
                problems.append(f"{where}: the page is {wide} pixels too wide")
            if page.evaluate(UNREACHABLE_BOXES):
                problems.append(
                    f"{where}: code that scrolls is out of the keyboard's reach"
                )
            for verdict in page.locator(".attn-verdict").all():
                if (contrast := lowest_contrast(verdict)) < 4.5:
                    problems.append(f"{where}: a verdict's contrast is {contrast:.1f}")
        found += [
            f"{file.relative_to(site)}: {text}" for text in (*page.troubles, *problems)
        ]
    assert not found, "\n".join(found)


def test_scenes_are_live_and_axe_finds_nothing_serious_on_their_pages(page, site):
    scenes = [
        file
        for file in sorted([*site.glob("notebooks/*.html"), *site.glob("site/*.html")])
        if "data-explorer" in file.read_text(encoding="utf-8")
    ]
    assert {file.name[:2] for file in scenes} >= {f"{n:02}" for n in range(1, 8)}
    assert {file.name for file in scenes} >= {"explorer.html", "index.html"}
    # axe is slow on a long page: it looks at four lessons, each at another width or in another scheme.
    screens = [(width, scheme) for width in WIDTHS.values() for scheme in SCHEMES]
    looked_at = dict(
        zip(scenes[len(scenes) % 4 :: len(scenes) // 4], screens, strict=False)
    )
    found = []
    for file in scenes:
        (width, height), scheme = looked_at.get(file, screens[0])
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)
        page.goto(file.as_uri(), wait_until="load")
        page.wait_for_function(ALL_SCENES_ARE_LIVE, arg=scheme)
        if file in looked_at:
            problems = violations(page, "html", RULES)
            found += [f"{file.name}, {width} pixels, {scheme}: {text}" for text in problems]
    assert not found, "\n".join(found)
    assert len(looked_at) == 4
    assert page.troubles == []


def test_every_scene_of_the_gallery_moves_says_so_and_can_be_sent(page, site):
    page.goto((site / "site/explorer.html").as_uri())
    page.wait_for_function(ALL_SCENES_ARE_LIVE, arg="light")
    told, seen = "h => [h.explorer.numbers, h.explorer.state, h.explorer.name]", set()
    for scene in page.locator("[data-explorer]").all():
        summary = scene.locator(".summary")
        numbers, _, name = scene.evaluate(told)
        said = summary.text_content()
        used = scene.locator(
            "input:not(:checked)[type=radio], input[type=checkbox], input[type=range]"
        )
        used.first.focus()
        page.keyboard.press(
            "ArrowRight" if used.first.get_attribute("type") == "range" else "Space"
        )
        assert summary.text_content() != said, name
        assert scene.evaluate(told)[0] != numbers, name
        page.wait_for_url(f"**#{name}=*")
        seen.add(page.url)
        scene.get_by_role("button", name="Reset").click()
        assert (summary.text_content(), scene.evaluate(told)[0]) == (said, numbers)
    assert len(seen) == 9
    for address in seen:
        page.goto("about:blank")
        page.goto(address)
        name = address.partition("#")[2].partition("=")[0]
        page.wait_for_function(f"""() => [...document.querySelectorAll("[data-explorer]")].some(
            h => h.explorer?.name === "{name}" && Math.abs(h.getBoundingClientRect().top) < 99)""")
    assert page.troubles == []


def test_the_search_works_from_the_disk_and_hides_the_solutions(page, site):
    page.goto((site / "site/index.html").as_uri())
    lesson = page.locator(".sidebar-tree a[href*='notebooks/']").last
    title, link = lesson.text_content(), lesson.get_attribute("href").removeprefix("../")
    page.goto((site / "search.html").as_uri() + f"?q={quote(title)}")
    page.locator("#search-results li a").first.wait_for()
    page.get_by_text("Search finished").wait_for()
    found = [
        link.get_attribute("href") for link in page.locator("#search-results li a").all()
    ]
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_the_panels_of_a_figure_stand_below_each_other(page, site, scheme):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto((site / "notebooks/03_multi_head.html").as_uri(), wait_until="load")
    figure = page.locator("picture img:visible").first
    figure.scroll_into_view_if_needed()
    shown = "e => e.complete && e.currentSrc.replace(/.*_images./, '')"
    page.wait_for_function(f"e => ({shown})(e)", arg=figure.element_handle())
    start = {"light": "phone-", "dark": "phone-dark-"}[scheme]
    assert figure.evaluate(shown).startswith(start)
    box = figure.bounding_box()
    assert box["width"] <= 390 - 32 < box["height"]
    page.set_viewport_size({"width": 1280, "height": 844})
    page.wait_for_function(
        f"e => !({shown})(e).startsWith('phone')", arg=figure.element_handle()
    )
    assert page.troubles == []


@pytest.mark.parametrize("width", [390, 1280])
def test_what_is_pressed_has_24_pixels(page, site, width):
    page.set_viewport_size({"width": width, "height": 844})
    for place in ("notebooks/02_masks.html", "site/index.html", "search.html?q=mask"):
        page.goto(f"{site.as_uri()}/{place}", wait_until="load")
        if "search" in place:
            page.get_by_text("Search finished").wait_for()
        assert page.evaluate(SMALL_TARGETS) == [], place


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
    page.locator("label.nav-overlay-icon").focus()
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
