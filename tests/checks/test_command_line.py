"""`python -m attn_lib.checks FILE` judges every answer that a file holds."""

import pytest

from attn_lib.checks.__main__ import main

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
        main([str(file), *options])
        return capsys.readouterr().out

    return run


def test_a_file_without_cells_has_every_answer_judged_decorated_ones_too(judged):
    said = judged(FILE)
    assert "the file, causal_mask\n  passed" in said
    assert "the file, split_heads\n  wrong: nothing-cut\n  Input: " in said
    assert "\n  Think: " in said
    assert "2 answers judged" in said


def test_what_comes_before_the_cells_is_no_answer(judged):
    said = judged(CELLS)
    assert "right\n  passed" in said
    assert "1 answers judged" in said


def test_with_a_task_the_last_definition_answers_it(judged):
    said = judged(FILE.replace("split_heads", "mine"), "--task", "split_heads")
    assert "wrong: nothing-cut" in said


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
