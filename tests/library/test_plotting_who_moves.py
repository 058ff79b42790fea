"""The grids say whose output moves, and name it in words."""

import pytest
import torch
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from attn_lib.plotting import who_moves

SENTENCES = [["it", "was", "big"], ["she", "was", "small"]]
LATER = torch.tensor([[0.0, 0.0, 0.0], [0.0, 0.5, 1e-3]])


def fills(axes):
    """Return the fill of every cell, row by row; the frame of the changed word has none."""
    cells = [p for p in axes.patches if isinstance(p, Rectangle) and p.get_fill()]
    return [to_hex(cell.get_facecolor()) for cell in cells]


def test_only_what_moved_is_filled():
    moved, still = "#fbdcc2", "#ffffff"
    (axes,) = who_moves(SENTENCES, {"attention": LATER}, (1, 1)).figure.axes
    assert fills(axes) == [still] * 4 + [moved] * 2


def test_moves_of_rounding_do_not_count():
    (axes,) = who_moves(SENTENCES, {"a": LATER * 0 + 1e-6}, (1, 1)).figure.axes
    assert set(fills(axes)) == {"#ffffff"}


def test_the_changed_word_has_a_frame_in_every_part():
    picture = who_moves(SENTENCES, {"a": LATER, "b": LATER}, (1, 1))
    for axes in picture.figure.axes:
        (frame,) = (p for p in axes.patches if not p.get_fill())
        assert 1 < frame.get_x() < frame.get_x() + frame.get_width() < 2
        assert 1 < frame.get_y() < frame.get_y() + frame.get_height() < 2


def test_the_text_says_who_moves():
    moves = {"attention": LATER, "batch": LATER + 1, "nothing": LATER * 0}
    assert who_moves(SENTENCES, moves, (1, 1)).alt == (
        "Whose output moves when 'was' in sentence 2 changes. attention: was, small in sentence 2. "
        "batch: every word of every sentence. nothing: none."
    )


@pytest.mark.parametrize(
    ("moves", "match"),
    [({}, "at least one part"), ({"a": LATER[:, :2]}, r"a: expected moves \(2, 3\), got")],
)
def test_what_cannot_be_drawn_is_a_value_error(moves, match):
    with pytest.raises(ValueError, match=match):
        who_moves(SENTENCES, moves, (1, 1))
