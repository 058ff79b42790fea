"""Lines written otherwise: alone, two at once, and refused where they do not fit."""

import inspect
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch
from torch import nn

from attn_lib.checks import rows
from attn_lib.checks.mistakes import Known
from attn_lib.checks.rows import Variants
from attn_lib.checks.task import Mistake, find_task, repair, task, tasks


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


def test_two_rows_make_one_answer_if_they_write_different_lines_or_one_wraps():
    some = [dict(D="4 * q.shape[-1]"), dict(scores="products")]
    some += [dict(scores="-_"), dict(scores="0")]
    variants = Variants(attend, some)
    assert variants.variant(0, 2)(Q, K).item() == -1.25
    assert variants.variant(1, 2)(Q, K).item() == -5.0
    composed = [(a, b) for a in range(4) for b in range(a) if variants.compose(a, b)]
    assert composed == [(1, 0), (2, 0), (2, 1), (3, 0), (3, 2)]


def test_only_a_row_of_a_line_in_init_changes_how_a_class_is_built():
    variants = Variants(Twice, [dict(factor="3.0"), dict(doubled="_ + 1")])
    assert [variants.is_built_alike(n) for n in (0, 1)] == [False, True]
    assert variants.is_built_alike()
    assert not variants.is_built_alike(1, 0)


def test_the_first_line_that_a_row_changes_is_counted_from_above():
    variants = Variants(attend, [dict(scores="0", D="1"), dict(scores="0")])
    assert [variants.first_line(n) for n in (0, 1)] == [0, 2]


def test_a_class_has_lines_in_all_its_methods():
    variants = Variants(Twice, [dict(factor="3.0"), dict(doubled="_ + 1")])
    assert variants.variant(0)()(torch.ones(1)).item() == 2.0 + 1.0
    assert variants.variant(0, 1)()(torch.ones(1)).item() == 4.0
    assert variants.variant()()(torch.ones(1)).item() == 2.0


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (dict(weights="scores"), "assigns 'weights'.*there are D, products, scores"),
        (dict(scores="softmax(-1) => softmax(0)"), "expected 'softmax"),
        (dict(scores="products /"), "expected an expression"),
    ],
)
def test_a_row_that_does_not_fit_is_refused(row, message):
    with pytest.raises(ValueError, match=message):
        Variants(attend, [row])


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
# A comment.
Which gate lets a head through:
0 or 1?
    upside-down  gate = 1 - _
    both         gate = 2 * _ ; x, y = , dim=1 => || 3
What is left out?
    nothing      return = x == 1
"""
    gate, without = "Which gate lets a head through: 0 or 1?", ", dim=1 =>"
    assert list(rows.table(text)) == [
        ("upside-down", gate, dict(gate="1 - _")),
        ("both", gate, dict(gate="2 * _", x=without, y=without)),
        ("both", gate, dict(gate="2 * _", x="3", y="3")),
        ("nothing", "What is left out?", {"return": "x == 1"}),
    ]
    assert rows.expanded(dict(x=without), {"x": "f(y, dim=1)"}) == {"x": "f(y)"}


@pytest.mark.parametrize("text", ["    id  x = 1", "Why?\n    id", "Why?\n    id  x == 1"])
def test_a_table_without_question_or_row_is_refused(text):
    with pytest.raises(ValueError, match="expected a question"):
        list(rows.table(text))


def loop(q, k):
    found = [[row @ key for key in k] for row in q]
    return torch.stack([torch.stack(row) for row in found])


def whole(q, k):
    return 0


@pytest.fixture
def made(monkeypatch):
    """Return a task that is not among the others, and has two right answers."""
    monkeypatch.setattr(sys.modules["attn_lib.checks.task"], "_REGISTRY", {})
    made = task(lesson=2, points=3, hints=["one"], without=("scale-missing",))(attend)
    made.other(loop)
    made.rows("Why?\n    softer  scores = _ / 2\n    other-build  found = _[::-1]")
    made.rows("How often?\n    scale-twice  scores = _ / D\n    scale-twice  D = _ ** 2")
    made.mistake("whole", "What?")(whole)
    return made


def test_a_task_is_found_by_its_name_and_has_what_it_was_given(made):
    assert find_task("attend") is made
    assert tasks() == [made]
    assert made.signature == "attend(q, k)"
    assert (made.reference, made.library, made.others) == (attend, attend, [loop])
    assert (made.lesson, made.points, made.hints) == (2, 3, ("one",))
    assert list(made.make_cases(torch.Generator())) == []
    for decorate, kept in ((made.cases, "make_cases"), (made.measured, "make_large")):
        assert decorate(whole) is whole
        assert getattr(made, kept) is whole
    assert made.scored(whole) is made.score is whole
    library = task(lesson=1, points=0, hints=[], library=whole)(loop).library
    assert library is whole
    assert [one.name for one in tasks()] == ["loop", "attend"]
    assert find_task("attend").mistakes[-1] == Mistake("whole", "What?", {}, whole)


def test_the_source_of_a_task_is_read_when_it_is_imported(made, monkeypatch):
    """The file may change later, by an update."""
    rows.text_of.cache_clear()
    task(lesson=2, points=3, hints=[])(attend)
    monkeypatch.setattr(Path, "read_text", Mock(side_effect=OSError))
    assert "def attend(q, k):" in rows.text_of(inspect.getfile(attend))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("atend", 'no task named "atend". Did you mean "attend"?'),
        ("quite different", 'no task named "quite different". There are: attend.'),
        ("", "First comes the name of a task, in quotation marks.*There are: attend."),
        (attend, 'First comes the name of a task, in quotation marks: "attend".'),
        (len, "First comes the name of a task, in quotation marks, as in"),
    ],
)
def test_a_task_that_is_not_there_is_answered_with_those_that_are(name, message, made):
    with pytest.raises(ValueError, match=message):
        find_task(name)


def test_a_task_to_repair_is_the_other_one_with_what_is_planted_first(made):
    planted = {"scale-twice": dict(D="_ ** 2")}
    broken = repair("fix", made, planted, lesson=9, points=1, hints=["look"])
    assert find_task("fix") is broken
    assert (broken.name, broken.lesson, broken.points) == ("fix", 9, 1)
    assert (broken.hints, broken.repairs) == (("look",), "attend")
    assert broken.reference is attend
    first, *others = broken.mistakes
    assert (first.id, first.lines) == ("scale-twice", dict(D="_ ** 2"))
    assert others == [mistake for mistake in made.mistakes if mistake != first]
    assert made.mistakes[0].id == "softer"


def test_the_known_mistakes_are_ones_own_and_those_shared_that_fit(made):
    mine = Known(made)
    ids = [mistake.id for mistake in mine.mistakes]
    assert ids[:5] == ["softer", "other-build", "scale-twice", "scale-twice", "whole"]
    shared = {mistake.id for mistake in mine.mistakes[5:]}
    assert {"transposed-scores", "scale-multiplied"} <= shared
    # Left out, one's own, and of a line that is not there.
    assert not {"scale-missing", "scale-twice", "softmax-missing"} & shared
    softer, other_build, twice, root, whole_one = range(5)
    assert mine.answer(softer)(Q, K).item() == 1.25
    assert mine.answer(softer, root)(Q, K).item() == 5 / 4 / 2
    assert mine.answer(other_build)(torch.eye(2), torch.eye(2)).tolist() == [[0, 1], [1, 0]]
    assert mine.answer(whole_one) is whole
    pairs = [(softer, twice), (softer, root), (softer, other_build), (softer, whole_one)]
    assert [mine.compose(*pair) for pair in pairs] == [False, True, False, False]
    assert not mine.compose(whole_one, softer)
    assert [mine.template(n) for n in range(5)] == [0, 1, 0, 0, None]
    assert [mine.first_line(n) for n in range(5)] == [2, 0, 2, 0, 0]
    wrong, right = mine.sources(other_build)
    assert "key in k] for row in q][::-1]" in wrong
    assert right == rows.written_otherwise(loop)


def test_a_mistake_of_a_line_that_no_right_answer_has_is_an_error(made):
    made.rows("Why?\n    nowhere  weights = 1")
    with pytest.raises(ValueError, match="attend: no right answer has lines named weights"):
        Known(made)


def test_a_shared_mistake_fits_only_where_all_the_names_it_reads_are(made):
    """`scale-by-the-wrong-size` is written with q and k: under other names, it is none."""
    ids = {mistake.id for mistake in Known(made).mistakes}
    assert "scale-by-the-wrong-size" in ids
    made.reference = renamed
    made.mistakes.clear()
    made.others.clear()
    assert "scale-by-the-wrong-size" not in {m.id for m in Known(made).mistakes}
    assert "scale-multiplied" in {m.id for m in Known(made).mistakes}


def renamed(a, b):
    D = a.shape[-1]
    products = a @ b.mT
    scores = products / D**0.5
    return scores
