"""The figures of the last lesson: each shows the numbers that it was given."""

import pytest
import torch

from attn_lib.plotting import agreement, layer_heads, token_times

LABELS = {"xlabel": "without (nats)", "ylabel": "with"}


def test_agreement_has_a_dot_for_each_thing_and_names_some():
    picture = agreement(
        [1.0, -2.0], [3.0, -1.0], ["bear", "cave"], named=["bear"], **LABELS
    )
    (axes,) = picture.figure.axes
    dots = next(
        line
        for line in axes.lines
        if len(line.get_xdata()) == 2 and line.get_marker() == "o"
    )
    assert (list(dots.get_xdata()), list(dots.get_ydata())) == ([1, -2], [3, -1])
    (text,) = axes.texts
    assert (text.get_text(), text.xy) == ("bear", (1.0, 3.0))
    assert picture.alt == (
        "2 dots: with over without (nats). Above zero: 1 and 1. bear 1.0 and 3.0."
    )


def test_layer_heads_maps_layers_across_and_heads_down():
    scores = torch.tensor([[0.1, 0.9, 0.2], [0.3, 0.4, 0.5]])
    picture = layer_heads({"copies": scores})
    image = picture.figure.axes[0].images[0]
    assert image.get_array().shape == (3, 2)
    assert image.get_array()[1, 0] == pytest.approx(0.9)
    assert image.get_clim() == (0, 1)
    assert "copies: 0.1 0.90, 1.2 0.50" in picture.alt


def test_token_times_stand_end_to_end_beside_their_floor():
    picture = token_times({"float32": (30.0, 10.0, 25.0)}, floor="memory")
    (axes,) = picture.figure.axes
    (products,), (rest,) = axes.containers
    assert products.get_width() == rest.get_x() == 30
    assert rest.get_width() == 10
    assert [line.get_xdata()[0] for line in axes.lines] == [25]
    assert "25 tokens/s" in [text.get_text() for text in axes.texts]
    assert (
        picture.alt == "Bars of ms a token. float32: products 30, all else 10, memory 25."
    )


@pytest.mark.parametrize(
    ("draw", "match"),
    [
        (lambda: agreement([1.0], [1.0, 2.0], ["a"], **LABELS), "got 1, 2 and 1"),
        (lambda: agreement([1.0], [1.0], ["a"], named=["b"], **LABELS), r"got \['b'\]"),
        (lambda: layer_heads({}), "one shape"),
        (lambda: layer_heads({"a": torch.ones(2, 2), "b": torch.ones(2, 3)}), "one shape"),
        (lambda: layer_heads({"a": torch.full((2, 2), 1.5)}), "between 0 and 1"),
        (lambda: token_times({}, floor="x"), "three positive times"),
        (lambda: token_times({"a": (1.0, 0.0, 1.0)}, floor="x"), "three positive times"),
    ],
)
def test_what_cannot_be_drawn_is_a_value_error(draw, match):
    with pytest.raises(ValueError, match=match):
        draw()
