"""What a verdict says: as text, as HTML, and in lines of code to try by hand."""

import json
import re
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import torch

import attn_lib
from attn_lib.checks import judge
from attn_lib.checks import verdict as verdicts
from attn_lib.checks.verdict import Verdict, inline, made_by_hand, show, small_inputs

WRONG = Verdict(
    "attention",
    "wrong",
    mistake="scale-missing",
    where="One query: q (1, 2).",
    evidence="It raised ValueError: no\n    line 3",
    question="What is `D`?",
    printed="".join(f"line {number}\n" for number in range(50)),
    inputs={"q": torch.tensor([[1.0, 2.0]])},
    expected=torch.zeros(1, 2),
    actual=torch.ones(1, 2),
    max_points=3,
    note="Not kept.",
)
PASSED = Verdict("attention", "passed", points=3, max_points=3)
PRACTICE = Verdict("mixture", "passed")


def test_a_wrong_answer_is_told_input_evidence_question_and_note():
    lines = [f"    line {number}" for number in range(20)]
    assert str(WRONG).splitlines() == [
        "✗ Not yet: attention",
        "  Input: One query: q (1, 2).",
        "  It raised ValueError: no",
        "      line 3",
        "  Think: What is `D`?",
        "  Not kept.",
        "  To try it by hand:",
        "    q = torch.tensor([[1.0, 2.0]])",
        "  Your code printed:",
        *lines,
    ]
    assert not str(WRONG).endswith("\n")


def test_html_says_the_same_with_a_picture_and_more_of_what_was_printed():
    html = WRONG._repr_html_()
    found = re.findall(r"<(strong|pre|p|summary|img)\b[^>]*>([^<]*(?:<code>.*\?)?)", html)
    assert found == [
        ("strong", "✗ Not yet: attention"),
        ("p", "Input: One query: q (1, 2)."),
        ("p", "It raised ValueError: no"),
        ("pre", "    line 3"),
        ("img", ""),
        ("p", "What is <code>D</code>?"),
        ("p", "Not kept."),
        ("summary", "To try it by hand"),
        ("pre", "q = torch.tensor([[1.0, 2.0]])"),
        ("summary", "Your code printed"),
        ("pre", "\n".join(f"line {number}" for number in range(40))),
    ]
    assert re.findall(r'font-weight:bold">([^<]*)', html) == ["What is "]
    assert 'data-status="wrong" data-mistake="scale-missing"' in html
    assert verdicts.difference_picture(WRONG.expected, WRONG.actual) in html


@pytest.mark.parametrize(
    ("verdict", "said", "note"),
    [
        (PASSED, "3 of 3 points.", ""),
        (PASSED, "3 of 3 points.", "Not kept."),
        (Verdict("x", "passed", points=1, max_points=1), "1 of 1 point.", ""),
        (PRACTICE, "Right.", ""),
    ],
)
def test_a_passed_answer_is_told_its_points_and_a_note_once(verdict, said, note):
    verdict = verdict.with_note(note)
    heading = f"✓ Passed: {verdict.task}"
    assert str(verdict) == "\n  ".join(part for part in (heading, said, note) if part)
    html = verdict._repr_html_()
    assert f"{heading}</strong> &nbsp;{said}" in html
    assert re.findall(r"<p[^>]*>([^<]*)", html) == [note] * bool(note)
    assert "<details>" not in html
    assert "data-mistake" not in html


def test_of_practice_a_note_is_all_that_is_said():
    verdict = PRACTICE.with_note("Not kept.")
    assert str(verdict) == "✓ Passed: mixture\n  Not kept."
    assert verdict._repr_html_().count("Not kept.") == 1


def test_what_is_not_there_leaves_no_empty_paragraph():
    bare = Verdict("attention", "not attempted", evidence="There is no answer yet.")
    assert str(bare) == "○ Not attempted: attention\n  There is no answer yet."
    assert re.findall(r"<p[^>]*>([^<]*)", bare._repr_html_()) == ["There is no answer yet."]
    assert (bare.points, bare.max_points) == (0, 0)


def test_the_tensors_of_a_verdict_are_not_printed_with_it():
    assert "tensor(" not in repr(WRONG)
    assert "_shown_in" not in repr(WRONG)


@pytest.fixture
def notebook(monkeypatch):
    """Return a notebook's shell, and what it is given to display."""
    shell, display = SimpleNamespace(execution_count=1), Mock()
    monkeypatch.setattr(verdicts, "_shell", lambda: shell)
    monkeypatch.setattr("IPython.display.display", display)
    return shell, display


def test_a_verdict_is_shown_once_in_a_cell_of_a_notebook(notebook, capsys):
    shell, display = notebook
    verdict = Verdict("attention", "wrong", evidence="No.")
    verdict.show()
    verdict.show()
    data = {"text/plain": str(verdict), "text/html": verdict._repr_html_()}
    display.assert_called_once_with(data, raw=True)
    assert verdict == Verdict("attention", "wrong", evidence="No.")
    shell.execution_count = 2
    verdict.show()
    assert display.call_count == 2
    assert capsys.readouterr().out == ""


def test_in_a_terminal_a_verdict_is_printed_each_time(capsys):
    PASSED.show()
    PASSED.show()
    show("text", "<p>markup</p>")
    assert capsys.readouterr().out == f"{PASSED}\n{PASSED}\ntext\n"


@pytest.mark.parametrize(("count", "is_written"), [(30, True), (31, False)])
def test_inputs_of_up_to_thirty_numbers_are_written_as_code(count, is_written):
    inputs = {"x": torch.zeros(count - 1), "y": torch.zeros(1)}
    assert bool(small_inputs(inputs)) is is_written


def test_inputs_that_are_pasted_have_their_dtypes_and_infinities():
    inputs = {
        "x": torch.tensor([torch.inf, -torch.inf, 1 / 3], dtype=torch.float64),
        "n": torch.tensor([[1, 2]]),
        "mask": torch.tensor([True, False]),
    }
    names = {"torch": torch}
    exec(small_inputs(inputs), names)
    for name, tensor in inputs.items():
        assert names[name].dtype == tensor.dtype
        assert torch.allclose(names[name].double(), tensor.double(), rtol=1e-4)
    assert "0.33333" in small_inputs(inputs)
    assert "dtype" not in small_inputs({"n": inputs["n"], "mask": inputs["mask"]})


def test_a_module_that_is_pasted_has_its_parameters_once():
    weight = torch.tensor([[1.0]])
    setup = made_by_hand("module", "Linear(1, 1)", {"weight": weight})
    assert setup == "module = Linear(1, 1)\nmodule.weight.data = torch.tensor([[1.0]])"
    inputs = {"weight": weight, "layer.bias": torch.zeros(1), "x": torch.ones(1)}
    verdict = Verdict("Linear", "wrong", inputs=inputs, setup=setup)
    assert verdict.by_hand == f"{setup}\nx = torch.tensor([1.0])"
    assert Verdict("Linear", "wrong", setup=setup).by_hand == ""


def test_code_in_backquotes_is_code_and_the_rest_is_escaped():
    assert inline("`a < b` & c") == "<code>a &lt; b</code> &amp; c"


def test_a_module_can_be_made_by_hand_from_what_is_said():
    class Deaf(attn_lib.PreNormBlock):
        def forward(self, x, mask=None):
            return super().forward(x)

    verdict = judge("PreNormBlock", Deaf)
    names = {"torch": torch, "PreNormBlock": Deaf}
    exec(verdict.by_hand, names)
    found = names["module"](names["x"], mask=names["mask"])
    torch.testing.assert_close(found[0], verdict.actual)


def test_names_of_tasks_are_links_where_a_notebook_runs(tmp_path, monkeypatch):
    here = tmp_path / "exercises/01_one"
    here.mkdir(parents=True)
    monkeypatch.chdir(here)
    passed = replace(PASSED, note="Next: `attention`, then `other`.")
    cells = [{"id": "abc", "source": ["## 2 · `attention`\n", "*easy*"]}, {"source": "x"}]
    for name in ("01_one.ipynb", "01_one.bak-1.ipynb"):
        (here / name).write_text(json.dumps({"cells": cells}))
    assert "<a " not in passed._repr_html_()
    monkeypatch.setenv("JPY_SESSION_NAME", "x.ipynb")
    link = '<code><a href="01_one.ipynb#cell-id=abc">attention</a></code>'
    assert link in passed._repr_html_()
    assert passed._repr_html_().count("<a ") == 1
    for odd in ("{", "[]", '{"cells": 3}', '{"cells": [3]}'):
        (here / "01_one.ipynb").write_text(odd)
        assert "<code>attention</code>" in passed._repr_html_()
