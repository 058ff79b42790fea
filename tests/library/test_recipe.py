"""The training recipe, and a run that goes on."""

import math

import pytest
import torch
import torch.nn.functional as F

from attn_lib.data.own_model import bits_per_byte, new_model, write
from attn_lib.recipe import Recipe, Run

SMALL = dict(d_model=16, num_heads=4, num_kv_heads=2, num_layers=1, d_ff=24, max_len=16)
RECIPE = Recipe(steps=12, batch_size=4, length=8, peak=1e-2, warmup=2)
TEXT = torch.arange(40).repeat(5) % 20


def random_batch(ids, batch_size, length, generator):
    starts = torch.randint(len(ids) - length, (batch_size,), generator=generator)
    rows = ids[starts[:, None] + torch.arange(length + 1)]
    return rows[:, :-1], rows[:, 1:]


def new_run(recipe=RECIPE):
    torch.manual_seed(0)
    return Run(new_model(20, **SMALL), recipe)


def learn(run, steps, rate=lambda step, *_: 1.0):
    return [run.learn(TEXT, random_batch, rate) for _ in range(steps)]


def test_it_learns():
    run = new_run(Recipe(steps=150, batch_size=8, length=8, peak=1e-2, warmup=5))
    losses = learn(run, 150)
    assert abs(losses[0] - math.log(20)) < 0.1
    assert losses[-1] < 0.1


def test_a_run_that_was_interrupted_ends_as_one_that_was_not(tmp_path):
    whole, first, second = new_run(), new_run(), new_run()
    learn(whole, 9)
    learn(first, 4)
    first.keep(tmp_path / "kept")
    learn(second, 2)  # whatever it was before
    second.go_on(tmp_path / "kept")
    assert second.step == 4
    learn(second, 5)
    torch.testing.assert_close(second.model.state_dict(), whole.model.state_dict())


def test_a_run_of_another_recipe_is_refused(tmp_path):
    new_run().keep(tmp_path / "kept")
    with pytest.raises(ValueError, match="is of another run"):
        new_run(Recipe(steps=13)).go_on(tmp_path / "kept")


def test_a_damaged_file_is_refused(tmp_path):
    run = new_run()
    run.keep(tmp_path / "kept")
    whole = (tmp_path / "kept").read_bytes()
    for damaged in (b"", b"nothing", whole[: len(whole) // 2]):
        (tmp_path / "kept").write_bytes(damaged)
        with pytest.raises(ValueError, match="is damaged"):
            run.go_on(tmp_path / "kept")


def test_the_rate_follows_the_schedule_up_to_the_peak_and_down_to_a_tenth():
    asked = []

    def rate(*arguments):
        asked.append(arguments)
        return 0.5

    run = new_run()
    learn(run, 2, rate)
    assert asked == [(0, 2, 12, 1.0, 0.1), (1, 2, 12, 1.0, 0.1)]
    assert {group["lr"] for group in run.optimizer.param_groups} == {0.5e-2}


def test_norms_do_not_shrink():
    decays = [group["weight_decay"] for group in new_run().optimizer.param_groups]
    sizes = [
        {p.ndim for p in group["params"]} for group in new_run().optimizer.param_groups
    ]
    assert (decays, sizes) == ([0.1, 0.0], [{2}, {1}])


def test_bits_per_byte_of_an_even_guess():
    model = new_model(16, **SMALL)
    torch.nn.init.zeros_(model.head.weight)
    ids = torch.randint(16, (41,))
    assert bits_per_byte(model, ids, 80) == pytest.approx(4 * 40 / 80)


def test_bits_per_byte_reads_each_token_once():
    model = new_model(16, **SMALL | {"max_len": 8})
    with torch.no_grad():
        model.embed.weight.mul_(30)  # no even guess: what is read shows
        ids = torch.arange(40) % 16
        windows = [ids[i : i + 9] for i in (0, 8, 16, 24, 32)]
        nats = [
            F.cross_entropy(model(w[None, :-1])[0], w[1:], reduction="sum") for w in windows
        ]
    want = float(sum(nats)) / math.log(2) / 100
    assert bits_per_byte(model, ids, 100) == pytest.approx(want)


def test_it_writes_until_a_document_ends_or_its_length():
    model = new_model(20, **SMALL)
    asked = []

    def sample_next(logits, temperature, top_p, generator):
        asked.append((tuple(logits.shape), temperature, top_p))
        return torch.tensor([[5, 6, 0][len(asked) - 1 if len(asked) < 4 else 1]])[0]

    assert list(write(model, [0, 3], sample_next, torch.Generator())) == [5, 6]
    assert asked[0] == ((1, 20), 0.7, 0.9)
    assert list(write(model, [0, 3], sample_next, torch.Generator())) == [6] * 14
