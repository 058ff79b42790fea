"""Notebooks as people make them become cells, or a reason for an instructor."""

import json
import time

import nbformat
import pytest

from attn_lib.grading import submission
from attn_lib.grading.grade import Report, grade_submission
from attn_lib.grading.names import clean
from attn_lib.grading.submission import Unreadable, read_cells, read_notebook
from tests.grading.judging import SOFTMAX, SOLUTION


def cell(source, **more):
    return {"cell_type": "code", "source": source, "metadata": {}, "outputs": [], **more}


def notebook(*cells, **more):
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **more}


def packed(content, encoding="utf-8"):
    return json.dumps(content, ensure_ascii=False).encode(encoding)


def test_the_code_cells_of_a_solution_come_in_order():
    cells = read_cells(SOLUTION)
    assert cells[0].startswith("import math")
    assert cells[-1] == "progress(lesson=1)"
    assert not any("Four tasks" in source for source in cells)


def test_any_encoding_is_read():
    source = "größe = 1  # café"
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp1252"):
        assert read_cells(packed(notebook(cell(source)), encoding)) == [source]


@pytest.mark.parametrize(
    "source", ["a\nb\n", ["a\n", "b\n"], ["a", "b", ""], "a\r\nb\r\n"], ids=repr
)
def test_a_source_is_a_text_or_a_list_of_lines(source):
    assert read_cells(packed(notebook(cell(source)))) == ["a\nb\n"]


def test_other_formats_are_read():
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("a = 1\nb = 2")])
    third = nbformat.v3.writes_json(nbformat.convert(made, 3))
    second = json.dumps(json.loads(third) | {"nbformat": 2})
    first = json.dumps({"cells": [{"cell_type": "code", "code": "a = 1\nb = 2"}]})
    for text in (first, second, third):
        assert read_cells(text.encode()) == ["a = 1\nb = 2"]
    for numbers in ({"nbformat_minor": 0}, {"nbformat": 9}, {"nbformat": "four"}):
        assert read_cells(packed(notebook(cell("x = 1")) | numbers)) == ["x = 1"]


def test_what_is_not_a_code_cell_is_passed_over_and_the_rest_counts():
    content = notebook(
        cell("x = 1"), None, [], {"cell_type": "code"}, cell(7), cell(["y", 7]),
        {"cell_type": "raw", "source": "z"}, cell("cat(1)", language="R"), cell("w = 2", metadata=3),
    )  # fmt: skip
    assert read_cells(packed(content)) == ["x = 1", "w = 2"]


def test_huge_outputs_widgets_and_pictures_do_not_matter():
    outputs = [{"output_type": "stream", "text": ["1, 2, [3]\n" * 100_000] * 5}]
    widget = {"application/vnd.jupyter.widget-state+json": {"state": {"a": {}}}}
    data = packed(notebook(cell("x", outputs=outputs), metadata=widget))
    assert read_cells(data) == ["x"]


def test_a_script_is_split_where_it_was_exported_from_cells():
    script = b"# coding: utf-8\nimport torch\n# In[2]:\n\nx = 1\n# %% [markdown]\n# text\n"
    cells = [source.strip() for source in read_cells(script)]
    assert cells == ["# coding: utf-8\nimport torch", "x = 1", "# text"]


def test_the_names_that_nbgrader_gave_to_cells_are_found():
    named = cell("x", metadata={"nbgrader": {"grade_id": "attention"}})
    odd = cell("x", metadata={"nbgrader": {"grade_id": ["a"]}})
    assert read_notebook(packed(notebook(named, odd))).grade_ids == ["attention"]


BROKEN = {
    "nothing": (b"", "empty"),
    "blanks": (b" \n\n", "nothing but blanks"),
    "zero bytes": (bytes(100), "zero bytes"),
    "cut off": (packed(notebook(cell(SOFTMAX)))[:-30], "cut off"),
    "cut off after a comma": (b'{"cells": [1,\n', "cut off"),
    "cut off after a name": (b'{"cells"\n', "cut off"),
    "blanks and html": (b"\n <HTML>", "HTML page"),
    "invalid": (b'{"cells": [oops]}', r"not valid JSON: Expecting value \(line 1\)"),
    "merge": (b'{\n<<<<<<< HEAD\n"a": 1,\n=======\n', "merge"),
    "html": (b"<!DOCTYPE html><html>Sign in</html>", "HTML page"),
    "zip": (b"PK\x03\x04 ...", "zip archive"),
    "pdf": (b"%PDF-1.7 ...", "PDF"),
    "text": ("Prof., hier meine Lösung".encode(), "not a notebook"),
    "a list": (b"[1]", "not a notebook"),
    "not a notebook": (b'{"a": 1}', "no cells"),
    "cells of another kind": (b'{"cells": "x"}', "no cells"),
    "no code": (packed(notebook({"cell_type": "markdown", "source": "x"})), "no code"),
    "empty cells": (packed(notebook(cell(""), cell("\n"))), "no code"),
    "another language": (
        packed(notebook(cell("x <- 1"), metadata={"kernelspec": {"language": "R"}})),
        "for R, not for Python",
    ),
    "deep": (b'{"cells":' + b"[" * 5000 + b"]" * 5000 + b"}", "levels deep"),
    "a long number": (b'{"cells": [' + b"9" * 5000 + b"]}", "not valid JSON"),
    "too many cells": (packed(notebook(*[cell("x")] * 2001)), "2,001 code cells"),
    "too much code": (
        packed(notebook(cell("x"), cell("y" * 600_000), cell("z"))),
        "cell 2",
    ),
    "too many values": (b'{"cells": [' + b"[]," * 3_000_000 + b"1]}", "values"),
    "too many texts": (b'{"cells": [' + b'"",' * 3_000_001 + b"1]}", "values"),
    "too large": (b"{" + b" " * submission.FILE_LIMIT, "larger than 20 MB"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_cannot_be_used_gets_a_reason(name):
    data, reason = BROKEN[name]
    with pytest.raises(Unreadable, match=reason):
        read_cells(data)


def nested(depth):
    rest = "[1], " * 9 + "[" * depth + "]" * depth
    return f'{{"cells": [{{"cell_type": "code", "source": "x"}}, {rest}]}}'.encode()


@pytest.mark.parametrize(
    ("name", "limit", "data"),
    [
        ("FILE_LIMIT", 200, packed(notebook(cell("x"))).ljust(200)),
        ("CELLS_LIMIT", 3, packed(notebook(*[cell("x")] * 3))),
        ("CODE_LIMIT", 10, packed(notebook(cell("xyzxyz")))),  # ["xyzxyz"]
        ("DEPTH_LIMIT", 7, nested(5)),
        ("VALUES_LIMIT", 5, b'{"cells":[{"cell_type":"code","source":"x"}]}'),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_as_much_as_may_be_is_read_and_no_more(name, limit, data, monkeypatch):
    monkeypatch.setattr(submission, name, limit)
    assert read_cells(data)
    monkeypatch.setattr(submission, name, limit - 1)
    with pytest.raises(Unreadable):
        read_cells(data)


def test_ends_of_lines_in_a_text_that_should_be_escaped_do_no_harm():
    data = b'\n {"cells": [{"cell_type": "code", "source": "import torch\nimport math"}]}'
    assert read_cells(data) == ["import torch\nimport math"]


def test_reading_runs_nothing(tmp_path):
    target = tmp_path / "made"
    source = f"open({str(target)!r}, 'w')"
    read_cells(packed(notebook(cell(source), cell(f"!touch {target}"))))
    assert not target.exists()


def test_what_cannot_be_read_is_reported_with_zero_points_and_survives_json():
    report = grade_submission(b"", 1, seed=3)
    assert (report.points, report.max_points) == (0, 10)
    assert report.problem == "The file is empty (0 bytes)."
    assert {task.status for task in report.tasks} == {"not graded"}
    assert Report.from_json(json.loads(json.dumps(report.to_json()))) == report


def test_a_lesson_without_tasks_is_the_callers_mistake():
    with pytest.raises(ValueError, match="no tasks"):
        grade_submission(b"", 99, seed=0)


@pytest.mark.parametrize("plain", [{}, {"lesson": 1}, {"tasks": [{"a": 1}]}, {"tasks": 3}])
def test_something_else_is_no_report(plain):
    with pytest.raises(ValueError, match="not a report"):
        Report.from_json(plain)


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox_works")
def test_a_notebook_as_people_make_them_is_graded():
    content = notebook(
        cell("%matplotlib inline\n!pip install torch\nimport matplotlib.pyplot as plt"),
        cell("%%bash\nrm -rf /"),
        cell("def helper(x):\n    return x - x.amax(-1, keepdim=True)\nhelper?"),
        cell("this is not Python"),
        cell("plt.plot([1, 2]); plt.show()\nimport ipywidgets\nipywidgets.IntSlider()"),
        cell(["def stable_softmax(x, dim=-1):\n", "    return x.softmax(dim)\n"]),
        cell("def attention_scores(q, k):\n    raise ValueError(f'<b> \\x00 {object()}')"),
        nbformat_minor=0,
    )
    report = grade_submission(packed(content), 1, seed=5)
    results = {task.name: task for task in report.tasks}
    assert results["stable_softmax"].points == 2
    assert results["attention_scores"].status == "error"
    assert "&lt;b&gt;" in results["attention_scores"].html
    assert results["attention"].status == "not attempted"
    assert report.problem == ""


def test_text_is_made_fit_for_any_file():
    assert clean("a\x00\x1b[1m\ud800 <o at 0x7f12ab34cd56>\n") == "a��[1m� <o at 0x...>\n"
    turned = "\u202e5 of 5\u2069 \u200fpoints"  # marks that turn the writing
    assert clean(turned) == "5 of 5 points"


def test_a_string_without_end_takes_no_time():
    start = time.monotonic()
    with pytest.raises(Unreadable, match="cut off"):
        read_cells(b'{"cells": [' + b'"\\' * submission.VALUES_LIMIT)
    assert time.monotonic() - start < 10


def test_closing_brackets_are_counted_too():
    with pytest.raises(Unreadable, match="values, more than any notebook"):
        read_notebook(b"{" + b"]" * (submission.VALUES_LIMIT + 1))
