"""A line of every table: the result of one learner for one lesson."""

from collections.abc import Iterable
from dataclasses import dataclass

from attn_lib.grading.find import File
from attn_lib.grading.grade import Report

NOTHING = "Nothing was handed in."  # the problem of a learner on the list


@dataclass(frozen=True)
class Row:
    """The result of one learner for one lesson.

    Attributes:
        learner: the name.
        lesson: its number; None if it cannot be told.
        report: of the notebook that counts; None without a lesson.
        problem: why nothing could be graded, or "".
        note: anything else an instructor should know.
        files: all that the learner handed in for the lesson, the one that counts first.
        again: whether another run may come to another result.
        id: the learner's in the roster, or "".
        days_late: days begun after the deadline.
        late_by: what says so.
        penalty: the share of the points that this costs.
        by_hand: what was set by hand, in words.
        set_to: the points that were set by hand for the whole lesson, or None.
    """

    learner: str
    lesson: int | None
    report: Report | None
    problem: str
    note: str
    files: tuple[File, ...]
    again: bool = False
    id: str = ""
    days_late: int = 0
    late_by: str = ""
    penalty: float = 0.0
    by_hand: tuple[str, ...] = ()
    set_to: float | None = None

    @property
    def points(self) -> float:
        """The points that count: the sum of the tasks, less the penalty; or what was set by hand."""
        if self.set_to is not None:
            return self.set_to
        return round(self.report.points * (1 - self.penalty), 2) if self.report else 0.0

    @property
    def max_points(self) -> float | None:
        """The points of the lesson, if it is known."""
        return self.report.max_points if self.report else None


def fits(learner: str, row: Row, ids: set[str]) -> bool:
    """Say whether a teacher who writes of a learner means a row's: an id of the class counts before a name."""
    return learner == (row.id if learner in ids else row.learner)


def unfitting(rows: list[Row], lines: Iterable[tuple[str, str, int]]) -> list[str]:
    """Say which of the teacher's own lines fit no row.

    That is no reason to stop: a learner who takes another name can bring it about.

    Args:
        rows: of the class.
        lines: where each is, the learner it names, and the lesson.
    """
    ids = {row.id for row in rows} - {""}
    return [
        f"{where}: nobody called {learner} has a line for lesson {lesson}, so it counts for nobody."
        for where, learner, lesson in lines
        if not any(row.lesson == lesson and fits(learner, row, ids) for row in rows)
    ]
