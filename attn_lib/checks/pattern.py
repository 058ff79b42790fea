"""What the inputs that go wrong have in common, for results that no known mistake makes."""

import math
from collections.abc import Callable, Iterable, Mapping
from itertools import combinations

from attn_lib.checks.case import Case
from attn_lib.checks.compare import Difference
from attn_lib.checks.experiments import size
from attn_lib.checks.facts import plain_facts, size_facts
from attn_lib.checks.observe import named_tensors
from attn_lib.checks.task import Task

ENOUGH = 3  # inputs that come out right, to say what sets the others apart
NEARLY = (
    "rounded",
    "Your numbers are nearly right. Which step rounds them, to a shorter dtype perhaps, or adds a small number, or leaves one out?",
)
LARGER = (
    "larger-ones-only",
    "All smaller inputs come out right. Which table, bound, number or dtype in your code is too small for this one, or has too few digits?",
)
LARGE_NUMBERS = (
    "large-numbers-only",
    "Inputs with smaller numbers all come out right. Which step of yours overflows here, or leaves nothing but zeros, or which "
    "number in your code should be beyond all others, and is not beyond these?",
)
TINY_NUMBERS = (
    "tiny-numbers-only",
    "Inputs with larger numbers all come out right. Next to which number in your code are these too small, or what do you take "
    "for 0 that is not?",
)
BY_SIZE = "which axis does your code know by its size alone, or which two does it mix up if they are of one size?"
IN_ANOTHER_WAY = "which line of yours treats these in another way?"


def pattern(
    task: Task, cases: list[Case], differences: Mapping[int, Difference]
) -> tuple[str, str] | None:
    """Return what the failing inputs share, and no other one does: an id and a question; None if there is nothing.

    Args:
        task: of the cases.
        cases: all of them.
        differences: what is wrong, by the number of each failing case.
    """
    if any(found.actual is None for found in differences.values()):  # no numbers came
        return None
    if not any(found.is_plain for found in differences.values()):
        return NEARLY
    failing = [cases[i] for i in differences]
    others = [case for i, case in enumerate(cases) if i not in differences]
    if len(others) < ENOUGH:
        return None
    if told := _shared(task, plain_facts, failing, others):
        return "some-inputs-only", f"Only inputs with {told} go wrong: {IN_ANOTHER_WAY}"
    if min(size(c.args) for c in failing) > max(size(c.args) for c in others):
        return LARGER
    if min(map(_largest, failing)) > max(map(_largest, others)):
        return LARGE_NUMBERS
    if max(map(_smallest, failing)) < min(map(_smallest, others)):
        return TINY_NUMBERS
    # Some two sizes compare in a way of their own in any one input; if it is meant, its name tells.
    if len(failing) == 1 and " = " in failing[0].about:
        return (
            "some-sizes-only",
            f"Only the input “{failing[0].about}” goes wrong: {BY_SIZE}",
        )
    if len(failing) > 1 and (told := _shared(task, size_facts, failing, others)):
        return "some-sizes-only", f"Only inputs with {told} go wrong: {IN_ANOTHER_WAY}"
    return None


def _largest(case: Case) -> float:
    """Return how far from 0 the numbers of a case's floats lie at most."""
    return max(_reach(case), default=0.0)


def _smallest(case: Case) -> float:
    """Return the same of that tensor whose numbers lie nearest to 0, but are not all 0."""
    return min(filter(None, _reach(case)), default=math.inf)


def _reach(case: Case) -> list[float]:
    tensors = named_tensors(case.args).values()
    floats = (t[t.isfinite()] for t in tensors if t.is_floating_point())
    return [float(t.double().abs().max()) for t in floats if t.numel()]


def _shared(
    task: Task,
    facts: Callable[[Task, tuple], Iterable[str]],
    failing: list[Case],
    others: list[Case],
) -> str:
    """Return a fact, or two, that hold for all inputs that fail and for no other one; or nothing."""
    first, *rest = [dict.fromkeys(facts(task, case.args)) for case in failing]
    common = [fact for fact in first if all(fact in one for one in rest)]
    right = [set(facts(task, case.args)) for case in others]
    # There are so many pairs of sizes that some two facts fit any few inputs.
    pairs = combinations(common, 2) if facts is plain_facts else ()
    for several in ([(fact,) for fact in common], pairs):
        for some in several:
            if not any(one.issuperset(some) for one in right):
                return " and ".join(some)
    return ""
