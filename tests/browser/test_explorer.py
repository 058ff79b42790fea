"""The explorer's scenes in Chromium: driven by mouse and by keyboard, from the disk."""

import re
import xml.etree.ElementTree as ET

import pytest
import torch
from PIL import Image

from attn_lib import causal_mask, einsum_attention, kv_cache_bytes, masked_softmax
from attn_lib.explorer import (
    Ablation,
    ClockHands,
    EinsumTracer,
    HeadLens,
    MaskPainter,
    OnlineSoftmax,
    Scale,
    SharedHeads,
    SplitMerge,
)
from tests.browser.looks import lowest_contrast, violations

pytestmark = [pytest.mark.browser, pytest.mark.slow]

WORDS = ["trophy", "suitcase", "it", "big"]
Q = torch.tensor([[1.0, 2, 0, 1], [3, 1, 0, 1], [2, 0, 0, 0], [2, 0, 0, 2]])
K = torch.tensor([[2.0, 0, 0, 1], [1, 2, 0, 1], [0, 0, 2, 0], [0, 0, 0, 2]])
WEIGHTS = torch.randn(2, 3, 4, 6, generator=torch.Generator().manual_seed(0)).softmax(-1)
ONLINE = torch.tensor([-torch.inf, -torch.inf, 1.0, 0.5, 3, 2, -1])
VALUES = torch.arange(14.0).view(7, 2) / 4 - 1


def loss(on):
    return 2.0 - on[0] * on[1] - 0.5 * on[1] - 0.3 * on[2] + 0.1 * on[3]


SCENES = {
    "Scale": Scale(),
    "MaskPainter": MaskPainter(Q @ K.mT / 2, WORDS),
    "EinsumTracer": EinsumTracer("hld,hsd->hls", Q.view(2, 2, 4), K.view(2, 2, 4)),
    "SplitMerge": SplitMerge(WORDS, 3, 2),
    "SharedHeads": SharedHeads(8, 2),
    "HeadLens": HeadLens.together(
        {
            "self": HeadLens(
                masked_softmax(Q @ K.mT, causal_mask(4, 4)).expand(3, 4, 4),
                WORDS,
                mask=causal_mask(4, 4),
            ),
            "cross": HeadLens(WEIGHTS, WORDS, list("abcdef")),
        }
    ),
    "Ablation": Ablation.measure(
        loss, 4, largest_weights=torch.tensor([0.4, 0.3, 0.2, 0.9])
    ),
    "OnlineSoftmax": OnlineSoftmax(ONLINE, VALUES, block_size=2),
    "ClockHands": ClockHands(),
}
every_scene = pytest.mark.parametrize("name", SCENES)

PAGE = """<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Scenes</title>
<meta name="viewport" content="width=device-width"><body style="margin:0"><main>{}</main></body></html>"""

ALL_LIVE = """n => [...document.querySelectorAll("[data-explorer]")]
    .filter(host => host.shadowRoot?.querySelector("svg")).length === n"""
ALL_TEXTS_ARE_INSIDE = """svg => {
  const b = svg.getBoundingClientRect();
  return [...svg.querySelectorAll("text")].map(t => t.getBoundingClientRect()).every(a =>
    a.left >= b.left - 1 && a.right <= b.right + 1 && a.bottom <= b.bottom + 1 && a.top >= b.top - 1);
}"""
ALL_HAVE_THEME = """theme => [...document.querySelectorAll("[data-explorer]")]
    .every(host => host.dataset.theme === theme)"""
ALL_FIT_THE_WIDTH = """() => [...document.querySelectorAll("[data-explorer]")].every(host =>
    host.shadowRoot.querySelector("svg").viewBox.baseVal.width
        === Math.floor(Math.min(host.clientWidth, 760) - 26))"""
IS_READ_OUT = """host => { const find = where => host.shadowRoot.querySelector(where).textContent;
    return find("[role=status]") && find("[role=status]") === find(".summary"); }"""


class Figure:
    """One scene in a page."""

    def __init__(self, page, index=0):
        self.page = page
        self.host = page.locator("[data-explorer]").nth(index)
        self.svg = self.host.locator("svg")
        self.summary = self.host.locator(".summary")

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def tab_to(self, target):
        """Walk to an element with the Tab key alone."""
        for _ in range(80):
            self.press("Tab")
            if target.evaluate("e => e === e.getRootNode().activeElement"):
                return
        raise AssertionError(f"the Tab key does not reach {target}")

    def slider(self, name):
        return self.host.get_by_role("slider", name=name)

    def radio(self, name):
        return self.host.get_by_role("radio", name=name, exact=True)

    def button(self, name):
        return self.host.get_by_role("button", name=name)

    def cell(self, name):
        return self.host.get_by_role("gridcell", name=name)

    @property
    def numbers(self):
        return self.host.evaluate("host => host.explorer.numbers")

    def wait_until_read_out(self):
        """Wait until a screen reader is told of the last change."""
        self.page.wait_for_function(IS_READ_OUT, arg=self.host.element_handle())


def resize(page, width):
    page.set_viewport_size({"width": width, "height": 900})
    page.wait_for_function(ALL_FIT_THE_WIDTH)


@pytest.fixture
def show(chromium, tmp_path):
    """Open scenes from the disk; the page may fetch nothing and complain about nothing."""
    pages, troubles = [], []

    def open_them(*scenes, width=1280, **options):
        file = tmp_path / f"{len(pages)}.html"
        file.write_text(PAGE.format("".join(scene._repr_html_() for scene in scenes)))
        page = chromium.new_page(viewport={"width": width, "height": 900}, **options)
        page.set_default_timeout(5_000)
        pages.append(page)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda message: troubles.append(message.text))
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith(("file:", "data:", "blob:"))
                else troubles.append(f"asked for {request.url}")
            ),
        )
        page.goto(file.as_uri(), wait_until="load")
        # A scene is drawn when it knows its width.
        if options.get("java_script_enabled", True):
            page.wait_for_function(ALL_LIVE, arg=len(scenes))
        return page

    yield open_them
    for page in pages:
        page.close()
    assert not troubles, troubles


def close(found, expected, **tolerance):
    torch.testing.assert_close(
        torch.as_tensor(found).double(),
        torch.as_tensor(expected).double(),
        **({"atol": 1e-3, "rtol": 1e-3} | tolerance),
    )


# ------------------------------------------------ what each scene computes, against the library


def is_scale(numbers, D, power):
    scores = SCENES["Scale"].scores[[4, 8, 16, 32, 64, 128, 256].index(D)].double()
    w = (scores / D**power).softmax(-1)
    close(numbers["weights"], w)
    close(numbers["entropy"], torch.distributions.Categorical(w).entropy())
    close(numbers["largest"], w.max())
    jacobian = torch.func.jacrev(lambda s: s.softmax(-1))(scores / D**power)
    close(numbers["gradient"], jacobian.norm())


def is_mask(numbers, allowed):
    mask = torch.as_tensor(allowed).bool()
    assert numbers["mask"] == mask.int().tolist()
    close(numbers["weights"], masked_softmax(SCENES["MaskPainter"].scores, mask))


def is_einsum(numbers, h, i, j, step):
    q, k = SCENES["EinsumTracer"].operands
    close(numbers["sum"], (q[h, i, :step] * k[h, j, :step]).sum())
    close(numbers["total"], SCENES["EinsumTracer"].result[h, i, j])


def is_cells(numbers, tensor, scrambled):
    assert numbers["cells"] == tensor.flatten().tolist()
    assert numbers["shape"] == list(tensor.shape)
    assert numbers["strides"] == list(tensor.stride())
    assert numbers["scrambled"] == scrambled


def is_cache(numbers, kv_heads, length, layers, dtype):
    assert numbers["bytes"] == kv_cache_bytes(1, length, layers, kv_heads, 64, dtype)
    assert numbers["full"] == kv_cache_bytes(1, length, layers, 8, 64, dtype)
    assert numbers["scores"] == layers * 8 * length
    assert numbers["reads"] == [i * kv_heads // 8 for i in range(8)]


def is_head(numbers, weights):
    rounded = torch.tensor(numbers["weights"])
    close(rounded, weights, atol=1 / 255, rtol=0)
    assert torch.equal((100 * rounded).round(), (100 * weights).round())
    close(numbers["entropy"], torch.special.entr(rounded).sum(-1).mean())
    close(numbers["first"], rounded[:, 0].mean())


def is_ablated(numbers, *on):
    scene = SCENES["Ablation"]
    assert numbers["on"] == [bool(bit) for bit in on]
    close(numbers["loss"], loss(torch.tensor(on).float()))
    close(numbers["shares"], scene.shares)
    without = [[1 - bit if i == j else bit for j, bit in enumerate(on)] for i in range(4)]
    change = [loss(torch.tensor(other).float()) - numbers["loss"] for other in without]
    close(numbers["gains"], [c if bit else -c for c, bit in zip(change, on, strict=True)])


def is_online(numbers, block, step):
    seen = min(block * step, len(ONLINE))
    scores, values = ONLINE[:seen].double(), VALUES[:seen].double()
    finite = scores.isfinite().any()
    assert numbers["m"] == (scores.max().item() if finite else None)
    close(numbers["l"], (scores - scores.max()).exp().sum() if finite else 0.0)
    mask = scores.isfinite()
    q, k = torch.ones(1, 1).double(), scores.nan_to_num(neginf=0.0)[:, None]
    close(numbers["output"], einsum_attention(q, k, values, mask=mask)[0][0])
    mask, k = ONLINE.isfinite(), ONLINE.double().nan_to_num(neginf=0.0)[:, None]
    close(numbers["full"], einsum_attention(q, k, VALUES.double(), mask=mask)[0][0])


def is_hands(numbers, query, key, pair):
    q, k = SCENES["ClockHands"].hands(query, key)
    assert (numbers["query"], numbers["key"], numbers["pair"]) == (query, key, pair)
    close(numbers["hands"], torch.stack([q[pair], k[pair]]))
    close(numbers["scores"], SCENES["ClockHands"].scores(query, key))
    close(numbers["total"], (q * k).sum())
    a, b = (torch.view_as_complex(hands.contiguous())[pair] for hands in (q, k))
    close(numbers["angle"], (a / b).angle().rad2deg())


# ----------------------------------------------------------------------------- by mouse


def press_at(slider, share):
    """Press on a slider, at a share of its length."""
    box = slider.bounding_box()
    slider.click(position={"x": 8 + share * (box["width"] - 16), "y": box["height"] / 2})


def mouse_scale(figure):
    is_scale(figure.numbers, 64, 0)
    press_at(figure.slider("divide by"), 0.5)
    is_scale(figure.numbers, 64, 0.5)
    press_at(figure.slider("head_dim"), 1)
    is_scale(figure.numbers, 256, 0.5)


def mouse_mask(figure):
    allowed = causal_mask(4, 4).int()
    is_mask(figure.numbers, allowed)
    start, end = (
        figure.cell(f"query {q}, key trophy").bounding_box() for q in ("suitcase", "big")
    )
    mouse = figure.page.mouse  # one stroke paints the column below
    mouse.move(start["x"] + 15, start["y"] + 15)
    mouse.down()
    mouse.move(end["x"] + 15, end["y"] + 15, steps=12)
    mouse.up()
    allowed[1:, 0] = 0
    is_mask(figure.numbers, allowed)
    figure.cell("query suitcase, key suitcase").click()
    allowed[1, 1] = 0
    is_mask(figure.numbers, allowed)
    assert (
        "What sees nothing: “suitcase”. All weights of such a row are 0"
        in figure.summary.text_content()
    )
    figure.radio("−∞ only").click()
    assert "NaN" in figure.svg.text_content()
    figure.radio("−1e9").click()
    close(figure.numbers["weights"][1], [0.25] * 4)


def mouse_einsum(figure):
    is_einsum(figure.numbers, 0, 0, 0, 1)
    figure.button("Next step").click()
    is_einsum(figure.numbers, 0, 0, 0, 2)
    figure.cell("scores[1,0,1]").click()
    is_einsum(figure.numbers, 1, 0, 1, 4)
    figure.button("Next step").click()
    is_einsum(figure.numbers, 1, 1, 0, 1)


def steps():
    x = torch.arange(24).view(1, 4, 6)
    return x, x.view(1, 4, 3, 2), x.view(1, 4, 3, 2).transpose(1, 2), x.view(1, 3, 4, 2)


def mouse_split(figure):
    x, viewed, heads, wrong = steps()
    for tensor in (x, viewed, heads, viewed, x):
        is_cells(figure.numbers, tensor, False)
        figure.button("Next step").click()
    figure.radio("the wrong view").click()
    is_cells(figure.numbers, wrong, True)
    assert "scrambled" in figure.svg.text_content()
    figure.radio("the wrong merge").click()
    is_cells(figure.numbers, heads.reshape(1, 4, 6), True)
    figure.button("Back").click()
    is_cells(figure.numbers, heads, False)


def mouse_shared(figure):
    is_cache(figure.numbers, 2, 4096, 24, torch.bfloat16)
    bars = figure.svg.locator(
        "rect[rx='2']"
    )  # MHA, now, MQA: of the cache, then of the scores
    mha, now, _, scores, *_ = (float(bars.nth(i).get_attribute("width")) for i in range(6))
    assert (now, scores) == (pytest.approx(mha / 4, abs=0.1), mha)
    press_at(figure.slider("layers"), 1)  # 96 layers: beyond the scale
    assert "bars × 1/4" in figure.svg.text_content()
    assert "means 4 times as many bytes" in figure.summary.text_content()
    figure.radio("1").click()
    figure.radio("float32").click()
    press_at(figure.slider("tokens"), 0)
    press_at(figure.slider("layers"), 0)
    is_cache(figure.numbers, 1, 256, 1, torch.float32)
    assert "multi-query" in figure.summary.text_content()
    assert "for one new token: 2,048." in figure.summary.text_content()
    width = float(bars.nth(3).get_attribute("width"))
    assert width < scores / 50  # the scale is that of the start
    assert "bars ×" not in figure.svg.text_content()


def mouse_lens(figure):
    is_head(figure.numbers, SCENES["HeadLens"].weights[0, 0])
    figure.radio("cross").click()
    figure.radio("1").click()
    figure.button("head 2").click()
    is_head(figure.numbers, WEIGHTS[1, 2])
    figure.cell("query it, key c").click()
    assert "Query it looks at" in figure.summary.text_content()
    figure.cell("query big, key e").hover()
    assert f"big → e: {WEIGHTS[1, 2, 3, 4]:.2f}" in figure.svg.text_content()
    assert "query it" in figure.svg.text_content()  # it stays locked


def mouse_ablation(figure):
    is_ablated(figure.numbers, 1, 1, 1, 1)
    figure.host.get_by_role("checkbox", name="head 1").click()
    is_ablated(figure.numbers, 1, 0, 1, 1)
    figure.button("All off").click()
    is_ablated(figure.numbers, 0, 0, 0, 0)
    figure.button("All on").click()
    is_ablated(figure.numbers, 1, 1, 1, 1)


def mouse_online(figure):
    is_online(figure.numbers, 2, 1)
    for step in (2, 3, 4):
        figure.button("Next block").click()
        is_online(figure.numbers, 2, step)
    assert "the same as with all keys at once" in figure.summary.text_content()
    press_at(figure.slider("block size"), 0)
    press_at(figure.slider("blocks seen"), 1)
    is_online(figure.numbers, 1, 7)


def mouse_hands(figure):
    def press(name):
        figure.host.get_by_role("button", name=name, exact=True).click()

    is_hands(figure.numbers, 3, 1, 0)
    press_at(figure.slider("position of the query"), 1)
    for end in (1, 0):  # at 1 the thumb itself would be pressed
        press_at(figure.slider("position of the key"), end)
    is_hands(figure.numbers, 31, 0, 0)
    figure.radio("1: 5.73°").click()
    before = figure.numbers
    press("Both +1000")
    press("Both +1")  # further than the sliders reached
    is_hands(figure.numbers, 1032, 1001, 1)
    for what in ("angle", "scores", "total"):
        close(figure.numbers[what], before[what], atol=1e-9, rtol=0)
    assert "Both have moved by 1,001" in figure.summary.text_content()
    figure.svg.get_by_text("pair 3", exact=True).click()
    is_hands(figure.numbers, 1032, 1001, 3)
    press_at(figure.slider("position of the query"), 0)
    is_hands(figure.numbers, 1001, 1001, 3)
    assert "Both have moved" not in figure.summary.text_content()


WALKS = mouse_scale, mouse_mask, mouse_einsum, mouse_split, mouse_shared, mouse_lens
WALKS += mouse_ablation, mouse_online, mouse_hands
MOUSE = dict(zip(SCENES, WALKS, strict=True))


# -------------------------------------------------------------------------- by keyboard alone


# Where the Tab key leads, and what is pressed there.
KEYS = {
    "Scale": [("slider", "head_dim", "ArrowRight"), ("slider", "divide by", "End")],
    "MaskPainter": [
        ("radio", "causal", "ArrowLeft"),  # everything
        ("gridcell", "query trophy, key trophy", "ArrowDown ArrowRight Space End Enter"),
    ],
    "EinsumTracer": [
        ("slider", "step along d", "ArrowRight"),
        ("gridcell", "scores[0,0,0]", "ArrowDown"),
        ("gridcell", "scores[1,0,0]", "Enter"),
    ],
    "SplitMerge": [
        ("radio", "split and merge", "ArrowRight ArrowLeft"),
        ("button", "Next step", "Enter Space"),
    ],
    "SharedHeads": [
        ("radio", "2", "ArrowRight"),
        ("radio", "bfloat16", "ArrowRight"),
        ("slider", "tokens", "ArrowRight"),
        ("slider", "layers", "ArrowLeft"),
    ],
    "HeadLens": [
        ("radio", "self", "ArrowRight"),
        ("radio", "0", "ArrowRight"),
        ("button", "head 1", "Enter"),
        ("gridcell", "query trophy, key a", "PageDown ArrowUp"),
    ],
    "Ablation": [("checkbox", "head 2", "Space")],
    "OnlineSoftmax": [
        ("slider", "block size", "ArrowRight"),
        ("slider", "blocks seen", "ArrowRight"),
        ("button", "Next block", "Space"),
    ],
    "ClockHands": [
        ("slider", "position of the query", "ArrowRight"),
        ("slider", "position of the key", "Home"),
        ("radio", "0: 57.3°", "ArrowRight ArrowRight"),
        ("button", re.compile(r"^Both \+1$"), "Enter Space"),
        ("button", "Both +1000", "Space"),
    ],
}
# What the scenes show then.
AFTER_KEYS = {
    "Scale": lambda numbers: is_scale(numbers, 128, 1),
    "MaskPainter": lambda numbers: is_mask(
        numbers, [[1] * 4, [1, 0, 1, 0], [1] * 4, [1] * 4]
    ),
    "EinsumTracer": lambda numbers: is_einsum(numbers, 1, 0, 0, 4),
    "SplitMerge": lambda numbers: is_cells(numbers, steps()[2], False),
    "SharedHeads": lambda numbers: is_cache(numbers, 4, 8192, 23, torch.int8),
    "HeadLens": lambda numbers: is_head(numbers, WEIGHTS[1, 1]),
    "Ablation": lambda numbers: is_ablated(numbers, 1, 1, 0, 1),
    "OnlineSoftmax": lambda numbers: is_online(numbers, 3, 3),
    "ClockHands": lambda numbers: is_hands(numbers, 1006, 1002, 2),
}


def drive_by_keys(figure, name):
    for role, target, keys in KEYS[name]:
        figure.tab_to(figure.host.get_by_role(role, name=target, exact=role == "radio"))
        figure.press(*keys.split())
    AFTER_KEYS[name](figure.numbers)


# ------------------------------------------------------------------------- one visit each


@every_scene
def test_a_scene_agrees_with_the_library_and_can_be_heard_saved_and_sent(
    show, name, tmp_path
):
    page = show(SCENES[name], color_scheme="dark", accept_downloads=True)
    figure = Figure(page)
    at_first = figure.numbers
    assert figure.host.locator("[role=status]").text_content() == ""
    drive_by_keys(figure, name)
    figure.wait_until_read_out()
    is_saved(figure, name, tmp_path)
    numbers, address = figure.numbers, page.url
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_function(ALL_LIVE, arg=1)
    assert figure.numbers == numbers
    figure.button("Reset").click()
    assert figure.numbers == at_first
    for width in (390, 1280):
        resize(page, width)
        before = figure.svg.text_content()
        MOUSE[name](figure)
        figure.button("Reset").click()
        page.mouse.move(0, 0)
        assert figure.svg.text_content() == before


def is_saved(figure, name, folder):
    for format in ("SVG", "PNG"):
        with figure.page.expect_download() as download:
            figure.button(f"Save {format}").click()
        expected = f"{SCENES[name].script}.{format.lower()}"
        assert download.value.suggested_filename == expected
        download.value.save_as(folder / format)
    text = (folder / "SVG").read_text(encoding="utf-8")
    drawing = ET.fromstring(text)
    assert "var(" not in text
    assert drawing.find(".//{*}desc").text == figure.summary.text_content()
    picture = Image.open(folder / "PNG").convert("RGB")
    width, height = (float(drawing.get(side)) for side in ("width", "height"))
    assert picture.size == (2 * width, 2 * height)
    assert picture.getpixel((picture.width - 1, picture.height - 1)) == (0x16, 0x19, 0x1E)
    assert len(picture.getcolors(100_000)) > 20


def test_what_is_painted_before_anything_else_stands_in_the_address(show):
    page = show(SCENES["MaskPainter"])
    figure = Figure(page)
    figure.cell("query big, key trophy").click()
    painted = figure.numbers["mask"]
    page.wait_for_url("**mask%22*")
    page.goto("about:blank")
    page.go_back()
    page.wait_for_function(ALL_LIVE, arg=1)
    assert Figure(page).numbers["mask"] == painted
    assert not painted[3][0]
    Figure(page).button("Reset").click()
    page.wait_for_function("!location.hash")


def test_the_second_scene_of_a_kind_has_its_own_state_in_the_address(show):
    page = show(*[SCENES["Ablation"]] * 3)
    Figure(page, 1).host.get_by_role("checkbox", name="head 1").click()
    page.wait_for_url("**#ablation1=*")
    page.reload()
    page.wait_for_function(ALL_LIVE, arg=3)
    page.wait_for_function("scrollY > 100")
    is_ablated(Figure(page, 0).numbers, 1, 1, 1, 1)
    is_ablated(Figure(page, 1).numbers, 1, 0, 1, 1)
    Figure(page, 0).host.get_by_role("checkbox", name="head 0").click()
    page.wait_for_url("**#ablation1=*&ablation=*")  # both of them
    Figure(page, 1).button("Reset").click()
    page.wait_for_url("**#ablation=*")
    Figure(page, 0).button("Reset").click()
    page.wait_for_function("!location.hash")


def test_a_link_to_what_is_shown_is_copied_from_a_web_page_only(show, chromium):
    from_disk = show(SCENES["Scale"])  # whose address is of no use to others
    assert not from_disk.get_by_text("Copy link").count()
    page = chromium.new_page()
    address = "http://127.0.0.1/scale.html"
    text = PAGE.format(SCENES["Scale"]._repr_html_())
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.route(address, lambda route: route.fulfill(body=text, content_type="text/html"))
    page.goto(address)
    page.wait_for_function(ALL_LIVE, arg=1)
    figure = Figure(page)
    drive_by_keys(figure, "Scale")
    page.get_by_text("Copy link").click()
    page.locator("[role=status]", has_text="Link copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == page.url
    assert "#scale=" in copied
    page.close()


def test_an_address_that_is_pasted_into_an_open_page_shows_what_it_has(show):
    page = show(*[SCENES["Ablation"]] * 2)
    address = page.url
    Figure(page, 1).host.get_by_role("checkbox", name="head 1").click()
    page.wait_for_url("**#ablation1=*")
    sent = page.url.replace("ablation1", "ablation")
    page.goto(address)
    page.wait_for_function(ALL_LIVE, arg=2)
    page.evaluate("to => { location.href = to }", sent)
    page.wait_for_function(ALL_LIVE, arg=2)
    page.wait_for_timeout(500)
    is_ablated(Figure(page, 0).numbers, 1, 0, 1, 1)


def test_an_address_that_says_nothing_true_changes_nothing(show):
    page = show(SCENES["MaskPainter"])
    address, wrong = page.url, ("", "%7B%22mask", "null", "%7B%22mask%22:3%7D", "%E0")
    for told in (*wrong, "%7B%22at%22:[9,9]%7D"):
        page.goto("about:blank")
        page.goto(f"{address}#mask_painter={told}")
        page.wait_for_function(ALL_LIVE, arg=1)
        is_mask(Figure(page).numbers, causal_mask(4, 4))


def test_many_views_are_a_list_and_keep_layer_and_head(show):
    views = {
        f"view {i}": HeadLens(WEIGHTS.roll(i, -1), WORDS, list("abcdef")) for i in range(13)
    }
    figure = Figure(show(HeadLens.together(views)))
    figure.radio("1").click()
    figure.button("head 2").click()
    figure.host.get_by_role("combobox", name="show").select_option("view 3")
    is_head(figure.numbers, WEIGHTS.roll(3, -1)[1, 2])
    figure.button("Reset").click()
    is_head(figure.numbers, WEIGHTS[0, 0])
    assert figure.host.get_by_role("combobox").input_value() == "0"


def test_on_a_touch_screen_a_tap_paints_a_cell(show):
    page = show(SCENES["MaskPainter"], width=390, has_touch=True)
    figure = Figure(page)
    figure.cell("query trophy, key big").tap()
    allowed = causal_mask(4, 4).int()
    allowed[0, 3] = 1
    is_mask(figure.numbers, allowed)
    figure.cell("query trophy, key big").tap()
    is_mask(figure.numbers, causal_mask(4, 4))


# ------------------------------------------------------------------- how it looks, and to whom


def test_all_scenes_follow_the_theme_fit_are_accessible_and_print(show):
    page = show(*SCENES.values(), color_scheme="light")
    for attribute, value, theme in (
        ("data-theme", "dark", "dark"),  # the site
        ("data-theme", "auto", "light"),
        ("data-jp-theme-light", "false", "dark"),  # JupyterLab
        ("data-jp-theme-light", "true", "light"),
    ):
        page.evaluate("([a, v]) => document.body.setAttribute(a, v)", [attribute, value])
        page.wait_for_function(ALL_HAVE_THEME, arg=theme)
    page.evaluate("document.body.removeAttribute('data-jp-theme-light')")
    for width, scheme, paper, ink in (
        (1280, "light", "#ffffff", "#111111"),
        (390, "dark", "#111111", "#eeeeee"),
    ):
        page.emulate_media(color_scheme=scheme)  # the system
        page.wait_for_function(ALL_HAVE_THEME, arg=scheme)
        resize(page, width)
        page.add_style_tag(content=f"main {{ background: {paper}; color: {ink} }}")
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        assert violations(page, "main, [data-explorer]") == []
        for i, name in enumerate(SCENES):
            figure = Figure(page, i)
            assert lowest_contrast(figure.host.locator(".live")) >= 4.5, name
            assert figure.svg.evaluate(ALL_TEXTS_ARE_INSIDE), f"{name}: a text leaves it"
    drawn = page.locator("[data-explorer] svg")
    images = page.locator("img[src^='data:image/svg']")
    assert drawn.count() == images.count() == len(SCENES)
    for medium in ("screen", "print"):
        page.emulate_media(media=medium)
        assert {svg.is_visible() for svg in drawn.all()} == {medium == "screen"}
        assert {image.is_visible() for image in images.all()} == {medium == "print"}


def test_pages_without_scripts_show_the_pictures(show):
    page = show(*SCENES.values(), java_script_enabled=False)
    for scene in SCENES.values():
        image = page.get_by_role("img", name=scene.alt[:40])
        assert image.is_visible()
        assert image.bounding_box()["width"] > 200
