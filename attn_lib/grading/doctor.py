"""Check that grading works on this machine."""

import importlib.metadata
import platform
import sys
from collections.abc import Iterator

import torch

from attn_lib.checks import tasks
from attn_lib.grading.confine import CPU, JUDGE_MEMORY, MEMORY
from attn_lib.grading.grade import grade_submission
from attn_lib.grading.release import ROOT
from attn_lib.grading.sandbox import NoSandbox, check_sandbox, keeps_fork_server

Finding = tuple[bool, str]


def examine(lessons: list[int] | None = None, *, unsafe: bool = False) -> Iterator[Finding]:
    """Yield, one by one, whether something is as it should be, and what it is.

    Args:
        lessons: those whose solution and exercise are graded; all if empty.
        unsafe: without the sandbox.
    """
    fits = (3, 11) <= sys.version_info < (3, 14)
    needed = "" if fits else ": 3.11 to 3.13 is needed"
    yield fits, f"Python {platform.python_version()}{needed}"
    yield _torch()
    if unsafe:
        yield True, "bubblewrap is not asked for (--unsafe)"
    else:
        try:
            check_sandbox()
        except (NoSandbox, OSError) as error:
            yield False, str(error)
            yield False, "the solutions were not graded, for want of a sandbox"
            return
        yield True, "bubblewrap keeps submissions in"
        yield (
            True,
            (
                f"a submission is one process, and may have {MEMORY >> 30} GB of addresses (torch takes 3) and {CPU} s of "
                f"the processor; a judge {JUDGE_MEMORY >> 30} GB: the system's own limits, no cgroup is needed"
            ),
        )
    for lesson in lessons or sorted({task.lesson for task in tasks() if task.points}):
        yield _graded("solutions", lesson, unsafe)
        yield _graded("exercises", lesson, unsafe)
    if not unsafe and keeps_fork_server():
        yield True, "submissions start quickly: they are forks of one process"
    elif not unsafe:
        slow = "each submission takes some seconds to start"
        yield True, f"{slow}: the kernel allows no namespaces in bubblewrap"


def _torch() -> Finding:
    """Compare torch with the version that the course pins."""
    try:
        pins = importlib.metadata.requires("attention-from-scratch") or []
    except importlib.metadata.PackageNotFoundError:
        pins = []  # used without being installed
    wanted = next((pin[7:] for pin in pins if pin.startswith("torch==")), "")
    version = torch.__version__.partition("+")[0]
    fits = version == wanted or not wanted
    return fits, f"torch {version}" + ("" if fits else f": the course needs {wanted}")


def _graded(kind: str, lesson: int, unsafe: bool) -> Finding:
    """Grade a solution or an exercise of ours, and say whether it got what it should get."""
    found = sorted(ROOT.glob(f"{kind}/{lesson:02}_*/{lesson:02}_*.ipynb"))
    if not found:
        missing = f"nothing in {kind}/ (run this in a clone of the course)"
        return False, f"lesson {lesson:02}: {missing}"
    report = grade_submission(found[0].read_bytes(), lesson, seed=1, unsafe=unsafe)
    wanted = report.max_points if kind == "solutions" else 0
    what = "the solution" if kind == "solutions" else "the untouched exercise"
    text = (
        f"lesson {lesson:02}: {what} gets {report.points:g} of {report.max_points:g} points"
    )
    if report.points == wanted and not report.problem:
        return True, text
    lost = [task for task in report.tasks if task.points != task.max_points]
    why = report.problem or "has somebody worked in it?"
    if lost and wanted and not report.problem:
        why = f"{lost[0].name}: {lost[0].message}"
    return False, f"{text}, not {wanted:g}. {why}"
