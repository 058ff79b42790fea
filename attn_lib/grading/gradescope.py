"""Grade one submission where Gradescope put it: python -m attn_lib.grading.gradescope /autograder."""

import json
import os
import sys
from pathlib import Path
from typing import Any

from attn_lib.files import write_whole
from attn_lib.grading import sandbox
from attn_lib.grading.autograder import CHOSEN
from attn_lib.grading.batch import handed_in
from attn_lib.grading.find import of_one, read
from attn_lib.grading.grade import Report, grade_submission, ungraded

NOBODY = 65534
ALONE = (
    "It ran without bubblewrap, which this container does not allow, as another user. The container itself is thrown "
    "away."
)


def main(folder: Path) -> int:
    """Grade what is in `submission`, and write `results/results.json`; return the exit status."""
    chosen = json.loads((folder / "source" / CHOSEN).read_bytes())
    report, said = _graded(folder / "submission", chosen["lesson"], chosen["seed"])
    results = json.dumps(as_results(report, said), indent=1)
    write_whole(folder / "results" / "results.json", results)
    return 0


def _graded(submission: Path, lesson: int, seed: int) -> tuple[Report, str]:
    """Return the report on the latest notebook of the lesson, and what else is to be known."""
    found = of_one(submission)
    files = [file for file in found if file.lesson == lesson]
    files = files or [file for file in found if file.lesson is None]
    [latest, *others] = next((own for *_, own in handed_in(files)), [None])
    if latest is None or latest.problem:
        problem = (
            latest.problem if latest else f"No notebook of lesson {lesson} was handed in."
        )
        return ungraded(lesson, seed, problem), ""
    said = f"Graded: {latest.name}, the latest of {1 + len(others)}. " * bool(others)
    unsafe = False
    try:
        sandbox.check_sandbox()
    except sandbox.NoSandbox:
        unsafe, said = True, said + ALONE
        sandbox.nobody = NOBODY if os.getuid() == 0 else None
    data = read(submission.parent / latest.path)
    return grade_submission(data, lesson, seed=seed, unsafe=unsafe), said


def as_results(report: Report, said: str) -> dict[str, Any]:
    """Return a report in the words of Gradescope's results.json."""
    about = (report.problem, report.cells, said)
    return {
        "output": "\n".join(text for text in about if text),
        "output_format": "text",
        "stdout_visibility": "hidden",
        "tests": [
            {
                "name": task.name,
                "score": task.points,
                "max_score": task.max_points,
                "status": "passed" if task.points == task.max_points else "failed",
                "output": task.message,
                "output_format": "text",
                "visibility": "visible",
            }
            for task in report.tasks
        ],
    }


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
