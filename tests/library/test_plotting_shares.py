"""Every bar is as long as every other, and is cut by share."""

import pytest

from attn_lib.plotting import shares

PARTS = {"blocks": [30.0, 99.0], "embedding": [10.0, 1.0]}


def test_the_parts_of_a_bar_are_its_shares_one_after_the_other():
    (axes,) = shares(PARTS, ["small", "large"], xlabel="share (%)").figure.axes
    blocks, embedding = axes.containers
    assert [bar.get_width() for bar in blocks] == [75, 99]
    assert [(bar.get_x(), bar.get_width()) for bar in embedding] == [(75, 25), (99, 1)]


def test_a_share_too_small_to_hold_its_number_has_none():
    (axes,) = shares(PARTS, ["small", "large"], xlabel="share (%)").figure.axes
    assert [text.get_text() for text in axes.texts] == ["75", "99", "25", ""]


def test_the_text_says_all_shares():
    assert shares(PARTS, ["small", "large"], xlabel="share (%)", title="Where").alt == (
        "Where. Bars of share (%). small: blocks 75, embedding 25; large: blocks 99, embedding 1."
    )


@pytest.mark.parametrize(
    ("parts", "match"),
    [
        ({}, "1 to 4 parts, got 0"),
        ({str(i): [1.0, 1.0] for i in range(5)}, "1 to 4 parts, got 5"),
        ({"blocks": [1.0]}, "one amount for each of 2 labels, got 1"),
    ],
)
def test_what_cannot_be_drawn_is_a_value_error(parts, match):
    with pytest.raises(ValueError, match=match):
        shares(parts, ["small", "large"], xlabel="share (%)")
