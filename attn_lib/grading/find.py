"""Find what a class handed in: which file is whose, and of which lesson.

    FOLDER/<learner>/...                 a folder for each learner, with notebooks at any depth in it;
                                         nbgrader's <learner>/<lesson>/<notebook>.ipynb is one such
    FOLDER/<learner>_01_single_head.ipynb    loose files: what stands before the lesson's number,
    FOLDER/<learner>_<anything>.ipynb        else before the first "_",
    FOLDER/<learner>.ipynb                   else the whole name

Folders from Moodle and files from Canvas are known by their names, and by the numbers in them.

The lesson is found from the names that nbgrader gave to the cells; else from the tasks' names that the
code defines; else from the names of the file and its folders.
"""

import hashlib
import os
import re
from collections import Counter, defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import accumulate, islice
from os.path import isdir  # which takes a name that the system refuses for none
from pathlib import Path
from typing import Any

from attn_lib.checks import tasks
from attn_lib.grading.names import (
    Owner,
    as_written,
    clean,
    one_spelling,
    owner_of_file,
    owner_of_folder,
    shown,
)
from attn_lib.grading.submission import (
    FILE_LIMIT,
    Notebook,
    Unreadable,
    defined_at_top,
    read_notebook,
)

PROGRESS = "*progress*.json"  # also as a platform calls it
OLDER = ", which is older than the notebook"
MOST = 60  # notebooks of one learner
BYTES = 200 << 20  # of them
ENTRIES = 10_000  # files and folders of one learner
TOO_MANY = f"There are more than {ENTRIES:,} files and folders: others were not looked at."
DEEPEST = 40  # folders in each other
SLACK = timedelta(minutes=5)  # of clocks
IGNORED = {"__MACOSX", "__pycache__", "node_modules"}
_LESSON_IN_NAME = re.compile(
    r"(?:lesson|exercise|ex)[ _-]?0?(\d{1,2})(?!\d)|(?:^|[ _-])(0\d|1\d(?=[ _-][A-Za-z]))(?![^ _-])",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class File:
    """One file that somebody handed in.

    Attributes:
        path: where it is, from the folder of the class.
        learner: whose it is.
        id: the number of the learner in Moodle or Canvas, if the name has one.
        lesson: its number; None if it cannot be told.
        sha256: of its bytes.
        modified: when it was handed in, in UTC.
        dated_by: what says so: `timestamp.txt` beside it, else the date of the file.
        on_time: what Canvas says; None where it says nothing.
        note: what else an instructor should know, or "".
        problem: why it cannot be graded, as far as can be told without running it; or "".
        is_sure: whether the tasks in it say which lesson it is of, and not its name alone.
        short: what the learner would be called, if nobody else were called so, too; or "".
        may_be: whose in the roster it may be, where that is not sure.
    """

    path: Path
    learner: str
    id: str = ""
    lesson: int | None = None
    sha256: str = ""
    modified: str = ""
    dated_by: str = ""
    on_time: bool | None = None
    note: str = ""
    problem: str = ""
    is_sure: bool = False
    short: str = ""
    may_be: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The path as text that can be printed."""
        return shown(self.path.as_posix())


def find(folder: Path, *, lessons: Sequence[int] = ()) -> list[File]:
    """Return everything that was handed in, in alphabetical order.

    Args:
        folder: of the class.
        lessons: only theirs, if there are any; a single one is also assumed where the lesson cannot be told.

    Raises:
        OSError: the folder cannot be read.
    """
    found: list[File] = []
    count, size = Counter[str](), Counter[str]()  # of loose files, by a platform's number
    for top in sorted(folder.iterdir()):
        if _is_ignored(top):
            continue
        if isdir(top) and not top.is_symlink():
            found += of_one(top)
        elif top.suffix.lower() == ".ipynb":
            owner = owner_of_file(top)
            if owner.id:
                count[owner.id] += 1
                size[owner.id] += _size(top)
            if count[owner.id] > MOST or size[owner.id] > BYTES:
                owner = owner._replace(problem=f"It was not looked at: {_at_most()}.")
            found.append(_look(top, folder, owner))
    # A learner, too, can call a file as Canvas does: it counts where all are called so.
    if any(file.on_time is None and not file.problem for file in found):
        found = [replace(file, on_time=None) for file in found]
    return _tell_apart(_only(found, lessons) if lessons else found)


def of_one(top: Path) -> list[File]:
    """Return what is in the folder of one learner; there is always something, if only a problem."""
    owner = owner_of_folder(top.name)
    there, is_all = below(top)
    notebooks = _notebooks(top, there)
    sizes = accumulate(map(_size, notebooks[:MOST]))
    few = [path for path, size in zip(notebooks, sizes, strict=False) if size <= BYTES]
    files = [_look(path, top.parent, owner) for path in few]
    if not files:
        return [_nothing(top, there, is_all, owner)]
    theirs = set(notebooks)
    others = [
        path.relative_to(top).as_posix()
        for path in there
        if path not in theirs and _may_be_an_answer(path)
    ]
    said = [files[0].note]
    if others:
        said.append(f"Passed over, being no notebook: {listed(others)}.")
    if more := len(notebooks) - len(files):
        said.append(f"{more} more notebooks were not looked at: {_at_most()}.")
    if not is_all:
        said.append(TOO_MANY)
    return [replace(files[0], note=" ".join(filter(None, said))), *files[1:]]


def _at_most() -> str:
    return f"at most {MOST} of one learner are, and {BYTES >> 20} MB"


def _size(path: Path) -> int:
    """Return how many bytes of a file are read at most."""
    try:
        return min(path.lstat().st_size, FILE_LIMIT)
    except OSError:  # it is gone
        return 0


def passed_over(folder: Path) -> str:
    """Say what lies in the folder of the class and is nobody's submission, or nothing."""
    names = [
        path.name
        for path in sorted(folder.iterdir())
        if not _is_ignored(path)
        and (path.is_symlink() or not isdir(path))
        and path.suffix.lower() != ".ipynb"
        and not path.match(PROGRESS)
    ]
    if not names:
        return ""
    return f"Passed over, being neither notebooks nor folders: {listed(names, 20)}."


def read(path: Path) -> bytes:
    """Return the bytes of an ordinary file, at most one more than the limit.

    Raises:
        OSError: it is not an ordinary file, or not readable.
    """
    if path.is_symlink() or not path.is_file():
        raise OSError("it is a link or something else than a file")
    with path.open("rb") as file:
        return file.read(FILE_LIMIT + 1)


def below(top: Path) -> tuple[list[Path], bool]:
    """Return what is no folder below a folder, in order, and whether that is all; links are not followed.

    What cannot be looked into is there, too, and folders deeper than anybody has them: each look at a long path
    takes its time. What programs keep for themselves, such as `.git`, is not there. Where there is too much, what is
    nearer to the top is there.
    """
    found, waiting, left = list[Path](), deque([(top, 0)]), ENTRIES
    while waiting and left >= 0:
        folder, depth = waiting.popleft()
        try:
            with os.scandir(folder) as opened:
                entries = [Path(entry) for entry in islice(opened, left + 1)]
        except OSError:
            found.append(folder)
            continue
        left -= len(entries)
        for path in entries:
            if isdir(path) and not path.is_symlink() and depth < DEEPEST:
                if not _is_ignored(path):
                    waiting.append((path, depth + 1))
            else:
                found.append(path)
    return sorted(found), left >= 0


def _lesson_of(notebook: Notebook) -> int | None:
    """Return the number of the lesson that a notebook's cells belong to, or None."""
    lessons = {task.name: task.lesson for task in tasks() if task.points}
    ids = {name.removeprefix("check-") for name in notebook.grade_ids}
    defined = {name for cell in notebook.cells for name in defined_at_top(cell)}
    for names in (ids, defined):
        if votes := Counter(lessons[name] for name in names if name in lessons):
            return max(
                votes, key=lambda lesson: (votes[lesson], lesson)
            )  # the last of several
    return None


def _lesson_in(path: Path) -> int | None:
    """Return the number in the name of a file or, failing that, of the folder nearest to it."""
    *folders, name = path.parts
    # The first folder is the learner's.
    found = map(lesson_in_name, (Path(name).stem, *reversed(folders[1:])))
    return next((lesson for lesson in found if lesson is not None), None)


def lesson_in_name(name: str) -> int | None:
    """Return the number of the lesson that a name speaks of, or None."""
    known = {task.lesson for task in tasks() if task.points}
    found = (int(match[1] or match[2]) for match in _LESSON_IN_NAME.finditer(name))
    return next((number for number in found if number in known), None)


def _notebooks(top: Path, there: list[Path]) -> list[Path]:
    """Return a learner's notebooks among files, in order; Python scripts if there are no notebooks."""
    found = [
        path
        for path in there
        if path.suffix.lower() in (".ipynb", ".py")
        and not any(_is_ignored(Path(part)) for part in path.relative_to(top).parts)
    ]
    notebooks = [path for path in found if path.suffix.lower() == ".ipynb"]
    return notebooks or found


def _look(path: Path, folder: Path, owner: Owner) -> File:
    """Read a file as far as is needed to know what it is."""
    place = path.relative_to(folder)
    named = _lesson_in(place)
    file = File(place, owner.name, owner.id, lesson=named, on_time=owner.on_time)
    if owner.problem:
        return replace(file, problem=owner.problem)
    try:
        data = read(path)
        is_loose = len(place.parts) == 1  # a timestamp.txt beside it could be anybody's
        handed_in, dated_by, note = _handed_in(path, is_loose or bool(owner.id))
    except OSError as error:
        problem = f"The file cannot be read: {error.strerror or error}."
        return replace(file, problem=problem)
    file = replace(
        file,
        sha256=hashlib.sha256(data).hexdigest(),
        modified=handed_in.isoformat(timespec="seconds"),
        dated_by=dated_by,
        note=note,
    )
    try:
        lesson = _lesson_of(read_notebook(data))
        return replace(file, lesson=lesson or named, is_sure=lesson is not None)
    except Unreadable as reason:
        return replace(file, problem=clean(str(reason)))


def _handed_in(path: Path, by_file: bool) -> tuple[datetime, str, str]:
    """Return when a notebook was handed in, what says so, and what is wrong with that.

    nbgrader keeps the time in a file beside it. Among files from a platform, and among loose ones, a file of that name
    would be a learner's own: there only the date of the file counts (`by_file`).
    """
    try:
        date = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except (ValueError, OverflowError):  # a date that no calendar has
        date = datetime.fromtimestamp(0, UTC)
    changed = date, "the date of the file"
    beside = path.with_name("timestamp.txt")
    if by_file or not beside.exists():
        return *changed, ""
    try:
        text = read(beside)[:100].decode(errors="replace").strip()
        stamp = datetime.fromisoformat(text.replace(" UTC", "+00:00"))
        stamp = stamp.astimezone(UTC) if stamp.tzinfo else stamp.replace(tzinfo=UTC)
    except (OSError, ValueError, OverflowError) as error:
        note = (
            f"Its timestamp.txt cannot be read ({clean(str(error))}): a time is written "
            "2026-10-01 18:30:00 UTC. The date of the file counts instead."
        )
        return *changed, note
    return stamp, "timestamp.txt" + OLDER * (date - stamp > SLACK), ""


def _may_be_an_answer(path: Path) -> bool:
    """Say whether a learner may take a file for an answer: a zip, or a script beside a notebook."""
    known = path.name == "timestamp.txt" or path.match(PROGRESS)
    hidden = any(_is_ignored(Path(part)) for part in path.parts)
    return path.suffix.lower() != ".ipynb" and not known and not hidden


def _nothing(top: Path, there: list[Path], is_all: bool, owner: Owner) -> File:
    """Say of a learner's folder that there is no notebook in it, and what there is."""
    names = [path.relative_to(top).as_posix() for path in there]
    said = f"; there is {listed(names)}" if names else ": the folder is empty"
    said = ": the folder cannot be read" if names == ["."] else said
    problem = f"No notebook was found{said}." + f" {TOO_MANY}" * (not is_all)
    return File(Path(top.name), owner.name, owner.id, problem=problem)


def _only(found: list[File], lessons: Sequence[int]) -> list[File]:
    """Keep the files of some lessons, and say of a learner who has none what there is instead."""
    assumed = lessons[0] if len(lessons) == 1 else None
    kept = [
        replace(file, lesson=file.lesson or assumed)
        for file in found
        if file.lesson in (*lessons, None)
    ]
    wanted = " or ".join(map(str, lessons))
    has_some = {file.learner for file in kept}
    others = [file for file in found if file.learner not in has_some]
    for learner in {file.learner for file in others}:
        files = [file for file in others if file.learner == learner]
        there = listed([f"{file.name} (lesson {file.lesson})" for file in files])
        problem = f"No notebook of lesson {wanted} was found; there is {there}."
        [path, *_] = (file.path for file in files)
        top = path if len(path.parts) == 1 else path.parent  # a loose file is in no folder
        kept.append(File(top, learner, files[0].id, assumed, problem=problem))
    return kept


def _tell_apart(found: list[File]) -> list[File]:
    """Call files by their whole names where the short one would mean two owners.

    A wrong merge would give one person's points to another; two rows for one person are seen. What a platform
    numbered keeps its name; else the folder whose name is just that; a loose file, or one whose name only looks
    like it, does not.
    """
    numbered = {file.learner for file in found if file.id}
    tops: dict[str, set[str]] = defaultdict(set)
    folders = set[str]()
    for file in found:
        top, *inside = file.path.parts
        tops[file.learner].add(top)
        folders |= {top} if inside or file.path.suffix.lower() != ".ipynb" else set()

    names = {*tops}
    whole_names: dict[str, str] = {}

    def by_whole_name(file: File, name: str, more: str) -> File:
        """Call a file by what stands first in its path, by which nobody else may be called."""
        top = file.path.parts[0]
        if top not in whole_names:
            while name in names:
                name += f" ({more})"
            names.add(name)
            whole_names[top] = name
        return replace(file, learner=whole_names[top], short=file.learner)

    def apart(file: File) -> File:
        top, same = file.path.parts[0], tops[file.learner]
        if not file.id and file.learner in numbered:
            return by_whole_name(file, as_written(top), "not numbered")
        if file.id or len(same) == 1 or top == file.learner or not same & folders:
            return file
        return by_whole_name(file, as_written(top), "another")

    found = [apart(file) for file in found]
    loose = [file for file in found if len(file.path.parts) == 1 and not file.id]
    many = Counter((file.learner, file.lesson) for file in loose)
    twins = {file.path for file in loose if many[file.learner, file.lesson] > 1}
    looks = Counter(one_spelling(path.stem) for path in twins)
    others = {file.learner for file in found if file.path not in twins}
    names |= {*looks}

    def whole(file: File) -> File:
        name = one_spelling(file.path.stem)
        if file.path not in twins:
            return file
        if looks[name] == 1 and name not in others:
            return replace(file, learner=name, short=file.learner)
        return by_whole_name(file, as_written(file.path.name), "another")

    return sorted(map(whole, found), key=by_name)


def by_name(one: Any) -> tuple:
    """Return what puts files or rows in alphabetical order, by learner and lesson."""
    return one.learner.casefold(), one.learner, one.lesson or 0


def _is_ignored(path: Path) -> bool:
    return path.name.startswith(".") or path.name in IGNORED


def listed(names: list[str], limit: int = 5) -> str:
    """Return names in a row, the first of many."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(map(shown, names[:limit])) + more
