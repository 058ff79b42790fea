"""Make the zip that Gradescope takes as an autograder: the course with its grader, a lesson, and a seed.

Gradescope unpacks it in /autograder/source of an Ubuntu, runs `setup.sh` once, and `run_autograder` for each
submission, in a container of its own. Source: https://gradescope-autograders.readthedocs.io (specifications).
"""

import json
from pathlib import Path

from attn_lib.grading.refused import Refused
from attn_lib.grading.release import ROOT, code_of, write_zip

CHOSEN = "lesson.json"  # which lesson, and the seed
_FILES = "pyproject.toml", "requirements.txt", "README.md", "LICENSE"
SETUP = """#!/usr/bin/env bash
set -e
apt-get update
apt-get install -y --no-install-recommends bubblewrap python3-pip
PIP_BREAK_SYSTEM_PACKAGES=1 python3 -m pip install uv  # Ubuntu's Python asks for that
cd /autograder/source
export UV_PYTHON_INSTALL_DIR=/autograder/python  # where others than root can run it
uv venv --python ">=3.11,<3.14" /autograder/venv
uv pip install --python /autograder/venv/bin/python --torch-backend cpu -r requirements.txt
"""
RUN = """#!/usr/bin/env bash
chmod 700 /autograder/source /autograder/results
cd /autograder/source
exec /autograder/venv/bin/python -m attn_lib.grading.gradescope /autograder
"""


def autograder(path: Path, lesson: int, seed: int, root: Path = ROOT) -> list[str]:
    """Write the zip for one lesson; return the names of the files in it.

    Args:
        path: of the zip.
        lesson: whose tasks are graded.
        seed: of the inputs; it is in the zip, which learners must not see.
        root: a clone of the course.

    Raises:
        Refused: the clone is not whole.
        OSError: a file cannot be read or written.
    """
    if missing := [name for name in _FILES if not (root / name).is_file()]:
        raise Refused(f"{root} is not a whole copy of the course: {missing[0]} is missing.")
    files = {name: (root / name).read_bytes() for name in sorted({*_FILES, *code_of(root)})}
    chosen = json.dumps({"lesson": lesson, "seed": seed})
    files |= {
        "setup.sh": SETUP.encode(),
        "run_autograder": RUN.encode(),
        CHOSEN: chosen.encode(),
    }
    write_zip(path, files, programs=("setup.sh", "run_autograder"))
    return [*files]
