"""Byte-pair encoding: a word is cut into tokens by merging the neighbors that are most often seen together."""

from collections import defaultdict
from heapq import heapify, heappop, heappush
from itertools import pairwise

Pair = tuple[str, str]


def train_bpe(words: dict[str, int], num_merges: int) -> list[Pair]:
    """Find the pairs of neighboring tokens to merge, one after another.

    Tokens begin as single characters. The most frequent pair of neighbors is merged, in every word and
    from the left; of equally frequent ones the smaller (left, right). Three equal characters in a row
    are two pairs.

    Args:
        words: how often each word occurs, at least once.
        num_merges: how many pairs to find.

    Returns:
        The pairs in the order in which they were merged: fewer where no pair is left.

    Raises:
        ValueError: a word occurs less than once.

    Source: Sennrich et al., "Neural Machine Translation of Rare Words with Subword Units", 2016,
    arxiv.org/abs/1508.07909, after Gage, "A New Algorithm for Data Compression", 1994.
    """
    if any(times < 1 for times in words.values()):
        raise ValueError(f"expected counts of at least 1, got {min(words.values())}")
    cut = {word: list(word) for word in words}
    counts: dict[Pair, int] = defaultdict(int)
    places: dict[Pair, set[str]] = defaultdict(set)  # the words that a pair is, or was, in

    def count(word: str, times: int) -> None:
        for pair in pairwise(cut[word]):
            counts[pair] += times
            places[pair].add(word)
            changed.add(pair)

    changed: set[Pair] = set()
    for word, times in words.items():
        count(word, times)
    heap = [(-counts[pair], pair) for pair in changed]
    heapify(heap)
    merges: list[Pair] = []
    while heap and len(merges) < num_merges:
        times, best = heappop(heap)
        if times == 0 or -times != counts[best]:
            continue  # an older count, or all of it merged into other pairs
        changed = set()
        for word in places.pop(best):  # the only ones that change
            count(word, -words[word])
            cut[word] = merged(cut[word], best)
            count(word, words[word])
        for pair in changed:
            heappush(heap, (-counts[pair], pair))
        merges.append(best)
    return merges


def encode_bpe(word: str, merges: list[Pair]) -> list[str]:
    """Cut a word into tokens: of all pairs in it, the one merged first in training goes first.

    Args:
        word: any text.
        merges: of `train_bpe`.

    Returns:
        The tokens, which together are the word; characters that no pair holds stay alone.
    """
    rank = {pair: place for place, pair in enumerate(merges)}
    tokens = list(word)
    while known := [pair for pair in pairwise(tokens) if pair in rank]:
        tokens = merged(tokens, min(known, key=rank.__getitem__))
    return tokens


def merged(tokens: list[str], pair: Pair) -> list[str]:
    """Return tokens with each occurrence of a pair made one, from the left."""
    result: list[str] = []
    is_open = False  # whether the last one may become the left of the pair
    for token in tokens:
        if is_open and (result[-1], token) == pair:
            result[-1] += token
            is_open = False
        else:
            result.append(token)
            is_open = True
    return result
