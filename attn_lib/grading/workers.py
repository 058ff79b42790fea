"""Grade many submissions at once: on the cores of this machine, or on a dask cluster.

Both do the same: a few submissions are under way at a time, and results come as they are ready. What
a dying process takes with it is graded again; whatever dies twice is named and left to a human.
"""

import contextlib
import multiprocessing
import os
import signal
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing import connection, forkserver
from pathlib import Path
from typing import Any

import torch

from attn_lib.grading.grade import Report, grade_submission
from attn_lib.grading.keep import course_version
from attn_lib.grading.sandbox import NoSandbox, check_sandbox

Grade = Callable[..., Report]
CONNECT_SECONDS = 20
ENDED = (
    "The judge's own process was ended twice while it graded this: by it, by a lack of memory, or from "
    "outside."
)
OTHER = "a worker has another version of the course, or of torch"
_one_at_a_time = threading.Lock()


class OtherVersion(RuntimeError):
    """A worker has another version of the course."""


@dataclass(frozen=True)
class Job:
    """One submission to grade.

    Attributes:
        sha256: of its bytes; what it is known by.
        path: where the bytes are.
        lesson: whose tasks are graded.
    """

    sha256: str
    path: Path
    lesson: int


@dataclass(frozen=True)
class Done:
    """A graded job: a report, or why there is none."""

    job: Job
    report: Report | None = None
    failure: str = ""


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def work(
    version: str, grade: Grade, data: bytes, lesson: int, seed: int, unsafe: bool
) -> Report:
    """Grade one submission in a worker, here or on another machine.

    Raises:
        OtherVersion: this worker would grade by other rules.
    """
    if version != course_version():
        raise OtherVersion(OTHER)
    torch.set_num_threads(1)
    # A dask worker may have several threads; what judges is made for one.
    with _one_at_a_time:
        return grade(data, lesson, seed=seed, unsafe=unsafe)


def _failed(job: Job, error: Exception) -> Done:
    """Say of a job that it failed here.

    Raises:
        NoSandbox: so would every other one.
        OtherVersion: this too.
    """
    if isinstance(error, NoSandbox | OtherVersion):
        raise error
    text = f"{type(error).__name__}: {error}"[:200]
    said = f"Grading it failed here, which is no fault of the learner's: {text}"
    return Done(job, failure=said)


# ---------------------------------------------------------------------------- this machine


def on_this_machine(
    jobs: Iterable[Job],
    read: Callable[[Job], bytes],
    *,
    seed: int,
    unsafe: bool,
    processes: int,
    folder: Path,
    grade: Grade = grade_submission,
) -> Iterator[Done]:
    """Grade jobs in processes of this machine; yield what came of each, as it is ready.

    Args:
        jobs: what to grade.
        read: returns the bytes of a job's submission.
        seed: of the inputs.
        unsafe: without the sandbox.
        processes: how many.
        folder: for the processes' temporary files.
        grade: the function that grades one.

    Raises:
        NoSandbox: bubblewrap does not work.
    """
    # Lesson by lesson: a process keeps what it has prepared for one.
    waiting = deque((job, False) for job in sorted(jobs, key=lambda job: job.lesson))
    idle = [Worker(folder) for _ in range(processes)]
    busy: dict[Any, tuple[Worker, Job, bool]] = {}
    try:
        while waiting or busy:
            while waiting and idle:
                job, again = waiting.popleft()
                try:
                    data = read(job)
                except OSError as error:
                    yield _failed(job, error)
                    continue
                worker = idle.pop()
                worker.ask(course_version(), grade, data, job.lesson, seed, unsafe)
                busy[worker.channel] = worker, job, again
            for channel in connection.wait(busy) if busy else ():
                worker, job, again = busy.pop(channel)
                try:
                    said = worker.channel.recv()
                except (EOFError, OSError):  # its process has died
                    worker.end()
                    idle.append(Worker(folder))
                    if again:
                        yield Done(job, failure=ENDED)
                    else:
                        waiting.append((job, True))
                    continue
                idle.append(worker)
                if isinstance(said, Exception):
                    yield _failed(job, said)
                else:
                    yield Done(job, said)
    finally:  # interrupted, what is under way is not awaited
        for worker in (*idle, *(worker for worker, _, _ in busy.values())):
            worker.end()


class Worker:
    """A process of this machine that grades one submission after another.

    Attributes:
        channel: to it; what it answers is a report or an error.
    """

    def __init__(self, folder: Path):
        context = multiprocessing.get_context("forkserver")  # it imports torch once
        context.set_forkserver_preload([__name__])
        _start_fork_server()
        self.channel, theirs = context.Pipe()
        given = theirs, str(folder)
        self._process = context.Process(target=_answer, args=given, daemon=True)
        self._process.start()
        theirs.close()  # so that the death of the process is the end of the channel

    def ask(self, *request: Any) -> None:
        """Send the arguments of `work`; if the process is gone, the channel says so."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.channel.send(request)

    def end(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.join()
        self.channel.close()


def _start_fork_server() -> None:
    """Start the process that workers are forks of, so that Ctrl-C is for its parent only."""
    in_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if in_main else None
    forkserver.ensure_running()
    if in_main:
        signal.signal(signal.SIGINT, before)


def _answer(channel: connection.Connection, folder: str) -> None:
    """Grade what comes; Ctrl-C is for the parent, without which this process ends too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    tempfile.tempdir = folder
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        request = channel.recv()
        try:
            channel.send(work(*request))
        except Exception as error:
            channel.send(error)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent
    parent.join()
    os._exit(1)


# ------------------------------------------------------------------------------- a cluster


def on_cluster(
    jobs: Iterable[Job],
    read: Callable[[Job], bytes],
    *,
    seed: int,
    unsafe: bool,
    address: str,
    grade: Grade = grade_submission,
) -> Iterator[Done]:
    """Grade jobs on a running dask cluster; yield what came of each, as it is ready.

    dask itself gives the work of a lost worker to another one, and gives a job up that has been lost
    with several.

    Args:
        jobs: what to grade.
        read: returns the bytes of a job's submission.
        seed: of the inputs.
        unsafe: without the sandbox.
        address: of the scheduler: "tcp://host:8786".
        grade: the function that grades one.

    Raises:
        ImportError: dask.distributed is not installed.
        OSError: nobody answers at the address, or the cluster is gone.
        NoSandbox: bubblewrap does not work on a worker.
        OtherVersion: a worker would grade by other rules.
    """
    from distributed import Client, as_completed
    from distributed.client import FutureCancelledError
    from distributed.scheduler import KilledWorker

    queue = deque(sorted(jobs, key=lambda job: job.lesson))
    with Client(address, timeout=CONNECT_SECONDS, set_as_default=False) as client:
        client.wait_for_workers(1, timeout=3 * CONNECT_SECONDS)
        try:
            versions = set(client.run(course_version).values())
        except ImportError as error:
            raise OtherVersion(f"a worker does not have the course: {error}") from error
        if versions != {course_version()}:
            raise OtherVersion(OTHER)
        if not unsafe:
            client.run(check_sandbox)
        running: dict[Any, Job] = {}
        ready = as_completed(loop=client.loop)
        while queue or running:
            room = max(2, 2 * sum(client.ncores().values())) - len(running)
            while queue and room > 0:
                job = queue.popleft()
                try:
                    data = read(job)
                except OSError as error:
                    yield _failed(job, error)
                    continue
                given = course_version(), grade, data, job.lesson, seed, unsafe
                future = client.submit(work, *given, pure=False)
                running[future] = job
                ready.add(future)
                room -= 1
            if not running:
                continue
            future = next(ready)
            job = running.pop(future)
            try:
                yield Done(job, future.result())
            except KilledWorker:
                yield Done(job, failure="Grading it ended several workers of the cluster.")
            except FutureCancelledError as error:
                raise ConnectionError("the connection to the cluster was lost") from error
            except Exception as error:
                yield _failed(job, error)
