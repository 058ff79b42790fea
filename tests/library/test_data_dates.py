from datetime import date

import pytest
import torch

from attn_lib.data.dates import LOCALES, STYLES, Characters, date_pairs, write_date

DAY = date(2024, 3, 3)


@pytest.mark.parametrize(
    ("locale", "style", "expected"),
    [
        ("de", "long", "3. März 2024"),
        ("de", "full", "Sonntag, 3. März 2024"),
        ("en", "medium", "Mar 3, 2024"),
        ("fr", "long", "3 mars 2024"),
        ("hu", "long", "2024. március 3."),
    ],
)
def test_days_are_written_as_people_write_them(locale, style, expected):
    assert write_date(DAY, locale, style) == expected


def test_spaces_that_do_not_break_lines_become_plain_spaces():
    assert write_date(DAY, "ru", "long") == "3 марта 2024 г."


@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize("style", STYLES)
def test_the_year_stands_in_every_input_exactly_once(locale, style):
    assert write_date(date(1912, 12, 12), locale, style).count("1912") == 1


def test_pairs_are_the_same_for_the_same_seed_and_differ_for_another():
    assert date_pairs(50, seed=1) == date_pairs(50, seed=1) != date_pairs(50, seed=2)


def test_no_day_comes_twice_so_training_and_test_do_not_overlap():
    pairs = date_pairs(9000)
    assert len({iso for _, iso in pairs}) == 9000
    train, test = pairs[:8000], pairs[8000:]
    assert not {iso for _, iso in train} & {iso for _, iso in test}


def test_pairs_use_all_languages_and_the_years_that_are_asked_for():
    pairs = date_pairs(200, locales=["hu"], years=(1800, 1801))
    assert {iso[:4] for _, iso in pairs} == {"1800", "1801"}
    assert all(text.startswith(iso[:4]) for text, iso in pairs)
    texts = " ".join(text.lower() for text, _ in date_pairs(500))
    for month in ("märz", "march", "marzo", "mars", "március"):
        assert month in texts


def test_every_day_of_a_year_can_be_asked_for():
    isos = sorted(iso for _, iso in date_pairs(366, years=(2024, 2024)))
    assert (isos[0], isos[59], isos[-1]) == ("2024-01-01", "2024-02-29", "2024-12-31")


def test_ids_worked_out_by_hand():
    characters = Characters(["b a", "c"])
    assert characters.characters == [" ", "a", "b", "c"]
    assert len(characters) == 7
    assert characters.encode(["ab", "c"]).tolist() == [[4, 5], [6, 0]]
    assert characters.encode(["ab", "c"], ends=True).tolist() == [
        [1, 4, 5, 2],
        [1, 6, 2, 0],
    ]
    assert characters.decode(torch.tensor([[1, 4, 5, 2, 2], [6, 0, 2, 4, 4]])) == [
        "ab",
        "c",
    ]


def test_decode_undoes_encode():
    texts = [text for text, _ in date_pairs(200)]
    characters = Characters(texts)
    for ends in (False, True):
        assert characters.decode(characters.encode(texts, ends=ends)) == texts
    assert characters.encode([]).shape == (0, 0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: write_date(DAY, "de", "short"), "a style of .*medium.*, got 'short'"),
        (lambda: write_date(DAY, "xx", "long"), "a locale that Babel knows.* got 'xx'"),
        (lambda: write_date(DAY, "not one", "long"), "a locale.* got 'not one'"),
        (lambda: date_pairs(366, years=(2023, 2023)), "at most 365 pairs.* 2023.* got 366"),
        (lambda: date_pairs(-1), "got -1"),
        (lambda: date_pairs(1, locales=[]), "at least one locale, got none"),
        (
            lambda: Characters(["ab"]).encode(["bad"]),
            "characters of 'ab', got 'd' in 'bad'",
        ),
        (lambda: Characters(["ab"]).decode(torch.tensor([[5]])), "ids from 0 to 4, got 5"),
    ],
)
def test_value_error_names_expected_and_actual(call, message):
    with pytest.raises(ValueError, match=message):
        call()
