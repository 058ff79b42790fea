"""All figures: each draws and describes itself, and refuses what does not fit."""

import io
import json

import numpy as np
import pytest
import torch
from matplotlib.colors import to_rgba
from matplotlib.text import Text
from PIL import Image

from attn_lib import plotting as p
from attn_lib.masks import causal_mask

WORDS = ["trophy", "it", "big"]
XY = {"xlabel": "x", "ylabel": "y"}
EYE, GRID = torch.eye(3), torch.eye(3).expand(2, 4, 3, 3)
CAUSAL = causal_mask(3, 3)
RUNS = {"a": [[1.0, 2.0], [3.0, 4.0]], "b": [[2.0, 0.5]]}
IDS = torch.arange(12).view(3, 4)
ACCUSED = {"shape": set(), "parity": {"missing", "twice"}, "loose": {"ignored", "fused"}}
KINDS = {"scale": ["missing", "twice"], "mask": ["ignored"]}
TRIO = tuple(torch.ones(1, 1, rows, cols).bool() for rows, cols in ((2, 2), (3, 3), (3, 2)))
PATCHES = torch.arange(16.0).view(4, 4) / 16  # patch 1 is 4, 5, 6, 7

# For each figure, a call of it and what its description must say.
FIGURES = {
    "against_chance": (
        lambda: p.against_chance([0, 2, 1], [0.5, 1.5, 1], title="T", **XY),
        "T. Bars of y over x, 0 to 2, and a line of what chance gives on average. "
        "The largest count seen is 2. The bars are highest at 1, the line at 1.",
    ),
    "agreement": (
        lambda: p.agreement([1.0, -2.0], [3.0, -1.0], ["a", "b"], named=["a"], **XY),
        "2 dots: y over x. Above zero: 1 and 1. a 1.0 and 3.0.",
    ),
    "alignment": (
        lambda: p.alignment({"a b": EYE, "ab": EYE[:, :2]}, "123"),
        "Heat map of cross-attention weights. Input 'a b', the largest weight of each output: "
        "1 to a at 0 (1.00), 2 to ␣ at 1 (1.00), 3 to b at 2 (1.00). Input 'ab', ",
    ),
    "bars": (
        lambda: p.bars(["a", "b"], {"one": [0.1, 0.9], "two": [1, 0]}, ylabel="share"),
        "Bars of share. one: a 0.10, b 0.90; two: a 1.00, b 0.00.",
    ),
    "by_lag": (
        lambda: p.by_lag([1, 2], {"a": [0, 2]}, even=1, mark=(2, "here"), **XY),
        "Lines of y over x: a is highest at 2.",
    ),
    "by_layer": (
        lambda: p.by_layer({"before": RUNS, "after": RUNS}, ylabel="norm", log=True),
        "Lines of norm over layers 1 to 2. before: a, 2 runs, from 1 to 2, from 3 to 4; "
        "b, 1 runs, from 2 to 0.5. after: a, 2 runs",
    ),
    "by_length": (
        lambda: p.by_length([8, 32, 128], {"m": [[4, 3, 5]]}, trained=32, ylabel="bits"),
        "Lines of bits over length 8, 32 and 128, trained at 32. m: 4.00 to 3.00 to 5.00.",
    ),
    "cache_growth": (
        lambda: p.cache_growth(WORDS),
        "Without a cache: 1, 4, 9 scores, those above the diagonal masked away, and 1, 2, 3 "
        "keys and values computed. With a cache: the last row alone, 1, 2, 3 scores",
    ),
    "cells": (
        lambda: p.cells(IDS, [*WORDS[:2], "suitcase"], num_heads=2, title="(L, E)"),
        "(L, E). Cells, row trophy: t0 t1 t2 t3; row it: i0 i1 i2 i3; row suitcase: s0",
    ),
    "cells 2": (
        lambda: p.cells(IDS.view(2, 3, 2), WORDS),
        "head 0, row it: t2 t3; head 0, row big: i0 i1; head 1, row trophy: i2 i3",
    ),
    "data_flow": (
        lambda: p.data_flow(batch=1, length=4, num_heads=2, head_dim=3),
        "k_proj gives (B, S, E) = (1, 4, 6); split_heads of k gives (B, H, S, D) = (1, 2, 4, 3)",
    ),
    "encoder_decoder": (
        lambda: p.encoder_decoder("3. März", "<bos>2", "0"),
        "The encoder reads '3. März': embedding and positions",
    ),
    "forecasts": (
        lambda: p.forecasts(([1, 2], [5, 6]), ([3, 4], [7, 8]), {"flat": [6, 6]}, **XY),
        "y over x: the past to 2.0, and what came to 4.0, where it was 8.0; flat ends at 6.0.",
    ),
    "grouped_bars": (
        lambda: p.grouped_bars(["m", "n"], {"a": [1, 2000], "b": [3, 4]}, xlabel="MiB"),
        "Bars of MiB. m: a 1, b 3; n: a 2,000, b 4.",
    ),
    "head_grid": (
        lambda: p.head_grid(GRID, {"nats": torch.arange(8.0).view(2, 4)}, root=True),
        "Small heat maps of 4 heads in each of 2 rows. The largest weight is 1.00. "
        "nats: 0.0 to 7.0.",
    ),
    "head_grid 2": (
        lambda: p.head_grid(GRID, layers=["a", "b"], num_kv_heads=2, title="two"),
        "two. ",
    ),
    "head_links": (
        lambda: p.head_links({"GQA": [0, 0, 1, 1], "MQA": [0] * 4}, [2, 1]),
        "The K/V head that each query head reads. GQA: 0, 0, 1, 1 of 2; MQA: 0, 0, 0, 0 of 1.",
    ),
    "head_maps": (
        lambda: p.head_maps(EYE.expand(2, 3, 3), ["the", "big", "the"], mask=CAUSAL),
        "head 0: the₁ to the₁ (1.00), big to big (1.00), the₂ to the₂ (1.00); head 1: ",
    ),
    "head_maps 2": (
        lambda: p.head_maps(torch.eye(13).expand(3, 13, 13), "t" * 13, columns=2),
        "t₁₃",
    ),
    "heat_map": (
        lambda: p.heat_map(torch.tensor([[0.9, 0.1], [0.3, 0.7]]), ["it", "big"]),
        "Heat map of weights. The largest in each row: it to it (0.90), big to big (0.70).",
    ),
    "heat_map 2": (
        lambda: p.heat_map(EYE, WORDS, kind="scores", mask=CAUSAL),
        "Heat map of scores.",
    ),
    "heat_map 3": (
        lambda: p.heat_map(torch.eye(20), [str(i) for i in range(20)]),
        "19 to 19 (1.00)",
    ),
    "latent_cache": (
        lambda: p.latent_cache(4, 2),
        "from a token x, 2 keys and 2 values are projected and kept. Right, MLA: x is "
        "projected down to one latent vector c, which is kept; 4 keys and 4 values",
    ),
    "layer_heads": (
        lambda: p.layer_heads({"copies": torch.tensor([[0.1, 0.9, 0.2], [0.3, 0.4, 0.5]])}),
        "Maps of 2 layers of 3 heads; the largest, as layer.head. copies: 0.1 0.90, 1.2 0.50",
    ),
    "letters": (
        lambda: p.letters({"B": 2, "H": 3, "L": 4, "D": 5}),
        "(B, H, L, D) = (2, 3, 4, 5)",
    ),
    "levels": (
        lambda: p.levels({"fine": ([-1.0, 0.4, 3.0], 1.0)}, bits=8, xlabel="x", limit=2.5),
        "Number lines of x, from -2.5 to 2.5, 8 bits. fine: 2 numbers on 2 of 5 levels.",
    ),
    "line_panels": (
        lambda: p.line_panels([-1, 1], {"codes": {"at 1": [0, 1]}}, title="Shift", **XY),
        "Shift. Lines of y over x, -1 to 1. codes: at 1 from 0.00 to 1.00.",
    ),
    "lines": (
        lambda: p.lines([1, 2], {"a": [1, 2], "b": [2, 1]}, **XY),
        "Lines of y over x, 1 to 2: a from 1 to 2; b from 2 to 1.",
    ),
    "lines 2": (
        lambda: p.lines([1, 2], {"a": [50, 700]}, x_log=True, y_log=True, **XY),
        "50 to 700",
    ),
    "mask_grid": (
        lambda: p.mask_grid({"causal": CAUSAL, "none": CAUSAL & ~CAUSAL}, WORDS),
        "Grids of who may attend (query) to whom (key). causal: trophy to trophy; it to "
        "trophy, it; big to trophy, it, big. none: trophy to none",
    ),
    "mask_grid 2": (
        lambda: p.mask_grid({"all": CAUSAL, "one": causal_mask(1, 2)}),
        "one: 0 to 0, 1.",
    ),
    "matrices": (
        lambda: p.matrices({"full": torch.ones(3, 3), "blocks": EYE}),
        "full: 0 of 9 weights are zero; blocks: 6 of 9 weights are zero.",
    ),
    "mutant_table": (
        lambda: p.mutant_table(ACCUSED, KINDS, ["einsum", "fused"]),
        "How many of 3 mutants each test finds: shape 0; parity 2; loose 1; together 3. "
        "Right ones accused: fused.",
    ),
    "outcomes": (
        lambda: p.outcomes({"good": [(0.1, 0.2), (0.2, 0.1)]}, chance=2.77, **XY),
        "Dots of y over x: good (0.1, 0.2), (0.2, 0.1). A guess: 2.77.",
    ),
    "norm_places": (p.norm_places, "Pre-norm: norm, attention, plus, norm"),
    "outlines": (p.outlines, "Encoder: the text, embedding and positions, N blocks"),
    "pair_layouts": (
        lambda: p.pair_layouts(4),
        "half-split: pair 0 is 0 and 2, pair 1 is 1 and 3. interleaved: pair 0 is 0 and 1",
    ),
    "patch_order": (
        lambda: p.patch_order({"right": PATCHES, "turned": PATCHES}),
        "for: right, turned.",
    ),
    "position_codes": (
        lambda: p.position_codes(torch.eye(4)[:, :3], [1, 3], title="Codes"),
        "Codes. Colors of 4 codes of 3 numbers, and dot products of position 1: 1.00 with "
        "itself, 0.00 with 0, 0.00 with 3; of position 3: 0.00 with itself",
    ),
    "repeated": (
        lambda: p.repeated([8, 2], RUNS, **XY),
        "Lines of y over x, 8 to 2: a, 2 runs, from 1.00 to 2.00, from 3.00 to 4.00; b, 1 runs",
    ),
    "runs": (
        lambda: p.runs(RUNS, ylabel="loss"),
        "Lines of loss over step: a, 2 runs, ends at 2.00, 4.00; b, 1 runs, ends at 0.50.",
    ),
    "scores_and_weights": (
        lambda: p.scores_and_weights(
            torch.tensor([[1.0, -torch.inf], [-4, 2]]), EYE[:2, :2], WORDS[:2]
        ),
        "scores from -4.0 to 2.0, on colors centered on 0, and weights from 0 to 1.00",
    ),
    "shaded_words": (
        lambda: p.shaded_words(
            {"mail": (["send", "the", "mail"], [0.5, 0.1, 2.0])}, title="T"
        ),
        "T. Texts with shaded words. mail: the darkest words are mail (2.00), send (0.50)",
    ),
    "shares": (
        lambda: p.shares({"a": [1, 3], "b": [3, 1]}, ["small", "large"], xlabel="percent"),
        "Bars of percent. small: a 25, b 75; large: a 75, b 25.",
    ),
    "stacked_runs": (
        lambda: p.stacked_runs({"loss": RUNS, "score": {"a": [[0.1]]}}, steps=8, title="T"),
        "T. Lines over 8 steps. loss: a, 2 runs, ends at 2.00, 4.00; b, 1 runs, ends at 0.50. "
        "score: a, 1 runs, ends at 0.10.",
    ),
    "strips": (
        lambda: p.strips(
            {"a": {"right": [1e-20], "wrong": [0.1, 20, torch.inf]}, "b": {"right": [1]}},
            xlabel="x",
            limits=(1e-9, 10),
            lines={"limit": 1e-2},
        ),
        "Dots of x. a: right, 1 from 1e-20 to 1e-20; wrong, 3 from 1e-01 to inf. "
        "b: right, 1 from 1e+00 to 1e+00. Lines: limit at 1e-02.",
    ),
    "three_masks": (
        lambda: p.three_masks(TRIO, ["a", "b"], ["x", "y", "z"]),
        "3. cross: output on input: x to a, b; y to a, b; z to a, b.",
    ),
    "time_over_bytes": (
        lambda: p.time_over_bytes({"MHA": [(2, 1.0), (4, 3.0)]}, gigabytes_per_second=2),
        "MHA 2 MB in 1 ms, 4 MB in 3 ms. Reading alone, at 2.0 GB/s: 0.77 to 2.6 ms.",
    ),
    "token_times": (
        lambda: p.token_times({"float32": (30.0, 10.0, 25.0)}, floor="memory"),
        "Bars of ms a token. float32: products 30, all else 10, memory 25.",
    ),
    "trials": (
        lambda: p.trials({"a": [0.5, 0.7], "b": [0.9]}, xlabel="x", chance=0.1, title="T"),
        "T. Dots of x, one for each run. a 0.50, 0.70; b 0.90. A guess: 0.10.",
    ),
    "who_moves": (
        lambda: p.who_moves(
            [WORDS] * 2, {"norm": EYE[:2], "all": torch.ones(2, 3)}, (0, 1)
        ),
        "Whose output moves when 'it' in sentence 1 changes. norm: trophy in sentence 1; it in "
        "sentence 2. all: every word of every sentence.",
    ),
    "window_blocks": (
        lambda: p.window_blocks(8, 2),
        "8 queries and 8 keys: 15 pairs attend, in a band of 2 along the diagonal. Beside it "
        "the same band in blocks of 2 queries and 4 keys: 32 pairs are computed instead of 64.",
    ),
    "words_on_picture": (
        lambda: p.words_on_picture(
            torch.eye(4), ["one"], torch.tensor([[0.1, 0.7, 0.1, 0.1]])
        ),
        "A picture, and the patch that gets the largest weight of each word: one: 0.70 on row "
        "0, column 1.",
    ),
    "you_are_here": (
        lambda: p.you_are_here("02"),
        "The parts of lesson 02: attention, mask. Built before: words, vectors, queries, keys",
    ),
}
FIVE = {str(i): [1.0, 2.0] for i in range(5)}
BAD = [
    (lambda: p.against_chance([1], [1.0, 2.0], **XY), "1 values for 'chance', got 2"),
    (lambda: p.agreement([1.0], [1.0, 2.0], ["a"], **XY), r"got \(1, 2, 1\)"),
    (lambda: p.agreement([1.0], [1.0], ["a"], named=["b"], **XY), r"got \['b'\]"),
    (lambda: p.alignment({}, "a"), "at least one input, got none"),
    (lambda: p.alignment({"ab": EYE}, "abc"), r"'ab' of shape \(3, 2\), got \(3, 3\)"),
    (
        lambda: p.by_layer({"": {"a": [[1], [1, 2]]}}, ylabel="y"),
        r"one length, got \[1, 2\]",
    ),
    (lambda: p.cells(EYE, ["a", "b"]), r"L = 2 tokens, got \(3, 3\)"),
    (lambda: p.cells(IDS, ["it", "is", "a"]), "different first letters, got"),
    (lambda: p.cells(IDS, WORDS, num_heads=3), "divide the 4 columns, got 3"),
    (lambda: p.grouped_bars(["m"], {"a": [1, 2]}, xlabel="x"), "1 values for 'a', got 2"),
    (lambda: p.head_grid(EYE[None]), r"\(layers, H, L, S\), got \(1, 3, 3\)"),
    (lambda: p.head_grid(GRID, {"x": EYE}), r"x: numbers of shape \(2, 4\), got \(3, 3\)"),
    (lambda: p.head_grid(GRID, layers=["a"]), "2 names of layers, got 1"),
    (lambda: p.head_grid(GRID, num_kv_heads=3), "divide 4, got 3"),
    (lambda: p.head_links({"a": [0, 2]}, 2), r"a: K/V heads 0 to 1, got \[2\]"),
    (lambda: p.head_links({"a": [0]}, [1, 1]), "each of 1 panels, got 2"),
    (lambda: p.head_maps(GRID[0], WORDS, columns=5), "columns from 1 to 4, got 5"),
    (lambda: p.head_maps(GRID[0], WORDS, mask=CAUSAL[:2]), r"shape \(3, 3\), got \(2, 3\)"),
    (lambda: p.head_maps(GRID[0], WORDS, titles=["a"]), "4 titles, got 1"),
    (lambda: p.heat_map(EYE, ["a", "b"]), r"weights.* of shape \(2, 2\), got \(3, 3\)"),
    (
        lambda: p.heat_map(EYE, WORDS, kind="logits"),
        'kind "weights" or "scores", got "logits"',
    ),
    (lambda: p.heat_map(EYE, WORDS, mark="the"), "mark one of trophy, it, big, got 'the'"),
    (lambda: p.latent_cache(4, 3), "divide num_heads, got 3 and 4"),
    (lambda: p.layer_heads({"a": EYE, "b": EYE[:2]}), "maps of one shape"),
    (lambda: p.layer_heads({"a": 2 * EYE}), "between 0 and 1, got 0 to 2"),
    (lambda: p.line_panels([1], {"a": FIVE}, **XY), "1 to 4 lines, got 5"),
    (lambda: p.lines([1, 2, 3], {"a": [1, 2]}, **XY), "3 values for 'a', got 2"),
    (lambda: p.mask_grid({}), "at least one mask, got none"),
    (
        lambda: p.mask_grid({"ones": EYE}),
        r"'ones' to be boolean .* got torch.float32 \(3, 3\)",
    ),
    (lambda: p.mask_grid({"a": CAUSAL}, ["a", "b"]), r"of shape \(2, 2\), got \(3, 3\)"),
    (lambda: p.matrices({"a": EYE, "b": EYE[:2]}), "matrices of one shape"),
    (lambda: p.mutant_table({"shape": {"nobody"}}, KINDS, []), r"got \['nobody'\]"),
    (lambda: p.outcomes({}, chance=1, **XY), "1 to 4 settings, got 0"),
    (lambda: p.patch_order({"a": torch.ones(4, 3)}), r"square numbers, got \(4, 3\)"),
    (lambda: p.position_codes(EYE, [3]), r"positions from 0 to 2, got \[3\]"),
    (lambda: p.repeated([8, 2], {"a": [[1.0]]}, **XY), "2 values for 'a', got 1"),
    (lambda: p.runs(RUNS, ylabel="y", every=3), "every from 1 to 2 steps, got 3"),
    (
        lambda: p.runs({k: [v] for k, v in FIVE.items()}, ylabel="y"),
        "1 to 4 settings, got 5",
    ),
    (
        lambda: p.scores_and_weights(EYE, EYE[:2], WORDS),
        r"weights of shape \(3, 3\), got \(2, 3\)",
    ),
    (lambda: p.shaded_words({}), "at least one text, got none"),
    (lambda: p.shaded_words({"a": (["b"], [1, 2])}), "each of 1 words, got 2"),
    (
        lambda: p.three_masks(TRIO[::-1], ["a", "b"], ["c"] * 3),
        r"got torch.bool \(1, 1, 3, 2\)",
    ),
    (lambda: p.trials({"a": []}, xlabel="x"), "at least one run"),
    (
        lambda: p.who_moves([WORDS], {"a": EYE}, (0, 0)),
        r"a: moves of shape \(1, 3\), got \(3, 3\)",
    ),
    (lambda: p.window_blocks(9, 2), "a multiple of the window, got 9 and 2"),
    (lambda: p.words_on_picture(EYE, ["a"], torch.ones(1, 3)), r"got \(1, 3\)"),
    (lambda: p.you_are_here("16"), '"00" to "15", got \'16\''),
]


def texts(picture):
    """Return every text that is drawn."""
    picture.figure.draw_without_rendering()  # ticks get their names
    return [text.get_text() for text in picture.figure.findobj(Text) if text.get_visible()]


def squares(axes, color):
    """Return the (column, row) of all squares of a color."""
    shapes = [s for s in axes.patches if s.get_facecolor() == to_rgba(color)]
    corners = [xy for s in shapes for xy in s.get_path().vertices[::5]]
    return sorted((round(x, 1), round(y, 1)) for x, y in corners)


@pytest.mark.parametrize(("make", "says"), FIGURES.values(), ids=FIGURES)
@pytest.mark.slow
def test_a_figure_draws_and_describes_itself(make, says):
    picture = make()
    assert says in picture.alt
    assert not says.endswith(".") or picture.alt.endswith(".")
    shown, sizes = picture._repr_mimebundle_()
    assert bool(sizes) == ("image/svg+xml" not in shown)
    assert shown["text/plain"] == picture.alt
    assert shown.get("image/svg+xml", "<svg").count("<svg") == 1


@pytest.mark.parametrize("name", ["heat_map", "head_links", "forecasts"])
def test_a_figure_is_the_same_on_every_run(name):
    make, _ = FIGURES[name]
    assert make()._repr_mimebundle_() == make()._repr_mimebundle_()


def test_a_picture_without_svg_has_more_pixels_than_it_is_shown_in():
    picture = FIGURES["head_grid"][0]()
    _, sizes = picture._repr_mimebundle_()
    width, height = Image.open(io.BytesIO(picture.png())).size
    assert sizes == {"image/png": {"width": width // 2, "height": height // 2}}


def test_every_public_figure_is_tested_here():
    assert {name.split()[0] for name in FIGURES} == {*p.__all__} - {"Picture"}


@pytest.mark.parametrize(("call", "message"), BAD)
def test_what_cannot_be_drawn_is_a_value_error_with_expected_and_got(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# --- Lines, bars and dots -------------------------------------------------------------------------


def test_the_runs_of_one_setting_look_alike_and_settings_differ_in_more_than_color():
    for picture in (p.repeated([8, 2], RUNS, **XY), p.by_layer({"": RUNS}, ylabel="y")):
        axes = picture.figure.axes[0]
        assert [list(line.get_ydata()) for line in axes.lines] == [*RUNS["a"], *RUNS["b"]]
        for style in ("get_color", "get_linestyle", "get_marker"):
            one, two, other = (getattr(line, style)() for line in axes.lines)
            assert one == two != other
        legend = axes.get_legend() or picture.figure.legends[0]
        assert [text.get_text() for text in legend.get_texts()] == ["a", "b"]


def test_values_stand_in_the_middle_of_their_steps():
    panels = {"loss": {"a": [[3.0, 1.0, 0.5, 0.25]]}, "score": {"a": [[0.1, 0.9]]}}
    above, below = p.stacked_runs(panels, steps=8).figure.axes
    assert list(above.lines[0].get_xdata()) == [1, 3, 5, 7]
    assert list(below.lines[0].get_xdata()) == [2, 6]
    assert (above.get_xlabel(), below.get_xlabel()) == ("", "step")
    (mean,) = p.runs({"a": [[1.0, 3.0, 9.0]]}, ylabel="y", every=2).figure.axes[0].lines
    assert (list(mean.get_xdata()), list(mean.get_ydata())) == ([1], [2])


def test_scales_are_logarithmic_with_plain_numbers_or_begin_where_they_should():
    axes = p.lines([1, 2], {"a": [50, 700]}, x_log=True, y_log=True, **XY).figure.axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert "100" in texts(p.lines([1, 2], {"a": [50, 700]}, y_log=True, **XY))
    assert p.lines([1, 2], {"a": [5, 7]}, **XY).figure.axes[0].get_ylim()[0] == 0
    assert (
        p.trials({"a": [1.5]}, xlabel="x", lowest=1.2).figure.axes[0].get_xlim()[0] == 1.2
    )


def test_what_is_longer_than_in_training_is_shaded():
    def shades(trained):
        curves = {"a": [[1, 2, 3]], "b": [[4, 5, 60]]}
        figure = p.by_length(
            [8, 32, 128], curves, trained=trained, ylabel="y", top=6
        ).figure
        assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()
        assert figure.axes[0].get_ylim()[1] < 7
        return [shade.get_x() for axes in figure.axes for shade in axes.patches]

    assert (shades(32), shades(128)) == ([32, 32], [])


def test_the_future_is_dots_and_forecasts_stand_at_its_dates():
    known, came, flat, _ = FIGURES["forecasts"][0]().figure.axes[0].lines
    assert list(known.get_xdata()) == [1, 2]
    assert (came.get_linestyle(), came.get_marker()) == ("None", "o")
    assert list(flat.get_xdata()) == [3, 4]
    alone = p.forecasts(([1, 2], [5, 6]), ([3], [7]), {}, **XY)
    assert [line.get_label() for line in alone.figure.axes[0].lines[:2]] == [
        "past",
        "what came",
    ]
    five = {key: [1] for key in "abcde"}
    with pytest.raises(ValueError, match="at most 4 methods, got 5"):
        p.forecasts(([1], [1]), ([2], [2]), five, **XY)


def test_a_strip_has_values_beyond_its_limits_at_the_edge_and_infinite_ones_beside_it():
    above, _ = FIGURES["strips"][0]().figure.axes
    right, wrong, limit = above.lines
    assert list(right.get_xdata()) == [1e-9]
    inside, edge, beside = wrong.get_xdata()
    assert inside == 0.1 < edge == 10 < beside
    assert list(limit.get_xdata()) == [1e-2, 1e-2]
    assert right.get_marker() != wrong.get_marker()
    assert [text.get_text() for text in above.texts] == ["limit", "not comparable"]


def test_a_line_leads_from_each_number_to_its_nearest_level():
    rows = {"": ([-1.0, 0.4, 0.6, 5.0], 1.0)}
    ticks, ways, dots = p.levels(rows, bits=3, xlabel="x", limit=6).figure.axes[0].lines
    assert list(ticks.get_xdata()[::3]) == [-3, -2, -1, 0, 1, 2, 3]
    xs = ways.get_xdata()
    pairs = [(-1, -1), (0.4, 0), (0.6, 1), (5, 3)]
    assert list(zip(xs[::3], xs[1::3], strict=True)) == pairs
    assert list(dots.get_xdata()) == rows[""][0]


# --- Maps -----------------------------------------------------------------------------------------


def test_numbers_are_left_out_beyond_twelve_tokens_and_below_a_twentieth():
    drawn = texts(p.heat_map(torch.tensor([[0.96, 0.04]]), ["a"], ["b", "c"]))
    assert ".96" in drawn
    assert ".04" not in drawn
    assert {"query (row)", "key (column)", "attention weight", "b"} <= {*drawn}
    assert "1.00" not in texts(FIGURES["heat_map 3"][0]())


@pytest.mark.parametrize("kind", ["head_maps", "heat_map"])
def test_masked_cells_are_hatched_and_explained(kind):
    weights = EYE[None] if kind == "head_maps" else EYE
    picture = getattr(p, kind)(weights, WORDS, mask=CAUSAL)
    assert squares(picture.figure.axes[0], "#dddddd") == [(1, 0), (2, 0), (2, 1)]
    assert picture.figure.axes[0].patches[0].get_hatch()
    assert "may not attend" in texts(picture)
    assert "may not attend" not in texts(getattr(p, kind)(weights, WORDS))


def test_scores_and_weights_have_a_scale_each_and_the_same_masked_cells():
    picture = FIGURES["scores_and_weights"][0]()
    scores, weights = (axes.images[0] for axes in picture.figure.axes[:2])
    assert (scores.get_clim(), weights.get_clim()) == ((-4, 4), (0, 1))
    for image in (scores, weights):
        hidden = np.ma.getmaskarray(image.get_array()).tolist()
        assert hidden == [[False, True], [False, False]]
    assert texts(picture).count("query (row)") == 1
    assert {"score", "weight", "may not attend"} <= {*texts(picture)}


def test_a_head_grid_puts_each_map_in_its_row_and_column():
    weights = torch.arange(6.0).view(2, 3, 1, 1).expand(2, 3, 4, 5) / 6
    images = p.head_grid(weights).figure.axes[0].images
    assert [image.get_array()[0, 0] * 6 for image in images] == pytest.approx([*range(6)])
    lefts, rights, bottoms, tops = zip(*(i.get_extent() for i in images), strict=True)
    assert lefts[:3] == lefts[3:] == tuple(sorted(lefts[:3]))
    assert tops[:3] == (0,) * 3
    assert {b - t for b, t in zip(bottoms, tops, strict=True)} == {4}
    assert {right - left for left, right in zip(lefts, rights, strict=True)} == {5}
    assert min(tops[3:]) > max(bottoms[:3])


def test_a_head_grid_names_what_it_shows_and_joins_heads_that_share_keys():
    picture = FIGURES["head_grid"][0]()
    assert {"layer", "head", "0.0", "7.0"} <= {*texts(picture)}
    assert any("Below each map: nats." in text for text in texts(picture))
    assert picture.figure.axes[0].images[0].norm(0.25) == pytest.approx(0.5)
    axes = FIGURES["head_grid 2"][0]().figure.axes[0]
    left, right = ((min(x), max(x)) for x in (line.get_xdata() for line in axes.lines))
    centers = axes.get_xticks()
    assert left[0] < centers[0] < centers[1] < left[1] < right[0] < centers[2]


def test_words_are_drawn_over_their_patches_row_by_row():
    picture = FIGURES["words_on_picture"][0]()
    patches, ink = picture.figure.axes[1].images
    assert patches.get_array()[0, 1] == pytest.approx(0.7)
    assert tuple(ink.get_array()[0, 0]) == (1, 1, 1, pytest.approx(0.9))  # white on dark
    assert tuple(ink.get_array()[0, 3, :3]) == (0, 0, 0)  # black on bright
    laid = p.patch_order({"": PATCHES}).figure.axes[0].images[0].get_array() * 16
    assert laid[:2, 2:].tolist() == [[4, 5], [6, 7]]


def test_layers_run_across_and_heads_down():
    image = FIGURES["layer_heads"][0]().figure.axes[0].images[0]
    assert image.get_array().shape == (3, 2)
    assert image.get_array()[1, 0] == pytest.approx(0.9)


# --- Grids and diagrams ---------------------------------------------------------------------------


def test_with_a_cache_a_step_computes_one_row_and_one_key():
    axes = p.cache_growth(WORDS).figure.axes
    score, masked, key, kept = "#0b3c6f", "#dddddd", "#d95f02", "#fbdcc2"
    without, cached = axes[1], axes[5]  # steps 2 and 3
    assert squares(without, score) == [(0, 0), (0, 1), (1, 1)]
    assert squares(without, masked) == [(1, 0)]
    assert squares(without, key) == [(0, 2.5), (1, 2.5)]
    assert squares(cached, score) == [(0, 2), (1, 2), (2, 2)]
    assert squares(cached, key) == [(2, 3.5)]
    assert squares(cached, kept) == [(0, 3.5), (1, 3.5)]
    assert squares(cached, "white") == [(0, 0), (0, 1), (1, 1)]


def test_blocks_of_a_window_compute_the_band_and_little_more():
    pairs, blocks = p.window_blocks(8, 2).figure.axes
    titles = [axes.get_title() for axes in (pairs, blocks)]
    assert titles == ["all pairs: 8 × 8", "blocks: 8 × 4"]
    count = {
        color: len(squares(pairs, color)) for color in ("#e4e4e4", "#f0a15e", "#0b3c6f")
    }
    assert sum(count.values()) == 64
    assert count["#0b3c6f"] == len(squares(blocks, "#0b3c6f")) == 15
    assert len(squares(blocks, "#f0a15e")) == 32 - 15


def test_a_find_is_a_dark_cell_and_a_false_alarm_a_cross():
    (axes,) = FIGURES["mutant_table"][0]().figure.axes

    def dots(color):
        lines = [line for line in axes.lines if line.get_color() == color]
        return {tuple(xy) for line in lines for xy in line.get_xydata()}

    dark, orange, pale = (dots(color) for color in ("#0b3c6f", "#d95f02", "#e4e4e4"))
    columns = sorted({x for x, _ in dark | orange | pale})
    assert len(dark | orange | pale) == 4 * 5
    assert {(columns.index(x), y) for x, y in dark if y < 3} == {(0, 1), (1, 1), (2, 2)}
    assert {(columns.index(x), y) for x, y in orange if y < 3} == {(4, 2)}
    assert columns[1] - columns[0] == 1 < columns[2] - columns[1]


def test_the_word_with_the_largest_weight_is_darkest_and_long_texts_go_on():
    axes = FIGURES["shaded_words"][0]().figure.axes[0]
    boxes = {text.get_text(): text.get_bbox_patch() for text in axes.texts}
    green = [boxes[word].get_facecolor()[1] for word in ("mail", "send", "the")]
    assert green == sorted(green)
    texts = {"a": (["low"], [0.5]), "b": (["high"], [9.0])}
    axes = p.shaded_words(texts, darkest=2).figure.axes[0]
    low, high = (
        text.get_bbox_patch().get_facecolor()[1]
        for text in axes.texts
        if text.get_text() in ("low", "high")
    )
    assert low > high == green[0]
    long = p.shaded_words({"x": (["word"] * 40, [1.0] * 40)})
    words = [text for text in long.figure.axes[0].texts if text.get_text() == "word"]
    assert len({text.xyann[1] for text in words} | {text.xy[1] for text in words}) > 2


# --- The picture ----------------------------------------------------------------------------------


def test_save_writes_the_format_of_the_ending(tmp_path):
    picture = FIGURES["bars"][0]()
    picture.save(tmp_path / "bars.svg")
    picture.save(tmp_path / "bars.png")
    assert "<svg" in (tmp_path / "bars.svg").read_text()
    assert (tmp_path / "bars.png").read_bytes().startswith(b"\x89PNG")
    assert len(list(tmp_path.iterdir())) == 2


def test_files_are_small_and_note_where_their_panels_are():
    masks, _ = p.mask_grid({"causal": causal_mask(8, 8)})._repr_mimebundle_()
    assert len(masks["image/svg+xml"]) < 12_000

    def note(name):
        png = io.BytesIO(FIGURES[name][0]().png())
        return json.loads(Image.open(png).info["Parts"])

    heads, grid = note("head_maps"), note("head_grid")
    assert [column["labels"] for column in heads["columns"]] == [True, False, True]
    assert len(heads["maps"]) == 3  # two heads and a bar
    for left, top, right, bottom in heads["maps"][:2]:
        assert right - left >= 200 <= bottom - top
    assert len(grid["maps"]) == 2 * 4 + 1
    assert "columns" not in grid
    assert note("lines") == {"maps": []}
