"""Drills: offered for passed tasks, wrong as they are, kept when mended, a learner's own answer untouched."""

import pytest

from attn_lib.checks import check, drill, judge, mine, progress, store, tasks
from attn_lib.checks.drill import _offered, cell_of, drills
from attn_lib.checks.task import find_task


@pytest.fixture(autouse=True)
def new_session():
    _offered.clear()


def passed(name):
    """Pass a task as a learner who copied the reference."""
    store.update(name, lambda entry: entry.update(passed=True, status="passed"))


def run(cell):
    """Run a cell without its last line; return what it defines."""
    names = {}
    exec(cell.rpartition("drill(")[0], names)
    return names["drilled"]


def test_before_the_task_is_passed_there_is_no_drill(capsys):
    drill("split_heads")
    assert "pass `split_heads` first" in capsys.readouterr().out


def test_a_drill_is_printed_in_a_terminal_and_rejected_as_it_is(capsys):
    passed("split_heads")
    drill("split_heads")
    cell = capsys.readouterr().out
    assert cell.startswith("# One line is wrong in this answer to split_heads.")
    assert judge("split_heads", run(cell)).status in ("wrong", "error")


def test_each_call_gives_another_one(capsys):
    passed("split_heads")
    cells = set()
    for _ in range(5):
        drill("split_heads")
        cells.add(capsys.readouterr().out)
    assert len(cells) == 5


def test_what_is_mended_is_kept_and_not_offered_again(capsys):
    passed("split_heads")
    drill("split_heads")
    key = capsys.readouterr().out.rpartition('key="')[2].split('"')[0]
    verdict = drill("split_heads", find_task("split_heads").reference, key=key)
    assert verdict.status == "passed"
    assert "That makes 1 of" in verdict.note
    assert store.load()[0]["split_heads"]["mended"] == [key]
    _offered.clear()
    capsys.readouterr()
    drill("split_heads")
    assert key not in capsys.readouterr().out
    progress(3)
    assert "1 mended" in capsys.readouterr().out


def test_a_wrong_repair_is_judged_like_any_answer(capsys):
    passed("split_heads")
    key = drills("split_heads")[0].key
    verdict = drill("split_heads", lambda x, num_heads: x, key=key)
    assert verdict.status == "wrong"
    assert "mended" not in store.load()[0]["split_heads"]


def test_a_mended_drill_does_not_take_the_place_of_the_learners_own_answer(capsys):
    check("mixture", own_mixture)
    kept = store.load()[0]["mixture"]["source"]
    drill("mixture", find_task("mixture").reference, key=drills("mixture")[0].key)
    assert store.load()[0]["mixture"]["source"] == kept
    assert mine("mixture").__name__ == "own_mixture"


def own_mixture(weights, values):
    return weights @ values


def test_the_verdict_is_shown_if_nothing_can_be_kept(capsys):
    verdict = drill("mixture", own_mixture, key="nope")
    assert verdict.status == "passed"
    assert "has no drill 'nope'" in verdict.note
    assert "✓ Passed" in capsys.readouterr().out


def test_two_wrong_lines_come_after_the_first_few(capsys):
    passed("masked_attention")
    first = [drill("masked_attention") or capsys.readouterr().out for _ in range(2)]
    assert all(cell.startswith("# One line") for cell in first)
    mended = [d.key for d in drills("masked_attention")[:3]]
    store.update("masked_attention", lambda entry: entry.update(mended=mended))
    drill("masked_attention")
    assert capsys.readouterr().out.startswith("# Two lines")


def test_a_lesson_gives_a_drill_of_one_of_its_passed_tasks(capsys):
    drill(lesson=3)
    assert "pass one first" in capsys.readouterr().out
    passed("merge_heads")
    drill(lesson=3)
    assert "answer to merge_heads" in capsys.readouterr().out
    drill(lesson=99)
    assert "no tasks" in capsys.readouterr().out


@pytest.mark.parametrize(
    "call", [dict(name="split_head"), dict(name="mixture", key="nope")]
)
def test_what_is_not_there_gives_a_message(call, capsys):
    passed("mixture")
    drill(**call)
    assert "Did you mean" in (out := capsys.readouterr().out) or "has no drill" in out


@pytest.mark.parametrize(
    "task", [t for t in tasks() if t.points], ids=lambda task: task.name
)
def test_every_drill_is_code_that_stands_alone(task):
    for found in drills(task.name):
        answer = run(cell_of(task, found))
        assert answer.__name__ == "drilled"
