"""The program that trains an own model, on a text of a few sentences."""

import signal
import sys

import pytest

from attn_lib.data.own_model import load_own_model, new_model
from attn_lib.programs import train_own
from attn_lib.recipe import Run

TEXTS = [
    f"Return the {thing} of the {other}."
    for thing in ("sum", "mean", "size")
    for other in ("rows", "keys", "heads")
]
SMALL = dict(d_model=16, num_heads=4, num_kv_heads=2, num_layers=1, d_ff=24, max_len=16)


@pytest.fixture
def train(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(train_own, "documentation", lambda: (TEXTS * 4, TEXTS))
    monkeypatch.setattr(train_own, "NUM_MERGES", 20)
    monkeypatch.setattr(
        train_own, "new_model", lambda vocab_size: new_model(vocab_size, **SMALL)
    )
    steps = {"steps": 20, "warmup": 2, "batch_size": 2, "length": 8}
    monkeypatch.setattr(train_own, "SHORT", steps)
    path = tmp_path / "mine.safetensors"
    monkeypatch.setattr(sys, "argv", ["train_own", str(path), "--short"])

    def run():
        train_own.main()
        return path, capsys.readouterr().out

    return run


def test_it_trains_writes_and_says_whose_code_runs(train):
    path, said = train()
    assert "sample_next: the library's version stands in" in said
    assert "Talk to it" in said
    model, tokenizer = load_own_model(path)
    assert model.config.d_model == 16
    assert tokenizer.get_vocab_size() == 1 + 256 + 20
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    with pytest.raises(SystemExit, match="is there already"):
        train()


def test_ctrl_c_keeps_what_there_is_and_the_same_command_goes_on(train, monkeypatch):
    learn = Run.learn

    def interrupted(self, *arguments):
        if self.step == 6:
            signal.raise_signal(signal.SIGINT)
        return learn(self, *arguments)

    monkeypatch.setattr(Run, "learn", interrupted)
    with pytest.raises(SystemExit, match="Kept after step 7"):
        train()
    path, said = train()
    assert "Going on after step 7" in said
    assert path.exists()


def test_a_run_on_another_text_is_not_gone_on_with(train, monkeypatch):
    learn = Run.learn

    def interrupted(self, *arguments):
        signal.raise_signal(signal.SIGINT)
        return learn(self, *arguments)

    monkeypatch.setattr(Run, "learn", interrupted)
    with pytest.raises(SystemExit, match="Kept after step 1"):
        train()
    monkeypatch.setattr(train_own, "documentation", lambda: (TEXTS * 3, TEXTS))
    with pytest.raises(SystemExit, match="is of another run"):
        train()


def test_a_piece_that_does_not_fit_is_said_and_left_out(train, monkeypatch):
    def refuse(model, pieces):
        raise ValueError("expected RMSNorm to compute what the model's own does")

    monkeypatch.setattr(train_own, "own_twin", refuse)
    path, said = train()
    assert "expected RMSNorm" in said
    assert path.exists()


def test_a_folder_that_is_not_there_is_said_before_all_else(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "argv", ["train_own", str(tmp_path / "none" / "mine")])
    with pytest.raises(SystemExit, match="no folder"):
        train_own.main()


def test_merges_that_differ_are_said(capsys):
    words = train_own.Counter(["aa", "ab", "abab"])
    merges = train_own.find_merges(words, lambda words, num_merges: [("b", "a")])
    assert merges[0] == ("a", "b")
    assert "Your train_bpe differs" in capsys.readouterr().out
