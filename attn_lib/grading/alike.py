"""Submissions whose answers are the same code, once comments, names and spaces are removed."""

import ast
import hashlib
from collections import defaultdict
from pathlib import Path

from attn_lib.grading.carried import defined_in
from attn_lib.grading.find import read
from attn_lib.grading.grade import worth_points
from attn_lib.grading.row import Row
from attn_lib.grading.submission import Unreadable, read_cells

NO_PROOF = (
    "The same code is no proof of copying: short right answers are often the same, the exercise suggests how to "
    "write them, and who wrote first cannot be seen. Talk with the learners."
)
_ENOUGH = 60  # names, calls and signs; fewer are the same by chance


def alike(rows: list[Row], folder: Path) -> list[tuple[int, list[str]]]:
    """Return lessons and the learners whose answers to it are all the same code, two or more.

    Args:
        rows: of the class.
        folder: of the submissions.
    """
    groups: dict[tuple[int, str], list[str]] = defaultdict(list)
    for row in rows:
        if row.lesson is not None and row.files and not row.problem:
            try:
                cells = read_cells(read(folder / row.files[0].path))
            except (Unreadable, OSError):
                continue
            if print := fingerprint(cells, row.lesson):
                groups[row.lesson, print].append(row.learner)
    return sorted((n, names) for (n, _), names in groups.items() if len(names) > 1)


def fingerprint(cells: list[str], lesson: int) -> str:
    """Return a hash of the answers in a notebook; "" if there is little in them."""
    answers: dict[str, ast.stmt] = {}
    for cell in cells:
        answers |= defined_in(cell)
    texts, count = [], 0
    for task in worth_points(lesson):
        if task.name in answers:
            try:
                texts.append(_without_names(answers[task.name]))
            except (RecursionError, ValueError):  # a number of 5,000 digits
                return ""
            count += len(list(ast.walk(answers[task.name])))
    return hashlib.sha256("\n".join(texts).encode()).hexdigest() if count > _ENOUGH else ""


def _without_names(answer: ast.stmt) -> str:
    """Write a definition without comments, docstrings and types, its names numbered as they come."""
    for node in ast.walk(answer):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node):
            node.body = node.body[1:]
        for place in ("annotation", "returns"):
            if hasattr(node, place):
                setattr(node, place, None)
    numbers: dict[str, str] = {}
    for node in ast.walk(answer):
        for place in ("id", "arg", "name"):
            name = getattr(node, place, None)
            if isinstance(name, str) and not isinstance(node, ast.keyword):
                setattr(node, place, numbers.setdefault(name, f"_{len(numbers)}"))
    return ast.dump(answer)
