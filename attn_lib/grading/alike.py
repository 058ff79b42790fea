"""Submissions whose answers are the same code, once comments, names and spaces are removed."""

from collections import defaultdict

from attn_lib.grading.row import Row

NO_PROOF = (
    "The same code is no proof of copying: short right answers are often the same, the exercise suggests how to "
    "write them, and who wrote first cannot be seen. Talk with the learners."
)


def alike(rows: list[Row]) -> list[tuple[int, list[str]]]:
    """Return lessons and the learners of a class whose answers to it are all the same code, two or more."""
    groups: dict[tuple[int, str], list[str]] = defaultdict(list)
    for row in rows:
        if row.report and row.report.code:
            groups[row.report.lesson, row.report.code].append(row.learner)
    return sorted((n, names) for (n, _), names in groups.items() if len(names) > 1)
