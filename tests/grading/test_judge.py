"""The judge outside of the learner's process: honest notebooks, and notebooks that end or cheat it."""

import json
import time
from pathlib import Path

import pytest

from attn_lib.checks import tasks
from attn_lib.grading.course import course_for
from attn_lib.grading.judge import Judge

pytestmark = pytest.mark.usefixtures("sandbox_works")
ROOT = Path(__file__).resolve().parents[2]
SOLUTIONS = sorted(ROOT.glob("solutions/*/*.ipynb"))


def cells_of(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]


def judged(cells, lesson=1):
    return {verdict.task: verdict for verdict in Judge(cells, lesson, seed=7).verdicts()}


SOFTMAX = "import torch\n\n\ndef stable_softmax(x, dim=-1):\n    return x.softmax(dim)\n"
SCORES = "def attention_scores(q, k):\n    return q @ k.mT / q.shape[-1] ** 0.5\n"


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.stem)
def test_a_solution_gets_every_point(path):
    lesson = int(path.stem[:2])
    verdicts = judged(cells_of(path), lesson)
    wanted = {task.name for task in tasks() if task.lesson == lesson and task.points}
    assert set(verdicts) == wanted
    assert all(v.status == "passed" for v in verdicts.values()), list(
        map(str, verdicts.values())
    )


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.stem)
def test_an_untouched_exercise_gets_none(path):
    exercise = ROOT / "exercises" / path.parent.name / path.name
    verdicts = judged(cells_of(exercise), int(path.stem[:2]))
    assert {v.status for v in verdicts.values()} == {"not attempted"}
    assert sum(v.points for v in verdicts.values()) == 0


def test_a_known_mistake_is_named_as_in_the_notebook():
    verdict = judged([SCORES.replace("** 0.5", "")])["attention_scores"]
    assert verdict.status == "wrong"
    assert verdict.mistake == "scale-twice"
    assert "Think:" in verdict.message


def test_an_error_shows_the_learners_line():
    verdict = judged(["def attention_scores(q, k):\n    return q @ k"])["attention_scores"]
    assert verdict.status == "error"
    assert "RuntimeError" in verdict.message
    assert "line 2, in attention_scores" in verdict.message


def test_broken_cells_and_magics_do_not_take_the_others_with_them():
    cells = [
        "%matplotlib inline\n!pip install nothing",
        "1 / 0",
        "def broken(:",
        f"%%time\n{SOFTMAX}",
        "%%bash\nrm -rf /",
        "torch?",
        f"get_ipython().magic('who')\ndisplay(3)\n{SCORES}",
    ]
    verdicts = judged(cells)
    assert verdicts["stable_softmax"].status == "passed"
    assert verdicts["attention_scores"].status == "passed"
    message = verdicts["attention"].message
    assert "Nothing in the notebook is named `attention`" in message
    assert "Code cell 2 raised ZeroDivisionError. Code cell 3 raised SyntaxError" in message


# What works in Jupyter: cells before those of the honest answers, or around them.
ODD = {
    "magics in a timed cell": ["%%time\n%matplotlib inline\nfiles = !ls\nprint(len(files))\n" + SOFTMAX],
    "a timed line": ["%time y = 3\nprint(y)\n" + SOFTMAX],
    "await at the top": ["import asyncio\nawait asyncio.sleep(0)\n" + SOFTMAX],
    "await in a timed cell": ["%%time\nimport asyncio\nawait asyncio.sleep(0)\n" + SOFTMAX],
    "annotations that do not exist": [
        "from __future__ import annotations",
        SOFTMAX.replace("dim=-1", "dim: Nowhere = -1"),
    ],
    "a thousand names": ["from torch import *\nfrom numpy import *\nfrom matplotlib.pylab import *", SOFTMAX],
    "a compiled function": [SOFTMAX.replace("def", "@torch.compile\ndef")],
    "a compiled function, with options": [SOFTMAX.replace("def", "@torch.compile(dynamic=True)\ndef")],
    "a script function": [SOFTMAX.replace("def", "@torch.jit.script\ndef").replace("dim=", "dim: int = ")],
    "its own source": [SOFTMAX, "import inspect\nassert 'def' in inspect.getsource(stable_softmax)\n" + SOFTMAX],
    "an indented cell": ["".join("    " + line for line in SOFTMAX.splitlines(True))],
    "prompts": [">>> import math\n>>> x = 3\n", SOFTMAX],
    "a question to the reader": ["name = input('Your name? ')\nprint(name)\n" + SOFTMAX],
    "a shell that is imported": [
        "from IPython import get_ipython\nget_ipython().run_line_magic('matplotlib', 'inline')\n"
        "get_ipython().events.register('pre_run_cell', print)\n" + SOFTMAX
    ],
    "a module of its own": ["%%writefile own.py\n" + SOFTMAX, "from own import stable_softmax"],
    "the name of the user": ["import getpass\nprint(getpass.getuser())\n" + SOFTMAX],
    "a guarded main": ["if __name__ == '__main__':\n" + "".join("    " + s for s in SOFTMAX.splitlines(True))],
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_what_is_odd_but_honest_gets_its_points(name):
    verdicts = judged([*ODD[name], SCORES])
    assert verdicts["stable_softmax"].status == "passed"
    assert verdicts["attention_scores"].status == "passed"


def test_a_result_of_another_kind_is_named():
    [verdict] = [
        v
        for v in judged(["def stable_softmax(x, dim=-1):\n    return x.numpy()"]).values()
        if v.task == "stable_softmax"
    ]
    assert "but is a ndarray" in verdict.message


def test_a_cell_that_ends_the_process_is_left_out_and_named():
    verdicts = judged([SOFTMAX, "import os\nos._exit(0)", SCORES])
    assert verdicts["stable_softmax"].status == "passed"
    assert verdicts["attention_scores"].status == "passed"
    assert "Code cell 2 was left out" in verdicts["attention"].message


def test_an_answer_that_ends_the_process_loses_its_task_only():
    dying = "import os\ndef stable_softmax(x, dim=-1):\n    os._exit(0)"
    verdicts = judged([dying, SCORES])
    assert verdicts["stable_softmax"].status == "error"
    assert "ended the process" in verdicts["stable_softmax"].message
    assert verdicts["attention_scores"].status == "passed"


def test_an_answer_without_end_loses_its_task_only(monkeypatch):
    monkeypatch.setattr("attn_lib.grading.judge.CASE_SECONDS", 2.0)
    endless = "def stable_softmax(x, dim=-1):\n    while True:\n        pass"
    verdicts = judged([endless, SCORES])
    assert "ran too long" in verdicts["stable_softmax"].message
    assert verdicts["attention_scores"].status == "passed"


def test_many_slow_cells_and_calls_end_with_the_time_of_the_whole(monkeypatch):
    monkeypatch.setattr("attn_lib.grading.judge.SUBMISSION_SECONDS", 6.0)
    start = time.monotonic()
    verdicts = judged(["import time\ntime.sleep(1.5)"] * 40)
    assert time.monotonic() - start < 15
    assert all("too long" in verdict.message for verdict in verdicts.values())


def test_the_same_notebook_and_seed_give_the_same_verdicts():
    cells = [SCORES.replace("** 0.5", "")]
    assert (
        judged(cells)["attention_scores"].message
        == judged(cells)["attention_scores"].message
    )


# ------------------------------------------------------------------------------- what is inside


@pytest.mark.parametrize("lesson", sorted({task.lesson for task in tasks() if task.points}))
def test_no_answer_of_this_lesson_is_inside(lesson):
    """Neither a reference nor the library's function: their names are not even defined there."""
    text = "\n".join(
        path.read_text(encoding="utf-8") for path in course_for(lesson).rglob("*.py")
    )
    for task in tasks():
        if task.lesson >= lesson and task.points:
            assert f"def {task.name}(" not in text, task.name
            assert f"class {task.name}(" not in text, task.name


def test_the_cases_call_answers_only_through_what_is_inside():
    from attn_lib.checks.battery import battery

    for task in tasks():
        allowed = {"attn_lib.checks.task", f"attn_lib.checks.lesson_{task.lesson:02}.runs"}
        used = {case.run.__module__ for case in battery(task.name, 0).cases}
        assert used <= allowed, task.name


def test_answers_of_earlier_lessons_are_there_and_later_ones_are_not():
    cells = [
        "from attn_lib.checks import mine\nfrom attn_lib import causal_mask",
        "def cached_attention(q, k, v, cache):\n    raise ValueError(str(mine('attention')) + str(causal_mask(1, 2)))",
        "import attn_lib\ndef repeat_kv(x, num_heads):\n    return attn_lib.repeat_kv(x, num_heads)",
    ]
    verdicts = judged(cells, lesson=4)
    assert "tensor([[True, True]])" in verdicts["cached_attention"].message
    assert "AttributeError" in verdicts["repeat_kv"].message


def test_in_lesson_02_the_softmax_of_lesson_01_is_there_and_attention_is_not():
    cells = [
        "from attn_lib.checks import mine\nsoftmax = mine('stable_softmax')",
        "def masked_softmax(scores, mask):\n    raise ValueError(str(softmax(scores).shape))",
        "def masked_attention(q, k, v, mask=None):\n    return mine('attention')(q, k, v)[0]",
    ]
    verdicts = judged(cells, lesson=2)
    assert "torch.Size" in verdicts["masked_softmax"].message
    assert 'There is no task named "attention"' in verdicts["masked_attention"].message


def test_the_inside_has_no_network_no_secrets_and_no_other_processes(monkeypatch):
    monkeypatch.setenv("SECRET_OF_THE_HOST", "1")
    probe = """
import os, socket, pathlib
def says(name, action):
    try:
        return f"{name}: {action()!r}"
    except BaseException as error:
        return f"{name}: {type(error).__name__}"
def stable_softmax(x, dim=-1):
    raise ValueError(" | ".join([
        says("fork", os.fork),
        says("network", lambda: socket.create_connection(("127.0.0.1", 9), 1)),
        says("environment", lambda: "SECRET_OF_THE_HOST" in os.environ),
        says("solutions", lambda: pathlib.Path(REPOSITORY).exists()),
        says("write", lambda: open("/course/x", "w")),
        says("device", lambda: open("/dev/x", "w")),
        says("memory", lambda: bytearray(8 << 30)),
        says("processes", lambda: sum(name.isdigit() for name in os.listdir("/proc")) < 5),
    ]))
""".replace("REPOSITORY", repr(str(ROOT / "solutions")))
    message = judged([probe])["stable_softmax"].message
    for expected in (
        "fork: PermissionError",
        "network: OSError",
        "environment: False",
        "solutions: False",
        "write: OSError",
        "device: OSError",
        "memory: MemoryError",
        "processes: True",
    ):
        assert expected in message
