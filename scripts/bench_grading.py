"""Measure grading: submissions a minute of plain `nbgrader autograde`, and of our judge.

Both grade the same honest notebooks of lesson 01 in the same run, each from the command line as an
instructor would: nbgrader with its own Execute step, one after another, and our judge on all cores.
"""

import argparse
import csv
import json
import os
import platform
import tempfile
import time
from pathlib import Path

import torch
from nbformat import v4

from tests.grading import documented
from tests.grading.documented import LESSON
from tests.grading.test_nbgrader import answered

PLAIN = """
for name in ("exporter_class", "autograde_preprocessors"):
    del c.Autograde[name]
"""


def make_class(folder: Path, learners: int) -> None:
    """Write a course folder for nbgrader, with a submission of each learner."""
    documented.copy_course(folder)
    with (folder / "nbgrader_config.py").open("a", encoding="utf-8") as config:
        config.write(PLAIN)
    for number in range(learners):
        place = folder / "grading" / "submitted" / f"learner{number:03}" / LESSON
        place.mkdir(parents=True)
        notebook = answered()
        notebook["cells"].append(v4.new_code_cell(f"# learner {number}"))
        (place / f"{LESSON}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")


def timed(folder: Path, command: str) -> float:
    """Run a command in the folder; return its seconds."""
    start = time.perf_counter()
    documented.run_all([command], folder, {})
    return time.perf_counter() - start


def plain(folder: Path) -> float:
    """Grade with nbgrader alone; return the seconds."""
    timed(folder, f"nbgrader generate_assignment {LESSON} --force")
    seconds = timed(folder, f"nbgrader autograde {LESSON}")
    timed(folder, "nbgrader export --to plain.csv")
    expect_full_marks(folder / "plain.csv", "score", "max_score")
    return seconds


def ours(folder: Path, jobs: int) -> float:
    """Grade with our judge; return the seconds."""
    grade = "python -m attn_lib.grading grade grading/submitted --out ours --lesson 1"
    seconds = timed(folder, f"{grade} --seed 20 --jobs {jobs}")
    expect_full_marks(folder / "ours" / "grades.csv", "total", "max")
    return seconds


def expect_full_marks(path: Path, points: str, maximum: str) -> None:
    """Stop if a right answer did not get all points: then the times would mean nothing."""
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if float(row[points]) != float(row[maximum]):
                raise SystemExit(f"{path.name}: a right answer lost points: {row}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--learners", type=int, default=24, help="default 24")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="of our judge")
    arguments = parser.parse_args()
    print(
        f"{arguments.learners} right answers to lesson 01; {os.cpu_count()} cores, our judge on "
        f"{arguments.jobs}; PyTorch {torch.__version__}, Python {platform.python_version()}"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        make_class(folder, arguments.learners)
        sides = {
            "nbgrader alone": plain(folder),
            "our judge": ours(folder, arguments.jobs),
        }
    for side, seconds in sides.items():
        a_minute = arguments.learners * 60 / seconds
        print(f"{side:16}{seconds:8.1f} s{a_minute:8.1f} submissions a minute")
    slow, quick = sides.values()
    print(f"our judge is {slow / quick:.1f} times as fast")


if __name__ == "__main__":
    main()
