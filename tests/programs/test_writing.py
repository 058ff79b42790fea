"""A model of characters out of a checkpoint, and how it writes."""

import threading
import time

import pytest
import torch

from attn_lib.checkpoint import save_checkpoint
from attn_lib.programs.writing import UNTRAINED, load_model, write


def test_a_checkpoint_gives_back_its_model(tmp_path):
    model, vocabulary = load_model(None)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(1)
    save_checkpoint(model, UNTRAINED, tmp_path / "model")
    loaded, again = load_model(tmp_path / "model")
    assert again == vocabulary == UNTRAINED["vocabulary"]
    assert not loaded.training
    for name, tensor in loaded.state_dict().items():
        assert torch.equal(tensor, model.state_dict()[name]), name


def test_what_is_no_language_model_is_refused(tmp_path):
    model, _ = load_model(None)
    save_checkpoint(model, {**UNTRAINED, "num_layers": 1}, tmp_path / "model")
    with pytest.raises(ValueError, match="does not hold a language model"):
        load_model(tmp_path / "model")


def test_it_writes_the_likeliest_tokens_until_there_are_enough():
    model, ids = load_model(None)[0], [5, 6, 7]
    written = write(model, ids, 6, time.monotonic() + 60, threading.Event())
    for token in written:
        assert model(torch.tensor([ids]))[0, -1].argmax() == token
        ids.append(token)
    assert len(written) == 6


@pytest.mark.parametrize("is_set", [True, False])
def test_it_ends_where_it_is_told_to_or_the_time_is_over(is_set):
    stop = threading.Event()
    deadline = time.monotonic() + 60 * is_set
    if is_set:
        stop.set()
    assert write(load_model(None)[0], [1], 6, deadline, stop) == []
