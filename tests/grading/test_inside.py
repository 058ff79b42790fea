"""The sandbox from outside: what it shows, how its processes are spoken to, and when they are given up.

No process of a learner runs here, and bubblewrap is not needed.
"""

import contextlib
import inspect
import math
import os
import signal
import socket
import struct
import sys
import time
from functools import partial
from types import SimpleNamespace

import pytest

from attn_lib.checks.case import Case
from attn_lib.checks.task import find_task, tasks
from attn_lib.grading import doctor, fork_server, grade, inside_checks, sandbox
from attn_lib.grading import submission_judge as judging
from attn_lib.grading.batch import grade_class
from attn_lib.grading.definitions import definitions
from attn_lib.grading.sandbox import Died, ForkServer, NoSandbox, Sandbox, start
from attn_lib.grading.submission_judge import Judge
from attn_lib.grading.visible_course import course_for
from tests.grading.judging import SOFTMAX, notebook


@pytest.fixture(autouse=True)
def ends():
    """End a test that waits for ever."""

    def late(*_):
        raise AssertionError("it does not end")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    "function",
    [grade.grade_submission, Judge, start, ForkServer, grade_class, doctor.examine],
)
def test_what_is_unsafe_or_strict_must_be_asked_for(function):
    given = inspect.signature(function).parameters
    assert given["unsafe"].default is False
    assert "strict" not in given or given["strict"].default is False


def test_nothing_is_graded_without_a_sandbox_unless_it_is_said(monkeypatch):
    def missing():
        raise NoSandbox("missing")

    monkeypatch.setattr(grade, "check_sandbox", missing)
    grade._sandbox_works.cache_clear()
    with pytest.raises(NoSandbox):
        grade.grade_submission(notebook(SOFTMAX), 1, seed=0)


def test_inside_a_check_says_nothing_and_gives_nothing():
    said = inside_checks.check("attention", None)
    assert (said.status, said.points, said.inputs) == ("not attempted", 0, {})
    assert (said.message, said.mistake) == ("", None)
    assert inside_checks.grade("attention", None, seed=3) == 0


def test_the_course_inside_holds_what_was_taught_and_no_more():
    inside = course_for(4) / "attn_lib"
    there = {path.relative_to(inside).as_posix() for path in inside.rglob("*")}
    shown = {"masks.py", "multi_head.py", "plotting/__init__.py", "data/__init__.py"}
    assert shown | {"tasks/lesson_03/merge_heads.py"} <= there
    assert not there & {"grouped_query.py", "kv_cache.py", "models", "checks/judge.py"}
    own = {"__init__", "confine", "definitions", "fork_server", "wire", "worker"}
    for folder, names in (("tasks/lesson_04/", {"__init__", "runs"}), ("grading/", own)):
        of_folder = {name for name in there if name.startswith(folder)}
        assert of_folder == {f"{folder}{name}.py" for name in names}
    assert not [name for name in there if "__pycache__" in name]
    assert "Say nothing" in (inside / "checks" / "__init__.py").read_text()
    assert {p.read_text() for p in inside.glob("tasks/lesson_*/__init__.py")} == {""}


def test_of_an_installed_course_only_the_package_is_hidden(tmp_path, monkeypatch):
    packages = tmp_path / "lib/python3.11/site-packages"
    package = packages / "attn_lib"
    package.mkdir(parents=True)
    monkeypatch.setattr(sandbox, "PACKAGE", package)
    assert sandbox._secrets([tmp_path]) == [package]
    assert sandbox._secrets([tmp_path / "elsewhere"]) == []
    link = tmp_path / "lib64/python3.11/site-packages/attn_lib"
    link.parent.mkdir(parents=True)
    link.symlink_to(package)
    assert sandbox._secrets([tmp_path]) == [package]
    (packages / "pyproject.toml").touch()  # a clone
    assert sandbox._secrets([tmp_path]) == [packages, package]


@pytest.fixture
def fake_python(tmp_path, monkeypatch):
    """Let a shell script stand in for Python."""

    def put(script):
        program = tmp_path / "python"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(program))
        return tmp_path

    return put


def test_a_process_that_never_gets_ready_is_given_up(fake_python, monkeypatch):
    monkeypatch.setattr(sandbox, "START_SECONDS", 0.3)
    begun = time.monotonic()
    with pytest.raises(NoSandbox, match="does not start"):
        ForkServer(fake_python("exec sleep 25"), unsafe=True)
    assert time.monotonic() - begun < 20


def test_a_machine_that_is_full_is_told_from_a_sandbox_that_does_not_work(
    fake_python, tmp_path, monkeypatch
):
    said = "bwrap: Creating new namespace failed: Resource temporarily unavailable"
    script = f"echo '{said}' >&2; exit 1"
    with pytest.raises(sandbox.NoRoom):
        ForkServer(fake_python(script), unsafe=True)
    (tmp_path / "python").rename(tmp_path / "bwrap")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(sandbox.NoRoom):
        sandbox.check_sandbox()


def test_a_process_that_ends_at_once_says_why(fake_python):
    script = "for n in $(seq 300); do echo 'long before' >&2; done; printf '\\377 wrong\\n\\n' >&2"
    with pytest.raises(NoSandbox) as raised:
        ForkServer(fake_python(script), unsafe=True)
    assert str(raised.value).endswith("\ufffd wrong")
    assert len(str(raised.value)) < 1100


@pytest.mark.filterwarnings("ignore:.*multi-threaded")
@pytest.mark.parametrize("refused", ["leave", "use_own_folders"])
def test_it_is_tried_whether_the_kernel_allows_namespaces(refused, monkeypatch):
    def refuse():
        raise OSError(1, "Operation not permitted")

    me = os.getpid()
    monkeypatch.setattr(fork_server, "leave", lambda: None)
    monkeypatch.setattr(fork_server, "use_own_folders", lambda: None)
    with contextlib.suppress(OSError):
        can = fork_server.can_part()
        monkeypatch.setattr(fork_server, refused, refuse)
        cannot = fork_server.can_part()
    if os.getpid() != me:  # a child has come back
        os._exit(0)
    assert (can, cannot) == (True, False)


class Server(ForkServer):
    """Stands in for the process that starts workers."""

    def __init__(self, lasts=True):
        self.lasts, self.closed = lasts, 0

    def close(self):
        self.closed += 1


@pytest.fixture
def worker(monkeypatch):
    """A worker, the other end of its channel, and that of its supervisor's line."""
    monkeypatch.setattr(sandbox, "START_SECONDS", 0.3)
    monkeypatch.setattr(sandbox, "KILL_SECONDS", 0.7)
    channel, theirs = socket.socketpair()
    line, supervisor = socket.socketpair()
    yield Sandbox(Server(), channel, line), theirs, supervisor
    for one in (channel, theirs, line, supervisor):
        one.close()


def test_a_worker_that_never_says_that_it_is_ready_is_given_up(worker):
    box, _, supervisor = worker
    with pytest.raises(Died, match="it ran too long"):
        box.greet()
    supervisor.settimeout(0)
    assert supervisor.recv(1) == b""  # it was asked to kill it
    assert box._fork_server.closed == 1  # and said nothing


def test_a_fork_server_for_one_worker_ends_with_it(worker):
    box, theirs, supervisor = worker
    box._fork_server.lasts = False
    supervisor.sendall(struct.pack("<i", -11))
    theirs.close()
    with pytest.raises(Died, match=r"ended the process \(exit status -11\)"):
        box.hear(time.monotonic() + 5)
    assert box.close() == box.close() == -11
    assert box._fork_server.closed == 1


def test_a_worker_that_takes_nothing_is_given_up(worker):
    box, _, supervisor = worker
    supervisor.sendall(struct.pack("<i", 0))
    with pytest.raises(Died, match="it ran too long"):
        box.ask({}, [bytes(50 << 20)], time.monotonic() + 0.3)


def test_a_channel_is_waited_for_until_the_deadline(monkeypatch):
    clock = [1.0]
    monkeypatch.setattr(sandbox, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    waits = []
    channel = SimpleNamespace(settimeout=waits.append, sendall=len, recv=bytes)
    until = sandbox._Until(channel, 6.0)
    for clock[0] in (1.0, 4.0):
        until.write(b"x")
        assert until.read(3) == bytes(3)
    assert waits == [5.0, 5.0, 2.0, 2.0]
    clock[0] = 6.0
    for late in (partial(until.write, b"x"), partial(until.read, 3)):
        with pytest.raises(TimeoutError):
            late()


def test_a_step_has_the_time_that_the_task_and_the_whole_have_left(monkeypatch):
    monkeypatch.setattr(judging, "time", SimpleNamespace(monotonic=lambda: 1000.0))
    judge = Judge([], 1, seed=0)
    assert judge._end(1e9) == 1300
    for name in ("end", "task_end"):
        judge.end = judge.task_end = 1100
        setattr(judge, name, 1010)
        assert (judge._end(5), judge._end(20)) == (1005, 1010)
        setattr(judge, name, 1000)
        with pytest.raises(Died, match="too long altogether"):
            judge._end(20)


def test_each_task_of_each_submission_has_a_seed_that_depends_on_all_of_the_private_one():
    made = [(SOFTMAX, 1), ("x = 1", 1), (SOFTMAX, 2), (SOFTMAX, 1 + 2**100)]
    seeds = [Judge([cell], 1, seed=s)._seed(t) for cell, s in made for t in tasks()[:9]]
    assert len({*seeds}) == 4 * 9
    assert seeds[:9] == [Judge([SOFTMAX], 1, seed=1)._seed(task) for task in tasks()[:9]]
    assert 2**30 < max(seeds) < 2**32  # of 32 bits: PyTorch uses no more


class Played:
    """Stands in for a worker: says what is written down, then dies."""

    def __init__(self, *said):
        self.said, self.asked, self.closed, self.ends = list(said), [], False, []

    def ask(self, header, blobs, end):
        self.asked.append(header)
        self.ends.append(end)

    def hear(self, end):
        self.ends.append(end)
        if not self.said:
            raise Died("it ended")
        return self.said.pop(0), memoryview(b"")

    def close(self):
        self.closed = True


@pytest.fixture
def started(monkeypatch):
    """Let a judge of cells be started with played workers; return it, and why it did not start."""

    def judge(cells, *players, read=True):
        waiting = list(players)
        monkeypatch.setattr(judging, "start", lambda course, *, unsafe: waiting.pop(0))
        judge = Judge(["x"] * cells, 1, seed=0)
        judge.defined = [{}] * cells if read else []
        judge.end = judge.task_end = time.monotonic() + 20
        try:
            return judge, judge._start()
        except Died as death:
            return judge, str(death)

    return judge


def test_a_cell_that_ends_the_process_is_left_out_of_the_next(started):
    first, second = Played({"cell": 0}), Played({"cell": 1}, {"defined": ["x"]})
    judge, sandbox = started(2, first, second)
    assert sandbox is second
    assert (judge.there, judge.fatal) == ({"x"}, {0: "it ended"})
    assert [asked["skip"] for asked in first.asked + second.asked] == [[], [0]]
    assert (first.closed, second.closed) == (True, False)
    assert {*first.ends, *second.ends} == {judge.end}


def test_cells_that_end_the_process_which_reads_them_are_run_nevertheless(started):
    read = Played({"read": [{"x": {}}]}, {"cell": 0}, {"defined": ["x"]})
    for players in ([read], [Played(), Played({"defined": ["x"]})]):
        judge, sandbox = started(1, *players, read=False)
        assert (sandbox, judge.there, judge.fatal) == (players[-1], {"x"}, {})
        assert [*players[0].asked[0]] == ["read", "wanted"]
        assert judge.defined == ([{"x": {}}] if len(players) == 1 else [{}])


@pytest.mark.parametrize(
    "nonsense",
    [
        *({"cell": number} for number in (math.inf, "one", 10**9, -1, 10**4299)),
        [1, 2],
        None,
    ],
)
def test_a_worker_that_sends_nonsense_while_cells_run_is_ended(started, nonsense):
    first, second = Played({"cell": 0}, nonsense), Played({"defined": []})
    judge, _ = started(1, first, second)
    assert (first.closed, [*judge.fatal]) == (True, [0])


def test_a_process_that_ends_again_and_again_is_given_up(started):
    for said, starts in ((), 1), (({"cell": 0},), 2):  # before any cell, or at one left out
        players = [Played(*said) for _ in range(3)]
        assert started(1, *players)[1] == "it ended"
        assert [player.closed for player in players].count(True) == starts
    judge, death = started(20, *[Played({"cell": n}) for n in range(20)])
    assert death == "too many of its cells end the process"
    assert len(judge.fatal) == judging.RESTARTS


def test_more_messages_than_cells_can_send_are_too_many(started):
    first = Played(*[{"cell": 0}] * 9)
    judge, _ = started(1, first, Played({"defined": []}))
    assert judge.fatal == {0: "it sent too many messages"}
    assert len(first.said) == 9 - 3  # it begins, it is done, all are done


def test_broken_cells_after_the_last_answer_are_not_named():
    judge = Judge([SOFTMAX, "1 / 0", "def attention(q): 1", "import nothing"], 1, seed=0)
    judge.broken = {1: "ZeroDivisionError", 3: "ModuleNotFoundError"}
    assert (
        judge.failed_cells()
        == "Code cell 2 raised “ZeroDivisionError” (it begins “1 / 0”)."
    )


def test_the_first_three_broken_cells_are_named():
    judge = Judge(["a", "\nb\nb", "c", "d", "e", "f"], 1, seed=0)
    judge.broken = dict(enumerate("ABC"))
    assert (
        judge.failed_cells()
        == "Code cell 1 raised “A” (it begins “a”). Code cell 2 raised “B” (it begins “b”). "
        "Code cell 3 raised “C” (it begins “c”)."
    )
    judge.broken = dict(enumerate("ABCDE")) | {5: "NotImplementedError"}
    assert judge.failed_cells().endswith("(it begins “c”). So did 2 more.")


@pytest.mark.parametrize(
    ("cell", "status"), [("attention = 1 / 0", "error"), ("1 / 0", "not attempted")]
)
def test_of_an_answer_that_is_missing_the_cells_that_stopped_are_named(cell, status):
    judge = Judge([cell, "import os"], 1, seed=0)
    judge.sandbox, judge.broken, judge.fatal = Played(), {0: "A"}, {1: "it ended"}
    verdict = judge.verdict(find_task("attention"))
    assert (verdict.status, verdict.points, verdict.max_points) == (status, 0, 3)
    cells = (
        f"Code cell 2 was left out: it ended. Code cell 1 raised “A” (it begins “{cell}”)."
    )
    assert verdict.evidence == f"Nothing in the notebook is named `attention`. {cells}"


def test_an_outcome_that_takes_the_judge_too_long_does_not_count(monkeypatch):
    monkeypatch.setattr(judging, "unpack_outcome", lambda *_: time.sleep(0.3))
    with pytest.raises(Died, match="too long"):
        judging._observe(
            Played({}), find_task("attention"), Case("", ()), time.monotonic() + 0.2
        )


def test_only_the_places_of_a_list_can_be_new_among_the_arguments():
    lists = {"0", "1.x"}
    for name in ("0.0", "0.99999", "1.x.3"):
        assert judging._is_item(name, lists)
    for name in ("0", "2.0", "0.x", "0.²", "0.100000", "0.-1", "0."):
        assert not judging._is_item(name, lists)


@pytest.fixture
def failing(monkeypatch):
    """Let the first judge fail on each verdict; return the class of judges, which has those made."""

    class Failing(Judge):
        error = RuntimeError("a flaw")
        made = []  # noqa: RUF012
        closed = 0

        def __init__(self, *given, **options):
            super().__init__(*given, **options)
            self.made.append(self)

        def verdict(self, task):
            if not self.made[1:]:
                raise self.error
            return SimpleNamespace(status="passed")

        def close(self):
            self.closed += 1

    monkeypatch.setattr(grade, "Judge", Failing)
    return Failing


def test_a_flaw_of_the_judge_is_said_and_each_task_gets_a_new_process(failing):
    report = grade.grade_submission(notebook(SOFTMAX), 1, seed=3, unsafe=True)
    assert "The judge failed on it (RuntimeError: a flaw)" in report.problem
    assert [task.status for task in report.tasks] == [grade.NOT_GRADED] * 4
    assert [judge.closed for judge in failing.made] == [4 + 1]
    assert grade._passes(failing.made[0], "attention") is False


def test_trouble_of_this_machine_is_no_verdict(failing):
    failing.error = OSError(28, "No space left on device")
    with pytest.raises(OSError, match="No space"):
        grade.grade_submission(notebook(SOFTMAX), 1, seed=3, unsafe=True)
    with pytest.raises(OSError, match="No space"):
        grade._passes(failing.made[0], "attention")


def test_what_is_judged_again_is_judged_alike_and_in_the_same_time(failing):
    code = "def attention(q, k, v): return stable_softmax(attention_scores(q, k)) @ v"
    first = failing(["import os", "attention_scores = 3", code], 1, seed=3, unsafe=True)
    first.end, first.fatal = 12345.0, {1: "it ended the process"}
    first.defined = [definitions(cell) for cell in first.cells]
    names = "stable_softmax", "attention"
    wrong = [grade.TaskResult(name, "wrong", 0, 3, message="Not yet") for name in names]
    _, again = grade._carried_forward(first, wrong)
    assert (again.status, again.points) == (grade.CARRIED, 3)
    second = failing.made[1]
    assert (second.key, second.unsafe, second.end) == (first.key, True, 12345.0)
    assert "attention_scores = 3" not in second.cells
