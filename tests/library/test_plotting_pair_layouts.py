"""The pairs that RoPE turns are drawn in both layouts, as the library lays them out."""

import pytest
import torch
from matplotlib.patches import Arc

from attn_lib import apply_rope, half_split_order
from attn_lib.plotting import pair_layouts


def test_every_pair_has_an_arc_from_its_first_to_its_second_channel():
    arcs = [p for p in pair_layouts(4).figure.axes[0].patches if isinstance(p, Arc)]
    ends = [(arc.center[0] - arc.width / 2, arc.center[0] + arc.width / 2) for arc in arcs]
    assert ends == [(0.5, 2.5), (1.5, 3.5), (0.5, 1.5), (2.5, 3.5)]


def test_half_split_is_what_the_library_turns_together():
    """Channel 0 reaches channel 4 alone: the first pair of eight channels."""
    turned = apply_rope(torch.eye(8)[:1].view(1, 1, 1, 8), torch.tensor([1]))
    assert turned.flatten().nonzero().flatten().tolist() == [0, 4]
    text = repr(pair_layouts(8))
    assert "half-split: pair 0 is 0 and 4, pair 1 is 1 and 5" in text
    assert "interleaved: pair 0 is 0 and 1, pair 1 is 2 and 3" in text
    assert half_split_order(8)[[0, 4]].tolist() == [0, 1]


def test_it_looks_the_same_on_every_run():
    first = pair_layouts()._repr_mimebundle_()
    assert pair_layouts()._repr_mimebundle_() == first
    for text in ("half-split", "interleaved", "pair 3"):
        assert f">{text}</text>" in first["image/svg+xml"]


@pytest.mark.parametrize("head_dim", [0, 3, 10])
def test_value_error_names_expected_and_actual(head_dim):
    with pytest.raises(ValueError, match=f"even head_dim from 2 to 8, got {head_dim}"):
        pair_layouts(head_dim)
