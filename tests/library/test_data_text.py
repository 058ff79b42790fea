import torch

from attn_lib.data.text import encode, python_help, random_windows, split_help


def test_characters_are_numbered_in_the_order_of_the_vocabulary():
    ids, vocabulary = encode("banana")
    assert vocabulary == "abn"
    assert ids.tolist() == [1, 0, 2, 0, 2, 0]
    assert "".join(vocabulary[i] for i in ids) == "banana"


def test_the_last_tenth_of_the_help_is_kept_for_tests():
    train, test, vocabulary = split_help()
    text = python_help()
    assert len(text) > 200_000
    assert " the " in text
    assert "".join(vocabulary[i] for i in train.tolist() + test.tolist()) == text
    assert 0 <= 9 * len(test) - len(train) < 10


def test_windows_are_pieces_of_the_text_and_reach_both_ends():
    ids = torch.arange(6)
    windows = random_windows(ids, 3, 200, generator=torch.Generator().manual_seed(0))
    assert windows.shape == (200, 3)
    assert (windows[:, 1:] - windows[:, :-1] == 1).all()
    assert set(windows[:, 0].tolist()) == {0, 1, 2, 3}
