"""Late work: the days that have begun since the deadline, and what they cost."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

from attn_lib.grading.refused import Refused
from attn_lib.grading.roster import Roster, table_by_hand
from attn_lib.grading.row import Row, fits

# How Moodle writes a time in its worksheet, "Thursday, 1 October 2026, 6:30 PM", and in American English.
_MOODLE = (
    "%A, %d %B %Y, %I:%M %p",
    "%A, %d %B %Y, %H:%M",
    "%A, %B %d, %Y, %I:%M %p",
)
_MOODLE_COLUMN = "Last modified (submission)"


EXTENSIONS = "extensions.csv"
_COLUMNS = "learner", "lesson", "deadline"


@dataclass(frozen=True)
class Deadline:
    """The time when work is due, and the cost of each day after it.

    Attributes:
        time: with its time zone.
        penalty: the share of the points that each day costs, 0 to 1.
        worksheet: when each person handed in, by id, as Moodle's worksheet says.
        extensions: later times, by name or id, and lesson.
    """

    time: datetime
    penalty: float
    worksheet: dict[str, datetime]
    extensions: dict[tuple[str, int], datetime] = field(default_factory=dict)

    def applied(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Yield rows with the days they are late, what says so, and what these cost."""
        rows = [*rows]
        ids = {row.id for row in rows} - {""}
        for row in rows:
            later = [
                time
                for (learner, lesson), time in self.extensions.items()
                if lesson == row.lesson and fits(learner, row, ids)
            ]
            here = replace(self, time=max(later, default=self.time))
            days, said_by = here._late(row) if row.files else (0, "")
            penalty = min(1.0, days * self.penalty)
            yield replace(row, days_late=days, late_by=said_by, penalty=penalty)

    def _late(self, row: Row) -> tuple[int, str]:
        """Return the days begun since the deadline, and what says so.

        The platform knows best. A download from Canvas has the times of the download, but says "LATE".
        """
        latest = row.files[0]
        if row.id in self.worksheet:
            return self._days(self.worksheet[row.id]), "the worksheet"
        if latest.on_time is not None:
            return 0 if latest.on_time else 1, "the file's name"
        if not latest.modified:
            return 0, ""
        return self._days(datetime.fromisoformat(latest.modified)), latest.dated_by

    def _days(self, handed_in: datetime) -> int:
        return max(0, math.ceil((handed_in - self.time) / timedelta(days=1)))


def read_extensions(
    folder: Path, lessons: Sequence[int] = ()
) -> dict[tuple[str, int], datetime]:
    """Read a folder's extensions, of some lessons or of all; make the file, if it is not there.

    Raises:
        OSError: it can be neither read nor written.
        Refused: a line is not as it must be.
    """
    found: dict[tuple[str, int], datetime] = {}
    for where, (learner, lesson, time) in table_by_hand(folder / EXTENSIONS, _COLUMNS):
        if not learner:
            raise Refused(f"{where}: no learner is named.")
        try:
            found[learner, int(lesson)] = moment(time)
        except ValueError as error:
            raise Refused(f"{where}: {error}.") from None
    return {key: time for key, time in found.items() if key[1] in lessons or not lessons}


def moment(text: str) -> datetime:
    """Read a time: '2026-10-01 18:00', in the teacher's own time zone, or with ' UTC' behind it.

    Raises:
        ValueError: it is none.
    """
    try:
        return datetime.fromisoformat(text.replace(" UTC", "+00:00")).astimezone()
    except (ValueError, OverflowError):
        raise ValueError(
            "write a time as '2026-10-01 18:00', in your time zone, or with ' UTC' behind it"
        ) from None


def worksheet_times(roster: Roster) -> dict[str, datetime]:
    """Return when each person handed in, as far as Moodle's worksheet says so.

    Raises:
        Refused: it says so in another language than English.
    """
    said = {p.id: p.line.get(_MOODLE_COLUMN, "").strip() for p in roster.people}
    return {id: _time(text) for id, text in said.items() if text.strip("-")}


def _time(text: str) -> datetime:
    for form in _MOODLE:
        try:
            return datetime.strptime(text, form).astimezone()  # the teacher's own time zone
        except ValueError:
            continue
    raise Refused(
        f"The worksheet's “{_MOODLE_COLUMN}” cannot be read: “{text}”. It must be written as in "
        "“Thursday, 1 October 2026, 6:30 PM”: set Moodle to English, and download the worksheet again."
    )
