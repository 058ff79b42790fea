"""The own model: its tokenizer, its file, and the text it reads."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from attn_lib.data import documentation
from attn_lib.data.own_model import (
    load_own_model,
    new_model,
    new_tokenizer,
    save_own_model,
    token_ids,
)

MERGES = [("t", "h"), ("th", "e"), ("Ġ", "the")]
SMALL = dict(d_model=16, num_heads=4, num_kv_heads=2, num_layers=2, d_ff=24, max_len=32)


def test_merges_are_the_tokenizers():
    tokenizer = new_tokenizer(MERGES)
    assert tokenizer.encode("the other").tokens == ["the", "Ġ", "o", "the", "r"]
    assert tokenizer.get_vocab_size() == 1 + 256 + 3


@pytest.mark.parametrize("text", ["the θ\n\t the", "", "\x00"])
def test_any_text_comes_back(text):
    tokenizer = new_tokenizer(MERGES)
    ids = tokenizer.encode(text).ids
    assert 0 not in ids
    assert tokenizer.decode(ids) == text


def test_documents_stand_in_a_row_with_an_end_after_each():
    tokenizer = new_tokenizer(MERGES)
    ids = token_ids(tokenizer, ["the", "e"])
    assert ids.tolist() == [tokenizer.token_to_id("the"), 0, tokenizer.token_to_id("e"), 0]


def test_an_untrained_model_guesses_evenly():
    torch.manual_seed(0)
    model = new_model(260, **SMALL)
    logits = model(torch.randint(260, (4, 30)))
    assert logits.std() < 0.1
    assert all(p.requires_grad for p in model.parameters())


def test_a_saved_model_comes_back_rounded_with_its_tokenizer(tmp_path):
    torch.manual_seed(0)
    model = new_model(260, **SMALL)
    save_own_model(model, MERGES, tmp_path / "a.safetensors", {"steps": 3})
    again, tokenizer = load_own_model(tmp_path / "a.safetensors")
    assert again.config == model.config
    saved = load_file(tmp_path / "a.safetensors")
    assert {
        t.dtype
        for name, t in saved.items()
        if t.ndim == 2 and ".scale" not in name and "/scale" not in name
    } == {torch.int8}
    assert (
        tokenizer.encode("the other").ids == new_tokenizer(MERGES).encode("the other").ids
    )
    for (name, old), new in zip(model.named_parameters(), again.parameters(), strict=True):
        step = old.abs().amax(-1, keepdim=True) / 127 if old.ndim == 2 else 0.0
        assert ((old - new).abs() <= 0.51 * step).all(), name
    save_own_model(again, MERGES, tmp_path / "b.safetensors", {"steps": 3})
    twice = load_own_model(tmp_path / "b.safetensors")[0]
    torch.testing.assert_close(twice.state_dict(), again.state_dict())


def test_another_file_is_refused(tmp_path):
    config = json.dumps({"sizes": {}})
    save_file({"a": torch.ones(2)}, tmp_path / "a", {"config": config, "sha256": "0"})
    with pytest.raises(ValueError, match="is not what was written"):
        load_own_model(tmp_path / "a")
    with pytest.raises(FileNotFoundError):
        load_own_model(tmp_path / "b")


@pytest.mark.parametrize(
    ("paragraph", "expected"),
    [
        (
            "Return the next item from the generator. When exhausted, raise StopIteration.",
            True,
        ),
        ("Return the item.", False),
        (
            "return the next item from the generator. When exhausted, raise StopIteration.",
            False,
        ),
        (
            "Return the next item from the generator. When exhausted, raise StopIteration",
            False,
        ),
        (
            "Return (a + b) * (c + d) / (e - f) and [g, h, i] of the generator = {x: y, z: 1}.",
            False,
        ),
        (
            "Gibt das nächste Element des Generators zurück, solange noch eines da ist, sonst nichts.",
            False,
        ),
    ],
)
def test_sentences_are_prose(paragraph, expected):
    assert documentation.is_prose(paragraph) == expected


def test_documents_are_the_paragraphs_of_docstrings(tmp_path, monkeypatch):
    said = [
        f"{word} is a sentence that is long enough to be prose, if it is counted well."
        for word in ("First", "Second", "Third")
    ]
    one = f'def f():\n    """{said[0]}\n\n    Notes\n    -----\n    {said[1]}\n    """\n\ndef g():\n    """short"""\n'
    two = f"def h():\n    '''{said[1]}\n\n    {said[2]}\n    '''\n"
    files = [tmp_path / "one.py", tmp_path / "two.py"]
    for path, text in zip(files, (one, two), strict=True):
        path.write_text(text)
    monkeypatch.setattr(documentation, "_files", lambda: files)
    train, test = documentation.documentation()
    assert (train, test) == ([said[2]], ["\n".join(said[:2])])


@pytest.mark.slow
def test_there_are_megabytes_of_it():
    train, test = documentation.documentation()
    assert sum(map(len, train)) > 5e6
    assert 0.02 < sum(map(len, test)) / sum(map(len, train)) < 0.1
    assert not set(train) & set(test)
