"""Check an answer, get a hint, see your progress: what the exercises use.

from attn_lib.checks import check, drill, hint, progress, judge, tasks, mine, language
"""

import attn_lib.tasks  # noqa: F401 - it makes the tasks known
from attn_lib.checks.commands import check, grade, hint, language, mine, progress
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
    "language",
    "mine",
    "progress",
    "tasks",
]
