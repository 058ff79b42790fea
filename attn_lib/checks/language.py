"""The language in which a learner is told things: English, or another one with catalogs in attn_lib/locale.

All of the engine speaks English, because a mistake is recognized by the words of an error, and answers are judged in
processes that know of no learner. What is shown is translated at the last moment: by whole sentences of a catalog, with
{fields} for what changes in them.
"""

import os
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from attn_lib.checks import store
from attn_lib.checks.store import CannotKeep
from attn_lib.files import write_whole

LOCALE = Path(__file__).parents[1] / "locale"
LANGUAGES = {"en": "English", "zh": "中文"}
FIELD = re.compile(r"\{(\w+)\}")
NUMBERS = ("n", "m", "all")
END = r"(?=\s|$)"  # of a sentence, or of a few words

_session: list[str] = []  # what was chosen in it last


def spoken() -> str:
    """Return the language of this session: what was chosen in it, $ATTN_LANGUAGE, what is remembered, or "en"."""
    if not _session:
        code = os.environ.get("ATTN_LANGUAGE", "") or _remembered()
        _session.append(code if code in LANGUAGES else "en")
    return _session[-1]


def speak(code: str) -> None:
    """Choose the language of this session, and remember it beside the learner's progress.

    Args:
        code: "en" or "zh".

    Raises:
        ValueError: there is no such language.
        CannotKeep: it could not be remembered; this session speaks it all the same.
    """
    if code not in LANGUAGES:
        raise ValueError(f"There are the languages {', '.join(LANGUAGES)}, not {code!r}.")
    _session[:] = [code]
    try:
        store.folder().mkdir(parents=True, exist_ok=True)
        write_whole(_place(), f"{code}\n")
    except OSError as error:
        raise CannotKeep(f"Your choice could not be kept: {error}.") from None


def _remembered() -> str:
    try:
        return _place().read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return ""


def _place() -> Path:
    return store.folder() / "language"


@cache
def catalog(code: str, name: str) -> dict[str, str]:
    """Return a catalog: English texts and what they are in another language.

    Args:
        code: the language.
        name: of the file in its folder, without its ending.
    """
    from babel.messages.pofile import read_po  # takes time, and English needs none of it

    with open(LOCALE / code / f"{name}.po", "rb") as file:
        messages = read_po(file, locale=code, abort_invalid=True)
    return {str(m.id): str(m.string) for m in messages if m.id and m.string and not m.fuzzy}


class Phrase(NamedTuple):
    """A sentence of a catalog with fields."""

    pattern: re.Pattern[str]
    said: str
    weight: int  # how many letters of it do not change


def phrase(text: str, said: str) -> Phrase:
    """Return what finds a sentence with fields at the beginning of a text.

    A field is as short as it can be; at the end of a sentence it takes the rest of the line. {n}, {m} and {all} are numbers.
    What stands in a field is translated, too, but for {error}, the words of Python or PyTorch.
    """
    parts, end, seen = [], 0, set[str]()
    for found in FIELD.finditer(text):
        parts.append(re.escape(text[end : found.start()]))
        name, end = f"f{found[1]}", found.end()
        field = r"\d[\d.]*" if found[1] in NUMBERS else ".+"
        field += "?" if end < len(text) else ""
        parts.append(f"(?P={name})" if name in seen else f"(?P<{name}>{field})")
        seen.add(name)
    pattern = re.compile("".join([*parts, re.escape(text[end:]), END]))
    return Phrase(pattern, said, len(FIELD.sub("", text)))


@cache
def _phrases(code: str) -> tuple[dict[str, str], list[Phrase]]:
    """Return the sentences of the checks: those that never change, and those with fields."""
    names = ("wording", "errors", "tasks_*")
    paths = sorted(path for name in names for path in (LOCALE / code).glob(f"{name}.po"))
    both: dict[str, str] = {}
    for path in paths:
        both |= catalog(code, path.stem)
    whole = {text: said for text, said in both.items() if not FIELD.search(text)}
    return whole, [phrase(text, both[text]) for text in both if text not in whole]


def colon() -> str:
    """Return what stands between a heading and the rest of its line."""
    return "：" if spoken() == "zh" else ": "


def translated(text: str) -> str:
    """Return a text of the checks in the learner's language; what no catalog knows stays as it is."""
    if spoken() == "en":
        return text
    return "\n".join(_translated(line) for line in text.split("\n"))


def _translated(line: str) -> str:
    """Translate a line, sentence by sentence, from its beginning."""
    whole, with_fields = _phrases(spoken())
    rest = line.lstrip(" █░✓✗○")
    done = line[: len(line) - len(rest)]
    while rest:
        small = rest[0].lower() + rest[1:]  # what begins a sentence here may not elsewhere
        begins = [text for text in whole if rest.startswith(text) or small.startswith(text)]
        fits = [text for text in begins if re.match(END, rest[len(text) :])]
        best = max(fits, key=len, default="")
        said, length, weight = whole.get(best, ""), len(best), len(best)
        for one in with_fields:
            found = one.pattern.match(rest) or one.pattern.match(small)
            if found and one.weight > weight:
                said = one.said
                for name, part in found.groupdict().items():
                    inside = part if name == "ferror" else _translated(part)
                    said = said.replace(f"{{{name[1:]}}}", inside)
                length, weight = found.end(), one.weight
        if not length:
            return done + rest
        rest = rest[length:].lstrip()
        done += said + " " * (rest != "" and said[-1] not in "。？！：；，）")
    return done
