"""Grade one submission: a pure function of the file's bytes, the lesson and the seed."""

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache
from html import escape
from typing import Any

from attn_lib.checks import Task, Verdict, tasks
from attn_lib.checks.task import find_task
from attn_lib.checks.verdict import framed, inline
from attn_lib.grading.carried import called_by, with_ours
from attn_lib.grading.definitions import fingerprint
from attn_lib.grading.names import clean
from attn_lib.grading.sandbox import NoSandbox, check_sandbox
from attn_lib.grading.submission import Unreadable, read_cells
from attn_lib.grading.submission_judge import Judge

NOT_GRADED = "not graded"
CARRIED = "error carried forward"


@dataclass(frozen=True)
class TaskResult:
    """The result of one task.

    Attributes:
        name: the task's.
        status: "passed", "wrong", "error", "not attempted"; "error carried forward", if it is right with our
            answers in place of wrong ones that it calls; "not graded", if nothing could be.
        points: what it earned, of `max_points`.
        mistake: the id of the recognized mistake, or None.
        question: leads out of this mistake, or is empty.
        message: the verdict as text.
        html: the verdict as HTML, escaped, for the learner.
    """

    name: str
    status: str
    points: float
    max_points: float
    mistake: str | None = None
    question: str = ""
    message: str = ""
    html: str = ""


@dataclass(frozen=True)
class Report:
    """The result of one submission, task by task.

    Attributes:
        lesson: its number.
        seed: of the inputs.
        problem: why nothing could be graded, to the instructor; or "".
        tasks: one result for each task of the lesson that is worth points.
        cells: which cells failed or were left out, if points are missing, and which one speaks of what judges it; or "".
        code: a hash of the answers without names and comments, to find equal ones; or "".
    """

    lesson: int
    seed: int
    problem: str
    tasks: tuple[TaskResult, ...]
    cells: str = ""
    code: str = ""

    @property
    def points(self) -> float:
        """The sum of the points."""
        return sum(task.points for task in self.tasks)

    @property
    def max_points(self) -> float:
        """The points of the whole lesson."""
        return sum(task.max_points for task in self.tasks)

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> "Report":
        """Undo `to_json`.

        Raises:
            ValueError: it is something else.
        """
        try:
            results = tuple(TaskResult(**task) for task in plain["tasks"])
            return cls(**plain | {"tasks": results})
        except (TypeError, KeyError) as error:
            raise ValueError("not a report") from error


def grade_submission(
    data: bytes, lesson: int, *, seed: int, unsafe: bool = False, strict: bool = False
) -> Report:
    """Grade what a learner handed in. A pure function; nothing that a learner writes makes it raise.

    Args:
        data: the bytes of the file.
        lesson: whose tasks are graded.
        seed: of the inputs.
        unsafe: run the learner's code without the sandbox.
        strict: an answer that is wrong because it calls a wrong one gets no points.

    Raises:
        ValueError: the lesson has no tasks.
        NoSandbox: bubblewrap is missing.
        OSError: this machine has run out of something.
    """
    if not worth_points(lesson):
        raise ValueError(f"Lesson {lesson} has no tasks that are worth points.")
    try:
        cells = read_cells(data)
    except Unreadable as reason:
        return ungraded(lesson, seed, str(reason))
    if not unsafe:
        _sandbox_works()
    results, problem = [], ""
    with Judge(cells, lesson, seed=seed, unsafe=unsafe) as judge:
        for task in worth_points(lesson):
            try:
                results.append(_result(judge.verdict(task)))
            except _OURS:
                raise
            except Exception as error:  # a flaw of the judge that this answer has found
                judge.close()
                said = clean(f"{type(error).__name__}: {error}")[:300]
                problem = f"The judge failed on it ({said}). Please grade it by hand, and report this."
                results.append(_not_graded(task, problem))
    code = fingerprint(judge.defined, [task.name for task in worth_points(lesson)])
    odd = _to_look_at(cells)
    if all(result.points == result.max_points for result in results):
        return Report(lesson, seed, problem, tuple(results), odd, code)
    failed = " ".join(
        clean(judge.failed_cells()).split()
    )  # one line, whatever an error is called
    results = [_with_cells(result, failed) for result in results]
    if not strict:
        results = list(_carried_forward(judge, results))
    return Report(lesson, seed, problem, tuple(results), f"{failed} {odd}".strip(), code)


_INSIDE = re.compile(r"attn_lib\.(?:grading|tasks|checks\.\w+)|\b_getframe\b")


def _to_look_at(cells: list[str]) -> str:
    """Name the first cell that speaks of what judges it: rules that are seen inside only can be switched off there."""
    for number, cell in enumerate(cells, 1):
        if found := _INSIDE.search(cell):
            return (
                f"Code cell {number} names {found[0]}, which no task asks for: look at it."
            )
    return ""


_OURS = NoSandbox, OSError, MemoryError  # this machine's trouble, not the learner's


def _with_cells(result: TaskResult, failed: str) -> TaskResult:
    """Add to an error what may be behind it: cells that failed before."""
    if result.status != "error" or not failed:
        return result
    message, markup = f"{result.message}\n{failed}", f"<p>{escape(failed)}</p>"
    return replace(result, message=message, html=result.html + markup)


def _carried_forward(judge: Judge, results: list[TaskResult]) -> Iterator[TaskResult]:
    """Yield the results, with full points where only an earlier answer is wrong.

    Each task that calls wrong answers is judged again with ours in their place, within the time that the
    submission has in all.
    """
    cells = ["" if n in judge.fatal else cell for n, cell in enumerate(judge.cells)]
    defined = [{} if n in judge.fatal else cell for n, cell in enumerate(judge.defined)]
    wrong: list[str] = []
    carried: list[str] = []
    for result in results:
        replaced = [name for name in wrong if name in called_by(result.name, defined)]
        if result.points < result.max_points:
            wrong.append(result.name)
            if (
                replaced
            ):  # what calls an answer that is not written looks as if it were not, either
                changed = with_ours(cells, defined, replaced)
                again = Judge(changed, judge.lesson, seed=judge.seed, unsafe=judge.unsafe)
                again.end, again.key = judge.end, judge.key
                if _passes(again, result.name):
                    carried.append(result.name)
                    to_mend = [name for name in replaced if name not in carried]
                    result = _forgiven(result, to_mend or replaced)
        yield result


def _passes(judge: Judge, name: str) -> bool:
    with judge:
        try:
            return judge.verdict(find_task(name)).status == "passed"
        except _OURS:
            raise
        except Exception:  # the first verdict has said it
            return False


def _forgiven(result: TaskResult, replaced: list[str]) -> TaskResult:
    """Give full points to an answer that is right with ours in place of earlier ones."""
    names = ", ".join(f"`{name}`" for name in replaced)
    said = (
        f"`{result.name}` has all points: it is right with our {names} in place of yours. "
        "Mend that first."
    )
    body = f"<strong>↷ Carried forward: {result.name}</strong><p>{inline(said)}</p>"
    points, markup = result.max_points, framed(body, "#1565c0", CARRIED)
    return TaskResult(result.name, CARRIED, points, points, message=said, html=markup)


def worth_points(lesson: int) -> list[Task]:
    """Return a lesson's tasks that are worth points, in order."""
    return [task for task in tasks() if task.lesson == lesson and task.points]


def ungraded(lesson: int, seed: int, problem: str) -> Report:
    """Make the report on a submission that could not be graded."""
    problem = clean(problem)
    results = (_not_graded(task, problem) for task in worth_points(lesson))
    return Report(lesson, seed, problem, tuple(results))


def _not_graded(task: Task, problem: str) -> TaskResult:
    return TaskResult(task.name, NOT_GRADED, 0, task.points, message=problem)


@cache
def _sandbox_works() -> None:
    check_sandbox()


def _result(verdict: Verdict) -> TaskResult:
    return TaskResult(
        verdict.task,
        verdict.status,
        verdict.points,
        verdict.max_points,
        verdict.mistake,
        clean(verdict.question) if verdict.mistake else "",
        clean(verdict.message),
        clean(verdict._repr_html_()),
    )
