"""Write grades back in the formats that Canvas and Moodle import."""

import io
import re
import zipfile
from pathlib import Path

from attn_lib.files import write_whole
from attn_lib.grading.find import lesson_in_name
from attn_lib.grading.reports import csv_text, defused
from attn_lib.grading.roster import KINDS, Roster
from attn_lib.grading.row import Row


def write_import(
    rows: list[Row], roster: Roster, out: Path, pages: dict[str, Path]
) -> list[str]:
    """Write what the platform of a roster imports; return the names of the files.

    Args:
        rows: what everybody gets.
        roster: of the class.
        out: the folder of the results.
        pages: of feedback, by the learner's name.

    Raises:
        OSError: a file could not be written.
    """
    if roster.kind == "Canvas":
        write_whole(out / "canvas.csv", canvas_csv(roster, rows))
        return ["canvas.csv"]
    if roster.kind == "Moodle":
        write_whole(out / "moodle.csv", moodle_csv(roster, rows))
        write_whole(out / "moodle-feedback.zip", moodle_feedback(roster, pages))
        return ["moodle.csv", "moodle-feedback.zip"]
    return []


def canvas_csv(roster: Roster, rows: list[Row]) -> str:
    """Return Canvas's gradebook with our lessons only, as its Import takes it.

    A column whose title names the lesson, as in "Lesson 01 (4711)", is that assignment. Else there is a new
    one, and Canvas asks about it.
    """
    about = roster.columns[: roster.columns.index("Section") + 1]
    most = {row.lesson: row.max_points for row in rows if row.lesson is not None}
    titles = {lesson: _canvas_title(roster, lesson) for lesson in sorted(most)}
    possible = {
        lesson: _number(roster.points_possible.get(title, "")) or most[lesson]
        for lesson, title in titles.items()
    }
    points = {(row.id, row.lesson): row for row in rows}
    lines = [[*about, *titles.values()]]
    lines.append(
        ["    Points Possible", *[""] * (len(about) - 1), *map(_plain, possible.values())]
    )
    for person in roster.people:
        grades = [_scaled(points[person.id, n], most) for n, most in possible.items()]
        lines.append([*_cells(person.line, about), *map(_plain, grades)])
    return csv_text(lines)


def _canvas_title(roster: Roster, lesson: int) -> str:
    """Return the title of a lesson's column."""
    titles = [c for c in roster.columns if re.search(r" \(\d+\)$", c)]
    fits = [t for t in titles if lesson_in_name(t.rpartition(" (")[0]) == lesson]
    return fits[0] if len(fits) == 1 else f"Lesson {lesson:02}"


def moodle_csv(roster: Roster, rows: list[Row]) -> str:
    """Return Moodle's worksheet with the grades filled in; all else is as it came, as Moodle wants it."""
    points = {row.id: row for row in rows}
    lines = [roster.columns]
    for person in roster.people:
        most = _number(next((person.line[c] for c in roster.columns if _is_maximum(c)), ""))
        cells = person.line | {"Grade": _plain(_scaled(points[person.id], most))}
        lines.append(_cells(cells, roster.columns))
    return csv_text(lines)


def _is_maximum(column: str) -> bool:
    """Say whether a column has the scale: it is "Maximum Grade" or "Maximum grade", as Moodle's version has it."""
    return column.casefold() == "maximum grade"


def moodle_feedback(roster: Roster, pages: dict[str, Path]) -> bytes:
    """Return a zip with a folder for each learner, of the name by which Moodle knows whose it is."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for person in roster.people:
            if person.name in pages:
                name = person.line[KINDS["Moodle"][1]]
                name = re.sub(r'[\\/:*?"<>|_\0]+', " ", name).strip()
                path = f"{name}_{person.id}_assignsubmission_file_/feedback.html"
                archive.writestr(path, pages[person.name].read_bytes())
    return buffer.getvalue()


def _scaled(row: Row, most: float | None) -> float:
    """Return a row's points on the scale of the platform."""
    return row.points * most / row.max_points if most and row.max_points else row.points


# By which a platform knows whose a line is, and what a teacher has written there.
_AS_THEY_ARE = "ID", "SIS User ID", "Identifier", "Grade", "Feedback comments"


def _cells(line: dict[str, str], columns: list[str]) -> list[str]:
    """Return a person's cells; what learners may have written themselves is text, and no formula."""
    return [line[c] if c in _AS_THEY_ARE else defused(line[c]) for c in columns]


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return None


def _plain(number: float | None) -> str:
    return "" if number is None else f"{number:.2f}"
