"""A task: a reference, a generator of cases, known mistakes, and hints."""

import difflib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import torch

from attn_lib.checks.case import Case
from attn_lib.checks.rows import Row, table, text_of

_REGISTRY: dict[str, "Task"] = {}


class Mistake(NamedTuple):
    """A wrong answer that people really give, and the question that leads out of it.

    Attributes:
        id: its name.
        question: leads out of it, without the answer.
        lines: the lines of a right answer that are written otherwise, by name (see rows.py); or
        answer: the whole wrong answer, where it is no right one with a line written otherwise.
    """

    id: str
    question: str
    lines: Row
    answer: Callable | None = None


@dataclass
class Task:
    """One exercise task. Made by the decorator `task` from its reference answer.

    Attributes:
        insight: what a learner has understood who passes it, in a sentence.
        reference: the right answer, with a name for every line.
        library: what stands in for a learner's answer in later lessons.
        others: right answers of another build, for mistakes that the reference has no line for.
        without: ids of shared mistakes that are none here.
        make_large: makes a large input, on which the grader measures the memory of the answer.
        score: for a task that is scored in steps: makes a verdict of what the answer did on all cases.
        repairs: the name of the task whose answer is to be repaired here; its cases and mistakes are the same.
        also: functions of the library that do nearly the same, by name.
        drilled: the mistakes that learners find in drills, between commas: those that people make, in a line that looks
            right. "" has no drills: there no single line is wrong.
    """

    name: str
    lesson: int
    points: int
    reference: Callable
    hints: tuple[str, ...]
    returns: tuple[str, ...]
    library: Callable
    without: tuple[str, ...]
    make_cases: Callable[[torch.Generator], Iterator[Case]] = lambda rng: iter(())
    others: list[Callable] = field(default_factory=list)
    mistakes: list[Mistake] = field(default_factory=list)
    make_large: Callable[[torch.Generator], Case] | None = None
    score: Callable[..., Any] | None = None
    repairs: str = ""
    insight: str = ""
    also: tuple[str, ...] = ()
    drilled: str = ""

    @property
    def signature(self) -> str:
        """The signature of the contract: "attention(q, k, v)"."""
        kind = "class " if inspect.isclass(self.reference) else ""
        return f"{kind}{self.name}{inspect.signature(self.reference)}"

    def cases(self, make: Callable) -> Callable:
        """Decorate the generator of cases, `make(rng)`."""
        self.make_cases = make
        return make

    def measured(self, make: Callable) -> Callable:
        """Decorate `make(rng)`, a large input: here the grader counts the bytes of the answer's process."""
        self.make_large = make
        return make

    def scored(self, score: Callable) -> Callable:
        """Decorate `score(tried, outcomes)`, which gives points in steps: all of them only if it passes."""
        self.score = score
        return score

    def other(self, answer: Callable) -> Callable:
        """Decorate a right answer of another build, with a name for every line."""
        self.others.append(answer)
        return answer

    def rows(self, text: str) -> None:
        """Add the mistakes of a table: questions, and under each the lines that are written otherwise."""
        self.mistakes += [Mistake(*row) for row in table(text)]

    def drills(self, names: str) -> None:
        """Choose the mistakes of drills, easy ones first: "id" or "id number", as `Known.row` has it, between commas."""
        self.drilled = names

    def mistake(self, id: str, question: str) -> Callable:
        """Decorate a whole wrong answer, or take several, with their id and leading question."""

        def keep(answer: Callable, *more: Callable) -> Callable:
            self.mistakes += [Mistake(id, question, {}, one) for one in (answer, *more)]
            return answer

        return keep


def task(
    *,
    lesson: int,
    points: int,
    hints: list[str],
    returns: tuple[str, ...] = ("result",),
    library: Callable | None = None,
    without: tuple[str, ...] = (),
    insight: str = "",
    also: tuple[str, ...] = (),
) -> Callable[[Callable], Task]:
    """Turn a reference function or class into a `Task` named after it.

    Args:
        lesson: the lesson's number.
        points: what it is worth, all or nothing if it is not `scored`; 0 for practice.
        hints: graduated, from a nudge to the last step; never the answer.
        returns: a name for each value the answer returns, as the messages call it.
        library: what stands in for a learner's answer in later lessons; None = the reference.
        without: ids of shared mistakes (see shared_mistakes.py) that are none in this task.
        insight: what a learner has understood who passes it, in a sentence.
        also: functions of the library that do nearly the same, by name, and methods ("Class.method"): they are left out where answers are graded.
    """

    def register(reference: Callable) -> Task:
        name = reference.__name__
        text_of(inspect.getfile(reference))  # now, while it is what was imported
        stands_in = library or reference
        made = Task(
            name, lesson, points, reference, tuple(hints), returns, stands_in, without
        )
        made.insight, made.also = insight, also
        _REGISTRY[name] = made
        return made

    return register


def repair(
    name: str,
    of: Task,
    planted: dict[str, Row],
    *,
    lesson: int,
    points: int,
    hints: list[str],
) -> Task:
    """Make a task of a broken answer to another one: what it promises, and how it is judged, are the same.

    Args:
        name: of the new task.
        of: the other one.
        planted: the rows that break it, by their ids. They are the first to be recognized.
        lesson: the new task's lesson.
        points: what it is worth.
        hints: as in `task`.
    """
    first = sorted(of.mistakes, key=lambda m: (m.id, m.lines) not in planted.items())
    made = replace(
        of,
        name=name,
        lesson=lesson,
        points=points,
        hints=tuple(hints),
        mistakes=first,
        repairs=of.name,
        insight="A bug is found by an input on which it shows.",
    )
    _REGISTRY[name] = made
    return made


def tasks() -> list[Task]:
    """Return every task, in the order of the lessons."""
    return sorted(_REGISTRY.values(), key=lambda t: t.lesson)


def find_task(name: str) -> Task:
    """Return the task of that name.

    Raises:
        ValueError: there is none; the message names the nearest one.
    """
    if isinstance(name, str) and name in _REGISTRY:
        return _REGISTRY[name]
    if (own := getattr(name, "__name__", None)) and own in _REGISTRY:  # check(attention)
        text = f'First comes the name of a task, in quotation marks: "{own}".'
        raise ValueError(f'{text} To check an answer: check("{own}", {own}).')
    if not isinstance(name, str) or not name:
        raise ValueError(
            'First comes the name of a task, in quotation marks, as in check("attention", attention). '
            f"There are: {', '.join(_REGISTRY)}."
        )
    near = difflib.get_close_matches(str(name), _REGISTRY, n=1)
    there = ", ".join(_REGISTRY)
    meant = f' Did you mean "{near[0]}"?' if near else f" There are: {there}."
    raise ValueError(f'There is no task named "{name}".{meant}')
