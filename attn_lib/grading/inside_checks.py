"""Quiet stand-ins for the checks: `from attn_lib.checks import ...` inside the sandbox.

Copied there as `attn_lib/checks/__init__.py`. The judge is outside; here a check says nothing, and
`mine` gives the library's answers to the tasks of earlier lessons.
"""

import contextlib
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

_QUIET = SimpleNamespace(
    status="not attempted", points=0, inputs={}, message="", mistake=None
)


def check(*args: Any, **options: Any) -> Any:
    """Say nothing: the answer is judged later."""
    return _QUIET


def hint(*args: Any, **options: Any) -> None:
    """Say nothing."""


def grade(*args: Any, **options: Any) -> float:
    """Give nothing: points are given outside."""
    return 0.0


def tasks() -> list:
    """Return nothing: the tasks are outside."""
    return []


judge, progress, drill, language = check, hint, hint, hint


def mine(name: str) -> Any:
    """Return the library's answer to a task of an earlier lesson.

    Raises:
        ValueError: it is not here: a task of this lesson, or one whose answer would give one away.
    """
    from attn_lib.checks.task import find_task

    for path in sorted(Path(__file__).parents[1].glob("tasks/lesson_*/*.py")):
        # It may need what is asked for here.
        with contextlib.suppress(ImportError, AttributeError):
            import_module(f"attn_lib.tasks.{path.parent.name}.{path.stem}")
    return find_task(name).reference
