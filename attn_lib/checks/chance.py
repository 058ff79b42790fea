"""What can be chance, and what cannot."""

from collections.abc import Iterator
from itertools import combinations, product

import torch
from torch import Tensor

FAR = 18.0  # in nats: what is as far off as this comes less than once in 30 million times
FARTHER = 19.0  # for one of thousands of numbers that are looked at together
SEEDS = 2.0**-31  # so likely two seeds are one: an answer may draw one, and go on from it
FEW = 8  # rows of a batch, of which each is compared with each


def can_be_chance(counts: Tensor, chances: Tensor, far: float = FAR) -> bool:
    """Say whether things of these chances can have come this often.

    Of M draws, what has the chance p makes up a share s or more (or less, below p) with a probability of at
    most exp(-M KL(s || p)): Chernoff's bound.

    Args:
        counts: how often each thing came (N,).
        chances: how likely each thing is in one draw (N,); they add up to 1.
        far: what comes less than once in exp(far) times is none.
    """
    draws = counts.double().sum()
    s, p = counts.double() / draws, chances.double().clamp(0, 1)
    came = torch.xlogy(s, s) - torch.xlogy(s, p)
    stayed_away = torch.xlogy(1 - s, 1 - s) - torch.xlogy(1 - s, 1 - p)
    return bool((draws * (came + stayed_away) <= far).all())


def repeated_too_often(draws: Tensor, most: float) -> int:
    """Return how many draws came before, if that cannot be chance; else 0.

    The i-th of M draws comes again with a chance of at most i * most, whatever came before. So there are not more
    of them than of M things, each with the mean of these chances.

    Args:
        draws: what came, in rows (M, B).
        most: how likely the likeliest row is.
    """
    M = len(draws)
    repeated = M - len(draws.unique(dim=0))
    mean = (M - 1) / 2 * (most + SEEDS)
    counts = torch.tensor([repeated, M - repeated])
    if repeated <= mean * M or can_be_chance(counts, torch.tensor([mean, 1 - mean])):
        return 0
    return repeated


def can_be_independent(draws: Tensor, chances: Tensor) -> bool:
    """Say whether it can be chance which things come together.

    Args:
        draws: what came, one of N things, for each row of each call (calls, B).
        chances: how likely each thing is (N,).
    """
    return all(_fits(group, chances) for group in _together(draws))


def _together(draws: Tensor) -> Iterator[Tensor]:
    """Yield groups of draws (M, 2 and more); in one tensor, no draw is in two groups."""
    calls, B = draws.shape
    for size in (2, 3, 4):
        yield draws[:, : B // size * size].reshape(-1, size)
    half = B // 2
    yield torch.stack([draws[:, :half], draws[:, half : 2 * half]], -1).view(-1, 2)
    yield torch.stack([draws[:, :half], draws.flip(1)[:, :half]], -1).view(-1, 2)
    if half > 1:
        yield draws[:, 1 : (B - 1) // 2 * 2 + 1].reshape(-1, 2)
    if B <= FEW:
        for size in (2, 3, 4):
            for rows in combinations(range(B), size):
                yield draws[:, rows]
    for first in (0, 1):
        if calls - first < 2:
            continue
        two = draws[first : first + (calls - first) // 2 * 2].view(-1, 2, B)
        yield two.mT.reshape(-1, 2)
        if B <= FEW:
            for i, j in product(range(B), repeat=2):
                yield torch.stack([two[:, 0, i], two[:, 1, j]], -1)


def _fits(groups: Tensor, chances: Tensor) -> bool:
    M, size = groups.shape
    N = len(chances)
    if 5 * N**size >= M:  # too few to tell
        return True
    which, together = torch.zeros(M, dtype=torch.int64), torch.ones(1).double()
    for one in groups.T:
        which = which * N + one
        together = torch.outer(together, chances.double()).flatten()
    return can_be_chance(torch.bincount(which, minlength=N**size), together, FARTHER)
