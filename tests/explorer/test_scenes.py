"""The explorer's scenes as Python makes them; tests/browser/test_explorer.py drives them."""

import base64
import json
import math
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from urllib.parse import unquote

import pytest
import torch
from bs4 import BeautifulSoup
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import colormaps, colors

from attn_lib import (
    apply_rope,
    causal_mask,
    einsum_attention,
    explorer,
    kv_cache_bytes,
    sliding_window_mask,
)
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
from attn_lib.explorer.scene import FRONT
from attn_lib.explorer.still import byte_count

ROOT = Path(__file__).resolve().parents[2]
WORDS = ["trophy", "suitcase", "it", "big"]
SCORES = torch.tensor([[2.0, 1, 0, 0], [0, 1, 2, 3], [4, 3, 2, 1], [0, 0, 1, 0]])
Q = torch.tensor([[1.0, 2], [3, 4], [5, 6]])
K = torch.tensor([[1.0, 0], [0, -1]])


def three_heads(head_mask):
    """Heads 0 and 1 do the same work; head 2 does a little harm."""
    return 2.0 - torch.maximum(head_mask[0], head_mask[1]) + 0.1 * head_mask[2]


SCENES = {
    "Scale": lambda: Scale(),
    "MaskPainter": lambda: MaskPainter(SCORES, WORDS),
    "EinsumTracer": lambda: EinsumTracer("ld,sd->ls", Q, K),
    "SplitMerge": lambda: SplitMerge(WORDS, 3, 2),
    "SharedHeads": lambda: SharedHeads(8, 2),
    "HeadLens": lambda: HeadLens(SCORES.softmax(-1).expand(2, 3, 4, 4), WORDS),
    "Ablation": lambda: Ablation.measure(three_heads, 3),
    "OnlineSoftmax": lambda: OnlineSoftmax(SCORES[0], torch.eye(4), block_size=3),
    "ClockHands": lambda: ClockHands(),
}
every_scene = pytest.mark.parametrize("make", SCENES.values(), ids=SCENES)


def parts(scene):
    """Return a figure's image, script and picture."""
    page = BeautifulSoup(scene._repr_mimebundle_()["text/html"], "html.parser")
    source = page.figure.div.img["src"]
    prefix = "data:image/svg+xml,"
    assert source.startswith(prefix)
    return page.figure.div.img, page.find("script"), unquote(source.removeprefix(prefix))


# ------------------------------------------------------------------------------- what all share


@every_scene
def test_a_figure_is_a_picture_with_words_and_a_small_script_that_fetches_nothing(make):
    scene = make()
    image, script, picture = parts(scene)
    assert len(image["alt"]) > 60
    assert image["alt"] in repr(scene)
    assert script["type"] == "module"
    assert ET.fromstring(picture).tag == "{http://www.w3.org/2000/svg}svg"
    html = scene._repr_html_()
    assert make()._repr_html_() == html  # on every run
    outside = set(re.findall(r"https?://[^\s\"'<>%]*", html))
    assert outside <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"}
    assert not re.search(r"\b(import|export) |@import|fetch\(|\brequire\(", html)
    assert len(json.dumps(scene.model())) < 4_000
    assert len(html) < 35_000
    assert html.count("\n") < 5  # a notebook pays for each line
    assert not re.search(r"(?<![\w.])/(home|root|tmp|Users)/", html)


def test_figures_of_other_numbers_have_other_names():
    figures = [*(make() for make in SCENES.values()), Scale(seed=1)]
    names = {re.search(r'data-explorer="(\w+)"', f._repr_html_())[1] for f in figures}
    assert len(names) == len(figures)


def test_a_real_encoder_of_72_heads_stays_small():
    words = [f"word {i}" for i in range(16)]
    lens = HeadLens(torch.full((6, 12, 16, 16), 1 / 16), words)
    assert len(json.dumps(lens.model())) < 26_000
    assert len(lens._repr_html_()) < 65_000


@every_scene
def test_a_scene_is_saved_as_a_picture_and_as_a_page(make, tmp_path):
    scene = make()
    scene.save(tmp_path / "a.svg")
    scene.save(tmp_path / "a.html")
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == str(scene.still())
    page = BeautifulSoup((tmp_path / "a.html").read_text(encoding="utf-8"), "html.parser")
    assert page.html["lang"] == "en"
    assert page.title.text == scene.title
    with pytest.raises(ValueError, match=r"ends in \.svg or \.html, got a\.png"):
        scene.save(tmp_path / "a.png")


def test_a_token_cannot_end_the_script_or_the_picture():
    nasty = ["</script><b>", '"><i onload=x>', "&amp;", "\\u003c'`${1}"]
    scene = HeadLens(SCORES.softmax(-1)[None], nasty)
    page = BeautifulSoup(scene._repr_html_(), "html.parser")
    assert not page.find_all(["b", "i"])
    model = re.search(r"mount\(scene, \"\w+\", (.*)\);", page.find("script").string)[1]
    assert json.loads(model)["views"][0]["queries"] == nasty
    _, _, picture = parts(scene)
    drawn = [node.text for node in ET.fromstring(picture).iter() if node.text]
    assert set(nasty) <= set(drawn)


@pytest.mark.parametrize(("name", "theirs"), [("CIVIDIS", "cividis"), ("PUOR", "PuOr")])
def test_colors_mixed_from_the_stops_are_those_of_matplotlib(name, theirs):
    source = (FRONT / "colors.js").read_text(encoding="utf-8")
    listed = re.search(rf'const {name} =\s+"([^"]+)"', source)[1]
    stops = [colors.to_rgb(stop) for stop in listed.split()]
    for i in range(100):
        low, part = divmod(i / 100 * (len(stops) - 1), 1)
        pair = zip(stops[int(low)], stops[int(low) + 1], strict=True)
        mixed = [a + (b - a) * part for a, b in pair]
        assert mixed == pytest.approx(colormaps[theirs](i / 100)[:3], abs=0.03)


# --------------------------------------------------------------------------------- each of them


def test_scale_holds_dot_products_whose_spread_grows_with_the_root_of_head_dim():
    scale = Scale()
    assert scale.model()["dims"] == (4, 8, 16, 32, 64, 128, 256)
    spread = scale.scores.std(-1) / torch.tensor(scale.model()["dims"]).sqrt()
    assert ((spread > 0.45) & (spread < 1.5)).all()
    assert scale.scores[-1].std() > 5 * scale.scores[0].std()  # 8 times, on average


def test_mask_painter_describes_causal_weights_and_offers_the_masks_of_the_library():
    painter = MaskPainter(SCORES, WORDS)
    # it: scores 4, 3, 2 of the first three; e^2, e, 1 over their sum 11.107
    assert "it: 0.67 0.24 0.09 0.00" in painter.alt
    presets = painter.model()["presets"]
    assert presets["everything"] == [[1] * 4] * 4
    assert presets["causal"] == causal_mask(4, 4).int().tolist()
    assert presets["window of 2"] == sliding_window_mask(4, 4, 2).int().tolist()
    assert presets["padding"] == [[1, 1, 1, 0]] * 4
    assert [0, 0, 0, 0] in presets["one empty row"]


def test_einsum_tracer_knows_the_letters_and_the_result():
    tracer = EinsumTracer("bhld,bhsd->bhls", torch.ones(1, 2, 3, 4), torch.ones(1, 2, 2, 4))
    assert tracer.summed == ["d"]
    assert torch.equal(tracer.result, torch.full((1, 2, 3, 2), 4.0, dtype=torch.float64))
    assert "b = 1, h = 2, l = 3, s = 2 stay; d = 4 is summed" in tracer.alt
    values = EinsumTracer("ld,sd->ls", Q, K).model()["tensors"][2]["values"]
    assert values == [1, -2, 3, -4, 5, -6]


def test_split_merge_moves_cells_as_torch_does():
    scene = SplitMerge(["a", "b"], 2, 1)
    paths = scene.model()["paths"]
    names = "split and merge", "wrong view", "wrong merge"
    right, wrong, merge = (paths[name] for name in names)
    straight, crossed, whole, split = [0, 1, 2, 3], [0, 2, 1, 3], [1, 2, 2], [1, 2, 2, 1]
    cells = [straight, straight, crossed, straight, straight]
    assert [step["cells"] for step in right] == cells
    assert [step["shape"] for step in right] == [whole, split, split, split, whole]
    assert right[2]["strides"] == [4, 1, 2, 1]
    assert wrong[1]["cells"] == [0, 1, 2, 3]
    assert merge[3]["cells"] == [0, 2, 1, 3]
    scrambled = [[step["scrambled"] for step in path] for path in (right, wrong, merge)]
    assert scrambled == [[False] * 5, [False, True], [False, False, False, True]]
    assert "head 0 holds a0; b0" in scene.alt
    assert "head 0 holds a0; a1" in scene.alt


def test_shared_heads_says_who_reads_what_and_counts_the_cache():
    scene = SharedHeads(8, 2, head_dim=64, num_layers=24, seq_len=4096)
    size = kv_cache_bytes(1, 4096, 24, 2, 64, torch.bfloat16)
    assert size == 2 * 4096 * 24 * 2 * 64 * 2 == 48 * 2**20
    assert "0, 0, 0, 0, 1, 1, 1, 1" in scene.alt
    assert "48.0 MiB" in scene.alt
    assert "192.0 MiB" in scene.alt
    sizes = [byte_count(n) for n in (12, 1024, 3 * 2**29)]
    assert sizes == ["12 bytes", "1.0 KiB", "1.5 GiB"]


def test_head_lens_packs_weights_so_that_they_come_out_again():
    weights = torch.rand(2, 3, 4, 5)
    lens = HeadLens(
        weights, WORDS, list("abcde"), layers=["first", "last"], start=(1, 2, 3)
    )
    view = lens.model()["views"][0]
    found = torch.tensor(list(base64.b64decode(view["weights"]))).view(2, 3, 4, 5) / 255
    torch.testing.assert_close(found, weights, atol=1 / 255, rtol=0)
    assert torch.equal((100 * found).round(), (100 * weights).round())
    assert (view["layers"], view["heads"], view["keys"]) == (
        ["first", "last"],
        3,
        list("abcde"),
    )
    best = weights[1, 2, 0].argmax()
    assert (
        f"layer last, head 2. The largest weight of each query: trophy to {'abcde'[best]}"
        in lens.alt
    )


def test_head_lens_takes_one_layer_a_mask_and_a_gradient():
    mask = torch.ones(4, 4).tril().bool()
    weights = SCORES.masked_fill(~mask, -torch.inf).softmax(-1).requires_grad_()
    lens = HeadLens(weights[None], WORDS, mask=mask)
    assert lens.model()["views"][0]["mask"][0] == [1, 0, 0, 0]
    assert lens.weights.shape == (1, 1, 4, 4)
    _, _, picture = parts(lens)
    masked = re.search(r"d='([^']+)' fill='#dddddd'", picture)[1]
    assert masked.count("M") == 6


def test_head_lenses_join_into_one_figure():
    cross = HeadLens(torch.rand(3, 4, 2), WORDS, ["a", "b"])
    both = HeadLens.together({"self": SCENES["HeadLens"](), "cross": cross})
    assert [view["name"] for view in both.model()["views"]] == ["self", "cross"]
    assert [len(view["keys"]) for view in both.model()["views"]] == [4, 2]
    assert both.alt == SCENES["HeadLens"]().alt


def test_shares_of_heads_worked_out_by_hand():
    # head 0 brings 2 - 1 = 1 alone and 1.5 - 0.5 = 1 after head 1; head 1 always 0.5
    alone = Ablation(torch.tensor([[2.0, 1.5], [1.0, 0.5]]))
    assert alone.shares.tolist() == pytest.approx([1.0, 0.5])
    # two heads that do the same work divide it
    assert Ablation.measure(three_heads, 3).shares.tolist() == pytest.approx(
        [0.5, 0.5, -0.1]
    )


@given(H=st.integers(1, 5), seed=st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_shares_add_up_to_what_all_heads_bring(H, seed):
    losses = torch.rand((2,) * H, generator=torch.Generator().manual_seed(seed)).double()
    found = Ablation(losses).shares.sum()
    torch.testing.assert_close(found, losses.flatten()[0] - losses.flatten()[-1])


def test_online_softmax_in_any_blocks_equals_attention():
    values = torch.randn(6, 3, generator=torch.Generator().manual_seed(0)).double()
    scores = torch.tensor([-torch.inf, -torch.inf, 1.0, 3, -torch.inf, 5]).double()
    q, k = torch.ones(1, 1).double(), scores.nan_to_num(neginf=0)[:, None]
    expected, _ = einsum_attention(q, k, values, mask=scores.isfinite())
    for block_size in range(1, 7):
        scene = OnlineSoftmax(scores, values, block_size=block_size)
        m, total, acc = scene.steps()[-1]
        torch.testing.assert_close(acc / total, expected[0])
        torch.testing.assert_close(scene.output, expected[0])
        assert m == 5
    nothing = OnlineSoftmax(torch.full((4,), -torch.inf), torch.ones(4, 2))
    assert nothing.output.tolist() == [0, 0]
    assert "0.00, 0.00" in str(nothing.still())


def test_hands_that_begin_alike_stand_apart_by_the_difference_of_positions():
    # One pair, which turns by 1 radian: at positions 3 and 1 the hands stand 2 radians apart.
    alike = ClockHands(torch.tensor([2.0, 0]), torch.tensor([1.5, 0]))
    q, k = alike.hands(3, 1)
    assert q.tolist() == [pytest.approx([2 * math.cos(3), 2 * math.sin(3)])]
    assert k.tolist() == [pytest.approx([1.5 * math.cos(1), 1.5 * math.sin(1)])]
    assert alike.scores(3, 1).tolist() == pytest.approx([3 * math.cos(2)])
    assert "the angle between them is 114.6°, its score -1.25." in alike.alt


def test_clock_hands_tells_that_nothing_changes_when_both_positions_move():
    hands = ClockHands()
    text = "{}: the angle between them is 151.5°, its score -0.88; all 4 pairs give q · k = 2.28."
    assert text.format("Query at 3, key at 1") in hands.alt
    assert text.format("Query at 1,003, key at 1,001") in hands.alt
    drawn = [node.text for node in ET.fromstring(str(hands.still())).iter() if node.text]
    assert drawn.count("all 4 pairs: q · k = 2.28") == 2
    for q in ([1.0, 0], [-1.0, 0]):  # never -180°
        opposite = ClockHands(torch.tensor(q), -torch.tensor(q), query_position=1)
        assert opposite.alt.count("is 180.0°, its score -1.00.") == 2


@given(
    half=st.integers(1, 4),
    base=st.sampled_from([1.0, 100.0, 1e4]),
    where=st.tuples(st.integers(0, 31), st.integers(0, 31), st.integers(0, 5000)),
)
@settings(max_examples=25, deadline=None)
def test_the_score_of_each_pair_depends_on_the_difference_of_positions_alone(
    half, base, where
):
    generator = torch.Generator().manual_seed(half)
    q, k = torch.randn(2, 2 * half, generator=generator, dtype=torch.float64)
    hands, (query, key, further) = ClockHands(q, k, base=base), where
    scores = hands.scores(query, key)
    torch.testing.assert_close(hands.scores(query + further, key + further), scores)
    both = torch.stack([q, k])[None, None]
    q, k = apply_rope(both, torch.tensor([query, key]), base)[0, 0]
    torch.testing.assert_close(scores.sum(), q @ k)


# ------------------------------------------------------------------------------- what is refused

W = torch.full((2, 4, 4), 0.25)
MANY = [f"{i}" for i in range(49)]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Scale(num_keys=1), "2 to 16 keys, got 1"),
        (lambda: MaskPainter(SCORES[:3], WORDS), r"\(4, 4\), .* got \(3, 4\)"),
        (lambda: MaskPainter(torch.zeros(9, 9), MANY[:9]), r"1 to 8 .* got \(9, 9\)"),
        (lambda: MaskPainter(SCORES / 0, WORDS), "without NaN or inf"),
        (lambda: MaskPainter(-SCORES.new_full((4, 4), torch.inf), WORDS), "before any mask"),
        (lambda: EinsumTracer("ld,sd", Q, K), "expected an equation"),
        (lambda: EinsumTracer("ld,sd->lx", Q, K), "expected an equation"),
        (lambda: EinsumTracer("ld,sd->ls", Q, torch.ones(2, 3)), r"got \(3, 2\) and \(2, 3\)"),
        (lambda: EinsumTracer("ld,sd->ls", torch.ones(33, 2), K), r"q of 1 to 64 .* \(33, 2\)"),
        (lambda: EinsumTracer("ld,sd->ls", Q * torch.inf, K), "without NaN or inf"),
        (lambda: SplitMerge(["a", "ab"], 2, 2), "different first letters"),
        (lambda: SplitMerge(WORDS, 3, 3), r"1 to 8, got 3 \* 3"),
        (lambda: SharedHeads(8, 3), "divide num_heads, got 3 and 8"),
        (lambda: SharedHeads(17, 1), "1 to 16 heads, got 17"),
        (lambda: SharedHeads(8, 2, seq_len=0), "at least 1"),
        (lambda: HeadLens(W, WORDS, ["a"]), r"\(H, 4, 1\) or .* got \(2, 4, 4\)"),
        (lambda: HeadLens(torch.zeros(1, 49, 49), MANY), "1 to 48 queries and keys, got 49 and 49"),
        (lambda: HeadLens(torch.zeros(9, 12, 40, 40), MANY[:40]), "at most 150000 weights, got 172800"),
        (lambda: HeadLens(W * 5, WORDS), r"between 0 and 1 .* got 1.25 to 1.25"),
        (lambda: HeadLens(W, WORDS, mask=torch.ones(4, 4)), "boolean mask"),
        (lambda: HeadLens(W, WORDS, layers=["a", "b"]), "1 names of layers, got 2"),
        (lambda: HeadLens(W, WORDS, start=(0, 2, 0)), r"below \(1, 2, 4\) .* got \(0, 2, 0\)"),
        (lambda: HeadLens.together({}), "at least one view"),
        (lambda: Ablation(torch.zeros(2, 3)), r"axis of size 2 .* got \(2, 3\)"),
        (lambda: Ablation(torch.zeros((2,) * 9)), "1 to 8 heads"),
        (lambda: Ablation(torch.tensor([1.0, torch.nan])), "finite losses"),
        (lambda: Ablation(torch.zeros(2, 2), names=["a"]), "2 names, got 1"),
        (lambda: Ablation(torch.zeros(2, 2), largest_weights=torch.zeros(3)), r"\(2,\), got \(3,\)"),
        (lambda: OnlineSoftmax(SCORES[0], torch.ones(3, 2)), r"got \(4,\) and \(3, 2\)"),
        (lambda: OnlineSoftmax(torch.zeros(25), torch.ones(25, 2)), "1 to 24 keys .* got 25"),
        (lambda: OnlineSoftmax(SCORES[0], torch.ones(4, 5)), "Dv of 1 to 4, got 4 and 5"),
        (lambda: OnlineSoftmax(SCORES[0], torch.eye(4), block_size=5), "1 to 4, got 5"),
        (lambda: ClockHands(K[0]), r"same shape \(D,\), .* got \(2,\) and \(8,\)"),
        (lambda: ClockHands(torch.ones(3), torch.ones(3)), r"D even and 2 to 8, got \(3,\)"),
        (lambda: ClockHands(Q[0] / 0, Q[0]), "finite numbers in q and k"),
        (lambda: ClockHands(base=0.5), "base of at least 1, got 0.5"),
        (lambda: ClockHands(query_position=32), r"positions of 0 to 31, got \(32, 1\)"),
        (lambda: ClockHands(pair=4), "pair of 0 to 3, got 4"),
        (lambda: OnlineSoftmax(SCORES[0], torch.eye(4) / 0), "finite values"),
    ],
)  # fmt: skip
def test_value_error_names_expected_and_actual(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_the_page_about_the_scenes_names_all_and_its_example_runs(tmp_path, monkeypatch):
    page = (ROOT / "site/explorer.md").read_text(encoding="utf-8")
    scenes = sorted({*explorer.__all__} - {"page"})
    assert sorted(re.findall(r"^## `(\w+)`$", page, re.MULTILINE)) == scenes
    assert (
        len(re.findall("^Try this: ", page, re.MULTILINE)) == len(scenes) + 1
    )  # the way of a token
    made: dict = {}
    exec(re.search(r"```python\n(.*?)```", page, re.DOTALL)[1], made)
    monkeypatch.chdir(tmp_path)
    made["lens"].save("lens.html")
    assert made["ablation"].losses.shape == (2, 2, 2)
