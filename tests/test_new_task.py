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


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A copy of what a new task touches."""
    root = tmp_path_factory.mktemp("clone")
    for folder in ("attn_lib", "tests/checks", "notebooks", "solutions"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, root / folder, ignore=ignored)
    (root / "tests/__init__.py").touch()
    (root / "notebooks/98_later.ipynb").write_text("{}")
    return root


@pytest.mark.parametrize(
    "lesson",
    [6, pytest.param(98, marks=pytest.mark.nightly)],  # 98 has no task and no solution
)
@pytest.mark.slow
def test_the_frame_is_a_task_whose_check_runs(clone, lesson):
    *_, solution = write(lesson, f"score_{lesson}", "weights, offset=1", clone)
    program = (
        "from attn_lib.checks import judge, tasks\n"
        "from tests.checks.answers import answers_to\n"
        f"[task] = [task for task in tasks() if task.name == 'score_{lesson}']\n"
        "print(task.signature, judge(task.name, task.reference).status,\n"
        "      judge(task.name, lambda weights, offset: -weights).mistake,\n"
        "      len(answers_to(task.name).rights))\n"
    )
    environment = os.environ | {"PYTHONPATH": str(clone)}
    command = [sys.executable, "-c", program]
    told = subprocess.run(
        command, cwd=clone, env=environment, capture_output=True, text=True
    )
    expected = f"score_{lesson}(weights, offset=1) passed TODO-negative 1\n"
    assert told.stdout == expected, told.stderr
    cells = json.loads(solution.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells]
    place = sources.index(next(s for s in sources if f"· `score_{lesson}`" in s))
    assert sources[place + 1].startswith(f"def score_{lesson}(weights, offset=1):")
    assert cells[place + 2]["metadata"]["nbgrader"]["grade_id"] == f"check-score_{lesson}"
    assert sources[place + 3] == "## Done?"


@pytest.mark.parametrize(
    ("lesson", "name", "message"),
    [
        (6, "attention_entropy", "is there already"),
        (97, "new_score", "expected a lesson"),
        (6, "new score", "expected a function's name"),
    ],
)
def test_what_cannot_be_written_is_refused_and_nothing_changes(
    clone, lesson, name, message
):
    def files():
        return {path: path.read_bytes() for path in clone.rglob("*") if path.is_file()}

    before = files()
    with pytest.raises(ValueError, match=message):
        write(lesson, name, "weights", clone)
    assert files() == before
