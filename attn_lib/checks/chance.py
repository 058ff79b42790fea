"""What can be chance, and what cannot."""

import torch
from torch import Tensor

FAR = 18.0  # in nats: what is as far off as this comes less than once in 30 million times


def can_be_chance(counts: Tensor, chances: Tensor) -> bool:
    """Say whether things of these chances can have come this often.

    Of M draws, what has the chance p makes up a share s or more (or less, below p) with a probability of at
    most exp(-M KL(s || p)): Chernoff's bound.

    Args:
        counts: how often each thing came (N,).
        chances: how likely each thing is in one draw (N,); they add up to 1.
    """
    draws = counts.double().sum()
    s, p = counts.double() / draws, chances.double().clamp(0, 1)
    came = torch.xlogy(s, s) - torch.xlogy(s, p)
    stayed_away = torch.xlogy(1 - s, 1 - s) - torch.xlogy(1 - s, 1 - p)
    return bool((draws * (came + stayed_away) <= FAR).all())


def can_be_independent(pairs: Tensor, chances: Tensor) -> bool:
    """Say whether it can be chance which things come together: `pairs` (M, 2), two draws of the same chances (N,)."""
    N = len(chances)
    counts = torch.bincount(pairs @ torch.tensor([N, 1]), minlength=N * N)
    return can_be_chance(counts, torch.outer(chances, chances).flatten())
