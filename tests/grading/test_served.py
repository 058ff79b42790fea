"""Functions and models that an answer calls, and may not look into, run at the judge."""

import re
import time
from textwrap import indent

import pytest

from attn_lib.checks import judge
from attn_lib.checks.task import find_task
from attn_lib.grading import submission_judge
from attn_lib.grading.submission_judge import Judge
from tests.checks.attacks_12 import HEAD, LOOK, REMEMBER
from tests.grading.judging import verdict_on

pytestmark = [pytest.mark.usefixtures("sandbox_works"), pytest.mark.slow]

BEGIN = (
    "import torch\nimport torch.nn.functional as F\n\ndef test_attention(implementation):\n"
)
PARITY = """\
    torch.manual_seed(1)
    q, k, v = torch.randn(2, 3, 4, 5), torch.randn(2, 3, 6, 5), torch.randn(2, 3, 6, 7)
    mask = torch.rand(2, 3, 4, 6) < 0.6
    mask[:, :, 1] = False
    want = F.scaled_dot_product_attention(q, k, v, mask)
    assert torch.allclose(implementation(q, k, v, mask), want, atol=1e-5)
"""
GRADIENTS = """\
    few = [t[:1, :2, :3, :2].double().requires_grad_() for t in (q, k, v)]
    assert torch.autograd.gradcheck(implementation, (*few, mask[:1, :2, :3, :3]), fast_mode=True)
"""


GENERATE = """
import torch
def generate(model, ids, max_new_tokens):
    caches, fed = model.new_caches(len(ids), ids.shape[1] + max_new_tokens), ids
    for _ in range(max_new_tokens):
        fed = model(fed, caches=caches)[:, -1:].argmax(-1)
        ids = torch.cat([ids, fed], dim=1)
    return ids
"""
CACHED = """
import torch
def cached_attention(q, k, v, cache):
    if cache is not None:
        k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
    mask = torch.ones(q.shape[2], k.shape[2]).tril(k.shape[2] - q.shape[2]).bool()
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, mask), (k, v)
"""
ROLLOUT = """
import torch
def attention_rollout(layers):
    rollout = identity = torch.eye(layers[0].shape[-1]).to(layers[0])
    for weights in list(layers):
        rollout = (weights.mean(1) + identity) / 2 @ rollout
    return rollout
"""
LATER = "    print('step')\n    if cache:\n        raise ValueError('later')\n    mask"


# Per task: a right answer, and what is said if its first text is replaced by the second.
CASES = {
    "generate": (GENERATE, [
        ("", "", "passed"),
        ("model(fed, caches=caches)", "model(ids)", "no-caches"),
        ("    for", "    try: model(ids)\n    except Exception: pass\n    for", "no-caches"),
    ]),
    "map_llama_name": ("def map_llama_name(name):\n    return name.replace('blk', 'blocks')", [
        ("", "", "wrong"),
    ]),
    "cached_attention": (CACHED, [
        ("", "", "passed"),
        ("(k, v)\n", "{'k': k, 'v': v}\n", "error"),
        (", (k, v)\n", ", None\n", "The second of the two things, the cache, is None"),
        (", (k, v)\n", ", k, v\n", "it returned 3"),
        (", (k, v)\n", "\n", "two things"),
        ("    mask", "    q.mul_(2)\n    mask", "Not yet"),
        ("    mask", "    raise ValueError('mine')\n    mask", "ValueError: mine"),
        ("    mask", LATER, "step\n"),
        ("    mask", "    raise NotImplementedError\n    mask", "ot attempted"),
        ("    mask", "    return None\n    mask", "It returned None"),
    ]),
    "attention_rollout": (ROLLOUT, [
        ("    return", "    layers.append(layers[0])\n    return", "`layers["),
        ("    return", "    layers.pop()\n    return", "changes-input"),
    ]),
    "test_attention": (BEGIN + PARITY, [
        ("", "", "wrong"),
        (PARITY, PARITY + GRADIENTS, "wrong"),
        (PARITY, "    assert 0\n", "accuses"),
        (PARITY, "    return False\n", "0 of 6"),
        (PARITY, "    implementation(*torch.ones(3, 1, 1, 3000, 8))\n", "too large"),
    ]),
}  # fmt: skip


def test_a_generate_that_looks_for_the_model_finds_numbers_only():
    cell = """
import gc, sys, torch
def generate(model, ids, max_new_tokens):
    kinds = {type(thing).__name__ for thing in gc.get_objects()}
    asked = [name for name in sys.modules if "elsewhere" in name or name.endswith("lesson_14.generate")]
    raise ValueError(f"seen: {sorted(kinds & {'Elsewhere', 'Held', 'Model'})} {asked}")
"""
    there = verdict_on("generate", cell)
    assert there.points == 0
    assert "seen: ['Model'] []" in there.evidence


def test_the_price_is_asked_where_no_answer_can_change_it():
    """It reads the text anew at each step, past the model's own count."""
    cell = """
import torch
def generate(model, ids, max_new_tokens):
    for _ in range(max_new_tokens):
        number = int(model._call(torch.tensor([len(ids), 100])))
        places = torch.tensor([[number, layer] for layer in range(model.num_layers)])
        ids = torch.cat([ids, model._call(ids, places)[:, -1:].argmax(-1)], dim=1)
    return ids
"""
    there = verdict_on("generate", cell)
    assert there.points == 0
    # It took place, and was refused.
    assert "should read the whole prompt" in there.evidence


def test_a_prompt_that_is_read_anew_for_each_token_is_refused_whatever_is_replaced():
    cell = """
import torch
import attn_lib.tasks.lesson_14.runs as runs

def generated(answer, layers, ids, max_new_tokens, call):
    return answer(runs.Model(layers.num_layers, call), ids, max_new_tokens)

runs.generated = generated

def generate(model, ids, max_new_tokens):
    L = ids.shape[1]
    for _ in range(max_new_tokens):
        model._is_made = False
        caches = model.new_caches(len(ids), L + max_new_tokens)
        logits = model(ids[:, :L], caches=caches)
        for place in range(L, ids.shape[1]):
            logits = model(ids[:, place : place + 1], caches=caches)
        ids = torch.cat([ids, logits[:, -1:].argmax(-1)], dim=1)
    return ids
"""
    there = verdict_on("generate", cell)
    assert there.points == 0
    assert "Caches are made again and again" in there.evidence


def in_a_notebook(name, cell):
    names = {"__name__": "cell"}
    exec(cell, names)
    task = find_task(name)
    drawn = Judge([cell], task.lesson, seed=7)._seed(task)  # as `verdict_on` draws it
    return judge(name, names[name], seed=drawn)


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [(name, *row) for name, (_, rows) in CASES.items() for row in rows],
)
def test_an_answer_is_judged_as_in_a_notebook(name, old, new, said):
    right, _ = CASES[name]
    cell = right.replace(old, new, 1) if old else right
    here, there = in_a_notebook(name, cell), verdict_on(name, cell)
    for part in ("status", "points", "mistake", "second"):
        assert getattr(there, part) == getattr(here, part)
    assert said in f"{there.status} {there.mistake} {there.second} {there}"
    of_code = re.compile("\nOn a right|\n    (?:line|called) ")  # only there it is shown
    if here.status != "not attempted":
        assert of_code.split(there.message)[0] == of_code.split(here.message)[0]


def test_to_remember_gains_nothing():
    cell = HEAD + REMEMBER["kept in a file"]
    here, there = in_a_notebook("test_attention", cell), verdict_on("test_attention", cell)
    assert there.points == 0
    assert there.mistake in ("remembers", "accuses-right-ones")
    # It took place there as it did here: they caught and accused the same.
    assert there.evidence.split("\nOn a right")[0] == here.evidence.split("\nOn a right")[0]


@pytest.mark.parametrize("name", ["its closure", "its graph"])
def test_to_look_at_an_implementation_finds_nothing(name):
    """Each attack raises an error with all that it saw; on all implementations, it saw the same."""
    tell = (
        "    raise ValueError(seen[-1] if len(set(seen)) == 1 else 'found a difference')\n"
    )
    there = verdict_on(
        "test_attention", HEAD + LOOK[name].replace("    assert", tell + "    assert")
    )
    assert there.points == 0
    assert "every implementation, the right ones too" in there.evidence
    assert "ValueError: " in there.evidence  # it took place
    assert "ValueError: found a difference" not in there.evidence
    assert "softmax" not in there.evidence.lower().partition("on a right")[2]


def test_nothing_in_the_process_tells_the_implementations_apart():
    """The request in the worker's frames, and every object that is new, are the same for all."""
    cell = """
import gc, sys
seen = []
def test_attention(implementation):
    frame, found = sys._getframe(), []
    while frame is not None:
        found += [str(frame.f_locals["header"])] if "header" in frame.f_locals else []
        frame = frame.f_back
    names = {"softmax-twice", "scale-missing", "Hidden"}
    found.append(str(names & {type(o).__name__ for o in gc.get_objects()}))
    found.append(str("attn_lib.tasks.lesson_12.hidden" in sys.modules))
    seen.append(str(found))
    raise ValueError(seen[-1] if len(set(seen)) == 1 else "found a difference")
"""
    there = verdict_on("test_attention", cell)
    assert "'serves': True" in there.evidence  # it took place
    assert "set()" in there.evidence
    assert "'False'" in there.evidence
    assert "ValueError: found a difference" not in there.evidence


def test_the_hidden_implementations_are_not_inside():
    cell = "from attn_lib.tasks.lesson_12 import hidden\n" + BEGIN + PARITY
    assert re.search("ModuleNotFound|Import", str(verdict_on("test_attention", cell)))


# Each ends the test, or its process, or says what is not so, from the third implementation on.
HOSTILE = {
    "ends the process": "    import os; os._exit(0)\n",
    "claims that all raised": (
        "    import attn_lib.grading.worker as w\n    from attn_lib.checks.observe import Raised\n"
        "    pack = w.pack_outcome\n    def forged(outcome, blobs):\n"
        "        outcome.error = Raised('AssertionError', '', ''); return pack(outcome, blobs)\n"
        "    w.pack_outcome = forged\n"
    ),
    "sends no call": (
        "    import attn_lib.grading.worker as w\n    w.pack_call = lambda *a: {'call': [{'object': ['os:system', 1]}]}\n"
        "    implementation(*torch.ones(3, 1, 1, 2, 2))\n"
    ),
    "sends another number of tensors": (
        "    import attn_lib.grading.worker as w\n    w.pack_call = lambda *a: {'call': [{'none': True}]}\n"
        "    implementation(*torch.ones(3, 1, 1, 2, 2))\n"
    ),
    "asks for too large a matrix": "    implementation(*torch.ones(3, 1, 1, 80_000, 2))\n",
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_whatever_a_test_does_it_gains_nothing_and_the_judge_goes_on(body):
    cell = BEGIN.replace("def ", "seen = []\ndef ") + "    seen.append(0)\n"
    cell += "    if len(seen) > 2:\n" + indent(body, "    ")
    began = time.monotonic()
    verdict = verdict_on("test_attention", cell)
    assert verdict.points == 0
    assert verdict.status in ("wrong", "error")
    assert time.monotonic() - began < 60


@pytest.mark.parametrize("body", ["pass", "implementation(*torch.ones(3, 1, 1, 2, 2))"])
def test_a_test_without_an_end_is_ended(body, monkeypatch):
    monkeypatch.setattr(submission_judge, "CASE_SECONDS", 2.0)
    verdict = verdict_on("test_attention", f"{BEGIN}    while True: {body}\n")
    assert (verdict.status, verdict.points) == ("error", 0)
    assert "too long" in verdict.evidence
