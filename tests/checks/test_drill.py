"""Drills: offered for passed tasks, wrong as they are, kept when mended, a learner's own answer untouched."""

import ast
import linecache
import math
import re
import sys
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import torch

from attn_lib.checks import check, drill, judge, mine, progress, store, tasks
from attn_lib.checks.drill import (
    _asked_from,
    _failures,
    _notebook,
    _offered,
    cell_of,
    drills,
)
from attn_lib.checks.kinds import kind_of
from attn_lib.checks.mistakes import known
from attn_lib.checks.seen import SEEN
from attn_lib.checks.task import find_task

MODULE = sys.modules["attn_lib.checks.drill"]  # the package's `drill` is the function


def passed(name):
    """Pass a task as a learner who copied the reference."""
    store.update(name, lambda entry: entry.update(passed=True, status="passed"))


def run(cell):
    """Run a cell without its last line; return what it defines."""
    names = {}
    exec(cell.rpartition("drill(")[0], names)
    return names["drilled"]


def key_in(cell):
    return cell.rpartition('key="')[2].split('"')[0]


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
        (dict(name="test_attention"), "`test_attention` has no drills."),
        (dict(name="mixture", key="nope"), "has no drill"),
        (dict(kind="mask"), "choose among masks, dtypes"),
        (dict(lesson=3), "pass one first, such as `split_heads`, `merge_heads`, "),
        (dict(name="merge_heads"), "Drills come after the task: pass `merge_heads` first."),
        (dict(lesson=99), "no tasks"),
        (
            {},
            "pass one first, such as `stable_softmax`",
        ),  # a task for practice is not chosen
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
    key = key_in(printed("split_heads"))
    verdict = drill("split_heads", find_task("split_heads").reference, key=key)
    assert verdict.status == "passed"
    assert (verdict.points, verdict.max_points) == (0, 0)
    first = drills("split_heads")[0]
    question = known("split_heads").mistakes[first.mistakes[0]].question
    more = 'That makes 1 of this task. For another one: `drill("split_heads")`'
    assert verdict.note == f"Mended: {first.wrong}. {question} {more}"
    again = drill("split_heads", find_task("split_heads").reference, key=key)
    assert again.note == verdict.note
    assert store.load()[0]["split_heads"]["mended"] == [key]
    _offered.clear()
    capsys.readouterr()
    assert key not in printed("split_heads")
    progress(3)
    assert "1 mended" in capsys.readouterr().out


def test_another_right_answer_is_not_a_mended_drill():
    passed("mixture")
    verdict = drill("mixture", own_mixture, key=drills("mixture")[0].key)
    assert verdict.status == "passed"
    assert "Not counted: this is another answer." in verdict.note
    assert "mended" not in store.load()[0]["mixture"]


RIGHT = "scores = products / math.sqrt(D)"


@pytest.mark.parametrize(
    ("old", "new", "is_mended"),
    [
        ("scores = products / D", RIGHT, True),
        ("scores = products / D", f"root = math.sqrt(D)\n    {RIGHT}", True),
        ("scores = products / D\n    return scores", f"return {RIGHT[9:]}", True),
        ("D = q.shape[-1]", "D = math.sqrt(q.shape[-1])", True),
        ("    D = q", "    return q @ k.mT / math.sqrt(q.shape[-1])\n    D = q", False),
        ("return scores", f"{RIGHT}\n    return scores", False),
    ],
)
def test_a_drill_is_mended_where_a_line_is_written_otherwise_and_the_others_are_there(
    old, new, is_mended
):
    passed("attention_scores")
    wrong = "`scores = products / D`"
    [one] = (d for d in drills("attention_scores") if d.wrong == wrong)
    code = one.code.replace(old, new, 1)
    place = f"<{code}>"
    linecache.cache[place] = len(code), None, code.splitlines(True), place
    names = {"math": math, "torch": torch}
    exec(compile(code, place, "exec"), names)
    verdict = drill("attention_scores", names["drilled"], key=one.key)
    assert verdict.status == "passed"
    assert verdict.note.startswith("Mended" if is_mended else "Not counted"), verdict.note


def test_a_wrong_repair_is_judged_like_any_answer_and_the_third_one_gets_help(printed):
    passed("split_heads")
    first = drills("split_heads")[0]
    for help in ("", "", f"Stuck? This is wrong: {first.wrong}."):
        verdict = drill("split_heads", lambda x, num_heads: x, key=first.key)
        assert (verdict.status, verdict.note) == ("wrong", help)
    assert "mended" not in store.load()[0]["split_heads"]


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
    two = next(d for d in drills("masked_attention") if d.lines == 2)
    assert f'key="{two.key}"' in printed("masked_attention")


def test_the_task_of_which_the_fewest_were_mended_or_shown_comes_first(printed):
    passed("split_heads")
    passed("merge_heads")
    asked = [re.search(r"answer to (\w+)", printed()).group(1) for _ in range(4)]
    assert asked == ["split_heads", "merge_heads"] * 2
    _offered.clear()
    store.update("split_heads", lambda entry: entry.update(mended=["one"]))
    assert "answer to merge_heads" in printed()


def test_without_a_passed_task_eight_are_named(printed):
    assert printed().count("`") == 2 * 8


def test_when_all_were_shown_they_come_again_and_when_all_are_mended_too(printed):
    passed("mixture")
    keys = [d.key for d in drills("mixture")]
    shown = [key_in(printed("mixture")) for _ in (*keys, "again")]
    assert sorted(shown[:-1]) == sorted(keys)
    assert shown[-1] == shown[0]
    _offered.clear()
    store.update("mixture", lambda entry: entry.update(mended=keys))
    assert key_in(printed("mixture")) in keys


def test_a_drill_that_is_right_after_all_is_left_out(printed, monkeypatch):
    """Two mistakes may cancel."""
    passed("mixture")
    monkeypatch.setattr(MODULE, "judge", lambda *args: SimpleNamespace(status="passed"))
    assert "`mixture` has no more drills." in printed("mixture")


def test_a_notebook_gets_the_drill_as_its_next_cell(printed, monkeypatch):
    """A cell that runs again does not pile up drills."""
    passed("split_heads")
    metadata = {"cellId": "a cell"}
    shell = Mock(get_parent=lambda: {"metadata": metadata})
    monkeypatch.setattr(MODULE, "_notebook", lambda: shell)
    first, second = drills("split_heads")[:2]
    assert printed("split_heads") == "A drill for `split_heads` is in the next cell.\n"
    shell.set_next_input.assert_called_once_with(cell_of(find_task("split_heads"), first))
    assert "still open" in printed("split_heads")
    drill("split_heads", find_task("split_heads").reference, key=first.key)
    assert "is in the next cell; 1 mended so far." in printed("split_heads")
    assert second.key in shell.set_next_input.call_args.args[0]
    metadata["cellId"] = "another"
    passed("merge_heads")  # of which fewer are mended
    printed(lesson=3)
    assert "answer to merge_heads" in shell.set_next_input.call_args.args[0]


@pytest.mark.parametrize("shell", [None, SimpleNamespace(), SimpleNamespace(kernel=1)])
def test_only_a_shell_with_a_kernel_is_a_notebook(shell, monkeypatch):
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    assert _notebook() is (shell if hasattr(shell, "kernel") else None)


@pytest.mark.parametrize("name", ["masked_attention", "RMSNorm"])
def test_a_drill_is_a_right_answer_but_for_one_line_or_two(name):
    counts = []
    for one in drills(name):
        right = known(name).sources(*one.mistakes)[1].splitlines()[1:]
        wrong = [line for line in one.code.splitlines()[1:] if line not in right]
        assert one.wrong == " and ".join(f"`{line.strip()}`" for line in wrong)
        assert len(wrong) == one.lines
        assert "1000000000.0" not in one.code
        assert re.fullmatch("[0-9a-f]{6}", one.key)
        counts.append((one.lines, len(one.mistakes)))
        asked = {
            (1, 1): "One line is wrong",
            (2, 1): "One mistake is made in two lines",
            (2, 2): "Two lines are",
        }
        assert cell_of(find_task(name), one).startswith(f"# {asked[counts[-1]]}")
    assert [lines for lines, _ in counts] == sorted(lines for lines, _ in counts)
    assert 1 < counts.count((2, 2)) <= counts.count((1, 1))
    if name == "masked_attention":
        assert any("-1e9" in one.code for one in drills(name))
        assert (2, 1) in counts


@pytest.mark.parametrize("name", [task.name for task in tasks() if task.drilled])
def test_what_is_drilled_stands_in_one_line_or_two_and_leaves_nothing_unused(name):
    """A name that nobody reads any more, or a line that is far longer, shows where to look."""
    chosen = drills(name)
    assert len({one.key for one in chosen}) == len(chosen) >= 6
    for one in chosen:
        right = known(name).sources(*one.mistakes)[1]
        assert one.lines in (1, 2)
        assert len(one.mistakes) == 2 or _unused(one.code) <= _unused(right), one.wrong
        widest = max(100, *map(len, right.splitlines()))
        assert all(len(line) <= widest for line in one.code.splitlines())


def _unused(code):
    names = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)]
    stored = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    return stored - {node.id for node in names if isinstance(node.ctx, ast.Load)}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(task.name, marks=[] if task.name == "RMSNorm" else pytest.mark.nightly)
        for task in tasks()
        if task.points and task.drilled
    ],
)
def test_every_drill_is_code_that_stands_alone(name):
    assert drills(name)
    for found in drills(name):
        assert run(cell_of(find_task(name), found)).__name__ == "drilled"


def test_mistakes_that_came_back_are_told_and_drilled_by_their_kind(printed, capsys):
    made = {"masked_softmax": ["inverted"], "causal_mask": ["opens-empty-rows", "inverted"]}
    for name, ids in made.items():
        store.update(name, lambda entry, ids=ids: entry.update(attempts=1, mistakes=ids))
    progress()
    told = capsys.readouterr().out
    assert "Mistakes that came back: masks in 2 tasks." in told
    assert 'drill(kind="masks")' in told
    assert "came back" not in (progress(lesson=2), capsys.readouterr().out)[1]
    passed("kv_cache_bytes")
    assert "has no drills of the kind masks" in printed(kind="masks")
    passed("masked_softmax")
    for _ in range(3):
        cell = printed(kind="masks")
        found = next(d for d in drills("masked_softmax") if d.key == key_in(cell))
        ids = {known("masked_softmax").mistakes[n].id for n in found.mistakes}
        assert "masks" in set(map(kind_of, ids))


def test_every_recognized_mistake_is_kept_once():
    for _ in range(2):
        check("attention_scores", lambda q, k: q @ k.mT)
    assert store.load()[0]["attention_scores"]["mistakes"] == ["scale-missing"]


def test_what_is_mended_says_where_the_mistake_was_seen():
    passed("masked_attention")
    for found in drills("masked_attention"):
        if known("masked_attention").mistakes[found.mistakes[0]].id == "full-row-nan":
            reference = find_task("masked_attention").reference
            note = drill("masked_attention", reference, key=found.key).note
            assert "https://github.com/pytorch/pytorch/issues/41508" in note
            return
    pytest.fail("there is no such drill")


def test_what_was_seen_elsewhere_are_mistakes_that_there_are():
    ids = {mistake.id for task in tasks() for mistake in known(task.name).mistakes}
    assert set(SEEN) <= ids


@pytest.mark.parametrize(("mended", "lines"), [(0, 1), (2, 1), (3, 2), (4, 1), (5, 2)])
def test_after_the_first_few_drills_of_two_lines_come_in_turn(printed, mended, lines):
    passed("masked_attention")
    keys = [d.key for d in drills("masked_attention") if d.lines == 1][:mended]
    store.update("masked_attention", lambda entry: entry.update(mended=keys))
    key = key_in(printed("masked_attention"))
    [found] = [d for d in drills("masked_attention") if d.key == key]
    assert found.lines == lines
