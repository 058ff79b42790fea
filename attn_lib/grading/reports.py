"""Write what came of a class: a table to read, grades.csv, grades.json, a page for each learner."""

import csv
import hashlib
import html
import io
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from statistics import mean
from typing import Any

from attn_lib.checks.verdict import inline
from attn_lib.files import write_whole
from attn_lib.grading.find import OLDER
from attn_lib.grading.grade import CARRIED, worth_points
from attn_lib.grading.keep import course_version
from attn_lib.grading.overrides import BY_HAND
from attn_lib.grading.row import NOTHING, Row

DIGITS = 20  # of a hash, in the name of a page: two learners never share one
STATUSES = ("passed", CARRIED, "wrong", "error", "not attempted", "not graded", BY_HAND)


def write_reports(rows: list[Row], out: Path, seed: int) -> dict[str, Path]:
    """Write grades.csv, totals.csv, grades.json and the pages in feedback/, each whole.

    Returns:
        The pages by the names of the learners.

    Raises:
        OSError: one could not be written.
    """
    folder = out / "feedback"
    folder.mkdir(parents=True, exist_ok=True)
    pages = {row.learner: folder / page_name(row.learner) for row in rows}
    for page in {*folder.glob(f"*-{'[0-9a-f]' * DIGITS}.html")} - {*pages.values()}:
        page.unlink()  # of somebody who is not in the class any more
    for learner, own in groupby(rows, lambda row: row.learner):
        write_whole(pages[learner], feedback_page(learner, list(own)))
    plain = {
        "course": course_version(),
        "seed": seed,
        "grades": [_plain(row, f"feedback/{pages[row.learner].name}") for row in rows],
    }
    write_whole(out / "grades.json", json.dumps(plain, indent=1, ensure_ascii=False))
    write_whole(out / "grades.csv", grades_csv(rows))
    write_whole(out / "totals.csv", totals_csv(rows))
    return pages


# ------------------------------------------------------------------------------- the table


def table(rows: list[Row]) -> str:
    """Return a table with a line for each task: how many passed, and what it brought on average.

    Of those who handed something in; "carried" are errors carried forward.
    """
    statuses = ["carried" if status == CARRIED else status for status in STATUSES]
    lines: list[list[str]] = [["lesson", "task", "points", *statuses, "mean"]]
    handed_in = [row for row in rows if row.report and row.files]
    for lesson in sorted({row.lesson for row in handed_in if row.lesson is not None}):
        own = [row for row in handed_in if row.lesson == lesson]
        reports = [row.report for row in own if row.report]
        for number, task in enumerate(worth_points(lesson)):
            results = [report.tasks[number] for report in reports]
            counts = [str(sum(r.status == status for r in results)) for status in STATUSES]
            average = f"{mean(r.points for r in results):.2f}"
            lines.append([f"{lesson:02}", task.name, f"{task.points:g}", *counts, average])
        most, mean_points = reports[0].max_points, mean(row.points for row in own)
        blank = [""] * len(STATUSES)
        lines.append([f"{lesson:02}", "all", f"{most:g}", *blank, f"{mean_points:.2f}"])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def problems(rows: list[Row]) -> Iterator[str]:
    """Yield a line for everything an instructor should look at; one for all who handed in nothing of a lesson."""
    missing: dict[int | None, list[str]] = {}
    for row in rows:
        if row.problem == NOTHING:
            missing.setdefault(row.lesson, []).append(row.learner)
            continue
        for text in (row.problem, *_notes(row)):
            if text:
                lesson = f", lesson {row.lesson}" if row.lesson is not None else ""
                yield f"{row.learner}{lesson}: {' '.join(text.split())}"
    for number, names in sorted(missing.items(), key=lambda one: one[0] or 0):
        yield f"Lesson {number}: {len(names)} handed in nothing ({', '.join(names)})."


# ----------------------------------------------------------------------------- csv and json


POINTS = "total", "max", "days_late", "late_by"
ABOUT = "by_hand", "problem", "note", "notebook", "id"


def grades_csv(rows: list[Row]) -> str:
    """Return a CSV file: a line for each learner and lesson, a column for each task."""
    lessons = sorted({row.lesson for row in rows if row.lesson is not None})
    names = [task.name for lesson in lessons for task in worth_points(lesson)]
    lines = [["learner", "lesson", *names, *POINTS, *ABOUT]]
    for row in rows:
        points = {t.name: f"{t.points:g}" for t in row.report.tasks} if row.report else {}
        note = " ".join(filter(None, (row.note, _cells(row))))
        notebook = row.files[0].name if row.files else ""
        words = "; ".join(row.by_hand), row.problem, note, notebook, row.id
        lines.append(
            [
                defused(row.learner),
                "" if row.lesson is None else str(row.lesson),
                *(points.get(name, "") for name in names),
                f"{row.points:g}",
                "" if row.max_points is None else f"{row.max_points:g}",
                str(row.days_late),
                row.late_by,
                *map(defused, words),
            ]
        )
    return csv_text(lines)


def totals_csv(rows: list[Row]) -> str:
    """Return a CSV file: a line for each learner, a column for each lesson, and their sum."""
    most = {row.lesson: row.max_points for row in rows if row.lesson and row.max_points}
    lessons = sorted(most)
    lines = [
        ["learner", "id", *(f"lesson {lesson:02}" for lesson in lessons), "total", "max"]
    ]
    for learner, group in groupby(rows, lambda row: row.learner):
        own = list(group)
        points = {row.lesson: f"{row.points:g}" for row in own}
        sums = sum(row.points for row in own), sum(most.values())
        there = [points.get(lesson, "") for lesson in lessons]
        lines.append(
            [defused(learner), defused(own[0].id), *there, *(f"{x:g}" for x in sums)]
        )
    return csv_text(lines)


def csv_text(lines: list[list[str]]) -> str:
    """Return lines of cells as a CSV file."""
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(lines)
    return file.getvalue()


def _cells(row: Row) -> str:
    return row.report.cells if row.report else ""


def _notes(row: Row) -> Iterator[str]:
    """Yield what is to be known of a row beside its points."""
    yield row.note
    yield _cells(row)
    if row.days_late:
        is_lost = row.penalty and row.set_to is None
        lost = f"; {row.penalty:.0%} of the points are lost" if is_lost else ""
        days = "1 day" if row.days_late == 1 else f"{row.days_late} days"
        yield f"Handed in late: {days}, by {row.late_by}{lost}."
    elif OLDER in row.late_by:
        yield f"In time by {row.late_by}."
    yield from row.by_hand


_UNSEEN = r"\"\s\u00ad\u200b-\u200f\u2060-\u2064\ufeff"
_FORMULA = re.compile(rf"(^|[;\t\n\r])(?=[{_UNSEEN}]*[=+\-@|%＝＋－＠].)")


def defused(text: str) -> str:
    """Return text that a spreadsheet takes for text: in one line, with an apostrophe before a formula's sign.

    Also after a semicolon: where commas are decimal, spreadsheets split lines there, and then a line end
    would begin another learner's line.
    """
    return _FORMULA.sub(r"\1'", " ".join(text.splitlines()))


def _plain(row: Row, page: str) -> dict[str, Any]:
    """Return a row as plain values, without the HTML that is in the page."""
    tasks = asdict(row.report)["tasks"] if row.report else ()
    for task in tasks:
        del task["html"]
    same = (
        "learner id lesson points max_points days_late late_by penalty by_hand problem note"
    )
    files = [
        {"path": f.name, "sha256": f.sha256, "modified": f.modified} for f in row.files
    ]
    words = {name: getattr(row, name) for name in same.split()}
    return words | {"cells": _cells(row), "tasks": tasks, "files": files, "feedback": page}


# -------------------------------------------------------------------------------- feedback


def page_name(learner: str) -> str:
    """Return the name of a learner's page: safe on any file system, and nobody else's."""
    safe = re.sub(r"[^\w.-]+", "_", learner).strip("._-")
    while len(safe.encode()) > 120:
        safe = safe[:-1]
    return (
        f"{safe or 'learner'}-{hashlib.sha256(learner.encode()).hexdigest()[:DIGITS]}.html"
    )


STYLE = """
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 52rem; margin: 0 auto; padding: 1rem;
  overflow-wrap: anywhere; }
pre { overflow-x: auto; } img { max-width: 100%; height: auto; }
table { border-collapse: collapse; margin-bottom: 1rem; }
th, td { text-align: left; padding: 0.2rem 1rem 0.2rem 0; overflow-wrap: break-word; }
td:last-child, th:last-child { text-align: right; padding-right: 0; }
.problem { border-left: 6px solid #b26a00; padding: 0.3rem 0.9rem; }
.mistakes tr > :last-child { text-align: left; } .mistakes tr > :first-child { text-align: right; }
.mistakes td { vertical-align: top; }
.prose { white-space: pre-wrap; border-left: 3px solid; padding-left: 0.9rem; }
.wide { width: 100%; } .wide td:nth-child(2) { width: 60%; }
.bar, .columns { display: flex; print-color-adjust: exact; } .bar span { padding: 0 0.4rem; }
div.bar span { overflow: hidden; text-align: center; }
.columns { align-items: flex-end; text-align: center; } .columns span { flex: 1; }
.columns i { display: block; margin: 0 1px; background: #1b6ca8; }
"""


def feedback_page(learner: str, rows: list[Row]) -> str:
    """Return a learner's page: all lessons, all tasks, with what the check has to say."""
    name = html.escape(learner)
    body = f"<h1>Feedback for <bdi>{name}</bdi></h1>\n" + "".join(map(_section, rows))
    return page(f"Feedback for {name}", body)


def page(title: str, body: str) -> str:
    """Return a page that needs nothing from elsewhere, and runs nothing."""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>{title}</title>
<style>{STYLE}</style>
</head>
<body>
{body}</body>
</html>
"""


def _section(row: Row) -> str:
    title = "Nothing was graded" if row.lesson is None else f"Lesson {row.lesson:02}"
    if row.report:
        title += f": {row.points:g} of {row.report.max_points:g} points"
    said = filter(None, (row.problem, *_notes(row)))
    parts = [f"<h2>{title}</h2>\n"]
    parts += [f'<p class="problem">{inline(text)}</p>\n' for text in said]
    tasks = row.report.tasks if row.report else ()
    if any(task.html for task in tasks):
        lines = [
            (code(t.name), html.escape(t.status), f"{t.points:g} of {t.max_points:g}")
            for t in tasks
        ]
        parts.append(html_table(lines, head=("task", "result", "points")))
        parts += [f"{task.html}\n" for task in tasks if task.html]
    return "".join(parts)


def html_table(
    lines: Iterable[tuple[str, ...]], *, head: tuple[str, ...] = (), kind: str = ""
) -> str:
    """Return a table of cells that are HTML.

    Args:
        lines: of cells.
        head: titles of the columns, if they have any.
        kind: the table's class in `STYLE`.
    """
    titles = "".join(f'<th scope="col">{title}</th>' for title in head)
    top = f"<thead><tr>{titles}</tr></thead>" if head else ""
    body = "".join(
        f"<tr>{''.join(f'<td>{cell}</td>' for cell in line)}</tr>\n" for line in lines
    )
    return f'<table class="{kind}">{top}<tbody>\n{body}</tbody></table>\n'


def code(name: str) -> str:
    """Return a name as code that a narrow page breaks after an underscore, and nowhere else."""
    return f"<code>{html.escape(name).replace('_', '_<wbr>')}</code>"
