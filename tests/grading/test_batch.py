"""A class is graded whole: whoever handed in what, whatever dies, wherever it runs."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from filelock import FileLock, Timeout

from attn_lib.grading import workers
from attn_lib.grading.batch import NO_LESSON, Busy, alone, grade_class, handed_in
from attn_lib.grading.find import find, passed_over, read
from attn_lib.grading.grade import grade_submission
from attn_lib.grading.keep import course_version
from attn_lib.grading.reports import grades_csv
from attn_lib.grading.workers import Job, OtherVersion, on_cluster, on_this_machine, work
from tests.grading.fakes import as_told, begin_as_told, full_marks, never, surroundings

ROOT = Path(__file__).resolve().parents[2]
SOLUTION = (ROOT / "solutions/01_single_head/01_single_head.ipynb").read_bytes()
EXERCISE = (ROOT / "exercises/01_single_head/01_single_head.ipynb").read_bytes()
SOFTMAX = "def stable_softmax(x, dim=-1):\n    return x.softmax(dim)\n"


def notebook(source=SOFTMAX):
    cell = {"cell_type": "code", "source": source, "metadata": {}, "outputs": []}
    return json.dumps({"cells": [cell], "nbformat": 4, "nbformat_minor": 5}).encode()


def class_of(folder, files):
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def told(folder, count, **orders):
    """Make a class of `count` learners, some of whose notebooks order what is to happen."""
    names = [f"l{number}" for number in range(count)]
    files = {
        f"{name}/a.ipynb": notebook(f"{SOFTMAX}# {orders.get(name, 'fine')} {name}")
        for name in names
    }
    return class_of(folder, files)


def test_nothing_temporary_stays_not_even_of_a_run_that_was_killed(tmp_path):
    out = tmp_path / "out"
    (out / ".work/old").mkdir(parents=True)
    folder = class_of(tmp_path / "class", {"ada.ipynb": notebook()})
    assert grade_class(folder, out, seed=0, jobs=1, grade=full_marks)
    assert not (out / ".work").exists()


# ------------------------------------------------------------------------ whose, and of what


@pytest.mark.parametrize(
    ("name", "learner"),
    [
        ("ada/01_single_head/01_single_head.ipynb", "ada"),
        ("ada/my own notebook (1).ipynb", "ada"),
        ("ada/deep/er/x.IPYNB", "ada"),
        ("ada.ipynb", "ada"),
        ("ada_anything_else.ipynb", "ada"),
        ("ada_lovelace_01_single_head.ipynb", "ada_lovelace"),
        ("lovelaceada_LATE_12_345_01_single_head-2.ipynb", "lovelaceada_12"),
        ("hopperg_13_346_answer.ipynb", "hopperg_13"),
        ("anon_x7Yz1_347_answer.ipynb", "anon_x7Yz1"),
        ("LATE_anon_x7Yz1_347_answer.ipynb", "anon_x7Yz1"),
        ("Ada L_77_assignsubmission_file_/x.ipynb", "Ada L_77"),
        ("Ada L_77_assignsubmission_file/x.ipynb", "Ada L_77"),
        ("Ada L_77_assignsubmission_file_01_single_head.ipynb", "Ada L_77"),
        ("李明/x.ipynb", "李明"),
        ("Zoe\u0308.ipynb", "Zo\u00eb"),
        ("Ada\u00a0 Lovelace.ipynb", "Ada Lovelace"),
        ("\u202eada\u200b/x.ipynb", "ada"),
        ("_.ipynb", "_"),
        ("ada.ipynb.ipynb", "ada"),
        ("=cmd()/x.ipynb", "=cmd()"),
        ("ada/only.py", "ada"),
    ],
)
def test_the_learner_is_found(tmp_path, name, learner):
    [file] = find(class_of(tmp_path, {name: notebook()}))
    assert (file.learner, file.lesson, file.problem) == (learner, 1, "")


def test_a_name_that_is_no_text_can_be_printed(tmp_path):
    folder = os.fsencode(tmp_path) + b"/ada\xff\x1b\n\tb"
    os.mkdir(folder)
    [file] = find(tmp_path)
    assert file.learner == "ada\\xff\ufffd\ufffd\ufffdb"


def test_what_nobody_handed_in_is_passed_over(tmp_path):
    junk = (
        ".git/x.ipynb",
        "__MACOSX/ada/._a.ipynb",
        "readme.txt",
        "ada/.ipynb_checkpoints/a.ipynb",
    )
    class_of(tmp_path, dict.fromkeys(junk, notebook()) | {"ada/a.ipynb": notebook()})
    class_of(tmp_path, {"out/feedback/x.ipynb": notebook(), "ada/helper.py": b"import os"})
    assert [file.name for file in find(tmp_path, leave_out=tmp_path / "out")] == [
        "ada/a.ipynb"
    ]
    class_of(tmp_path, {"ada/sub/mine/x.ipynb": notebook()})
    out = tmp_path / "ada/../ada/sub/mine"
    assert [file.name for file in find(tmp_path / "ada/..", leave_out=out)] == [
        "ada/a.ipynb", "out/feedback/x.ipynb"
    ]  # fmt: skip


def test_what_is_passed_over_is_named(tmp_path):
    assert passed_over(tmp_path) == ""
    names = ("ada.zip", "bob.py", "a.txt\x1b", ".DS_Store", "out/x", "eve/a.ipynb")
    class_of(tmp_path, dict.fromkeys(names, b"") | {"fay.ipynb": notebook()})
    (tmp_path / "gus").symlink_to(tmp_path / "eve")
    said = passed_over(tmp_path)
    assert said.endswith("folders: a.txt\ufffd, ada.zip, bob.py, gus.")


def test_names_are_sorted_as_people_sort_them(tmp_path):
    files = dict.fromkeys(("ben.ipynb", "Cy.ipynb", "ada/a.ipynb"), notebook())
    assert [file.learner for file in find(class_of(tmp_path, files))] == [
        "ada",
        "ben",
        "Cy",
    ]


def test_links_and_pipes_are_not_followed(tmp_path):
    folder = class_of(tmp_path / "class", {"ada/a.ipynb": notebook()})
    (folder / "bob").mkdir()
    (folder / "bob/a.ipynb").symlink_to(folder / "ada/a.ipynb")
    (folder / "eve").symlink_to(folder / "ada")
    (folder / "mal").mkdir()
    os.mkfifo(folder / "mal/02_a.ipynb")
    assert [file.lesson for file in find(folder)] == [1, None, 2]
    found = {file.learner: file.problem for file in find(folder)}
    assert found.keys() == {"ada", "bob", "mal"}
    assert not found["ada"]
    assert "link" in found["bob"]
    assert "cannot be read" in found["mal"]


def test_a_folder_without_a_notebook_says_what_there_is(tmp_path):
    class_of(tmp_path, {"ada/answer.pdf": b"%PDF", "eve/deep/answer.pdf": b"%PDF"})
    (tmp_path / "bob").mkdir()
    assert [file.problem for file in find(tmp_path)] == [
        "No notebook was found; there is answer.pdf.",
        "No notebook was found: the folder is empty.",
        "No notebook was found; there is deep/answer.pdf.",
    ]


def test_of_a_file_that_is_too_large_just_enough_is_read_to_tell(tmp_path, monkeypatch):
    monkeypatch.setattr("attn_lib.grading.find.FILE_LIMIT", 100)
    (tmp_path / "a.ipynb").write_bytes(bytes(200))
    assert len(read(tmp_path / "a.ipynb")) == 101


@pytest.mark.parametrize(
    ("name", "data", "lesson"),
    [
        ("ada.ipynb", SOLUTION, 1),
        ("ada_05.ipynb", SOLUTION, 1),
        ("ada.ipynb", notebook("def split_heads(x, n): ...\nattention = 1\ndef merge_heads(x): ..."), 3),
        ("ada.ipynb", notebook("def split_heads(x, n): ...\nattention = 1\nstable_softmax = 2"), 1),
        ("ada.ipynb", notebook("def split_heads(x, n): ...\nattention = 1"), 3),
        ("ada/02_masks/a.ipynb", notebook("x = 1"), 2),
        ("ada/11_efficient_attention.ipynb", b"", 11),
        ("ada/11.ipynb", b"", None),
        ("ada/Lesson 4.ipynb", b"", 4),
        ("ada_exercise2.ipynb", notebook("x = 1"), 2),
        ("student05/a.ipynb", notebook("x = 1"), None),
        ("ada/99_x.ipynb", notebook("x = 1"), None),
    ],
)  # fmt: skip
def test_the_lesson_is_found(tmp_path, name, data, lesson):
    assert [file.lesson for file in find(class_of(tmp_path, {name: data}))] == [lesson]


def test_one_lesson_can_be_asked_for(tmp_path):
    files = {
        "ada/01_x.ipynb": SOLUTION,
        "ada/02_x.ipynb": b"",
        "bob/02_x.ipynb": b"",
        "eve.ipynb": b"",
    }
    found = find(class_of(tmp_path, files), lesson=1)
    assert [(file.learner, file.lesson) for file in found] == [
        ("ada", 1),
        ("bob", 1),
        ("eve", 1),
    ]
    assert found[0].name == "ada/01_x.ipynb"
    assert (
        found[1].problem
        == "No notebook of lesson 1 was found; there is bob/02_x.ipynb (lesson 2)."
    )


def test_two_people_with_one_short_name_are_told_apart(tmp_path):
    class_of(tmp_path, {"ada_byron.ipynb": SOLUTION, "ada_lovelace.ipynb": EXERCISE})
    assert [file.learner for file in find(tmp_path)] == ["ada_byron", "ada_lovelace"]


def test_two_files_of_one_person_in_canvas_stay_together(tmp_path):
    files = dict.fromkeys(("doee_12_345_a.ipynb", "doee_12_346_a.ipynb"), SOLUTION)
    assert [f.learner for f in find(class_of(tmp_path, files))] == ["doee_12"] * 2


def test_the_latest_notebook_that_can_be_read_counts(tmp_path):
    names = ("ada/x.ipynb", "ada/x (2).ipynb", "ada/x (10).ipynb", "ada/old.ipynb")
    class_of(tmp_path, dict.fromkeys(names, notebook()) | {"ada/z.ipynb": b""})
    for name in (*names, "ada/z.ipynb"):
        os.utime(tmp_path / name, (1e9, 1e9 - ("old" in name)))
    [(_, _, files)] = handed_in(find(tmp_path, lesson=1))
    order = [file.path.stem for file in files]
    assert order == ["x (10)", "x (2)", "x", "old", "z"]


def test_what_one_learner_handed_in_for_one_lesson_stays_together(tmp_path):
    lessons = {
        "a": SOFTMAX,
        "b": "x = 1",
        "c": SOFTMAX,
        "d": "masked_softmax = 1",
        "e": SOFTMAX,
    }
    class_of(tmp_path, {f"ada/{n}.ipynb": notebook(code) for n, code in lessons.items()})
    found = [(lesson, len(files)) for _, lesson, files in handed_in(find(tmp_path))]
    assert found == [(None, 1), (1, 3), (2, 1)]


def test_canvas_says_in_the_name_who_was_late(tmp_path):
    names = ("lovelaceada_LATE_12_345_x.ipynb", "hopperg_13_346_x.ipynb", "ada.ipynb")
    found = find(class_of(tmp_path, dict.fromkeys(names, notebook())))
    assert {file.learner: file.on_time for file in found} == {
        "lovelaceada_12": False, "hopperg_13": True, "ada": None,
    }  # fmt: skip


def test_a_date_beside_a_notebook_is_when_it_was_handed_in(tmp_path):
    stamps = {
        "ada/01": "2026-10-01 18:30:00 UTC\n",
        "Ada L_77_assignsubmission_file_": "2026-10-01 18:30:00 UTC\n",
        "bob": "yesterday",
        "eve": "2026-10-01 18:30:00+02:00",
        "fay": "2026-10-01 18:30:00",
    }
    for place, stamp in stamps.items():
        files = {"timestamp.txt": stamp.encode(), "a.ipynb": SOLUTION}
        class_of(tmp_path / place, files)
        os.utime(tmp_path / place / "a.ipynb", (1e9, 1e9 + 0.25))
    found = {file.learner: file for file in find(tmp_path)}
    assert (
        {name: file.modified for name, file in found.items()}
        == {
            "ada": "2026-10-01T18:30:00+00:00",
            "Ada L_77": "2001-09-09T01:46:40+00:00",  # Moodle's folder holds what is the learner's
            "bob": "2001-09-09T01:46:40+00:00",
            "eve": "2026-10-01T16:30:00+00:00",
            "fay": "2026-10-01T18:30:00+00:00",
        }
    )
    assert found["ada"].dated_by == "timestamp.txt"
    assert found["bob"].dated_by == "the date of the file"
    assert "(Invalid isoformat string: 'yesterday')" in found["bob"].note


# --------------------------------------------------------------------------------- grading


@pytest.mark.usefixtures("sandbox_works")
@pytest.mark.slow
def test_a_mixed_class_is_graded_and_kept(tmp_path, capsys):
    folder = class_of(
        tmp_path / "class",
        {
            "ada/01_single_head/01_single_head.ipynb": SOLUTION,
            "bob/renamed.ipynb": EXERCISE,
            "eve/a.ipynb": EXERCISE,
            "eve/b.ipynb": SOLUTION,
            "=cmd()/01.ipynb": b"",
            "李明_01_single_head.ipynb": SOLUTION,
            "cut.ipynb": SOLUTION[:500],
            "dead.ipynb": notebook("import os\nos._exit(0)\n#\ndef stable_softmax(x): ..."),
            "half.ipynb": notebook(),
        },
    )
    rows = grade_class(folder, tmp_path / "out", seed=3, jobs=2)
    points = {row.learner: row.report and row.report.points for row in rows}
    assert points == {
        "ada": 10, "bob": 0, "eve": 10, "=cmd()": 0, "李明": 10, "cut": None, "dead": 0, "half": 2,
    }  # fmt: skip
    notes = {row.learner: row.problem or row.note for row in rows}
    assert notes["eve"] == (
        "2 notebooks were handed in. Only the latest is graded: eve/b.ipynb, not eve/a.ipynb."
    )
    assert "cut off" in notes["cut"]
    assert "empty" in notes["=cmd()"]
    assert "100%" in capsys.readouterr().err

    again = grade_class(folder, tmp_path / "out", seed=3, jobs=1, grade=never)
    assert grades_csv(again) == grades_csv(rows)


def test_a_change_of_the_seed_or_of_the_file_grades_anew(tmp_path, capsys):
    folder = told(tmp_path / "class", 2)
    grade_class(folder, tmp_path / "out", seed=3, jobs=1, grade=full_marks)
    assert "100%" in capsys.readouterr().err
    assert not any(
        row.again for row in grade_class(folder, tmp_path / "out", seed=3, grade=never)
    )
    assert "2/2" in capsys.readouterr().err
    assert all(
        row.again for row in grade_class(folder, tmp_path / "out", seed=4, grade=never)
    )
    (folder / "l1/a.ipynb").write_bytes(notebook(SOFTMAX + "\n"))
    rows = grade_class(folder, tmp_path / "out", seed=3, grade=never)
    assert [row.again for row in rows] == [False, True]


def test_what_cannot_be_graded_has_a_line_that_says_so_and_is_not_tried(tmp_path):
    files = {"ada.ipynb": notebook("x = 1"), "bob.ipynb": b"", "eve_01.ipynb": b"{"}
    folder = class_of(tmp_path / "class", files)
    rows = grade_class(folder, tmp_path / "deep/out", seed=3, jobs=1, grade=never)
    assert [(row.lesson, row.again) for row in rows] == [
        (None, False),
        (None, False),
        (1, False),
    ]
    assert [row.problem for row in rows[:2]] == [NO_LESSON, "The file is empty (0 bytes)."]
    assert [row.report is None for row in rows] == [True, True, False]


@pytest.mark.parametrize(("jobs", "processes"), [(0, 3), (2, 2), (9, 4)])
def test_as_many_processes_as_cores_or_as_asked_for_but_not_more_than_work(
    tmp_path, monkeypatch, jobs, processes
):
    given = {}

    def here(todo, read, **options):
        given.update(options, todo=len(todo))
        return iter(())

    monkeypatch.setattr("attn_lib.grading.batch.on_this_machine", here)
    monkeypatch.setattr("attn_lib.grading.batch.cores", lambda: 3)
    monkeypatch.setattr("attn_lib.grading.batch._rows", lambda *_: [])
    folder = told(tmp_path / "class", 4)
    grade_class(folder, tmp_path / "out", seed=3, **({"jobs": jobs} if jobs else {}))
    assert given == {
        "todo": 4, "processes": processes, "folder": tmp_path / "out/.work",
        "seed": 3, "unsafe": False, "grade": grade_submission,
    }  # fmt: skip


def test_a_cluster_is_used_if_its_address_is_given(tmp_path, monkeypatch):
    given = {}

    def there(todo, read, **options):
        given.update(options)
        return (
            workers.Done(job, full_marks(read(job), job.lesson, seed=3)) for job in todo
        )

    monkeypatch.setattr("attn_lib.grading.batch.on_cluster", there)
    folder = told(tmp_path / "class", 1)
    [row] = grade_class(folder, tmp_path / "out", seed=3, dask="tcp://x:1", unsafe=True)
    assert row.points == 10
    assert given == {
        "address": "tcp://x:1", "seed": 3, "unsafe": True, "grade": grade_submission
    }  # fmt: skip


def test_the_cores_are_those_that_this_process_may_use(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {pid, 3, 5}, raising=False)
    assert workers.cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    for known, count in ((6, 6), (None, 1)):
        monkeypatch.setattr(os, "cpu_count", lambda known=known: known)
        assert workers.cores() == count


def test_a_worker_grades_with_one_thread_and_as_it_is_told():
    def graded(*given, **options):
        return given, options, torch.get_num_threads()

    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        given = work(course_version(), graded, b"x", 1, 3, True)
    finally:
        torch.set_num_threads(before)
    assert given == ((b"x", 1), {"seed": 3, "unsafe": True}, 1)


def test_a_process_has_its_own_folder_and_is_deaf_to_ctrl_c(tmp_path, request):
    # A shell that starts tests in the background has them ignore Ctrl-C.
    inherited = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, inherited))
    options = {"seed": 3, "unsafe": False, "processes": 1, "folder": tmp_path}
    jobs = [Job("", told(tmp_path, 1) / "l0/a.ipynb", 1)]
    [done] = on_this_machine(jobs, lambda job: b"", **options, grade=surroundings)
    assert done.report == (str(tmp_path), signal.SIG_IGN)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_process_that_dies_takes_nothing_with_it(tmp_path):
    orders = {"l1": "die", "l3": f"die-once {tmp_path / 'flag'} ", "l5": "fail"}
    folder, out = told(tmp_path / "class", 7, **orders), tmp_path / "out"
    graded = grade_class(folder, out, seed=3, jobs=2, grade=as_told)
    rows = {row.learner: row for row in graded}
    assert (tmp_path / "flag").exists()
    failed = {name for name, row in rows.items() if row.problem}
    assert failed == {"l1", "l5"} == {name for name, row in rows.items() if row.again}
    assert rows["l1"].problem == workers.ENDED
    assert "no space left" in rows["l5"].problem
    assert all(row.report.points == 10 for name, row in rows.items() if name not in failed)
    # What failed here is graded again; the rest is kept.
    rows = grade_class(folder, out, seed=3, jobs=2, grade=full_marks)
    assert [row.report.points for row in rows] == [10] * 7


@pytest.mark.parametrize("deaths", [1, 40])
def test_a_process_that_dies_while_it_starts_does_not_end_the_class(
    tmp_path, monkeypatch, deaths
):
    monkeypatch.setattr(workers, "_answer", begin_as_told)
    folder = told(tmp_path / "class", 2)
    for number in range(deaths):
        (tmp_path / f"die-at-start-{number}").touch()
    rows = grade_class(folder, tmp_path / "out", seed=3, jobs=2, grade=full_marks)
    failed = [row.problem for row in rows if row.again]
    assert failed == ([workers.ENDED] * 2 if deaths == 40 else [])


def test_a_file_that_changes_meanwhile_is_not_kept_under_a_wrong_name(tmp_path):
    def changed(job):
        raise OSError("the file was changed")

    options = {"seed": 3, "unsafe": False, "processes": 1, "folder": tmp_path}
    [done] = on_this_machine([Job("0" * 64, tmp_path, 1)], changed, **options)
    assert done.report is None
    assert "changed" in done.failure


def test_only_one_run_writes_to_a_folder(tmp_path):
    (tmp_path / "out").mkdir()
    with FileLock(tmp_path / "out" / ".lock"), pytest.raises(Busy, match="Another run"):
        grade_class(tmp_path, tmp_path / "out", seed=3)
    with alone(tmp_path / "out"):
        assert grade_class(tmp_path / "out", tmp_path / "out", seed=3) == []
        with pytest.raises(Timeout):
            FileLock(tmp_path / "out" / ".lock").acquire(blocking=False)
    with FileLock(tmp_path / "out" / ".lock").acquire(blocking=False):
        pass


RUN = """
import signal
import sys
from pathlib import Path
from attn_lib.grading.batch import grade_class
from tests.grading.fakes import as_told
if __name__ == "__main__":
    # A shell that starts tests in the background has them ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    grade_class(Path(sys.argv[1]), Path(sys.argv[2]), seed=3, jobs=2, grade=as_told)
"""


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL], ids=lambda s: s.name)
def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path, sent):
    folder = told(tmp_path / "class", 40, **{f"l{n}": "slow" for n in range(40)})
    out = tmp_path / "out"
    script = tmp_path / "run.py"
    script.write_text(RUN)
    run = subprocess.Popen(
        [sys.executable, script, folder, out],
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 60
        while len(list(out.glob("results/*.json"))) < 3 and time.monotonic() < deadline:
            assert run.poll() is None
            time.sleep(0.05)
        if sent == signal.SIGINT:  # as Ctrl-C in a terminal does: the whole group
            os.killpg(run.pid, sent)
        else:
            run.send_signal(sent)
        assert run.wait(20) != 0
        while members(run.pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert members(run.pid) == []
    finally:
        if members(run.pid):
            os.killpg(run.pid, signal.SIGKILL)
    before = {path: path.stat().st_mtime_ns for path in out.glob("results/*.json")}
    assert 3 <= len(before) < 40
    rows = grade_class(folder, out, seed=3, jobs=2, grade=full_marks)
    assert [row.report.points for row in rows] == [10] * 40
    assert (
        before.items()
        <= {path: path.stat().st_mtime_ns for path in out.glob("results/*.json")}.items()
    )
    assert not (out / ".work").exists()


def members(group):
    """Return the processes of a group that still run."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            found.append(int(status.parent.name))
    return found


# ------------------------------------------------------------------------------- a cluster


def test_a_worker_with_another_version_refuses():
    with pytest.raises(OtherVersion):
        work("another", full_marks, b"", 1, 3, False)


@pytest.mark.usefixtures("sandbox_works")
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # dask's own
def test_a_killed_worker_of_a_cluster_loses_nothing(tmp_path, monkeypatch):
    dask, distributed = map(pytest.importorskip, ("dask", "distributed"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    folder = told(tmp_path / "class", 8)
    jobs = [Job(file.sha256, folder / file.path, 1) for file in find(folder)]
    options = {"n_workers": 2, "threads_per_worker": 1, "host": "127.0.0.1"}
    with (
        dask.config.set(temporary_directory=str(tmp_path / "dask")),
        distributed.LocalCluster(dashboard_address=None, **options) as cluster,
    ):
        options = {"seed": 3, "unsafe": False, "address": cluster.scheduler_address}
        done = []
        for one in on_cluster(jobs, lambda job: job.path.read_bytes(), **options):
            done.append(one)
            if len(done) == 2:
                with pytest.raises(ValueError, match="No client"):
                    distributed.default_client()  # it is not in the way of the user's own
                victim = cluster.workers[0]
                assert cluster.scheduler.workers[victim.worker_address].processing
                os.kill(victim.pid, signal.SIGKILL)
    assert {one.job.sha256 for one in done} == {job.sha256 for job in jobs}
    assert [one.failure for one in done] == [""] * 8
    assert {one.report.points for one in done} == {2}
    own = grade_submission((folder / "l0/a.ipynb").read_bytes(), 1, seed=3)
    assert own in [one.report for one in done]


def test_nobody_at_the_address_is_said(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("attn_lib.grading.workers.CONNECT_SECONDS", 1)
    with pytest.raises(OSError, match=r"127\.0\.0\.1:9"):
        list(on_cluster([], None, seed=3, unsafe=False, address="tcp://127.0.0.1:9"))


def test_no_process_is_left_behind():
    assert [child.name for child in multiprocessing.active_children()] == []
