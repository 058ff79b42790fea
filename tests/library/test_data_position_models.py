"""The models that differ in their positions only: as their recipe says, and trained."""

import pytest
import torch

from attn_lib.checkpoint import load_checkpoint
from attn_lib.data.position_models import (
    FOLDER,
    RATE,
    SCHEMES,
    SEEDS,
    STEPS,
    TRAINED,
    bits,
    learn,
    new_model,
    trained,
)
from attn_lib.data.text import random_windows, split_help


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_models_are_those_of_the_recipe_and_read_the_help(scheme):
    path = FOLDER / f"{scheme}.safetensors"
    _, config = load_checkpoint(path)  # compares the hash
    assert path.stat().st_size < 1e6
    assert (config["steps"], config["lr"], config["seeds"]) == (STEPS, RATE, list(SEEDS))
    models, vocabulary = trained(scheme)
    _, test, _ = split_help(vocabulary)
    generator = torch.Generator().manual_seed(5)
    text = random_windows(test, TRAINED + 1, 64, generator=generator)
    for model in models:
        assert bits(model(text[:, :-1]), text[:, 1:]) < (3.2 if scheme == "none" else 2.6)
    assert not torch.equal(models[0].head.weight, models[1].head.weight)


def test_the_recipe_lowers_the_loss():
    ids, _, vocabulary = split_help()
    model = new_model("RoPE", len(vocabulary), 0)
    text = random_windows(ids, TRAINED + 1, 64)
    before = bits(model(text[:, :-1]), text[:, 1:]).item()
    assert bits(learn(model, ids, 0, steps=20)(text[:, :-1]), text[:, 1:]) < before - 1
    assert not any(p.requires_grad for p in model.parameters())
