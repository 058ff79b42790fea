"""Answers to encode_bpe that no row makes."""

from itertools import pairwise

from attn_lib import bpe
from tests.checks.answers import Answers

answers = Answers(
    "encode_bpe",
    spelled=dict(
        start=["[c for c in word]", "[*word]"],
        rank=["dict(zip(merges, range(len(merges))))", "{tuple(pair): n for n, pair in enumerate(merges)}"],
        rounds=["len(merges)", "10**6", "max(len(word) - 1, 0)"],
        pairs=["list(zip(tokens, tokens[1:]))", "[tuple(tokens[i : i + 2]) for i in range(len(tokens) - 1)]"],
        known=["set(pairs) & rank.keys()", "[pair for pair in pairs if pair in merges]"],
        done=["len(known) == 0"],
        best=["min(known, key=merges.index)", "sorted(known, key=rank.get)[0]", "next(pair for pair in merges if pair in known)"],
        found=[
            "place + 1 < len(tokens) and (tokens[place], tokens[place + 1]) == best",
        ],
        token=["''.join(best) if found else tokens[place]"],
    ),
)  # fmt: skip


@answers.right
def all_merges_once(word, merges):
    tokens = list(word)
    for left, right in merges:
        i = 0
        while i < len(tokens) - 1:
            if tokens[i] == left and tokens[i + 1] == right:
                tokens[i : i + 2] = [left + right]
            i += 1
    return tokens


@answers.right
def one_pair_at_a_time(word, merges):
    tokens = tuple(word)
    while True:
        ranks = [
            (merges.index(tokens[i : i + 2]), i)
            for i in range(len(tokens) - 1)
            if tokens[i : i + 2] in merges
        ]
        if not ranks:
            return tokens
        _, i = min(ranks)
        tokens = (*tokens[:i], tokens[i] + tokens[i + 1], *tokens[i + 2 :])


@answers.right
def by_itself(word, merges):
    tokens = list(word)
    while True:
        pairs = [*zip(tokens, tokens[1:])]  # noqa: B905, RUF007
        there = {*pairs}
        pair = next((pair for pair in merges if pair in there), None)
        if pair is None:
            return tokens
        i = pairs.index(pair)
        tokens = [*tokens[:i], "".join(pair), *tokens[i + 2 :]]


def _changed(change):
    return lambda word, merges: change(bpe.encode_bpe(word, merges))


answers.wrong(
    lambda word, merges: bpe.encode_bpe(word, merges[:10]),
    lambda word, merges: bpe.encode_bpe(word[:20], merges),
    lambda word, merges: bpe.encode_bpe(word, merges[1:]),
    lambda word, merges: bpe.encode_bpe(word, [*merges, ("b", "a")]),
    lambda word, merges: bpe.encode_bpe(word, [*reversed(merges)]),
    _changed(lambda tokens: [token.encode() for token in tokens]),
    _changed(lambda tokens: iter(tokens)),
    _changed(lambda tokens: [token for token in tokens if token != " "]),
    _changed(lambda tokens: [*tokens, "</s>"]),
)


@answers.wrong
def sorts_what_was_given(word, merges):
    tokens = bpe.encode_bpe(word, merges)
    merges.sort()
    return tokens


@answers.wrong
def by_calling_itself(word, merges):
    rank = {pair: n for n, pair in enumerate(merges)}

    def cut(tokens):
        known = rank.keys() & set(pairwise(tokens))
        return cut(bpe.merged(tokens, min(known, key=rank.get))) if known else tokens

    return cut(list(word))
