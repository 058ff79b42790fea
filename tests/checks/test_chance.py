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
    drawn = torch.randint(2, (400, 5), generator=torch.Generator().manual_seed(0))
    assert can_be_independent(drawn, chances)
    last_follows_first, next_call = drawn.clone(), drawn.clone()
    last_follows_first[:, 4] = drawn[:, 0]
    next_call[1::2] = drawn[::2].flip(1)
    assert not can_be_independent(last_follows_first, chances)
    assert not can_be_independent(next_call, chances)
    # Any two of these three are independent.
    last_follows_first[:, 4] = (drawn[:, 0] + drawn[:, 2]) % 2
    assert not can_be_independent(last_follows_first, chances)
