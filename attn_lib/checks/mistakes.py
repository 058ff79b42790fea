"""Every mistake that is known of a task, ready to be run: alone, or two in one answer."""

from collections.abc import Callable
from functools import cache

from attn_lib.checks.rows import Row, Variants, expanded, names_read, written_otherwise
from attn_lib.checks.shared_mistakes import SHARED
from attn_lib.checks.task import Mistake, Task, find_task


class Known:
    """The mistakes of one task by number: its own, and those that many tasks share.

    A shared mistake applies to every right answer that has the lines it changes and the names it
    reads, unless the task has a mistake of that id itself.
    """

    def __init__(self, task: Task):
        builds = [task.reference, *task.others]
        empty = [Variants(build, []) for build in builds]
        own = {mistake.id for mistake in task.mistakes} | set(task.without)
        self.mistakes: list[Mistake] = []
        self._build: list[int | None] = []
        for mistake in task.mistakes:
            fits = [n for n, v in enumerate(empty) if _fits(mistake, v)] or [
                n for n, v in enumerate(empty) if mistake.lines.keys() <= v.lines.keys()
            ]
            if mistake.answer is None and not fits:
                names = ", ".join(mistake.lines)
                raise ValueError(f"{task.name}: no right answer has lines named {names}")
            self.mistakes.append(mistake)
            self._build.append(fits[0] if mistake.answer is None else None)
        for mistake in SHARED:
            fits = [n for n, v in enumerate(empty) if _fits(mistake, v)]
            if fits and mistake.id not in own:
                self.mistakes.append(mistake)
                self._build.append(fits[0])
        self._variants = []
        self._place: dict[int, int] = {}  # of a mistake, among the rows of its answer
        for n, build in enumerate(builds):
            numbers = [m for m, of in enumerate(self._build) if of == n]
            self._place |= {m: place for place, m in enumerate(numbers)}
            self._variants.append(
                Variants(build, [self.mistakes[m].lines for m in numbers])
            )

    def row(self, name: str) -> Row:
        """Return the row of "id" or "id number": that one among those of the id, counted from 0."""
        id, _, number = name.partition(" ")
        rows = [mistake.lines for mistake in self.mistakes if mistake.id == id]
        return rows[int(number or 0)]

    def number(self, id: str, row: Row) -> int:
        """Return the number of the mistake that is this row."""
        return next(n for n, m in enumerate(self.mistakes) if (m.id, m.lines) == (id, row))

    def answer(self, *numbers: int) -> Callable:
        """Return the wrong answer with this mistake, or with these that compose."""
        build = self._build[numbers[0]]
        if build is None:
            whole = self.mistakes[numbers[0]].answer
            assert whole is not None
            return whole
        return self._variants[build].variant(*(self._place[n] for n in numbers))

    def template(self, *numbers: int) -> int | None:
        """Return the number of the right class whose `__init__` a wrong one with these mistakes has."""
        build = self._build[numbers[0]]
        if build is None:
            return None
        places = (self._place[n] for n in numbers)
        return build if self._variants[build].is_built_alike(*places) else None

    def sources(self, *numbers: int) -> tuple[str, str]:
        """Return the text of the wrong answer with these mistakes, which are rows, and of the right one."""
        build = self._build[numbers[0]]
        assert build is not None
        answer = self._variants[build].answer
        rows = [self._variants[build].rows[self._place[n]] for n in numbers]
        return written_otherwise(answer, *rows), written_otherwise(answer)

    def compose(self, a: int, b: int) -> bool:
        """Say whether two mistakes can stand in one answer."""
        build = self._build[a]
        if build is None or build != self._build[b]:
            return False
        return self._variants[build].compose(self._place[a], self._place[b])

    def first_line(self, number: int) -> int:
        """Return the place of the first line that a mistake changes; 0 for a whole answer."""
        build = self._build[number]
        return 0 if build is None else self._variants[build].first_line(self._place[number])


@cache
def known(name: str) -> Known:
    """Return the known mistakes of a task.

    Raises:
        ValueError: there is no task of that name.
    """
    return Known(find_task(name))


def _fits(mistake: Mistake, variants: Variants) -> bool:
    """Say whether an answer has the lines that a mistake changes, and the names that it reads."""
    try:
        row = expanded(mistake.lines, variants.lines)
    except ValueError:
        return False
    return set().union(*map(names_read, row.values())) <= variants.names
