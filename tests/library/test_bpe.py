"""Tests of byte-pair encoding."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import BPE

from attn_lib.bpe import encode_bpe, train_bpe

WORDS = st.dictionaries(st.text("abc", max_size=7), st.integers(1, 5), max_size=8)


def test_merges_of_a_case_worked_out_by_hand():
    """l+o and o+w are seen 7 times each, and w+e, e+r and r+! less often."""
    words = {"low": 5, "lower": 2}
    assert train_bpe(words, 3) == [("l", "o"), ("lo", "w"), ("e", "r")]
    assert encode_bpe("lower", train_bpe(words, 3)) == ["low", "er"]
    assert words == {"low": 5, "lower": 2}


def test_three_equal_characters_are_two_pairs_and_merged_from_the_left():
    assert train_bpe({"aaa": 1, "bc": 1}, 2) == [("a", "a"), ("aa", "a")]
    assert encode_bpe("aaa", [("a", "a")]) == ["aa", "a"]
    assert encode_bpe("aaaaa", [("a", "a")]) == ["aa", "aa", "a"]


def test_the_count_of_a_word_counts():
    assert train_bpe({"ab": 1, "abc": 1, "xy": 3}, 1) == [("x", "y")]


def test_of_equally_frequent_pairs_the_smaller_comes_first():
    assert train_bpe({"xy": 2, "ab": 2, "aa": 2}, 3) == [("a", "a"), ("a", "b"), ("x", "y")]


def test_training_stops_where_no_pair_is_left():
    assert train_bpe({"ab": 1}, 9) == [("a", "b")]
    assert (
        train_bpe({"": 3, "a": 2}, 9) == train_bpe({}, 9) == train_bpe({"ab": 1}, 0) == []
    )


def test_what_was_merged_first_goes_first_and_unknown_characters_stay_alone():
    assert encode_bpe("abc", [("b", "c"), ("a", "b")]) == ["a", "bc"]
    assert encode_bpe("éabé", [("a", "b")]) == ["é", "ab", "é"]
    assert encode_bpe("", [("a", "b")]) == []


def test_words_that_never_occur_are_refused():
    with pytest.raises(ValueError, match="counts of at least 1, got 0"):
        train_bpe({"ab": 2, "cd": 0}, 1)


@given(WORDS, st.integers(0, 12))
def test_training_equals_the_naive_algorithm(words, num_merges):
    assert train_bpe(words, num_merges) == naive(words, num_merges)


@given(WORDS, st.text("abcd", max_size=12))
def test_encoding_equals_the_package_tokenizers(words, word):
    merges = train_bpe(words, 12)
    vocabulary = dict.fromkeys("abcd") | {left + right: None for left, right in merges}
    numbers = {token: number for number, token in enumerate(vocabulary)}
    theirs = Tokenizer(BPE(numbers, merges))
    assert encode_bpe(word, merges) == theirs.encode(word).tokens
    assert "".join(encode_bpe(word, merges)) == word


def naive(words, num_merges):
    """Count everything anew for each pair; `replace` merges, with blanks between the tokens."""
    texts = {f" {' '.join(word)} ".replace(" ", "  "): n for word, n in words.items()}
    merges = []
    for _ in range(num_merges):
        counts = Counter()
        for text, n in texts.items():
            for pair in pairwise(text.split()):
                counts[pair] += n
        if not counts:
            break
        left, right = min(counts, key=lambda pair: (-counts[pair], pair))
        merges.append((left, right))
        old, new = f" {left}  {right} ", f" {left}{right} "
        texts = {text.replace(old, new): n for text, n in texts.items()}
    return merges
