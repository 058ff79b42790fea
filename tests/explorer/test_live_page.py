"""The pages in which a model runs, as Python writes them; tests/browser/test_live_page.py uses them."""

import json
import re

import pytest
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers
from torch import nn

from attn_lib import GroupedQueryAttention, explorer
from attn_lib.llama import Llama, LlamaConfig
from attn_lib.minilm import MiniLM
from attn_lib.own_attention import use_own_attention

ALPHABET = sorted(pre_tokenizers.ByteLevel.alphabet())


def bpe(**options):
    vocab = {char: i for i, char in enumerate([*ALPHABET, "he"])}
    made = Tokenizer(models.BPE(vocab, [("h", "e")], **options))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(["<|end|>"])
    return made


def small_llama(**sizes):
    torch.manual_seed(0)
    sizes = {"vocab_size": 258, "d_model": 16, "num_heads": 4, "num_kv_heads": 2} | sizes
    return Llama(LlamaConfig(num_layers=2, d_ff=24, max_len=32, **sizes))


class Own(nn.Module):
    """A learner's attention, which holds the projections under their names."""

    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__()
        self.num_heads = num_heads
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=False))

    def forward(self, x, mask=None):
        q, k, v = (
            proj(x).unflatten(-1, (heads, -1)).transpose(1, 2)
            for proj, heads in ((self.q_proj, 4), (self.k_proj, 2), (self.v_proj, 2))
        )
        out = nn.functional.scaled_dot_product_attention(q, k, v, mask, enable_gqa=True)
        return self.o_proj(out.transpose(1, 2).flatten(-2))


def told(path):
    """Return the text of a page and the numbers in it."""
    text = path.read_text(encoding="utf-8")
    return text, json.loads(re.search(r'id="about">(.*?)</script>', text)[1])


def test_a_page_is_one_file_that_names_its_size_and_may_ask_for_nothing(tmp_path):
    path = explorer.page(
        small_llama(), bpe(), tmp_path / "x.html", title="<Mine>", start="</script>"
    )
    text, about = told(path)
    assert path == tmp_path / "x.html"
    assert list(tmp_path.iterdir()) == [path]
    assert text.count("</script>") == 3
    assert "<h1>&lt;Mine&gt;</h1>" in text
    assert about["start"] == "</script>"
    count = sum(p.numel() for p in small_llama().parameters())
    assert f"{count:,} parameters" in text
    assert f"{path.stat().st_size / 1e6:.1f} MB" in text
    assert "default-src 'none'" in text
    assert "connect-src 'none'" in text
    assert not re.search(r"^(import|export) ", text, re.MULTILINE)


def test_a_model_with_a_learners_attention_has_the_same_page(tmp_path):
    model = small_llama()
    before = explorer.page(model, bpe(), tmp_path / "a.html").read_bytes()
    use_own_attention(model, Own)
    assert not isinstance(model.blocks[0].attn, GroupedQueryAttention)
    assert explorer.page(model, bpe(), tmp_path / "b.html").read_bytes() == before


def test_the_weights_of_a_language_model_can_be_apart(tmp_path):
    path = explorer.page(small_llama(), bpe(), tmp_path / "x.html", apart=True)
    text, about = told(path)
    whole, _ = told(explorer.page(small_llama(), bpe(), tmp_path / "y.html"))
    weights = re.search(r'id="weights">(.+?)</script>', whole)[1]
    assert (tmp_path / "x.js").read_text() == f'globalThis.weights = "{weights}";\n'
    assert weights not in text
    assert about["weights"] == "x.js"
    assert about["weights_size"] * 4 / 3 == pytest.approx(len(weights), abs=4)


def test_the_encoder_has_its_weights_beside_the_page(tmp_path):
    class Few:
        def get_vocab(self):
            return {"[CLS]": 0, "[SEP]": 1, "a": 2}

        def get_added_tokens_decoder(self):
            return {0: AddedToken("[CLS]"), 1: AddedToken("[SEP]")}

    path = explorer.page(MiniLM(Few()), None, tmp_path / "e.html", head=(5, 11))
    _, about = told(path)
    assert about["weights"] == "e.bin"
    assert about["weights_size"] == (tmp_path / "e.bin").stat().st_size
    assert about["tokenizer"] == {
        "tokens": ["[CLS]", "[SEP]", "a"],
        "special": {"[CLS]": 0, "[SEP]": 1},
    }


def with_part(name, value):
    made = bpe()
    setattr(made, name, value)
    return made


@pytest.mark.parametrize(
    ("tokenizer", "message"),
    [
        (Tokenizer(models.WordLevel({"a": 0}, "a")), "byte-level BPE.* got .*WordLevel"),
        (Tokenizer(models.BPE()), "byte-level BPE.* got .*'type': None"),
        (
            with_part("pre_tokenizer", pre_tokenizers.ByteLevel(True)),
            "got .*'add_prefix_space': True",
        ),
        (
            with_part("normalizer", normalizers.Lowercase()),
            "nothing else, got .*normalizer.*Lowercase",
        ),
        (bpe(dropout=0.1), "nothing else, got .*dropout"),
        (bpe(unk_token="!"), "nothing else, got .*unk_token"),
    ],
    ids=["words", "no bytes", "prefix", "normalizer", "dropout", "unknown"],
)
def test_value_error_for_another_tokenizer(tokenizer, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        explorer.page(small_llama(), tokenizer, tmp_path / "x.html")
    assert not list(tmp_path.iterdir())


def test_value_error_for_what_does_not_fit(tmp_path):
    path = tmp_path / "x.html"
    with pytest.raises(ValueError, match=r"a tokenizer of 300 tokens, got 258"):
        explorer.page(small_llama(vocab_size=300), bpe(), path)
    with pytest.raises(ValueError, match=r"at most 6,000,000 bytes, got 9,\d{3},\d{3}"):
        explorer.page(small_llama(d_model=1024), bpe(), path)
    with pytest.raises(ValueError, match=r"a head below \(2, 4\), got \(2, 0\)"):
        explorer.page(small_llama(), bpe(), path, head=(2, 0))
    with pytest.raises(ValueError, match=r"ends in .html, got x.htm"):
        explorer.page(small_llama(), bpe(), tmp_path / "x.htm")
    model = small_llama()
    model.blocks[1].attn.k_proj = nn.Linear(16, 16, bias=False)
    with pytest.raises(
        ValueError, match=r"block 1 with k_proj.weight of \(8, 16\), got \(16, 16\)"
    ):
        explorer.page(model, bpe(), path)
    model.blocks[1].attn.k_proj = nn.Linear(16, 8)
    with pytest.raises(ValueError, match=r"a k_proj without bias in block 1"):
        explorer.page(model, bpe(), path)
    del model.blocks[0].ff.up_proj
    with pytest.raises(
        ValueError, match=r"block 0 with up_proj.weight of \(24, 16\), got none"
    ):
        explorer.page(model, bpe(), path)
    assert not list(tmp_path.iterdir())


def test_type_error_for_another_class(tmp_path):
    path = tmp_path / "x.html"
    with pytest.raises(TypeError, match=r"a tokenizers.Tokenizer, got str"):
        explorer.page(small_llama(), "words", path)
    for model, tokenizer in ((nn.Linear(2, 2), bpe()), (MiniLM(None), bpe())):
        with pytest.raises(TypeError, match=rf"got {type(model).__name__} and Tokenizer"):
            explorer.page(model, tokenizer, path)
