"""The mistakes are the test of the checker: 20 seeds, every task, every known answer."""

import pytest

from attn_lib.checks import judge, tasks
from attn_lib.checks.judge import judge_observed
from attn_lib.checks.observe import observe
from attn_lib.checks.task import find_task
from attn_lib.checks.trial import trial_of
from tests.checks.alternatives import ALTERNATIVES
from tests.checks.unlisted import UNLISTED

# Twenty seeds in all; two of them are enough for `make quick`.
with_seeds = pytest.mark.parametrize(
    "seeds",
    [range(2), pytest.param(range(2, 20), marks=pytest.mark.slow)],
    ids=["2 seeds", "18 more"],
)
MISTAKES = [
    (task.name, number, mistake)
    for task in tasks()
    for number, mistake in enumerate(task.mistakes)
]
RIGHT = [(name, answer) for name, answers in ALTERNATIVES.items() for answer in answers]


@with_seeds
@pytest.mark.parametrize("task", tasks(), ids=lambda task: task.name)
def test_reference_passes_for_every_seed(task, seeds):
    for seed in seeds:
        verdict = judge(task.name, task.reference, seed=seed)
        assert verdict.status == "passed", str(verdict)
        assert verdict.points == task.points


@with_seeds
@pytest.mark.parametrize(
    ("name", "number", "mistake"),
    MISTAKES,
    ids=[f"{name}-{mistake.id}" for name, _, mistake in MISTAKES],
)
def test_every_mistake_is_recognized_as_itself_for_every_seed(name, number, mistake, seeds):
    for seed in seeds:
        tried = trial_of(name, seed)

        def observed(case, gradients, tried=tried):
            if gradients:
                return observe(mistake.answer, tried.cases[case], gradients=True)
            return tried.mistaken(
                number, case
            )  # kept: the other mistakes are compared with it

        verdict = judge_observed(tried, observed)
        assert verdict.status in ("wrong", "error"), (seed, str(verdict))
        assert verdict.mistake == mistake.id, (seed, str(verdict))
        assert verdict.points == 0
        assert mistake.question in verdict.message


@with_seeds
@pytest.mark.parametrize(
    ("name", "answer"),
    RIGHT,
    ids=[f"{name}-{getattr(a, '__name__', type(a).__name__)}" for name, a in RIGHT],
)
def test_every_right_answer_passes_for_every_seed(name, answer, seeds):
    for seed in seeds:
        verdict = judge(name, answer, seed=seed)
        assert verdict.status == "passed", (seed, str(verdict))


@pytest.mark.parametrize("name", UNLISTED)
def test_wrong_answers_that_no_list_foresaw_are_rejected(name):
    for label, answer in UNLISTED[name].items():
        for seed in range(5):
            verdict = judge(name, answer, seed=seed)
            assert verdict.status in ("wrong", "error"), (label, seed)


@pytest.mark.parametrize("task", tasks(), ids=lambda task: task.name)
def test_tasks_are_complete(task):
    assert len(task.hints) == 3
    assert len({mistake.id for mistake in task.mistakes}) >= (6 if task.points else 4)
    assert len(ALTERNATIVES[task.name]) >= (10 if task.points else 3)
    assert len(UNLISTED[task.name]) >= (10 if task.points else 3)
    assert task.signature.startswith((task.name, f"class {task.name}"))


def test_an_unknown_task_names_the_nearest():
    with pytest.raises(
        ValueError, match=r'no task named "atention".*Did you mean "attention"'
    ):
        find_task("atention")


def test_verdicts_do_not_depend_on_the_seed_alone():
    """Different seeds draw different inputs, the same seed the same."""
    task = find_task("attention")
    first, again, other = (_inputs(task, seed) for seed in (3, 3, 4))
    assert first == again
    assert first != other


def _inputs(task, seed):
    import torch

    cases = list(task.make_cases(torch.Generator().manual_seed(seed)))
    return [case.args[0].tolist() for case in cases]
