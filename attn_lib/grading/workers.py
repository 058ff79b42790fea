"""Grade many submissions at once: on the cores of this machine, or on a dask cluster.

Both do the same: a few submissions are under way at a time, and results come as they are ready. What
a dying process takes with it is graded again; whatever dies twice is named and left to a human.
"""

import multiprocessing
import os
import signal
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

import torch

from attn_lib.grading.grade import Report, grade_submission
from attn_lib.grading.keep import course_version
from attn_lib.grading.sandbox import NoSandbox, check_sandbox

Grade = Callable[..., Report]
CONNECT_SECONDS = 20
_one_at_a_time = threading.Lock()


NO_START = "The process to grade it in was ended twice while it started: by a lack of memory, or from outside."
OTHER = "a worker has another version of the course, or of torch"


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
    """What came of a job: a report, or why there is none."""

    job: Job
    report: Report | None = None
    failure: str = ""


def cores() -> int:
    """Return how many cores this process may use."""
    return (
        len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count() or 1
    )


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
    rest, suspects = deque(sorted(jobs, key=lambda job: job.lesson)), deque[Job]()

    def submit(pool: "Pool", job: Job) -> Future:
        return pool.executor.submit(
            work, course_version(), grade, read(job), job.lesson, seed, unsafe
        )

    while rest or suspects:
        # Whoever was under way when a process died is tried again alone, so that it can be told.
        queue, size = (rest, processes) if rest else (suspects, 1)
        with Pool(size, folder) as pool:
            running: dict[Future, Job] = {}
            if (
                pool.broken
            ):  # while it started: counts as one try of one job, so that it has an end
                job = queue.popleft()
                if queue is rest:
                    suspects.append(job)
                else:
                    yield Done(job, failure=NO_START)
            while (queue or running) and not pool.broken:
                while queue and len(running) < size and not pool.broken:
                    job = queue.popleft()
                    try:
                        running[submit(pool, job)] = job
                    except OSError as error:
                        yield Done(job, failure=_said(error))
                    except BrokenProcessPool:
                        queue.appendleft(job)
                        pool.broken = True
                ready, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in ready:
                    done = _done(running[future], future)
                    if done:
                        yield done
                        del running[future]
                    else:
                        pool.broken = True
            for future, job in running.items():
                done = _done(job, future)
                if done is None and queue is rest:
                    suspects.append(job)
                else:
                    yield done or Done(
                        job, failure="Grading it ended the judge's own process twice."
                    )


def _done(job: Job, future: Any) -> Done | None:
    """Return what came of a job, or None if its process died."""
    try:
        return Done(job, future.result())
    except BrokenProcessPool:
        return None
    except (NoSandbox, OtherVersion):
        raise  # the same for every job
    except Exception as error:
        return Done(job, failure=_said(error))


def _said(error: Exception) -> str:
    text = f"{type(error).__name__}: {error}"[:200]
    return f"Grading it failed here, which is no fault of the learner's: {text}"


class Pool:
    """A pool of processes that goes away at once, whatever ends it.

    Attributes:
        broken: whether one of the processes has died.
    """

    def __init__(self, size: int, folder: Path):
        self.others = set(multiprocessing.active_children())
        context = multiprocessing.get_context("forkserver")  # it imports torch once
        context.set_forkserver_preload([__name__])
        _start_fork_server()
        self.broken = False
        self.executor = ProcessPoolExecutor(
            size, mp_context=context, initializer=_begin, initargs=(str(folder),)
        )

        # All are started before there is work: the executor may overlook the death of one, or wait for
        # ever for one, that it starts while others work.
        try:
            starts = [self.executor.submit(time.sleep, 0.1) for _ in range(size)]
            self.broken = any(one.exception() for one in starts)
        except (BrokenProcessPool, OSError, EOFError):
            self.broken = True

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, kind: type | None, *_: object) -> None:
        # Interrupted or broken: what is under way is not awaited.
        if kind is not None or self.broken:
            for process in set(multiprocessing.active_children()) - self.others:
                process.kill()
        self.executor.shutdown(cancel_futures=True)


def _start_fork_server() -> None:
    """Start the process that the pool's are forks of, so that Ctrl-C is for its parent only."""
    in_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if in_main else None
    forkserver.ensure_running()
    if in_main:
        signal.signal(signal.SIGINT, before)


def _begin(folder: str) -> None:
    """Prepare a process of the pool: Ctrl-C is for its parent, without which it ends too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    tempfile.tempdir = folder
    parent = multiprocessing.parent_process()
    assert parent

    def end_with_parent() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()


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
                    yield Done(job, failure=_said(error))
                    continue
                future = client.submit(
                    work,
                    course_version(),
                    grade,
                    data,
                    job.lesson,
                    seed,
                    unsafe,
                    pure=False,
                )
                running[future] = job
                ready.add(future)
                room -= 1
            if not running:
                continue
            future = next(ready)
            job = running.pop(future)
            try:
                done = Done(job, future.result())
            except KilledWorker:
                done = Done(job, failure="Grading it ended several workers of the cluster.")
            except FutureCancelledError as error:
                raise ConnectionError("the connection to the cluster was lost") from error
            except (NoSandbox, OtherVersion):
                raise
            except Exception as error:
                done = Done(job, failure=_said(error))
            yield done
