"""A learner's folder: filled, updated, undone. Nothing of theirs is ever lost."""

import copy
import json
import os
import shutil
from pathlib import Path

import nbformat
import pytest
from filelock import FileLock

from attn_lib.programs import course_folder
from attn_lib.programs.course_folder import (
    MANIFEST,
    Refused,
    course_files,
    fill,
    find_folder,
    undo,
    update,
)
from attn_lib.programs.merge import shipped, write_notebook
from tests.programs.test_merge import BASE, code, notebook, sources, text

LESSON, EXERCISE = "notebooks/01_a.ipynb", "exercises/01_a/01_a.ipynb"
ANSWER = "def f():\n    return 1"


class Course:
    """A course of two notebooks that can be released anew, and a folder of a learner."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        self.root, self.folder = tmp_path / "course", tmp_path / "learner"
        self.said: list[str] = []
        self._patch = monkeypatch
        monkeypatch.setattr(course_folder, "course_root", lambda: self.root)
        self.release("0.1.0", {LESSON: BASE, EXERCISE: BASE})

    def release(self, version, files):
        self._patch.setattr(course_folder, "course_version", lambda: version)
        for name, content in files.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_bytes(write_notebook(content))

    def release_two(self):
        new = copy.deepcopy(BASE)
        new["cells"][0]["source"] = "Lesson one."
        self.release("0.2.0", {LESSON: new, EXERCISE: new})
        return new

    def answer(self, name=EXERCISE):
        mine = self.read(name)
        mine["cells"][1]["source"] = ANSWER
        mine["cells"].append(code("own", "f()", "1"))
        self.write(name, write_notebook(mine))

    def read(self, name=EXERCISE):
        return json.loads((self.folder / name).read_bytes())

    def write(self, name, data):
        (self.folder / name).write_bytes(data)

    def update(self):
        self.said.clear()
        written = update(self.folder, self.said.append)
        return [path.relative_to(self.folder).as_posix() for path in written]

    def files(self):
        """Everything in the folder but what is kept of updates."""
        paths = self.folder.rglob("*")
        files = {path.relative_to(self.folder).as_posix(): path for path in paths}
        return {
            name: path.read_bytes()
            for name, path in files.items()
            if path.is_file() and not name.startswith(".updates/")
        }

    def kept(self):
        """Every file in .updates, as text."""
        paths = (self.folder / ".updates").rglob("*.ipynb")
        return {
            p.relative_to(self.folder / ".updates").as_posix(): p.read_text() for p in paths
        }


@pytest.fixture
def course(tmp_path, monkeypatch):
    course = Course(tmp_path, monkeypatch)
    fill(course.folder)
    return course


def test_the_course_of_a_clone_has_every_lesson_and_no_solution():
    names = [*course_files()]
    assert len(names) == 31
    assert all(name.startswith(("notebooks/", "exercises/")) for name in names)


def test_an_empty_folder_is_filled_and_left_alone_from_then_on(course):
    assert course.read(LESSON) == BASE
    course.answer()
    (course.folder / LESSON).unlink()
    before = course.files()
    assert fill(course.folder) == []
    assert course.files() == before


def test_a_start_that_was_interrupted_goes_on_and_overwrites_nothing(course):
    (course.folder / MANIFEST).unlink()
    (course.folder / LESSON).unlink()
    course.answer()
    assert fill(course.folder) == [course.folder / LESSON]
    assert course.read()["cells"][1]["source"] == ANSWER
    course.release_two()
    course.update()
    assert course.read()["cells"][1]["source"] == ANSWER


def test_an_update_keeps_answers_and_brings_the_rest(course):
    course.answer()
    course.release_two()
    course.release("0.2.0", {"notebooks/02_b.ipynb": BASE})
    assert course.update() == [LESSON, "notebooks/02_b.ipynb"]
    assert course.said[:3] == [
        f"{EXERCISE}: new version, with your cells: 1 changed, 1 added",
        f"{LESSON}: new version",
        "notebooks/02_b.ipynb: new",
    ]
    assert course.said[3].startswith("Updated from 0.1.0 to version 0.2.0.")
    ids = ["a", "b", "c", "d", "own"]
    expected = ["Lesson one.", ANSWER, "check(f)", "2 * 2", "f()"]
    assert sources(course.read()) == [*zip(ids, expected, strict=True)]
    for name in course.files().keys() - {MANIFEST}:
        nbformat.validate(nbformat.read(course.folder / name, as_version=4))
    assert course.update() == []
    assert course.said == [f"Nothing to update: {course.folder} has version 0.2.0."]


def test_undoing_brings_everything_back_and_keeps_what_was_written_since(course):
    course.answer()
    before = course.files()
    course.release_two()
    course.release("0.2.0", {"notebooks/02_b.ipynb": BASE})
    course.update()
    course.write(LESSON, write_notebook(notebook(text("a", "Written since."))))
    undo(course.folder, course.said.append)
    assert course.files() == before
    assert any("Written since." in content for content in course.kept().values())
    with pytest.raises(Refused, match="no update to undo"):
        undo(course.folder, course.said.append)
    course.update()
    assert course.read()["cells"][1]["source"] == ANSWER
    undo(course.folder, course.said.append)
    assert course.files() == before


def test_a_notebook_that_the_course_has_not_changed_is_not_touched(course):
    mine = course.read()
    mine["metadata"] = {"language_info": {"name": "python"}}
    mine["cells"][3] = code("d", "2 * 2", "4", execution={"started": "today"})
    course.write(EXERCISE, write_notebook(mine))
    course.release("0.2.0", {})
    assert course.update() == []
    assert course.read() == mine
    assert course.said == [f"Nothing to update: {course.folder} has version 0.2.0."]


def test_where_the_course_has_changed_the_same_cell_its_own_is_kept_too(course):
    course.answer()
    new = course.release_two()
    new["cells"][1]["source"] = "def f(x):\n    ..."
    course.release("0.2.0", {EXERCISE: new})
    course.update()
    assert course.read()["cells"][1]["source"] == ANSWER
    [kept] = [text for name, text in course.kept().items() if "/course/" in name]
    assert "def f(x)" in kept
    assert "its own are in .updates" in "".join(course.said)


@pytest.mark.parametrize("stop", range(1, 6))
def test_an_interrupted_update_is_run_again(course, stop, monkeypatch):
    course.answer()
    before = course.files()
    course.release_two()
    writes = iter(range(1, 100))
    write = course_folder.write_whole

    def interrupted(path, content):
        if next(writes) == stop:
            raise KeyboardInterrupt
        write(path, content)

    with monkeypatch.context() as patch:
        patch.setattr(course_folder, "write_whole", interrupted)
        with pytest.raises(KeyboardInterrupt):
            course.update()
    halfway = course.files()
    assert halfway.keys() == before.keys()
    course.update()
    assert course.read()["cells"][1]["source"] == ANSWER
    for name in (LESSON, EXERCISE):
        assert course.read(name)["cells"][0]["source"] == "Lesson one."
    while course.files() != before:  # one undoing for each try
        undo(course.folder, course.said.append)


def test_a_file_that_cannot_be_read_is_left_as_it_is(course):
    course.answer()
    broken = (course.folder / EXERCISE).read_bytes()[:-10]
    course.write(EXERCISE, broken)
    course.release_two()
    for _ in range(2):
        course.update()
        assert (course.folder / EXERCISE).read_bytes() == broken
        assert any(
            line.startswith(f"{EXERCISE}: left as it is, it cannot be read (expected JSON")
            for line in course.said
        )
    course.write(EXERCISE, broken + b"]")  # mended
    course.write(EXERCISE, write_notebook(notebook(code("b", ANSWER))))
    course.update()
    assert ("b", ANSWER) in sources(course.read())


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "missing"),
        ("{", "damaged"),
        ("[]", "damaged"),
        ('{"format": "x"}', "damaged"),
    ],
)
def test_without_a_manifest_whatever_differs_stays(course, content, says):
    course.answer()
    (course.folder / MANIFEST).unlink()
    if content:
        (course.folder / MANIFEST).write_text(content)
    new = course.release_two()
    new["cells"].append(code("e", "5"))
    course.release("0.2.0", {EXERCISE: new})
    course.update()
    assert says in course.said[0]
    assert ("b", ANSWER) in sources(course.read())
    assert ("e", "5") in sources(course.read())
    course.update()
    assert course.said[0].startswith("Nothing to update")
    assert ("b", ANSWER) in sources(course.read())


def test_a_manifest_of_format_1_is_read(course):
    """As version 0.1.0 has written it: what reads it, and what counts the hashes, must go on doing so."""
    cells = {
        "a": ["ea7985f3ad162c7d", "12ae32cb1ec02d01"],
        "b": ["9d6e481f859a7efb", "12ae32cb1ec02d01"],
        "c": ["852fe8a2067f4a3d", "12ae32cb1ec02d01"],
        "d": ["82a6fbea97373670", "d497da9add72bafb"],
    }
    kept = {
        "format": 1,
        "version": "0.1.0",
        "files": {EXERCISE: {"whole": "x", "cells": cells}},
    }
    course.write(MANIFEST, json.dumps(kept).encode())
    manifest, problem = course_folder.read_manifest(course.folder)
    assert manifest.version == "0.1.0"
    assert manifest.files[EXERCISE] == course_folder.Noted("x", shipped(BASE))
    assert problem == ""
    assert course_folder.FORMAT == 1, "Add a test that reads the format before."


def test_a_folder_of_a_newer_course_is_refused_and_not_touched(course):
    before = course.files()
    course.release("0.0.9", {LESSON: notebook()})
    with pytest.raises(Refused, match=r"has version 0\.1\.0, .* installed is 0\.0\.9"):
        course.update()
    assert course.files() == before
    course.write(MANIFEST, b'{"format": 2}')
    with pytest.raises(Refused, match="expected format 1, got 2"):
        course.update()


def test_a_deleted_lesson_is_here_again_and_one_that_the_course_dropped_stays(course):
    (course.folder / LESSON).unlink()
    (course.root / EXERCISE).unlink()
    course.answer()
    course.update()
    assert course.read(LESSON) == BASE
    assert course.said[0] == f"{EXERCISE}: no longer in the course; yours stays"
    assert course.said[1] == f"{LESSON}: was gone, and is here again"
    assert course.read()["cells"][1]["source"] == ANSWER


def test_a_file_saved_meanwhile_is_left_as_it_is(course, monkeypatch):
    course.release_two()
    keep = course_folder._keep

    def saved_meanwhile(*arguments):
        course.answer()
        return keep(*arguments)

    monkeypatch.setattr(course_folder, "_keep", saved_meanwhile)
    course.update()
    assert (
        f"{EXERCISE}: left as it is, it has just been saved. Update again." in course.said
    )
    assert course.read()["cells"][1]["source"] == ANSWER
    monkeypatch.setattr(course_folder, "_keep", keep)
    course.update()
    assert course.read()["cells"][0]["source"] == "Lesson one."
    assert course.read()["cells"][1]["source"] == ANSWER


@pytest.mark.skipif(os.name != "posix", reason="links need rights of their own on Windows")
def test_a_link_goes_on_leading_to_the_same_file(course, tmp_path):
    elsewhere = tmp_path / "mine.ipynb"
    shutil.move(course.folder / EXERCISE, elsewhere)
    (course.folder / EXERCISE).symlink_to(elsewhere)
    course.answer()
    course.release_two()
    course.update()
    assert (course.folder / EXERCISE).is_symlink()
    assert json.loads(elsewhere.read_bytes())["cells"][0]["source"] == "Lesson one."


def test_a_folder_that_cannot_be_written_stays_as_it_was(course, monkeypatch):
    course.answer()
    before = course.files()
    course.release_two()

    def no(path, content):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(course_folder, "write_whole", no)
    with pytest.raises(PermissionError):
        course.update()
    assert course.files() == before


def test_two_at_once_are_refused(course):
    with (
        FileLock(course.folder / ".updates/.lock"),
        pytest.raises(Refused, match="at work"),
    ):
        course.update()


def test_where_the_folder_is(course, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert find_folder(None) == tmp_path / "attention-from-scratch"
    assert find_folder(Path("learner")) == course.folder
    monkeypatch.chdir(course.folder)
    assert find_folder(None) == course.folder
    (course.folder / "attn_lib").mkdir()
    (course.folder / MANIFEST).unlink()
    with pytest.raises(Refused, match="is a clone of the course"):
        find_folder(None)
    with pytest.raises(Refused, match="There is no course in"):
        update(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()
