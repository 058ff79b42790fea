"""An update of a notebook: what the learner wrote stays, all else comes new."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attn_lib.programs.merge import (
    NotReadable,
    merged,
    read_notebook,
    shipped,
    write_notebook,
)


def code(id, source, *outputs, **metadata):
    outputs = [{"output_type": "stream", "name": "stdout", "text": o} for o in outputs]
    return dict(
        cell_type="code",
        id=id,
        source=source,
        metadata=metadata,
        outputs=outputs,
        execution_count=len(outputs) or None,
    )


def text(id, source):
    return dict(cell_type="markdown", id=id, source=source, metadata={})


def notebook(*cells, **metadata):
    return dict(cells=[*cells], metadata=metadata, nbformat=4, nbformat_minor=5)


BASE = notebook(
    text("a", "Lesson 1."),
    code("b", "def f():\n    ...", points=1),
    code("c", "check(f)"),
    code("d", "2 * 2", "4"),
)


def sources(notebook):
    return [(cell["id"], "".join(cell["source"])) for cell in notebook["cells"]]


def update(mine, new, base=BASE):
    """Merge, and see that a second time changes nothing: an interrupted update is run again."""
    before = copy.deepcopy((mine, new))
    result = merged(shipped(base), mine, new)
    assert (mine, new) == before
    assert merged(shipped(base), result.notebook, new).notebook == result.notebook
    return result


def test_a_notebook_that_nobody_touched_is_the_new_one():
    new = notebook(
        text("a", "Lesson one."), code("e", "1"), language_info={"version": "3.13"}
    )
    result = update(BASE, new)
    assert result.notebook == new
    assert (result.changed, result.added, result.both) == (0, 0, 0)


def test_an_answer_stays_and_what_surrounds_it_comes_new():
    mine = copy.deepcopy(BASE)
    mine["cells"][1] = code("b", ["def f():\n", "    return 1"], "mine", points=1)
    mine["cells"].insert(2, code("own", "f()", "1"))
    new = notebook(
        text("a", "Lesson one."),
        code("b", "def f():\n    ...", points=2),
        text("new", "Think first."),
        code("c", "check(f, 1)"),
        code("d", "2 * 2", "4"),
    )
    result = update(mine, new)
    ids = [id for id, _ in sources(result.notebook)]
    assert ids == ["a", "b", "own", "new", "c", "d"]
    answer, own = result.notebook["cells"][1:3]
    assert answer["source"] == ["def f():\n", "    return 1"]
    assert answer["outputs"][0]["text"] == "mine"
    assert answer["metadata"] == {"points": 2}  # the grader's
    assert own == mine["cells"][2]
    assert sources(result.notebook)[4] == ("c", "check(f, 1)")
    assert (result.changed, result.added, result.both) == (1, 1, 0)


def test_where_both_have_changed_a_cell_the_learners_stays_and_it_is_counted():
    mine, new = copy.deepcopy(BASE), copy.deepcopy(BASE)
    mine["cells"][1]["source"] = "def f():\n    return 1"
    new["cells"][1]["source"] = "def f(x):\n    ..."
    result = update(mine, new)
    assert sources(result.notebook) == sources(mine)
    assert (result.changed, result.both) == (1, 1)


def test_outputs_of_the_learners_stay_where_the_source_does():
    mine, new = copy.deepcopy(BASE), copy.deepcopy(BASE)
    mine["cells"][2] = code("c", "check(f)", "passed")
    mine["cells"][3] = code("d", ["2 * 2"], "4")  # as it was shipped, written otherwise
    new["cells"][3] = code("d", "2 * 2", "four")
    _, _, checked, shown = update(mine, new).notebook["cells"]
    assert checked["outputs"][0]["text"] == "passed"
    assert checked["execution_count"] == 1
    assert shown["outputs"][0]["text"] == "four"  # the course's, who has not run it
    new["cells"][2]["source"] = "check(f, 1)"
    assert update(mine, new).notebook["cells"][2]["outputs"] == []


def test_a_deleted_cell_comes_back_only_if_the_course_has_changed_it():
    mine, new = copy.deepcopy(BASE), copy.deepcopy(BASE)
    del mine["cells"][2:4]
    new["cells"][3]["source"] = "3 * 3"
    assert [id for id, _ in sources(update(mine, new).notebook)] == ["a", "b", "d"]


def test_a_cell_that_the_course_took_away_stays_only_if_it_was_changed():
    mine = copy.deepcopy(BASE)
    mine["cells"][1]["source"] = "def f():\n    return 1"
    result = update(mine, notebook(text("a", "Lesson one."), code("d", "2 * 2", "4")))
    assert [id for id, _ in sources(result.notebook)] == ["a", "b", "d"]
    assert result.added == 1


def test_cells_at_the_top_and_several_in_a_row_stay_where_they_are():
    mine = copy.deepcopy(BASE)
    mine["cells"][:0] = [text("top", "My notes"), text("top2", "of today")]
    mine["cells"] += [code("x", "1"), code("y", "2")]
    result = update(mine, BASE)
    assert result.notebook == mine


def test_without_a_manifest_whatever_differs_is_the_learners():
    mine, new = copy.deepcopy(BASE), copy.deepcopy(BASE)
    mine["cells"][1]["source"] = "def f():\n    return 1"
    new["cells"].append(code("e", "5"))
    result = update(mine, new, base=notebook())
    assert sources(result.notebook) == [*sources(mine), ("e", "5")]
    assert (result.changed, result.both) == (1, 0)


def test_a_cell_of_another_type_is_a_changed_one():
    mine, new = copy.deepcopy(BASE), copy.deepcopy(BASE)
    mine["cells"][0] = code("a", "Lesson 1.")
    new["cells"][0]["source"] = "Lesson one."
    assert update(mine, new).notebook["cells"][0] == mine["cells"][0]


def test_the_learners_kernel_stays():
    mine = copy.deepcopy(BASE) | {"metadata": {"kernelspec": {"name": "mine"}, "x": 1}}
    new = BASE | {"metadata": {"kernelspec": {"name": "python3"}}}
    assert update(mine, new).notebook["metadata"] == {"kernelspec": {"name": "mine"}}


IDS = st.lists(st.sampled_from("abcdefgh"), unique=True)
SOURCES = st.sampled_from(["1", "2", "3"])


@st.composite
def notebooks(draw, own=""):
    ids = (
        draw(IDS) + draw(st.lists(st.sampled_from([*own]), unique=True))
        if own
        else draw(IDS)
    )
    ids = draw(st.permutations(ids))
    return notebook(*(code(id, draw(SOURCES), draw(SOURCES)) for id in ids))


@given(notebooks(), notebooks(own="xyz"), notebooks())
def test_nothing_that_the_learner_wrote_is_lost_whatever_changed(base, mine, new):
    result = update(mine, new, base)
    now, was = dict(sources(result.notebook)), dict(sources(base))
    assert len(now) == len(result.notebook["cells"])
    for id, source in sources(mine):
        assert now.get(id) == source or source == was.get(id)
    for id, source in sources(new):
        assert now.get(id) == source or dict(sources(mine)).get(id) != was.get(id)
    again = merged(shipped(new), result.notebook, new)
    assert again.notebook == result.notebook


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b'{"cells": [', "expected JSON"),
        (b"\xff", "expected JSON"),
        (b"[" * 100_000, "expected JSON"),
        (b"[]", "nbformat 4"),
        (b'{"worksheets": []}', "nbformat 4"),
        (b'{"cells": [{"id": "a"}]}', "nbformat 4"),
        (write_notebook(notebook(text("a", ""), text("a", ""))), "an id of its own"),
        (json.dumps(notebook({k: v for k, v in text("a", "").items() if k != "id"})).encode(), "an id"),
    ],
)  # fmt: skip
def test_what_is_no_notebook_is_refused_with_a_reason(data, says):
    with pytest.raises(NotReadable, match=says):
        read_notebook(data)


def test_a_notebook_is_written_as_jupyter_does():
    odd = notebook(text("a", "é \ud800"))
    assert read_notebook(b"\xef\xbb\xbf" + write_notebook(odd)) == odd
    assert "é".encode() in write_notebook(odd)
