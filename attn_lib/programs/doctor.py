"""Say whether the course works here, and what helps where it does not: `attention-from-scratch doctor`."""

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.metadata import requires
from importlib.util import find_spec
from pathlib import Path

from attn_lib.checks import store
from attn_lib.files import user_folder
from attn_lib.programs.course_folder import MANIFEST, Refused, course_version, read_manifest
from attn_lib.programs.pretrained import has_models

NAME = "attention-from-scratch"
ROOM = 500 << 20  # bytes that a learner may need for models, notebooks and what they train


class Ill(Exception):
    """Something does not work; the message says what, and what helps."""


def examine(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Look at everything that the course needs; yield what was looked at, what was found, and what does not work or "".

    Args:
        folder: the learner's folder, whether it is there or not.
    """
    looked: dict[str, Callable[[], str]] = {
        "Python": _python,
        "PyTorch": _torch,
        "JupyterLab": _jupyter,
        "pretrained models": _models,
        "your progress": _progress,
        "your folder": lambda: _folder(folder),
        "a check": _check,
    }
    for name, look in looked.items():
        try:
            yield name, look(), ""
        except Ill as problem:
            yield name, "", str(problem)
        except Exception as error:  # whatever is broken here is what somebody wants to know
            yield name, "", f"{type(error).__name__}: {error}"


def doctor(folder: Path) -> int:
    """Print what `examine` yields, a line each; return 1 if something does not work."""
    problems = 0
    for name, found, problem in examine(folder):
        print(f"{'✗' if problem else '✓'} {name}: {problem or found}", flush=True)
        problems += bool(problem)
    print("The course works here." if not problems else f"{problems} to mend.")
    return int(problems > 0)


def _python() -> str:
    return f"{platform.python_version()} in {sys.prefix}, course {course_version()}"


def _torch() -> str:
    import torch

    pins = [pin for pin in requires(NAME) or () if pin.startswith("torch==")]
    wanted, x = pins[0].removeprefix("torch=="), torch.ones(2, 2)
    if torch.__version__.partition("+")[0] != wanted:
        raise Ill(
            f"expected {wanted}, with which the course was tried, got {torch.__version__}. Install the course anew, in "
            "an environment of its own."
        )
    if (x @ x).tolist() != [[2, 2], [2, 2]]:
        raise Ill("it computes 1 + 1 otherwise than we do. Install it anew.")
    gpu = torch.cuda.is_available()
    return f"{torch.__version__}, {torch.get_num_threads()} threads, {'a GPU' if gpu else 'no GPU, and none is needed'}"


def _jupyter() -> str:
    missing = [
        name for name in ("jupyterlab", "ipykernel", "ipywidgets") if not find_spec(name)
    ]
    if missing:
        raise Ill(
            f"{', '.join(missing)} is not installed in this Python. Install the course anew."
        )
    return "installed, with its kernel and widgets"


def _models() -> str:
    if not has_models():
        raise Ill(
            "not there. `attention-from-scratch models` fetches them; lessons 00, 06 and 14 use them."
        )
    return "both are there"


def _progress() -> str:
    try:
        kept, message = store.load()
    except store.CannotKeep as error:
        raise Ill(str(error)) from None
    home = user_folder()
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=home):
        pass  # it can be written to
    if (room := shutil.disk_usage(home).free) < ROOM:
        raise Ill(f"only {room >> 20} MB are free on the disk of {home}.")
    passed = sum(task["passed"] for task in kept.values())
    return f"{passed} tasks passed, in {home}. {message}".rstrip()


def _folder(folder: Path) -> str:
    if not (folder / MANIFEST).exists():
        return f"{folder} is not there yet: `attention-from-scratch` makes it"
    try:
        manifest, said = read_manifest(folder)
    except Refused as error:
        raise Ill(str(error)) from None
    if not os.access(folder, os.W_OK):
        raise Ill(f"{folder} cannot be written to.")
    older = manifest.version not in ("", course_version())
    update = " `attention-from-scratch update` brings what is new." if older else ""
    return f"{folder}, version {manifest.version or 'unknown'}.{update} {said}".rstrip()


def _check() -> str:
    from attn_lib import attention
    from attn_lib.checks import judge

    verdict = judge("attention", attention.einsum_attention)
    if verdict.status != "passed":
        raise Ill(
            f"our own answer is called {verdict.status}: please report this. {verdict.evidence}"
        )
    return "judges as it should"
