"""Tests of what can be chance."""

import torch

from attn_lib.checks.chance import can_be_chance, can_be_independent


def test_what_is_drawn_can_be_chance_and_what_is_bent_cannot():
    chances = torch.tensor([0.5, 0.3, 0.15, 0.05, 0.0])
    rng = torch.Generator().manual_seed(0)
    for _ in range(100):
        drawn = chances.multinomial(1000, replacement=True, generator=rng)
        assert can_be_chance(drawn.bincount(minlength=5), chances)
    assert not can_be_chance(torch.tensor([599, 300, 100, 0, 1]), chances)
    assert not can_be_chance(torch.tensor([630, 220, 120, 30, 0]), chances)
    assert can_be_chance(torch.tensor([10, 0]), torch.tensor([1.0, 0.0]))


def test_what_comes_together_can_be_chance_only_if_it_is_independent():
    chances = torch.tensor([0.5, 0.5])
    drawn = torch.randint(2, (400,), generator=torch.Generator().manual_seed(0))
    other = torch.randint(2, (400,), generator=torch.Generator().manual_seed(1))
    assert can_be_independent(torch.stack([drawn, other], 1), chances)
    assert not can_be_independent(torch.stack([drawn, drawn], 1), chances)
