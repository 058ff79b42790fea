"""Points that the teacher sets by hand, in a small file that every run reads again."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from attn_lib.files import write_whole
from attn_lib.grading.refused import Refused
from attn_lib.grading.roster import read_table
from attn_lib.grading.row import Row

NAME = "overrides.csv"
COLUMNS = ("learner", "lesson", "task", "points", "reason")
BY_HAND = "by hand"


@dataclass(frozen=True)
class Override:
    """One line: points for a task, or for the whole lesson if no task is named.

    Attributes:
        where: the file's name and the line, for messages.
        learner: the name in the table of grades, or the id in the roster.
    """

    where: str
    learner: str
    lesson: int
    task: str
    points: float
    reason: str


def read_overrides(folder: Path) -> list[Override]:
    """Read a folder's overrides; make the file, without any, if it is not there.

    Raises:
        OSError: it can be neither read nor written.
        Refused: a line is not as it must be.
    """
    path = folder / NAME
    if not path.exists():
        write_whole(path, ",".join(COLUMNS) + "\n")
    columns, lines = read_table(path)
    if missing := [name for name in COLUMNS if name not in columns]:
        raise Refused(f"{NAME} has no column {missing[0]}: it needs {', '.join(COLUMNS)}.")
    found = []
    for number, line in enumerate(lines, 2):
        learner, lesson, task, points, reason = (line[name].strip() for name in COLUMNS)
        where = f"{NAME}, line {number}"
        try:
            value = float(points)
            found.append(Override(where, learner, int(lesson), task, value, reason))
        except ValueError:
            raise Refused(f"{where}: lesson and points must be numbers.") from None
    return found


def with_overrides(rows: list[Row], overrides: list[Override]) -> Iterator[Row]:
    """Yield rows with the points that were set by hand.

    Raises:
        Refused: an override fits no row, or gives more than there is.
    """
    unused = set(overrides)
    for row in rows:
        for override in overrides:
            if override.lesson == row.lesson and override.learner in (row.learner, row.id):
                unused.discard(override)
                row = _changed(row, override)
        yield row
    for override in sorted(unused, key=lambda o: o.where):
        raise Refused(
            f"{override.where}: nobody called {override.learner} has a line for lesson {override.lesson}."
        )


def _changed(row: Row, override: Override) -> Row:
    """Return a row with one override."""
    report = row.report
    assert report
    tasks = {task.name: task for task in report.tasks}
    if override.task and override.task not in tasks:
        raise Refused(f"{override.where}: lesson {row.lesson} has no task {override.task}.")
    before = tasks[override.task] if override.task else row
    assert before.max_points is not None
    if not 0 <= override.points <= before.max_points:
        raise Refused(f"{override.where}: 0 to {before.max_points:g} points are possible.")
    said = (
        f"{override.task or 'all'}: {override.points:g} instead of {before.points:g} points"
    )
    said += f" ({override.reason})" if override.reason else ""
    row = replace(row, by_hand=(*row.by_hand, said))
    if not override.task:
        return replace(row, set_to=override.points)
    tasks[override.task] = replace(
        tasks[override.task], points=override.points, status=BY_HAND
    )
    return replace(row, report=replace(report, tasks=tuple(tasks.values())))
