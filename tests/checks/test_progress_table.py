"""How far a learner is: by lesson, by task, and what is next."""

import json
import re
from types import SimpleNamespace

import pytest

from attn_lib.checks import check, commands, progress, tasks
from attn_lib.checks.progress_table import bar, handed_out, next_task, progress_table

PASSED, TRIED = {"attempts": 1, "passed": True}, {"attempts": 2, "passed": False}


def lines(kept, lesson=None):
    return progress_table(kept, lesson)[0].splitlines()


@pytest.mark.parametrize(
    ("done", "of", "full"), [(0, 4, 0), (1, 4, 2), (5, 6, 8), (59, 60, 9), (3, 3, 10)]
)
def test_a_bar_is_full_only_when_all_is_done(done, of, full):
    assert bar(done, of) == "█" * full + "░" * (10 - full)


def test_there_is_one_row_for_each_lesson_with_a_bar():
    kept = {"stable_softmax": PASSED, "attention": TRIED}
    header, *rows, last, more = lines(kept)
    assert header.split() == ["lesson", "tasks", "passed", "points"]
    lessons = sorted({task.lesson for task in tasks()})
    assert [row[:3].strip() for row in rows] == [*(f"{n:02d}" for n in lessons), "all"]
    assert rows[0].endswith("░░░░░░░░░░ 0 of 1                practice")
    assert rows[1].endswith("██░░░░░░░░ 1 of 4, 1 attempted   2 of 10")
    total = sum(task.points for task in tasks())
    assert rows[-1].endswith(f"1 of {len(tasks())}, 1 attempted  2 of {total}")
    assert last == "next: attention_scores (exercise 01)"
    assert more == "The tasks of one lesson: progress(lesson=1)"


def test_one_lesson_shows_its_tasks():
    kept = {"stable_softmax": {**PASSED, "mended": ["a", "b"]}, "attention": TRIED}
    assert lines(kept, 1) == [
        "task              state                           points",
        "stable_softmax    ✓ passed, 2 mended              2 of 2",
        "attention_scores  ○ open                          0 of 1",
        "attention         ✗ attempted                     0 of 3",
        "SelfAttention     ○ open                          0 of 4",
        "all               ██░░░░░░░░ 1 of 4, 1 attempted  2 of 10",
        "next: attention_scores (exercise 01)",
    ]


def test_the_practice_task_is_in_its_lesson_not_in_an_exercise():
    assert lines({}, 0)[-2:] == [
        "all      ░░░░░░░░░░ 0 of 1  practice",
        "next: mixture (lesson 00)",
    ]


def all_of(lesson):
    return {task.name: PASSED for task in tasks() if task.lesson == lesson}


KEPT = {"stable_softmax": PASSED, "causal_mask": TRIED}


@pytest.mark.parametrize(
    ("kept", "name"),
    [
        ({}, "mixture"),
        (KEPT, "causal_mask"),  # in the lesson that was worked in last
        ({**KEPT, "causal_mask": PASSED}, "padding_mask"),
        ({"causal_mask": PASSED, "stable_softmax": PASSED}, "attention_scores"),
        ({**KEPT, "of_a_newer_course": PASSED}, "causal_mask"),
        (all_of(1), "causal_mask"),  # in the lesson after it
        (all_of(15), "mixture"),  # at the end, what was left out
    ],
)
def test_next_is_the_first_open_task_from_the_lesson_worked_in_last(kept, name):
    assert next_task(kept).name == name


def test_next_goes_on_from_the_lesson_that_is_shown():
    assert next_task(all_of(1), 1).name == "causal_mask"


def test_a_class_sees_the_tasks_that_were_handed_out(tmp_path):
    assert handed_out(tmp_path) == handed_out() == tasks()
    (tmp_path / "exercises" / "01_single_head").mkdir(parents=True)
    handed_out.cache_clear()
    assert {task.lesson for task in handed_out(tmp_path)} == {0, 1}


def test_when_everything_is_passed_it_says_so():
    kept = {task.name: PASSED for task in tasks()}
    assert next_task(kept) is None
    for table in progress_table(kept):
        assert "All tasks are passed." in table
        assert "next" not in table
        assert "░" not in table


def test_points_in_steps_count_and_never_more_than_there_are():
    row = lines({"test_attention": {**TRIED, "points": 3}}, 12)[-3]
    assert "✗ attempted                     3 of 6" in row
    assert lines({"attention": {**TRIED, "points": 99}}, 1)[3].endswith("3 of 3")


def test_a_lesson_without_tasks_is_said_to_have_none():
    text = "Lesson 99 has no tasks."
    assert progress_table({}, 99) == (text, f"<p>{text}</p>")


@pytest.mark.parametrize("lesson", [None, 1])
def test_the_html_says_the_same(lesson):
    text, markup = progress_table({"attention": PASSED}, lesson)
    rows = re.findall("<tr>(.*?)</tr>", markup)
    read = [re.sub("<[^>]+>", " ", row).split() for row in rows]
    in_text = text.splitlines()
    assert read == [line.split() for line in in_text[: len(rows)]]
    last, *more = in_text[len(rows) :]
    assert re.findall("<p>(.*?)</p>", markup) == [f"<strong>{last}</strong>", *more]


def test_a_screen_reader_skips_the_bars_and_every_row_has_a_header():
    markup = progress_table({})[1]
    assert markup.count('<span aria-hidden="true"') == markup.count('<th scope="row"') == 17
    assert not re.search("[█░]", re.sub("<span.*?</span>", "", markup))


def test_what_progress_showed_is_brought_up_to_date_by_each_check(monkeypatch):
    shown, panel = [], SimpleNamespace(update=lambda bundle, raw: shown.append(bundle))
    monkeypatch.setattr(commands, "_panels", {})
    monkeypatch.setattr(commands, "show", lambda text, markup, stays: panel)
    progress(1)
    check("attention", lambda q, k, v: v)
    progress()
    check("attention", lambda q, k, v: v)
    assert ["attention         ✗ attempted" in one["text/plain"] for one in shown] == [
        1,
        1,
        0,
    ]
    assert "0 of 4, 1 attempted" in shown[-1]["text/html"].replace("</span>", "")


def test_the_tasks_in_the_table_are_links_from_lessons_too(tmp_path, monkeypatch):
    exercise, lessons = tmp_path / "exercises/01_one", tmp_path / "notebooks"
    exercise.mkdir(parents=True)
    lessons.mkdir()
    cells = [{"id": "abc", "source": "## 3 · `attention`"}]
    (exercise / "01_one.ipynb").write_text(json.dumps({"cells": cells}))
    monkeypatch.setenv("JPY_SESSION_NAME", "x.ipynb")
    for folder, start in ((lessons, "../exercises/01_one/"), (exercise, "")):
        monkeypatch.chdir(folder)
        markup = commands._progress(1)[1]
        assert f'<a href="{start}01_one.ipynb#cell-id=abc">attention</a>' in markup
        assert markup.count("<a ") == 1


def test_progress_shows_what_check_has_kept(capsys):
    check("attention", lambda q, k, v: None)
    check("attention", lambda q, k, v: v)
    capsys.readouterr()
    progress(1)
    assert "attention         ✗ attempted" in capsys.readouterr().out
    progress()
    assert "0 of 4, 1 attempted" in capsys.readouterr().out
