"""The conclusions of the lessons: recorded under other seeds, and all on the page that counts them."""

import ast
import re

import pytest

from tests.claims import (
    PAGE,
    ROOT,
    UNTRIED,
    VARIATIONS,
    Recording,
    Variation,
    fallen,
    page,
    row,
    sentences,
    without_sentences,
)

LESSONS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def recorded(source: str, steps: float = 1.0) -> list[tuple]:
    found = []
    tree = Recording(steps).visit(ast.parse(source))
    exec(compile(tree, "cell", "exec"), {"_record": lambda *record: found.append(record)})
    return found


def test_an_assertion_becomes_a_record_of_its_two_sides():
    about = ("1 + 1 < 1", "Lt")
    assert recorded("assert 1 + 1 < 1, 'Two is small.'") == [(about, 2, 1)]
    assert recorded("assert [0]") == [(("[0]",), [0])]


def test_a_test_of_the_lesson_still_raises():
    inside = "def test():\n    assert 1 > 2\n    assert 2 > 1, 'Two is more.'\n"
    with pytest.raises(AssertionError):
        recorded(inside + "test()")
    claimed = inside.replace("    assert 1 > 2\n", "") + "test()"
    assert recorded(claimed) == [(("2 > 1", "Gt"), 2, 1)]


def test_steps_are_scaled_where_they_are_named():
    source = "def f(a, steps=10, *, lr=3): return a, steps, lr\nassert f({}) == 0"
    assert [record[1] for record in recorded(source.format(1), 2)] == [(1, 20, 3)]
    assert [record[1] for record in recorded(source.format("5, steps=7"), 2)] == [
        (5, 14, 3)
    ]


def test_a_fallen_conclusion_is_told_unless_it_speaks_of_these_steps():
    result = dict(found={"3: a < b": dict(holds=False, values=[[2.0, 1.0]])}, errors={})
    for text, longer in (("It learns.", 1), ("After 200 steps it learns.", 0)):
        says = {"3: a < b": text}
        assert len([*fallen(result, Variation("steps × 2", steps=2), says)]) == longer
        assert len([*fallen(result, VARIATIONS[0], says)]) == 1
    assert [*fallen(dict(found={}, errors={4: "ValueError"}), VARIATIONS[0], {})] != []


def test_a_sentence_may_change_and_a_condition_not():
    assert without_sentences("assert a, 'A.'") == without_sentences("assert a, 'B.'")
    assert without_sentences("assert a, 'A.'") != without_sentences("assert b, 'A.'")


def test_a_row_counts_runs_and_shows_the_spread(monkeypatch):
    runs = {}
    for i, variation in enumerate(VARIATIONS):
        entry = dict(holds=i != 1, values=[[float(i), 2.0]])
        runs[variation.name] = dict(found={"3: a < 2": entry}, errors={})
    monkeypatch.setattr("tests.claims.key", lambda lesson, variation: variation.name)
    without, with_training = LESSONS[1], LESSONS[2]
    for lesson, counted in (
        (without, "4\u00a0of\u00a05 | 0 to 4"),
        (with_training, "7\u00a0of\u00a08 | 0 to 7"),
    ):
        told = row(lesson, 3, "Small.", "a < 2", runs)
        assert told == f"| Small. | `a < 2` | {counted} |"


def test_what_was_tried_elsewhere_stays_on_the_page():
    told = page(LESSONS[:2], {}, "").replace(UNTRIED, "5 of 5", 1)
    assert "5 of 5" in told
    assert page(LESSONS[:2], {}, told) == told
    of_other_code = re.sub(r"code \w+", "code 0", told)
    assert page(LESSONS[:2], {}, of_other_code) == page(LESSONS[:2], {}, "")


@pytest.mark.skipif(not PAGE.exists(), reason="make claims has not been run yet")
@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_each_conclusion_is_on_the_page(lesson):
    told = PAGE.read_text(encoding="utf-8")
    for _, says, condition in sentences(lesson):
        assert f"| {says} | `{condition}`".replace("|", r"\|")[1:] in told.replace(
            "|", r"\|"
        ), "the page is older than the lesson: python -m tests.claims --page"
