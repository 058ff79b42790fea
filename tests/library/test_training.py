"""Laws of the training loop."""

import pytest
import torch
from torch import nn

from attn_lib.training import train


def problem():
    """A line to be found."""
    torch.manual_seed(0)
    model, truth = nn.Linear(3, 1), torch.tensor([[1.0, -2.0, 3.0]])

    def batch_loss(generator):
        assert model.training
        x = torch.randn(8, 3, generator=generator)
        return (model(x) - x @ truth.T).square().mean()

    return model.eval(), batch_loss


def test_it_learns_and_records_every_step():
    model, batch_loss = problem()
    record = train(model, batch_loss, 300, lr=0.1)
    assert len(record.losses) == len(record.gradient_norms) == 300
    assert record.losses[-1] < 1e-3 < record.losses[0]
    assert not model.training


def test_the_same_seed_gives_the_same_run_and_another_one_another():
    first, again, other = (train(*problem(), 20, seed=seed).losses for seed in (1, 1, 2))
    assert first == again != other


def test_the_norm_is_that_of_the_gradient_before_it_is_clipped():
    def norm(factor):
        model, batch_loss = problem()
        return train(model, lambda g: factor * batch_loss(g), 1, lr=1e-9).gradient_norms[0]

    assert norm(1000) == pytest.approx(1000 * norm(1), rel=1e-3)


def test_the_learning_rate_rises_for_a_tenth_of_the_steps_then_falls_to_0():
    model, places = nn.Linear(1, 1, bias=False), []

    def falling(
        generator,
    ):  # AdamW moves a weight with a gradient of 1 by about the learning rate
        places.append(model.weight.item())
        return model.weight.sum()

    train(model, falling, 100, lr=0.01)
    rates = torch.tensor([*places, model.weight.item()]).diff().abs() / 0.01
    assert rates[0] < 0.1
    assert min(rates[9:20]) > 0.75
    assert rates[20] > rates[40] > rates[60] > rates[80]
    assert rates[-1] < 1e-4


def test_one_steep_batch_does_not_decide_the_next_step():
    model, places = nn.Linear(1, 1, bias=False), []

    def steep_then_back(generator):
        places.append(model.weight.item())
        return (1e6 if len(places) == 1 else -1) * model.weight.sum()

    train(model, steep_then_back, 30)
    assert places[2] > places[1] < places[0]
