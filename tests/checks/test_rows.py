"""Lines written otherwise: alone, two at once, and refused where they do not fit."""

import pytest
import torch
from torch import nn

from attn_lib.checks import rows
from attn_lib.checks.rows import Variants


def attend(q, k):
    D = q.shape[-1]
    products = q @ k.mT
    scores = products / D**0.5  # (L, S)
    return scores


class Twice(nn.Module):
    def __init__(self, factor=2.0):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        doubled = x * self.factor
        return doubled


Q, K = torch.tensor([[1.0, 2.0, 0.0, 2.0]]), torch.tensor([[1.0, 1.0, 1.0, 1.0]])


def test_a_line_can_be_replaced_changed_in_part_or_wrapped():
    ways = [dict(scores="products"), dict(scores="/ => *"), dict(scores="-_")]
    variants = Variants(attend, ways)
    assert variants.variant()(Q, K).item() == 2.5
    assert [variants.variant(i)(Q, K).item() for i in range(3)] == [5.0, 10.0, -2.5]


def test_two_edits_make_one_answer_if_they_write_different_lines_or_one_wraps():
    edits = [dict(D="4 * q.shape[-1]"), dict(scores="products")]
    edits += [dict(scores="-_"), dict(scores="0")]
    variants = Variants(attend, edits)
    assert variants.variant(0, 2)(Q, K).item() == -1.25
    assert variants.variant(1, 2)(Q, K).item() == -5.0
    composed = [(a, b) for a in range(4) for b in range(a) if variants.compose(a, b)]
    assert composed == [(1, 0), (2, 0), (2, 1), (3, 0), (3, 2)]


def test_a_class_has_lines_in_all_its_methods():
    variants = Variants(Twice, [dict(factor="3.0"), dict(doubled="_ + 1")])
    assert variants.variant(0)()(torch.ones(1)).item() == 2.0 + 1.0
    assert variants.variant(0, 1)()(torch.ones(1)).item() == 4.0
    assert variants.variant()()(torch.ones(1)).item() == 2.0


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (dict(weights="scores"), "assigns 'weights'.*there are D, products, scores"),
        (dict(scores="softmax(-1) => softmax(0)"), "expected 'softmax"),
        (dict(scores="products /"), "expected an expression"),
    ],
)
def test_an_edit_that_does_not_fit_is_refused(edit, message):
    with pytest.raises(ValueError, match=message):
        Variants(attend, [edit])


def test_a_name_that_is_assigned_twice_is_no_line():
    assert list(rows.lines_of(assigned_twice)) == ["y", "return"]


def assigned_twice(x):
    x = x + 1
    x = x + 2
    y = x
    return y


def test_the_wrong_answer_can_be_read_as_code():
    text = rows.written_otherwise(attend, dict(scores="_[0]"), dict(scores="products * D"))
    assert "    scores = (products * D)[0]\n" in text
    assert text.startswith("def attend(q, k):\n")


def test_names_that_an_expression_makes_itself_are_not_read():
    assert rows.names_read("[f(t) for t in (q, k)] + _") == {"f", "q", "k"}
    assert rows.names_read("(lambda a: a + b)(c)") == {"b", "c"}
    assert rows.expanded(dict(D="1 => 2"), {"D": "q.shape[-1]"}) == {"D": "q.shape[-2]"}


def test_a_table_has_questions_and_under_each_the_lines_it_leads_out_of():
    text = """
Which gate lets a head through:
0 or 1?
    upside-down  gate = 1 - _
    both         gate = 2 * _ ; x, y = , dim=1 =>
What is left out?
    nothing      return = x == 1
"""
    gate, without = "Which gate lets a head through: 0 or 1?", ", dim=1 =>"
    assert list(rows.table(text)) == [
        ("upside-down", gate, dict(gate="1 - _")),
        ("both", gate, dict(gate="2 * _", x=without, y=without)),
        ("nothing", "What is left out?", {"return": "x == 1"}),
    ]
    assert rows.expanded(dict(x=without), {"x": "f(y, dim=1)"}) == {"x": "f(y)"}


@pytest.mark.parametrize("text", ["    id  x = 1", "Why?\n    id", "Why?\n    id  x == 1"])
def test_a_table_without_question_or_edit_is_refused(text):
    with pytest.raises(ValueError, match="expected a question"):
        list(rows.table(text))
