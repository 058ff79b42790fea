"""The model that `generate` is checked with. It runs out of the answer's reach, and refuses what costs too much."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any
from zlib import crc32

import torch
from torch import Tensor

from attn_lib.checks.authoring import Reply, Served, Wrong

Text = tuple[int, ...]
MOST_TEXTS = 4  # of one run, which has two


@dataclass
class Held:
    """The contents of one set of caches: the text of each row so far, and a number that follows from it."""

    rows: list[Text]
    numbers: list[int]
    room: int
    calls: int = 0


@dataclass
class Elsewhere:
    """A model whose next token depends on all that a row has said: what its caches hold, and what is new.

    As long as a text is in the script, the script's next token is the likeliest; else, any of the V.

    A text is the prompt, in one call, and then one token a call: n calls for n new tokens, and one
    more is allowed. All else is refused.

    Args:
        prompt: (B, L), the shape of every prompt.
        max_new_tokens: n.
        num_layers: how many caches a set has.
        vocab_size: V.
        seed: of its logits.
        script: the token that follows a text.
        shift: added to all logits; a large negative one makes all of them negative.
        spread: how far apart the logits are: the likeliest is ahead by 0.3 of it, at least.
    """

    prompt: tuple[int, int]
    max_new_tokens: int
    num_layers: int
    vocab_size: int
    seed: int
    script: dict[Text, int] = field(default_factory=dict)
    shift: float = 0.0
    spread: float = 1.0
    texts: list[Held] = field(default_factory=list)

    def begin(self) -> "Elsewhere":
        """Return the same model, which has read nothing."""
        return replace(self, texts=[])

    def __call__(self, given: list[Any], gradient: Tensor | None) -> Reply:
        """Serve a call: of `new_caches` with its two sizes, or of the model with ids and caches."""
        return Served(self._new_caches if len(given) == 1 else self._forward)(given, None)

    def _new_caches(self, sizes: Tensor) -> Tensor:
        batch_size, max_len = sizes.tolist()
        if batch_size != self.prompt[0]:
            raise Wrong(
                "other rows",
                "The first argument of `new_caches` should be the number of rows of the prompt.\n"
                f"The prompt has shape {self.prompt}; `new_caches` was asked for {batch_size} rows.",
            )
        if len(self.texts) == MOST_TEXTS:
            raise Wrong(
                "too many calls", "Caches are made again and again: what ends your loop?"
            )
        number = crc32(str(self.seed).encode())
        self.texts.append(Held([()] * batch_size, [number] * batch_size, max_len))
        return torch.tensor(len(self.texts) - 1)

    def _forward(self, ids: Tensor, places: Tensor | None) -> Tensor:
        if places is None:
            raise Wrong(
                "no caches",
                "The model was called without caches.\nThen it keeps nothing, and has to read the "
                "whole text anew for every token.",
            )
        held = self._found(places)
        self._refuse(ids, held)
        held.calls += 1
        rows = enumerate(ids.tolist())
        return torch.stack([torch.stack([*self._read(held, i, row)]) for i, row in rows])

    def _read(self, held: Held, i: int, tokens: list[int]) -> Iterator[Tensor]:
        """Yield the logits (V,) after each token that comes to a row."""
        for token in tokens:
            held.rows[i] += (token,)
            held.numbers[i] = crc32(b" %d" % token, held.numbers[i])
            yield self._logits(held.rows[i], held.numbers[i])

    def _found(self, places: Tensor) -> Held:
        """Return what the caches of these places hold: one set, all layers, in their order."""
        text = int(places[0, 0]) if places.numel() else -1
        wanted = [[text, layer] for layer in range(self.num_layers)]
        if not 0 <= text < len(self.texts) or places.tolist() != wanted:
            raise Wrong(
                "not the caches",
                "`caches` should be all that `new_caches` returned: one for each layer, in their order.\n"
                f"The model has {self.num_layers} layers.",
            )
        return self.texts[text]

    def _refuse(self, ids: Tensor, held: Held) -> None:
        (B, L), shape = self.prompt, tuple(ids.shape)
        if ids.dtype != torch.int64 or ids.ndim != 2 or not ids.numel():
            raise Wrong(
                "not ids",
                "The model needs ids of shape (B, L) and dtype torch.int64.\n"
                f"It received shape {shape}, dtype {ids.dtype}.",
            )
        if ids.min() < 0 or ids.max() >= self.vocab_size:
            raise Wrong(
                "not ids",
                f"An id should be from 0 to V - 1.\nV is {self.vocab_size}, and the model received "
                f"ids from {ids.min()} to {ids.max()}.",
            )
        if not held.calls and shape != (B, L):
            raise Wrong(
                "not the prompt",
                "The first call should read the whole prompt, all rows of it.\n"
                f"The prompt has shape {(B, L)}, the ids of the call had {shape}.",
            )
        if held.calls and shape != (B, 1):
            raise Wrong(
                "not one token",
                "After the prompt, a call should read one token in each row: (B, 1).\n"
                f"The ids of call {held.calls + 1} had shape {shape}.",
            )
        if held.calls > self.max_new_tokens:
            raise Wrong(
                "too many calls",
                "The model was called more often than there are tokens to write.\n"
                f"max_new_tokens is {self.max_new_tokens}, and this is call {held.calls + 1}.",
            )
        if (length := len(held.rows[0])) + shape[1] > held.room:
            raise Wrong(
                "caches full",
                "The caches are full.\n"
                f"They were made for {held.room} tokens, hold {length}, and {shape[1]} more came.",
            )

    def _logits(self, text: Text, number: int) -> Tensor:
        values = _drawn(number, self.vocab_size)
        if text in self.script:
            values = values.clone()
            values[self.script[text]] = 2.6
        return values * self.spread + self.shift


@lru_cache(maxsize=20_000)
def _drawn(number: int, vocab_size: int) -> Tensor:
    """Draw logits that follow from a number, from -3 to 1, with the likeliest above 1.3."""
    rng = torch.Generator().manual_seed(number)
    values = torch.rand(vocab_size, generator=rng) * 4 - 3
    likeliest = int(torch.randint(vocab_size, (), generator=rng))
    values[likeliest] = 1.3 + torch.rand((), generator=rng)
    return values
