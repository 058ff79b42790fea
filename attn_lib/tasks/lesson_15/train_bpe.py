"""The task `train_bpe`: which neighbors become one token, learned from how often they meet."""

import torch

from attn_lib import bpe
from attn_lib.checks.authoring import Case, task
from attn_lib.tasks.lesson_15.merging import each_for_itself, from_the_right, merged
from attn_lib.tasks.lesson_15.runs import trained


@task(
    lesson=15,
    points=4,
    insight="No rule of language is in it: pairs are counted, and words appear.",
    library=bpe.train_bpe,
    hints=[
        "One round does three things: count all pairs, choose one, merge it in every word. What must you keep of "
        "each word from round to round, and what is counted anew?",
        "Keep a list of tokens for each word. A pair counts as often as its word does. To choose, sort by two things "
        "at once: `min` compares tuples, and a negative count puts the largest first. If there is no pair, stop.",
        "To merge, go through the tokens with an index and build a new list. Where this token and the next are the "
        "pair, append both as one: by how much does the index grow then, and by how much otherwise?",
    ],
)
def train_bpe(words, num_merges):
    parts = {word: list(word) for word in words}
    rounds = num_merges
    merges = []
    for _ in range(rounds):
        counts = {}  # type: ignore[var-annotated]
        for word, tokens in parts.items():
            times = words[word]
            last = len(tokens) - 1
            for i in range(last):
                pair = (tokens[i], tokens[i + 1])
                seen = counts.get(pair, 0)
                counts[pair] = seen + times
        done = not counts
        if done:
            break
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        merges.append(best)
        for word, tokens in parts.items():
            merged = []
            place = 0
            while place < len(tokens):
                found = tuple(tokens[place : place + 2]) == best
                size = 2 if found else 1
                token = "".join(tokens[place : place + size])
                merged.append(token)
                following = place + size
                place = following
            parts[word] = merged
    return merges


def of_words(words):
    """Write a dict of words as a learner does."""
    return repr(words) if len(repr(words)) < 90 else f"{len(words)} words"


@train_bpe.cases
def _(rng):
    def case(about, words, num_merges, **options):
        args = (words, num_merges)
        about = f"{about}, words = {of_words(words)}"
        return Case(about, args, trained, grad=False, **options)

    def upto(first, last):
        return int(torch.randint(first, last + 1, (), generator=rng))

    yield case("two words", {"low": 5, "lower": 2}, 3)
    yield case("one pair", {"ab": 1}, 1)
    yield case("two merges in one word", {"abc": 1}, 2)
    yield case("a frequent word", {"ab": 1, "abc": 1, "xy": 3}, 2)
    yield case("equally frequent pairs", {"ba": 2, "ab": 2}, 2)
    yield case("equally frequent pairs, one left token", {"ac": 1, "ab": 1, "bb": 1}, 3)
    yield case("capital letters", {"ab": 2, "Ab": 2, "aB": 2}, 3)
    yield case("a capital letter among equals", {"ax": 1, "Bx": 1}, 1)
    yield case("a pair twice in a word", {"abab": 2, "cd": 3}, 3)
    yield case("three equal characters", {"aaa": 2, "bc": 3}, 3)
    yield case("four equal characters", {"aaaa": 1, "bc": 2}, 3)
    yield case("runs of a character", {"aaaaaaa": 1, "baaab": 2, "aabaa": 1}, 5)
    yield case("a pair that begins inside a token", {"xa": 5, "ab": 3, "xab": 2}, 3)
    yield case("a pair that ends inside a token", {"by": 5, "ab": 3, "aby": 2}, 3)
    yield case("ends of words that meet", {"xa": 1, "ay": 1, "az": 1, "ua": 1, "cd": 2}, 2)
    yield case("more merges than pairs", {"abc": 2, "ab": 1}, 9)
    yield case("a single character, and an empty word", {"a": 4, "": 3, "bc": 1}, 2)
    yield case("nothing to merge", {"a": 4, "b": 3}, 2)
    yield case("no words", {}, 3)
    yield case("no merges", {"ab": 2}, 0)
    yield case("blanks", {" ab": 2, " ac": 2, "a b": 3, "ab ": 1}, 6)
    others = {"été": 3, "thé": 2, "大学": 2, "🙂🙂": 1, "Ａx": 1}
    yield case("other letters", others, 7)
    yield case("signs", {"</w>": 2, "a+b": 2, "(.*)": 2, "1,2": 1}, 9)
    yield case("large counts", {"ab": 2000, "cd": 2001, "bc": 1999}, 3)
    names = {"newest": 6, "widest": 3, "low": 5, "lower": 2, "lowest": 1}
    yield case("words with common ends", names, 12)
    text = (
        "attention is a weighted mean of values and the weights come from queries and keys "
        "a query asks and a key answers and the value is what is heard banana bandana"
    )
    counted = {word: upto(1, 6) for word in dict.fromkeys(text.split())}
    yield case("words of a sentence, counts drawn at random", counted, 24)
    for letters, longest in (("ab", 9), ("abc", 7)):
        drawn = {}
        for _ in range(10):
            length = upto(1, longest)
            drawn["".join(letters[upto(0, len(letters) - 1)] for _ in range(length))] = (
                upto(1, 3)
            )
        yield case(f"words of {len(letters)} letters, drawn at random", drawn, 14)
    long = ("".join(chr(97 + upto(0, 25)) for _ in range(45)) for _ in range(7))
    yield case("long words, 270 merges", dict.fromkeys(long, 1), 270)
    broken = {"a\n": 5, "a\nb": 2, "az": 2, "b\t": 3, "b\tc": 1, "bz": 1}
    yield case("line breaks and tabs", broken, 9)
    accents = {"e\u0301a": 3, "\u00e9a": 2, "m²": 2, "m2": 1, "ŒĲ": 1, "½": 4}
    accents |= {"👩\u200d🔬": 2, "a\u00a0b": 2, "a\0b": 2}
    about = "signs above letters, raised digits, signs that nobody sees"
    yield case(about, accents, 15)
    yield case("apostrophes", {"n'": 5, "n't": 2, "at": 2, "it's": 1}, 7)
    dashes = {"a-b": 4, "a_b": 3, "a|b": 2, "@@a": 2, "##a": 2, "▁a": 1, "'\"\\": 1}
    yield case("other signs", dashes, 15)
    # A third of a whole and two thirds of it, as floats, are not what 3 of 10 are.
    shared = {"ab": 3, "zz": 1, "zzy": 2, "q": 4}
    yield case("pairs equally frequent, one in two words", shared, 2)
    yield case("counts of 255, 256 and 257", {"ab": 256, "cd": 257, "ef": 255}, 3)
    yield case("counts of 70,000", {"ab": 70_000, "cd": 70_001}, 1)
    signs = [chr(0x4E00 + i) for i in range(3200)]
    about = "a word of 3,200 characters, all different, the smallest in the middle"
    yield case(about, {"".join(signs[:1599:-1] + signs[:1600]): 1}, 2, is_slow=True)
    signs = signs[:34]
    pairs = [a + b for a in signs for b in signs]
    yield case("equally frequent pairs", dict.fromkeys(pairs[::-1], 1), 2)


train_bpe.rows("""
By which number do you choose a pair? If "low" is there five times, how often is its pair ("l", "o")?
    count-of-the-word-ignored  times = 1
    count-of-the-word-ignored  counts[pair] = seen + 1 || max(seen, times) || times
A pair can be in one word several times. How often does yours count it there?
    once-in-each-word  counts[pair] = seen if pair in [tuple(tokens[j : j + 2]) for j in range(i)] else seen + times
Two pairs are equally frequent. Compare them with `<`: which is smaller, and which do you take?
    first-seen-of-equals  best = max(counts, key=counts.get)
    larger-of-equals  best = max(counts, key=lambda pair: (counts[pair], pair))
    last-seen-of-equals  best = [pair for pair in counts if counts[pair] == max(counts.values())][-1]
Of equally frequent pairs: which of their two tokens is compared first? Is it the pairs that you compare, or what they
become?
    equals-compared-otherwise  best = min(counts, key=lambda pair: (-counts[pair], pair[::-1]))
    equals-compared-otherwise  best = min(counts, key=lambda pair: (-counts[pair], "".join(pair)))
    equals-compared-otherwise  best = min(counts, key=lambda pair: (-counts[pair], len("".join(pair)), pair))
    equals-compared-otherwise  best = min(counts, key=lambda pair: (-counts[pair], -len("".join(pair)), pair))
    equals-compared-otherwise  best = min(counts, key=lambda pair: (-counts[pair], [letter.lower() for letter in pair]))
What does `min` find first in your line, a pair that is seen often or one that is seen rarely?
    rarest-pair  best = min(counts, key=lambda pair: (counts[pair], pair)) || min(counts, key=counts.get)
Which pair is chosen in a round: what do you compare?
    not-by-frequency  best = min(counts) || max(counts) || list(counts)[0] || list(counts)[-1]
How many pairs are asked for, and how many rounds does your loop have? Do the single characters count?
    rounds-miscounted  rounds = num_merges - 1 || num_merges + 1
    rounds-miscounted  rounds = num_merges - len(set("".join(words)))
    rounds-miscounted  rounds = min(num_merges, 256) || min(num_merges, 100)
How large is the list that you return if there are 20 pairs, and 3 are asked for?
    num-merges-ignored  rounds = 1000
All words are single tokens, and there are rounds left. What is in your counts, and what does `min` say to that?
    goes-on-without-pairs  done = False
A pair that is seen once: is it a pair? When is there nothing left to merge?
    stops-too-early  done = not counts or max(counts.values()) < 2
    stops-too-early  done = len(counts) < 2 || len(merges) == len(words)
    stops-too-early  done = not all(len(tokens) > 1 for tokens in parts.values())
The words have changed since the last round. Which counts do you choose by?
    old-counts-kept  counts = counts if merges else {}
What happens to the words once a pair is chosen? What would the next round count otherwise?
    never-merged  parts[word] = tokens
    never-merged  parts[word] = tokens ; counts = {}
    never-merged  found = False
A sign between tokens, and `replace`: does "a b" also stand in "xa b", or in "a bc"? Which tokens
are there?
    replaced-across-tokens  parts[word] = " ".join(tokens).replace(" ".join(best), "".join(best)).split(" ")
    replaced-across-tokens  parts[word] = " ".join(tokens).replace(" ".join(best), "".join(best)).split()
    replaced-across-tokens  parts[word] = chr(0).join(tokens).replace(chr(0).join(best), "".join(best)).split(chr(0))
A word can hold the pair twice. How many of them does yours merge in a round?
    only-the-first-one-merged  found = _ and "".join(best) not in merged
    only-the-first-one-merged  found = _ and place == 0
Where the pair was found, two tokens have become one. By how much does your index grow then?
    right-token-stays  following = place + 1
Which tokens are compared with the pair: how many, and in which order?
    half-of-the-pair-compared  found = tokens[place] == best[0]
    half-of-the-pair-compared  found = tokens[place] == best[0] and place + 1 < len(tokens)
    half-of-the-pair-compared  found = tokens[place] in best and tokens[min(place + 1, len(tokens) - 1)] in best
    half-of-the-pair-compared  found = sorted(tokens[place : place + 2]) == sorted(best)
The pair has become one token. What is its text?
    other-token-made  token = tokens[place] || tokens[place : place + size][-1]
    other-token-made  token = "".join(sorted(tokens[place : place + size]))
    other-token-made  token = "".join(tokens[place : place + size][::-1])
    other-token-made  token = " ".join(tokens[place : place + size])
How many neighbors have five tokens in a row? Which pair of a word do you leave out, and which do you ask for that is
not there?
    pairs-at-the-edge  last = len(tokens) - 2 || len(tokens)
    pairs-at-the-edge  counts[pair] = seen + times * (i > 0)
Left and right are not the same: is ("a", "b") the pair ("b", "a")?
    order-in-the-pair  pair = (tokens[i + 1], tokens[i]) || tuple(sorted((tokens[i], tokens[i + 1])))
With which tokens does a word begin? Nothing is added to its end or its beginning here, and nothing is changed.
    end-of-word-added  parts = {word: [*word, "</w>"] for word in words}
    end-of-word-added  parts = {word: [*word, "_"] for word in words}
    end-of-word-added  parts = {word: [*word, " "] for word in words}
    end-of-word-added  parts = {word: [*word[:-1], word[-1:] + "</w>"] for word in words}
    end-of-word-added  parts = {word: [" ", *word] for word in words}
A word is what its characters are: capital letters, blanks and all. What does yours begin with?
    characters-changed  parts = {word: list(word.lower()) for word in words}
    characters-changed  parts = {word: list(word.strip()) for word in words}
    characters-changed  parts = {word: list(word.replace(" ", "")) for word in words}
    characters-changed  parts = {word: [c for c in word if c.isalnum()] for word in words}
    characters-changed  parts = {word: [c for c in word if c.isascii()] for word in words}
How many tokens has a word before the first merge?
    words-not-cut  parts = {word: [word] for word in words} || {word: word.split() for word in words}
What is asked for: the pairs, the tokens that they become, or what became of the words?
    tokens-for-pairs  return = [left + right for left, right in merges] || [" ".join(pair) for pair in merges]
    tokens-for-pairs  return = [*dict.fromkeys("".join(words)), *(left + right for left, right in merges)]
    more-than-pairs  return = [(pair, 1) for pair in merges] || (merges, parts) || parts
    more-than-pairs  return = {pair: place for place, pair in enumerate(merges)}
    more-than-pairs  return = set(merges)
    pairs-as-lists  return = [list(pair) for pair in merges]
In which order are the pairs to come?
    order-of-the-merges  return = merges[::-1] || sorted(merges)
Which of your pairs do you leave out?
    pairs-left-out  return = merges[1:] || merges[:-1]
How many merges are done before you look at their number for the first time? Try `num_merges=0`.
    at-least-one-merge  rounds = max(_, 1)
    at-least-one-merge  rounds = _ or 10**6
Which pairs of the round before are still in your table? Where does it begin, inside of the loop or before it?
    counts-not-begun-anew  counts = {} if not merges else {pair: n for pair, n in counts.items() if pair != best}
""")


def _pairs(tokens):
    return [tuple(tokens[i : i + 2]) for i in range(len(tokens) - 1)]


def _apart(tokens):
    """List pairs so that no token is in two equal ones: in aaa there is one."""
    found = dict[int, tuple]()
    for i, pair in enumerate(_pairs(tokens)):
        if found.get(i - 1) != pair:
            found[i] = pair
    return found.values()


def _every_second(tokens):
    return [tuple(tokens[i : i + 2]) for i in range(0, len(tokens) - 1, 2)]


def _trained(pairs=_pairs, merge=merged):
    """Return an answer that counts or merges in its own way."""

    def answer(words, num_merges):
        parts, merges = {word: list(word) for word in words}, []
        for _ in range(num_merges):
            counts = dict[tuple, int]()
            for word, tokens in parts.items():
                for pair in pairs(tokens):
                    counts[pair] = counts.get(pair, 0) + words[word]
            if not counts:
                break
            best = min(counts, key=lambda pair: (-counts[pair], pair))
            merges.append(best)
            parts = {word: merge(tokens, best) for word, tokens in parts.items()}
        return merges

    return answer


train_bpe.mistake(
    "overlapping-pairs",
    "In aaa, the first two are neighbors, and so are the last two: how many pairs are that? And of the three, which "
    "two are merged?",
)(
    _trained(merge=from_the_right),
    _trained(merge=each_for_itself),
    _trained(_apart),
    _trained(_every_second),
)


def _in_one_text(between):
    """Return an answer that strings all words together."""

    def answer(words, num_merges):
        tokens, merges = [], []
        for word, times in words.items():
            tokens += [*word, *between] * times
        for _ in range(num_merges):
            counts = dict[tuple, int]()
            for pair in _pairs(tokens[: len(tokens) - len(between)]):
                counts[pair] = counts.get(pair, 0) + 1
            if not counts:
                break
            best = min(counts, key=lambda pair: (-counts[pair], pair))
            merges.append(best)
            tokens = merged(tokens, best)
        return merges

    return lambda words, n: answer(
        {word: min(times, 9) for word, times in words.items()}, n
    )


train_bpe.mistake(
    "across-words",
    "The last character of one word and the first of the next: are they neighbors? Where does a word end in yours?",
)(_in_one_text(""), _in_one_text(" "))


def _counted_once(words, num_merges):
    counts = dict[tuple, int]()
    for word, times in words.items():
        for pair in _pairs(word):
            counts[pair] = counts.get(pair, 0) + times
    return sorted(counts, key=lambda pair: (-counts[pair], pair))[:num_merges]


def _without_new_pairs(words, num_merges):
    """Take the next pair of the first count, if it is still there."""
    parts = {word: list(word) for word in words}
    merges = list[tuple]()
    for best in _counted_once(words, len(words) * 20):
        if len(merges) < num_merges and any(best in _pairs(p) for p in parts.values()):
            merges.append(best)
            parts = {word: merged(tokens, best) for word, tokens in parts.items()}
    return merges


train_bpe.mistake(
    "counted-only-once",
    "A merged token has neighbors, too. How often does your code count, and can a pair hold a token of two characters?",
)(_counted_once, _without_new_pairs)


def _without_the_last(tokens, pair):
    """Merge as far as there is a next token, and forget the one that has none."""
    done, i = [], 0
    while i < len(tokens) - 1:
        is_pair = (tokens[i], tokens[i + 1]) == pair
        done.append("".join(pair) if is_pair else tokens[i])
        i += 2 if is_pair else 1
    return done


train_bpe.mistake(
    "last-token-lost",
    "The last token of a word has no right neighbor. Is it still there after the first round?",
)(_trained(merge=_without_the_last))


def _with_keys_removed(words, num_merges):
    merges = _trained()(words, num_merges)
    for word in [word for word in words if len(word) < 2]:
        del words[word]
    return merges


def _with_keys_replaced(words, num_merges):
    merges = _trained()(words, num_merges)
    for word in list(words):
        words[tuple(word)] = words.pop(word)
    return merges


train_bpe.mistake(
    "words-changed",
    "The dict that came in is not yours. Which line writes into `words`, or takes something out of it?",
)(_with_keys_removed, _with_keys_replaced)

train_bpe.drills(
    "end-of-word-added, count-of-the-word-ignored, rarest-pair, right-token-stays, stops-too-early, "
    "first-seen-of-equals"
)
