"""Progress and passed answers: kept, found again, and never lost."""

import json
import os
import subprocess
import sys
import textwrap
from unittest.mock import Mock

import pytest
import torch
from filelock import FileLock

from attn_lib.checks import check, commands, judge, mine, progress, store, tasks
from attn_lib.checks.source import load_source, standalone_source

CELLS = '''
import math
import numpy as np
import torch
import torch.nn.functional as F
from math import sqrt as root
from safetensors import safe_open  # compiled: it says that it is one of builtins
from torch import einsum, nn
HALF = 0.5
SIZES = (2, 3.0)
LOW = [-math.inf, None]
DTYPE = torch.float32
nothing = None

@torch.no_grad()
def even(n):
    return True if n == 0 else odd(n - 1)

def odd(n):
    return False if n == 0 else even(n - 1)

def helper(q, k):
    def inner():
        return even(2) and LOW[0] < np.pi and DTYPE.is_floating_point and safe_open
    assert inner()
    return einsum("bld,bsd->bls", q, k)

def attention_scores(q, k):
    """With a helper, a constant and a name of its own for a function."""
    return helper(q, k) / root(q.shape[-1]) ** (2 * HALF)

unused = 1; stable_softmax = lambda x, dim=-1: F.softmax(x, dim)

def attention(q, k, v):
    weights = stable_softmax(attention_scores(q, k))
    return torch.bmm(weights, v), weights

class Base(nn.Module):
    def __init__(self, d_model, head_dim):
        super().__init__()
        made = (nn.Linear(d_model, head_dim, bias=False) for _ in range(3))
        self.q_proj, self.k_proj, self.v_proj = made

class SelfAttention(Base):
    """Reads its own name."""
    sizes = SIZES
    def forward(self, x):
        assert isinstance(self, SelfAttention)
        return attention(self.q_proj(x), self.k_proj(x), self.v_proj(x))[0]
'''
NAMES = ("attention_scores", "stable_softmax", "attention", "SelfAttention")
LATER = """
from attn_lib.checks import mine
import torch
SelfAttention = mine("SelfAttention")
print(SelfAttention(4, 2)(torch.zeros(1, 3, 4)).shape, SelfAttention.__module__)
"""


def in_notebook(*cells, home):
    """Run cells as a notebook does, in a process of its own; return what they print."""
    program = f"""
        from IPython.core.interactiveshell import InteractiveShell
        shell = InteractiveShell.instance()
        for cell in {list(cells)!r}:
            shell.run_cell(cell, store_history=True).raise_error()
    """
    home.mkdir(exist_ok=True)
    folders = {"ATTN_HOME": str(home), "IPYTHONDIR": str(home / "ipython")}
    command = [sys.executable, "-c", textwrap.dedent(program)]
    env = os.environ | folders
    run = subprocess.run(command, capture_output=True, text=True, env=env, timeout=120)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


USING = """
import attn_lib
from attn_lib.checks import check, judge, mine
attend = mine("attention")

class SelfAttention(attn_lib.SelfAttention):
    def forward(self, x):
        return attend(self.q_proj(x), self.k_proj(x), self.v_proj(x))[0]

check("SelfAttention", SelfAttention)
print(judge("attention", lambda q, k, v: (v, q)).status)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "own",
    [True, pytest.param(False, marks=pytest.mark.nightly)],
    ids=["own", "stand-in"],
)
def test_an_answer_that_uses_another_is_kept_and_leaves_the_tasks_alone(own, learner_home):
    """The other one is the learner's own, from an earlier notebook, or the library's."""
    using = USING
    if own:
        checks = "from attn_lib.checks import check\n"
        checks += "\n".join(f"check({name!r}, {name})" for name in NAMES)
        out = in_notebook(CELLS, checks, home=learner_home)
        assert out.count("✓ Passed") == len(NAMES)
        assert "Not kept" not in out
        using = USING.replace("attend", "attention")
    out = in_notebook(LATER, using, home=learner_home)
    assert ("library's version" in out) != own
    assert ("your_SelfAttention" in out) == own
    assert "✓ Passed" in out
    assert "Not kept" not in out
    assert "wrong" in out
    out = in_notebook(LATER, home=learner_home)
    assert "torch.Size([1, 3, 2]) your_SelfAttention" in out
    assert "library's version" not in out


def test_an_answer_that_cannot_stand_alone_passes_and_says_so(capsys):
    scale = torch.tensor(2.0)

    def attention_scores(q, k):
        return q @ k.mT / q.shape[-1] ** 0.5 * scale / 2

    assert check("attention_scores", attention_scores).status == "passed"
    assert "Not kept for later lessons" in capsys.readouterr().out
    assert mine("attention_scores")(torch.ones(1, 1, 4), torch.ones(1, 1, 4)).item() == 2
    assert "its source could not be kept" in capsys.readouterr().out


def test_without_an_answer_the_library_stands_in(capsys):
    q = torch.randn(1, 2, 4)
    torch.testing.assert_close(mine("attention_scores")(q, q), q @ q.mT / 2)
    assert "you have not passed it yet" in capsys.readouterr().out
    with pytest.raises(ValueError, match="no task named"):
        mine("nothing")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("attention_scores = 1 /", "version stands in for yours (invalid syntax"),
        ("def attention_scores(q, k):\n    return q @ k.mT\n", "no longer passes"),
    ],
)
def test_a_stale_answer_is_replaced_with_a_message(source, message, capsys):
    store.update("attention_scores", lambda e: e.update(passed=True, source=source))
    mine("attention_scores")
    assert message in capsys.readouterr().out


def scores(q, k):
    return q @ k.mT / q.shape[-1] ** 0.5


def test_a_passed_task_stays_passed_after_a_later_mistake():
    check("attention_scores", scores)
    check("attention_scores", lambda q, k: q @ k.mT)
    kept = store.load()[0]["attention_scores"]
    assert (kept["passed"], kept["attempts"], kept["status"]) == (True, 2, "wrong")


def test_an_answer_that_cannot_be_kept_leaves_the_kept_one():
    check("attention_scores", scores)
    before = store.load()[0]["attention_scores"]["source"]
    assert before
    verdict = check("attention_scores", lambda q, k: scores(q, k))
    assert "not defined at the top level" in verdict.note
    assert store.load()[0]["attention_scores"]["source"] == before


FROM_ELSEWHERE = """
import attn_lib

class SelfAttention(attn_lib.SelfAttention):
    attend = staticmethod(attn_lib.einsum_attention)  # its source says nothing of this class

    def forward(self, x):
        return self.attend(self.q_proj(x), self.k_proj(x), self.v_proj(x))[0]
"""


def test_a_class_whose_first_member_is_from_elsewhere_is_kept():
    answer = load_source(FROM_ELSEWHERE, "SelfAttention")
    assert "Not kept" not in check("SelfAttention", answer).note
    assert "class SelfAttention" in store.load()[0]["SelfAttention"]["source"]


IMPORTS = """
import numpy as np
import torch
import torch.nn.functional as F
import torch.nn as nn
from math import sqrt as root
from safetensors import safe_open
from torch.functional import einsum
"""
CONSTANTS = {
    "HALF = 0.5",
    "SIZES = (2, 3.0)",
    "from math import inf, nan\nLOW = [-inf, None]",
    "import torch\nDTYPE = torch.float32",
}


def test_all_that_an_answer_uses_is_written_above_it_and_nothing_else():
    text = standalone_source(load_source(CELLS, "SelfAttention"), "mine")
    *above, own, alias = text.strip().split("\n\n")
    _, *definitions, last = CELLS.split("\n\n")
    assert len(above) == len(set(above))
    assert set(above) == {*IMPORTS.strip().splitlines(), *definitions, *CONSTANTS}
    assert own + "\n" == last
    assert alias == "mine = SelfAttention"
    made = load_source(text, "mine")(4, 2)
    assert made.sizes == (2, 3.0)
    assert made(torch.zeros(1, 3, 4)).shape == (1, 3, 2)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "import torch\nSCALE = torch.ones(2)\ndef f():\n    return SCALE",
            "it uses `SCALE`, a tensor of shape (2,) from another cell",
        ),
        ("import functools\nf = functools.partial(len)", "found: it is a partial"),
        ("class f: pass", "found: it is the class f"),
        ("def g(y=1):\n    return lambda: y\nf = g()", "names of the function around it"),
        ("f, = (lambda: 1,)", "it is not defined at the top level of a cell"),
        ("f = eval('lambda: 1')", "Does its cell begin with %%time"),
    ],
)
def test_what_cannot_be_written_down_is_named(text, why):
    with pytest.raises(store.CannotKeep) as raised:
        standalone_source(load_source(text, "f"), "f")
    assert why in str(raised.value)


ATTRIBUTE = """
def attention_scores(q, k):
    return q @ k.mT / q.shape[-1] ** attention_scores.power
attention_scores.power = 0.5
"""
DELETED = """
half = 0.5
def attention_scores(q, k, power=half):
    return q @ k.mT / q.shape[-1] ** power
del half
"""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (ATTRIBUTE, "run alone, away from this notebook, it no longer passes."),
        (DELETED, "NameError: name 'half' is not defined."),
    ],
)
def test_what_passes_in_its_notebook_only_is_counted_and_not_kept(text, why):
    verdict = check("attention_scores", load_source(text, "attention_scores"))
    assert verdict.status == "passed"
    assert verdict.note.startswith(f"Not kept for later lessons: {why}\n")
    entry = store.load()[0]["attention_scores"]
    assert entry == {"attempts": 1, "status": "passed", "passed": True, "source": ""}


NO_TEXT = b"\xff\xfe\x00\x80"
NO_TASKS = [b'{"tasks": []}', b'{"tasks": {"attention": 3}}', b'{"tasks": {"a": {}}}']
ENTRY = {"attempts": 2, "status": "wrong", "passed": False, "source": "ä = 1"}
NO_TASKS += [
    json.dumps({"tasks": {"attention": ENTRY | wrong}}).encode()
    for wrong in ({"points": "many"}, {"attempts": "2"}, {"source": None}, {"passed": "no"})
]


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b"null", b"[" * 9999, NO_TEXT, *NO_TASKS]
)
def test_a_damaged_file_is_set_aside_not_lost(damage, learner_home, capsys):
    learner_home.mkdir()
    store.path().write_bytes(damage)
    progress()
    assert "It is set aside, not lost" in capsys.readouterr().out
    (aside,) = learner_home.glob("progress.damaged-*.json")
    assert aside.read_bytes() == damage
    check("attention_scores", scores)
    assert store.load()[0]["attention_scores"]["passed"]
    store.path().write_text("{")
    assert "progress.damaged-2.json" in store.load()[1]
    assert aside.read_bytes() == damage


def test_a_damaged_file_that_cannot_be_set_aside_is_not_said_to_be(
    learner_home, monkeypatch, capsys
):
    learner_home.mkdir()
    store.path().write_bytes(b"{")
    monkeypatch.setattr(os, "replace", Mock(side_effect=OSError("in use")))
    progress()
    said = capsys.readouterr().out
    assert "is damaged and cannot be set aside: in use" in said
    assert "not lost" not in said
    assert store.path().read_bytes() == b"{"


def test_a_file_that_an_editor_has_saved_with_a_mark_is_read(learner_home):
    learner_home.mkdir()
    kept = {"attention": ENTRY | {"points": 2.5}}
    store.path().write_text(json.dumps({"tasks": kept}), encoding="utf-8-sig")
    assert store.load() == (kept, "")


def test_a_file_that_may_not_be_read_is_left_where_it_is(learner_home, capsys):
    store.path().mkdir(parents=True)
    progress()
    assert f"Your progress in {store.path()} could not be read" in capsys.readouterr().out
    assert store.path().is_dir()


def test_what_is_kept_is_json_that_a_person_can_read(monkeypatch, tmp_path):
    monkeypatch.setenv("ATTN_HOME", str(tmp_path / "a new" / "folder"))
    store.update("attention", lambda entry: entry.update(source="ä = 1"))
    entry = {"attempts": 0, "status": "", "passed": False, "source": "ä = 1"}
    data = {"version": 1, "tasks": {"attention": entry}}
    text = json.dumps(data, indent=1, ensure_ascii=False)
    assert store.path().read_text(encoding="utf-8") == text


def test_who_waits_for_another_notebook_too_long_is_told_so(learner_home, monkeypatch):
    learner_home.mkdir()
    monkeypatch.setattr(store, "LOCK_SECONDS", 0.01)
    held = FileLock(learner_home / "progress.lock")
    with held, pytest.raises(store.CannotKeep, match="another notebook is writing to it"):
        store.update("attention", lambda entry: None)
    assert store.load() == ({}, "")


def test_a_folder_that_cannot_be_written_gives_a_message(learner_home, capsys):
    learner_home.write_text("a file where the folder should be")
    assert check("attention_scores", scores).status == "passed"
    assert "Your progress could not be kept" in capsys.readouterr().out
    progress()
    mine("attention_scores")


def test_what_a_newer_course_keeps_is_preserved(learner_home):
    learner_home.mkdir()
    newer = {"attempts": 2, "status": "passed", "passed": True, "source": "x", "stars": 5}
    store.path().write_text(json.dumps({"version": 1, "tasks": {"from_lesson_99": newer}}))
    store.update("attention", lambda entry: entry.update(attempts=1))
    assert store.load()[0]["from_lesson_99"] == newer


# As version 0.1.0 of the course has written it, with a drill and an answer that earned some points.
FORM_1 = """{
 "version": 1,
 "tasks": {
  "attention_scores": {
   "attempts": 2,
   "status": "passed",
   "passed": true,
   "source": "def attention_scores(q, k):\\n    return q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5",
   "mistakes": ["no-scale"],
   "mended": ["no-scale"]
  },
  "test_attention": {"attempts": 1, "status": "wrong", "passed": false, "source": "x", "points": 2.5}
 }
}"""


def test_progress_of_form_1_is_read_and_goes_on(learner_home):
    assert store.VERSION == 1, (
        "Read form 1 also from now on, and add a test for the new one."
    )
    learner_home.mkdir()
    store.path().write_text(FORM_1)
    q = torch.eye(2)[None]
    assert torch.equal(mine("attention_scores")(q, q), q / 2**0.5)
    store.update("attention", lambda entry: entry.update(attempts=1))
    kept = json.loads(store.path().read_text())
    del kept["tasks"]["attention"]
    assert kept == json.loads(FORM_1)


def test_progress_of_a_newer_form_is_left_as_it_is(learner_home, capsys):
    learner_home.mkdir()
    newer = '{"version": 2, "tasks": "elsewhere"}'
    store.path().write_text(newer)
    progress()
    check("attention_scores", scores)
    mine("attention_scores")
    said = capsys.readouterr().out
    assert "was written by a newer version of the course" in said
    assert "expected form 1, got 2" in said
    assert store.path().read_text() == newer
    assert [*learner_home.glob("*.json")] == [store.path()]


def test_an_interrupted_write_leaves_the_old_file(learner_home, monkeypatch):
    store.update("attention", lambda entry: entry.update(attempts=1))
    before = store.path().read_text()
    monkeypatch.setattr(os, "replace", Mock(side_effect=OSError("disk full")))
    with pytest.raises(store.CannotKeep, match="disk full"):
        store.update("attention", lambda entry: entry.update(attempts=2))
    assert store.path().read_text() == before
    assert not list(learner_home.glob("*.tmp"))


@pytest.mark.slow
def test_two_notebooks_at_once_do_not_overwrite_each_other(learner_home):
    program = """
import sys
from attn_lib.checks import store
def add(entry):
    entry["attempts"] += 1
for i in range(25):
    store.update("attention", add)
    store.update(sys.argv[1], add)
"""
    names = "one", "two"
    runs = [subprocess.Popen([sys.executable, "-c", program, name]) for name in names]
    assert [run.wait(60) for run in runs] == [0, 0]
    attempts = {name: entry["attempts"] for name, entry in store.load()[0].items()}
    assert attempts == {"attention": 50, "one": 25, "two": 25}


def test_the_place_is_the_users_data_folder_unless_told(monkeypatch):
    monkeypatch.delenv("ATTN_HOME")
    assert store.folder().name == "attention-from-scratch"


def mixes(weights, values):
    return weights @ values


def test_a_kept_answer_is_judged_once_in_a_session(monkeypatch):
    """An answer may ask for another one at each call; judged again each time, that took minutes."""
    check("mixture", mixes)
    assert store.load()[0]["mixture"]["source"]
    counting = Mock(wraps=judge)
    monkeypatch.setattr(commands, "judge", counting)
    monkeypatch.setattr(commands, "_judged", {})
    for _ in range(5):
        assert mine("mixture") is mixes
    assert counting.call_count == 1


def test_an_answer_that_asks_for_itself_gets_the_librarys():
    source = "from attn_lib.checks import mine\ndef mixture(w, v):\n    return mine('mixture')(w, v)\n"
    store.update("mixture", lambda entry: entry.update(passed=True, source=source))
    weights, values = torch.ones(1, 2), torch.ones(2, 1)
    assert mine("mixture")(weights, values).item() == 2.0


def test_who_passes_is_told_what_they_have_understood_and_what_is_next():
    first, *_, last = [task for task in tasks() if task.lesson == 2]
    judged = check(first.name, renamed(first))
    assert first.insight in judged.note
    assert "Next: `padding_mask`." in judged.note
    assert "Next:" not in check(first.name, lambda q, k: q).note
    assert all(task.insight.endswith((".", "?")) for task in tasks())
    for task in tasks():
        if task.lesson == 2 and task is not last:
            store.update(task.name, lambda entry: entry.update(passed=True))
    assert "(exercise 03)" in check(last.name, renamed(last)).note


def renamed(task):
    """Return a task's right answer as one that is the learner's."""
    return lambda *args, **options: task.reference(*args, **options)
