"""Decide whether an answer is right and, if not, which mistake it is."""

import inspect
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from torch import nn

from attn_lib.checks import wording
from attn_lib.checks.afresh import afresh
from attn_lib.checks.again import called_again
from attn_lib.checks.experiments import (
    AFRESH,
    EMPTY,
    LARGER,
    NUMBERS,
    ONE_PIECE,
    SMALLER,
    WIDE,
    otherwise,
)
from attn_lib.checks.gradients import Observed, judge_inputs_and_gradients
from attn_lib.checks.observe import Outcome, named_tensors, observe, walled_off
from attn_lib.checks.pattern import pattern
from attn_lib.checks.raised import DTYPES_MEET, question_about
from attn_lib.checks.recognize import (
    NOT_BOOLEAN,
    OTHER_DTYPE,
    Recognized,
    is_half,
    recast,
    recognize,
)
from attn_lib.checks.task import Mistake, find_task
from attn_lib.checks.trial import Trial, trial_of
from attn_lib.checks.verdict import Verdict

TRIED = 3  # failing cases that an experiment must put right
SCORED_SECONDS = 45.0  # for all cases of a task that is scored in steps


def judge(name: str, answer: Any, *, seed: int = 0) -> Verdict:
    """Judge an answer to a task, printing and keeping nothing.

    Args:
        name: the task's name.
        answer: the learner's function or class, or anything else.
        seed: of the random inputs; an instructor's private seed gives inputs nobody has seen.

    Raises:
        ValueError: there is no task of that name.
    """
    task = find_task(name)
    if answer is None or answer is Ellipsis:
        return wording.not_attempted(task, "There is no answer yet.")
    is_instance = isinstance(answer, nn.Module) and inspect.isclass(task.reference)
    if not callable(answer) or is_instance:
        return wording.not_callable(task, answer)
    tried, copy = trial_of(task.name, seed), afresh(answer)
    return judge_observed(
        tried,
        lambda case, gradients: observe(answer, tried.cases[case], gradients=gradients),
        lambda case, how: otherwise(answer, copy, tried.cases[case], how),
    )


def judge_observed(
    tried: Trial, observed: Observed, again: Callable[[int, str], Outcome]
) -> Verdict:
    """Judge an answer by what it does on each case, wherever it runs.

    Args:
        tried: the task's inputs for a seed.
        observed: `observed(case, gradients)` runs the answer on the case of that number.
        again: `again(case, how)` runs it under another condition, one of `experiments`.
    """
    task = tried.task
    if task.score is not None:
        return _scored(tried, observed)
    failures: dict[int, wording.Failure] = {}  # by the number of the case
    by_case: dict[int, Outcome] = {}
    for i in tried.order:
        case, got = tried.cases[i], observed(i, False)
        if got.interrupted:
            return wording.interrupted(task, case)
        if got.untouched and not by_case:
            return wording.stub(task, got)
        by_case[i] = got
        difference = wording.difference(task, case, tried.expected(i), got)
        if difference:
            failures[i] = wording.Failure(case, got, difference)
        if difference and i == 0 and got.is_nothing:  # so it will be on every input
            return wording.failed(task, failures[i], None)
    outcomes = [by_case[i] for i in sorted(by_case)]
    failures = dict(sorted(failures.items()))
    if not failures:
        return judge_inputs_and_gradients(tried, observed, outcomes)
    if all(f.outcome.error and is_half(f.case) for f in failures.values()):
        # An answer by way of numpy stumbles over bfloat16 first; its missing gradient says more.
        verdict = judge_inputs_and_gradients(tried, observed, outcomes)
        if verdict.status != "passed":
            return verdict
    earliest = failures[min(failures)]
    if all(failure.case.run is called_again for failure in failures.values()):
        if any(outcome.changed for outcome in outcomes):
            return judge_inputs_and_gradients(tried, observed, outcomes)
        return wording.failed(task, earliest, wording.CALLED_AGAIN)
    shown = sorted(failures, key=lambda i: wording.is_harder(failures[i]))
    if _is_right_if(EMPTY, tried, again, shown[:TRIED], failures):
        return wording.failed(task, failures[shown[0]], wording.LACKS[EMPTY])
    if min(failures) > 0 and _is_right_if(AFRESH, tried, again, [min(failures)], failures):
        return wording.failed(task, earliest, wording.KEEPS)
    found = recognize(tried, outcomes, shown)
    changed = next((name for outcome in outcomes for name in outcome.changed), None)
    lacking = None
    if found is None or not found.is_sure:
        lacking = _by_experiment(tried, again, shown, failures)
    if found is not None and lacking is None:
        if found.second is None:
            found = replace(found, second=_beside(tried, observed, found, changed))
        return wording.recognized(task, failures[found.case], found)
    first = failures[shown[0]]
    beside = (name for i in by_case if i not in failures for name in by_case[i].changed)
    mistake = lacking
    if mistake is None and (name := next(beside, None)):
        mistake = wording.changes_input(task, name)
    if mistake is None and (error := first.outcome.error):
        mistake = question_about(error) or wording.OF_KIND.get(error.kind)
    if mistake is None and tried.expected(shown[0]).error:
        mistake = wording.to_refuse(first.outcome)
    if (
        mistake is None
        and first.outcome.drew
        and not observe(task.reference, first.case).drew
    ):
        mistake = wording.DRAWS
    if mistake is None and changed is not None:
        mistake = wording.changes_input(task, changed)
    if mistake is None and " dtype " in first.difference.text:
        mistake = OTHER_DTYPE.id, OTHER_DTYPE.question
    if mistake is None and "should have shape" in first.difference.text:
        mistake = wording.another_shape(tried.expected(shown[0]), first.outcome)
    if mistake is None:
        differences = {i: f.difference for i, f in failures.items()}
        mistake = pattern(task, tried.cases, differences)
    if mistake is None and first.difference.is_nan:
        mistake = wording.NAN
    may_raise = any(tried.expected(i).error for i in by_case)
    if mistake is None and may_raise and wording.refuses(first.outcome):
        mistake = wording.REFUSED
    return wording.failed(task, first, mistake)


def _is_right_if(
    how: str,
    tried: Trial,
    again: Callable[[int, str], Outcome],
    among: list[int],
    failures: Mapping[int, wording.Failure],
) -> bool:
    """Say whether an answer is right on some cases that it fails, under another condition."""
    for i in among:
        case, failed = tried.cases[i], failures[i].outcome
        if (
            (how == AFRESH and (failed.drew or case.in_turns))
            or case.serves
            or tried.expected(i).error
        ):
            return False
        got, want = again(i, how), tried.expected(i)
        got = recast(got, want) if how == WIDE else got
        if wording.difference(tried.task, case, want, got):
            return False
    return True


def _by_experiment(
    tried: Trial,
    again: Callable[[int, str], Outcome],
    shown: list[int],
    failures: Mapping[int, wording.Failure],
) -> tuple[str, str] | None:
    """Return the condition under which an answer is right where it fails: an id and a question."""
    among = shown[:TRIED]
    given = [t for i in among for t in named_tensors(tried.cases[i].args).values()]
    ways = [] if all(t.is_contiguous() for t in given) else [ONE_PIECE]
    ways += [f"{how} {place}" for how in (LARGER, SMALLER) for place in range(NUMBERS)]
    if not _says_enough(failures[shown[0]]) and not any(t.isnan().any() for t in given):
        ways.append(WIDE)  # beside a nan, more digits say nothing
    for how in ways:
        if _is_right_if(how, tried, again, among, failures):
            return wording.LACKS[how.rstrip(" 0123456789")]
    return None


def _says_enough(failure: wording.Failure) -> bool:
    """Say whether a failure names a dtype, or is of a kind with a question of its own: no digits are missing then."""
    if (error := failure.outcome.error) is None:
        return " dtype " in failure.difference.text
    asked = question_about(error)
    return error.kind in wording.OF_KIND or (asked is not None and asked[0] == DTYPES_MEET)


def _scored(tried: Trial, observed: Observed) -> Verdict:
    """Judge an answer to a task that is scored in steps, by what it does on all cases."""
    task, outcomes = tried.task, list[Outcome]()
    end = time.monotonic() + SCORED_SECONDS
    for i, case in enumerate(tried.cases):
        if time.monotonic() > end:
            return wording.too_slow(task, i, len(tried.cases), SCORED_SECONDS)
        got = observed(i, False)
        if got.interrupted:
            return wording.interrupted(task, case)
        if (got.untouched or got.is_nothing) and not outcomes:
            return wording.stub(task, got)
        outcomes.append(got)
    assert task.score is not None
    return task.score(tried, outcomes)


def _beside(
    tried: Trial, observed: Observed, found: Recognized, changed: str | None
) -> Mistake | None:
    """Return what an answer does beside the mistake that was recognized, and no value shows."""
    if changed is not None:
        return Mistake(*wording.changes_input(tried.task, changed), {})
    with_gradients = [i for i, case in enumerate(tried.cases) if case.grad]
    if not with_gradients:
        return None
    place = found.case if found.case in with_gradients else with_gradients[0]
    if found.mistake in (OTHER_DTYPE, NOT_BOOLEAN):
        theirs = tried.expected(place, gradients=True)
    else:
        with walled_off():
            number = tried.known.mistakes.index(found.mistake)
            theirs = tried.mistaken((number,), place, True)
    mine = observed(place, True)
    lost = [
        name
        for name, gradient in theirs.gradients.items()
        if gradient is not None and gradient.any() and mine.gradients.get(name) is None
    ]
    return Mistake(*wording.NO_GRADIENT, {}) if lost and not mine.error else None
