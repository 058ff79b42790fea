from attn_lib.data.suitcase_sentences import CONTAINERS, THINGS, sentences, text, vocabulary


def test_the_first_sentence_is_the_running_one():
    assert text(sentences[0]) == (
        "the trophy did not fit in the suitcase because it was too big ."
    )


def test_every_thing_meets_every_container_once():
    assert sentences.shape == (len(THINGS) * len(CONTAINERS), 14)
    pairs = {(row.split()[1], row.split()[7]) for row in map(text, sentences)}
    assert len(pairs) == len(sentences)


def test_the_thing_decides_the_adjective():
    for row in map(text, sentences):
        assert row.split()[12] == THINGS[row.split()[1]]


def test_the_vocabulary_holds_each_word_once_and_no_other():
    assert len(set(vocabulary)) == len(vocabulary)
    assert sorted(sentences.unique().tolist()) == list(range(len(vocabulary)))
