"""Rosters: a CSV of the teacher's own, Canvas's gradebook, or Moodle's grading worksheet."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

from attn_lib.files import write_whole
from attn_lib.grading.find import File, by_name
from attn_lib.grading.names import one_spelling
from attn_lib.grading.refused import Refused

# The columns by which each kind of roster is known: of an id, of a name, and what else there must be.
KINDS = {
    "Canvas": ("ID", "Student", "Section"),
    "Moodle": ("Identifier", "Full name"),
    "plain": ("id", "name"),
}
# Columns that may hold what a person is called in the name of a file.
_OTHER_NAMES = "sis user id", "sis login id", "login", "username", "email", "email address"


@dataclass(frozen=True)
class Person:
    """One line of a roster.

    Attributes:
        id: the number or name that the platform knows the person by.
        name: in the table of grades; with the id where two have the same.
        line: the cells.
    """

    id: str
    name: str
    line: dict[str, str]


@dataclass(frozen=True)
class Roster:
    """A class.

    Attributes:
        kind: "Canvas", "Moodle" or "plain".
        columns: of the file.
        people: its lines that stand for somebody.
        points_possible: Canvas's line of that name, or nothing.
    """

    kind: str
    columns: list[str]
    people: list[Person]
    points_possible: dict[str, str]

    def claimed(self, files: Iterable[File]) -> list[File]:
        """Return files under the names of the roster; a note says of the others why not.

        An id counts before a login or an address, and these before a name, which people can choose.
        """
        by_id = {person.id: person.name for person in self.people}
        levels: list[dict[frozenset[str], set[str]]] = [{}, {}, {}]
        for person in self.people:
            for level, texts in zip(levels, _spellings(person), strict=True):
                for words in filter(None, map(_words, texts)):
                    level.setdefault(words, set()).add(person.name)
        names = {person.name for person in self.people}
        claimed = []
        for file in files:
            words = _words(file.learner)
            found = next((level[words] for level in levels if words in level), set[str]())
            if file.id in by_id:
                found = {by_id[file.id]}
            if len(found) == 1:
                claimed.append(replace(file, learner=found.copy().pop()))
                continue
            said = (
                f"It may be of any of {', '.join(sorted(found))}: give its folder the id as its name."
                if found
                else "Not in the roster."
            )
            # Under the name of somebody in the roster it would be theirs.
            learner = (
                f"{file.learner} (unclaimed)" if file.learner in names else file.learner
            )
            note = f"{said} {file.note}".strip()
            claimed.append(replace(file, learner=learner, note=note))
        return sorted(claimed, key=by_name)


def read_roster(path: Path) -> Roster:
    """Read a roster.

    Raises:
        OSError: it cannot be read.
        Refused: it is none.
    """
    columns, lines = read_table(path)
    kind = next((kind for kind, need in KINDS.items() if {*need} <= {*columns}), "")
    if not kind:
        wanted = "; ".join(f"{', '.join(need)} ({kind})" for kind, need in KINDS.items())
        raise Refused(f"{path.name} is no roster. It needs the columns {wanted}.")
    id_column, name_column, *_ = KINDS[kind]
    people = []
    for line in lines:
        id = line[id_column].strip()
        if kind == "Moodle":
            id = re.sub(r"\D", "", id)  # "Participant 4711"
        is_test = kind == "Canvas" and line[name_column].strip() == "Student, Test"
        if id and not is_test:
            people.append(Person(id, one_spelling(line[name_column]), line))
    for id, times in Counter(person.id for person in people).items():
        if times > 1:
            raise Refused(f"{path.name}: {times} lines have the id {id}.")
    possible = next((line for line in lines if "Points Possible" in line[name_column]), {})
    return Roster(kind, columns, _told_apart(people), possible)


def _told_apart(people: list[Person]) -> list[Person]:
    """Return people with their ids behind names that others have, too; also one that looks so already."""
    while True:
        names = Counter(person.name for person in people)
        if len(names) == len(people):
            return people
        people = [
            replace(p, name=f"{p.name} ({p.id})") if names[p.name] > 1 else p
            for p in people
        ]


def read_table(path: Path) -> tuple[list[str], list[dict[str, str]]]:
    """Read a CSV file, separated by whatever its first line has most of; return columns and lines.

    Raises:
        OSError: it cannot be read.
        Refused: it is no table in UTF-8.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
        first = text.partition("\n")[0]
        comma = max(",;\t", key=first.count)
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=comma) if any(row)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise Refused(f"{path.name} is no CSV file in UTF-8: {error}.") from None
    if not rows:
        raise Refused(f"{path.name} is empty.")
    columns = [name.strip() for name in rows[0]]
    width = len(columns)
    return columns, [
        dict(zip_longest(columns, row[:width], fillvalue="")) for row in rows[1:]
    ]


def table_by_hand(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the lines of a small table that the teacher fills in: where each is, and its cells.

    It is made, without any, if it is not there.

    Raises:
        OSError: it can be neither read nor written.
        Refused: a column is missing.
    """
    if not path.exists():
        write_whole(path, ",".join(columns) + "\n")
    there, lines = read_table(path)
    if missing := [name for name in columns if name not in there]:
        raise Refused(
            f"{path.name} has no column {missing[0]}: it needs {', '.join(columns)}."
        )
    for number, line in enumerate(lines, 2):
        yield f"{path.name}, line {number}", [line[name].strip() for name in columns]


def _spellings(person: Person) -> tuple[list[str], list[str], list[str]]:
    """Return what a person may be called in the name of a file or folder: the id, logins, the name."""
    logins = []
    for column, cell in person.line.items():
        if column.casefold() in _OTHER_NAMES:
            logins += [cell, cell.partition("@")[0]]
    return [person.id], logins, [person.name, person.name.removesuffix(f" ({person.id})")]


def _words(text: str) -> frozenset[str]:
    """Return a name's words: "Hopper, Grace" and "grace_hopper" are the same."""
    return frozenset(re.findall(r"[^\W_]+", one_spelling(text).casefold()))
