"""Decide whether an answer is right and, if not, which mistake it is."""

import inspect
import math
from collections.abc import Container, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from attn_lib.checks import wording
from attn_lib.checks.case import Case
from attn_lib.checks.compare import agreeing
from attn_lib.checks.gradients import Observed, judge_inputs_and_gradients
from attn_lib.checks.observe import Outcome, named_tensors, observe
from attn_lib.checks.task import find_task
from attn_lib.checks.trial import Trial, trial_of
from attn_lib.checks.verdict import Verdict


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
    tried = trial_of(task.name, seed)
    return judge_observed(
        tried,
        lambda case, gradients: observe(answer, tried.cases[case], gradients=gradients),
    )


def judge_observed(tried: Trial, observed: Observed) -> Verdict:
    """Judge an answer by what it does on each case, wherever it runs.

    Args:
        tried: the task's inputs for a seed.
        observed: `observed(case, gradients)` runs the answer on the case of that number.
    """
    task = tried.task
    failures: dict[int, wording.Failure] = {}  # by the number of the case
    outcomes: list[Outcome] = []
    for i, case in enumerate(tried.cases):
        got = observed(i, False)
        if got.interrupted:
            return wording.interrupted(task, case)
        if got.untouched and not outcomes:
            return wording.stub(task, got)
        outcomes.append(got)
        difference = wording.difference(task, case, tried.expected(i), got)
        if difference:
            failures[i] = wording.Failure(case, got, difference)
    if not failures:
        return judge_inputs_and_gradients(tried, observed, outcomes)
    if all(f.outcome.error and _is_half(f.case) for f in failures.values()):
        # An answer by way of numpy stumbles over bfloat16 first; its missing gradient says more.
        verdict = judge_inputs_and_gradients(tried, observed, outcomes)
        if verdict.status != "passed":
            return verdict
    mistake = _recognize(tried, outcomes, failures, range(len(outcomes)))
    if mistake is None:
        # Two slips are common: a mistake, and a dtype that suits float32 only.
        plain = [i for i, case in enumerate(tried.cases) if _is_plain(case)]
        mistake = _recognize(tried, outcomes, failures, plain)
    changed = next((name for outcome in outcomes for name in outcome.changed), None)
    if mistake is None and changed is not None:
        mistake = wording.changes_input(task, changed)
    return wording.failed(task, wording.smallest(list(failures.values())), mistake)


def _is_half(case: Case) -> bool:
    return bool(_float_dtypes(case) & {torch.float16, torch.bfloat16})


def _is_plain(case: Case) -> bool:
    return _float_dtypes(case) <= {torch.float32}


def _float_dtypes(case: Case) -> set[torch.dtype]:
    tensors = named_tensors(case.args).values()
    return {tensor.dtype for tensor in tensors if tensor.is_floating_point()}


def _recognize(
    tried: Trial, outcomes: list[Outcome], failures: Container[int], among: Sequence[int]
) -> tuple[str, str] | None:
    """Find the known mistake that gives the same results as the answer on all of some inputs.

    At least one wrong result must be shared, or an error to the word: two answers that only fail
    on the same inputs prove nothing.
    """
    for m, mistake in enumerate(tried.task.mistakes):
        shared = False
        for i in among:
            case, got = tried.cases[i], outcomes[i]
            theirs = tried.mistaken(m, i)
            if not alike(theirs, got, case.tolerance):
                break
            if got.error is not None:
                shared |= theirs.error is not None and theirs.error.text == got.error.text
            elif i in failures and got.is_sequence == theirs.is_sequence:
                shared = True
        else:
            if shared:
                return mistake.id, mistake.question
    return None


def alike(a: Outcome, b: Outcome, tolerance: float | None) -> bool:
    """Say whether two answers, right or wrong, did the same on one input."""
    if a.error or b.error:
        return bool(a.error and b.error and a.error.kind == b.error.kind)
    if len(a.values) != len(b.values):
        return False
    return all(same_value(x, y, tolerance) for x, y in zip(a.values, b.values, strict=True))


def same_value(x: Any, y: Any, tolerance: float | None) -> bool:
    """Say whether two results, right or wrong, are the same."""
    if not isinstance(x, Tensor) or not isinstance(y, Tensor):
        if isinstance(x, float) and isinstance(y, float):
            return math.isclose(x, y, rel_tol=1e-4) or (math.isnan(x) and math.isnan(y))
        return type(x) is type(y) and (x == y or not isinstance(x, int | str))
    if x.is_nested or y.is_nested:  # they have no shape
        return x.is_nested and y.is_nested
    if (x.shape, x.dtype, x.device, x.layout) != (y.shape, y.dtype, y.device, y.layout):
        return False
    if x.layout != torch.strided or x.device.type == "meta":
        return True
    if not x.isfinite().all() and not y.isfinite().all():
        return True  # nan and inf travel differently through equivalent code
    return bool(agreeing(x, y, tolerance).all())
