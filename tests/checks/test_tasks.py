"""The mistakes are the test of the checker: 20 seeds, every task, every known answer."""

import pytest

from attn_lib.checks import judge, tasks
from attn_lib.checks.task import find_task
from tests.checks.alternatives import ALTERNATIVES

SEEDS = range(20)
MISTAKES = [(task.name, mistake) for task in tasks() for mistake in task.mistakes]
RIGHT = [(name, answer) for name, answers in ALTERNATIVES.items() for answer in answers]


@pytest.mark.parametrize("task", tasks(), ids=lambda task: task.name)
def test_reference_passes_for_every_seed(task):
    for seed in SEEDS:
        verdict = judge(task.name, task.reference, seed=seed)
        assert verdict.status == "passed", str(verdict)
        assert verdict.points == task.points


@pytest.mark.parametrize(
    ("name", "mistake"),
    MISTAKES,
    ids=[f"{name}-{mistake.id}" for name, mistake in MISTAKES],
)
def test_every_mistake_is_recognized_as_itself_for_every_seed(name, mistake):
    for seed in SEEDS:
        verdict = judge(name, mistake.answer, seed=seed)
        assert verdict.status in ("wrong", "error"), (seed, str(verdict))
        assert verdict.mistake == mistake.id, (seed, str(verdict))
        assert verdict.points == 0
        assert mistake.question in verdict.message


@pytest.mark.parametrize(
    ("name", "answer"),
    RIGHT,
    ids=[f"{name}-{getattr(a, '__name__', type(a).__name__)}" for name, a in RIGHT],
)
def test_every_right_answer_passes_for_every_seed(name, answer):
    for seed in SEEDS:
        verdict = judge(name, answer, seed=seed)
        assert verdict.status == "passed", (seed, str(verdict))


@pytest.mark.parametrize("task", tasks(), ids=lambda task: task.name)
def test_tasks_are_complete(task):
    assert len(task.hints) == 3
    assert len({mistake.id for mistake in task.mistakes}) >= (6 if task.points else 4)
    assert len(ALTERNATIVES[task.name]) >= (6 if task.points else 3)
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
