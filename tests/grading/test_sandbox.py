"""The fork server: workers that know nothing of each other, and leave nothing behind."""

import subprocess
import sys
import time

import psutil
import pytest

from attn_lib.grading import sandbox
from attn_lib.grading.submission_judge import Judge
from attn_lib.grading.visible_course import course_for
from tests.grading.hostile import HONEST, HOSTILE

pytestmark = [pytest.mark.usefixtures("sandbox_works"), pytest.mark.slow]


def kept():
    """The fork server that is kept for the next submission."""
    [fork_server] = sandbox._kept.values()
    return fork_server


def ours():
    """The processes that this one has started, and those that they started, with nothing under way."""
    time.sleep(0.5)
    return psutil.Process().children(recursive=True)


def judged(*cells, lesson=1):
    verdicts = Judge(list(cells), lesson, seed=3).verdicts()
    return {verdict.task: verdict for verdict in verdicts}


@pytest.fixture
def together(monkeypatch):
    """As on a system that allows no namespaces within the sandbox."""
    sandbox._end_kept()
    monkeypatch.setattr(sandbox, "APART", False)
    yield
    sandbox._end_kept()


def test_a_fork_server_is_kept_for_the_next_submission_and_its_workers_are_not():
    judged(HONEST)
    fork_server, processes = kept(), ours()
    assert judged(HONEST)["attention_scores"].status == "passed"
    assert kept() is fork_server
    assert set(ours()) == set(processes)


def test_a_fork_server_that_was_killed_is_replaced():
    judged(HONEST)
    fork_server = kept()
    for process in ours():
        process.kill()
    time.sleep(0.5)
    assert judged(HONEST)["attention_scores"].status == "passed"
    assert kept() is not fork_server


def test_another_lesson_gets_a_fork_server_of_its_own_and_the_old_one_ends():
    judged(HONEST)
    count = len(ours())
    judged(HONEST, lesson=2)
    assert len(ours()) == count
    [(course, unsafe)] = sandbox._kept
    assert (course, unsafe) == (course_for(2), False)


FOLDERS = """
import pathlib, sys
FOLDERS = ["/tmp", "/home", "/dev/shm", "/dev", "/proc", "/course"]
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


TRIES = """
import ctypes, os, signal
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
    raise ValueError(f"done: {done}, uid {os.getuid()}, pid {os.getpid()}, {sorted(os.listdir('/proc'))}")
"""


def test_a_worker_can_neither_reach_others_nor_win_rights():
    judged(HONEST)
    fork_server = kept()
    message = judged(TRIES)["attention_scores"].message
    assert "done: ['', '', '', '', '', '', '', '']" in message
    assert "pid 1, ['cpuinfo', 'meminfo']" in message
    assert judged(HONEST)["attention_scores"].status == "passed"
    assert kept() is fork_server


def test_the_processes_go_with_the_one_that_judges():
    endless = "def attention_scores(q, k):\n    while True:\n        pass"
    program = (
        "from attn_lib.grading.submission_judge import Judge\n"
        f"for _ in Judge([{endless!r}], 1, seed=1).verdicts(): print(_.task, flush=True)"
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


# ------------------------------------- where the kernel allows no namespaces within the sandbox


def test_without_namespaces_each_submission_has_a_sandbox_of_its_own(together):
    assert judged(HONEST)["attention_scores"].status == "passed"
    assert not sandbox._kept
    message = judged(FOLDERS, LEAVES, LOOKS)["attention_scores"].message
    assert "left-behind" in message
    assert "found []" in judged(FOLDERS, LOOKS)["attention_scores"].message


@pytest.mark.parametrize(
    "name",
    ["kills its parents", "exit in an answer", "endless loop that ignores signals",
     "fork storm", "writes to the judge", "reads the environment of its parents"],
)  # fmt: skip
def test_without_namespaces_the_hostile_gain_nothing_either(name, together, monkeypatch):
    monkeypatch.setattr("attn_lib.grading.submission_judge.CASE_SECONDS", 2.5)
    verdicts = judged(*HOSTILE[name], HONEST)
    earned = {task for task, verdict in verdicts.items() if verdict.points}
    assert earned <= {"attention_scores"}
    assert all(verdict.message for verdict in verdicts.values())


def test_a_worker_that_stops_itself_is_ended_too(monkeypatch):
    monkeypatch.setattr("attn_lib.grading.submission_judge.CASE_SECONDS", 2.0)
    before = {process.pid for process in psutil.process_iter()}
    stops = (
        "import os\ndef attention_scores(q, k):\n    os.kill(os.getpid(), 19)\n    return q"
    )
    verdicts = Judge([stops], 1, seed=3, unsafe=True).verdicts()
    assert "ran too long" in {v.task: v for v in verdicts}["attention_scores"].message
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


def test_a_sandbox_that_does_not_start_says_why(monkeypatch, tmp_path):
    (tmp_path / "attn_lib").mkdir()
    with pytest.raises(sandbox.NoSandbox, match="No module named"):
        sandbox.ForkServer(tmp_path)


def test_an_old_bubblewrap_is_told_from_one_that_is_not_allowed(monkeypatch, tmp_path):
    bwrap = tmp_path / "bwrap"
    bwrap.write_text("#!/bin/sh\necho 'bwrap: Unknown option --size' >&2\nexit 1\n")
    bwrap.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(sandbox.NoSandbox, match=r"Unknown option --size.* Version 0\.7"):
        sandbox.check_sandbox()
