"""Grade many submissions at once: on the cores of this machine, or on a dask cluster.

Both do the same: a few submissions are under way at a time, and results come as they are ready. What
a dying process takes with it is graded again; whatever dies twice is named and left to a human.
"""

import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import connection, forkserver
from pathlib import Path
from typing import Any

import torch

from attn_lib.grading.confine import JUDGE_MEMORY, limit
from attn_lib.grading.grade import Report
from attn_lib.grading.keep import course_version
from attn_lib.grading.sandbox import NoRoom, NoSandbox

CONNECT_SECONDS = 20
PATIENCE = 60  # seconds, until the machine can start a process again
IN_A_ROW = (
    3  # sandboxes that do not start, and no submission is graded meanwhile: then none will
)
ENDED = (
    "The judge's own process was ended twice while it graded this: by it, by a lack of memory, or from "
    "outside."
)
KILLED = "Grading it ended several workers of the cluster."
OTHER = "a worker has another version of the course, or of torch"
_one_at_a_time = threading.Lock()


class OtherVersion(RuntimeError):
    """A worker has another version of the course."""


@dataclass(frozen=True)
class Job:
    """One submission to grade, known by its bytes and the lesson whose tasks are graded.

    Attributes:
        sha256: of its bytes.
        lesson: the number.
        paths: where the bytes are.
    """

    sha256: str
    lesson: int
    paths: tuple[Path, ...] = field(default=(), compare=False)


Read = Callable[[Job], bytes]
Grade = Callable[[bytes, int], Report]


@dataclass(frozen=True)
class Done:
    """A graded job: a report, or why there is none."""

    job: Job
    report: Report | None = None
    failure: str = ""


def cores() -> int:
    """Return how many cores this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def task(grade: Callable[..., Report], **options: Any) -> Grade:
    """Return what a worker does with the bytes of a submission and a lesson.

    Args:
        grade: the function that grades one submission.
        options: of this function.
    """
    return partial(_work, course_version(), partial(grade, **options))


def _work(version: str, grade: Grade, data: bytes, lesson: int) -> Report:
    """Grade one submission in a worker, here or on another machine.

    Raises:
        OtherVersion: this worker would grade by other rules.
    """
    if version != course_version():
        raise OtherVersion(OTHER)
    torch.set_num_threads(1)
    # A dask worker may have several threads; what judges is made for one.
    with _one_at_a_time:
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return grade(data, lesson)
            except (NoRoom, BlockingIOError):
                if time.monotonic() > end:
                    raise
                time.sleep(1)


def _failed(job: Job, error: Exception) -> Done:
    """Say of a job that it failed here; raise the error if every other one would fail, too."""
    if isinstance(error, OtherVersion):
        raise error
    if type(error).__name__ == "KilledWorker":  # dask's, which may not be installed
        return Done(job, failure=KILLED)
    text = f"{type(error).__name__}: {error}"[:200]
    said = f"Grading it failed here, which is no fault of the learner's: {text}"
    return Done(job, failure=said)


def _graded(
    jobs: Iterable[Job],
    read: Read,
    submit: Callable[[bytes, int], Future],
    room: Callable[[], int],
) -> Iterator[Done]:
    """Keep jobs under way; yield what came of each, as it is ready.

    Args:
        jobs: what to grade.
        read: returns the bytes of a job's submission.
        submit: begins to grade the bytes, for a lesson.
        room: returns how many jobs may be under way.
    """
    # Lesson by lesson: a process keeps what it has prepared for one.
    waiting = deque(sorted(jobs, key=lambda job: job.lesson))
    running: dict[Future, Job] = {}
    ended: set[Job] = set()
    not_started = 0  # sandboxes, since one did
    while waiting or running:
        while waiting and len(running) < room():
            job = waiting.popleft()
            try:
                data = read(job)
            except OSError as error:
                yield _failed(job, error)
            else:
                running[submit(data, job.lesson)] = job
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            job = running.pop(future)
            try:
                done, not_started = Done(job, future.result()), 0
            except BrokenProcessPool:  # its process has died
                if job not in ended:
                    ended.add(job)
                    waiting.append(job)
                    continue
                done = Done(job, failure=ENDED)
            except CancelledError as error:
                raise ConnectionError("the connection to the cluster was lost") from error
            except Exception as error:
                not_started += isinstance(error, NoSandbox)
                if not_started == IN_A_ROW:
                    raise
                done = _failed(job, error)
            yield done


def on_this_machine(
    jobs: Iterable[Job], read: Read, grade: Grade, *, processes: int, folder: Path
) -> Iterator[Done]:
    """Grade jobs in processes of this machine, whose temporary files go to a folder.

    See `_graded` for `jobs` and `read`; `grade` comes from `task`.

    Raises:
        NoSandbox: sandboxes do not start, one after another.
    """
    context = multiprocessing.get_context("forkserver")  # it imports torch once
    context.set_forkserver_preload([__name__])
    _start_fork_server()
    theirs, life = context.Pipe(duplex=False)

    def start() -> ProcessPoolExecutor:
        return ProcessPoolExecutor(1, context, _begin, (theirs, str(folder)))

    # Of one process each, so that one that dies takes no other's work with it.
    pools = [start() for _ in range(processes)]
    last: list[Future | None] = [None] * processes

    def submit(data: bytes, lesson: int) -> Future:
        free = next(n for n, future in enumerate(last) if not future or future.done())
        try:
            future = pools[free].submit(grade, data, lesson)
        except BrokenProcessPool:
            pools[free] = start()
            future = pools[free].submit(grade, data, lesson)
        last[free] = future
        return future

    try:
        yield from _graded(jobs, read, submit, lambda: processes)
    finally:  # interrupted, what is under way is not awaited
        life.close()
        for pool in pools:
            pool.shutdown()
        theirs.close()


def _start_fork_server() -> None:
    """Start the process that workers are forks of, so that Ctrl-C is for its parent only."""
    in_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if in_main else None
    forkserver.ensure_running()
    if in_main:
        signal.signal(signal.SIGINT, before)


def _begin(life: connection.Connection, folder: str) -> None:
    """Prepare a process: Ctrl-C is for the parent, and when that closes `life`, or ends, this ends too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    tempfile.tempdir = folder
    limit(resource.RLIMIT_AS, JUDGE_MEMORY)
    threading.Thread(target=_end_with, args=(life,), daemon=True).start()


def _end_with(life: connection.Connection) -> None:
    life.poll(None)
    os._exit(1)


def on_cluster(
    jobs: Iterable[Job], read: Read, grade: Grade, *, address: str
) -> Iterator[Done]:
    """Grade jobs on a running dask cluster with its scheduler at "tcp://host:8786".

    dask itself gives the work of a lost worker to another one, and gives a job up that has been lost
    with several. See `_graded` for `jobs` and `read`; `grade` comes from `task`.

    Raises:
        ImportError: dask.distributed is not installed.
        OSError: nobody answers at the address, or the cluster is gone.
        NoSandbox: sandboxes do not start, one after another.
        OtherVersion: a worker would grade by other rules.
    """
    from distributed import Client

    with Client(address, timeout=CONNECT_SECONDS, set_as_default=False) as client:
        client.wait_for_workers(1, timeout=3 * CONNECT_SECONDS)
        try:
            versions = {*client.run(course_version).values()}
        except ImportError as error:
            raise OtherVersion(f"a worker does not have the course: {error}") from error
        if versions != {course_version()}:
            raise OtherVersion(OTHER)
        submit = partial(client.get_executor(pure=False).submit, grade)

        def room() -> int:
            return max(2, 2 * sum(client.ncores().values()))

        yield from _graded(jobs, read, submit, room)
