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
        ("ru", "long", "3 марта 2024 г."),  # plain spaces, where Babel's break no lines
    ],
)
def test_days_are_written_as_people_write_them(locale, style, expected):
    assert write_date(DAY, locale, style) == expected


def test_the_year_stands_in_every_input_exactly_once():
    for locale in LOCALES:
        for style in STYLES:
            assert write_date(date(1912, 12, 12), locale, style).count("1912") == 1


def test_each_day_comes_once_in_the_order_of_the_seed():
    assert date_pairs(50, seed=1) == date_pairs(50, seed=1) != date_pairs(50, seed=2)
    assert len({iso for _, iso in date_pairs(9000)}) == 9000
    isos = sorted(iso for _, iso in date_pairs(366, years=(2024, 2024)))
    assert (isos[0], isos[59], isos[-1]) == ("2024-01-01", "2024-02-29", "2024-12-31")


def test_pairs_use_all_languages_and_the_years_that_are_asked_for():
    pairs = date_pairs(200, locales=["hu"], years=(1800, 1801))
    assert {iso[:4] for _, iso in pairs} == {"1800", "1801"}
    assert all(text.startswith(iso[:4]) for text, iso in pairs)
    texts = " ".join(text.lower() for text, _ in date_pairs(500))
    for month in ("märz", "march", "marzo", "mars", "március"):
        assert month in texts


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
