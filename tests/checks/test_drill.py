"""Drills: offered for passed tasks, wrong as they are, kept when mended, a learner's own answer untouched."""

import sys

import pytest

from attn_lib.checks import check, drill, judge, mine, progress, store, tasks
from attn_lib.checks.drill import _asked_from, _failures, _offered, cell_of, drills
from attn_lib.checks.task import find_task


def passed(name):
    """Pass a task as a learner who copied the reference."""
    store.update(name, lambda entry: entry.update(passed=True, status="passed"))


def run(cell):
    """Run a cell without its last line; return what it defines."""
    names = {}
    exec(cell.rpartition("drill(")[0], names)
    return names["drilled"]


@pytest.fixture
def printed(capsys):
    """Ask for a drill, in a new session; return what is printed."""
    for kept in (_offered, _asked_from, _failures):
        kept.clear()

    def ask(*names, **options):
        drill(*names, **options)
        return capsys.readouterr().out

    return ask


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (dict(name="split_heads"), "pass `split_heads` first"),
        (dict(name="split_head"), "Did you mean"),
        (dict(name="mixture", key="nope"), "has no drill"),
        (dict(lesson=3), "pass one first"),
        (dict(lesson=99), "no tasks"),
        (dict(name=3), "`drill(lesson=3)`"),
    ],
)
def test_what_is_not_there_or_not_passed_gives_a_message(asked, message, printed):
    passed("mixture")
    assert message in printed(**asked)


def test_each_call_prints_another_drill_rejected_as_it_is(printed):
    passed("split_heads")
    cells = {printed("split_heads") for _ in range(5)}
    assert len(cells) == 5
    for cell in cells:
        assert "# One line is wrong in this answer to split_heads." in cell
        assert judge("split_heads", run(cell)).status in ("wrong", "error")


def test_what_is_mended_is_kept_and_not_offered_again(printed, capsys):
    passed("split_heads")
    key = printed("split_heads").rpartition('key="')[2].split('"')[0]
    verdict = drill("split_heads", find_task("split_heads").reference, key=key)
    assert verdict.status == "passed"
    assert f"Mended: {drills('split_heads')[0].wrong}. That makes 1" in verdict.note
    assert store.load()[0]["split_heads"]["mended"] == [key]
    _offered.clear()
    capsys.readouterr()
    assert key not in printed("split_heads")
    progress(3)
    assert "1 mended" in capsys.readouterr().out


def test_a_wrong_repair_is_judged_like_any_answer_and_the_third_one_gets_help(printed):
    passed("split_heads")
    first = drills("split_heads")[0]
    for help in ("", "", f"Stuck? This is wrong: {first.wrong}."):
        verdict = drill("split_heads", lambda x, num_heads: x, key=first.key)
        assert (verdict.status, verdict.note) == ("wrong", help)
    assert "mended" not in store.load()[0]["split_heads"]


def test_a_cell_that_runs_again_does_not_pile_up_drills(printed, monkeypatch):
    passed("split_heads")
    monkeypatch.setattr(sys.modules["attn_lib.checks.drill"], "_cell", lambda: "a cell")
    key = printed("split_heads").rpartition('key="')[2].split('"')[0]
    assert "still open" in printed("split_heads")
    drill("split_heads", find_task("split_heads").reference, key=key)
    passed("merge_heads")  # of which fewer are mended
    assert "answer to merge_heads" in printed(lesson=3)


def test_a_mended_drill_does_not_take_the_place_of_the_learners_own_answer():
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
    assert "Not counted: `mixture` has no drill 'nope'" in verdict.note
    assert "✓ Passed" in capsys.readouterr().out


def test_two_wrong_lines_come_after_the_first_few(printed):
    passed("masked_attention")
    assert all("# One line" in printed("masked_attention") for _ in range(2))
    mended = [d.key for d in drills("masked_attention")[:3]]
    store.update("masked_attention", lambda entry: entry.update(mended=mended))
    assert "in two lines" in (cell := printed("masked_attention")) or "# Two lines" in cell


def test_a_lesson_gives_a_drill_of_one_of_its_passed_tasks(printed):
    passed("merge_heads")
    assert "answer to merge_heads" in printed(lesson=3)


@pytest.mark.parametrize("task", [t for t in tasks() if t.points], ids=lambda t: t.name)
def test_every_drill_is_code_that_stands_alone(task):
    all_of_them = drills(task.name)
    assert all_of_them
    for found in all_of_them:
        answer = run(cell_of(task, found))
        assert answer.__name__ == "drilled"
