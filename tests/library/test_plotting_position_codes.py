"""A table of codes is drawn beside the dot products of some of its rows."""

import pytest
import torch

from attn_lib.plotting import position_codes

CODES = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])


def test_the_products_are_those_of_a_row_with_all_rows():
    _, right, _ = position_codes(CODES, [0, 1]).figure.axes
    curves = {line.get_label(): list(line.get_ydata()) for line in right.lines}
    assert curves["position 0"] == [1, 0, -1]
    assert curves["position 1"] == [0, 1, 0]


def test_the_colors_of_the_table_are_centered_on_zero():
    left = position_codes(2 * CODES, [0]).figure.axes[0]
    assert left.images[0].get_clim() == (-2, 2)
    assert (left.get_xlabel(), left.get_ylabel()) == ("channel", "position")


def test_the_text_says_how_alike_the_ends_are():
    assert position_codes(CODES, [0, 1], title="Turns").alt == (
        "Turns. Colors of 3 codes of 2 numbers, and dot products "
        "of position 0: 1.00 with itself, 1.00 with 0, -1.00 with 2; "
        "of position 1: 1.00 with itself, 0.00 with 0, 0.00 with 2."
    )


def test_it_looks_the_same_on_every_run():
    first = position_codes(CODES, [0, 2])._repr_mimebundle_()
    assert position_codes(CODES, [0, 2])._repr_mimebundle_() == first


@pytest.mark.parametrize("positions", [[], [3], [-1], [0, 1, 2, 0, 1]])
def test_value_error_names_expected_and_actual(positions):
    with pytest.raises(ValueError, match=r"1 to 4 positions from 0 to 2, got \["):
        position_codes(CODES, positions)
