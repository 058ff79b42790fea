"""Functions and models that an answer calls, and may not look into, run at the judge."""

import re
import time

import pytest

from attn_lib.checks import judge
from attn_lib.grading import submission_judge
from attn_lib.grading.batch import Row
from attn_lib.grading.grade import Report, grade_submission
from attn_lib.grading.nbgrader_plugin import write_verdict
from attn_lib.grading.reports import feedback_page, grades_csv
from attn_lib.grading.submission_judge import Judge
from tests.checks.attacks_12 import HEAD, LOOK, REMEMBER
from tests.grading.test_nbgrader import check_cell

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


def verdict_on(cell, seed=7):
    with Judge([cell], 12, seed=seed) as judge:
        tasks = {task.name: task for task in submission_judge.tasks()}
        return judge.verdict(tasks["test_attention"])


def both(cell, seed=7):
    """Return the verdicts of the notebook and of the grader."""
    names = {"__name__": "cell"}
    exec(cell, names)
    return judge("test_attention", names["test_attention"], seed=seed), verdict_on(
        cell, seed
    )


@pytest.mark.parametrize(
    "body",
    [
        PARITY,
        PARITY + GRADIENTS,
        "    print(1)\n",
        "    assert 0\n",
        "    return False\n",
        "    implementation(*torch.ones(3, 1, 1, 3000, 8))\n",
    ],
)
def test_a_test_gets_the_same_points_as_in_a_notebook(body):
    here, there = both(BEGIN + body)
    assert (there.status, there.points, there.mistake) == (
        here.status,
        here.points,
        here.mistake,
    )
    of_code = re.compile("\nOn a right|\n    line ")  # only there it is shown
    assert of_code.split(there.evidence)[0] == of_code.split(here.evidence)[0]
    assert there.question == here.question


def test_to_remember_gains_nothing():
    here, there = both(HEAD + REMEMBER["kept in a file"])
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
    there = verdict_on(HEAD + LOOK[name].replace("    assert", tell + "    assert"))
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
    there = verdict_on(cell)
    assert "'serves': True" in there.evidence  # it took place
    assert "set()" in there.evidence
    assert "'False'" in there.evidence
    assert "ValueError: found a difference" not in there.evidence


def test_the_hidden_implementations_are_not_inside():
    cell = "from attn_lib.tasks.lesson_12 import hidden\n" + BEGIN + PARITY
    assert "ModuleNotFoundError" in str(verdict_on(cell)) or "ImportError" in str(
        verdict_on(cell)
    )


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
    body = "".join(f"    {line}\n" for line in body.splitlines())
    began = time.monotonic()
    verdict = verdict_on(cell + "    if len(seen) > 2:\n" + body)
    assert verdict.points == 0
    assert verdict.status in ("wrong", "error")
    assert time.monotonic() - began < 60


@pytest.mark.parametrize(
    "body",
    [
        "    while True: pass\n",
        "    while True: implementation(*torch.ones(3, 1, 1, 2, 2))\n",
    ],
)
def test_a_test_without_an_end_is_ended(body, monkeypatch):
    monkeypatch.setattr(submission_judge, "CASE_SECONDS", 2.0)
    verdict = verdict_on(BEGIN + body)
    assert (verdict.status, verdict.points) == ("error", 0)
    assert "too long" in verdict.evidence


# ------------------------------------------------------------------- a model that is called in turn

GENERATE = """
import torch
def generate(model, ids, max_new_tokens):
    caches, fed = model.new_caches(len(ids), ids.shape[1] + max_new_tokens), ids
    for _ in range(max_new_tokens):
        fed = model(fed, caches=caches)[:, -1:].argmax(-1)
        ids = torch.cat([ids, fed], dim=1)
    return ids
"""


def generate_verdict(cell, seed=7):
    with Judge([cell], 14, seed=seed) as judge:
        tasks = {task.name: task for task in submission_judge.tasks()}
        return judge.verdict(tasks["generate"])


@pytest.mark.parametrize(
    ("old", "new", "mistake"),
    [
        ("", "", None),
        ("def gen", "@torch.inference_mode()\ndef gen", None),
        ("model(fed, caches=caches)", "model(ids)", "no-caches"),
        ("model(fed", "model(ids", "more-than-the-new-token-fed"),
        ("caches, fed = model.new_caches(len(ids)", "caches, fed = model.new_caches(1", "rows-miscounted"),
        ("[:, -1:].argmax(-1)", "[:, :1].argmax(-1)", "another-place"),
        ("_tokens), ids", "_tokens)[::-1], ids", "other-caches-given"),
        ("    return", "    ids += 0\n    raise ValueError('mine')\n    return", None),
        ("    caches, fed", "    ids.mul_(1).clamp_(max=2)\n    caches, fed", "changes-input"),
    ],
)  # fmt: skip
def test_a_generate_is_judged_as_in_a_notebook(old, new, mistake):
    cell = GENERATE.replace(old, new, 1) if old else GENERATE
    names = {"__name__": "cell"}
    exec(cell, names)
    here, there = judge("generate", names["generate"], seed=7), generate_verdict(cell)
    assert (there.status, there.mistake) == (here.status, here.mistake)
    assert (
        there.status == "passed"
        or old.strip() == "return"
        or mistake
        in (
            there.mistake,
            there.second,
        )
    )
    assert there.message.split("\n    line")[0] == here.message.split("\n    line")[0]


def test_a_generate_that_looks_for_the_model_finds_numbers_only():
    cell = """
import gc, sys, torch
def generate(model, ids, max_new_tokens):
    kinds = {type(thing).__name__ for thing in gc.get_objects()}
    asked = [name for name in sys.modules if "elsewhere" in name or name.endswith("lesson_14.generate")]
    raise ValueError(f"seen: {sorted(kinds & {'Elsewhere', 'Held', 'Model'})} {asked}")
"""
    there = generate_verdict(cell)
    assert there.points == 0
    assert "seen: ['Model'] []" in there.evidence


def test_the_price_is_asked_where_no_answer_can_change_it():
    """It reads the text anew at each step, past the model's own count."""
    there = generate_verdict("""
import torch
def generate(model, ids, max_new_tokens):
    for _ in range(max_new_tokens):
        number = int(model._call(torch.tensor([len(ids), 100])))
        places = torch.tensor([[number, layer] for layer in range(model.num_layers)])
        ids = torch.cat([ids, model._call(ids, places)[:, -1:].argmax(-1)], dim=1)
    return ids
""")
    assert there.points == 0
    # It took place, and was refused.
    assert "should read the whole prompt" in there.evidence


def test_texts_are_judged_as_in_a_notebook():
    cell = """
def map_llama_name(name):
    return name.replace("blk", "blocks")
"""
    names = {"__name__": "cell"}
    exec(cell, names)
    here = judge("map_llama_name", names["map_llama_name"], seed=7)
    with Judge([cell], 14, seed=7) as judging:
        tasks = {task.name: task for task in submission_judge.tasks()}
        there = judging.verdict(tasks["map_llama_name"])
    assert there.status == "wrong"
    assert there.message == here.message


# ----------------------------------------------------------------------------- points in steps


def test_points_in_steps_survive_the_report_the_table_the_page_and_nbgrader(tmp_path):
    import nbformat

    cell = nbformat.v4.new_code_cell(BEGIN + PARITY)
    data = nbformat.writes(nbformat.v4.new_notebook(cells=[cell])).encode()
    report = grade_submission(data, 12, seed=7)
    result = next(task for task in report.tasks if task.name == "test_attention")
    assert result.status == "wrong"
    assert 0 < result.points < result.max_points == 6
    assert Report.from_json(report.to_json()) == report
    assert report.points == result.points
    row = Row("ada", 12, report, "", "", ())
    header, line = (text.split(",") for text in grades_csv([row]).splitlines())
    assert dict(zip(header, line, strict=True))["test_attention"] == f"{result.points:g}"
    assert f"{result.points:g} of 6" in feedback_page("ada", [row])
    check = check_cell(12)  # an instructor who lets it count twice
    write_verdict(check, result)
    assert float(check.outputs[1]["data"]["text/plain"]) == 2 * result.points
