"""Judge what values do not show, where they are right: inputs left alone, gradients flowing."""

from collections.abc import Callable
from dataclasses import replace

from torch import Tensor

from attn_lib.checks import wording
from attn_lib.checks.again import called_again
from attn_lib.checks.case import Case
from attn_lib.checks.compare import GRADIENT_TOLERANCE, PLAIN, Difference, agreeing
from attn_lib.checks.observe import Outcome, Raised
from attn_lib.checks.pattern import NEARLY
from attn_lib.checks.raised import question_about
from attn_lib.checks.recognize import is_half
from attn_lib.checks.task import Task
from attn_lib.checks.trial import Trial
from attn_lib.checks.verdict import Verdict

HALF_TOLERANCE = 0.5  # of the largest gradient of all: roundings add up
OTHERWISE = (
    "other-values-with-gradients",
    "Which line of yours asks whether its input needs gradients, or does something else then?",
)

# observed(case, gradients): what an answer does on the case of that number, wherever it runs.
Observed = Callable[[int, bool], Outcome]


def judge_inputs_and_gradients(
    tried: Trial, observed: Observed, outcomes: list[Outcome]
) -> Verdict:
    """Pass the answer, or say which argument it changed or which gradient is missing or wrong."""
    task = tried.task
    for case, outcome in zip(tried.cases, outcomes, strict=True):
        if outcome.changed:
            found = Difference("The values are right, but an argument has changed.")
            mistake = wording.changes_input(task, outcome.changed[0])
            return wording.failed(task, wording.Failure(case, outcome, found), mistake)
    failures, is_rounded = [], True
    any_gradient = any(case.grad for case in tried.cases)
    for i, case in enumerate(tried.cases):
        flows_only = any_gradient and not case.grad and is_half(case)
        if not case.grad and not flows_only:
            continue
        got = observed(i, True)
        if got.interrupted:
            return wording.interrupted(task, case)
        if flows_only and got.error and (outcomes[i].error or _is_lacking(got.error)):
            continue  # an error without gradients, too, is judged by the values
        if got.changed:
            found = Difference(
                "The values are right. With inputs that ask for gradients, an argument has changed."
            )
            mistake = wording.changes_input(task, got.changed[0])
            return wording.failed(task, wording.Failure(case, got, found), mistake)
        want = tried.expected(i, gradients=True)
        difference = _gradient_difference(task, case, want, got, flows_only)
        if got.error is None and (other := wording.difference(task, case, want, got)):
            text = f"The values are right. With inputs that ask for gradients, they are others. {other.text}"
            difference = replace(other, say=text)
            return wording.failed(task, wording.Failure(case, got, difference), OTHERWISE)
        if difference:
            failures.append(wording.Failure(case, got, difference))
            is_rounded = is_rounded and _is_rounded(want, got)
    if not failures:
        return Verdict(task.name, "passed", points=task.points, max_points=task.points)
    failure = min(failures, key=wording.is_harder)
    if all(failure.case.run is called_again for failure in failures):
        return wording.failed(task, failure, wording.CALLED_AGAIN)
    return wording.failed(
        task, failure, NEARLY if is_rounded else _mistake(failure.outcome)
    )


def _is_rounded(want: Outcome, got: Outcome) -> bool:
    """Say whether all gradients are there, and nearly right."""
    if got.error is not None:
        return False
    for name, right in want.gradients.items():
        mine = got.gradients.get(name)
        if right is None or not right.numel():
            continue
        if mine is None or mine.shape != right.shape or not _is_finite(mine):
            return False
        gap = (right.double() - mine.double()).abs().max()
        if gap > PLAIN * right.double().abs().max():
            return False
    return True


def _mistake(outcome: Outcome) -> tuple[str, str] | None:
    """Return the mistake behind an error or a gradient: missing or finite and wrong, it was cut off."""
    if outcome.error is not None:
        error = outcome.error
        return question_about(error) or wording.OF_KIND.get(error.kind)
    finite = all(g is None or _is_finite(g) for g in outcome.gradients.values())
    return wording.NO_GRADIENT if finite else wording.NAN_GRADIENT


def _is_finite(gradient: Tensor) -> bool:
    return not gradient.is_floating_point() or bool(gradient.double().isfinite().all())


def _is_lacking(error: Raised) -> bool:
    """Say whether PyTorch has no way back for a dtype: in half precision, values must do then."""
    return "not implemented for" in error.text


def _is_another(right: Tensor, mine: Tensor, scale: float) -> bool:
    """Say whether a gradient in half precision is another one, and not the same with other roundings."""
    if not _is_finite(right):
        return False
    return bool(((right.double() - mine.double()).abs() > HALF_TOLERANCE * scale).any())


def _gradient_difference(
    task: Task, case: Case, want: Outcome, got: Outcome, flows_only: bool = False
) -> Difference | None:
    if got.error is not None and got.error.is_wrong:
        return Difference(f"The values are right. {got.error.text}")
    if got.error is not None:
        return Difference(
            "The values are right, but with inputs that need gradients it raised "
            + got.error.explanation
        )
    real = {name: g for name, g in want.gradients.items() if g is not None}
    # Where the softmax is saturated, all gradients are rounding errors: nothing below 1e-3 counts.
    scale = max([1e-3, *(g.abs().max().item() for g in real.values() if g.numel())])
    for name, gradient in real.items():
        mine = got.gradients.get(name)
        label = wording.argument_name(task, name)
        if mine is None:
            # A key bias has no influence at all: its missing gradient is not a mistake.
            if not (gradient.abs() > GRADIENT_TOLERANCE * scale).any():
                continue
            return Difference(f"The values are right, but no gradient reaches `{label}`.")
        # From another process, it can have any shape: an empty one would agree with everything.
        alike = mine.shape == gradient.shape and mine.dtype == gradient.dtype
        if flows_only and alike:
            is_lost = gradient.any() and not mine.any()
            is_broken = _is_finite(gradient) and not _is_finite(mine)
            if not is_lost and not is_broken and not _is_another(gradient, mine, scale):
                continue
        tolerance = case.tolerance or GRADIENT_TOLERANCE
        if not alike or not agreeing(gradient, mine, tolerance, scale).all():
            bad = "is wrong" if _is_finite(mine) else "has nan or inf in it"
            return Difference(f"The values are right, but the gradient of `{label}` {bad}.")
    return None
