"""Grade a folder of submissions: find them, grade what is new, and put together what each learner gets."""

import contextlib
import re
import shutil
import sys
from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from itertools import groupby
from pathlib import Path

from filelock import FileLock, Timeout
from tqdm import tqdm

from attn_lib.grading.find import File, find, listed, read
from attn_lib.grading.grade import Report, grade_submission, ungraded, worth_points
from attn_lib.grading.keep import Kept
from attn_lib.grading.row import Row
from attn_lib.grading.workers import Done, Grade, Job, cores, on_cluster, on_this_machine

NO_LESSON = "Which lesson it belongs to cannot be told: give it with --lesson."


class Busy(RuntimeError):
    """Another run writes to the same folder."""


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
    strict: bool = False,
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
        strict: an answer that is wrong because it calls a wrong one gets no points.
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
            return _graded(folder, out, seed, lesson, jobs, dask, unsafe, strict, grade)
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
    strict: bool,
    grade: Grade,
) -> list[Row]:
    files = find(folder, lesson=lesson, leave_out=out)
    kept = Kept(out / "results", strict)
    grade = partial(grade, strict=True) if strict else grade
    kept.folder.mkdir(exist_ok=True)
    shutil.rmtree(out / ".work", ignore_errors=True)  # of a run that was killed
    (out / ".work").mkdir()

    wanted = {
        (file.sha256, file.lesson): Job(file.sha256, folder / file.path, file.lesson)
        for _, _, (file, *_) in handed_in(files)
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


def handed_in(files: list[File]) -> Iterator[tuple[str, int | None, list[File]]]:
    """Yield what each learner handed in for each lesson; the one file that counts comes first.

    It is the latest that can be read; of several from one second, the last by number.
    """
    for (learner, lesson), own in groupby(files, lambda file: (file.learner, file.lesson)):
        yield (
            learner,
            lesson,
            sorted(
                own, key=lambda f: (not f.problem, f.modified, _counted(f)), reverse=True
            ),
        )


def _counted(file: File) -> list[tuple[int, str]]:
    """Return a file's name as something to sort by: "x (2)" after "x", and "x (10)" after both."""
    parts = re.findall(r"\d+|\D+", file.path.stem)
    return [(int(part) if part.isdecimal() else 0, part) for part in parts]


def _rows(
    files: list[File],
    done: dict[tuple[str, int], Report],
    failures: dict[tuple[str, int | None], str],
    seed: int,
) -> Iterator[Row]:
    """Put together what each learner gets for each lesson."""
    for learner, lesson, own in handed_in(files):
        if lesson is None or not worth_points(lesson):
            problem = "; ".join(dict.fromkeys(f.problem or NO_LESSON for f in own))
            yield Row(learner, None, None, problem, "", tuple(own))
            continue
        latest, key = own[0], (own[0].sha256, lesson)
        failure = "" if latest.problem else failures.get(key, "")
        problem = latest.problem or failure
        report = ungraded(lesson, seed, problem) if problem else done[key]
        note = ""
        if len(own) > 1:
            others = listed([file.name for file in own[1:]])
            note = f"{len(own)} notebooks were handed in. Only the latest is graded: {latest.name}, not {others}."
        yield Row(learner, lesson, report, report.problem, note, tuple(own), bool(failure))
