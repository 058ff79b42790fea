"""Submissions of a few cells: written into files, or judged in the sandbox, or beside it."""

import json
import re
from pathlib import Path

from attn_lib.checks.task import find_task
from attn_lib.grading.grade import worth_points
from attn_lib.grading.submission_judge import Judge

ROOT = Path(__file__).resolve().parents[2]
SOLUTION = (ROOT / "solutions/01_single_head/01_single_head.ipynb").read_bytes()
EXERCISE = (ROOT / "exercises/01_single_head/01_single_head.ipynb").read_bytes()
SOFTMAX = "import torch\n\n\ndef stable_softmax(x, dim=-1):\n    return x.softmax(dim)\n"


def notebook(*cells: str) -> bytes:
    """Return a notebook with these code cells."""
    kind = {"cell_type": "code", "metadata": {}, "outputs": []}
    whole = {"cells": [kind | {"source": cell} for cell in cells], "metadata": {}}
    return json.dumps(
        whole | {"nbformat": 4, "nbformat_minor": 4}, ensure_ascii=False
    ).encode()


def class_of(folder: Path, files: dict[str, bytes]) -> Path:
    """Write files into a folder, and return it."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def answered(lesson: int) -> list[str]:
    """Return the code cells of a solution as a learner hands them in: nothing hidden is in them."""
    [path] = ROOT.glob(f"solutions/{lesson:02}_*/*.ipynb")
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]
    hidden = re.compile(r"\n### BEGIN HIDDEN.*?### END HIDDEN TESTS", re.DOTALL)
    return [re.sub(r" *### (BEGIN|END) SOLUTION\n?", "", hidden.sub("", c)) for c in cells]


def judged(*cells, lesson=1, seed=7, unsafe=False):
    """Return the verdict on each task of a lesson."""
    with Judge(list(cells), lesson, seed=seed, unsafe=unsafe) as judge:
        return {task.name: judge.verdict(task) for task in worth_points(lesson)}


def verdict_on(name, *cells):
    """Return the verdict on one task."""
    task = find_task(name)
    with Judge(list(cells), task.lesson, seed=7) as judge:
        return judge.verdict(task)
