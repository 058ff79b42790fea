"""A model that writes what a script says: what `greedy_decode` is checked with, out of its reach."""

import zlib
from dataclasses import dataclass
from itertools import count

import torch
from torch import Tensor

from attn_lib.checks.authoring import Served, Wrong

Prefix = tuple[int, ...]


@dataclass
class FakeModel:
    """Its logits at each position depend on the row and on every id up to there, bos included.

    As long as a row says exactly what its script says, the script's next token is the likeliest.
    After anything else, or after the script's end, another token is: never bos and never eos, so
    that a row which has ended is tempted to go on. The script itself is not in here, or an answer
    could read it: only what follows each of its beginnings, which are known by their hash.

    Args:
        batch_size: how many rows there are.
        following: the next token by the hash of a row's number and what it says.
        vocabulary_size: V.
        bos_id: the id that each row begins with; written only where the script says so.
        eos_id: the id that ends a row.
        max_len: how many tokens it shall write.
        shift: added to all logits; a large negative one makes all of them negative.
        spread: how far apart the logits are: the likeliest is ahead by 0.3 of it, at least.
    """

    batch_size: int
    following: dict[int, int]
    vocabulary_size: int
    bos_id: int
    eos_id: int
    max_len: int
    shift: float = 0.0
    spread: float = 1.0

    def __post_init__(self) -> None:
        self._known: dict[tuple[int, Prefix], Tensor] = {}
        self._answers: dict[tuple[Prefix, ...], Tensor] = {}

    def logits(self, row: int, prefix: Prefix) -> Tensor:
        """Return the logits (V,) of the token that follows this prefix in this row."""
        if (row, prefix) not in self._known:
            number = hashed(row, prefix)
            rng = torch.Generator().manual_seed(number)
            values = torch.rand(self.vocabulary_size, generator=rng) * 4 - 3  # -3 to 1
            values[self._following(prefix, number)] = 1.3
            self._known[row, prefix] = values * self.spread + self.shift
        return self._known[row, prefix]

    def _following(self, prefix: Prefix, number: int) -> int:
        # Another token than the last one, so that each position says something else.
        refused = (self.bos_id, self.eos_id, prefix[-1])
        choices = [t for t in range(self.vocabulary_size) if t not in refused]
        return self.following.get(number, choices[number % len(choices)])

    def next_token(self, row: int, prefix: Prefix) -> int:
        """Return the likeliest token after this prefix."""
        return int(self.logits(row, prefix).argmax())

    def by_hand(self) -> tuple[str, dict[str, Tensor]]:
        """Return code that makes a `step`, and the tensor it needs: to a right answer it says the same."""
        says = []
        for row in range(self.batch_size):
            said: Prefix = ()
            written: Prefix = (self.bos_id,)
            for _ in range(self.max_len + 1):
                said += (self.next_token(row, written),)
                written += (self.eos_id if self.eos_id in written[1:] else said[-1],)
            says.append(said)
        logits = f"F.one_hot(says[:, : ids.shape[1]], {self.vocabulary_size}).float()"
        return f"step = lambda ids: {logits}  # (B, L, V)", {"says": torch.tensor(says)}

    def begin(self) -> Served:
        """Return what serves a fresh `step`, which counts its calls and refuses what no model could take."""
        numbers = count(1)

        def step(ids: Tensor) -> Tensor:
            call = next(numbers)
            self._refuse(ids, call)
            rows = tuple(map(tuple, ids.tolist()))
            if rows not in self._answers:  # many answers ask the same
                logits = [
                    torch.stack([self.logits(r, row[: n + 1]) for n in range(call)])
                    for r, row in enumerate(rows)
                ]
                self._answers[rows] = torch.stack(logits)
            return self._answers[rows].clone()

        return Served(step)

    def _refuse(self, ids: Tensor, call: int) -> None:
        if call > self.max_len + 5:
            raise Wrong(
                "called too often",
                f"`step` was called more than {self.max_len + 5} times, and max_len is {self.max_len}. "
                "What ends your loop?",
            )
        if ids.dtype != torch.int64:
            raise Wrong(
                "wrong ids",
                "`step` needs a tensor of ids, of dtype torch.int64, but in call "
                f"{call} it received {ids.dtype}.",
            )
        expected = (self.batch_size, call)
        if ids.shape != expected:
            what = "a column of bos_id" if call == 1 else "all ids so far, bos_id first"
            kind = "wrong start"
            if call > 1 and ids.ndim == 2 and len(ids) == self.batch_size:
                kind = "too few columns" if ids.shape[1] < call else "too many columns"
            elif call > 1:
                kind = "wrong rows"
            raise Wrong(
                kind,
                f"Call {call} of `step` should hand over {what}: shape {expected}. It handed over "
                f"shape {tuple(ids.shape)}.",
            )
        if (ids[:, 0] != self.bos_id).any():
            raise Wrong(
                "wrong start",
                f"In call {call} of `step` the rows begin with {ids[:, 0].tolist()}: each should "
                f"begin with bos_id, which is {self.bos_id}.",
            )


def hashed(row: int, prefix: Prefix) -> int:
    """Return a number that stands for what a row says, bos included."""
    return zlib.crc32(repr((row, prefix)).encode())
