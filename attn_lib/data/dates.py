"""Dates as people write them in six languages, each with its ISO form: 3. März 2024, 2024-03-03.

The names of months and days, and the order of the parts, come from the Unicode Common Locale Data
Repository (CLDR, license Unicode-3.0) by way of the package Babel (license BSD-3-Clause). Nothing
of it is copied into this course: Babel writes the dates when they are asked for.
"""

from collections.abc import Iterable, Sequence
from datetime import date

import torch
from babel import Locale, UnknownLocaleError
from babel.dates import format_date
from jaxtyping import Int
from torch import Tensor

LOCALES = {
    "de": "German",
    "en": "English",
    "es": "Spanish",
    "fr": "French",
    "hu": "Hungarian",
    "it": "Italian",
}
STYLES = ("medium", "long", "full")  # CLDR's names; "short" may leave out the century


def write_date(day: date, locale: str, style: str) -> str:
    """Write a day as people do in a language: `write_date(date(2024, 3, 3), "de", "long")`.

    Args:
        day: the day.
        locale: a language that Babel knows, such as "de".
        style: "medium", "long" or "full", the last with the day of the week.

    Raises:
        ValueError: the locale or the style is unknown.

    Source: Unicode Technical Standard 35, part 4, unicode.org/reports/tr35/tr35-dates.html
    """
    if style not in STYLES:
        raise ValueError(f"expected a style of {STYLES}, got {style!r}")
    try:
        known = Locale.parse(locale)
    except (UnknownLocaleError, ValueError) as error:
        raise ValueError(
            f'expected a locale that Babel knows, such as "de", got {locale!r}'
        ) from error
    text = format_date(day, format=style, locale=known)
    return " ".join(text.split())  # some languages use spaces that must not break a line


def date_pairs(
    num_pairs: int,
    *,
    seed: int = 0,
    locales: Iterable[str] = LOCALES,
    years: tuple[int, int] = (1900, 2099),
) -> list[tuple[str, str]]:
    """Return pairs (as people write it, ISO), no two of the same day.

    The days, languages and styles are drawn at random, the same for the same arguments. As no day
    comes twice, any part of the list shares no answer with the rest: cut it into training and test.

    Args:
        num_pairs: how many, at most the days in those years.
        seed: of the random choices.
        locales: the languages to choose from.
        years: the first and the last year, both included.

    Raises:
        ValueError: there are fewer days than pairs, or no locale.
    """
    locales = list(locales)
    if not locales:
        raise ValueError("expected at least one locale, got none")
    first = date(years[0], 1, 1).toordinal()
    num_days = date(years[1], 12, 31).toordinal() - first + 1
    if not 0 <= num_pairs <= num_days:
        raise ValueError(
            f"expected at most {num_days} pairs, the days of {years[0]} to {years[1]}, "
            f"got {num_pairs}"
        )
    generator = torch.Generator().manual_seed(seed)
    offsets = torch.randperm(num_days, generator=generator)[:num_pairs]
    which = torch.randint(len(locales), (num_pairs,), generator=generator)
    styles = torch.randint(len(STYLES), (num_pairs,), generator=generator)
    pairs = []
    for offset, w, s in zip(offsets.tolist(), which.tolist(), styles.tolist(), strict=True):
        day = date.fromordinal(first + offset)
        pairs.append((write_date(day, locales[w], STYLES[s]), day.isoformat()))
    return pairs


class Characters:
    """A vocabulary of characters, with three ids for what is no character.

    Args:
        texts: the characters in these get ids, in alphabetical order.

    Attributes:
        pad: 0, fills short rows up.
        bos: 1, begins a sequence.
        eos: 2, ends it.
        characters: the characters, in the order of their ids, which begin at 3.
    """

    pad, bos, eos = 0, 1, 2

    def __init__(self, texts: Iterable[str]):
        self.characters = sorted(set().union(*texts))
        self._ids = {c: i for i, c in enumerate(self.characters, 3)}

    def __len__(self) -> int:
        """Return the number of ids, the special ones included."""
        return 3 + len(self.characters)

    def encode(self, texts: Sequence[str], *, ends: bool = False) -> Int[Tensor, "b n"]:
        """Return the ids (B, N) of B texts, padded at the end to the longest.

        Args:
            texts: B texts.
            ends: put bos before each text and eos after it.

        Raises:
            ValueError: a text holds a character without an id.
        """
        rows = []
        for text in texts:
            if unknown := set(text) - self._ids.keys():
                raise ValueError(
                    f"expected characters of {''.join(self.characters)!r}, "
                    f"got {''.join(sorted(unknown))!r} in {text!r}"
                )
            ids = [self._ids[c] for c in text]
            rows.append([self.bos, *ids, self.eos] if ends else ids)
        longest = max(map(len, rows), default=0)
        padded = [row + [self.pad] * (longest - len(row)) for row in rows]
        return torch.tensor(padded, dtype=torch.long).view(len(rows), longest)

    def decode(self, ids: Int[Tensor, "b n"]) -> list[str]:
        """Return the texts of ids (B, N), each up to its eos, without bos and pad.

        Raises:
            ValueError: an id is not in the vocabulary.
        """
        if ids.numel() and not (ids.min() >= 0 and ids.max() < len(self)):
            raise ValueError(
                f"expected ids from 0 to {len(self) - 1}, "
                f"got {ids.min().item()} to {ids.max().item()}"
            )
        texts = []
        for row in ids.tolist():
            row = row[: row.index(self.eos)] if self.eos in row else row
            texts.append("".join(self.characters[i - 3] for i in row if i > 2))
        return texts
