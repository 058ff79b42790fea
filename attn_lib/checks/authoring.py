"""The face of the checks for those who write tasks: all that a task may import of the engine."""

from attn_lib.checks.case import Case, Result, Wrong, parts, quicker
from attn_lib.checks.chance import can_be_chance, can_be_independent, repeated_too_often
from attn_lib.checks.module_runs import (
    built,
    run_module,
    run_module_in_eval,
    sharpened_parameters,
)
from attn_lib.checks.module_state import changed_in, state_of_module
from attn_lib.checks.rows import Row, Variants, table
from attn_lib.checks.say import describe
from attn_lib.checks.served import Reply, Served
from attn_lib.checks.task import Mistake, Task, find_task, repair, task

__all__ = [
    "Case",
    "Mistake",
    "Reply",
    "Result",
    "Row",
    "Served",
    "Task",
    "Variants",
    "Wrong",
    "built",
    "can_be_chance",
    "can_be_independent",
    "changed_in",
    "describe",
    "find_task",
    "parts",
    "quicker",
    "repair",
    "repeated_too_often",
    "run_module",
    "run_module_in_eval",
    "sharpened_parameters",
    "state_of_module",
    "table",
    "task",
]
