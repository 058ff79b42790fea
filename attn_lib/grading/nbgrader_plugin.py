"""nbgrader's autograde with our judge in place of its own kernel: see `nbgrader_config.py`.

nbgrader imports this file when it grades; nothing else does, and the course does not need nbgrader.
"""

import json
import math
import os
import re
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbformat import v4
from nbformat.notebooknode import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import NbGraderPreprocessor
from sqlalchemy.exc import SQLAlchemyError
from traitlets import Bool, Integer

from attn_lib.checks.task import Task, tasks
from attn_lib.grading.arguments import SEED
from attn_lib.grading.find import read
from attn_lib.grading.grade import Report, TaskResult, grade_submission
from attn_lib.grading.names import as_written, clean
from attn_lib.grading.sandbox import NoSandbox, check_sandbox
from attn_lib.grading.submission import Unreadable, read_cells

NO_SEED = (
    "Grading needs a private seed, or learners know its inputs: any number, kept for the whole course. Write "
    f"c.SandboxedJudge.seed = ... into a configuration that you do not publish, or set {SEED}."
)
TIME = "timestamp.txt"  # nbgrader's
_PLAIN = re.compile(r"[\w(][\w .@()'-]*")  # a learner's name, in any script
_STAMP = re.compile(
    r"(19[7-9]\d|[2-8]\d{3})-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?)?( UTC|[+-]\d\d:?\d\d)?"
)
PREFIX = "check-"  # of a check cell's grade_id; the rest is the task's name
PROBLEM = "attn_problem"  # in a notebook's metadata: why it could not be read
JUDGED = "attn_judged"  # there too: that the judge is done with it


class SandboxedJudge(NbGraderPreprocessor):
    """Stands where nbgrader's Execute stood: fills the check cells with verdicts from outside.

    The learner's code never runs in this process. A check cell gets the verdict to read, and the
    points as its only result, from which nbgrader takes the score.
    """

    seed = Integer(
        None, allow_none=True, help=f"Of the inputs; private. Else from {SEED}."
    ).tag(config=True)
    unsafe = Bool(
        False, help="Run submissions WITHOUT a sandbox, with your own rights."
    ).tag(config=True)
    strict = Bool(
        False, help="Give no points for a right answer that calls a wrong one."
    ).tag(config=True)

    def ready(self) -> int:
        """Return the seed.

        Raises:
            NbGraderException: there is none, or no sandbox; the message says what to do.
        """
        try:
            if not self.unsafe:
                check_sandbox()
        except NoSandbox as error:
            text = str(error).replace("--unsafe", "c.SandboxedJudge.unsafe = True")
            raise NbGraderException(text) from None
        seed = os.environ.get(SEED, "") if self.seed is None else str(self.seed)
        try:
            return int(seed)
        except ValueError:
            raise NbGraderException(NO_SEED) from None

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        """Judge a submission and write the verdicts into its check cells."""
        seed = self.ready()
        place = resources["nbgrader"]
        graded = restore_check_cells(
            nb, *(place[key] for key in ("db_url", "notebook", "assignment"))
        )
        known = {task.name: task for task in tasks()}
        lessons = {known[name].lesson for name in graded if name in known}
        data = json.dumps(nb).encode()
        reports = {
            lesson: grade_submission(
                data, lesson, seed=seed, unsafe=self.unsafe, strict=self.strict
            )
            for lesson in sorted(lessons)
            if PROBLEM not in nb.metadata
        }
        for name, cell in graded.items():
            if name not in known:
                self.log.warning("No task is named %s: its check gives 0 points.", name)
            write_verdict(cell, result_of(known.get(name), reports, nb.metadata))
        nb.metadata[JUDGED] = True
        return nb, resources


def restore_check_cells(
    nb: NotebookNode, db_url: str, notebook: str, assignment: str
) -> dict[str, NotebookNode]:
    """Put the gradebook's own check cells where the learner's are, or at the end.

    A learner may have deleted, copied or edited them, and their metadata decides who gives points.

    Returns:
        The check cells by the names of their tasks.
    """
    with Gradebook(db_url) as gradebook:
        source = gradebook.find_notebook(notebook, assignment)
        by_hand = {cell.name for cell in source.solution_cells}
        known = {cell.name for cell in source.source_cells}
        points = {
            cell.name: cell.max_score
            for cell in source.grade_cells
            if cell.cell_type == "code" and cell.name not in by_hand
        }
        fresh = {
            cell.name: _check_cell(cell.name, cell.source, points[cell.name], cell.checksum)
            for cell in source.source_cells
            if cell.name in points
        }
    missing, cells = dict(fresh), []
    for cell in nb.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if name not in known:  # nbgrader would look for its points
            cell.metadata.pop("nbgrader", None)
        if name not in fresh:
            cells.append(cell)
        elif name in missing:
            cells.append(missing.pop(name))
    nb.cells = [*cells, *missing.values()]
    for cell in fresh.values():
        if nb.nbformat_minor < 5:
            del cell["id"]
    return {name.removeprefix(PREFIX): cell for name, cell in fresh.items()}


def _check_cell(name: str, source: str, points: float, checksum: str) -> NotebookNode:
    kind = {"grade": True, "solution": False, "task": False, "locked": True}
    own = {"grade_id": name, "points": points, "checksum": checksum}
    ours = kind | own | {"schema_version": 3, "cell_type": "code"}
    return v4.new_code_cell(source, metadata={"nbgrader": ours})


def result_of(task: Task | None, reports: dict[int, Report], metadata: Any) -> TaskResult:
    """Return what the reports say about a task, or a result of 0 points that says what went wrong."""
    if task is None:
        said = "No task of the course has this name: ask your instructor."
        return TaskResult("", "error", 0, 0, message=said)
    report = reports.get(task.lesson)
    for result in report.tasks if report else ():
        if result.name == task.name:
            return result
    said = str(metadata.get(PROBLEM, "The task was not judged."))
    return TaskResult(task.name, "error", 0, task.points, message=said)


def write_verdict(cell: NotebookNode, result: TaskResult) -> None:
    """Make the outputs of a check cell: the verdict to read, and the points as the only result.

    nbgrader gives full marks for a result that is no number or negative, and stops at one above the
    maximum; so the number is made here, from the share of the points that were earned.
    """
    share = result.points / result.max_points if result.max_points else 0.0
    share = min(max(share, 0.0), 1.0) if math.isfinite(share) else 0.0
    shown = {"text/plain": result.message}
    if result.html:
        shown["text/html"] = result.html
    points = repr(share * float(cell.metadata.nbgrader["points"]))
    cell.outputs = [
        v4.new_output("display_data", shown),
        v4.new_output("execute_result", {"text/plain": points}, execution_count=1),
    ]
    cell.execution_count = 1


class SubmissionExporter(NotebookExporter):
    """Reads anything that is handed in as a notebook, so that each gets a score.

    What nbgrader cannot take, such as broken metadata, is reduced to its code cells; what cannot be
    read at all becomes a cell that says why. Made once for each run of autograde, it also refuses
    there, before anything is changed, if submissions cannot be judged, and takes away what a run that
    was killed left behind: nbgrader would pass over it, and give no points.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        try:
            SandboxedJudge(parent=self, config=self.config).ready()
        except NbGraderException as error:
            self.log.error(str(error))
            raise
        if course := getattr(self.parent, "coursedir", None):
            # What lies beside a notebook is not copied: it can be a link, or without end.
            course.ignore = ["*"]
            submitted = getattr(self.parent, "assignments", {})
            for folder in [*submitted]:
                if problem := _cannot_be_taken(Path(folder)):
                    self.log.warning("Passed over: %s %s", as_written(folder), problem)
                    del submitted[folder]
                    continue
                # nbgrader writes the names of files that it does not know as they are.
                for notebook in [*submitted[folder]]:
                    if (name := Path(notebook).name) != as_written(name):
                        self.log.warning("Passed over: %s", as_written(notebook))
                        submitted[folder].remove(notebook)
            autograded = Path(course.format_path(course.autograded_directory, ".", "."))
            pattern = f"{course.student_id}/{course.assignment_id}/*.ipynb"
            for notebook in sorted(autograded.glob(pattern)):
                if _is_unfinished(notebook):
                    self.log.warning("%s was not finished: it is graded again", notebook)
                    shutil.rmtree(notebook.parent)

    def from_file(self, file_stream: Any, resources: Any = None, **kwargs: Any) -> Any:
        """Convert a notebook; what only we write into its metadata, or nbgrader stumbles over, goes."""
        notebook = nbformat.read(file_stream, as_version=4)
        if getattr(self.parent, "_sanitizing", False):
            for name in (PROBLEM, JUDGED, "widgets"):
                notebook.metadata.pop(name, None)
            for cell in notebook.cells:
                # A gradebook cannot be asked for a name that is none.
                theirs = cell.metadata.get("nbgrader")
                if theirs is not None and not isinstance(theirs.get("grade_id"), str):
                    del cell.metadata["nbgrader"]
        return self.from_notebook_node(notebook, resources, **kwargs)

    def from_filename(self, filename: str, resources: Any = None, **kwargs: Any) -> Any:
        """Convert a notebook; while nbgrader sanitizes a submission, without fail."""
        if not getattr(self.parent, "_sanitizing", False):  # then the file is our own
            return super().from_filename(filename, resources, **kwargs)
        try:
            if any(folder.is_symlink() for folder in [*Path(filename).parents][:2]):
                raise OSError("its folder is a link")
            if course := getattr(self.parent, "coursedir", None):
                place = (resources["nbgrader"][key] for key in ("student", "assignment"))
                copied = Path(course.format_path(course.autograded_directory, *place))
                _copy_time(Path(filename).parent, copied)
            cells = read_cells(read(Path(filename)))
        except (Unreadable, OSError) as error:
            self.log.warning("%s cannot be read: %s", filename, error)
            return self.from_notebook_node(_unreadable(str(error)), resources, **kwargs)
        try:
            output, made = super().from_filename(filename, dict(resources), **kwargs)
            output.encode()
            return output, made
        except SQLAlchemyError:
            raise
        except Exception as error:
            self.log.warning("%s: only its code is used: %s", filename, error)
            return self.from_notebook_node(_code_only(cells), resources, **kwargs)


def _cannot_be_taken(folder: Path) -> str:
    """Return why nbgrader would stumble over a folder <learner>/<lesson>, and others with it; or ""."""
    if not _PLAIN.fullmatch(folder.parent.name):
        return "has signs in its name that nbgrader, or its table, takes for something else: rename it."
    stamp = folder / TIME
    try:
        if os.path.lexists(stamp):
            text = read(stamp).decode().strip()
            if not _STAMP.fullmatch(text):  # nbgrader's own reader opens files
                raise ValueError("a time is written 2026-10-01 18:30:00 UTC")
            datetime.fromisoformat(text.removesuffix(" UTC"))
    except (OSError, ValueError) as error:
        return f"holds a {TIME} that is no time: {clean(str(error))}."
    return ""


def _copy_time(submitted: Path, copied: Path) -> None:
    """Copy when a notebook was handed in: from that, nbgrader knows later that there is a newer one."""
    if (stamp := submitted / TIME).exists():
        copied.mkdir(parents=True, exist_ok=True)
        (copied / TIME).unlink(missing_ok=True)
        (copied / TIME).write_bytes(read(stamp))


def _is_unfinished(notebook: Path) -> bool:
    """Return whether a notebook was written for the judge, but never came back from it.

    What nbgrader only copied, such as a learner's folder or hidden file of such a name, was not.
    """
    if notebook.name.startswith(".") or not notebook.is_file():
        return False
    try:
        content = json.loads(notebook.read_bytes())
        return JUDGED not in content["metadata"] and not any(
            cell.get("outputs") for cell in content["cells"]
        )
    except FileNotFoundError:  # its folder went with another one
        return False
    except ValueError:  # it was being written
        return True
    except (KeyError, TypeError, AttributeError):  # neither nbgrader nor we wrote that
        return False


def _unreadable(reason: str) -> NotebookNode:
    text = f"This notebook could not be read: {reason}"
    return v4.new_notebook(cells=[v4.new_markdown_cell(text)], metadata={PROBLEM: text})


def _code_only(cells: list[str]) -> NotebookNode:
    clean = (cell.encode(errors="replace").decode() for cell in cells)
    return v4.new_notebook(cells=[v4.new_code_cell(cell) for cell in clean])
