"""The task `encode_bpe`: cut a word by merges that were learned."""

from itertools import pairwise

import torch

from attn_lib import bpe
from attn_lib.checks.authoring import Case, task
from attn_lib.tasks.lesson_15.merging import (
    each_for_itself,
    from_the_right,
    last_lost,
    merged,
)
from attn_lib.tasks.lesson_15.runs import (
    AllDifferent,
    Repeated,
    encoded,
    encoded_grown,
    encoded_late,
    encoded_long,
)


@task(
    lesson=15,
    points=3,
    insight="The order of the merges is the whole tokenizer.",
    library=bpe.encode_bpe,
    hints=[
        "Begin with single characters, as training did. What is done again and again, and when is there nothing left "
        "to do?",
        "The place of a pair in `merges` is its rank. In each round, list the pairs of neighbors that have one. Which "
        "of them is merged: the first in the word, or the one of the smallest rank?",
        "A dict from pair to rank makes that a `min`. Merge that pair everywhere in the word, as in `train_bpe`, before "
        "you look for pairs again: what was merged has new neighbors.",
    ],
)
def encode_bpe(word, merges):
    start = list(word)
    rank = {pair: place for place, pair in enumerate(merges)}
    rounds = len(word)
    tokens = start
    for _ in range(rounds):
        pairs = [(tokens[i], tokens[i + 1]) for i in range(len(tokens) - 1)]
        known = [pair for pair in pairs if pair in rank]
        done = not known
        if done:
            break
        best = min(known, key=rank.__getitem__)
        merged = []
        place = 0
        while place < len(tokens):
            found = tuple(tokens[place : place + 2]) == best
            size = 2 if found else 1
            token = "".join(tokens[place : place + size])
            merged.append(token)
            following = place + size
            place = following
        tokens = merged
    return tokens


@encode_bpe.cases
def _(rng):
    def case(about, word, merges):
        if len(merges) < 6:
            about = f"{about}, merges = {merges}"
        return Case(about, (word, merges), encoded, grad=False)

    def upto(first, last):
        return int(torch.randint(first, last + 1, (), generator=rng))

    def learned(*words, n=30):
        return bpe.train_bpe({word: len(words) - i for i, word in enumerate(words)}, n)

    yield case("one merge", "cab", [("a", "b")])
    yield case("a token that grows", "lower", [("l", "o"), ("lo", "w"), ("e", "r")])
    yield case("two merges that want the same character", "abc", [("b", "c"), ("a", "b")])
    yield case("a pair that is there twice", "abcab", [("a", "b")])
    yield case("three equal characters", "aaa", [("a", "a")])
    yield case("a run of a character", "aaaaaaa", [("a", "a"), ("aa", "aa")])
    yield case("nothing to merge", "cab", [("x", "y")])
    yield case("no merges", "abc", [])
    yield case("an empty word", "", [("a", "b")])
    yield case("a single character", "a", [("a", "b")])
    yield case("characters that training has not seen", "zabé", [("a", "b")])
    yield case("a pair that begins inside a token", "xab", [("x", "a"), ("a", "b")])
    yield case("a pair that ends inside a token", "abyab", [("b", "y"), ("a", "b")])
    yield case("capital letters", "AbaBab", [("a", "b")])
    yield case("blanks", " ab a b", [("a", "b"), (" ", "ab"), (" ", "a")])
    yield case(
        "a longer token that is not reached",
        "abcd",
        [("b", "c"), ("a", "b"), ("c", "d"), ("ab", "cd")],
    )
    about = "two pieces that make a known text, and are no known pair"
    yield case(about, "abc", [("b", "c"), ("a", "b"), ("ab", "c")])
    yield case(
        "a longer token, learned later", "cdabcd", [("c", "d"), ("a", "b"), ("b", "cd")]
    )
    word = "uncharacteristically"
    yield case("a word learned whole", word, learned(word, word[:9], word[9:]))
    merges = learned("newest", "widest", "low", "lower", "lowest")
    yield case("a word of the training", "lowest", merges)
    yield case("a new word", "newer", merges)
    yield case("a long new word", "slowestwidenewestlow", merges)
    yield case("other letters", "théâtre 🙂🙂", learned("été", "thé", "🙂🙂", "🙂🙂🙂"))
    merges = learned("banana", "bandana", "ananas", "cabana", "nab", n=14)
    yield case("words that overlap", "bananabandanananas", merges)
    signs = [chr(0x4E00 + i) for i in range(262)]
    for letters, longest in (("ab", 9), ("abc", 8), ("abcd", 7)):

        def drawn(length, letters=letters):
            return "".join(letters[upto(0, len(letters) - 1)] for _ in range(length))

        merges = learned(*dict.fromkeys(drawn(upto(2, longest)) for _ in range(12)), n=12)
        for length in (12, 25):
            yield case(f"{length} characters, drawn at random", drawn(length), merges)
    yield case("line breaks and tabs", "b\na\r\tab\n", [("a", "b"), ("b", "\n")])
    pairs = [("e", "\u0301"), ("c", "a"), ("2", "a")]
    word = "cae\u0301a\u0301\u00e9a\u00a0a👩\u200d🔬\ufe0f\0a"
    yield case("signs above letters, and signs that nobody sees", word, pairs)
    yield case("raised digits, and letters of two", "m²a2a½ŒßŉĲ", pairs)
    pairs = [("a", "b"), ("_", "_"), ("-", "ab")]
    yield case("other signs", "a_b__ab|a-ab/b##b@@a▁b·#Ġ'\"\\", pairs)
    grown = [("".join(signs[:i]), signs[i]) for i in range(1, 262)]
    yield case("262 characters, merged one after the other", "".join(signs), grown)
    about = "1,010 characters, merged one after the other"
    yield Case(about, (AllDifferent(1010),), encoded_grown, grad=False, is_slow=True)
    doubled = [("ab" * 2**i, "ab" * 2**i) for i in range(9)]
    long = (Repeated("ab", 1600), [("a", "b"), *doubled])
    yield Case("ab, 1,600 times, as one word", long, encoded_long, grad=False, is_slow=True)
    last = [("y", "z"), ("x", "y"), ("a", "b")]
    args = ("abxyz", 66_000, last)
    about = f"66,000 merges of other letters, and then three: {last}"
    yield Case(about, args, encoded_late, grad=False, is_slow=True)


encode_bpe.rows("""
Several pairs of a word can be merged. Is the first of them in the word also the first in `merges`?
    leftmost-pair-first  best = known[0]
    leftmost-pair-first  best = known[-1]
Which place in `merges` has the pair that training merged first, a small one or a large one?
    last-merged-first  best = max(known, key=rank.__getitem__)
    last-merged-first  rank = {pair: -place for place, pair in enumerate(merges)}
Which pair goes first, and is it the same one after each merge? What says so: how long it is, the alphabet, or when training merged it?
    not-by-rank  best = max(known, key=lambda pair: len("".join(pair)))
    not-by-rank  best = min(known, key=lambda pair: (len("".join(pair)), rank[pair]))
    not-by-rank  best = min(known, key=lambda pair: (-pairs.count(pair), rank[pair]))
    not-by-rank  best = min(known) || max(known) || max(known, key=pairs.count)
The rank tells of all pairs in the word. By what do you choose among those that `merges` does not have?
    unknown-pairs-merged  known = pairs ; best = min(known, key=lambda pair: rank.get(pair, len(rank)))
    unknown-pairs-merged  known = pairs ; best = min(known, key=lambda pair: rank.get(pair, 0))
Which rank has the pair that was merged first, and is it in your table? (0 is False to an `if`.)
    rank-of-zero  known = [pair for pair in pairs if rank.get(pair)]
    rank-of-zero  known = [pair for pair in pairs if rank.get(pair, 0) > 0]
    rank-of-zero  rank = {pair: place for place, pair in enumerate(merges) if place}
`merges` does not have all pairs. What does your lookup say to one that is not there?
    unknown-pairs-looked-up  known = pairs || pairs ; best = min(known, key=lambda pair: rank[pair])
    unknown-pairs-looked-up  known = pairs ; best = min(known, key=merges.index)
After a merge there are new neighbors. How many rounds has your loop, and what ends it?
    one-round-only  rounds = 1
    rounds-miscounted  rounds = len(word) // 2 || 2 || 3 || 10
    rounds-miscounted  rounds = len(merges) // 2 || len(merges) - 1
Is every merge in your table, the last one, too?
    a-merge-left-out  rank = {pair: place for place, pair in enumerate(merges[:-1])}
What does `min` say when no pair is left? Which words have none from the start?
    goes-on-without-pairs  done = False
    goes-on-without-pairs  done = len(tokens) == 1 || len(tokens) < 2
In aaa, the middle one is in two pairs. Of how many tokens can it become a part?
    overlapping-pairs  size = next(n for n in range(1, len(tokens) + 2) if tuple(tokens[place + n - 1 : place + n + 1]) != best)
A single pair is left, and it is known. Is the word done?
    stops-too-early  done = len(known) < 2 || len(pairs) < 2 || len(known) < len(pairs)
A word can hold the pair several times. How many of them does yours merge before it goes on to the next pair?
    only-one-occurrence-merged  found = _ and "".join(best) not in merged
The pair has become one token. By how much does your index grow then?
    right-token-stays  following = place + 1
Which tokens are compared with the pair: how many, and in which order?
    half-of-the-pair-compared  found = tokens[place] == best[0]
    half-of-the-pair-compared  found = tokens[place] == best[0] and place + 1 < len(tokens)
    half-of-the-pair-compared  found = sorted(tokens[place : place + 2]) == sorted(best)
    half-of-the-pair-compared  found = tuple(tokens[place : place + 2]) in rank
    half-of-the-pair-compared  found = "".join(tokens[place : place + 2]) in map("".join, merges)
Left and right are not the same: is ("a", "b") the pair ("b", "a")?
    order-in-the-pair  pairs = [(tokens[i + 1], tokens[i]) for i in range(len(tokens) - 1)]
    order-in-the-pair  rank = {pair[::-1]: place for place, pair in enumerate(merges)}
    order-in-the-pair  rank = {tuple(sorted(pair)): place for place, pair in enumerate(merges)}
The pair has become one token. What is its text?
    other-token-made  token = tokens[place] || tokens[place : place + size][-1]
    other-token-made  token = " ".join(tokens[place : place + size])
    other-token-made  token = "".join(sorted(tokens[place : place + size]))
    other-token-made  token = "".join(tokens[place : place + size][::-1])
How many neighbors have five tokens in a row?
    pairs-at-the-edge  pairs = [(tokens[i], tokens[i + 1]) for i in range(len(tokens) - 2)]
    pairs-at-the-edge  pairs = [(tokens[i], tokens[i + 1]) for i in range(1, len(tokens) - 1)]
    pairs-at-the-edge  pairs = [(tokens[i], tokens[i + 1]) for i in range(len(tokens))]
    pairs-at-the-edge  pairs = [(tokens[i], tokens[i + 1]) for i in range(0, len(tokens) - 1, 2)]
With which tokens does a word begin? Nothing is added to its end or its beginning here.
    end-of-word-added  start = [*word, "</w>"] || [*word, ""] || [*word, "_"] || [" ", *word]
A word is what its characters are: capital letters, blanks and all. What does yours begin with?
    characters-changed  start = list(word.lower()) || list(word.strip()) || list(word.replace(" ", ""))
    characters-changed  start = [c for c in word if c.isalnum()] || [c for c in word if c.isascii()]
How many tokens has a word before the first merge?
    word-not-cut  start = [word] || word.split()
A character that training has not seen: which token does it become, and what do all tokens together make?
    unknown-characters-lost  start = [c for c in word if c in "".join(map("".join, merges))]
    unknown-characters-lost  start = [c if c in "".join(map("".join, merges)) else "<unk>" for c in word]
    unknown-characters-lost  return = [token for token in tokens if len(token) > 1]
What is asked for: the tokens in their order, each as often as it is there?
    other-than-tokens  return = [rank.get(token, -1) for token in tokens]
    other-than-tokens  return = " ".join(tokens) || "".join(tokens) || set(tokens) || (tokens, len(tokens))
    other-than-tokens  return = [(token,) for token in tokens] || [tokens]
    other-than-tokens  return = {place: token for place, token in enumerate(tokens)}
    other-tokens-returned  return = [*dict.fromkeys(tokens)] || tokens[::-1] || sorted(tokens)
    other-tokens-returned  return = start || tokens[:-1] || tokens[1:]
How many tokens has an empty word?
    token-of-an-empty-word  return = tokens or [""]
    token-of-an-empty-word  start = list(word) or [""]
""")


def _one_after_another(merge=merged, order=list, *, if_there=False):
    """Return an answer that goes through all merges once, or through those that are there."""

    def answer(word, merges):
        tokens = list(word)
        for pair in order(merges):
            if not if_there or pair in pairwise(tokens):
                tokens = merge(tokens, pair)
        return tokens

    return answer


def _first_only(tokens, pair):
    for i in range(len(tokens) - 1):
        if tuple(tokens[i : i + 2]) == pair:
            return [*tokens[:i], "".join(pair), *tokens[i + 2 :]]
    return tokens


def _last_only(tokens, pair):
    for i in reversed(range(len(tokens) - 1)):
        if tuple(tokens[i : i + 2]) == pair:
            return [*tokens[:i], "".join(pair), *tokens[i + 2 :]]
    return tokens


encode_bpe.mistake(
    "only-one-occurrence-merged",
    "A word can hold the pair several times. How many of them does yours merge before it goes on to the next pair?",
)(_one_after_another(_first_only), _one_after_another(_last_only))
encode_bpe.mistake(
    "merged-from-the-right",
    "Of three equal characters in a row, which two are merged?",
)(_one_after_another(from_the_right))


encode_bpe.mistake(
    "last-token-lost",
    "Your loop needs a token and the next one. What becomes of the last token, which has no next one?",
)(_one_after_another(last_lost), _one_after_another(last_lost, if_there=True))
encode_bpe.mistake(
    "overlapping-pairs",
    "In aaa, the middle one is in two pairs. Of how many tokens can it become a part?",
)(_one_after_another(each_for_itself))


@encode_bpe.mistake(
    "ends-at-an-absent-merge",
    "Training merged the pairs of many words. If one of them is not in this word, is the word done?",
)
def _(word, merges):
    tokens = list(word)
    for pair in merges:
        if pair not in [*pairwise(tokens)]:
            break
        tokens = merged(tokens, pair)
    return tokens


encode_bpe.mistake(
    "merges-in-another-order",
    "You go through `merges` once. In which order did training find them, and in which does yours take them?",
)(
    _one_after_another(order=reversed),
    _one_after_another(order=sorted),
    _one_after_another(order=lambda merges: sorted(merges, key=lambda p: -len("".join(p)))),
)


def _replaced(between):
    """Return an answer that has a sign between the tokens, and replaces."""

    def answer(word, merges):
        text = between.join(word)
        for pair in merges:
            text = text.replace(between.join(pair), "".join(pair))
        return text.split(between) if between.strip() else text.split()

    return answer


def _replaced_blanks(word, merges):
    text = " ".join(word)
    for pair in merges:
        text = text.replace(" ".join(pair), "".join(pair))
    return text.split(" ")


def _replaced_by_rank(between):
    """Return an answer that has a sign between the tokens, and replaces the pair of the smallest rank."""

    def answer(word, merges):
        text, rank = between.join(word), {pair: i for i, pair in enumerate(merges)}
        while known := [p for p in pairwise(text.split(between)) if p in rank]:
            best = min(known, key=rank.__getitem__)
            text = text.replace(between.join(best), "".join(best))
        return text.split(between) if word else []

    return answer


def _leftmost(is_new_start):
    """Return an answer that merges whatever it meets, from the left."""

    def answer(word, merges):
        tokens, i = list(word), 0
        while i < len(tokens) - 1:
            is_known = (tokens[i], tokens[i + 1]) in merges
            if is_known:
                tokens[i : i + 2] = [tokens[i] + tokens[i + 1]]
            i = i + 1 if not is_known else 0 if is_new_start else i
        return tokens

    return answer


encode_bpe.mistake(
    "leftmost-pair-first",
    "Several pairs of a word can be merged. Is the first of them in the word also the first in `merges`?",
)(_leftmost(True), _leftmost(False))
encode_bpe.mistake(
    "replaced-across-tokens",
    'Blanks between tokens, and `replace`: does "a b" also stand in "xa b"? And what if a blank is a character of '
    "the word?",
)(
    _replaced(" "),
    _replaced("|"),
    _replaced_blanks,
    _replaced_by_rank(" "),
    _replaced_by_rank("\0"),
)


def _longest(word, merges):
    """Take the longest token that the rest of the word begins with."""
    known, tokens = {left + right for left, right in merges}, []
    while word:
        fits = [word[:n] for n in range(2, len(word) + 1) if word[:n] in known]
        tokens.append(max([word[:1], *fits], key=len))
        word = word[len(tokens[-1]) :]
    return tokens


def _longest_from_the_end(word, merges):
    turned = _longest(word[::-1], [(b[::-1], a[::-1]) for a, b in merges])
    return [token[::-1] for token in turned[::-1]]


encode_bpe.mistake(
    "longest-token-first",
    "The longest token that fits is not always what training would have made. In which order were the pairs of this "
    "word merged?",
)(_longest, _longest_from_the_end)


@encode_bpe.mistake(
    "merges-changed",
    "The list that came in is not yours. Which line takes something out of `merges`, or turns it around?",
)
def _(word, merges):
    tokens = list(word)
    while merges:
        tokens = merged(tokens, merges.pop(0))
    return tokens


encode_bpe.drills(
    "end-of-word-added, word-not-cut 1, leftmost-pair-first, other-token-made 2, last-merged-first, "
    "pairs-at-the-edge, half-of-the-pair-compared, right-token-stays, goes-on-without-pairs 2, rank-of-zero"
)
