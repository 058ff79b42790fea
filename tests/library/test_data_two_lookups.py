import torch

from attn_lib.data.two_lookups import two_lookups


def make(num_sentences=200, seed=0):
    return two_lookups(num_sentences, torch.Generator().manual_seed(seed))


def test_the_answers_stand_at_the_places_that_it_asks_about():
    x, answers, places = make()
    assert x.shape == (200, 9, 40)
    asked = x[:, 8, 24:].unflatten(-1, (2, 8)).argmax(-1)
    assert asked.equal(places)
    for sentence, (thing, size), (first, second) in zip(x, answers, places, strict=True):
        assert sentence[first, 8:16].argmax() == thing
        assert sentence[second, 16:24].argmax() == size


def test_every_field_is_one_hot_and_the_others_are_empty():
    x, _, _ = make()
    words, it = x[:, :8].unflatten(-1, (5, 8)), x[:, 8].unflatten(-1, (5, 8))
    assert (words.sum(-1) == torch.tensor([1.0, 1, 1, 0, 0])).all()
    assert (it.sum(-1) == torch.tensor([0.0, 0, 0, 1, 1])).all()
    assert words[..., 0, :].equal(torch.eye(8).expand(200, 8, 8))


def test_the_two_places_differ_and_all_places_and_answers_occur():
    _, answers, places = make()
    assert (places[:, 0] != places[:, 1]).all()
    for column in (*answers.T, *places.T):
        assert column.unique().tolist() == list(range(8))
