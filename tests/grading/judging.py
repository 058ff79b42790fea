"""Submissions of a few cells, judged in the sandbox, or beside it."""

from attn_lib.checks.task import find_task
from attn_lib.grading.grade import worth_points
from attn_lib.grading.submission_judge import Judge


def judged(*cells, lesson=1, seed=7, unsafe=False):
    """Return the verdict on each task of a lesson."""
    with Judge(list(cells), lesson, seed=seed, unsafe=unsafe) as judge:
        return {task.name: judge.verdict(task) for task in worth_points(lesson)}


def verdict_on(name, *cells):
    """Return the verdict on one task."""
    task = find_task(name)
    with Judge(list(cells), task.lesson, seed=7) as judge:
        return judge.verdict(task)
