"""The mistakes are the test of the checker, and the rows are the source of the tests.

Every run takes one seed and, of the ways to make a mistake, the first: all of them take a third of the
suite. `make deep` takes all with twenty seeds, all machine-made mutants and many pairs of rows. `make quick`
leaves most of it out: after a change to a task, run these tests for it (`make deep TASKS=name`).
"""

import inspect
import random
import re
from itertools import chain

import pytest

from attn_lib.checks import judge, tasks
from attn_lib.checks.mistakes import known
from attn_lib.checks.recognize import alike
from attn_lib.checks.task import find_task
from attn_lib.checks.trial import trial_of
from tests.checks.answers import answers_to, named
from tests.checks.mutants import accepted

NAMES = [task.name for task in tasks()]
every_task = pytest.mark.parametrize("name", NAMES)


@every_task
def test_the_reference_and_the_library_pass(name, seeds):
    task = find_task(name)
    for answer in (task.reference, task.library, *task.others):
        for seed in seeds:
            verdict = judge(name, answer, seed=seed)
            assert verdict.status == "passed", str(verdict)
            assert verdict.points == task.points


@pytest.mark.slow
@every_task
def test_every_mistake_is_rejected_and_recognized_as_itself(name, seeds, deep):
    mistakes = known(name).mistakes
    if find_task(name).score:
        seeds = seeds[:4]  # there, they give the order of the implementations
    first = {mistake.id: number for number, mistake in reversed([*enumerate(mistakes)])}
    for number in range(len(mistakes)) if deep else sorted(first.values()):
        mistake = mistakes[number]
        for seed in seeds:
            verdict = judge(name, known(name).answer(number), seed=seed)
            what = f"{mistake.id} {mistake.lines or mistake.answer}, seed {seed}"
            assert verdict.status in ("wrong", "error"), f"{what} is accepted"
            assert verdict.mistake == mistake.id, f"{what} is taken for {verdict.mistake}"
            # All or nothing, if the task is not scored in steps.
            assert (
                verdict.points < find_task(name).points
                if find_task(name).score
                else not verdict.points
            )
            assert verdict.question in {m.question for m in mistakes if m.id == mistake.id}


@pytest.mark.slow
@every_task
def test_right_answers_pass_however_they_are_written(name, seeds, deep):
    answers = answers_to(name)
    for seed in seeds[:2]:
        for spelled, answer in answers.combinations(100 if deep else 5):
            verdict = judge(name, answer, seed=seed)
            assert verdict.status == "passed", (seed, spelled, str(verdict))
    for seed in seeds:
        for answer in answers.rights:
            verdict = judge(name, answer, seed=seed)
            assert verdict.status == "passed", (seed, answer, str(verdict))


@pytest.mark.slow
@every_task
def test_wrong_answers_that_no_row_makes_are_rejected(name, seeds, without_search):
    for answer in answers_to(name).wrongs:
        for seed in seeds:
            verdict = judge(name, answer, seed=seed)
            assert verdict.status in ("wrong", "error"), (seed, answer)
            # Rejected for what it is, not for a slip of ours in writing it.
            assert "NameError" not in verdict.message, (answer, verdict.message)
            assert "AttributeError" not in verdict.message, (answer, verdict.message)


@every_task
def test_machine_made_mutants_are_rejected(name, deep, without_search):
    if not deep:
        pytest.skip("in the deep run")
    if find_task(name).score:
        pytest.skip("a mutant of a test is often as good a test")
    assert accepted(name) == []


@pytest.mark.slow
@every_task
def test_two_mistakes_in_one_answer_are_named(name, deep, pytestconfig):
    """Most pairs are named, hardly one is taken for something else, and none is accepted."""
    if find_task(name).score:
        pytest.skip(
            "scored in steps: a verdict counts what is missed, by kinds, and names no pairs"
        )
    mine = known(name)
    numbers = range(len(mine.mistakes))
    pairs = [(a, b) for a in numbers for b in range(a) if mine.compose(a, b)]
    every = pytestconfig.getoption("deep") == "all"
    most = len(pairs) if every else 150 if deep else 3
    pairs = random.Random(name).sample(pairs, min(len(pairs), most))
    named_one, others = 0, []
    for pair in pairs:
        verdict = judge(name, mine.answer(*pair))
        ids = {mine.mistakes[number].id for number in pair}
        is_hedged = verdict.question.startswith("On this input")
        if verdict.status == "passed":  # two that cancel are a right answer
            assert _is_right(name, pair), pair
        elif is_hedged and verdict.mistake not in ids:
            others.append((ids, verdict.mistake))
        elif verdict.mistake is not None:  # one of them, or what it is on every input
            named_one += 1
    if deep and pairs:
        assert named_one >= 0.85 * len(pairs), (named_one, len(pairs))
        assert len(others) <= 0.04 * len(pairs), others


def _is_right(name, numbers):
    """Say whether some rows together do what the reference does, on the cases of ten other seeds."""
    trials = (trial_of(name, seed) for seed in range(50, 60))
    return all(
        alike(tried.mistaken(numbers, i), tried.expected(i), case.tolerance)
        for tried in trials
        for i, case in enumerate(tried.cases)
    )


@every_task
def test_tasks_are_complete(name):
    task, answers = find_task(name), answers_to(name)
    assert len(task.hints) == 3
    ids = {mistake.id for mistake in known(name).mistakes}
    assert len(ids) >= (6 if task.points else 4)
    assert sum(map(len, answers.spelled.values())) + len(answers.rights) >= 5
    assert answers.wrongs
    assert task.signature.startswith((name, f"class {name}"))


def test_every_task_has_answers_and_no_others_do():
    assert named() == sorted(name for name in NAMES if not find_task(name).repairs)


@every_task
def test_no_hint_holds_a_line_of_the_answer(name):
    task = find_task(name)
    source = inspect.getsource(task.reference) if inspect.isroutine(task.reference) else ""
    lines = [line.partition(" = ")[2] or line for line in source.splitlines()]
    spelled = answers_to(name).spelled.values()
    said = {"".join(line.split()) for line in [*lines, *chain(*spelled)]}
    for text in task.hints:
        for code in re.findall("`([^`]+)`", text):
            assert len(code) <= 24 or "".join(code.split()) not in said, code
