"""Grade a folder of submissions: find them, grade what is new, and put together what each learner gets."""

import contextlib
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby
from pathlib import Path

from filelock import FileLock, Timeout
from tqdm import tqdm

from attn_lib.grading.find import File, find, read
from attn_lib.grading.grade import Report, grade_submission, ungraded, worth_points
from attn_lib.grading.keep import Kept
from attn_lib.grading.workers import Done, Grade, Job, cores, on_cluster, on_this_machine

NO_LESSON = "Which lesson it belongs to cannot be told: give it with --lesson."


class Busy(RuntimeError):
    """Another run writes to the same folder."""


@dataclass(frozen=True)
class Row:
    """What one learner gets for one lesson.

    Attributes:
        learner: the name.
        lesson: its number; None if it cannot be told.
        report: of the notebook that counts; None without a lesson.
        problem: why nothing could be graded, or "".
        note: anything else an instructor should know.
        files: all that the learner handed in for the lesson, the one that counts first.
        again: whether another run may come to another result.
    """

    learner: str
    lesson: int | None
    report: Report | None
    problem: str
    note: str
    files: tuple[File, ...]
    again: bool = False


@contextlib.contextmanager
def alone(out: Path) -> Iterator[None]:
    """Make the folder of the results, and keep other runs out of it; can be nested.

    Raises:
        OSError: the folder cannot be made.
        Busy: another run writes to it.
    """
    out.mkdir(mode=0o700, parents=True, exist_ok=True)  # nobody else's business
    try:
        lock = FileLock(out / ".lock", is_singleton=True).acquire(blocking=False)
    except Timeout:
        raise Busy(
            f"Another run is writing to {out}. Wait for it, or choose another --out."
        ) from None
    with lock:
        yield


def grade_class(
    folder: Path,
    out: Path,
    *,
    seed: int,
    lesson: int | None = None,
    jobs: int = 0,
    dask: str = "",
    unsafe: bool = False,
    grade: Grade = grade_submission,
) -> list[Row]:
    """Grade everything that a class handed in; keep each result, and go on where a run stopped.

    Args:
        folder: with the submissions, laid out as `find` knows it.
        out: for the results; made if it is not there.
        seed: of the inputs.
        lesson: only this one.
        jobs: processes at a time; 0 for one on each core.
        dask: the address of a dask cluster to use instead.
        unsafe: without the sandbox.
        grade: the function that grades one submission.

    Returns:
        One row for each learner and lesson, in alphabetical order.

    Raises:
        OSError: the folder cannot be read, or the results cannot be written.
        Busy: another run writes to `out`.
        NoSandbox: bubblewrap does not work.
    """
    with alone(out):
        try:
            return _graded(folder, out, seed, lesson, jobs, dask, unsafe, grade)
        finally:
            shutil.rmtree(out / ".work", ignore_errors=True)


def _graded(
    folder: Path,
    out: Path,
    seed: int,
    lesson: int | None,
    jobs: int,
    dask: str,
    unsafe: bool,
    grade: Grade,
) -> list[Row]:
    files = find(folder, lesson=lesson, leave_out=out)
    kept = Kept(out / "results")
    kept.folder.mkdir(exist_ok=True)
    shutil.rmtree(out / ".work", ignore_errors=True)  # of a run that was killed
    (out / ".work").mkdir()

    wanted = {
        (file.sha256, file.lesson): Job(file.sha256, folder / file.path, file.lesson)
        for file in files
        if file.lesson is not None and file.sha256 and not file.problem
    }
    done = {
        key: report
        for key in wanted
        if (report := kept.load(*key, seed=seed, unsafe=unsafe)) is not None
    }
    failures: dict[tuple[str, int | None], str] = {}
    todo = [job for key, job in wanted.items() if key not in done]

    def outcomes() -> Iterator[Done]:
        if dask:
            return on_cluster(
                todo, _read_again, seed=seed, unsafe=unsafe, address=dask, grade=grade
            )
        return on_this_machine(
            todo,
            _read_again,
            seed=seed,
            unsafe=unsafe,
            processes=min(jobs or cores(), len(todo)),
            folder=out / ".work",
            grade=grade,
        )

    with tqdm(
        total=len(wanted),
        initial=len(done),
        desc="grading",
        unit="notebook",
        file=sys.stderr,
        mininterval=0.2 if sys.stderr.isatty() else 10,
        dynamic_ncols=True,
        disable=not wanted,
    ) as bar:
        for one in outcomes() if todo else ():
            key = one.job.sha256, one.job.lesson
            if one.report is not None:
                kept.save(one.job.sha256, one.report, unsafe)
                done[key] = one.report
            else:
                failures[key] = one.failure
            bar.update()
    return list(_rows(files, done, failures, seed))


def _read_again(job: Job) -> bytes:
    """Return a submission's bytes.

    Raises:
        OSError: they are not those that were found before.
    """
    data = read(job.path)
    if sha256(data).hexdigest() != job.sha256:
        raise OSError("the file was changed while the class was graded")
    return data


def _rows(
    files: list[File],
    done: dict[tuple[str, int], Report],
    failures: dict[tuple[str, int | None], str],
    seed: int,
) -> Iterator[Row]:
    """Put together what each learner gets for each lesson."""
    for (learner, lesson), group in groupby(
        files, lambda file: (file.learner, file.lesson)
    ):
        own = list(group)
        if lesson is None or not worth_points(lesson):
            problem = "; ".join(dict.fromkeys(f.problem or NO_LESSON for f in own))
            yield Row(learner, None, None, problem, "", tuple(own))
            continue
        results = []
        for file in own:
            key = file.sha256, lesson
            problem = file.problem or failures.get(key, "")
            report = ungraded(lesson, seed, problem) if problem else done[key]
            results.append((file, report, key in failures and not file.problem))
        # All are graded and the best counts: a rule that does not hang on dates, which copying
        # changes. Equally good ones count in the order of their names.
        results.sort(key=lambda r: (-r[1].points, bool(r[1].problem), r[0].name))
        _, best, _ = results[0]
        note = ""
        if len(results) > 1:
            each = ", ".join(
                f"{file.name} ({report.points:g})" for file, report, _ in results
            )
            note = f"{len(results)} notebooks were handed in, the best counts: {each}."
        again = any(failed for _, _, failed in results)
        yield Row(
            learner, lesson, best, best.problem, note, tuple(r[0] for r in results), again
        )
