import pytest

from attn_lib.data.docstrings import TOPICS, Words, docstrings

DOCS = docstrings()


def test_there_are_many_texts_of_every_topic_and_none_is_there_twice():
    assert len(DOCS) > 2500
    for topic in TOPICS:
        assert sum(doc.topic == topic for doc in DOCS) > 100
    assert len({tuple(doc.words) for doc in DOCS}) == len(DOCS)


@pytest.mark.slow
def test_texts_are_lower_case_words_between_the_shortest_and_the_longest():
    assert all(5 <= len(doc.words) <= 60 for doc in DOCS)
    assert all(word.isalpha() and word.islower() for doc in DOCS for word in doc.words)
    assert max(len(doc.words) for doc in docstrings(longest=7)) == 7


def test_every_module_is_found_and_stands_under_its_topic():
    assert {doc.module for doc in DOCS} >= {"socket", "zipfile", "threading", "unittest"}
    for doc in DOCS:
        assert doc.module in TOPICS[doc.topic].split()


def test_frequent_words_get_numbers_and_the_others_share_one():
    words = Words([["b", "a", "a"], ["c", "b", "a"]], 4)
    assert words.words == ["<pad>", "<unk>", "a", "b"]
    ids, real = words.encode([["c", "a"], ["b"]], length=3)
    assert ids.tolist() == [[1, 2, 0], [3, 0, 0]]
    assert real.tolist() == [[True, True, False], [True, False, False]]
    assert words.encode([["a"], ["b", "a"]])[0].tolist() == [[2, 0], [3, 2]]
    assert len(words) == 4
