"""Grade a folder of submissions: find them, grade what is new, and put together what each learner gets."""

import contextlib
import re
import shutil
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import groupby
from pathlib import Path

from filelock import FileLock, Timeout
from tqdm import tqdm

from attn_lib.grading.find import File, by_name, find, listed, read
from attn_lib.grading.grade import Report, grade_submission, ungraded, worth_points
from attn_lib.grading.keep import Kept
from attn_lib.grading.refused import Refused
from attn_lib.grading.roster import Roster
from attn_lib.grading.row import NOTHING, Row
from attn_lib.grading.workers import Done, Job, cores, on_cluster, on_this_machine, task

NO_LESSON = "Which lesson it belongs to cannot be told: give it with --lesson."


@contextlib.contextmanager
def alone(out: Path) -> Iterator[None]:
    """Make the folder of the results, and keep other runs out of it.

    Raises:
        OSError: the folder cannot be made.
        Refused: another run writes to it.
    """
    out.mkdir(mode=0o700, parents=True, exist_ok=True)  # nobody else's business
    try:
        lock = FileLock(out / ".lock").acquire(blocking=False)
    except Timeout:
        raise Refused(
            f"Another run is writing to {out}. Wait for it, or choose another --out."
        ) from None
    with lock:
        yield


def grade_class(
    folder: Path,
    out: Path,
    *,
    seed: int,
    lessons: Sequence[int] = (),
    roster: Roster | None = None,
    jobs: int = 0,
    dask: str = "",
    unsafe: bool = False,
    strict: bool = False,
    grade: Callable[..., Report] = grade_submission,
) -> list[Row]:
    """Grade everything that a class handed in; keep each result, and go on where a run stopped.

    Args:
        folder: with the submissions, laid out as `find` knows it.
        out: for the results; `alone` keeps other runs out of it.
        seed: of the inputs.
        lessons: only these, if there are any.
        roster: who is in the class; each of them gets a row.
        jobs: processes at a time; 0 for one on each core.
        dask: the address of a dask cluster to use instead.
        unsafe: without the sandbox.
        strict: an answer that is wrong because it calls a wrong one gets no points.
        grade: the function that grades one submission.

    Returns:
        One row for each learner and lesson, in alphabetical order.

    Raises:
        OSError: the folder cannot be read, or the results cannot be written.
        NoSandbox: bubblewrap does not work.
    """
    judge = task(grade, seed=seed, unsafe=unsafe, strict=strict)
    with _work_folder(out) as work:
        files = find(folder, lessons=lessons)
        if roster:
            files = roster.claimed(files)

        def outcomes(todo: list[Job]) -> Iterator[Done]:
            if dask:
                return on_cluster(todo, _read_again, judge, address=dask)
            count = min(jobs or cores(), len(todo))
            return on_this_machine(todo, _read_again, judge, processes=count, folder=work)

        places = defaultdict[tuple[str, int], list[Path]](list)
        for _, lesson, (file, *_) in handed_in(files):
            if lesson is not None and file.sha256 and not file.problem:
                places[file.sha256, lesson].append(folder / file.path)
        wanted = [Job(*known, tuple(paths)) for known, paths in places.items()]
        done = _graded(wanted, Kept(out / "results", seed, unsafe, strict), outcomes)
    rows = list(_rows(files, done, seed))
    if roster:
        rows = sorted(_whole_class(rows, roster, lessons, seed), key=by_name)
    return rows


@contextlib.contextmanager
def _work_folder(out: Path) -> Iterator[Path]:
    """Make a folder for what is temporary; take away also that of a run that was killed."""
    work = out / ".work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _graded(
    wanted: list[Job], kept: Kept, outcomes: Callable[[list[Job]], Iterator[Done]]
) -> dict[Job, Done]:
    """Return what came of each submission, kept from an earlier run or made by `outcomes`."""
    kept.folder.mkdir(exist_ok=True)
    found = {job: Done(job, kept.load(job.sha256, job.lesson)) for job in wanted}
    done = {job: one for job, one in found.items() if one.report}
    todo = [job for job in found if job not in done]
    with tqdm(
        total=len(found),
        initial=len(done),
        desc="grading",
        unit="notebook",
        mininterval=0.2 if sys.stderr.isatty() else 10,
        dynamic_ncols=True,
        disable=not wanted,
    ) as bar:
        for one in outcomes(todo) if todo else ():
            if one.report:
                kept.save(one.job.sha256, one.report)
            done[one.job] = one
            bar.update()
    return done


def _read_again(job: Job) -> bytes:
    """Return a submission's bytes.

    Raises:
        OSError: they are not those that were found before.
    """
    error = OSError("the file was changed while the class was graded")
    for path in job.paths:
        try:
            data = read(path)
        except OSError as why:
            error = why
            continue
        if sha256(data).hexdigest() == job.sha256:
            return data
    raise error


def handed_in(files: list[File]) -> Iterator[tuple[str, int | None, list[File]]]:
    """Yield what each learner handed in for each lesson; the one file that counts comes first.

    It is the latest that can be read and holds tasks of the lesson; of several from one second, the last by number.
    """

    def counts(file: File) -> tuple:
        # "x (2)" comes after "x", and "x (10)" after both.
        parts = re.findall(r"\d+|\D+", file.path.stem)
        numbers = [(int(part) if part.isdecimal() else 0, part) for part in parts]
        return not file.problem, file.is_sure, file.modified, numbers

    for (learner, lesson), own in groupby(files, lambda file: (file.learner, file.lesson)):
        yield learner, lesson, sorted(own, key=counts, reverse=True)


def _rows(files: list[File], done: dict[Job, Done], seed: int) -> Iterator[Row]:
    """Put together what each learner gets for each lesson."""
    for learner, lesson, own in handed_in(files):
        latest = own[0]
        if lesson is None or not worth_points(lesson):
            problem = "; ".join(dict.fromkeys(f.problem or NO_LESSON for f in own))
            yield Row(learner, None, None, problem, latest.note, tuple(own))
            continue
        note = latest.note
        if len(own) > 1:
            others = listed([file.name for file in own[1:]])
            note += f" {len(own)} notebooks were handed in. Only the latest is graded: {latest.name}, not {others}."
        job = Job(latest.sha256, lesson)
        one = Done(job) if latest.problem else done[job]
        report = one.report or ungraded(lesson, seed, latest.problem or one.failure)
        about = report.problem, note.strip(), tuple(own), bool(one.failure)
        yield Row(learner, lesson, report, *about)


def _whole_class(
    rows: list[Row], roster: Roster, lessons: Sequence[int], seed: int
) -> Iterator[Row]:
    """Yield the rows with the ids of a roster, and one of no points for whoever handed in nothing."""
    ids = {person.name: person.id for person in roster.people}
    for row in rows:
        yield replace(row, id=ids.get(row.learner, ""))
    there = {(row.learner, row.lesson) for row in rows}
    perhaps = defaultdict[tuple[str, int | None], set[str]](set)
    for row in rows:
        for name in {name for file in row.files for name in file.may_be}:
            perhaps[name, row.lesson].add(row.learner)
    for person in roster.people:
        for number in sorted(lessons):
            if (person.name, number) not in there:
                doubtful = perhaps[person.name, number]
                said = f"Theirs may be any of: {listed(sorted(doubtful))}."
                problem = said if doubtful else NOTHING
                report = ungraded(number, seed, problem)
                yield Row(person.name, number, report, problem, "", (), id=person.id)
