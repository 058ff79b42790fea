"""Whatever one hands in, the class is graded: each of the others gets a report, and each line says what it is.

Of each kind of input a few are tried here, and ten thousand at night.
"""

import json
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attn_lib.checks import Verdict
from attn_lib.grading.__main__ import _written
from attn_lib.grading.batch import grade_class
from attn_lib.grading.find import passed_over
from attn_lib.grading.grade import Report, _result, worth_points
from attn_lib.grading.lateness import Deadline
from attn_lib.grading.reports import problems, table
from attn_lib.grading.submission import Unreadable, read_notebook
from tests.grading.judging import SOFTMAX, notebook

HONEST = notebook(SOFTMAX)
SIGNS = st.characters(
    exclude_characters="/\0"
)  # what a name may consist of, halves of pairs too
WORDS = st.sampled_from(
    [
        "ada",
        "_",
        "_LATE_",
        "__",
        "-",
        "01_x",
        "01",
        "4711",
        "90210",
        "_77_assignsubmission_file_",
        "anon_x",
        ".",
        "..",
        ".ipynb",
        ".py",
        ".json",
        ".txt",
        "(1)",
        "=",
        "@",
        ";",
        "\u202e",
        "\u200b",
        "é",
        "é",
        "�",
        "\x1b",
        "progress",
        "timestamp",
        "feedback",
        "grades.csv",
        ".lock",
        ".work",
        "results",
        "__MACOSX",
        "ADA",
    ]
)
NAMES = (
    st.lists(WORDS | st.text(SIGNS, max_size=6), min_size=1, max_size=6)
    .map("".join)
    .filter(lambda name: name not in ("", ".", "..") and _is_a_name(name))
)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(
    lambda parts: [*parts[:-1], f"{parts[-1]}.ipynb"]
)
KEYS = st.sampled_from(
    (
        "cells",
        "worksheets",
        "cell_type",
        "source",
        "input",
        "code",
        "metadata",
        "nbgrader",
        "tasks",
        "attempts",
    )
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.integers(min_value=10**400),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(KEYS | st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)
TEXTS = st.text(max_size=60) | st.sampled_from(
    ("=1+1", "a;=cmd", "<script>", "\ud800", "\u202e", "| x |", "\x00")
)


def _is_a_name(name: str) -> bool:
    try:
        return len(os.fsencode(name)) < 200
    except UnicodeEncodeError:
        return False


def _changed(whole: dict, path: list[int], value: object) -> dict:
    """Put a value somewhere into nested dicts and lists; each number says which way to go."""
    content = json.loads(json.dumps(whole))
    place = content
    for step in path:
        keys = list(place) if isinstance(place, dict) else range(len(place))
        key = keys[step % len(keys)]
        if not isinstance(place[key], dict | list) or not place[key]:
            break
        place, key = place[key], None
    keys = list(place) if isinstance(place, dict) else list(range(len(place)))
    place[keys[path[-1] % len(keys)]] = value
    return content


def _as_json(value: object) -> bytes:
    return json.dumps(value).encode("utf-8", "surrogatepass")


CELLS = json.loads(HONEST)["cells"]
STEPS = st.lists(st.integers(0, 9), min_size=1, max_size=5)
NOTEBOOKS = (
    st.builds(_changed, st.just(json.loads(HONEST)), STEPS, VALUES).map(_as_json)
    | st.builds(
        lambda at, some: HONEST[:at] + some + HONEST[at + 1 :],
        st.integers(0, len(HONEST)),
        st.binary(max_size=9),
    )
    | st.text(max_size=80).map(
        lambda code: notebook(SOFTMAX, code.encode("utf-8", "replace").decode())
    )
    | TEXTS.map(
        lambda text: _as_json(
            json.loads(HONEST)
            | {"cells": [*CELLS, {"cell_type": "markdown", "source": text}]}
        )
    )
    | VALUES.map(_as_json)
    | st.binary(max_size=80)
)
TASKS = [task.name for task in worth_points(1)]
ENTRIES = st.dictionaries(
    st.sampled_from(TASKS) | st.text(max_size=9),
    VALUES | st.fixed_dictionaries({"attempts": VALUES}),
)
PROGRESS = (ENTRIES.map(lambda entries: {"tasks": entries}) | VALUES).map(
    _as_json
) | st.binary(max_size=40)
TIMES = (
    st.datetimes(timezones=st.none() | st.timezones()).map(str)
    | st.sampled_from(("0001-01-01 00:00:00+23:59", "9999-12-31 23:59:59-23:59", "2026-10-01 18:30:00 UTC", ""))
    | st.text(max_size=30)
).map(lambda text: text.encode("utf-8", "surrogatepass"))  # fmt: skip
VERDICTS = st.fixed_dictionaries(
    dict.fromkeys(("where", "evidence", "question", "printed", "setup"), TEXTS)
    | {
        "status": st.sampled_from(("passed", "wrong", "error", "not attempted")),
        "mistake": st.none() | st.just("transposed"),
    }
)

# Of each kind: files by their paths, or what the judge says.
KINDS = {
    "names": st.dictionaries(PATHS.map(tuple), st.just(HONEST), max_size=6),
    "notebooks": st.dictionaries(st.just(("eve", "x.ipynb")), NOTEBOOKS, min_size=1),
    "timestamps": st.fixed_dictionaries(
        {("eve", "x.ipynb"): st.just(HONEST), ("eve", "timestamp.txt"): TIMES}
    ),
    "progress": st.dictionaries(
        st.just(("eve", "progress.json")), PROGRESS, min_size=1
    ).map(lambda files: files | {("eve", "x.ipynb"): HONEST}),
    "verdicts": st.dictionaries(st.just(("eve", "x.ipynb")), st.just(HONEST), min_size=1),
}


@pytest.mark.parametrize("count", [20, pytest.param(10_000, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("kind", KINDS)
def test_one_submission_keeps_no_other_from_its_report(
    tmp_path, in_this_process, kind, count
):
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(KINDS[kind], VERDICTS)
    def graded(files, said):
        folder, out = tmp_path / "class", tmp_path / "out"
        try:
            _try(folder, out, files, said if kind == "verdicts" else {})
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            shutil.rmtree(out, ignore_errors=True)

    graded()


def _try(folder: Path, out: Path, files: dict, said: dict) -> None:
    _write(
        folder,
        {("ada lovelace", "01.ipynb"): HONEST, ("grace", "x", "01.ipynb"): HONEST} | files,
    )

    def grade(data, lesson, **_):
        try:
            read_notebook(data)
        except Unreadable as reason:
            return Report(lesson, 0, str(reason), ())
        made = {"status": "passed"} | said
        results = (
            _result(Verdict(t.name, points=t.points, max_points=t.points, **made))
            for t in worth_points(lesson)
        )
        return Report(lesson, 0, "", tuple(results))

    rows = grade_class(folder, out, seed=0, lessons=(1,), grade=grade)
    rows = list(Deadline(datetime(2026, 10, 1, tzinfo=UTC), 0.1, {}).applied(rows))
    written = _written(rows, None, 0, SimpleNamespace(out=out, folder=folder))
    lines = [*table(rows).splitlines(), *problems(rows), passed_over(folder)]

    assert len({(row.learner, row.lesson) for row in rows}) == len(rows)
    honest = {row.learner: row for row in rows if row.learner in ("ada lovelace", "grace")}
    for name, path in (
        ("ada lovelace", "ada lovelace/01.ipynb"),
        ("grace", "grace/x/01.ipynb"),
    ):
        assert honest[name].files[0].path.as_posix() == path
        assert honest[name].report.points == honest[name].max_points
    assert all(row.report or row.problem for row in rows)  # no line without a reason
    assert all(line.isprintable() or "\n" not in line for line in lines)
    for name in written:
        if not name.endswith("/"):
            (out / name).read_text(encoding="utf-8")
    assert len(list((out / "feedback").iterdir())) == len({row.learner for row in rows})


def _write(folder: Path, files: dict) -> None:
    """Write files, as far as their names can stand beside each other."""
    for parts, data in files.items():
        path = folder.joinpath(*parts)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        except OSError:  # a file where a folder should be
            continue
