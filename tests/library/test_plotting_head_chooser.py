import base64
import io

import pytest
import torch
from PIL import Image

from attn_lib.plotting.head_chooser import HeadChooser

WIDGET = "application/vnd.jupyter.widget-view+json"


def attend(text):
    """A model of two layers of three heads; the head of each sees the token at its number."""
    tokens = text.split()
    if not tokens:
        raise ValueError("expected a word")
    weights = torch.zeros(2, 3, len(tokens), len(tokens))
    for head in range(3):
        weights[:, head, :, min(head, len(tokens) - 1)] = 1
    weights[1] = weights[1].flip(0)
    return tokens, weights


@pytest.fixture
def chooser():
    return HeadChooser(attend, "it is big", start=(0, 1))


def test_it_shows_widgets_and_a_picture_where_no_kernel_runs(chooser):
    bundle = chooser._repr_mimebundle_()
    assert set(bundle) == {WIDGET, "text/plain", "image/png"}
    assert Image.open(io.BytesIO(base64.b64decode(bundle["image/png"]))).format == "PNG"
    assert bundle["text/plain"].startswith(
        "Layer 0, head 1. The largest weight of each row: it to is"
    )


def test_a_click_on_a_head_shows_it_and_marks_its_button(chooser):
    before = chooser.map.value
    chooser.heads[2].click()
    assert "head 2" in chooser.status.value
    assert "it to big" in chooser.status.value
    assert chooser.map.value != before
    assert [button.button_style for button in chooser.heads] == ["", "", "primary"]


def test_another_layer_changes_the_small_maps_and_keeps_the_head(chooser):
    before = [thumbnail.value for thumbnail in chooser.thumbnails]
    chooser.layers.value = 1
    after = [thumbnail.value for thumbnail in chooser.thumbnails]
    assert after == before[::-1]
    assert chooser.status.value.startswith("Layer 1, head 1.")


def test_a_new_text_is_read_by_the_model(chooser):
    chooser.heads[0].click()
    chooser.text.value = "too big"
    assert chooser.status.value == (
        "Layer 0, head 0. The largest weight of each row: too to too, big to too."
    )


def test_a_text_that_the_model_refuses_leaves_the_map_and_says_why(chooser):
    before = chooser.map.value
    chooser.text.value = ""
    assert chooser.status.value == "This text did not work: expected a word"
    assert chooser.map.value == before
    chooser.text.value = "it is"
    assert chooser.status.value.startswith("Layer 0, head 1.")


def test_words_of_the_learner_are_shown_as_text_not_as_html(chooser):
    chooser.text.value = "<b>it</b> is"
    assert "<b>" not in chooser.status.value


def test_value_error_names_expected_and_actual():
    with pytest.raises(ValueError, match=r"below \(2, 3\), got \(2, 0\)"):
        HeadChooser(attend, "it is big", start=(2, 0))
    with pytest.raises(ValueError, match=r"H, 1, 1\), got \(1, 2, 2\)"):
        HeadChooser(lambda text: (["a"], torch.zeros(1, 2, 2)), "a")
