"""The files for an instructor: correct, whole, and harmless whatever a learner is called."""

import csv
import errno
import io
import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

import attn_lib
from attn_lib.files import write_whole
from attn_lib.grading.find import File
from attn_lib.grading.grade import Report, TaskResult, ungraded, worth_points
from attn_lib.grading.keep import PACKAGE, Kept, course_version
from attn_lib.grading.reports import (
    defused,
    feedback_page,
    grades_csv,
    page_name,
    problems,
    table,
    write_reports,
)
from attn_lib.grading.row import Row

HOSTILE = "=cmd|'/c calc'!A1<script>alert(1)</script>"


def report(status="passed", markup="<div>fine</div>"):
    results = tuple(
        TaskResult(t.name, status, t.points * (status == "passed"), t.points, html=markup)
        for t in worth_points(1)
    )
    return Report(1, 3, "", results)


def row(learner, made=None, problem="", note="", path="a.ipynb"):
    made = made or report()
    file = File(Path(path), learner, "", 1, "0" * 64, "2026-11-21T08:00:00+00:00")
    return Row(learner, 1, made, problem or made.problem, note, (file,))


ROWS = [
    row("ada"),
    row("bob", report("wrong")),
    row("李明", ungraded(1, 3, "The file is empty (0 bytes).")),
    Row(HOSTILE, None, None, "No notebook was found.", "", ()),
]


def test_no_field_of_the_csv_is_a_formula():
    signs = "=", "+", "-", "@", "|", "＝", " =", "\t=", "\ufeff=", "\u200b=", "\u2060 @"
    for sign in signs:
        bad = f"{sign}cmd()"
        text = grades_csv([row(bad, problem=bad, note=bad, path=f"{sign.strip()}z")])
        [line] = csv.DictReader(io.StringIO(text))
        for key in ("learner", "problem", "note", "notebook"):
            assert line[key].startswith("'")
    assert defused("a;=cmd()") == "a;'=cmd()"
    assert defused('a;"=1&";.ipynb') == """a;'"=1&";.ipynb"""
    for name in ("Ada", "O'Brien", "d’Été", "李明", "Al-Khwarizmi", "1=1"):
        assert defused(name) == name


def test_the_name_of_a_page_stays_in_its_folder_and_is_nobody_elses():
    paths = "../../etc/passwd", "..", ".", "/", "", "a\0b", "CON"
    alike = "x" * 500, "x" * 501, "李" * 200, HOSTILE, "a/b", "a_b", "a:b", "A_b", "a_b "
    names = [page_name(learner) for learner in (*paths, *alike)]
    for name in names:
        assert Path(name).name == name
        assert not name.startswith(".")
        assert len(name.encode()) < 200
        assert not set(name) & set('/\\\0<>:"|?*')
    assert len({name.lower() for name in names}) == len(names)


def structure(page):
    """Return the names of a page's tags, and its attributes with their values."""
    tags = BeautifulSoup(page, "html.parser").find_all()
    return {tag.name for tag in tags}, {
        item for tag in tags for item in tag.attrs.items() if item[0] != "class"
    }


def test_a_page_is_escaped_and_needs_nothing_from_elsewhere():
    page = feedback_page(HOSTILE, [row(HOSTILE, problem="<img src=x>", note="<b>")])
    tags, attributes = structure(page)
    assert not {"script", "img", "b"} & tags
    assert not {"src", "href"} & dict(attributes).keys()
    assert ("content", "width=device-width, initial-scale=1") in attributes
    assert "default-src 'none'" in page
    assert "&lt;script&gt;" in page


def test_a_page_shows_every_lesson_with_its_points_and_verdicts():
    page = feedback_page("ada", [row("ada"), ROWS[2]])
    assert page.count("<div>fine</div>") == 4
    assert "Lesson 01: 10 of 10 points" in page
    assert "Lesson 01: 0 of 10 points" in page
    assert "The file is empty" in page
    assert "<code>attention_<wbr>scores</code>" in page  # a narrow page breaks there only
    assert "overflow-wrap: break-word" in page


def test_the_table_counts_by_task():
    lines = table(ROWS).splitlines()
    assert lines[1].split()[1:] == [
        "stable_softmax",
        "2",
        "1",
        "0",
        "1",
        "0",
        "0",
        "1",
        "0",
        "0.67",
    ]
    assert lines[1].startswith("01      stable_softmax         2       1        0      1")
    assert lines[-1].split() == ["01", "all", "10", "3.33"]
    assert all(line == line.rstrip() for line in lines)
    assert len(list(problems(ROWS))) == 2
    assert len(table([ROWS[3]]).splitlines()) == 1  # nothing but problems


def test_all_files_are_written_and_agree(tmp_path):
    out = tmp_path / "made" / "here"
    for _ in range(2):
        write_reports(ROWS, out, seed=3)
    kept = json.loads((out / "grades.json").read_text(encoding="utf-8"))["grades"]
    pages = {grade["feedback"] for grade in kept}
    assert pages == {f"feedback/{path.name}" for path in (out / "feedback").iterdir()}
    text = (out / "grades.csv").read_bytes().decode()
    assert "\r" not in text
    lines = list(csv.DictReader(io.StringIO(text)))
    names = [task.name for task in worth_points(1)]
    assert list(lines[0])[:6] == ["learner", "lesson", *names]
    assert lines[3].pop("learner") == f"'{HOSTILE}"
    assert [grade["learner"] for grade in kept[:3]] == ["ada", "bob", "李明"]
    assert [line["learner"] for line in lines[:3]] == ["ada", "bob", "李明"]
    assert [grade["points"] for grade in kept] == [10, 0, 0, 0]
    assert [line["total"] for line in lines] == ["10", "0", "0", "0"]
    assert [line["attention"] for line in lines] == ["3", "0", "0", ""]
    assert lines[2]["problem"] == kept[2]["problem"] == "The file is empty (0 bytes)."
    totals = [*csv.reader(io.StringIO((out / "totals.csv").read_text(encoding="utf-8")))]
    assert totals[0] == ["learner", "id", "lesson 01", "total", "max"]
    assert totals[1] == ["ada", "", "10", "10", "10"]
    assert totals[4][2:] == ["", "0", "10"]
    assert kept[0]["files"][0]["modified"] == "2026-11-21T08:00:00+00:00"
    assert "李明" in (out / "grades.json").read_text(encoding="utf-8")


def test_the_page_of_who_is_not_in_the_class_any_more_goes(tmp_path):
    write_reports(ROWS, tmp_path, seed=3)
    mine = tmp_path / "feedback" / "mine.html"
    mine.write_text("the teacher's own")
    pages = write_reports(ROWS[1:], tmp_path, seed=3)
    assert {*(tmp_path / "feedback").iterdir()} == {*pages.values(), mine}


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "a.csv"
    write_whole(path, "old")
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match=r"No space left on device: .*/a\.csv"):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    with pytest.raises(OSError, match=r"none/a\.csv"):
        write_whole(tmp_path / "none/a.csv", "")


def test_a_kept_result_is_found_by_all_that_it_depends_on(tmp_path, monkeypatch):
    kept = Kept(tmp_path, seed=3)
    kept.save("ab", report())
    assert kept.load("ab", 1) == report()
    assert kept.load("ac", 1) is None
    assert kept.load("ab", 2) is None
    for other in ({"seed": 4}, {"unsafe": True}, {"strict": True}):
        assert replace(kept, **other).load("ab", 1) is None
    monkeypatch.setattr("attn_lib.grading.keep.course_version", lambda: "another")
    assert kept.load("ab", 1) is None


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"lesson": 1}', "null", "[" * 5000])
def test_a_damaged_kept_result_counts_as_none(tmp_path, damage):
    kept = Kept(tmp_path, seed=3)
    kept.save("ab", report())
    [path] = tmp_path.iterdir()
    path.write_text(damage)
    assert kept.load("ab", 1) is None


def test_a_result_that_lacks_a_module_counts_until_it_is_installed(tmp_path, monkeypatch):
    kept = Kept(tmp_path / "kept", seed=3)
    kept.folder.mkdir()

    def lacking(module):
        told = f"ModuleNotFoundError: there is no module `{module}` where it was graded."
        kept.save("ab", replace(report("error"), cells=f"Code cell 1 raised {told}"))
        return kept.load("ab", 1)

    assert lacking("tests")  # of the course's folder, which is not there inside
    assert lacking("numpy")  # said by the learner's code: it is here, and was then
    assert lacking("no_such")
    (tmp_path / "no_such.py").touch()
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    assert not kept.load("ab", 1)
    assert lacking("no_such")


def test_a_change_of_the_courses_code_is_another_version(tmp_path, monkeypatch):
    assert Path(attn_lib.__file__).parent == PACKAGE
    monkeypatch.setattr("attn_lib.grading.keep.PACKAGE", tmp_path)
    version = course_version.__wrapped__
    (tmp_path / "b").mkdir()
    seen = []
    for name, code in (("a", "x = 1"), ("a", "x = 2"), ("b/c", ""), ("b/d", "")):
        path = tmp_path / f"{name}.py"
        path.write_text(code)
        seen.append(version())
    path.rename(tmp_path / "d.py")  # the same text elsewhere
    seen.append(version())
    monkeypatch.setattr("torch.__version__", "another")
    assert len({*seen, version()}) == len(seen) + 1


def test_no_cell_looks_like_two_lines():
    forged = "R\nada;1;10\r\nada,1,10\u2028ada,1,10"
    [_, *lines] = grades_csv([row("eve", problem=forged, note=forged)]).splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("eve,")
