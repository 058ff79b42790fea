"""Rosters: a CSV of the teacher's own, Canvas's gradebook, or Moodle's grading worksheet."""

import csv
import io
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

from attn_lib.files import write_whole
from attn_lib.grading.find import File, by_name, listed
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
        called: the name as it is in the list.
    """

    id: str
    name: str
    line: dict[str, str]
    called: str


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

        An id counts before a name, a login or an address, which people can choose: what may be one person's name, or a
        part of it, and another's login is nobody's. A number in a file's name is Moodle's or Canvas's: in Canvas's own list the name
        must fit, too, since people can put a number into theirs; in a list of yours as well, which may have other
        numbers. Of several that may be one person's, what the platform numbered is theirs, else the folder that is called by the
        id, else the only folder; else none is, and all are named.
        """
        by_id = {person.id: person for person in self.people}
        levels: list[dict[tuple[str, ...], set[str]]] = [{}, {}]
        for person in self.people:
            for level, texts in zip(levels, _spellings(person), strict=True):
                for words in filter(None, map(_words, texts)):
                    level.setdefault(words, set()).add(person.name)
        files = list(files)
        names = {person.name for person in self.people}
        free = _free({file.learner for file in files}, names)
        ids = {person.name: person.id for person in self.people}
        called = defaultdict[str, list[File]](
            list
        )  # the files of each person, as they came
        claimed, sure = [], set[Path]()
        for file in files:
            words = _words(file.short or file.learner)
            if self.kind == "plain" and file.id:
                words = _words(file.learner.removesuffix(file.id))
            found = next((level[words] for level in levels if words in level), set[str]())
            if len(found) == 1 and words not in levels[0]:
                found = found | self._named_so(found, {*words})
            numbered = by_id.get(file.id)
            if numbered and (self.kind == "Moodle" or _fits(file, numbered)):
                found = {numbered.name}
                sure.add(file.path)
            elif numbered and self.kind == "Canvas":
                found = set()
            if len(found) == 1:
                claimed.append(replace(file, learner=found.copy().pop()))
                called[claimed[-1].learner].append(file)
                continue
            said = (
                f"It may be of any of {', '.join(sorted(found))}: give its folder the id as its name."
                if found
                else "Not in the roster."
            )
            # Under the name of somebody in the roster it would be theirs.
            note = f"{said} {file.note}".strip()
            maybe = tuple(sorted(found))
            claimed.append(
                replace(file, learner=free[file.learner], note=note, may_be=maybe)
            )
        for name, own in called.items():
            others = {file.learner for file in own}
            if len(others) < 2:
                continue
            # What a learner calls a loose file stands behind what a folder is called.
            folders = {file.learner for file in own if len(file.path.parts) > 1}
            theirs = {file.learner for file in own if file.path in sure}
            theirs = theirs or folders & {ids[name]} or folders
            doubtful = others - theirs if len(theirs) == 1 else others
            for place, file in enumerate(claimed):
                came = next((one for one in own if one.path == file.path), None)
                if came and came.learner in doubtful:
                    said = f"It may be of {name}, as {listed(sorted(others - {came.learner}))} may be: give its folder the id as its name."
                    claimed[place] = replace(
                        came,
                        learner=free[came.learner],
                        note=f"{said} {came.note}".strip(),
                        may_be=(name,),
                    )
        return sorted(claimed, key=by_name)

    def _named_so(self, found: set[str], words: set[str]) -> set[str]:
        """Return others who have words as a part of their name, where they are none of the one's who was found by a login."""
        names = {person.name: {*_words(person.called)} for person in self.people}
        if any(words <= names[name] for name in found):
            return set()
        return {name for name, parts in names.items() if words <= parts}


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
            name = one_spelling(line[name_column])
            people.append(Person(id, name, line, name))
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
        csv.field_size_limit(2**31 - 1)  # a learner's text online can be long
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


def _spellings(person: Person) -> tuple[list[str], list[str]]:
    """Return what a person may be called in the name of a file or folder: the id; names, logins and addresses."""
    names = [person.name, person.called]
    for column, cell in person.line.items():
        if column.casefold() in _OTHER_NAMES:
            names += [cell, cell.partition("@")[0]]
    return [person.id], names


def _free(learners: set[str], names: set[str]) -> dict[str, str]:
    """Return what to call learners whom nobody claims: by nobody's name, or it would be theirs."""
    free: dict[str, str] = {}
    taken = learners | names
    for learner in sorted(learners):
        name = learner
        while name in names or (name != learner and name in taken):
            name += " (unclaimed)"
        taken.add(name)
        free[learner] = name
    return free


def _words(text: str) -> tuple[str, ...]:
    """Return a name's words in order: "Hopper, Grace" and "grace_hopper" are the same.

    Signs that belong to a letter, as vowels do in many scripts, are part of a word.
    """
    letters = one_spelling(text).lower()
    is_letter = lambda c: c.isalnum() or unicodedata.category(c).startswith("M")  # noqa: E731
    return tuple(sorted("".join(c if is_letter(c) else " " for c in letters).split()))


def _fits(file: File, person: Person) -> bool:
    """Say whether a file's name can be a person's: of the same letters, as Canvas joins and turns them."""
    name = file.learner.removesuffix(file.id).removesuffix("_")
    both = (sorted("".join(_words(text))) for text in (name, person.called))
    return not name or next(both) == next(both)
