"""A mistake costs the points of its own task only, and the report says so."""

import json
import re
import resource
import subprocess
import sys
from itertools import pairwise

import pytest

from attn_lib.checks import tasks
from attn_lib.grading.carried import called_by, our_answer, with_ours
from attn_lib.grading.definitions import definitions
from attn_lib.grading.grade import CARRIED, grade_submission
from attn_lib.grading.visible_course import exports, visible
from tests.grading.judging import answered, notebook

NEVER_CALLED = "save_checkpoint"  # what is loaded in the next task, the judge has saved
CELLS = [
    "%%time\ndef a(x):\n    return b(x)",
    "c = d = 3\ndef b(x):\n    return helper(x) + c",
    "class helper(base):\n    def run(self): return e",
    "not Python",
    "def f(): return c",
]


def test_what_an_answer_calls_is_found_through_helpers():
    defined = [definitions(cell) for cell in CELLS]
    assert called_by("a", defined) == {"b", "helper", "c", "d", "x", "base", "e"}
    assert called_by("f", defined) == {"c", "d"}
    assert called_by("nothing", defined) == set()


@pytest.mark.parametrize("deep", ["(" * 99_999, "-" * 99_999 + "1", "x" + ".a" * 99_999])
def test_code_too_deep_to_be_read_calls_nothing(deep):
    assert called_by("a", [definitions(deep), definitions("a = b")]) == {"b"}


def test_ours_stands_where_theirs_was_defined_or_at_the_beginning():
    cells = ["x = 1", "def attention(q, k, v): ...", "y = attention"]
    ours, defined = our_answer("attention"), [definitions(cell) for cell in cells]
    assert with_ours(cells, defined, ["attention"]) == [*cells[:2], ours, cells[2]]
    assert with_ours(cells[:1], defined[:1], ["attention"]) == [ours, cells[0]]


def test_our_answers_need_nothing_that_is_not_there_inside(tmp_path):
    worth = [task for task in tasks() if task.points and task.name != NEVER_CALLED]
    for task, following in pairwise(worth):
        if task.lesson == following.lesson:  # a later task can call it
            text, there = our_answer(task.name), exports(visible(task.lesson))
            (tmp_path / f"{task.name}.py").write_text(text)
            assert {*re.findall(r"attn_lib\.(\w+)", text)} <= {*re.findall(r"\w+", there)}
    undefined = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F821"]
    ran = subprocess.run([*undefined, tmp_path], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout


def spoiled(name: str, code: str) -> bytes:
    """Return the solution of lesson 01 with other code below one answer."""
    cells = answered(1)
    [place] = [n for n, cell in enumerate(cells) if f"def {name}(" in cell]
    return notebook(*cells[: place + 1], code, *cells[place + 1 :])


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox_works")
def test_a_wrong_answer_costs_its_own_points_only():
    data = spoiled("stable_softmax", "def stable_softmax(x, dim=-1):\n    return x.exp()")
    strict, report = (grade_submission(data, 1, seed=5, strict=s) for s in (True, False))
    assert (strict.points, report.points, report.max_points) == (1, 8, 10)
    assert [t.status for t in report.tasks] == ["wrong", "passed", CARRIED, CARRIED]
    for task in report.tasks[2:]:
        # `attention` is right, but for what it calls: there is nothing to mend.
        assert "with our `stable_softmax` in place of yours" in task.message
        assert "with our <code>stable_softmax</code>" in task.html
        # The question would be about an answer in which nothing is to be mended.
        assert (task.mistake, task.question) == (None, "")
        assert "Input: " not in task.message


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox_works")
@pytest.mark.parametrize("begun", ["", "    x = x - x.max()\n"])
def test_an_answer_that_was_left_as_it_is_costs_its_own_points_only(begun):
    stub = f"def stable_softmax(x, dim=-1):\n{begun}    raise NotImplementedError"
    report = grade_submission(spoiled("stable_softmax", stub), 1, seed=5)
    assert [t.status for t in report.tasks] == ["not attempted", "passed", CARRIED, CARRIED]


def test_our_answer_leaves_nothing_but_itself():
    names = {}
    exec(our_answer("attention"), names)
    assert names.keys() - {"__builtins__", "_ours"} == {"attention"}


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox_works")
def test_nothing_is_carried_forward_that_is_wrong_by_itself():
    both = (
        "def stable_softmax(x, dim=-1):\n    return x.exp()",
        "def attention(q, k, v):\n    w = stable_softmax(q @ k.mT)\n    return w @ v, w",
    )
    report = grade_submission(notebook(*answered(1), *both), 1, seed=5)
    assert [task.status for task in report.tasks] == ["wrong", "passed", "wrong", CARRIED]
    assert report.points == 1 + 4


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox_works")
def test_a_cell_that_failed_is_named_where_its_names_are_missed():
    cells = [
        "import torch\nimport no_such_module\nimport torch.nn.functional as F",
        "def stable_softmax(x, dim=-1):\n    return F.softmax(x, dim)",
        "raise NotImplementedError",
        "def attention(q, k, v):\n    return q\nimport os\nos._exit(1)",
        "def attention_scores(q, k)\n    return q",
    ]
    report = grade_submission(notebook(*cells), 1, seed=5)
    first, second, third = re.split(" Code cell [15] ", report.cells)
    assert first.startswith("Code cell 4 was left out")
    assert third == (
        "raised “SyntaxError: expected ':', line 1” (it begins “def attention_scores(q, k)”)."
    )
    assert second == (
        "raised “ModuleNotFoundError: there is no module `no_such_module` where it was graded” "
        "(it begins “import torch”)."
    )
    softmax, scores, attention, other = report.tasks
    assert (scores.status, attention.status) == ("error", "error")  # their cells stopped
    assert other.status == "not attempted"
    assert report.cells in softmax.message
    assert "no_such_module" in softmax.html
    assert "no_such_module" in scores.message
    assert json.loads(json.dumps(report.to_json()))["cells"] == report.cells


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox_works")
def test_code_that_takes_gigabytes_to_parse_takes_none_of_ours():
    bomb = "%%bash\nimport " + "a." * 75_000 + "a"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    report = grade_submission(notebook(bomb, *answered(1)), 1, seed=5)
    assert report.points == 10
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 300_000  # KB; one parse outside took 2 GB


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox_works")
def test_an_answer_of_nearly_the_right_name_is_pointed_out():
    cells = [cell.replace("stable_softmax", "my_stable_softmax") for cell in answered(1)]
    first = grade_submission(notebook(*cells), 1, seed=5).tasks[0]
    assert (first.status, first.points) == ("error", 0)
    assert "Is it what is named `my_stable_softmax`?" in first.message
