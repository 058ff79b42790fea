"""Panels of lines share labels and scale; lines on top of each other stay visible."""

import pytest

from attn_lib.plotting import line_panels

PANELS = {
    "codes": {"at 10": [0.0, 1.0, 0.0], "at 30": [0.0, 1.0, 0.0]},
    "projected": {"at 10": [2.0, 1.0, -1.0], "at 30": [0.5, 0.0, 3.0]},
}


def draw(panels=PANELS, **options):
    return line_panels([-1, 0, 1], panels, xlabel="offset", ylabel="score", **options)


def test_panels_share_one_scale_and_one_legend():
    picture = draw()
    left, right = picture.figure.axes
    assert left.get_ylim() == right.get_ylim()
    assert left.get_ylim()[0] < -1
    assert [axes.get_title() for axes in (left, right)] == list(PANELS)
    (legend,) = picture.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["at 10", "at 30"]


def test_a_line_on_top_of_another_is_thinner_and_dashed_otherwise():
    below, above = draw().figure.axes[0].lines
    assert above.get_linewidth() < below.get_linewidth()
    assert above.get_linestyle() != below.get_linestyle()
    assert above.get_color() != below.get_color()


def test_one_line_needs_no_legend():
    assert draw({"a": {"only": [1.0, 2.0, 3.0]}}).figure.legends == []


def test_the_text_gives_both_ends_of_every_line():
    assert draw(title="Shift").alt == (
        "Shift. Lines of score over offset, -1 to 1. codes: at 10 from 0.00 to 0.00; "
        "at 30 from 0.00 to 0.00. projected: at 10 from 2.00 to -1.00; at 30 from 0.50 to 3.00."
    )


def test_it_looks_the_same_on_every_run():
    first = draw()._repr_mimebundle_()
    assert draw()._repr_mimebundle_() == first
    for text in ("codes", "projected", "offset", "score", "at 10"):
        assert f">{text}</text>" in first["image/svg+xml"]


@pytest.mark.parametrize(
    ("panels", "match"),
    [
        ({}, "at least 1 panel, got none"),
        ({"a": {}}, "a: expected 1 to 4 lines, got 0"),
        ({"a": {str(i): [1.0] * 3 for i in range(5)}}, "a: expected 1 to 4 lines, got 5"),
        ({"a": {"b": [1.0]}}, "b: expected 3 values, as many as x, got 1"),
    ],
)
def test_what_cannot_be_drawn_is_a_value_error(panels, match):
    with pytest.raises(ValueError, match=match):
        draw(panels)
