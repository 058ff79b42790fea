from attn_lib.data.which_noun import which_noun


def test_the_first_pair_is_the_running_sentence():
    first = which_noun()[0]
    assert first.versions() == [
        "The trophy did not fit in the suitcase because it was too big.",
        "The trophy did not fit in the suitcase because it was too small.",
    ]
    assert first.nouns == ("trophy", "suitcase")


def test_in_every_pair_one_word_changes_and_both_nouns_stand_before_it():
    pairs = which_noun()
    assert len(pairs) == len({pair.sentence for pair in pairs}) == 24
    for pair in pairs:
        one, other = (version.rstrip(".").split() for version in pair.versions())
        assert one[:-1] == other[:-1]
        assert (one[-1], other[-1]) == pair.words
        places = [one.index(word) for word in (*pair.nouns, "it")]
        assert places == sorted(places)
        assert all(one.count(word) == 1 for word in (*pair.nouns, "it"))
