"""Measure grading: submissions a minute of plain `nbgrader autograde`, and of our judge.

Both grade the same honest notebooks of lesson 01 in the same run, each from the command line as an
instructor would: nbgrader with its own Execute step, one after another, and our judge on all cores.
"""

import argparse
import csv
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[1]
LESSON = "01_single_head"
SEED = "20"
PLAIN = """
for name in ("exporter_class", "autograde_preprocessors"):
    del c.Autograde[name]
"""


def learners_notebook(number: int) -> dict:
    """Return the solution as a learner would hand it in: without hidden tests, with a word of their own."""
    path = ROOT / "solutions" / LESSON / f"{LESSON}.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        text = re.sub(r"\n### BEGIN HIDDEN.*?### END HIDDEN TESTS", "", text, flags=re.S)
        text = re.sub(r"^ *### (BEGIN|END) SOLUTION\n?", "", text, flags=re.M)
        if cell["cell_type"] == "code":
            text, cell["outputs"] = f"# learner {number}\n{text}", []
        cell["source"] = text
    return notebook


def make_class(folder: Path, learners: int) -> None:
    """Write a course folder for nbgrader, with a submission of each learner."""
    for name in ("solutions", "attn_lib"):
        chosen = LESSON if name == "solutions" else ""
        shutil.copytree(ROOT / name / chosen, folder / name / chosen)
    config = (ROOT / "nbgrader_config.py").read_text(encoding="utf-8")
    (folder / "nbgrader_config.py").write_text(config + PLAIN, encoding="utf-8")
    for number in range(learners):
        place = folder / "grading" / "submitted" / f"learner{number:03}" / LESSON
        place.mkdir(parents=True)
        notebook = json.dumps(learners_notebook(number))
        (place / f"{LESSON}.ipynb").write_text(notebook, encoding="utf-8")


def timed(folder: Path, *command: str) -> float:
    """Run a command in the folder; return its seconds."""
    programs = Path(sys.executable).parent  # nbgrader calls alembic by its name
    environment = os.environ | {
        "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', '')}",
        "PYTHONPATH": str(folder),
        "ATTN_HOME": str(folder / "progress"),
        "JUPYTER_CONFIG_DIR": str(folder / "jupyter"),
        "OMP_NUM_THREADS": "1",
    }
    start = time.perf_counter()
    program = [sys.executable, "-m", *command]
    done = subprocess.run(
        program, cwd=folder, env=environment, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return time.perf_counter() - start


def plain(folder: Path) -> float:
    """Grade with nbgrader alone; return the seconds."""
    timed(folder, "nbgrader", "generate_assignment", LESSON)
    seconds = timed(folder, "nbgrader", "autograde", LESSON)
    timed(folder, "nbgrader", "export", "--to", "plain.csv")
    expect_full_marks(folder / "plain.csv", "score", "max_score")
    return seconds


def ours(folder: Path, jobs: int) -> float:
    """Grade with our judge; return the seconds."""
    command = ["attn_lib.grading", "grade", "grading/submitted", "--out", "ours"]
    command += ["--lesson", "1", "--seed", SEED, "--jobs", str(jobs)]
    seconds = timed(folder, *command)
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
