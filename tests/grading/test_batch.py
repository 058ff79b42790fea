"""A class is graded whole: whoever handed in what, whatever dies, wherever it runs."""

import errno
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC
from hashlib import sha256
from pathlib import Path

import psutil
import pytest
import torch

from attn_lib.grading import find as find_module
from attn_lib.grading import workers
from attn_lib.grading.batch import NO_LESSON, _read_again, grade_class, handed_in
from attn_lib.grading.class_page import attempts
from attn_lib.grading.find import MOST, OLDER, TOO_MANY, find, passed_over, read
from attn_lib.grading.sandbox import NoSandbox
from attn_lib.grading.workers import (
    Done,
    Job,
    OtherVersion,
    on_cluster,
    on_this_machine,
    task,
)
from tests.grading import simulated_class
from tests.grading.fakes import (
    as_told,
    begin_as_told,
    full_marks,
    greedy,
    never,
    surroundings,
)
from tests.grading.judging import EXERCISE, ROOT, SOFTMAX, SOLUTION, class_of, notebook


def told(folder, count, **orders):
    """Make a class of `count` learners, some of whose notebooks order what is to happen."""
    texts = {
        f"l{n}": f"{SOFTMAX}# {orders.get(f'l{n}', 'fine')} l{n}" for n in range(count)
    }
    return class_of(folder, {f"{x}/a.ipynb": notebook(text) for x, text in texts.items()})


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
        (
            "x_77_assignsubmission_file_80_assignsubmission_file/x.ipynb",
            "x_77_assignsubmission_file_80",
        ),
        (
            "Ada L_77_assignsubmission_file_x_4711_assignsubmission_file_01.ipynb",
            "Ada L_77",
        ),
        ("李明/x.ipynb", "李明"),
        ("Zoe\u0308.ipynb", "Zo\u00eb"),
        ("Ada\u00a0 Lovelace.ipynb", "Ada Lovelace"),
        ("\u202eada\u200b/x.ipynb", "ada"),
        ("_.ipynb", "_"),
        ("ada.ipynb.ipynb", "ada"),
        ("=cmd()/x.ipynb", "=cmd()"),
        ("ada/only.py", "ada"),
        (os.fsdecode(b"ada\xff\x1b\n\tb/x.ipynb"), "ada\\xff\ufffd\ufffd\ufffdb"),
    ],
)
def test_the_learner_is_found(tmp_path, name, learner):
    [file] = find(class_of(tmp_path, {name: notebook(SOFTMAX)}))
    assert (file.learner, file.lesson, file.problem) == (learner, 1, "")


def test_what_nobody_handed_in_is_passed_over_and_named(tmp_path):
    assert passed_over(tmp_path) == ""
    (tmp_path / "gus").symlink_to(tmp_path / "ada")
    hidden = (
        ".git/x.ipynb",
        "__MACOSX/ada/._a.ipynb",
        "ada/.ipynb_checkpoints/a.ipynb",
        ".x",
    )
    loose = "ada.zip", "bob.py", "a.txt\x1b"
    mine = *hidden, *loose, "ada/a.ipynb", "ada/helper.py"
    class_of(tmp_path, dict.fromkeys(mine, notebook(SOFTMAX)))
    assert [file.name for file in find(tmp_path / "ada/..")] == ["ada/a.ipynb"]
    assert passed_over(tmp_path).endswith("folders: a.txt\ufffd, ada.zip, bob.py, gus.")


def test_only_so_many_notebooks_of_one_learner_are_looked_at(tmp_path):
    names = [f"ada/{number:03}.ipynb" for number in range(MOST + 2)]
    first, *others = find(class_of(tmp_path, dict.fromkeys(names, notebook(SOFTMAX))))
    assert len(others) == MOST - 1
    assert (
        first.note
        == "2 more notebooks were not looked at: at most 60 of one learner are, and 200 MB."
    )


def test_only_so_many_loose_notebooks_of_one_number_are_looked_at(tmp_path):
    names = [f"ada_103_{9000 + number}_x.ipynb" for number in range(MOST + 2)]
    class_of(tmp_path, dict.fromkeys([*names, "bob_104_9900_x.ipynb"], notebook(SOFTMAX)))
    *ada, bob = find(tmp_path)
    said = "It was not looked at: at most 60 of one learner are, and 200 MB."
    assert sorted(file.problem for file in ada) == [""] * MOST + [said] * 2
    assert (bob.learner, bob.problem) == ("bob_104", "")


def test_only_so_many_entries_of_one_learner_are_looked_at(tmp_path, monkeypatch):
    for name, size in {"ENTRIES": 20, "BYTES": 1000}.items():
        monkeypatch.setattr(f"attn_lib.grading.find.{name}", size)
    parts = ("a.ipynb", *(f"x/{n}/y" for n in range(30)))
    whole = dict.fromkeys((f"{who}/{part}" for who in "ab" for part in parts), b"")
    large = notebook(SOFTMAX) + b" " * 700
    class_of(tmp_path, whole | {"c/1.ipynb": large, "c/2.ipynb": large, "d/d.ipynb": large})
    looked = list[str]()

    def counted(path):
        looked.append(str(path.relative_to(tmp_path)))
        return path.is_dir()

    monkeypatch.setattr("attn_lib.grading.find.isdir", counted)
    files = {file.learner: file for file in find(tmp_path)}
    assert len([path for path in looked if path.startswith("a/")]) == 21
    assert [TOO_MANY in files[who].note for who in "abcd"] == [True, True, False, False]
    assert (
        files["c"].note
        == "1 more notebooks were not looked at: at most 60 of one learner are, and 0 MB."
    )
    assert files["d"].note == ""


def test_a_folder_of_many_files_and_no_notebook_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("attn_lib.grading.find.ENTRIES", 20)
    class_of(tmp_path, dict.fromkeys((f"ada/{n}" for n in range(30)), b""))
    [file] = find(tmp_path)
    assert TOO_MANY in file.problem
    assert "and 16 more" in file.problem


def test_links_and_pipes_are_not_followed(tmp_path):
    class_of(
        tmp_path,
        dict.fromkeys(("ada/a.ipynb", "bob/b.ipynb", "mal/b.ipynb"), notebook(SOFTMAX)),
    )
    (tmp_path / "bob/a.ipynb").symlink_to(tmp_path / "ada/a.ipynb")
    (tmp_path / "eve").symlink_to(tmp_path / "ada")
    os.mkfifo(tmp_path / "mal/02_a.ipynb")
    found = {
        file.name: (file.lesson, "cannot be read" in file.problem)
        for file in find(tmp_path)
    }
    assert found == {
        "ada/a.ipynb": (1, False), "bob/a.ipynb": (None, True), "bob/b.ipynb": (1, False),
        "mal/02_a.ipynb": (2, True), "mal/b.ipynb": (1, False),
    }  # fmt: skip


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
    empty = dict.fromkeys(("ada/02_x.ipynb", "bob/02_x.ipynb", "eve.ipynb"), b"")
    class_of(tmp_path, {"ada/01_x.ipynb": SOLUTION} | empty)
    ada, bob, eve = find(tmp_path, lessons=[1])
    assert ada.name == "ada/01_x.ipynb"
    assert bob.problem.endswith(" lesson 1 was found; there is bob/02_x.ipynb (lesson 2).")
    assert (eve.learner, eve.lesson) == ("eve", 1)
    found = find(tmp_path, lessons=[1, 2])
    assert [(f.learner, f.lesson) for f in found] == [
        ("ada", 1),
        ("ada", 2),
        ("bob", 2),
        ("eve", None),
    ]
    [ada, *_, eve] = find(tmp_path, lessons=[3, 4])
    assert ada.problem.startswith("No notebook of lesson 3 or 4 was found; there is ada/")
    assert (ada.lesson, eve.lesson) == (None, None)


@pytest.mark.parametrize(
    ("names", "learners"),
    [
        (("ada_byron.ipynb", "ada_lovelace.ipynb"), ["ada_byron", "ada_lovelace"]),
        (("doee_12_345_a.ipynb", "doee_12_346_a.ipynb"), ["doee_12", "doee_12"]),  # Canvas
    ],
)
def test_two_people_with_one_short_name_are_told_apart(tmp_path, names, learners):
    found = find(class_of(tmp_path, dict.fromkeys(names, SOLUTION)))
    assert [file.learner for file in found] == learners


def test_a_name_of_two_platforms_takes_nobodys_place(tmp_path):
    theirs = "mallorym_666_90211_x_4711_assignsubmission_file_01.ipynb"
    [file] = find(class_of(tmp_path, {theirs: SOLUTION}))
    assert (file.id, file.learner) == ("", theirs.removesuffix(".ipynb"))
    assert "one of Moodle's and one of Canvas's" in file.problem


def test_who_only_looks_like_another_learner_is_not_merged_with_them(tmp_path):
    names = ("ada/x.ipynb", "a\u200bda/x.ipynb", "ada_01_single_head.ipynb", "bob/x.ipynb")
    found = find(class_of(tmp_path, dict.fromkeys(names, SOLUTION)))
    learners = {file.path.as_posix(): file.learner for file in found}
    expected = ("ada", "a\\u200bda", "ada_01_single_head.ipynb", "bob")
    assert learners == dict(zip(names, expected, strict=True))


@pytest.mark.parametrize(
    "hers", ["ada_lovelace_01_single_head.ipynb", "ada_lovelace/a.ipynb"]
)
def test_two_loose_files_take_nobodys_name_when_they_are_told_apart(tmp_path, hers):
    names = hers, "ada_lovelace.ipynb", "ada.ipynb"
    found = find(class_of(tmp_path, dict.fromkeys(names, SOLUTION)))
    assert [file.name for file in found if file.learner == "ada_lovelace"] == [hers]
    assert len({file.learner for file in found}) == 3


@pytest.mark.parametrize(
    "names",
    [
        ("ada/x.ipynb", "\u2066ada/x.ipynb"),
        ("a\x01da/x.ipynb", "a\x02da/x.ipynb"),
        ("0xdeadbeef/x.ipynb", "0xcafebabe/x.ipynb"),
        ("ada_01_single_head.ipynb", "ada_01_single_head.IPYNB"),
        ("ada_01_single_head.ipynb", "ada_01_single_head\u200b.ipynb"),
        ("ada_01_single_head.ipynb", "\u2066ada_01_single_head.ipynb", "ada_1.ipynb"),
        ("ada_77_assignsubmission_file_/x.ipynb", "ada_77/x.ipynb"),
        (
            "ada_77_assignsubmission_file_/x.ipynb",
            "ada_77/x.ipynb",
            "ada_77 (not numbered)/x.ipynb",
        ),
        ("Zoe\u0308/x.ipynb", "Zo\u00eb/x.ipynb", "Zoe\\u0308/x.ipynb"),
        ("Zo\u00eb/x.ipynb", "Zoe\u0308/x.ipynb", "Zo\\xeb/x.ipynb"),
        ("ada_1.ipynb", "ada_1.IPYNB", "ada_1.ipynb.ipynb"),
    ],
)
def test_names_that_look_the_same_have_a_row_each(tmp_path, names):
    found = find(class_of(tmp_path, dict.fromkeys(names, SOLUTION)))
    assert len({file.learner for file in found}) == len(names)


def test_a_link_to_a_name_that_no_system_takes_ends_nothing(tmp_path):
    class_of(tmp_path, {"ada/x.ipynb": SOLUTION})
    for place in (tmp_path / "x", tmp_path / "y.ipynb", tmp_path / "ada" / "z"):
        place.symlink_to("A" * 300)
    assert [(file.learner, bool(file.problem)) for file in find(tmp_path)] == [
        ("ada", False),
        ("y", True),
    ]
    assert "x" in passed_over(tmp_path)


def test_more_folders_in_each_other_than_python_calls_are_no_error(tmp_path):
    class_of(tmp_path, {"ada/x.ipynb": SOLUTION})
    deep = str(tmp_path / "ada")
    for _ in range(1500):
        deep += "/d"
        os.mkdir(deep)
    with open(f"{deep}/y.ipynb", "wb") as file:
        file.write(SOLUTION)
    try:
        [file] = find(tmp_path)
        assert file.name == "ada/x.ipynb"
        assert file.note.startswith("Passed over, being no notebook: d/d/d/")
        assert len(file.note) < 150
        assert attempts(tmp_path, []) == {}
    finally:  # pytest cannot remove them
        os.remove(f"{deep}/y.ipynb")
        os.removedirs(deep)


def test_the_latest_notebook_that_can_be_read_counts(tmp_path):
    names = ("ada/x.ipynb", "ada/x (2).ipynb", "ada/x (10).ipynb", "ada/old.ipynb")
    class_of(tmp_path, dict.fromkeys(names, notebook(SOFTMAX)) | {"ada/z.ipynb": b""})
    for name in (*names, "ada/z.ipynb"):
        os.utime(tmp_path / name, (1e9, 1e9 - ("old" in name)))
    [(_, _, files)] = handed_in(find(tmp_path, lessons=[1]))
    order = [file.path.stem for file in files]
    assert order == ["x (10)", "x (2)", "x", "old", "z"]


def test_what_one_learner_handed_in_for_one_lesson_stays_together(tmp_path):
    for name, code in {
        "a": SOFTMAX,
        "b": "x = 1",
        "c": "masked_softmax = 1",
        "d": SOFTMAX,
    }.items():
        class_of(tmp_path, {f"ada/{name}.ipynb": notebook(code)})
    found = [(lesson, len(files)) for _, lesson, files in handed_in(find(tmp_path))]
    assert found == [(None, 1), (1, 2), (2, 1)]


@pytest.mark.parametrize(
    ("place", "stamp", "modified"),
    [
        ("hal", "2001-09-09 01:40:00 UTC", "2001-09-09T01:40:00"),  # a wish, perhaps
        ("ian", "2001-09-09 01:42:00 UTC", "2001-09-09T01:42:00"),
        ("ada/01", "2026-10-01 18:30:00 UTC\n", "2026-10-01T18:30:00"),
        ("eve", "2026-10-01 18:30:00+02:00", "2026-10-01T16:30:00"),
        ("fay", "2026-10-01 18:30:00", "2026-10-01T18:30:00"),
        ("bob", "yesterday", "2001-09-09T01:46:40"),
        ("gus", "0001-01-01 00:00:00+23:59", "2001-09-09T01:46:40"),
        # Moodle's folder holds what is the learner's.
        ("Ada L_77_assignsubmission_file_", "2026-10-01 18:30:00", "2001-09-09T01:46:40"),
    ],
)
def test_a_date_beside_a_notebook_is_when_it_was_handed_in(
    tmp_path, place, stamp, modified
):
    class_of(tmp_path / place, {"timestamp.txt": stamp.encode(), "a.ipynb": SOLUTION})
    os.utime(tmp_path / place / "a.ipynb", (1e9, 1e9 + 0.25))
    [file] = find(tmp_path)
    assert file.modified == f"{modified}+00:00"
    beside = not modified.endswith("01:46:40")
    told = "timestamp.txt" + OLDER * (place == "hal")
    assert file.dated_by == (told if beside else "the date of the file")
    assert ("(Invalid isoformat string: 'yesterday')" in file.note) == (place == "bob")


def test_a_path_that_is_too_long_is_passed_over(tmp_path, monkeypatch):
    folder = class_of(tmp_path, {"eve/a.ipynb": notebook(SOFTMAX), "ada/a.ipynb": SOLUTION})
    (folder / "eve" / "deep").mkdir()
    is_dir = Path.is_dir

    def told(path, **options):
        if path.name == "deep":
            raise OSError(errno.ENAMETOOLONG, "File name too long")
        return is_dir(path, **options)

    monkeypatch.setattr(Path, "is_dir", told)
    assert [(f.learner, f.problem) for f in find(tmp_path)] == [("ada", ""), ("eve", "")]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look into every folder")
@pytest.mark.parametrize("mode", [0o444, 0o000])
def test_a_folder_that_may_not_be_entered_loses_nobody_else(tmp_path, mode):
    folder = class_of(tmp_path, {"eve/in/a.ipynb": SOLUTION, "ada/a.ipynb": SOLUTION})
    (folder / "eve/in").chmod(mode)
    try:
        ada, eve = find(tmp_path)
    finally:
        (folder / "eve/in").chmod(0o755)
    assert ada.problem == ""
    assert "cannot be read" in eve.problem or "there is in" in eve.problem


def test_a_link_that_leads_to_itself_is_one_that_cannot_be_read(tmp_path):
    folder = class_of(tmp_path, {"ada/a.ipynb": SOLUTION})
    (folder / "eve.ipynb").symlink_to("eve.ipynb")
    ada, eve = find(folder)
    assert ada.problem == ""
    assert "cannot be read" in eve.problem


def test_a_date_before_all_dates_beside_a_timestamp_is_no_trouble(tmp_path, monkeypatch):
    files = {"eve/a.ipynb": SOLUTION, "eve/timestamp.txt": b"2026-10-01 18:30:00 UTC"}
    real = find_module.datetime

    class Clock(real):
        @classmethod
        def fromtimestamp(cls, *_):  # no file system of ours keeps such a date
            return real.min.replace(tzinfo=UTC)

    monkeypatch.setattr(find_module, "datetime", Clock)
    [file] = find(class_of(tmp_path, files))
    assert (file.modified, file.problem) == ("2026-10-01T18:30:00+00:00", "")


@pytest.mark.skipif(sys.platform != "linux", reason="macOS does not limit addresses")
def test_a_judge_that_takes_too_much_memory_fails_and_the_class_goes_on(tmp_path):
    [row] = grade_class(
        told(tmp_path / "class", 1), tmp_path / "out", seed=3, jobs=1, grade=greedy
    )
    assert "MemoryError" in row.problem
    assert row.again


def test_a_change_of_the_seed_or_of_the_file_grades_anew(tmp_path, capsys):
    folder, out = told(tmp_path / "class", 2), tmp_path / "out"

    def again(seed):
        return [row.again for row in grade_class(folder, out, seed=seed, grade=never)]

    first = grade_class(folder, out, seed=3, jobs=1, grade=full_marks)
    assert "100%" in capsys.readouterr().err
    assert grade_class(folder, out, seed=3, grade=never) == first
    assert "2/2" in capsys.readouterr().err
    assert again(seed=4) == [True, True]
    (folder / "l1/a.ipynb").write_bytes(notebook(SOFTMAX + "\n"))
    assert again(seed=3) == [False, True]


def test_what_cannot_be_graded_has_a_line_that_says_so_and_is_not_tried(tmp_path):
    files = {"ada.ipynb": notebook("x = 1"), "bob.ipynb": b"", "eve_01.ipynb": b"{"}
    folder = class_of(tmp_path / "class", files)
    rows = grade_class(folder, tmp_path / "deep/out", seed=3, jobs=1, grade=never)
    assert not any(row.again for row in rows)
    assert [row.lesson for row in rows] == [None, None, 1]
    assert [row.problem for row in rows[:2]] == [NO_LESSON, "The file is empty (0 bytes)."]
    assert [row.report is None for row in rows] == [True, True, False]


def test_of_two_notebooks_the_later_is_graded_and_the_other_is_named(tmp_path):
    folder = class_of(
        tmp_path / "class", {"eve/a.ipynb": EXERCISE, "eve/b.ipynb": SOLUTION}
    )
    os.utime(folder / "eve/a.ipynb", (1e9, 1e9))
    [row] = grade_class(folder, tmp_path / "out", seed=3, jobs=1, grade=full_marks)
    said = "2 notebooks were handed in. Only the latest is graded: eve/b.ipynb, not eve/a.ipynb."
    assert row.note == said


def test_a_worker_grades_with_one_thread_and_as_it_is_told():
    def graded(*given, **options):
        return given, options, torch.get_num_threads()

    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        given = task(graded, seed=3, unsafe=True)(b"x", 1)
    finally:
        torch.set_num_threads(before)
    assert given == ((b"x", 1), {"seed": 3, "unsafe": True}, 1)


def test_a_worker_with_another_version_refuses(monkeypatch):
    grade = task(full_marks)
    monkeypatch.setattr(workers, "course_version", lambda: "another")
    with pytest.raises(OtherVersion):
        grade(b"", 1)


def test_a_process_has_its_own_folder_and_is_deaf_to_ctrl_c(tmp_path, request):
    # A shell that starts tests in the background has them ignore Ctrl-C.
    inherited = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, inherited))
    jobs = [Job(name, 1) for name in "ab"]
    options = {"processes": 2, "folder": tmp_path}
    done = on_this_machine(jobs, lambda job: b"", surroundings, **options)
    folders, signals, processes = zip(*(one.report for one in done), strict=True)
    assert {*folders} == {str(tmp_path)}
    assert {*signals} == {signal.SIG_IGN}
    assert len({*processes}) == 2
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
    monkeypatch.setattr(workers, "_begin", begin_as_told)
    folder = told(tmp_path / "class", 2)
    for number in range(deaths):
        (tmp_path / f"die-at-start-{number}").touch()
    rows = grade_class(folder, tmp_path / "out", seed=3, jobs=2, grade=full_marks)
    failed = [row.problem for row in rows if row.again]
    assert failed == ([workers.ENDED] * 2 if deaths == 40 else [])


def test_a_sandbox_that_does_not_start_costs_its_own_submission_until_none_starts(tmp_path):
    orders = dict.fromkeys(("l1", "l2", "l4", "l5"), "no-sandbox")
    folder, out = told(tmp_path / "some", 6, **orders), tmp_path / "out"
    rows = grade_class(folder, out, seed=3, jobs=1, grade=as_told)
    assert [row.learner for row in rows if row.again] == [*orders]
    assert "it does not start" in rows[1].problem
    folder = told(tmp_path / "all", 5, **orders, l3="no-sandbox")
    with pytest.raises(NoSandbox):
        grade_class(folder, out, seed=3, jobs=1, grade=as_told)


def test_who_finds_the_machine_full_waits_and_loses_nothing(tmp_path):
    orders = {
        f"l{n}": f"{order}-once {tmp_path / order} "
        for n, order in ((1, "no-room"), (2, "no-fork"))
    }
    folder, out = told(tmp_path / "class", 3, **orders), tmp_path / "out"
    rows = grade_class(folder, out, seed=3, jobs=1, grade=as_told)
    assert {"no-room", "no-fork"} <= {path.name for path in tmp_path.iterdir()}
    assert [(row.problem, row.report.points) for row in rows] == [("", 10)] * 3


def test_a_file_that_changes_meanwhile_is_not_kept_under_a_wrong_name(tmp_path):
    [path] = class_of(tmp_path, {"a.ipynb": SOLUTION}).iterdir()
    job = Job("0" * 64, 1, (path,))
    with pytest.raises(OSError, match="was changed"):
        _read_again(job)
    (tmp_path / "same.ipynb").write_bytes(b"as it was")
    places = tmp_path / "gone.ipynb", path, tmp_path / "same.ipynb"
    assert _read_again(Job(sha256(b"as it was").hexdigest(), 1, places)) == b"as it was"
    path.unlink()
    [done] = on_this_machine([job], _read_again, full_marks, processes=1, folder=tmp_path)
    assert done.report is None
    assert done.failure


RUN = """
import signal
import sys
from pathlib import Path
from attn_lib.grading.batch import grade_class
from tests.grading import simulated_class
from tests.grading.fakes import as_told
if __name__ == "__main__":
    # A shell that starts tests in the background has them ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    grade_class(Path(sys.argv[1]), Path(sys.argv[2]), seed=3, jobs=2, grade=as_told)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "sent", [signal.SIGINT, pytest.param(signal.SIGKILL, marks=pytest.mark.nightly)]
)
def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path, sent):
    folder = told(tmp_path / "class", 40, **{f"l{n}": "slow" for n in range(40)})
    out = tmp_path / "out"
    (out / ".work/old").mkdir(parents=True)  # of a run that was killed
    script = tmp_path / "run.py"
    script.write_text(RUN)
    run = psutil.Popen(
        [sys.executable, script, folder, out],
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while len(list(out.glob("results/*.json"))) < 3 and time.monotonic() < deadline:
        assert run.poll() is None
        time.sleep(0.05)
    started = run.children(recursive=True)
    assert len(started) >= 2
    if sent == signal.SIGINT:  # as Ctrl-C in a terminal does: the whole group
        os.killpg(run.pid, sent)
    else:
        run.send_signal(sent)
    assert run.wait(20) != 0
    _gone, alive = psutil.wait_procs(started, 20)
    for process in alive:
        process.kill()
    assert not alive
    before = {path: path.stat().st_mtime_ns for path in out.glob("results/*.json")}
    assert 3 <= len(before) < 40
    rows = grade_class(folder, out, seed=3, jobs=2, grade=full_marks)
    assert [row.report.points for row in rows] == [10] * 40
    after = {path: path.stat().st_mtime_ns for path in out.glob("results/*.json")}
    assert before.items() <= after.items()
    assert not (out / ".work").exists()


@pytest.mark.nightly  # it starts a cluster; by day test_cli sees what is given to one
@pytest.mark.filterwarnings("ignore")  # dask's own
def test_a_killed_worker_of_a_cluster_loses_nothing(tmp_path, monkeypatch):
    dask, distributed = map(pytest.importorskip, ("dask", "distributed"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    folder = told(tmp_path / "class", 8, **{f"l{n}": "slow" for n in range(8)})
    jobs = [Job(file.sha256, 1, (folder / file.path,)) for file in find(folder)]
    options = {"n_workers": 2, "threads_per_worker": 1, "host": "127.0.0.1"}
    with (
        dask.config.set(temporary_directory=str(tmp_path / "dask")),
        distributed.LocalCluster(dashboard_address=None, **options) as cluster,
    ):
        address, done = cluster.scheduler_address, []
        for one in on_cluster(jobs, _read_again, task(as_told, seed=3), address=address):
            done.append(one)
            if len(done) == 2:
                with pytest.raises(ValueError, match="No client"):
                    distributed.default_client()  # it is not in the way of the user's own
                victim = cluster.workers[0]
                assert cluster.scheduler.workers[victim.worker_address].processing
                os.kill(victim.pid, signal.SIGKILL)
    assert {one.job for one in done} == {*jobs}
    own = Done(None, as_told(b"", 1, seed=3))
    assert [replace(one, job=None) for one in done] == [own] * 8


def test_nobody_at_the_address_is_said(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("attn_lib.grading.workers.CONNECT_SECONDS", 1)
    with pytest.raises(OSError, match=r"127\.0\.0\.1:9"):
        list(on_cluster([], _read_again, full_marks, address="tcp://127.0.0.1:9"))


@pytest.mark.nightly  # each kind of learner is graded by itself in other tests
@pytest.mark.usefixtures("sandbox_works")
def test_everybody_in_a_class_of_every_kind_gets_what_is_due(capfd):
    assert simulated_class.main(12) == 0
    assert "0 results are not right" in capfd.readouterr().out


def test_no_process_is_left_behind():
    assert [child.name for child in multiprocessing.active_children()] == []


def test_a_zip_or_a_script_beside_a_notebook_is_named(tmp_path):
    class_of(
        tmp_path,
        {
            "ada/01_single_head.ipynb": SOLUTION,
            "ada/lesson2.zip": b"PK",
            "ada/more/helper.py": b"x = 1",
            "ada/progress.json": b"{}",
            "ada/.DS_Store": b"",
        },
    )
    [found] = find(tmp_path)
    assert found.note == "Passed over, being no notebook: lesson2.zip, more/helper.py."


def test_a_loose_file_of_another_lesson_is_named_and_stops_nobody(tmp_path):
    class_of(
        tmp_path,
        {
            "eve_02_masks.ipynb": notebook("def causal_mask(L, S): ..."),
            "ada_01_x.ipynb": SOLUTION,
        },
    )
    ada, eve = find(tmp_path, lessons=[1])
    assert (ada.learner, ada.problem) == ("ada", "")
    assert (
        eve.problem
        == "No notebook of lesson 1 was found; there is eve_02_masks.ipynb (lesson 2)."
    )


def test_a_time_stamp_beside_loose_files_is_nobodys(tmp_path):
    class_of(
        tmp_path, {"ada_01_x.ipynb": SOLUTION, "timestamp.txt": b"2027-01-01 00:00:00 UTC"}
    )
    [ada] = find(tmp_path)
    assert ada.dated_by == "the date of the file"


def test_what_holds_tasks_counts_before_a_later_scratch_file(tmp_path):
    class_of(
        tmp_path,
        {"ada/01_single_head.ipynb": SOLUTION, "ada/Untitled.ipynb": notebook("x = 1")},
    )
    os.utime(tmp_path / "ada/01_single_head.ipynb", (1, 1))
    [(_, _, own)] = handed_in(find(tmp_path, lessons=[1]))
    assert [file.path.name for file in own] == ["01_single_head.ipynb", "Untitled.ipynb"]
