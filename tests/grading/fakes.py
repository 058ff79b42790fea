"""Stand-ins for `grade_submission` that a test can send to other processes."""

import errno
import os
import signal
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from attn_lib.grading.confine import JUDGE_MEMORY
from attn_lib.grading.grade import Report, TaskResult, worth_points
from attn_lib.grading.sandbox import NoRoom, NoSandbox
from attn_lib.grading.workers import _begin


def full_marks(data: bytes, lesson: int, *, seed: int = 0, **_: bool) -> Report:
    """Give every point."""
    results = (
        TaskResult(t.name, "passed", t.points, t.points) for t in worth_points(lesson)
    )
    return Report(lesson, seed, "", tuple(results))


def as_told(data: bytes, lesson: int, *, seed: int = 0, **_: bool) -> Report:
    """Do what the submission says: die, die once, fail, find no sandbox, or take its time."""
    for line in data.decode().split("# ")[1:]:
        order, _, rest = line.partition(" ")
        if order == "die" or (order == "die-once" and not _seen(rest)):
            os.kill(os.getpid(), signal.SIGKILL)
        if order == "fail":
            raise OSError("no space left")
        if order == "no-sandbox":
            raise NoSandbox("it does not start")
        if order == "no-room-once" and not _seen(rest):
            raise NoRoom("it does not start just now")
        if order == "no-fork-once" and not _seen(rest):
            raise BlockingIOError(errno.EAGAIN, "it cannot be started just now")
        if order == "slow":
            time.sleep(0.3)
    return full_marks(data, lesson, seed=seed)


def begin_as_told(life: Connection, folder: str) -> None:
    """Die as often as there are files that say so, while a process starts."""
    for order in Path(folder).parent.parent.glob("die-at-start-*"):
        order.unlink(missing_ok=True)
        os.kill(os.getpid(), signal.SIGKILL)
    _begin(life, folder)


def surroundings(data: bytes, lesson: int, *, seed: int = 0, **_: bool) -> Any:
    """Return where temporary files go, what Ctrl-C does, and the number of the process."""
    return tempfile.gettempdir(), signal.getsignal(signal.SIGINT), os.getpid()


def greedy(data: bytes, lesson: int, *, seed: int = 0, **_: bool) -> Report:
    """Ask for more memory than a judge may have, and give full marks if it gets it."""
    del bytearray(2 * JUDGE_MEMORY)[:]  # never touched: without a limit it costs nothing
    return full_marks(data, lesson, seed=seed)


def never(data: bytes, lesson: int, *, seed: int = 0, **_: bool) -> Report:
    """Fail: nothing was to be graded."""
    raise AssertionError("graded again")


def _seen(rest: str) -> bool:
    flag = Path(rest.split()[0])
    try:
        flag.touch(exist_ok=False)
    except FileExistsError:
        return True
    return False
