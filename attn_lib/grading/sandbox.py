"""A process that can do no harm: bubblewrap around it, limits on it, and a deadline over it.

Inside there is a read-only system, Python with its packages, and a copy of the part of the course that
a learner may use; an empty /tmp and home; no network, no other processes, no environment.
"""

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from attn_lib.grading.course import PACKAGE
from attn_lib.grading.seccomp import no_new_processes
from attn_lib.grading.wire import BadMessage, receive, send

MEMORY = 4 << 30  # bytes of address space; torch alone takes 3
FILE = 16 << 20  # bytes of one file
DISK = str(64 << 20)  # bytes of /tmp, and of the home
CPU = 600  # seconds
MISSING = (
    "Grading runs what learners hand in, and needs bubblewrap to keep it in. Install it: "
    "`sudo apt install bubblewrap` (Debian, Ubuntu), `sudo dnf install bubblewrap` (Fedora). On macOS and "
    "Windows there is none: use a Linux machine, a container or WSL. With --unsafe, submissions run as "
    "ordinary processes with YOUR rights: they can read and delete your files. Only for code that you trust."
)


class NoSandbox(RuntimeError):
    """bubblewrap is missing or does not work here; the message says what to do."""


class Died(Exception):
    """The process ended, or was ended; the message says why."""


def check_sandbox() -> None:
    """Start an empty sandbox.

    Raises:
        NoSandbox: that did not work.
    """
    if shutil.which("bwrap") is None:
        raise NoSandbox(MISSING)
    command = [*_bubblewrap(Path(__file__).parent), sys.executable, "-c", "print('in')"]
    tried = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if tried.stdout.strip() != "in":
        raise NoSandbox(
            f"bubblewrap is installed, but it cannot start here: {tried.stderr.strip()[-500:]}. In a container, "
            "it needs user namespaces (for Docker: --security-opt seccomp=unconfined). "
            + MISSING
        )


def _bubblewrap(course: Path, filter: int | None = None) -> list[str]:
    """Return the command line up to the program to run inside.

    Args:
        course: becomes /course.
        filter: an open file with a system call filter.
    """
    command = [
        shutil.which("bwrap") or "bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
        "--clearenv", "--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev", "--size", DISK, "--tmpfs", "/tmp",
        "--size", DISK, "--tmpfs", "/home", "--size", DISK, "--tmpfs", "/dev/shm",
        "--setenv", "HOME", "/home", "--setenv", "PATH", "/usr/bin:/bin",
        "--setenv", "PYTHONPATH", "/course", "--setenv", "OMP_NUM_THREADS", "1",
        "--setenv", "MPLCONFIGDIR", "/tmp", "--setenv", "LANG", "C.UTF-8",
        "--setenv", "PYTHONDONTWRITEBYTECODE", "1",
    ]  # fmt: skip
    for path in ("/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/alternatives"):
        if os.path.islink(path):
            command += ["--symlink", os.readlink(path), path]
        elif os.path.exists(path):
            command += ["--ro-bind", path, path]
    prefixes = sorted({sys.prefix, sys.base_prefix})
    for prefix in prefixes:
        if not prefix.startswith("/usr"):
            command += ["--ro-bind", prefix, prefix]
    for secret in (
        PACKAGE,
        PACKAGE.parent / "solutions",
    ):  # where they lie in what is shown
        if secret.exists() and any(map(secret.is_relative_to, ("/usr", *prefixes))):
            command += ["--tmpfs", str(secret)]
    if filter is not None:
        command += ["--seccomp", str(filter)]
    return [*command, "--ro-bind", str(course), "/course", "--chdir", "/tmp"]


def _open_filter() -> int | None:
    """Return an open file that holds the system call filter, or None where there is none."""
    program = no_new_processes()
    if program is None:
        return None
    file = os.memfd_create("filter")
    os.write(file, program)
    os.lseek(file, 0, os.SEEK_SET)
    return file


def _limits() -> None:
    """Set in the new process, before anything of it runs."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE, FILE))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU, CPU))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Sandbox:
    """One process with the part of the course in `course`, spoken to in messages.

    Args:
        course: a folder that holds an `attn_lib` for the inside.
        unsafe: run it as an ordinary process instead.
    """

    def __init__(self, course: Path, *, unsafe: bool = False):
        program = [sys.executable, "-m", "attn_lib.grading.worker"]
        filter = None if unsafe else _open_filter()
        if unsafe:
            environment = {
                "PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(course),
                "HOME": str(course), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1",
            }  # fmt: skip
            options: dict[str, Any] = {"cwd": course, "env": environment}
        else:
            program = [*_bubblewrap(course, filter), *program]
            # Without an environment: inside, one could read it of bubblewrap's own process.
            options = {"pass_fds": () if filter is None else (filter,), "env": {}}
        self.process = subprocess.Popen(
            program,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=_limits,
            **options,
        )
        if filter is not None:
            os.close(filter)
        self._requests: Any = self.process.stdin
        self._replies: Any = self.process.stdout
        self._late = False

    def ask(self, header: Any, blobs: list[bytes], seconds: float) -> None:
        """Send one request; the answers are awaited with `hear`."""
        try:
            with self._deadline(seconds):
                send(self._requests, header, blobs)
        except OSError as error:
            raise Died(self._reason()) from error

    def hear(self, seconds: float) -> tuple[Any, memoryview]:
        """Return the next message.

        Raises:
            Died: none came within the time, or the process is gone, or it sent nonsense.
        """
        try:
            with self._deadline(seconds):
                return receive(self._replies)
        except (EOFError, BadMessage, OSError) as error:
            reason = self._reason() if not isinstance(error, BadMessage) else str(error)
            self.close()
            raise Died(reason) from error

    @contextlib.contextmanager
    def _deadline(self, seconds: float):
        def end() -> None:
            self._late = True
            self._kill()

        timer = threading.Timer(seconds, end)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _reason(self) -> str:
        if self._late:
            return "it ran too long"
        self._kill()
        return f"it ended the process (exit status {self.process.wait(10)})"

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def close(self) -> None:
        """End the process and all that it started."""
        self._kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        for stream in (self._requests, self._replies):
            with contextlib.suppress(OSError):
                stream.close()

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, *args: object) -> None:
        self.close()
