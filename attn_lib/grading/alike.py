"""Submissions whose answers are the same code, once comments, names and spaces are removed."""

from collections import defaultdict
from functools import cache

from attn_lib.grading.definitions import definitions, fingerprint
from attn_lib.grading.grade import worth_points
from attn_lib.grading.row import Row
from attn_lib.grading.submission import read_cells
from attn_lib.grading.visible_course import PACKAGE

NO_PROOF = (
    "The same code is no proof of copying: short right answers are often the same, the exercise suggests how to "
    "write them, and who wrote first cannot be seen. Talk with the learners."
)
PUBLISHED = "the course's own solution"


def alike(rows: list[Row]) -> list[tuple[int, list[str]]]:
    """Return lessons and the learners of a class whose answers to it are all the same code, two or more.

    The course's own solution counts as one of them: it is published.
    """
    groups: dict[tuple[int, str], list[str]] = defaultdict(list)
    for row in rows:
        if row.report and row.report.code:
            groups[row.report.lesson, row.report.code].append(row.learner)
    for lesson, code in [*groups]:
        if code == published(lesson):
            groups[lesson, code].append(PUBLISHED)
    return sorted((n, names) for (n, _), names in groups.items() if len(names) > 1)


@cache
def published(lesson: int) -> str:
    """Return the hash of the answers in the course's solution to a lesson; "" where it is not there."""
    paths = [*PACKAGE.parent.glob(f"solutions/{lesson:02}_*/{lesson:02}_*.ipynb")]
    if len(paths) != 1:
        return ""
    names = [task.name for task in worth_points(lesson)]
    cells = read_cells(paths[0].read_bytes())
    return fingerprint([definitions(cell, names) for cell in cells], names)
