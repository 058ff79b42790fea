"""Starts workers inside the sandbox: `python -m attn_lib.grading.fork_server`.

Importing torch takes a second, so this process does it once. Each worker is a fork of it, in namespaces
of its own: no other process, no network, folders that are empty at first and gone afterwards. So nothing
that one submission leaves behind is there for the next. No learner's code runs in this process itself.

It speaks with the judge through a socket, which is its standard input. First it says "1", or "0" if the
kernel allows no namespaces within the sandbox: then it is good for a single worker. For each "+" that
comes with two sockets it starts a worker, which has the first one to speak with the judge. When the
judge hangs up the second one, the worker is killed; when the worker ends, its exit status is sent there.
"""

import contextlib
import gc
import os
import select
import signal
import socket
import struct
import sys
from pathlib import Path

from attn_lib.grading import worker
from attn_lib.grading.confine import DISK, WRITABLE, call, confine

# CLONE_NEW: USER, NS, PID, IPC, NET.
NEW_NAMESPACES = 0x10000000 | 0x00020000 | 0x20000000 | 0x08000000 | 0x40000000
READ_ONLY, NO_SETUID, NO_DEVICES, REMOUNT, MOVE = 1, 2, 4, 32, 8192
MOUNT_SETATTR, RECURSIVE = 442, 0x8000  # on every processor
BIND = 4096 | 16384  # with what is mounted in it
FILES = 10_000  # in each


def main() -> None:
    """Start workers until the judge hangs up."""
    judge = socket.socket(fileno=0)
    worker.get_ready()
    gc.freeze()
    apart = "--together" not in sys.argv and can_part()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the supervisors
    judge.sendall(b"1" if apart else b"0")
    while True:
        message, files, *_ = socket.recv_fds(judge, 1, 2)
        if not message:
            return
        if os.fork() == 0:
            supervise(*files, apart=apart)
        for file in files:
            os.close(file)


def supervise(channel: int, line: int, *, apart: bool) -> None:
    """Start one worker, in a process between it and the fork server; never return."""
    try:
        ended, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # it is enough to be woken
        if apart:
            leave()
        child = os.fork()
        if child == 0:
            be_worker(channel, apart=apart)
        judge = socket.socket(fileno=line)
        gone = 0
        while not gone:
            ready, _, _ = select.select([line, ended], [], [])
            if line in ready:  # the judge has hung up
                os.kill(child, signal.SIGKILL)
            else:
                os.read(ended, 1)  # it has ended, or was only stopped
            gone, status = os.waitpid(child, 0 if line in ready else os.WNOHANG)
        judge.sendall(struct.pack("<i", os.waitstatus_to_exitcode(status)))
    finally:
        os._exit(0)


def be_worker(channel: int, *, apart: bool) -> None:
    """Give up everything else, then serve; never return."""
    try:
        os.setsid()  # or `kill(0, ...)` would reach the processes of our own group outside
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(channel, 3)
        os.closerange(4, 1 << 16)
        with contextlib.suppress(OSError):  # if memory runs out, this process goes first
            Path("/proc/self/oom_score_adj").write_text("1000")
        if apart:
            use_own_folders()
        nothing = os.open(os.devnull, os.O_RDWR)  # where it is read-only: it can be root's
        for target in range(3):
            os.dup2(nothing, target)
        os.close(nothing)
        confine()
        worker.main(3)
    finally:
        os._exit(0)


def can_part() -> bool:
    """Say whether this process may give its children namespaces of their own, by trying it."""
    child = os.fork()
    if child == 0:
        try:
            leave()
            first = os.fork()
            if first == 0:
                use_own_folders()
                os._exit(0)
            os._exit(os.waitstatus_to_exitcode(os.waitpid(first, 0)[1]))
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    return status == 0


def leave() -> None:
    """Move to new namespaces; the next child is the first process of its own.

    Raises:
        OSError: the kernel refused.
    """
    user, group = os.getuid(), os.getgid()
    call("unshare", NEW_NAMESPACES)
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def use_own_folders() -> None:
    """Make everything read-only, devices too: they are the host's own, and those of all workers.

    Then put empty folders over those that can be written, and over /proc, which shows processes.

    Raises:
        OSError: the kernel refused.
    """
    attributes = struct.pack("4Q", READ_ONLY, 0, 0, 0)
    call("syscall", MOUNT_SETATTR, 0, b"/", RECURSIVE, attributes, len(attributes))
    prefixes = sorted({sys.prefix, sys.base_prefix})
    python = {path: os.open(path, os.O_PATH) for path in prefixes}
    limits = f"size={DISK},nr_inodes={FILES},mode=1777"
    for folder in WRITABLE:
        mount("tmpfs", folder, NO_SETUID | NO_DEVICES, limits)
    for path, file in python.items():
        if path.startswith(WRITABLE):  # now it is covered: show it again
            os.makedirs(path, exist_ok=True)
            mount(f"/proc/self/fd/{file}", path, BIND)
        os.close(file)
    os.mkdir("/tmp/proc")
    mount("tmpfs", "/tmp/proc", NO_SETUID | NO_DEVICES, "size=4k")
    for name in ("cpuinfo", "meminfo"):  # PyTorch reads them
        open(f"/tmp/proc/{name}", "x").close()
        mount(f"/proc/{name}", f"/tmp/proc/{name}", BIND)
    mount("/tmp/proc", "/proc", MOVE)
    mount("tmpfs", "/proc", REMOUNT | READ_ONLY | NO_SETUID | NO_DEVICES, "size=4k")
    os.rmdir("/tmp/proc")
    os.chdir("/tmp")


def mount(source: str, target: str, flags: int, options: str = "") -> None:
    """Mount a new "tmpfs", or what is at `source`, on `target`; see mount(2)."""
    call("mount", source.encode(), target.encode(), b"tmpfs", flags, options.encode())


if __name__ == "__main__":
    main()
