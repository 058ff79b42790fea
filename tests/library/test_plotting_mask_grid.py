from xml.etree import ElementTree

import pytest
import torch

from attn_lib import causal_mask
from attn_lib.plotting import mask_grid

WORDS = ["trophy", "it", "big"]
CAUSAL = causal_mask(3, 3)


def svg(picture):
    return picture._repr_mimebundle_()["image/svg+xml"]


def test_grids_show_themselves_the_same_on_every_run():
    masks = {"causal": CAUSAL, "all": ~torch.zeros(3, 3).bool(), "none": CAUSAL & ~CAUSAL}
    assert svg(mask_grid(masks, WORDS)) == svg(mask_grid(masks, WORDS))


def test_panels_have_titles_and_share_the_labels_of_the_first():
    drawing = svg(mask_grid({"causal": CAUSAL, "reversed": CAUSAL.flip(0)}, WORDS))
    for label in ("causal", "reversed", "may attend", "may not attend", "query (row)"):
        assert drawing.count(f">{label}</text>") == 1
    assert drawing.count(">key (column)</text>") == 2
    for word in WORDS:  # one row, and the columns of two panels
        assert drawing.count(f">{word}</text>") == 3


def test_panels_of_different_sizes_have_labels_of_their_own():
    drawing = svg(mask_grid({"all": CAUSAL, "one": causal_mask(1, 2)}))
    assert drawing.count(">query (row)</text>") == 2


def test_the_file_is_well_formed_and_small():
    drawing = svg(mask_grid({"causal": causal_mask(8, 8)}))
    assert ElementTree.fromstring(drawing).tag.endswith("svg")
    assert len(drawing) < 12_000


def test_forbidden_cells_are_hatched():
    assert "<pattern" in svg(mask_grid({"causal": CAUSAL}))


def test_the_text_alternative_names_who_sees_whom():
    alt = repr(mask_grid({"causal": causal_mask(2, 2)}, ["it", "big"]))
    assert "causal: it to it; big to it, big." in alt
    assert "0 to none" in repr(mask_grid({"nothing": torch.zeros(1, 2).bool()}))


def test_panels_of_different_sizes_are_numbered():
    alt = repr(mask_grid({"all": CAUSAL, "one": causal_mask(1, 2)}))
    assert "one: 0 to 0, 1." in alt


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mask_grid({}), "at least one mask, got none"),
        (
            lambda: mask_grid({"ones": torch.ones(2, 2)}),
            r"the mask 'ones' to be boolean \(L, S\), got torch.float32 \(2, 2\)",
        ),
        (lambda: mask_grid({"pads": torch.ones(3).bool()}), r"got torch.bool \(3,\)"),
        (
            lambda: mask_grid({"causal": CAUSAL}, ["a", "b"]),
            r"expected a mask \(2, 2\).* got \(3, 3\)",
        ),
    ],
)
def test_value_error_names_expected_and_actual(call, message):
    with pytest.raises(ValueError, match=message):
        call()
