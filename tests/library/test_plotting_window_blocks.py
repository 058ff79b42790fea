"""The band of a window, and what its blocks compute, are drawn as the masks say."""

import pytest
import torch

from attn_lib import sliding_window_mask
from attn_lib.plotting import window_blocks
from attn_lib.plotting.window_blocks import ATTENDS, NEVER


def panels(length, window):
    """Return the cells of both panels."""
    axes = window_blocks(length, window).figure.axes
    shapes = (length, length), (length, 2 * window)
    arrays = (torch.tensor(a.collections[0].get_array()).flatten() for a in axes)
    return [cells.view(shape) for cells, shape in zip(arrays, shapes, strict=True)]


def test_two_blocks_of_two_by_hand():
    pairs, folded = panels(4, 2)
    assert pairs.tolist() == [[2, 1, 0, 0], [2, 2, 0, 0], [1, 2, 2, 1], [1, 1, 2, 2]]
    assert folded.tolist() == [[1, 1, 2, 1], [1, 1, 2, 2], [1, 2, 2, 1], [1, 1, 2, 2]]


@pytest.mark.parametrize(("length", "window"), [(16, 4), (6, 6), (5, 1), (32, 8)])
def test_the_band_is_the_librarys_mask_and_folding_loses_none_of_it(length, window):
    pairs, folded = panels(length, window)
    assert torch.equal(pairs == ATTENDS, sliding_window_mask(length, length, window))
    for cells in (pairs, folded):
        assert (cells == ATTENDS).sum() == sliding_window_mask(length, length, window).sum()
    assert not (folded == NEVER).any()


def test_it_looks_the_same_on_every_run_and_says_what_is_saved():
    picture = window_blocks(16, 4)
    assert picture._repr_mimebundle_() == window_blocks(16, 4)._repr_mimebundle_()
    assert "128 pairs are computed instead of 256" in repr(picture)


@pytest.mark.parametrize(("length", "window"), [(16, 5), (64, 8), (4, 8), (4, 0)])
def test_value_error_names_expected_and_actual(length, window):
    with pytest.raises(
        ValueError, match=f"multiple of the window, got {length} and {window}"
    ):
        window_blocks(length, window)
