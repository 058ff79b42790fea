"""The pages in which a model runs, in Chromium: against PyTorch and `tokenizers`, and as visitors use them."""

import copy
import random
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from attn_lib.data.text import python_help
from attn_lib.explorer import live_models
from attn_lib.explorer import page as write_page
from attn_lib.llama import Llama, LlamaConfig
from attn_lib.minilm import MissingWeights, load_minilm
from attn_lib.quantization import dequantize_int8, quantize_int8
from tests.browser.looks import missing, violations

pytestmark = [pytest.mark.browser, pytest.mark.slow]

MAX_LEN = 128
START = "The for statement is used to iterate over the elements of a sequence"
WORDS = [
    "the",
    "The",
    " cat",
    "don't",
    " I'll",
    "ÉTÉ",
    "straße",
    "Ünïcödé",
    "x_y=3.14",
    "2024",
    "½",
    "Ⅷ",
    "٣٤",
    "🙂",
    "👩\u200d🚀",
    "🇫🇷",
    "注意力",
    "ひらがな",
    "한국어",
    "नमस्ते",
    "é",
    "ﬁ",
    "ΑΣ ΣΑΣ",
    "İstanbul",
    "עברית",
    " ",
    "  ",
    "   ",
    "\t",
    "\n",
    "\n\n",
    "\r\n",
    "\xa0",
    "\x85",
    "\u2003",
    "\ufeff",
    "\u200b",
    "\u180e",
    ".",
    "...",
    ",",
    "!?",
    "'",
    '"',
    "''s",
    "(",
    "$",
    "€",
    "<",
    "end",
    ">",
    "<b>",
    "constructor",
    "##",
    "[MASK]",
    "—",
]
PIECES = [*WORDS, "<|end|>"]
READY = "() => document.getElementById('live').live?.state.logits"
LOADED = "() => document.getElementById('live').live?.state.model.length"
TOO_SMALL = """() => [...document.querySelectorAll("button, input, textarea, [role=option], [role=radio]")]
    .map(e => [e.outerHTML.slice(0, 80), e.getBoundingClientRect()])
    .filter(([_, r]) => Math.min(r.width, r.height) < 23.9)"""
LIVE = "document.getElementById('live').live"


def random_texts(count, seed=0):
    draw = random.Random(seed)
    return ["".join(draw.choices(PIECES, k=draw.randint(1, 30))) for _ in range(count)]


def rounded(model):
    """Return a copy of a model with the weights that its page has."""
    model = copy.deepcopy(model)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim == 2:
                weight.copy_(dequantize_int8(*quantize_int8(weight)))
    return model


@pytest.fixture(scope="module")
def tokenizer():
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=2048,
        special_tokens=["<|end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator([python_help()[:200_000]], trainer)
    return made


@pytest.fixture(scope="module")
def llama(tokenizer):
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=tokenizer.get_vocab_size(),
        d_model=256,
        num_heads=8,
        num_kv_heads=4,
        num_layers=4,
        d_ff=688,
        max_len=MAX_LEN,
        rope_base=10_000.0,
    )
    model = Llama(config).eval()
    for weight in model.parameters():
        if weight.ndim == 2:
            torch.nn.init.normal_(weight, std=0.1)  # heads that choose, and tokens that win
        else:
            torch.nn.init.uniform_(weight, 0.5, 1.5)
    return model.requires_grad_(False)


@pytest.fixture(scope="module")
def encoder():
    try:
        return load_minilm()
    except MissingWeights:
        missing("the encoder", "make models")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def play(llama, tokenizer, folder):
    return write_page(
        llama, tokenizer, folder / "play.html", start=START, head=(1, 2)
    ).as_uri()


@pytest.fixture(scope="module")
def encoder_page(encoder, folder):
    return write_page(encoder, None, folder / "encoder.html", head=(2, 5), token=10)


@pytest.fixture
def server(encoder_page):
    """The address of a folder with the encoder's page."""

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    folder = str(encoder_page.parent)
    with ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Handler, directory=folder)
    ) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def show(chromium):
    """Open a page; it may complain about nothing, and ask for nothing but itself and what is allowed."""
    opened, troubles = [], []

    def open_it(url, ready=READY, *, allowed=(), **options):
        options = {"viewport": {"width": 1280, "height": 800}} | options
        # Playwright waits by evaluating text, which the page's own policy forbids.
        page = chromium.new_page(bypass_csp=True, **options)
        page.set_default_timeout(60_000)
        opened.append(page)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda message: troubles.append(message.text))
        page.on("request", lambda request: asked(request.url, {url, *allowed}))
        page.goto(url)
        page.wait_for_function(ready)
        return page

    def asked(url, allowed):
        if url not in allowed:
            troubles.append(f"asked for {url}")

    yield open_it
    for page in opened:
        page.close()
    assert not troubles, troubles


def close(found, expected):
    torch.testing.assert_close(torch.tensor(found), expected, atol=1e-3, rtol=0)


def map_of(page, layer, head):
    """Return the weights (n, n) that a page holds of a head."""
    script = f"""([layer, head]) => {{ const {{model}} = {LIVE}.state, n = model.length;
        const {{data, stride}} = model.map(layer, head);
        return [...Array(n).keys()].map(i => Array.from(data.subarray(i * stride, i * stride + n))); }}"""
    return page.evaluate(script, [layer, head])


def attention_of(model, ids):
    """Return each layer's weights (H, L, L) of a Llama on some tokens."""
    found, x = [], model.embed(torch.tensor([ids]))
    for block in model.blocks:
        _, weights = block.attn(block.norm1(x), is_causal=True, return_weights=True)
        found.append(weights[0])
        x = block(x)
    return found


# ------------------------------------------------------------------------------- the language model


def test_tokens_are_those_of_tokenizers_on_any_text(show, play, tokenizer):
    page, texts = show(play), [*random_texts(1000), "a" * 5000, python_help()[:50_000]]
    found = page.evaluate(
        f"texts => texts.map(text => {LIVE}.tokenizer.encode(text))", texts
    )
    for text, ids in zip(texts, found, strict=True):
        assert ids == tokenizer.encode(text).ids, repr(text[:200])
    back = page.evaluate(f"lists => lists.map(ids => {LIVE}.tokenizer.decode(ids))", found)
    assert back == [tokenizer.decode(ids) for ids in found]


def test_logits_and_heads_are_those_of_pytorch_with_the_same_int8_weights(
    show, play, llama, tokenizer
):
    page, model = show(play), rounded(llama)
    for text in random_texts(100, seed=1):
        ids = tokenizer.encode(text).ids[:32]
        expected = model(torch.tensor([ids]))[0, -1]
        close(page.evaluate(f"ids => {LIVE}.logits(ids)", ids), expected)
    for layer, weights in enumerate(attention_of(model, ids)):
        for head, expected in enumerate(weights):
            close(map_of(page, layer, head), expected)


def test_what_is_typed_in_the_middle_is_read_anew_from_there_on_only(
    show, play, llama, tokenizer
):
    page, model = show(play), rounded(llama)
    page.evaluate(f"""() => {{ const {{model}} = {LIVE}.state, read = model.read; window.reads = 0;
        model.read = function (id) {{ window.reads++; read.call(this, id); }}; }}""")
    for text, most in (
        (START + " of", 2),
        (START, 1),
        (START[:40] + " of" + START[40:], 12),
    ):
        page.evaluate("window.reads = 0")
        page.locator("#text").fill(text)
        page.wait_for_function(READY)
        assert 1 <= page.evaluate("window.reads") <= most
        ids = tokenizer.encode(text).ids
        assert page.evaluate(f"{LIVE}.state.ids") == ids
        expected = model(torch.tensor([ids]))[0, -1]
        close(page.evaluate(f"Array.from({LIVE}.state.logits)"), expected)


def test_merges_in_any_order_are_made_as_tokenizers_makes_them(show, play):
    """In a trained tokenizer few merges stand in each other's way; here many do."""
    page, draw = show(play), random.Random(0)
    script = f"([told, texts]) => texts.map(t => new ({LIVE}.tokenizer.constructor)(told).encode(t))"
    for _ in range(30):
        vocab = {c: i for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
        known, merges = list("abc"), set()
        for _ in range(25):
            a, b = draw.choices(known, k=2)
            if len(a + b) < 7:
                merges.add((a, b))
                known.append(a + b)
                vocab.setdefault(a + b, len(vocab))
        made = Tokenizer(models.BPE(vocab, draw.sample(sorted(merges), len(merges))))
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        texts = ["".join(draw.choices("abc", k=25)) for _ in range(40)]
        expected = [made.encode(text).ids for text in texts]
        assert page.evaluate(script, [live_models._bpe(made), texts]) == expected


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_visitor_types_chooses_and_lets_it_write(
    show, play, llama, tokenizer, width, scheme
):
    page = show(play, viewport={"width": width, "height": 844}, color_scheme=scheme)
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    assert "3,42" in page.locator(".lead").text_content()  # parameters
    text, chips, bars = (
        page.locator("#text"),
        page.locator(".chip"),
        page.locator(".next button"),
    )
    text.fill("def f(x):")
    page.wait_for_function(READY)
    ids = tokenizer.encode("def f(x):").ids
    assert chips.count() == len(ids)
    assert bars.count() == 8
    # The bars are the model's probabilities at the temperature, and a click appends.
    logits = rounded(llama)(torch.tensor([ids]))[0, -1]
    p, best = (logits / 0.8).softmax(-1).max(-1)
    assert bars.first.locator(".percent").text_content() in (
        f"{100 * p:.1f}%",
        f"{100 * p:.0f}%",
    )
    bars.first.click()
    assert page.evaluate(f"{LIVE}.state.ids") == [*ids, best.item()]
    # A head is chosen by a click, a token by the keyboard: the page says what it sees.
    page.get_by_role("radio", name="layer 2, head 3").click()
    chips.nth(2).focus()
    page.keyboard.press("ArrowLeft")
    weights = attention_of(rounded(llama), ids)[2][3]
    for said in (
        page.locator(".summary").text_content(),
        page.locator(".map").get_attribute("aria-label"),
    ):
        assert (
            f"Layer 2, head 3: “{chips.nth(1).locator('.word').text_content()}” asks"
            in said
        )
    assert f"is asked: {100 * weights[1, 0]:.0f}%" in chips.nth(0).get_attribute(
        "aria-label"
    )
    assert f"asks: {100 * weights[2, 1]:.0f}%" in chips.nth(2).get_attribute("aria-label")
    page.wait_for_function(
        "document.querySelector('[role=status]').textContent.includes('head 3')"
    )
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("document.activeElement.closest('.next') !== null")
    # Nothing is too wide, too small or out of reach.
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert page.evaluate(TOO_SMALL) == []
    assert violations(page, "html") == []
    # It writes until it is stopped.
    page.get_by_role("button", name="Let it write on").click()
    page.wait_for_function(f"() => {LIVE}.state.ids.length > {len(ids) + 5}")
    assert "tokens a second" in page.locator(".speed").text_content()
    page.get_by_role("button", name="Stop").click()
    count = page.evaluate(f"{LIVE}.state.ids.length")
    page.wait_for_timeout(200)
    assert page.evaluate(f"{LIVE}.state.ids.length") == count
    page.get_by_role("button", name="Dark").click()
    assert page.evaluate("document.documentElement.dataset.theme") != scheme
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def ends_of(model, ids):
    """Return what stands at the last of some tokens before each block and after the last one (E,), and its logits."""
    states = [model.embed(torch.tensor([ids]))]
    for block in model.blocks:
        states.append(block(states[-1]))
    logits = [model.norm(x) @ model.embed.weight.T for x in states]
    return [(x[0, -1], told[0, -1]) for x, told in zip(states, logits, strict=True)]


def test_the_way_of_a_token_has_the_numbers_of_pytorch(show, play, llama, tokenizer):
    page, model = show(play), rounded(llama)
    ids = tokenizer.encode(START).ids
    layer, head, at, key = 2, 5, 9, 4
    page.evaluate(
        f"Object.assign({LIVE}.state, {dict(layer=layer, head=head, at=at, key=key)})"
    )
    found = page.evaluate(f"""() => {{ const plain = x => JSON.parse(JSON.stringify(x, (_, v) => ArrayBuffer.isView(v) ? [...v] : v));
        return plain({LIVE}.seen()); }}""")
    states = ends_of(model, ids[: at + 1])
    for mine, (x, logits) in zip([found["begin"], *found["blocks"]], states, strict=True):
        close(mine["x"], x)
        close(mine["logits"], logits)
    for block, (before, _), (after, _) in zip(
        found["blocks"], states, states[1:], strict=False
    ):
        total = [
            map(torch.tensor, (block[name] for name in ("before", "attention", "network")))
        ]
        close(sum(*total).tolist(), after)
        close(block["before"], before)
    close(found["weights"], attention_of(model, ids)[layer][head, at, : at + 1])
    scores = torch.tensor(found["scores"])
    close(found["weights"], scores.softmax(0))
    assert sum(found["products"]) / len(found["q"]) ** 0.5 == pytest.approx(
        scores[key].item(), abs=1e-3
    )
    # Looking changes nothing: what comes next is what came next before.
    close(page.evaluate(f"{LIVE}.logits({ids})"), model(torch.tensor([ids]))[0, -1])


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_visitor_goes_the_way_of_a_token_and_sends_it(show, play, width, scheme):
    page = show(play, viewport={"width": width, "height": 844}, color_scheme=scheme)
    way = page.locator(".way")
    scales = way.get_by_role("radio")
    assert scales.count() == 6
    page.locator(".chip").nth(5).click()
    said = []
    scales.first.focus()
    for _ in range(6):
        said.append(way.locator(".said").text_content())
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        assert page.evaluate(TOO_SMALL) == []
        assert violations(page, "html") == []
        page.keyboard.press("ArrowRight")
    assert len({*said}) == 6
    scales.nth(3).check(force=True)
    way.locator("ul button").nth(2).click()
    asked = page.locator(".chip .word").nth(2).text_content()
    scales.nth(4).check(force=True)
    assert f"of the key of “{asked}”" in way.locator(".said").text_content()
    page.wait_for_function(
        'decodeURIComponent(location.hash).includes(\'"key":2,"level":4\')'
    )
    there = way.locator(".said").text_content()
    sent = show(page.url, allowed={play}, viewport={"width": width, "height": 844})
    assert sent.locator(".way .said").text_content() == there
    # What is no view is passed over.
    for broken in ("view={", "view=%7B%22text%22%3A5%7D", "view=null", "else=1"):
        other = show(f"{play}#{broken}", allowed={play})
        assert other.evaluate(f"{LIVE}.state.typed") == START


def test_weights_apart_come_when_they_are_asked_for(show, llama, tokenizer, folder):
    path = write_page(llama, tokenizer, folder / "apart.html", start=START, apart=True)
    url, weights = path.as_uri(), path.with_suffix(".js")
    asleep = "() => document.querySelector('.go')"
    page = show(url, asleep, allowed={weights.as_uri()}, color_scheme="dark")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert violations(page, "html") == []
    page.get_by_role("button", name="Wake the model").click()
    page.wait_for_function(READY)
    assert page.evaluate("document.activeElement.textContent") == "▶ Let it write on"
    assert page.locator("#text").input_value() == START
    # A view that was sent needs no click.
    view = page.evaluate("location.href") + "#view=" + "%7B%7D"
    assert (
        show(view, READY, allowed={url, weights.as_uri()}).locator(".next button").count()
        == 8
    )


def test_the_way_down_goes_by_itself_and_stops(show, play):
    page = show(play)
    page.evaluate("window.setInterval = (f, ms) => (window.tick = f, 1)")
    page.get_by_role("button", name="Go down").click()
    for level in (1, 2, 3, 4, 5):
        page.evaluate("window.tick()")
        assert page.evaluate(f"{LIVE}.state.level") == level
    assert page.get_by_role("button", name="Go down").count() == 1
    page.get_by_role("button", name="Let it write on").click()
    assert "First let it stop" in page.locator(".way").text_content()


def test_at_temperature_zero_it_writes_what_pytorch_writes(show, play, llama, tokenizer):
    page, ids = show(play), tokenizer.encode(START).ids
    page.get_by_role("slider", name="temperature").fill("0")
    assert page.locator(".next .percent").first.text_content() == "100%"
    page.get_by_role("button", name="Let it write on").click()
    page.wait_for_function(
        f"() => {LIVE}.state.all.length > {len(ids) + 30} || !{LIVE}.state.left"
    )
    found = page.evaluate(f"{LIVE}.state.all")
    model, expected = rounded(llama), list(ids)
    while len(expected) < len(found):
        expected.append(model(torch.tensor([expected]))[0, -1].argmax().item())
    assert found == expected


def test_top_p_leaves_out_the_improbable(show, play):
    page = show(play)
    page.get_by_role("slider", name="top-p").fill("0.05")
    assert page.locator(".next button.cut").count() == 7
    kept = [{"id": id, "p": p, "kept": id < 9} for id, p in ((7, 0.5), (8, 0.3), (9, 0.2))]
    draws = f"kept => [0, 0.62, 0.63, 0.999].map(r => {LIVE}.sample(kept, r))"
    assert page.evaluate(draws, kept) == [7, 7, 8, 8]


def test_a_token_takes_less_than_a_tenth_of_a_second(show, play):
    script = f"() => {{ const begun = performance.now(); {LIVE}.logits(Array(100).fill(5)); return performance.now() - begun; }}"
    assert show(play).evaluate(script) < 100 * 100


def test_a_long_text_is_read_from_its_last_tokens_on(show, play, llama, tokenizer):
    page, text = show(play), python_help()[1000:2500]
    page.locator("#text").fill(text)
    page.wait_for_function(READY)
    ids = tokenizer.encode(text).ids
    read = page.evaluate(f"{LIVE}.state.ids")
    assert MAX_LEN * 3 // 4 <= len(read) <= MAX_LEN
    assert read == ids[-len(read) :]
    said = page.locator(".limit").text_content()
    assert f"{MAX_LEN} tokens at most" in said
    assert f"first {len(ids) - len(read)}" in said
    close(
        page.evaluate(f"Array.from({LIVE}.state.logits)"),
        rounded(llama)(torch.tensor([read]))[0, -1],
    )
    page.locator("#text").fill("")
    page.get_by_text("Nothing yet").wait_for()
    assert page.locator(".limit").count() == page.locator(".chip").count() == 0


# --------------------------------------------------------------------------------------- the encoder


def test_the_encoder_comes_when_asked_for_and_has_the_heads_of_pytorch(
    show, server, encoder
):
    page = show(
        f"{server}/encoder.html",
        "() => document.querySelectorAll('.chip').length === 16",
        allowed=[f"{server}/encoder.bin"],
        viewport={"width": 390, "height": 844},
    )
    page.get_by_role("button", name="Load the encoder (22.9 MB)").click()
    page.wait_for_function(LOADED)
    assert "“it” asks" in page.locator(".summary").text_content()
    model = rounded(encoder)
    for text in random_texts(30, seed=2):
        encoding = model.tokenizer.encode(text)
        assert (
            page.evaluate(f"text => {LIVE}.tokenizer.encode(text)", text) == encoding.ids
        ), repr(text)
        ids = encoding.ids[:14]
        _, layers = model(torch.tensor([ids]), return_weights=True)
        found = page.evaluate(f"ids => {LIVE}.attention(ids)", ids)
        close(found, torch.cat(layers).flatten(-2))
    page.locator("#text").fill("dogs chase cats")
    page.wait_for_function(f"() => {LIVE}.state.labels.length === 5")
    close(map_of(page, 5, 11), model.attend("dogs chase cats").weights[5, 11])
    page.locator("#text").fill("one two three " * 40)
    page.get_by_text("64 tokens at most: 58 are left out").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert page.evaluate(TOO_SMALL) == []
    assert violations(page, "html") == []


def test_a_sentence_and_a_head_of_the_encoder_can_be_sent(show, server):
    page = show(
        f"{server}/encoder.html",
        "() => document.querySelectorAll('.chip').length === 16",
        allowed=[f"{server}/encoder.bin"],
    )
    page.locator("#text").fill("dogs chase cats.")
    page.get_by_role("button", name="Load the encoder").click()
    page.wait_for_function(LOADED)
    assert (
        "“cats” asks" in page.locator(".summary").text_content()
    )  # not [SEP], nor the point
    page.locator("[aria-label='layer 2, head 3']").click()
    page.get_by_role("option", name="dogs").click()
    page.wait_for_url("**head%22%3A3*")
    page.reload()
    page.get_by_role("button", name="Load the encoder").click()
    page.wait_for_function(LOADED)
    assert page.locator("#text").input_value() == "dogs chase cats."
    assert "Layer 2, head 3: “dogs” asks" in page.locator(".summary").text_content()
    page.locator("#text").fill(" ")
    page.get_by_text("Nothing is typed").wait_for()


def test_from_the_disk_the_encoder_asks_for_its_file(show, encoder_page):
    page = show(
        encoder_page.as_uri(), "() => document.querySelectorAll('.chip').length === 16"
    )
    choose = page.get_by_label("the file encoder.bin")
    choose.set_input_files({"name": "x.bin", "mimeType": "", "buffer": b"no weights"})
    page.get_by_text("This is not the file encoder.bin: expected").wait_for()
    choose.set_input_files(encoder_page.with_suffix(".bin"))
    page.wait_for_function(LOADED)
    assert page.locator(".loader").count() == 0


def test_weights_that_do_not_come_are_said(server, chromium):
    page = chromium.new_page(bypass_csp=True)
    page.route("**/encoder.bin", lambda route: route.fulfill(status=404))
    page.goto(f"{server}/encoder.html")
    page.get_by_role("button", name="Load the encoder").click()
    page.get_by_role("alert").wait_for()
    assert "the server answered 404" in page.get_by_role("alert").text_content()
    page.unroute("**/encoder.bin")
    page.get_by_role("button", name="Load the encoder").click()
    page.wait_for_function(LOADED)
    page.close()
