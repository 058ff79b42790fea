"""The fork server: workers that know nothing of each other, and leave nothing behind."""

import contextlib
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from attn_lib.grading import sandbox
from attn_lib.grading.visible_course import course_for
from tests.grading.attacks import HONEST, HOSTILE
from tests.grading.judging import judged

pytestmark = [pytest.mark.usefixtures("sandbox_works"), pytest.mark.slow]
# The tests stay in their order: most go on with the process that the one before has started.


def kept():
    """The fork server that is kept for the next submission."""
    [fork_server] = sandbox._kept.values()
    return fork_server


def ours():
    """The processes that this one has started, and those that they started, with nothing under way."""
    time.sleep(0.5)
    return psutil.Process().children(recursive=True)


@pytest.fixture
def together(monkeypatch):
    """As on a system that allows no namespaces within the sandbox."""
    sandbox._end_kept()
    monkeypatch.setattr(sandbox, "APART", False)
    yield
    sandbox._end_kept()


def test_a_worker_is_known_by_its_number_and_goes_first_when_memory_runs_out():
    hoard = "hoard = [b'x' * (100 << 20)]\nhoard.append(hoard)\ntime.sleep(0.2)\ndel hoard"
    with sandbox.start(course_for(1)) as worker:
        assert psutil.Process(worker._pid).parents()[2:]
        place = f"/proc/{worker._pid}/oom_score_adj"
        assert Path(place).read_text() == "1000\n"
        with worker.measured() as held:
            cells = ["import gc, time\ngc.disable()", hoard]
            worker.ask(
                {"cells": cells, "skip": [], "wanted": []}, [], time.monotonic() + 60
            )
            while "defined" not in worker.hear(time.monotonic() + 60)[0]:
                pass
            assert worker._held() - worker._held_at_first < 50 << 20  # it is cleaned up
    assert 90 << 20 < held() < 130 << 20


def test_memory_is_seen_when_the_first_thread_has_ended():
    """Then /proc/PID/status tells nothing; other threads do."""
    leaves = (
        "import ctypes, threading, time\n"
        "def hoard():\n    kept = b'x' * (100 << 20)\n    time.sleep(2)\n"
        "threading.Thread(target=hoard).start()\nctypes.CDLL(None).syscall(60, 0)"
    )
    with sandbox.start(course_for(1)) as worker, worker.measured() as held:
        request = {"cells": [leaves], "skip": [], "wanted": []}
        worker.ask(request, [], time.monotonic() + 60)
        with contextlib.suppress(sandbox.Died):  # nobody answers any more
            while True:
                worker.hear(time.monotonic() + 2)
    assert held() > 90 << 20


FOLDERS = """
import pathlib, sys
FOLDERS = [".", "/tmp", "/home", "/dev/shm", "/dev", "/proc", "/course"]
FOLDERS += [str(p) for p in (*pathlib.Path(sys.prefix).parents, *pathlib.Path(sys.base_prefix).parents)]
FOLDERS += [str(p) for p in pathlib.Path("/").iterdir()]
"""
LEAVES = """
import builtins, os, pathlib, socket, sys, threading, time, torch
for folder in FOLDERS:
    try:
        pathlib.Path(folder, "left-behind").write_text("x")
    except OSError:
        pass
torch.nn.functional.softmax = None
builtins.left_behind = sys.left_behind = True
os.environ["LEFT_BEHIND"] = "1"
torch.manual_seed(1234)
threading.Thread(target=time.sleep, args=(600,)).start()
socket.socket(socket.AF_UNIX).bind("\\0left-behind")
server = socket.socket(socket.AF_UNIX)
"""
LOOKS = """
import builtins, os, pathlib, socket, sys, torch
found = [str(p) for d in FOLDERS for p in pathlib.Path(d).glob("left*")]
found += [w for w in (builtins, sys) if hasattr(w, "left_behind")]
found += [os.environ["LEFT_BEHIND"]] if "LEFT_BEHIND" in os.environ else []
found += [] if torch.nn.functional.softmax else ["softmax"]
try:
    socket.socket(socket.AF_UNIX).connect("\\0left-behind")
    found.append("socket")
except OSError:
    pass
def attention_scores(q, k):
    raise ValueError(f"found {found}, drawn {torch.rand(1).item()}")
"""


def test_a_worker_finds_nothing_that_another_one_left():
    fresh = judged(FOLDERS, LOOKS)["attention_scores"].message
    assert "found []" in fresh
    fork_server = kept()
    both = judged(FOLDERS, LEAVES, LOOKS)["attention_scores"].message
    for folder in ("/tmp", "/home", "/dev/shm"):
        assert f"'{folder}/left-behind'" in both
    assert "softmax" in both
    assert judged(FOLDERS, LOOKS)["attention_scores"].message == fresh
    assert kept() is fork_server


MARKS = """
import os, pathlib, sys
PARENTS = [*pathlib.Path(sys.prefix).parents, *pathlib.Path(sys.base_prefix).parents]
def marked(place):
    before = os.stat(place)
    try:
        os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns - 1_000_000_000))
    except OSError:
        return False
    is_changed = os.stat(place).st_mtime_ns != before.st_mtime_ns
    os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))  # it can be the host's
    return is_changed
def can_be_written(path):
    try:
        return os.close(os.open(path, os.O_WRONLY)) is None
    except OSError:
        return False
def attention_scores(q, k):
    folders = map(pathlib.Path, ("/", "/dev", "/dev/pts", "/proc", *PARENTS))
    places = {str(path) for folder in folders for path in (folder, *folder.iterdir())}
    places = [p for p in places if os.path.exists(p) and not p.startswith("/proc/self")]
    changed = sorted(p for p in places if marked(p)) + [n for n in range(3) if marked(n)]
    system = [p for p in pathlib.Path("/proc").rglob("sys/**/*") if p.is_file()]
    opened = [str(p) for p in system if can_be_written(p)]
    seen = len(places) > 20, "/dev/pts/ptmx" in places
    raise ValueError(f"changed {changed}, opened {opened[:3]}, seen {seen}")
"""


def test_a_worker_can_mark_nothing_but_its_own_folders():
    """A device is the host's own, and root's, who may be grading."""
    message = judged(MARKS)["attention_scores"].message
    own = ["/dev/shm", "/home", "/tmp"]
    assert f"changed {own}, opened [], seen (True, True)" in message


def test_without_namespaces_a_worker_can_set_nothing_of_the_system(together):
    """Root could: there, what /proc/sys says of dumps is a program to run outside."""
    message = judged(MARKS)["attention_scores"].message
    assert "opened [], seen (True, True)" in message
    assert "'/proc" not in message


def test_what_workers_share_is_read_only_where_the_kernel_allows_no_namespaces(monkeypatch):
    commands = []

    def forbidding(course, command=sandbox._bubblewrap):
        commands.append([*command(course), "--unshare-user", "--disable-userns"])
        return commands[-1]

    sandbox._end_kept()
    monkeypatch.setattr(sandbox, "APART", True)
    monkeypatch.setattr(sandbox, "_bubblewrap", forbidding)
    message = judged(MARKS)["attention_scores"].message
    assert "opened [], seen (True, True)" in message
    assert "'/proc" not in message
    assert len(commands) == 2
    assert not sandbox._kept


TRIES = """
import ctypes, os, signal
def is_open(number):
    try:
        os.fstat(number)
        return True
    except OSError:
        return False
def mounted(folder):
    found = os.statvfs(folder)
    return found.f_blocks * found.f_frsize, found.f_files, found.f_flag & 7
files = [number for number in range(500) if is_open(number)]
signals = signal.set_wakeup_fd(-1), int(signal.getsignal(signal.SIGCHLD))
folders = [mounted(folder) for folder in ("/tmp", "/home", "/dev/shm", "/proc")]
cores = sum(line.startswith("processor") for line in open("/proc/cpuinfo"))
here = os.getcwd()
def tried(name, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    given = [ctypes.c_ulong(a) if isinstance(a, int) else a for a in arguments]
    return name if getattr(libc, name)(*given) != -1 else ""
def attention_scores(q, k):
    done = [
        tried("unshare", 0x10000000),
        tried("mount", b"tmpfs", b"/usr", b"tmpfs", 0, b""),
        tried("umount2", b"/tmp", 2),
        tried("umount2", b"/proc", 2),
        tried("ptrace", 16, 1, 0, 0),
        tried("setns", 0, 0),
        tried("syscall", 250, 0, -3, 1),
        tried("syscall", 425, 8, 0),
    ]
    for process in (0, -1, 1, 2, 3, 4, 5, os.getppid()):
        try:
            os.kill(process, signal.SIGKILL)
        except OSError:
            pass
    text = f"done: {done}, uid {os.getuid()}, pid {os.getpid()}, {sorted(os.listdir('/proc'))}"
    raise ValueError(f"{text}, {files}, {signals}, {folders}, {cores > 0}, {here}")
"""


def test_a_worker_can_neither_reach_others_nor_win_rights():
    judged(HONEST)
    fork_server = kept()
    message = judged(TRIES)["attention_scores"].message
    assert "done: ['', '', '', '', '', '', '', '']" in message
    assert "uid 0" not in message
    assert "pid 1, ['cpuinfo', 'meminfo']" in message
    assert "[0, 1, 2, 3], (-1, 0)" in message  # nothing is the fork server's
    # Bytes, files, and whether it is read-only (1), without setuid (2), without devices (4).
    each = (16 << 20, 10_000, 6)
    assert f"[{each}, {each}, {each}, (4096, " in message
    assert ", 7)], True, /tmp" in message
    assert judged(HONEST)["attention_scores"].status == "passed"
    assert kept() is fork_server


def test_a_fork_server_that_was_killed_is_replaced():
    judged(HONEST)
    fork_server = kept()
    for process in ours():
        process.kill()
    time.sleep(0.5)
    assert judged(HONEST)["attention_scores"].status == "passed"
    assert kept() is not fork_server


ENDLESS = "def stable_softmax(x, dim=-1):\n    while True:\n        pass"


def test_a_fork_server_is_kept_for_the_lesson_and_its_workers_are_not(monkeypatch):
    judged(HONEST)
    fork_server, processes = kept(), {process: process.num_fds() for process in ours()}
    monkeypatch.setattr("attn_lib.grading.submission_judge.CASE_SECONDS", 1.5)
    assert judged(ENDLESS, HONEST)["attention_scores"].status == "passed"
    assert kept() is fork_server
    assert {process: process.num_fds() for process in ours()} == processes
    judged(HONEST, lesson=2)
    assert [*sandbox._kept] == [(course_for(2), False)]
    assert len(ours()) == len(processes)  # that of lesson 1 has ended


def test_a_fork_server_that_hangs_is_ended_with_all_it_started(monkeypatch):
    judged(HONEST, lesson=2)
    monkeypatch.setattr(sandbox, "KILL_SECONDS", 2.0)
    time.sleep(0.5)  # until nothing is under way
    first = psutil.Process(kept()._process.pid)
    hanging = [first, *first.children(recursive=True)]
    for process in hanging:
        process.suspend()
    sandbox._end_kept()
    _gone, alive = psutil.wait_procs(hanging, 5)
    assert not alive


def test_the_processes_go_with_the_one_that_judges():
    endless = "def attention_scores(q, k):\n    while True:\n        pass"
    program = (
        "from attn_lib.grading.grade import worth_points\n"
        "from attn_lib.grading.submission_judge import Judge\n"
        f"judge = Judge([{endless!r}], 1, seed=1)\n"
        "for task in worth_points(1): print(judge.verdict(task), flush=True)"
    )
    judge = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    with judge:
        assert judge.stdout
        judge.stdout.readline()  # the first task is judged; the next one never ends
        started = psutil.Process(judge.pid).children(recursive=True)
        assert started
        time.sleep(0.5)
        judge.kill()
    _gone, alive = psutil.wait_procs(started, 10)
    assert not alive


def test_without_namespaces_each_submission_has_a_sandbox_of_its_own(together):
    message = judged(FOLDERS, LEAVES, LOOKS)["attention_scores"].message
    assert "left-behind" in message
    assert "found []" in judged(FOLDERS, LOOKS)["attention_scores"].message
    assert not sandbox._kept


def test_without_namespaces_the_hostile_gain_nothing_either(together):
    kills, reads = (
        HOSTILE[f"{does} its parents"] for does in ("kills", "reads the environment of")
    )
    both = kills.cell, reads.cell.replace("def stable_softmax(x", "def attention_scores(x")
    verdicts = judged(*both)
    assert not any(verdict.points for verdict in verdicts.values())
    assert "found=False" in verdicts["attention_scores"].message


def test_a_worker_that_stops_itself_is_ended_too(monkeypatch):
    monkeypatch.setattr("attn_lib.grading.submission_judge.CASE_SECONDS", 2.0)
    before = {process.pid for process in psutil.process_iter()}
    stops = (
        "import os\ndef attention_scores(q, k):\n    os.kill(os.getpid(), 19)\n    return q"
    )
    verdicts = judged(stops, unsafe=True)
    assert "ran too long" in verdicts["attention_scores"].message
    sandbox._end_kept()
    stopped = [
        process
        for process in psutil.process_iter(["pid", "status"])
        if process.info["pid"] not in before
        and process.info["status"] == psutil.STATUS_STOPPED
    ]
    assert not stopped


def test_the_course_is_hidden_wherever_it_lies_in_what_is_shown(monkeypatch, tmp_path):
    clone, packages = tmp_path / "course", "lib/python3.11/site-packages"
    for name in (
        "pyproject.toml", ".git/objects", "attn_lib/masks.py", "solutions/01.ipynb", "submitted/ada.ipynb",
        "bin/python", f"{packages}/torch.py", f"{packages}/attn_lib/masks.py",
    ):  # fmt: skip
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / name).touch()
    monkeypatch.setattr(sandbox, "PACKAGE", clone / "attn_lib")
    monkeypatch.setattr(sys, "prefix", str(clone))  # python -m venv .
    inside = [*sandbox._bubblewrap(tmp_path), "/usr/bin/find", str(clone), "-type", "f"]
    seen = subprocess.run(inside, capture_output=True, text=True, check=True).stdout
    assert set(seen.split()) == {f"{clone}/bin/python", f"{clone}/{packages}/torch.py"}


def test_an_old_bubblewrap_is_told_from_one_that_is_not_allowed(monkeypatch, tmp_path):
    bwrap = tmp_path / "bwrap"
    said = "for n in 1 2 3 4 5 6 7 8 9 0; do printf '%0100d' 0 >&2; done; echo 'Unknown option --size' >&2"
    bwrap.write_text(f"#!/bin/sh\n{said}\nexit 1\n")
    bwrap.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    pattern = r": 0{300,500}Unknown option --size\. Version 0\.7"
    with pytest.raises(sandbox.NoSandbox, match=pattern):
        sandbox.check_sandbox()
