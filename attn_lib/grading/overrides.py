"""Points that the teacher sets by hand, and comments, in a small file that every run reads again."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from attn_lib.grading.refused import Refused
from attn_lib.grading.roster import table_by_hand
from attn_lib.grading.row import Row, fits

NAME = "overrides.csv"
COLUMNS = ("learner", "lesson", "task", "points", "reason")
BY_HAND = "by hand"


@dataclass(frozen=True)
class Override:
    """One line: points for a task, or for the whole lesson if no task is named; without points, a comment.

    Attributes:
        where: the file's name and the line, for messages.
        learner: the name in the table of grades, or the id in the roster.
    """

    where: str
    learner: str
    lesson: int
    task: str
    points: float | None
    reason: str


def read_overrides(folder: Path, lessons: Sequence[int] = ()) -> list[Override]:
    """Read a folder's overrides, of some lessons or of all; make the file, if it is not there.

    Raises:
        OSError: it can be neither read nor written.
        Refused: a line is not as it must be.
    """
    found = []
    for where, cells in table_by_hand(folder / NAME, COLUMNS):
        learner, lesson, task, points, reason = cells
        if not learner:
            raise Refused(f"{where}: no learner is named.")
        try:
            value = float(points) if points else None
            found.append(Override(where, learner, int(lesson), task, value, reason))
        except ValueError:
            raise Refused(f"{where}: lesson and points must be numbers.") from None
    return [line for line in found if line.lesson in lessons or not lessons]


def with_overrides(rows: list[Row], overrides: list[Override]) -> Iterator[Row]:
    """Yield rows with the points that were set by hand.

    Raises:
        Refused: an override gives more than there is, or for no task of the lesson.
    """
    ids = {row.id for row in rows} - {""}
    for row in rows:
        for override in overrides:
            if override.lesson == row.lesson and fits(override.learner, row, ids):
                row = _changed(row, override)
        yield row


def _changed(row: Row, override: Override) -> Row:
    """Return a row with one override."""
    report = row.report
    assert report
    tasks = {task.name: task for task in report.tasks}
    if override.task and override.task not in tasks:
        raise Refused(f"{override.where}: lesson {row.lesson} has no task {override.task}.")
    about = override.task or "all"
    if override.points is None:
        return replace(row, by_hand=(*row.by_hand, f"{about}: {override.reason}"))
    before = tasks[override.task] if override.task else row
    assert before.max_points is not None
    if not 0 <= override.points <= before.max_points:
        raise Refused(f"{override.where}: 0 to {before.max_points:g} points are possible.")
    said = f"Set by hand: {about}: {override.points:g} instead of {before.points:g} points"
    said += f" ({override.reason})" if override.reason else ""
    row = replace(row, by_hand=(*row.by_hand, said))
    if not override.task:
        return replace(row, set_to=override.points)
    tasks[override.task] = replace(
        tasks[override.task], points=override.points, status=BY_HAND
    )
    return replace(row, report=replace(report, tasks=tuple(tasks.values())))
