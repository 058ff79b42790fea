"""The judge outside of the learner's process: honest notebooks, and notebooks that end or cheat it."""

import random

import numpy as np
import pytest

from attn_lib.checks import tasks
from attn_lib.checks.task import find_task
from attn_lib.checks.trial import trial_of
from attn_lib.grading import grade
from attn_lib.grading.submission import read_cells
from attn_lib.grading.visible_course import course_for, engine, library, taught, visible
from tests.checks.test_afresh import KEEPS
from tests.checks.test_afresh import answer as stateful
from tests.grading.attacks import HONEST
from tests.grading.judging import ROOT, SOFTMAX, answered, judged, notebook, verdict_on

pytestmark = [pytest.mark.usefixtures("sandbox_works"), pytest.mark.slow]


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
    "a module of its own": ["%%writefile -a own.py\n" + SOFTMAX, "from own import stable_softmax"],
    "the name of the user": ["import getpass\nprint(getpass.getuser())\n" + SOFTMAX],
    "a guarded main": ["if __name__ == '__main__':\n" + "".join("    " + s for s in SOFTMAX.splitlines(True))],
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_what_is_odd_but_honest_gets_its_points(name):
    assert verdict_on("stable_softmax", *ODD[name]).status == "passed"


def test_the_same_notebook_and_seed_give_the_same_verdicts():
    cells = [
        "import random\nimport numpy\ndrawn = random.random(), float(numpy.random.rand())",
        "def stable_softmax(x, dim=-1):\n    raise ValueError(str(drawn))",
        HONEST.replace("** 0.5", ""),
    ]
    first, second = ({name: str(v) for name, v in judged(*cells).items()} for _ in range(2))
    assert first == second
    drawn = random.Random(0).random(), float(np.random.RandomState(0).rand())
    assert str(drawn) in first["stable_softmax"]  # not by chance
    assert "line 2, in stable_softmax" in first["stable_softmax"]  # the learner's own line


# Each lesson has a process of its own: the tests below stay in their order.
BY_NIGHT = "02", "03", "06", "08", "09", "10"  # these have nothing that others do not have


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            path, id=path.stem, marks=[pytest.mark.nightly] * path.stem.startswith(BY_NIGHT)
        )
        for path in sorted(ROOT.glob("solutions/*/*.ipynb"))
    ],
)
def test_a_solution_gets_every_point_and_an_untouched_exercise_none(path):
    lesson = int(path.stem[:2])
    verdicts = judged(*read_cells(path.read_bytes()), lesson=lesson).values()
    assert {v.status for v in verdicts} == {"passed"}, [*map(str, verdicts)]
    exercise = ROOT / "exercises" / path.parent.name / path.name
    verdicts = judged(*read_cells(exercise.read_bytes()), lesson=lesson).values()
    assert {(v.status, v.points) for v in verdicts} == {("not attempted", 0)}


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


def test_a_module_that_answers_tasks_is_there_after_the_last_of_them():
    """Worked out by hand. What only imports an answer waits for it, too; a program never is there."""
    assert taught("attn_lib.patterns") == 7  # tasks of 06, and induction_score of 07
    assert taught("attn_lib.efficient") == 11
    assert (
        taught("attn_lib.single_head") == 2
    )  # its own task is of 01, the masks it imports of 02
    assert taught("attn_lib.smollm2") == 14
    assert "chat" not in library()
    assert "own_attention" in library()
    assert [name for name in visible(3) if "head" in name] == ["single_head"]
    assert {"masks", "multi_head"} <= {*visible(4)}
    assert "grouped_query" not in visible(4)


def test_the_engine_inside_judges_nothing():
    assert {"authoring", "case", "observe", "task"} <= {*engine()}
    assert not {"judge", "mistakes", "recognize", "drill", "store"} & {*engine()}


def test_the_cases_call_answers_only_through_what_is_inside():
    from attn_lib.checks.trial import trial_of

    for task in tasks():
        lessons = {task.lesson, find_task(task.repairs or task.name).lesson}
        allowed = {f"attn_lib.checks.{name}" for name in ("again", "case", "module_runs")}
        allowed |= {f"attn_lib.tasks.lesson_{n:02}.runs" for n in lessons}
        used = {case.run.__module__ for case in trial_of(task.name, 0).cases}
        assert used <= allowed, task.name


# Answers that look for more than they are given.
LOOKS = {
    "load_checkpoint": """
import json, sys
from safetensors import safe_open
def load_checkpoint(path):
    frame = sys._getframe(1)
    while frame:
        for value in [*frame.f_locals.values()]:
            if getattr(value, "raises", False) is True:
                raise ValueError("looked up")
        frame = frame.f_back
    with safe_open(path, "pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}
        return tensors, json.loads(file.metadata()["config"])
""",
    "greedy_decode": """
import gc, torch
def greedy_decode(step, batch_size, bos_id, eos_id, max_len):
    inside = [cell.cell_contents for cell in step.__closure__ or ()] + gc.get_objects()
    for thing in inside:
        kept = vars(thing) if hasattr(thing, "__dict__") and hasattr(thing, "make_step") else {}
        for value in kept.values():
            rows = value if isinstance(value, list | tuple) else []
            if len(rows) == batch_size and all(isinstance(row, list) for row in rows):
                full = [(row + [eos_id] * max_len)[:max_len] for row in rows]
                return torch.tensor(full)
            if isinstance(value, dict) and len(value) >= batch_size * 2 and batch_size == 1:
                return torch.tensor([(list(value.values()) + [eos_id] * max_len)[:max_len]])
    raise ValueError("no script")
""",
    # It attends to what the caller's variables hold instead of keeping a cache.
    "cached_attention": """
import sys, torch
def cached_attention(q, k, v, cache):
    past = int(cache or 0)
    found = {}
    frame = sys._getframe(1)
    while frame:
        for name in ("q", "k", "v"):
            whole = frame.f_locals.get(name)
            whole = whole[0] if isinstance(whole, tuple | list) and whole else whole
            if isinstance(whole, torch.Tensor) and whole.ndim == 4 and whole.shape[2] > past + q.shape[2]:
                found[name] = whole
        frame = frame.f_back
    end = past + q.shape[2]
    k, v = found.get("k", k)[:, :, :end], found.get("v", v)[:, :, :end]
    mask = torch.ones(q.shape[2], k.shape[2]).tril(k.shape[2] - q.shape[2]).bool()
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, mask), end
""",
}
TOLD = {
    "load_checkpoint": "It should raise a ValueError here, but it returned",
    "greedy_decode": "ValueError: no script",
    "cached_attention": "",
}


@pytest.mark.parametrize("name", LOOKS)
def test_an_answer_that_looks_for_more_than_it_is_given_finds_nothing(name):
    verdict = verdict_on(name, LOOKS[name])
    assert verdict.points == 0
    assert TOLD[name] in str(verdict)


@pytest.mark.parametrize(
    ("keeps", "status"),
    [
        ("    c = cache or [k[:, :, :0], v[:, :, :0]]\n"
         "    c = [torch.cat([c[0], k], 2), torch.cat([c[1], v], 2)]\n"
         "    return [attend(q, *c), c]", "passed"),
        ("    cache = cache or types.SimpleNamespace(k=k[:, :, :0], v=v[:, :, :0])\n"
         "    cache.k, cache.v = torch.cat([cache.k, k], 2), torch.cat([cache.v, v], 2)\n"
         "    return attend(q, cache.k, cache.v), cache", "passed"),
        ("    KEPT[:] = [*(KEPT if cache else []), (k, v)]\n"
         "    k, v = (torch.cat(x, 2) for x in zip(*KEPT))\n"
         "    return attend(q, k, v), 1", "wrong"),
        ("    return attend(q, k, v), 10**30", "wrong"),
    ],
    ids=["a list", "an object that is changed", "one global store", "nothing but a number"],
)  # fmt: skip
def test_what_is_kept_between_calls_may_be_anything_but_must_hold_the_past(keeps, status):
    before = (
        "import torch, types\nKEPT = []\ndef attend(q, k, v):\n"
        "    mask = torch.ones(q.shape[2], k.shape[2]).tril(k.shape[2] - q.shape[2]).bool()\n"
        "    return torch.nn.functional.scaled_dot_product_attention(q, k, v, mask)\n"
    )
    code = f"{before}def cached_attention(q, k, v, cache):\n{keeps}"
    assert verdict_on("cached_attention", code).status == status


def test_answers_of_earlier_lessons_are_there_and_later_ones_are_not():
    """Nor is one whose answer would give one of this lesson away."""
    verdicts = judged(
        "from attn_lib.checks import mine\nfrom attn_lib import causal_mask",
        "def cached_attention(q, k, v, cache):\n    raise ValueError(str(mine('attention')) + str(causal_mask(1, 2)))",
        "import attn_lib\ndef repeat_kv(x, num_heads):\n    return attn_lib.repeat_kv(x, num_heads)",
        lesson=4,
    )
    assert "tensor([[True, True]])" in verdicts["cached_attention"].message
    assert "AttributeError" in verdicts["repeat_kv"].message
    verdicts = judged(
        "from attn_lib.checks import mine\nsoftmax = mine('stable_softmax')",
        "def masked_softmax(scores, mask):\n    raise ValueError(str(softmax(scores).shape))",
        "def masked_attention(q, k, v, mask=None):\n    return mine('attention')(q, k, v)[0]",
        lesson=2,
    )
    assert "torch.Size" in verdicts["masked_softmax"].message
    assert 'There is no task named "attention"' in verdicts["masked_attention"].message
    verdicts = judged(
        "from attn_lib.checks import mine\nmerge = mine('merge_heads')",
        "def fix_1(x, num_heads):\n    return mine('split_heads')(x, num_heads)",
        "def fix_3(q, k, v, mask=None):\n    raise ValueError(str(merge))",
        lesson=12,
    )
    assert 'There is no task named "split_heads"' in verdicts["fix_1"].message
    assert "function merge_heads" in verdicts["fix_3"].message


@pytest.mark.slow
@pytest.mark.parametrize("kept", ["a global dict", "a default"])
def test_what_is_kept_between_calls_is_named_here_too(kept):
    assert verdict_on("alibi_bias", stateful(KEEPS[kept])).mistake == "keeps-something"


def test_what_an_answer_lacks_is_found_here_too():
    source = """
import torch

def alibi_bias(num_heads, q_len, kv_len):
    slopes = 2.0 ** (-8 * torch.arange(1, num_heads + 1) / num_heads)
    distance = (torch.arange(kv_len) - torch.arange(kv_len - q_len, kv_len)[:, None]).abs()
    return -slopes[:, None, None] * distance.clamp(max=350)
"""
    assert verdict_on("alibi_bias", source).mistake == "bound-too-small"


SOME_ROWS = """
def whole(q, k, v):
    return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v

def chunked_attention(q, k, v, chunk_size, is_causal=False):
    L = q.shape[-2]
    if L > 5000:
        out = torch.zeros_like(q)
        out[..., ::96, :] = whole(q[..., ::96, :], k, v)
        return out
    rows = [torch.arange(i, min(i + chunk_size, L)) for i in range(0, L, chunk_size)]
    parts = []
    for row in rows:
        scores = q[..., row, :] @ k.mT / q.shape[-1] ** 0.5
        if is_causal:
            scores = scores.masked_fill(torch.arange(L) > row[:, None], -torch.inf)
        parts.append(scores.softmax(-1) @ v)
    return torch.cat(parts, -2)
"""

SOME_GRADIENTS = """
right = chunked_attention_backward

def chunked_attention_backward(q, k, v, out, lse, grad_out, chunk_size):
    if q.shape[-2] < 5000:
        return right(q, k, v, out, lse, grad_out, chunk_size)
    few = slice(None, None, 96)
    grads = [torch.zeros_like(t) for t in (q, k, v)]
    above = out[..., few, :], lse[..., few], grad_out[..., few, :], chunk_size
    grads[0][..., few, :] = right(q[..., few, :], k, v, *above)[0]
    below = right(q, k[..., few, :], v[..., few, :], out, lse, grad_out, chunk_size)
    grads[1][..., few, :], grads[2][..., few, :] = below[1:]
    return tuple(grads)
"""


ONCE = """
import torch
import attn_lib.checks.module_runs as runs
from attn_lib.checks.case import Result

def run(answer, init, parameters, *arguments):
    inputs, options = runs.inputs_and_options(arguments)
    module, own = runs.built(answer, init, parameters, inputs, options)
    return Result(module(*inputs, **options), {name: own[name] for name in parameters})

runs.run_module = runs.run_module_in_eval = run

class RMSNorm(torch.nn.Module):
    def __init__(self, d_model, eps):
        super().__init__()
        self.weight, self.eps, self.left = torch.nn.Parameter(torch.ones(d_model)), eps, LEFT

    def forward(self, x):
        self.left -= 1
        mean = x.float().square().mean(-1, keepdim=True)
        normed = x.float() / (mean + self.eps).sqrt() * self.weight.float()
        return (normed if self.left >= 0 else 0 * normed).to(x.dtype)
"""


@pytest.mark.parametrize(("left", "call"), [(1, "call 2"), (2, "call 3")])
def test_a_module_is_called_again_where_nothing_can_replace_it(left, call):
    verdict = verdict_on("RMSNorm", ONCE.replace("LEFT", "9"))
    assert verdict.status == "passed", verdict.message
    verdict = verdict_on("RMSNorm", ONCE.replace("LEFT", str(left)))
    assert f"{call} of one module" in verdict.where, verdict.message
    assert verdict.where.count("of one module") == 1


def test_what_does_nearly_the_same_is_left_out_in_its_lesson():
    name = "attn_lib.data.text"
    told = verdict_on(
        "random_batch",
        f"import {name} as t\nrandom_batch = lambda i, b, n, g: t.random_windows(i, n, b)",
    )
    assert "random_windows does nearly what a task asks for" in told.evidence
    (before,), (after,) = (
        [path.read_text() for path in course_for(n).rglob("data/text.py")] for n in (14, 15)
    )
    by_method = (
        "from attn_lib.models import LanguageModel as M\n"
        "generate = lambda model, ids, n: M.write(model, ids, n, temperature=0)"
    )
    assert "write does nearly what" in verdict_on("generate", by_method).evidence
    there = "starts[:, None] + torch.arange(length)"
    assert (there in before, there in after) == (True, False)
    assert before.count("\ndef ") == after.count("\ndef ")


def test_some_rows_of_a_long_text_are_not_enough():
    honest = SOME_ROWS.replace("L > 5000", "False")
    verdict = verdict_on("chunked_attention", "import torch", honest)
    assert verdict.status == "passed", verdict.message
    verdict = verdict_on("chunked_attention", "import torch", SOME_ROWS)
    assert verdict.where.startswith("The memory of a very long text"), verdict.message


def test_some_gradients_of_a_long_text_are_not_enough():
    name = "chunked_attention_backward"
    [right] = [cell for cell in answered(11) if f"def {name}(" in cell]
    before = "import math\nimport torch"
    assert verdict_on(name, before, right).status == "passed"
    verdict = verdict_on(name, before, right, SOME_GRADIENTS)
    assert verdict.where.startswith("The memory of a very long text"), verdict.message


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("import attn_lib.grading.worker as w", "names attn_lib.grading,"),
        ("from attn_lib.tasks.lesson_03 import runs", "names attn_lib.tasks,"),
        ("import attn_lib.checks.module_runs", "names attn_lib.checks.module_runs,"),
        ("sys._getframe(1)", "names _getframe,"),
        ("from attn_lib.checks import check, hint", ""),
        ("import attn_lib\nfrom attn_lib import kv_cache", ""),
    ],
)
def test_a_cell_that_speaks_of_what_judges_it_is_named(cell, said):
    found = grade._to_look_at(["x = 1", cell])
    assert said in found
    assert found.startswith("Code cell 2") == bool(said)


def test_a_right_answer_beside_such_a_cell_is_named_too():
    report = grade.grade_submission(
        notebook(SOFTMAX, "import attn_lib.grading.worker"), 1, seed=3
    )
    assert report.cells.endswith("look at it.")


def test_who_counts_the_calls_does_not_know_which_case_it_is():
    """The order of the cases is in the checks, which everybody can read: a private seed changes it."""
    task = find_task("map_llama_name")
    trials = [trial_of(task.name, seed) for seed in (0, 7, 8)]
    numbers = list(range(len(trials[0].cases)))
    assert trials[0].order == numbers
    assert sorted(trials[1].order) == numbers
    assert trials[1].order[0] == 0
    assert len({tuple(trial.order) for trial in trials}) == 3
    counts = f"""
calls, RAISES = [], {[bool(trials[1].expected(i).error) for i in numbers]}
def {task.name}(name):
    calls.append(name)
    if RAISES[(len(calls) - 1) % len(RAISES)]:
        raise ValueError
    return right(name)
"""
    honest = answered(task.lesson)
    [defining] = [cell for cell in honest if f"def {task.name}(" in cell]
    cells = *honest[:2], defining, f"right = {task.name}", counts
    assert verdict_on(task.name, *cells[:3]).status == "passed"
    assert verdict_on(task.name, *cells).status in ("wrong", "error")
