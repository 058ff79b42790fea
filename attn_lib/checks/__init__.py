"""Check an answer, get a hint, see your progress: what the exercises use.

from attn_lib.checks import check, drill, hint, progress, judge, tasks, mine
"""

from attn_lib.checks import (  # noqa: F401 - they register their tasks
    lesson_00,
    lesson_01,
    lesson_02,
    lesson_03,
    lesson_04,
    lesson_05,
    lesson_06,
    lesson_07,
    lesson_08,
    lesson_09,
    lesson_10,
    lesson_11,
    lesson_12,
    lesson_13,
    lesson_14,
)
from attn_lib.checks.commands import check, grade, hint, mine, progress
from attn_lib.checks.drill import drill
from attn_lib.checks.judge import judge
from attn_lib.checks.task import Task, tasks
from attn_lib.checks.verdict import Verdict

__all__ = [
    "Task",
    "Verdict",
    "check",
    "drill",
    "grade",
    "hint",
    "judge",
    "mine",
    "progress",
    "tasks",
]
