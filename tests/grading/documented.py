"""The commands of teach.md, as they stand there, run in a fresh copy of the course."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from tests.grading.judging import ROOT

PROGRAMS = Path(sys.executable).parent  # nbgrader calls alembic by its name
LESSON = "01_single_head"
COURSE = "attn_lib", f"exercises/{LESSON}", f"solutions/{LESSON}", "nbgrader_config.py"


def blocks(heading: str) -> list[list[str]]:
    """Return the lines of each block of shell commands in a section of teach.md."""
    text = (ROOT / "site" / "teach.md").read_text(encoding="utf-8")
    [section] = re.findall(
        rf"^## {heading}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE
    )
    found = re.findall(r"^ *```bash\n(.*?)^ *```$", section, re.DOTALL | re.MULTILINE)
    return [[line.strip() for line in block.splitlines()] for block in found]


def copy_course(folder: Path) -> None:
    """Put there what a fresh clone has, as far as lesson 01 needs it."""
    for name in COURSE:
        source, place = ROOT / name, folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            skip = shutil.ignore_patterns("__pycache__", "*.bak-*")
            shutil.copytree(source, place, ignore=skip)
        else:
            shutil.copy(source, place)


def run(line: str, folder: Path, **environment: str) -> subprocess.CompletedProcess:
    """Run a command in a folder that has the course in it."""
    variables = {
        "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(folder),
        "HOME": str(folder),
        "OMP_NUM_THREADS": "1",
    }
    return subprocess.run(
        shlex.split(line),
        cwd=folder,
        env=variables | environment,
        capture_output=True,
        text=True,
        timeout=900,
    )


def run_all(lines: list[str], folder: Path, environment: dict[str, str]) -> list[str]:
    """Run commands as if typed; `export` changes the environment, and nothing is installed.

    Returns:
        What each wrote.
    """
    said = []
    for line in lines:
        if line.startswith("export "):
            name, _, value = line.removeprefix("export ").partition("=")
            environment[name] = value
        elif not line.startswith("pip install "):
            ran = run(line, folder, **environment)
            said.append(ran.stdout + ran.stderr)
            assert ran.returncode == 0, said[-1]
    return said
