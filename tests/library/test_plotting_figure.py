"""A figure is a value: what is drawn and what is said come from the same marks."""

import io

import matplotlib as mpl
import numpy as np
import torch
from PIL import Image

from attn_lib.plotting import head_grid
from attn_lib.plotting.figure import (
    Bars,
    Cells,
    Colors,
    Figure,
    Line,
    Panel,
    Runs,
    Scale,
    centered,
    describe,
    draw,
)
from attn_lib.plotting.labels import numbered
from attn_lib.plotting.style import ink_at

LINE = Line([1, 2], [3, 4], "a", {"color": "red"}, says="a ends at 4")


def test_a_figure_is_described_by_its_panels_and_these_by_their_marks():
    runs = Runs("b", [Line([1], [5])] * 2, says="b, 2 runs")
    panels = [Panel([LINE, runs], "one"), Panel([LINE], says="own words")]
    figure = Figure(panels, (4, 3), "Lines. ", title="Two")
    assert describe(figure) == "Two. Lines. one: a ends at 4; b, 2 runs. own words."
    assert describe(Figure([Panel([Bars([1])], "silent")], (4, 3), "Bars")) == "Bars."


def test_a_figure_is_drawn_with_its_scales_and_one_legend_for_all_panels():
    scale = Scale("x", 0, 9, [2, 4], ["two", "four"], turned=True)
    panels = [Panel([LINE], "left", scale), Panel([LINE], "right", scale)]
    drawn = draw(Figure(panels, (4, 3), legend="outside lower center", shared="y"))
    left, right = drawn.axes
    assert [axes.get_title() for axes in drawn.axes] == ["left", "right"]
    assert left.get_xlim() == (0, 9)
    assert [label.get_text() for label in left.get_xticklabels()] == ["two", "four"]
    assert left.get_shared_y_axes().joined(left, right)
    (legend,) = drawn.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a"]


def test_panels_beyond_the_last_are_empty_and_pyplot_knows_nothing_of_them():
    drawn = draw(Figure([Panel([LINE])] * 3, (4, 3), columns=2))
    assert [axes.axison for axes in drawn.axes] == [True, True, True, False]
    import matplotlib.pyplot as plt

    assert plt.get_fignums() == []


def test_panels_with_one_scale_of_colors_share_a_bar_and_others_have_their_own():
    def bars(*colors):
        panels = [Panel([Cells(torch.eye(2), each)]) for each in colors]
        labels = [axes.get_label() for axes in draw(Figure(panels, (4, 3))).axes]
        return labels.count("<colorbar>")

    assert bars(Colors(), Colors()) == 1
    assert bars(Colors(), Colors(high=2)) == 2
    assert bars(Colors(label="")) == 0


def test_a_centered_scale_has_zero_in_its_middle_and_ignores_what_is_not_finite():
    colors = centered(torch.tensor([1.0, -3.0, -torch.inf]), "score")
    assert (colors.low, colors.high) == (-3, 3)
    assert colors.norm(0) == 0.5
    assert (centered(torch.zeros(2), "score").low, Colors(power=0.5).norm(0.25)) == (
        -1,
        0.5,
    )


def test_a_panel_with_its_own_box_lies_there_to_the_dot():
    (axes,) = draw(Figure([Panel([LINE])], (4, 2), box=(1, 0.5, 2, 1))).axes
    assert axes.get_position().bounds == (0.25, 0.25, 0.5, 0.5)


def test_numbers_can_be_read_on_every_color_of_the_scale():
    """The contrast of black or white text is at least 4.5 everywhere (WCAG AA)."""
    for name in ("cividis", "PuOr"):
        rgb = mpl.colormaps[name](np.arange(256))[:, :3]
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        light = linear @ [0.2126, 0.7152, 0.0722]
        inks = [ink_at(mpl.colormaps[name], level / 255) for level in range(256)]
        black = np.array(inks) == "black"
        contrast = np.where(black, (light + 0.05) / 0.05, 1.05 / (light + 0.05))
        assert contrast.min() >= 4.5, name


def test_a_few_colors_keep_those_of_rare_cells():
    """One weight of 1 among 7200 is drawn in the brightest color of the scale, not near it."""
    weights = torch.zeros(5, 10, 12, 12)
    weights[0, 0, 0, 0] = 1
    png = head_grid(weights).png()
    pixels = np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int)
    brightest = np.array(mpl.colormaps["cividis"](1.0)[:3]) * 255
    bright = abs(pixels - brightest).max(axis=-1) < 12
    _, columns = bright.nonzero()
    assert (columns < bright.shape[1] / 4).sum() >= 9


def test_repeated_tokens_and_spaces_are_told_apart():
    assert numbered(["the", "cat", "the", " ", " "]) == ["the₁", "cat", "the₂", "␣₁", "␣₂"]
