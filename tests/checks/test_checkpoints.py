"""How the answers of lesson 13 are run: in a folder that is emptied, with code in files that leaves a trace."""

import json
import pickle
from pathlib import Path
from unittest.mock import ANY

import pytest
import torch
from torch import nn

from attn_lib import checkpoint
from attn_lib.checks import judge
from attn_lib.checks.task import find_task
from attn_lib.checks.trial import trial_of
from attn_lib.tasks.lesson_13 import comparison, runs
from tests.checks.told import told
from tests.test_exercises import SOLUTIONS, cells_of, definitions


@pytest.fixture(autouse=True)
def the_session_keeps_its_folder():
    before = Path.cwd()
    yield
    assert Path.cwd() == before
    assert list(runs._folder().iterdir()) == []


def test_the_fingerprint_is_one_and_the_same_everywhere():
    path = next(path for path in SOLUTIONS if path.stem.startswith("13"))
    given = definitions(cells_of(path.read_bytes()))["fingerprint"]
    tensors = {
        "weight": torch.randn(3, 2).T,
        "steps": torch.tensor(7),
        "half": torch.ones(2, dtype=torch.bfloat16),
        "nothing": torch.zeros(0, 3),
    }
    text = '{"name": "Größe"}'
    expected = checkpoint.fingerprint(tensors, text)
    assert given(tensors, text) == runs.fingerprint(tensors, text) == expected


RAN = "ran code that stood in it"


@told("load_checkpoint", ANY, RAN)
def test_code_in_a_pickle_runs_if_it_is_opened_and_the_check_says_so(path):
    try:
        with open(path, "rb") as file:
            return pickle.load(file)
    except Exception:
        return checkpoint.load_checkpoint(path)


@told("load_checkpoint", None, "A config that is code", RAN)
def test_code_in_a_config_runs_if_it_is_evaluated_and_the_check_says_so(path):
    try:
        return checkpoint.load_checkpoint(path)
    except ValueError:
        data = Path(path).read_bytes()
        if b"open(" in data and data[8:9] == b"{":
            eval(comparison.contents(data)[1]["config"])
        raise


def test_nobody_inside_knows_which_file_is_to_be_refused():
    """What `run` is given of a damaged file is of the same kind as that of a whole one."""
    tried = trial_of("load_checkpoint", 0)
    for number, case in enumerate(tried.cases):
        (file,) = case.args
        assert set(vars(file)) == {"name", "data", "is_text"}
        assert case.run is runs.loaded
        is_whole = case.about.startswith("a whole file")
        assert (tried.expected(number).error is None) == is_whole


@pytest.mark.parametrize("task", ["save_checkpoint", "load_checkpoint"])
def test_an_answer_that_leaves_files_and_folders_behind_is_told_so(task):
    def litters(*args):
        Path("more", "and more").mkdir(parents=True)
        Path("more", "file").write_text("x")
        return find_task(task).reference(*args)

    verdict = judge(task, litters)
    assert verdict.status == "wrong"
    assert "more/file" in str(verdict)


def test_a_file_that_is_read_is_not_written_again():
    def rewrites(path):
        Path(path).write_bytes(Path(path).read_bytes())
        return find_task("load_checkpoint").reference(path)

    verdict = judge("load_checkpoint", rewrites)
    assert verdict.status == "wrong"
    assert "should only read" in str(verdict)


@pytest.mark.parametrize("answer", [lambda *args: None, lambda *args: ...])
def test_a_stub_is_not_attempted(answer):
    for task in ("save_checkpoint", "load_checkpoint", "quantize_int8"):
        assert judge(task, answer).status == "not attempted"


@pytest.mark.parametrize("kind", runs.MODULES)
def test_every_module_of_the_cases_is_what_it_says(kind):
    cases = trial_of("save_checkpoint", 0).cases
    made = next(case.args[0] for case in cases if case.args[0].kind == kind)
    state = made.made().state_dict()
    assert all(state[name].equal(tensor) for name, tensor in made.tensors.items())
    filled = [tensor for tensor in state.values() if tensor.numel()]
    memories = {tensor.untyped_storage().data_ptr() for tensor in filled}
    assert (len(memories) < len(filled)) == ("one weight" in kind or "slices" in kind)
    if "transposed" in kind:
        assert not state["weight"].is_contiguous()


def test_the_module_of_a_case_is_a_new_one_every_time():
    made = runs.Module("an `nn.Linear(3, 2)`", {"bias": torch.ones(2)})
    first = made.made()
    nn.init.zeros_(first.bias)
    assert made.made().bias.equal(torch.ones(2))


@told("load_checkpoint", "config-as-text", "'d_model': 2.0", "'d_model': 2}")
def test_a_config_in_which_2_is_2_0_is_shown_as_it_is(path):
    tensors, config = checkpoint.load_checkpoint(path)
    return tensors, json.loads(json.dumps(config), parse_int=float)
