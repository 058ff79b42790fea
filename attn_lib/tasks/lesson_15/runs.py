"""How the cases of this lesson call an answer, where it is more than one plain call.

Nothing here is an answer: this file goes into the sandbox with a learner's code.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from attn_lib.checks.authoring import Wrong, describe

Pair = tuple[str, str]

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
    return repr(list(pairs))


def encoded(answer: Any, word: str, merges: list[Pair]) -> Any:
    """Return the tokens of a word, as a text."""
    given = list(merges)
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
    return repr(list(tokens))


# ------------------------------------------------------------------------------------ learning_rate


def rates(answer: Any, steps: Tensor, *schedule: float) -> Any:
    """Return the rate of each step, one after the other."""
    found = []
    for step in steps.tolist():
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
