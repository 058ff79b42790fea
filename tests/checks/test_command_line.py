"""`python -m attn_lib.checks FILE` judges every answer that a file holds."""

import runpy
import sys
from unittest.mock import Mock

import pytest

from attn_lib.checks import __main__ as command_line
from attn_lib.checks import judge
from attn_lib.checks.__main__ import main, snippets
from attn_lib.checks.mistakes import known
from attn_lib.checks.task import find_task

FILE = """
import functools
from math import sqrt

def helper(x):
    return x

@functools.lru_cache
def causal_mask(q_len, kv_len):
    return torch.ones(q_len, kv_len, dtype=torch.bool).tril(kv_len - q_len)

def split_heads(x, num_heads):
    return helper(x)
"""
CELLS = f"{FILE}# %% right\ndef causal_mask(*sizes):\n    return functools.partial(attn_lib.causal_mask)(*sizes)"


@pytest.fixture
def judged(tmp_path, capsys):
    def run(text, *options):
        file = tmp_path / "answers.py"
        file.write_text(text)
        assert main([str(file), *options]) == 0
        return capsys.readouterr().out

    return run


def test_a_file_without_cells_has_every_answer_judged_decorated_ones_too(judged):
    said = judged(FILE)
    assert "the file, causal_mask\n  passed" in said
    assert "the file, split_heads\n  wrong: nothing-cut\n  Input: " in said
    assert "\n  Think: " in said
    assert said.endswith("\n2 answers judged: 1 passed, in 1 a mistake is named.\n")
    said = judged(FILE.replace("split_heads", "mine"), "--task", "split_heads")
    assert "wrong: nothing-cut" in said  # with a task, the last definition answers it


def test_what_comes_before_the_cells_is_no_answer(judged):
    said = judged(CELLS)
    assert said.startswith("\nright\n  passed: no mistake named\n")
    assert said.endswith("\n1 answers judged: 1 passed, in 0 a mistake is named.\n")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x = 1", "expected a function or a class"),
        ("def split_head(x):\n    return x", 'Did you mean "split_heads"?'),
    ],
)
def test_a_file_without_answers_is_told_so(judged, text, why):
    said = judged(text)
    assert "not judged: ValueError: " in said
    assert why in said
    assert "0 answers judged" in said


def test_two_mistakes_in_one_answer_are_both_named(judged):
    lines = "weights = (q @ k.mT).softmax(1)\n    return weights @ v, weights"
    said = judged(f"def attention(q, k, v):\n    {lines}")
    assert ", and " in said.splitlines()[2]
    assert "the file\n  wrong: " in said


def test_a_cell_has_its_title_or_its_number_and_what_stands_above_all():
    cells = snippets("x = 1\n# %% first\na\n# %%\nb")
    assert cells == [("first", "\nx = 1", "a"), ("cell 2", "\nx = 1", "b")]
    assert snippets("x = 1") == [("the file", "", "x = 1")]


def test_answers_are_judged_on_the_inputs_of_a_seed(judged, monkeypatch):
    judging = Mock(wraps=judge)
    monkeypatch.setattr(command_line, "judge", judging)
    judged(CELLS)
    judged(CELLS, "--seed", "7")
    main(["--rows", "mixture", "--seed", "8"])
    seeds = [call.kwargs["seed"] for call in judging.call_args_list]
    assert seeds == [0, 7] + [8] * len(known("mixture").mistakes)


def test_rows_that_are_accepted_or_taken_for_another_are_shown(monkeypatch, capsys):
    first, *_, last = mistakes = known("mixture").mistakes
    wrong = judge("mixture", known("mixture").answer(0))
    verdicts = iter([judge("mixture", lambda w, v: w @ v), *[wrong] * (len(mistakes) - 1)])
    monkeypatch.setattr(command_line, "judge", lambda *args, **options: next(verdicts))
    assert main(["--rows", "mixture"]) == 1
    said = capsys.readouterr().out
    ((line, text),) = first.lines.items()
    assert said.startswith(f"{first.id}: passed\n    {line} = {text}\n")
    assert f"\n{last.id}: {first.id}\n    " in said
    others = sum(mistake.id != first.id for mistake in mistakes)
    assert said.endswith(f"; {1 + others} taken for something else.\n")


def test_shared_rows_are_counted_and_whole_answers_shown_as_such(monkeypatch, capsys):
    stub = judge("SelfAttention", None)
    monkeypatch.setattr(command_line, "judge", lambda *args, **options: stub)
    main(["--rows", "SelfAttention"])
    said = capsys.readouterr().out
    assert "super-forgotten: not attempted\n    (a whole answer)\n" in said
    shared = len(known("SelfAttention").mistakes) - len(find_task("SelfAttention").mistakes)
    assert f" rows, {shared} of them shared; " in said


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "expected a file with answers, or --rows TASK"),
        (["nowhere.py"], "No such file"),
        ([__file__, "--task", "split_head"], 'Did you mean "split_heads"?'),
        ([__file__, "--seed", "many"], "invalid int value"),
    ],
)
def test_what_cannot_be_done_is_said_with_the_usage(arguments, why, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    said = capsys.readouterr().err
    assert "usage: python -m attn_lib.checks" in said
    assert why in said
    assert "[--rows TASK]" in said


@pytest.mark.filterwarnings("ignore:.*found in sys.modules")
def test_the_module_is_a_program(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["checks", "--rows", "mixture"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("attn_lib.checks", run_name="__main__")
    assert ended.value.code == 0
    count = len(known("mixture").mistakes)
    said = capsys.readouterr().out
    assert said == f"{count} rows, 0 of them shared; 0 taken for something else.\n"
