import pytest
import torch

from attn_lib.data.text import encode, python_help, random_windows, split_help


def test_the_help_of_this_python_is_long_english_text():
    text = python_help()
    assert len(text) > 200_000
    assert " the " in text
    assert python_help() == text


def test_characters_are_numbered_in_the_order_of_the_vocabulary():
    ids, vocabulary = encode("banana")
    assert vocabulary == "abn"
    assert ids.tolist() == [1, 0, 2, 0, 2, 0]
    assert "".join(vocabulary[i] for i in ids) == "banana"


def test_the_last_tenth_of_the_help_is_kept_for_tests():
    train, test, vocabulary = split_help()
    assert "".join(vocabulary[i] for i in train.tolist() + test.tolist()) == python_help()
    assert 0 <= 9 * len(test) - len(train) < 10


def test_windows_are_pieces_of_the_text_and_reach_both_ends():
    ids = torch.arange(6)
    windows = random_windows(ids, 3, 200, generator=torch.Generator().manual_seed(0))
    assert windows.shape == (200, 3)
    assert (windows[:, 1:] - windows[:, :-1] == 1).all()
    assert set(windows[:, 0].tolist()) == {0, 1, 2, 3}


def test_the_same_generator_gives_the_same_windows():
    ids = torch.arange(100)
    a, b = (
        random_windows(ids, 5, 4, generator=torch.Generator().manual_seed(1))
        for _ in range(2)
    )
    assert torch.equal(a, b)


def test_value_error_names_expected_and_actual():
    with pytest.raises(ValueError, match=r"at least one character, got an empty"):
        encode("")
    with pytest.raises(ValueError, match=r"N at least 7, .* got \(6,\)"):
        random_windows(torch.arange(6), 7, 1)
    with pytest.raises(ValueError, match=r"got \(2, 6\)"):
        random_windows(torch.zeros(2, 6, dtype=torch.long), 3, 1)
