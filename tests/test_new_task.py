"""A new task starts from a frame that is registered, can be imported, and overwrites nothing."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.new_task import write

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def clone(tmp_path):
    """A copy of what a new task touches."""
    for folder in ("attn_lib", "tests/checks", "notebooks", "solutions"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    (tmp_path / "tests/__init__.py").write_text("")
    return tmp_path


def test_the_frame_is_a_task_whose_check_runs(clone):
    write(6, "new_score", "weights, offset=1", clone)
    program = (
        "from attn_lib.checks import judge, tasks\n"
        "from tests.checks.answers import answers_to\n"
        "[task] = [task for task in tasks() if task.name == 'new_score']\n"
        "print(task.signature, judge('new_score', task.reference).status,\n"
        "      judge('new_score', lambda weights, offset: -weights).mistake,\n"
        "      len(answers_to('new_score').rights))\n"
    )
    environment = os.environ | {"PYTHONPATH": str(clone)}
    command = [sys.executable, "-c", program]
    told = subprocess.run(
        command, cwd=clone, env=environment, capture_output=True, text=True
    )
    assert told.stdout == "new_score(weights, offset=1) passed TODO-negative 1\n", (
        told.stderr
    )


def test_its_cells_stand_before_the_end_of_the_solution(clone):
    *_, solution = write(6, "new_score", "weights", clone)
    cells = json.loads(solution.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells]
    place = sources.index(next(s for s in sources if "· `new_score`" in s))
    assert sources[place + 1].startswith("def new_score(weights):")
    assert cells[place + 2]["metadata"]["nbgrader"]["grade_id"] == "check-new_score"
    assert sources[place + 3] == "## Done?"


def test_the_first_task_of_a_lesson_brings_its_package_and_its_solution(clone):
    (clone / "notebooks/98_later.ipynb").write_text("{}")
    write(98, "first_one", "x", clone)
    package = (clone / "attn_lib/tasks/__init__.py").read_text(encoding="utf-8")
    assert "    lesson_98,\n" in package
    assert (clone / "attn_lib/tasks/lesson_98/first_one.py").exists()
    assert (clone / "solutions/98_later/98_later.ipynb").exists()


@pytest.mark.parametrize(
    ("lesson", "name", "arguments", "message"),
    [
        (6, "attention_entropy", "weights", "is there already"),
        (97, "new_score", "weights", "expected a lesson"),
        (6, "new score", "weights", "expected a function's name"),
    ],
)
def test_what_cannot_be_written_is_refused_and_nothing_changes(
    clone, lesson, name, arguments, message
):
    def files():
        return {path: path.read_bytes() for path in clone.rglob("*") if path.is_file()}

    before = files()
    with pytest.raises(ValueError, match=message):
        write(lesson, name, arguments, clone)
    assert files() == before
