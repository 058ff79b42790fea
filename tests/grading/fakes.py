"""Stand-ins for `grade_submission` that a test can send to other processes."""

import os
import signal
import time
from pathlib import Path

from attn_lib.grading.grade import Report, TaskResult, worth_points


def full_marks(data: bytes, lesson: int, *, seed: int, unsafe: bool = False) -> Report:
    """Give every point."""
    results = (
        TaskResult(t.name, "passed", t.points, t.points) for t in worth_points(lesson)
    )
    return Report(lesson, seed, "", tuple(results))


def as_told(data: bytes, lesson: int, *, seed: int, unsafe: bool = False) -> Report:
    """Do what the submission says: die, die once, be deaf to SIGTERM once, fail, or take its time."""
    for line in data.decode().split("# ")[1:]:
        order, _, rest = line.partition(" ")
        if order == "die" or (order == "die-once" and not _seen(rest)):
            os.kill(os.getpid(), signal.SIGKILL)
        if order == "deaf-once" and not _seen(rest):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(60)
        if order == "fail":
            raise OSError("no space left")
        if order == "slow":
            time.sleep(0.3)
    return full_marks(data, lesson, seed=seed)


def begin_as_told(folder: str) -> None:
    """Die as often as there are files that say so, while a process starts."""
    for order in Path(folder).parent.parent.glob("die-at-start-*"):
        order.unlink(missing_ok=True)
        os.kill(os.getpid(), signal.SIGKILL)


def never(data: bytes, lesson: int, *, seed: int, unsafe: bool = False) -> Report:
    """Fail: nothing was to be graded."""
    raise AssertionError("graded again")


def _seen(rest: str) -> bool:
    flag = Path(rest.split()[0])
    try:
        flag.touch(exist_ok=False)
    except FileExistsError:
        return True
    return False
