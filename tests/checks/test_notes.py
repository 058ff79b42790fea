"""What a verdict adds: an earlier answer to mend first, what is thrown away, a tensor of another cell."""

import pytest

from attn_lib.checks import check, judge
from attn_lib.checks.source import load_source, thrown_away

SCORES = """
import torch

def attention_scores(q, k):
    return torch.einsum("bld,bsd->bls", q, k) / q.shape[-1] ** 0.5
"""
UNSCALED = SCORES.replace(" / q.shape[-1] ** 0.5", "")
ATTENTION = """
def attention(q, k, v):
    weights = attention_scores(q, k).softmax(-1)
    return weights @ v, weights
"""
FLIPPED = ATTENTION.replace("weights @ v,", "weights @ v.flip(1),")
OWN_SCORES = ATTENTION.replace("attention_scores(q, k)", "(q @ k.mT)")
BY_HELPER = """
def helper(q, k):
    return attention_scores(q, k)
""" + ATTENTION.replace("attention_scores(q", "helper(q")
MODULE = """
import attn_lib

class SelfAttention(attn_lib.SelfAttention):
    def forward(self, x):
        return attention(self.q_proj(x), self.k_proj(x), self.v_proj(x))[0]
"""
OURS = "from attn_lib import einsum_attention as attention\n"
OF_LESSON_2 = """
def attention(q, k, v, mask=None):
    return v

def masked_attention(q, k, v, mask=None):
    return attention(q, k, v)
"""


@pytest.mark.parametrize(
    ("source", "name", "first"),
    [
        (UNSCALED + ATTENTION, "attention", "attention_scores"),
        (UNSCALED + ATTENTION + MODULE, "SelfAttention", "attention_scores"),
        (UNSCALED + FLIPPED + MODULE, "SelfAttention", "attention_scores"),
        (UNSCALED + BY_HELPER, "attention", "attention_scores"),
        (UNSCALED.replace("->bls", "->bl") + ATTENTION, "attention", "attention_scores"),
        # The mistake is in the answer itself, in one of another lesson, or beside the library's.
        (SCORES + FLIPPED, "attention", ""),
        (UNSCALED + OWN_SCORES, "attention", ""),
        (OF_LESSON_2, "masked_attention", ""),
        (OURS + MODULE.replace("[0]", "[0] + 1"), "SelfAttention", ""),
    ],
)
def test_the_first_answer_that_is_wrong_itself_is_to_be_mended_first(source, name, first):
    answer = load_source(source, name)
    verdict = check(name, answer)
    assert verdict.status in ("wrong", "error")
    assert verdict.first == first
    assert judge(name, answer).first == ""  # the judge alone does not look


def test_what_to_mend_first_is_said_above_everything_else(capsys):
    verdict = check("attention", load_source(UNSCALED + ATTENTION, "attention"))
    said = capsys.readouterr().out.splitlines()
    assert said[1].startswith("  Mend `attention_scores` first: your `attention` uses it")
    markup = verdict._repr_html_()
    assert markup.index("Mend <code>attention_scores</code> first") < markup.index("Input:")


@pytest.mark.parametrize("answer", [len, print, lambda q, k, v: v, type("A", (), {})])
def test_nothing_is_added_about_an_answer_without_a_source(answer):
    verdict = check("attention", answer)
    assert verdict.first == ""
    assert "Look also at" not in verdict.message


def test_a_passed_answer_names_nothing():
    verdict = check("attention", load_source(SCORES + ATTENTION, "attention"))
    assert (verdict.status, verdict.first) == ("passed", "")


ENTROPY = """
import torch

def attention_entropy(weights):
    terms = weights * weights.log()
    {}
    return -terms.sum(-1).mean((0, 2))
"""
LONG = "terms.masked_fill(" + " + ".join(["weights"] * 20) + " == 0, 0)"
MIXTURE = """
import torch

weights = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.25, 0.25]])
values = torch.tensor([[4.0, 0.0], [0.0, 8.0], [2.0, 4.0]])

def mixed(w):
    return w @ values

def mixture(w, v):
    return {}
"""
ASKED = {
    ENTROPY: "it changes nothing and makes a new tensor. What takes that?",
    MIXTURE: "it is a tensor from another cell, the same for every input.",
}


def verdict_on(source, line):
    name = {ENTROPY: "attention_entropy", MIXTURE: "mixture"}[source]
    return check(name, load_source(source.format(line), name))


@pytest.mark.parametrize(
    ("source", "line", "said"),
    [
        (ENTROPY, "terms.nan_to_num(0)", "terms.nan_to_num(0)"),
        (
            ENTROPY,
            "torch.where(weights > 0, terms, 0)",
            "torch.where(weights > 0, terms, 0)",
        ),
        (ENTROPY, "if len(weights): terms.abs()", "terms.abs()"),
        (ENTROPY, LONG, LONG[:57] + "..."),
        (MIXTURE, "weights @ v", "weights"),
        (MIXTURE, "torch.einsum('ls,sd->dl', w, values)", "values"),
        (MIXTURE, "mixed(w)", "values"),  # by way of a helper
    ],
)
def test_what_nothing_takes_or_is_from_another_cell_is_asked_about(source, line, said):
    verdict = verdict_on(source, line)
    assert verdict.status in ("wrong", "error")
    assert f"Look also at `{said}`: {ASKED[source]}" in verdict.message


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (ENTROPY, "terms = terms.nan_to_num(0); terms.sum()"),  # it passes
        (MIXTURE, "v @ w"),
        (MIXTURE, "w.softmax(-1) @ v"),
        (MIXTURE, "[values for values in v][0]"),  # a name of its own
        (MIXTURE, "w @ v + 0 * values.sum()"),  # it passes
    ],
)
def test_what_is_an_argument_or_passes_is_not_asked_about(source, line):
    assert "Look also" not in verdict_on(source, line).message


@pytest.mark.parametrize(
    "line",
    [
        "terms = terms.double()",
        "terms.mul_(2)",
        "[].append(terms)",
        "set().add(terms)",
        "torch.nn.Linear(1, 1).double()",
        "torch.manual_seed(0)",
        "torch.mul(terms, 2, out=terms)",
        "print(terms.sum())",
        "terms.requires_grad_().sum().backward()",
        "'a text'",
    ],
)
def test_what_changes_something_or_is_taken_is_not_thrown_away(line):
    answer = load_source(ENTROPY.format(line), "attention_entropy")
    assert thrown_away(answer) is None
