"""Answers to train_bpe that no row makes."""

from collections import Counter
from itertools import pairwise

from attn_lib import bpe
from tests.checks.answers import Answers

answers = Answers(
    "train_bpe",
    spelled=dict(
        parts=["{word: [c for c in word] for word in words}", "dict(zip(words, map(list, words)))"],
        times=["int(words[word])", "words.get(word, 0)"],
        pair=["tuple(tokens[i : i + 2])"],
        seen=["counts[pair] if pair in counts else 0"],
        done=["len(counts) == 0", "not any(len(tokens) > 1 for tokens in parts.values())"],
        best=[
            "sorted(counts, key=lambda pair: (-counts[pair], pair))[0]",
            "min(pair for pair in counts if counts[pair] == max(counts.values()))",
            "max(sorted(counts), key=counts.get)",
        ],
        found=[
            "place + 1 < len(tokens) and (tokens[place], tokens[place + 1]) == best",
            "''.join(tokens[place : place + 2]) == ''.join(best)",  # no other pair of theirs reads so
        ],
        token=["''.join(best) if found else tokens[place]"],
    ),
    survivors=[
        dict(parts="{word: word for word in words}"),  # a text is a row of its characters
        dict(seen="counts.get(pair, 1)"),  # one more for every pair
        dict(seen="counts.get(pair, -1)"),
    ],
)  # fmt: skip


@answers.right
def with_a_counter(words, num_merges):
    corpus = [(tuple(word), count) for word, count in words.items()]
    merges = ()
    while len(merges) < num_merges:
        counts = Counter()
        for tokens, count in corpus:
            for pair in pairwise(tokens):
                counts[pair] += count
        if not counts:
            return merges
        most = counts.most_common(1)[0][1]
        pair = min(p for p, count in counts.items() if count == most)
        corpus = [(merged(tokens, *pair), count) for tokens, count in corpus]
        merges += (pair,)
    return merges


def merged(tokens, left, right):
    for i in range(len(tokens) - 1):
        if tokens[i : i + 2] == (left, right):
            return (*tokens[:i], left + right, *merged(tokens[i + 2 :], left, right))
    return tokens


@answers.right
def in_place(words, num_merges):
    cut = [[list(word), count] for word, count in words.items()]
    merges = []
    for _ in range(num_merges):
        counts = {}
        for tokens, count in cut:
            for pair in zip(tokens, tokens[1:]):  # noqa: B905, RUF007
                counts[pair] = counts.get(pair, 0) + count
        try:
            best = max(sorted(counts), key=lambda pair: counts[pair])
        except ValueError:
            break
        merges.append(best)
        for tokens, _ in cut:
            i = 0
            while i < len(tokens) - 1:
                if (tokens[i], tokens[i + 1]) == best:
                    tokens[i : i + 2] = [tokens[i] + tokens[i + 1]]
                i += 1
    return merges


def _changed(change):
    return lambda words, n: change(bpe.train_bpe(words, n))


# At most twenty pairs; the last one missing where all were asked for; no pair with a blank; short ones only.
answers.wrong(
    lambda words, n: bpe.train_bpe(words, min(n, 10)),
    lambda words, n: bpe.train_bpe(words, n)[: max(n - 1, 0)],
    _changed(lambda pairs: [pair for pair in pairs if " " not in "".join(pair)]),
    _changed(lambda pairs: [pair for pair in pairs if len("".join(pair)) < 6]),
    _changed(lambda pairs: dict.fromkeys(pairs)),
    _changed(lambda pairs: iter(pairs)),
)


@answers.wrong
def counts_of_the_words_kept_back(words, num_merges):
    """Each count becomes 1, for whoever reads `words` next."""
    pairs = bpe.train_bpe(words, num_merges)
    for word in words:
        words[word] = 1
    return pairs


@answers.wrong
def words_once_merged_are_done(words, num_merges):
    return bpe.train_bpe({word[:4]: count for word, count in words.items()}, num_merges)
