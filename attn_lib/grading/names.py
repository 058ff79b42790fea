"""Names: of a file's owner, as people and learning platforms write them, and as text to be shown."""

import os
import re
import unicodedata
from pathlib import Path
from typing import NamedTuple

# A name can hold line ends: "." is any sign in all of these, or one file would be called otherwise than all others.
# Moodle: "Ada Lovelace_77_assignsubmission_file", with or without "_" and a file's name behind it.
_MOODLE = re.compile(
    r"(?P<name>.+?)_(?P<id>\d+)_assignsubmission_(?:file|onlinetext)(?:_.*)?", re.DOTALL
)
# Canvas: "lovelaceada_LATE_4711_90210_my file"; the numbers are the person's and the file's.
_CANVAS = re.compile(
    r"(?:(?P<name>(?!LATE_)[^_]+)_)?(?:(?P<late>LATE)_)?(?P<id>\d+|anon_[^_]+)_\d{3,}_.*",
    re.DOTALL,
)
# A folder's name is Moodle's own, and ends so: a person may be called like the beginning of another's.
_MOODLE_FOLDER = re.compile(
    _MOODLE.pattern.replace("(?P<name>.+?)", "(?P<name>.+)"), re.DOTALL
)
_BEFORE_LESSON = re.compile(r"(.+?)[ _-]+\d\d[ _-]+[A-Za-z]", re.DOTALL)


class Owner(NamedTuple):
    """The owner of a file or folder.

    Attributes:
        name: of the learner, in one spelling; with the platform's number, if there is one.
        id: that number, or "".
        on_time: what Canvas says of the file: late or not; None for anything else.
        problem: why it cannot be told, or "".
    """

    name: str
    id: str = ""
    on_time: bool | None = None
    problem: str = ""


def owner_of_folder(name: str) -> Owner:
    """Return whose a folder is."""
    moodle = _MOODLE_FOLDER.fullmatch(name)
    return _numbered(moodle["name"], moodle["id"]) if moodle else Owner(one_spelling(name))


def owner_of_file(path: Path) -> Owner:
    """Return whose a loose file is."""
    stem = path.stem.removesuffix(".ipynb")
    moodle, canvas = _MOODLE.fullmatch(stem), _CANVAS.fullmatch(stem)
    if moodle and canvas:  # what stands last in it, the learner wrote
        problem = "Its name could be one of Moodle's and one of Canvas's: whose it is cannot be told."
        return Owner(one_spelling(stem), problem=problem)
    if moodle:
        return _numbered(moodle["name"], moodle["id"])
    if canvas:
        return _numbered(canvas["name"] or "", canvas["id"], not canvas["late"])
    before = _BEFORE_LESSON.match(stem)
    return Owner(one_spelling(before[1] if before else stem.partition("_")[0] or stem))


def _numbered(name: str, id: str, on_time: bool | None = None) -> Owner:
    return Owner(one_spelling(f"{name}_{id}" if name else id), id, on_time)


def as_written(name: str) -> str:
    """Return a name in which whatever is no plain letter or cannot be seen is spelled out; no two are the same."""
    return name.encode("unicode_escape").decode()


def one_spelling(name: str) -> str:
    """Return a name as it can be printed, the same for all ways in which systems write it.

    Accents are composed, blanks are plain, and what cannot be seen is not there.
    """
    seen = (c for c in shown(name) if unicodedata.category(c) != "Cf")
    return " ".join(unicodedata.normalize("NFC", "".join(seen)).split()) or "_"


def shown(name: str) -> str:
    """Return a file's name as text that can be printed, whatever bytes it consists of."""
    text = _printable(os.fsencode(name).decode("utf-8", "backslashreplace"))
    return re.sub(" +", " ", text.replace("\n", "\ufffd").replace("\t", "\ufffd"))


_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_TURNS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# What looks like a blank: spaces of all widths, and letters that show nothing.
_BLANKS = re.compile(
    "[\u00a0\u115f\u1160\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u2800\u3000\u3164\uffa0]"
)
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,16}\b")


def clean(text: str) -> str:
    """Return text that can be written to any file, and is the same on every run.

    Control characters and halves of surrogate pairs become U+FFFD, addresses of objects "0x...". Marks
    that turn the direction of writing, and could make a line read as another one, are left out. What looks like
    a blank is one.
    """
    return _ADDRESS.sub("0x...", _printable(text))


def _printable(text: str) -> str:
    return _BLANKS.sub(" ", _UNPRINTABLE.sub("\ufffd", _TURNS.sub("", text)))
