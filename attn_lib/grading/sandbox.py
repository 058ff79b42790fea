"""A process that can do no harm: bubblewrap around it, limits on it, and a deadline over it.

Inside there is a read-only system, Python with its packages, and a copy of the part of the course that
a learner may use; an empty /tmp and home; no network, no other processes, no environment.
"""

import atexit
import contextlib
import errno
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from attn_lib.grading.confine import DISK, WRITABLE
from attn_lib.grading.visible_course import PACKAGE
from attn_lib.grading.wire import BadMessage, receive, send

# For submissions, with and without a sandbox; then what is so in a sandbox only.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    # What is freed goes back to the system at once, or an answer in chunks seems to hold all of them.
    "MALLOC_MMAP_THRESHOLD_": str(256 << 10),
    "MPLBACKEND": "Agg",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
}
INSIDE = {
    "HOME": "/home",
    "USER": "learner",
    "PATH": "/usr/bin:/bin",
    "PYTHONPATH": "/course",
    "MPLCONFIGDIR": "/tmp",
    "LANG": "C.UTF-8",
}
APART = True  # each worker in namespaces of its own, where the kernel allows it
nobody: int | None = (
    None  # the user that runs submissions without a sandbox, if it is another
)
START_SECONDS = 120  # for importing torch on a busy machine
KILL_SECONDS = 10
# Of one submission; looked at from outside, because the system's own limit does not bind root.
THREADS = 400
MISSING = (
    "Grading runs what learners hand in, and needs bubblewrap to keep it in. Install it: "
    "`sudo apt install bubblewrap` (Debian, Ubuntu), `sudo dnf install bubblewrap` (Fedora). On macOS and "
    "Windows there is none: use a Linux machine, a container or WSL. With --unsafe, submissions run as "
    "ordinary processes with YOUR rights: they can read and delete your files. Only for code that you trust."
)


class NoSandbox(RuntimeError):
    """bubblewrap is missing or does not work here; the message says what to do."""


class NoRoom(NoSandbox):
    """The machine can start no more processes just now."""


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
        why = (
            "Version 0.7 or later is needed (Debian 12, Ubuntu 24.04)."
            if "Unknown option" in tried.stderr
            else "In a container, it needs user namespaces (for Docker: --security-opt seccomp=unconfined)."
        )
        said = tried.stderr.strip()[-500:]
        raise _kind(said)(
            f"bubblewrap is installed, but it cannot start here: {said}. {why} {MISSING}"
        )


def _kind(said: str) -> type[NoSandbox]:
    return NoRoom if os.strerror(errno.EAGAIN) in said else NoSandbox


def _bubblewrap(course: Path) -> list[str]:
    """Return the command line up to the program to run inside, for which `course` is /course."""
    command = [shutil.which("bwrap") or "bwrap", "--unshare-all", "--die-with-parent"]
    command += ["--new-session", "--cap-drop", "ALL", "--clearenv"]
    command += ["--proc", "/proc", "--dev", "/dev"]
    command += ["--ro-bind", "/dev/null", "/dev/zero"]  # it would give memory to share
    command += ["--remount-ro", "/dev"]
    if not APART:  # nothing is put over it inside, and root could write to /proc/sys
        command += ["--remount-ro", "/proc"]
    for folder in WRITABLE:
        command += ["--size", str(DISK), "--tmpfs", folder]
    for name, value in (ENVIRONMENT | INSIDE).items():
        command += ["--setenv", name, value]
    if os.getuid() == 0:
        command += ["--unshare-user", "--uid", "1000", "--gid", "1000"]
    for path in ("/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/alternatives"):
        if os.path.islink(path):
            command += ["--symlink", os.readlink(path), path]
        elif os.path.exists(path):
            command += ["--ro-bind", path, path]
    prefixes = sorted({sys.prefix, sys.base_prefix})
    for prefix in prefixes:
        if not prefix.startswith("/usr"):
            command += ["--ro-bind", prefix, prefix]
    shown = [Path("/usr"), Path("/usr/local"), *map(Path, prefixes)]
    for secret in _secrets(shown):
        command += ["--tmpfs", str(secret)]
        for part in (part for prefix in prefixes for part in _parts(Path(prefix))):
            if part.is_relative_to(secret):  # a virtual environment in the course's folder
                command += ["--ro-bind", str(part), str(part)]
    command += ["--ro-bind", str(course), "/course"]
    return [*command, "--remount-ro", "/", "--chdir", "/tmp"]


def _secrets(shown: list[Path]) -> list[Path]:
    """Return what is not for learners in folders that are shown: the course, wherever it is installed."""
    is_clone = (PACKAGE.parent / "pyproject.toml").exists()
    found = {PACKAGE.parent if is_clone else PACKAGE}
    for folder in shown:
        found.update(folder.glob("lib*/python*/*-packages/attn_lib"))
    return sorted(
        path
        for path in found
        if path.is_dir() and not path.is_symlink() and any(map(path.is_relative_to, shown))
    )


def _parts(prefix: Path) -> list[Path]:
    """Return what Python needs of a prefix."""
    parts = (prefix / name for name in ("bin", "lib", "lib64", "pyvenv.cfg"))
    return [part for part in parts if part.exists()]


class ForkServer:
    """A process in a sandbox that has imported torch and starts workers; see fork_server.py.

    Args:
        course: a folder that holds an `attn_lib` for the inside.
        unsafe: without the sandbox.

    Raises:
        NoSandbox: it does not start.
    """

    def __init__(self, course: Path, *, unsafe: bool = False):
        self._control, theirs = socket.socketpair()
        program = [sys.executable, "-m", "attn_lib.grading.fork_server"]
        # Inside, one could read the environment of bubblewrap's own process.
        environment: dict[str, str] = {}
        if unsafe or not APART:
            program.append("--together")
        if unsafe:
            own = {"PATH": os.environ.get("PATH", "")}
            environment = (
                ENVIRONMENT | own | dict.fromkeys(("HOME", "PYTHONPATH"), str(course))
            )
        else:
            program = [*_bubblewrap(course), *program]
        user = nobody if unsafe else None
        self._process = subprocess.Popen(
            program,
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env=environment,
            cwd=course if unsafe else None,
            user=user,
            group=user,
            extra_groups=None if user is None else [],
        )
        theirs.close()
        self._control.settimeout(START_SECONDS)
        said = b""
        with contextlib.suppress(OSError):
            said = self._control.recv(1)
        self.lasts = said == b"1"
        if not said:
            self.close()
        assert self._process.stderr
        with self._process.stderr as stderr:
            if not said:
                trouble = stderr.read()[-1000:].decode(errors="replace").strip()
                raise _kind(trouble)(
                    f"The process for submissions does not start: {trouble}"
                )

    def start(self) -> "Sandbox":
        """Start a worker.

        Raises:
            OSError: this process is gone.
            NoRoom: it cannot start one.
        """
        channel, theirs = socket.socketpair()
        line, supervisors = socket.socketpair()
        sandbox = Sandbox(self, channel, line)
        try:
            with theirs, supervisors:
                files = [theirs.fileno(), supervisors.fileno()]
                socket.send_fds(self._control, [b"+"], files)
        except OSError:
            sandbox.close()  # at once, because nobody holds the other ends any more
            raise
        try:
            sandbox.greet()
        except Died as death:
            raise NoRoom(f"No process for a submission starts: {death}.") from death
        return sandbox

    def close(self) -> None:
        """End the process and all that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(KILL_SECONDS)
        self._control.close()


_kept: dict[tuple[Path, bool], ForkServer] = {}  # one at most: each holds some 200 MB


@atexit.register
def _end_kept() -> None:
    while _kept:
        _kept.popitem()[1].close()


def start(course: Path, *, unsafe: bool = False) -> "Sandbox":
    """Start a worker in a fork server that is kept for the next one.

    Args:
        course: a folder that holds an `attn_lib` for the inside.
        unsafe: run it as an ordinary process instead.

    Raises:
        NoSandbox: it does not start.
    """
    global APART
    key = course, unsafe
    with contextlib.suppress(KeyError, OSError, NoSandbox):  # there is none, or it is gone
        return _kept[key].start()
    _end_kept()
    fork_server = ForkServer(course, unsafe=unsafe)
    if APART and not unsafe and not fork_server.lasts:  # the kernel does not allow it
        APART = False
        fork_server.close()
        fork_server = ForkServer(course)
    if fork_server.lasts:
        _kept[key] = fork_server
    return fork_server.start()


def keeps_fork_server() -> bool:
    """Say whether a fork server is kept for the next worker."""
    return bool(_kept)


class _Until:
    """A socket to read and write before a deadline.

    Args:
        channel: the socket.
        end: the deadline, as `time.monotonic` counts.
    """

    def __init__(self, channel: socket.socket, end: float):
        self.channel, self.end = channel, end

    def _in_time(self) -> socket.socket:
        left = self.end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.channel.settimeout(left)
        return self.channel

    def read(self, size: int) -> bytes:
        return self._in_time().recv(size)

    def write(self, data: bytes) -> None:
        self._in_time().sendall(data)

    def flush(self) -> None:
        """Everything is sent at once."""


class Sandbox:
    """A worker, spoken to in messages.

    Args:
        fork_server: the process that started it.
        channel: to the worker.
        line: to its supervisor.
    """

    def __init__(
        self, fork_server: ForkServer, channel: socket.socket, line: socket.socket
    ):
        self._fork_server, self._channel, self._line = fork_server, channel, line
        self._status: int | None = None
        self._pid, self._held_at_first, self._most_held = 0, 0, 0
        self._measures, self._over = False, threading.Event()
        self._has_crowd = False  # too many threads

    def greet(self) -> None:
        """Wait until the worker is ready, and note which process it is: no learner's code has run in it yet.

        Raises:
            Died: it does not start.
            NoRoom: it cannot be watched.
        """
        if sys.platform == "linux":
            self._channel.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            self._channel.settimeout(START_SECONDS)
            with contextlib.suppress(OSError):  # what is wrong, `hear` says
                size = socket.CMSG_SPACE(12)
                _, [(_, _, sender)], *_ = self._channel.recvmsg(1, size, socket.MSG_PEEK)
                # By our own numbers, not by those inside.
                self._pid = struct.unpack("3i", sender)[0]
        self.hear(time.monotonic() + START_SECONDS)
        self._held_at_first = self._held()
        if self._pid:
            try:
                threading.Thread(target=self._watch, daemon=True).start()
            except RuntimeError as error:  # so Python calls it
                self.close()
                raise NoRoom(f"A submission cannot be watched: {error}.") from error

    def _watch(self) -> None:
        """Look at the process every 5 ms, until it is over; end it if it has too many threads."""
        while not self._over.wait(0.005):
            if self._measures:
                self._most_held = max(self._most_held, self._held())
            with contextlib.suppress(OSError):  # the process, or its channel, is gone
                if len(os.listdir(f"/proc/{self._pid}/task")) > THREADS:
                    self._has_crowd = True
                    self._line.shutdown(socket.SHUT_WR)

    @contextlib.contextmanager
    def measured(self) -> Iterator[Callable[[], int]]:
        """Watch the process's memory; give what returns the most bytes that it has held meanwhile.

        They are its own memory, more than before any cell ran. 0 where the system does not show them.
        """
        self._most_held, self._measures = self._held(), True
        try:
            yield lambda: self._most_held - self._held_at_first
        finally:
            self._measures = False

    def _held(self) -> int:
        """Return the bytes of memory that the process holds: of any thread that shows them, as the first may have ended."""
        with contextlib.suppress(OSError):  # no Linux, or the process has ended
            for thread in Path(f"/proc/{self._pid}/task").iterdir():
                with contextlib.suppress(OSError):
                    status = (thread / "status").read_text()
                    if found := re.findall(r"Rss(?:Anon|Shmem):\s+(\d+)", status):
                        return 1024 * sum(map(int, found))
        return 0

    def ask(self, header: Any, blobs: list[bytes], end: float) -> None:
        """Send one request before a deadline; the answers are awaited with `hear`.

        Raises:
            Died: it was not taken within the time, or the process is gone.
        """
        try:
            send(_Until(self._channel, end), header, blobs)
        except OSError as error:
            raise Died(self._reason(error)) from error

    def hear(self, end: float) -> tuple[Any, memoryview]:
        """Return the next message, if it comes before a deadline.

        Raises:
            Died: none came within the time, or the process is gone, or it sent nonsense.
        """
        try:
            return receive(_Until(self._channel, end))
        except BadMessage as error:
            self.close()
            raise Died(str(error)) from error
        except (EOFError, OSError) as error:
            raise Died(self._reason(error)) from error

    def _reason(self, error: Exception) -> str:
        status = self.close()
        if self._has_crowd:
            return f"it had more than {THREADS} threads"
        if isinstance(error, TimeoutError):
            return "it ran too long"
        return (
            f"it ended the process (exit status {'unknown' if status is None else status})"
        )

    def close(self) -> int | None:
        """End the process and all that it started; return its exit status, if it can be known."""
        if self._channel.fileno() < 0:  # it is closed already
            return self._status
        self._over.set()
        self._channel.close()
        said = b""
        with self._line as line, contextlib.suppress(OSError):
            line.settimeout(0.2)
            try:
                said = line.recv(4)
            except TimeoutError:  # it is still running
                line.settimeout(KILL_SECONDS)
                line.shutdown(socket.SHUT_WR)
                said = line.recv(4)
        if len(said) == 4:
            self._status = struct.unpack("<i", said)[0]
        if not said or not self._fork_server.lasts:
            self._fork_server.close()
        return self._status

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, *args: object) -> None:
        self.close()
