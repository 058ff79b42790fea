import pytest
import torch

from attn_lib import encoder_decoder_masks
from attn_lib.plotting import three_masks

SOURCE, TARGET = ["what", "fit", "<pad>"], ["<bos>", "it"]
MASKS = encoder_decoder_masks(torch.tensor([[3, 4, 0]]), torch.tensor([[1, 3]]), 0)


def svg(picture):
    return picture._repr_mimebundle_()["image/svg+xml"]


def test_three_panels_have_titles_labels_and_hatched_cells():
    drawing = svg(three_masks(MASKS, SOURCE, TARGET))
    assert drawing == svg(three_masks(MASKS, SOURCE, TARGET))
    for title in ("1. encoder: input on input", "3. cross: output on input"):
        assert f">{title}</text>" in drawing
    assert drawing.count(">what</text>") == drawing.count(">it</text>") == 3
    assert "<pattern" in drawing


def test_the_text_alternative_names_who_sees_whom():
    alt = repr(three_masks(MASKS, SOURCE, TARGET))
    assert "2. decoder: output on output: <bos> to <bos>; it to <bos>, it." in alt
    assert "3. cross: output on input: <bos> to what, fit; it to what, fit." in alt


@pytest.mark.parametrize(
    ("masks", "message"),
    [
        (MASKS[:2], "three masks, got 2"),
        (
            (MASKS[0].float(), *MASKS[1:]),
            r"encoder.* boolean .*\(1, 1, 3, 3\), got torch.float32 \(1, 1, 1, 3\)",
        ),
        ((MASKS[0], MASKS[0], MASKS[2]), r"decoder.*\(1, 1, 2, 2\), got .*\(1, 1, 1, 3\)"),
    ],
)
def test_value_error_names_expected_and_actual(masks, message):
    with pytest.raises(ValueError, match=message):
        three_masks(masks, SOURCE, TARGET)
