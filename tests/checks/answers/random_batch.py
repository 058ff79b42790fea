"""Answers to random_batch that no row makes."""

import numpy as np
import torch

from attn_lib.data.text import random_windows
from tests.checks.answers import Answers

answers = Answers(
    "random_batch",
    spelled=dict(
        N=["ids.shape[0]", "ids.numel()"],
        places=["len(ids[length:])", "len(range(N - length))"],
        starts=[
            "torch.randint(0, N - length, (batch_size,), generator=generator)",
            "(torch.rand(batch_size, generator=generator) * places).long()",
            "torch.ones(places).multinomial(batch_size, replacement=True, generator=generator)",
            "torch.cat([torch.randint(places, (1,), generator=generator) for _ in range(batch_size)])",
            "torch.randint(places, (batch_size,), generator=generator).flip(0)",
            "torch.randint(places, (batch_size,), generator=generator, dtype=torch.int32)",
        ],
        read=["torch.stack([torch.arange(i, i + length) for i in starts.tolist()])", "starts.view(-1, 1) + steps"],
        following=["starts[:, None] + steps + 1"],
        inputs=["ids.unfold(0, length, 1)[starts]", "torch.take(ids, read)"],
        targets=["ids[1:][read]", "ids.unfold(0, length, 1)[starts + 1]", "ids.roll(-1)[read]"],
    ),
    survivors=[dict(begins="drawn")],
)  # fmt: skip


@answers.right
def windows_of_the_library(ids, batch_size, length, generator):
    windows = random_windows(ids, length + 1, batch_size, generator=generator)
    return windows[:, :-1], windows[:, 1:]


@answers.right
def as_list_of_rows(ids, batch_size, length, generator):
    inputs, targets = [], []
    for _ in range(batch_size):
        i = int(torch.randint(len(ids) - length, (), generator=generator))
        inputs.append(ids[i : i + length])
        targets.append(ids[i + 1 : i + 1 + length])
    return [torch.stack(inputs), torch.stack(targets)]


@answers.right
def seed_from_the_generator(ids, batch_size, length, generator):
    """NumPy draws, with a seed that was drawn."""
    seed = torch.randint(1 << 31, (), generator=generator).item()
    starts = np.random.default_rng(seed).integers(len(ids) - length, size=batch_size)
    at = torch.from_numpy(starts)[:, None] + torch.arange(length + 1)
    return ids[at[:, :-1]], ids[at[:, 1:]]


@answers.wrong
def epochs_long_enough(ids, batch_size, length, generator):
    """Draws without putting back as long as there are places, then begins anew: no row is drawn for itself."""
    places, starts = len(ids) - length, torch.empty(0, dtype=torch.long)
    while len(starts) < batch_size:
        starts = torch.cat([starts, torch.randperm(places, generator=generator)])
    windows = ids.unfold(0, length + 1, 1)[starts[:batch_size]]
    return windows[:, :length].clone(), windows[:, 1:].clone()


def _from(starts):
    """Return an answer that reads at these places."""

    def answer(ids, batch_size, length, generator):
        at = starts(len(ids) - length, batch_size, generator)[:, None] + torch.arange(
            length
        )
        return ids[at], ids[at + 1]

    return answer


# Half of the rows at the beginning; the same row twice; even rows before odd ones; a seed of NumPy's own.
answers.wrong(
    _from(lambda n, b, g: torch.randint(n, (b,), generator=g) * (torch.arange(b) % 2)),
    _from(lambda n, b, g: torch.randint(n, (b // 2 + 1,), generator=g).repeat(2)[:b] // 2),
    _from(lambda n, b, g: torch.from_numpy(np.random.randint(n, size=b))),
    _from(lambda n, b, g: torch.randint(n, (b,), generator=g.manual_seed(g.seed()))),
    _from(lambda n, b, g: torch.randint(n, (b,), generator=g) * 0),
    lambda ids, b, length, g: as_list_of_rows(ids[:10], b, length, g),
    lambda ids, b, length, g: as_list_of_rows(ids, min(b, 8), length, g),
)


@answers.wrong
def wipes_what_was_drawn(ids, batch_size, length, generator):
    inputs, targets = windows_of_the_library(ids, batch_size, length, generator)
    inputs, targets = inputs.clone(), targets.clone()
    ids[0] = ids[1]
    return inputs, targets


@answers.wrong
def drawn_in_the_dtype_of_ids(ids, batch_size, length, generator):
    places = (len(ids) - length, (batch_size, 1))
    starts = torch.randint(*places, generator=generator, dtype=ids.dtype)
    read = starts + torch.arange(length)
    return ids[read], ids[read + 1]
