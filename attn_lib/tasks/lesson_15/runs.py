"""How the cases of this lesson call an answer, where it is more than one plain call.

Nothing here is an answer: this file goes into the sandbox with a learner's code.
"""

import contextlib
import hashlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attn_lib.checks.authoring import Wrong, describe, quicker

Pair = tuple[str, str]
LONGEST = 900  # characters of a result that is shown whole

# ---------------------------------------------------------------------------- train_bpe, encode_bpe


def trained(answer: Any, words: dict[str, int], num_merges: int) -> Any:
    """Return the pairs that were found, as a text."""
    given = dict(words)
    pairs = answer(given, num_merges)
    if pairs is None or pairs is Ellipsis:
        return pairs
    if list(given.items()) != list(words.items()):
        raise Wrong("words changed", "The dict `words` is not the same after the call.")
    if not isinstance(pairs, list | tuple):
        raise Wrong(
            "no list",
            f"It should return a list of pairs, but it returned {describe(pairs)}.",
        )
    for pair in pairs:
        if type(pair) is not tuple or [type(part) for part in pair] != [str, str]:
            raise Wrong(
                "no pair",
                "Each pair should be a tuple of two texts, (left, right), but one is "
                f"{describe(pair)}.\nIt is {pair!r:.100}.",
            )
    return _in_short(pairs, "pairs")


def _in_short(found: list | tuple, what: str) -> str:
    """Write a list; a long one so that a verdict can be read, and the grader takes it."""
    text = repr(list(found))
    if len(text) <= LONGEST:
        return text
    digest = hashlib.sha256(text.encode(errors="replace")).hexdigest()[:8]
    return f"{len(found)} {what}, the last ones ...{text[-200:]} (in short: {digest})"


def encoded_once(answer: Any, word: str, merges: list[Pair]) -> Any:
    """Return the tokens of a word, as a text."""
    return _encoded(answer, word, merges, list(merges))


@quicker(encoded_once)
def encoded(answer: Any, word: str, merges: list[Pair]) -> Any:
    """Return the tokens of a word, after it was cut by all merges but the last, by the same list."""
    given = list(merges[:-1])
    with contextlib.suppress(Exception):  # the second call shows it
        early = answer(word, given)
        if isinstance(early, list):
            early.append("...")  # it is not the answer's any more
    given += merges[-1:]
    return _encoded(answer, word, merges, given)


def _encoded(answer: Any, word: str, merges: list[Pair], given: list[Pair]) -> Any:
    tokens = answer(word, given)
    if tokens is None or tokens is Ellipsis:
        return tokens
    if given != merges:
        raise Wrong("merges changed", "The list `merges` is not the same after the call.")
    if not isinstance(tokens, list | tuple):
        raise Wrong(
            "no list",
            f"It should return a list of tokens, but it returned {describe(tokens)}.",
        )
    for token in tokens:
        if type(token) is not str:
            raise Wrong(
                "no text",
                f"Each token should be a text, but one is {describe(token)}.",
            )
    return _in_short(tokens, "tokens")


@dataclass(frozen=True)
class Repeated:
    """A word that is a piece, again and again."""

    piece: str
    times: int


def encoded_long(answer: Any, word: Repeated, merges: list[Pair]) -> Any:
    """Return the tokens of a word that is too long to be shown."""
    return encoded_once(answer, word.piece * word.times, merges)


@dataclass(frozen=True)
class AllDifferent:
    """A word of so many characters, no two of them the same."""

    length: int


def encoded_grown(answer: Any, word: AllDifferent) -> Any:
    """Return the tokens of a word whose characters are merged one after the other."""
    text = "".join(chr(0x4E00 + i) for i in range(word.length))
    merges = [(text[:i], text[i]) for i in range(1, word.length)]
    return encoded_once(answer, text, merges)


def encoded_late(answer: Any, word: str, others: int, last: list[Pair]) -> Any:
    """Return the tokens of a word; the last merges come after so many others, of other letters."""
    letters = [chr(0x4E00 + i) for i in range(math.isqrt(others) + 1)]
    pairs = ((a, b) for a in letters for b in letters)
    return encoded_once(answer, word, [*islice(pairs, others), *last])


# ------------------------------------------------------------------------------------ learning_rate


def rates(answer: Any, steps: list[int], *schedule: float) -> Any:
    """Return the rate of each step, one after the other."""
    found = []
    for step in steps:
        rate = answer(step, *schedule)
        if rate is None or rate is Ellipsis:
            return rate
        if isinstance(rate, Tensor) and rate.numel() == 1:
            rate = rate.item()
        if isinstance(rate, bool) or not isinstance(rate, int | float | np.number):
            raise Wrong(
                "no number", f"It should return a number, but it returned {describe(rate)}."
            )
        found.append(float(rate))
    return torch.tensor(found, dtype=torch.float64)


# ------------------------------------------------------------------------------------- random_batch


def _first_and_copies(tensor: Tensor) -> Callable[[int], Iterator[Tensor]]:
    """Return what yields a tensor again and again, as it was: itself, and then copies.

    An answer may write into it: that is noticed in the first, and does not change what comes after it.
    """
    kept = tensor.clone(memory_format=torch.preserve_format)

    def each() -> Iterator[Tensor]:
        one = tensor
        while True:
            yield one
            if one is not tensor and not one.equal(kept):
                tensor.copy_(one)
            one = kept.clone(memory_format=torch.preserve_format)

    rest = each()
    return lambda number: islice(rest, number)


@dataclass(frozen=True)
class Batches:
    """How often an answer is asked for a batch, and the seed of its generator."""

    calls: int
    seed: int


def batches(answer: Any, ids: Tensor, batch_size: int, length: int, drawn: Batches) -> Any:
    """Return the inputs and targets of all calls; the inputs of the first few once more, and with another seed.

    Then those that come if the generator has drawn before; and at last whether PyTorch's own generator was left
    alone.
    """

    given = _first_and_copies(ids)

    def some(calls: int, seed: int, before: int = 0) -> list[Any]:
        generator = torch.Generator().manual_seed(seed)
        torch.rand(before, generator=generator)
        return [answer(text, batch_size, length, generator) for text in given(calls)]

    torch.default_generator.manual_seed(1)
    before = torch.default_generator.get_state()
    first = some(drawn.calls, drawn.seed)
    if first[0] is None or first[0] is Ellipsis:
        return first[0]
    inputs, targets = _both(first)
    untouched = before.equal(torch.default_generator.get_state())
    torch.default_generator.manual_seed(2)
    few = min(drawn.calls, 12)
    again = _both(some(few, drawn.seed))[0]
    elsewhere = _both(some(few, drawn.seed + 1))[0]
    later = _both(some(few, drawn.seed, before=7))[0]
    return inputs, targets, again, elsewhere, later, int(untouched)


def _both(pairs: list[Any]) -> tuple[Tensor, Tensor]:
    """Stack the inputs and the targets of all calls."""
    for pair in pairs:
        if not isinstance(pair, tuple | list):
            text = "It should return two tensors, inputs and targets"
            raise Wrong("not two", f"{text}, but it returned {describe(pair)}.")
        if len(pair) != 2 or not all(isinstance(one, Tensor) for one in pair):
            text = "It should return two tensors, inputs and targets, but it returned"
            raise Wrong("not two", f"{text} {', '.join(map(describe, pair)):.150}.")
    for name, given in zip(("inputs", "targets"), zip(*pairs, strict=True), strict=True):
        if len({(one.shape, one.dtype) for one in given}) > 1:
            text = f"The {name} should have one shape and dtype, in every call."
            raise Wrong(f"changing {name}", text)
    inputs, targets = (torch.stack(given) for given in zip(*pairs, strict=True))
    return inputs, targets


# -------------------------------------------------------------------------------------- sample_next


@dataclass(frozen=True)
class Draws:
    """How often an answer is asked for ids, the seed of its generator, and after how many rows they repeat."""

    calls: int
    seed: int
    kinds: int


def sampled(
    answer: Any, logits: Tensor, temperature: float, top_p: float, drawn: Draws
) -> Any:
    """Return the ids of all calls; those of the first few once more, and with another seed.

    Then those that come if the generator has drawn before; and at last whether PyTorch's own generator was left
    alone.
    """
    few = max(1, min(drawn.calls // 2, 120))
    given = _first_and_copies(logits)

    def some(calls: int, seed: int, before: int = 0) -> list[Any]:
        generator = torch.Generator().manual_seed(seed)
        torch.rand(before, generator=generator)
        return [answer(rows, temperature, top_p, generator) for rows in given(calls)]

    torch.default_generator.manual_seed(1)
    before = torch.default_generator.get_state()
    first = some(drawn.calls, drawn.seed)
    if first[0] is None or first[0] is Ellipsis:
        return first[0]
    ids = _all(first)
    untouched = before.equal(torch.default_generator.get_state())
    torch.default_generator.manual_seed(2)
    again, elsewhere = (_all(some(few, seed)) for seed in (drawn.seed, drawn.seed + 1))
    later = _all(some(few, drawn.seed, before=7))
    return ids, again, elsewhere, later, int(untouched)


def _all(calls: list[Any]) -> Tensor:
    """Stack the ids of all calls."""
    for ids in calls:
        if not isinstance(ids, Tensor):
            text = f"It should return a tensor of ids, but it returned {describe(ids)}."
            raise Wrong("no tensor", text)
    if len({(ids.shape, ids.dtype) for ids in calls}) > 1:
        text = "The ids should have one shape and dtype, in every call."
        raise Wrong("changing ids", text)
    return torch.stack(calls)
