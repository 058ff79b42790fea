"""The teacher's page: what the class did not understand, counted right and safe to open."""

import json
import re
from dataclasses import replace
from pathlib import Path

from attn_lib.grading.alike import NO_PROOF, PUBLISHED, alike, published
from attn_lib.grading.class_page import COLORS, attempts, class_page
from attn_lib.grading.definitions import definitions, fingerprint
from attn_lib.grading.find import File, passed_over
from attn_lib.grading.grade import worth_points
from tests.grading.judging import answered, class_of
from tests.grading.test_reports import HOSTILE, ROWS, report, row, structure


def mistaken(learner, mistake, task=0, question=None):
    tasks = list(report("wrong").tasks)
    question = question or f"Why {mistake}?"
    tasks[task] = replace(tasks[task], mistake=mistake, question=question)
    return row(learner, replace(report("wrong"), tasks=tuple(tasks)))


def test_mistakes_are_counted_once_for_each_learner_the_most_frequent_first():
    rows = [mistaken("a", "rare"), mistaken("b", "often"), mistaken("e", "", task=1)]
    rows += [mistaken("c", "often", question="Where is `y` made?")]  # otherwise worded
    page = class_page(rows, {}, [])
    often, rare = page.index("Why often?"), page.index("Why rare?")
    assert often < rare
    assert page[:often].endswith("<td>2</td><td><code>stable_<wbr>softmax</code></td><td>")
    assert page.count("Why") == 2
    assert "Where is" not in page
    folded = page.index("<summary>Mistakes that one learner each made: 1</summary>")
    assert often < folded < rare
    page = class_page([mistaken(f"l{n}", f"m{n // 2}") for n in range(30)], {}, [])
    assert page.count("Why") == 10


def test_the_pictures_say_in_words_what_they_show():
    page = class_page([*ROWS, mistaken("eve", "x")], {}, [])
    assert "4 of 4 learners handed it in" in page
    assert "stable_softmax: 1 passed, 2 wrong, 1 not graded" in page
    assert "Learners by points: 3 with 0, 1 with 10" in page
    assert page.count('role="img"') == 4 + 1  # each task, and the points


def test_a_bar_is_cut_in_proportion_and_columns_are_as_tall_as_many():
    page = class_page([*ROWS[:3], mistaken("eve", "x")], {}, [])
    [bar] = re.findall(r'aria-label="stable_softmax:.*?</div>', page)
    parts = re.findall(r'flex:(\d);background:(#\w+;color:#\w+)">(\d)<', bar)
    shown = [("1", "passed"), ("2", "wrong"), ("1", "not graded")]
    assert parts == [(count, COLORS[status], count) for count, status in shown]
    columns = re.findall(r'<span>(\d?)<i style="height:(\d+)px"></i>(\d+)</span>', page)
    assert [c for c in columns if c[0]] == [("3", "80", "0"), ("1", "27", "10")]
    assert [int(points) for _, _, points in columns] == list(range(11))
    half = class_page([replace(row("ada"), set_to=9.6)], {}, [])
    assert '>1<i style="height:80px"></i>10<' in half
    assert "0 of 1 learners" in class_page([replace(row("ada"), files=())], {}, [])


def test_the_page_is_escaped_and_needs_nothing_from_elsewhere():
    rows = [*ROWS, mistaken(HOSTILE, "x"), row(HOSTILE, note="<img src=x>")]
    page = class_page(rows, {HOSTILE: 3}, [(1, [HOSTILE, "<b>"])])
    tags, attributes = structure(page)
    assert not {"script", "img", "b", "a"} & tags
    assert not {"src", "href", "onload"} & dict(attributes).keys()
    assert NO_PROOF[:30] in page


MINE = """
def stable_softmax(x, dim=-1):
    shifted = x - x.amax(dim, keepdim=True)
    powers = shifted.exp()
    return powers / powers.sum(dim, keepdim=True)
def attention_scores(q, k):
    return q @ k.mT / q.shape[-1] ** 0.5
"""
YOURS = '''
def stable_softmax(values: Tensor, axis: int = -1) -> Tensor:
    """My own."""
    s = values - values.amax(axis, keepdim = True)  # shift

    e = s.exp()
    return e / e.sum(axis, keepdim=True)
print("hello")
def attention_scores(a, b): return a @ b.mT / a.shape[-1]**.5
'''


ANSWERS = ["stable_softmax", "attention_scores", "attention"]


def code(*cells: str) -> str:
    return fingerprint([definitions(cell, ANSWERS) for cell in cells], ANSWERS)


def test_comments_names_and_spaces_make_no_difference():
    mine = code(MINE)
    assert code("x = 1", *YOURS.split("print(1)")) == mine != ""
    for old, new in (("amax", "max"), ("q @ k", "k @ q"), ("keepdim=", "other=")):
        assert code(MINE.replace(old, new)) != mine


def test_a_line_that_says_nothing_makes_no_other_code():
    assert code(MINE, "attention = attention") == code(MINE)


def test_a_short_answer_or_an_untouched_one_is_like_nobodys():
    stubs = [f"def {name}(x):\n    raise NotImplementedError" for name in ANSWERS]
    short = "def attention_scores(q, k): return q @ k.mT"
    deep = "def attention_scores(q, k): return " + "-" * 90_000 + "q"
    large = MINE.replace("0.5", "0x" + "f" * 4000)
    for cells in (stubs, [short], [deep], [large]):
        assert code(*cells) == ""


def test_learners_with_the_same_code_are_listed_together():
    codes = {"a": code(MINE), "b": code(YOURS), "c": "", "d": published(1)}
    rows = [
        replace(row(name), report=replace(report(), code=codes[name])) for name in codes
    ]
    assert alike([*rows, row("e"), row("f", problem="why")]) == [
        (1, ["a", "b"]),
        (1, ["d", PUBLISHED]),
    ]


def test_the_published_solution_is_known_as_a_learner_hands_it_in():
    names = [task.name for task in worth_points(1)]
    cells = [definitions(cell, names) for cell in answered(1)]
    assert fingerprint(cells, names) == published(1) != ""


def test_attempts_come_from_the_progress_that_was_handed_in(tmp_path):
    def progress(**tried):
        entries = {name: {"attempts": number} for name, number in tried.items()}
        return json.dumps({"tasks": entries}).encode()

    files = {
        "ada/progress.json": progress(attention=4, stable_softmax=1),
        "bob_12_345_progress-1.json": progress(attention=8),
        "ada/zprogress.json": progress(attention=99),
        "ada/z/progress.json": progress(attention=99),
        "eve/progress.json": progress(attention=10**9),
        "eva/progress.json": progress(attention=0),
        "fay/progress.json": progress(attention=True),
        "gus/progress.json": b"[" * 100_000,
        "guy/progress.json": b'{"tasks": {"\\ud800": {"attempts": 3}, "x": {"attempts": 3}}}',
        "hal/progress.json": b'{"tasks": 3}',
        "ida/other.json": progress(attention=99),
    }
    class_of(tmp_path, files)
    (tmp_path / "mal.progress.json").symlink_to(tmp_path / "ada/progress.json")
    assert passed_over(tmp_path) == ""
    folders = {path.relative_to(tmp_path).parts[0] for path in tmp_path.glob("*/*.json")}
    handed_in = [f"{name}/a.ipynb" for name in folders] + ["bob_12_345_a.ipynb"]
    rows = [replace(row("x"), files=(File(Path(place), "x"),)) for place in handed_in]
    assert attempts(tmp_path, rows) == {"attention": 6, "stable_softmax": 1}
    assert attempts(tmp_path, []) == {}
    assert "What took the most attempts" not in class_page(ROWS, {"attention": 1}, [])
    page = class_page(ROWS, {"a_few": 2, "many": 7.5, "also_few": 2, "none": 1}, [])
    found = re.findall(r"<code>(\w+)(?:<wbr>\w+)?</code></td><td>([\d.]+)<", page)
    assert found == [("many", "7.5"), ("a_", "2"), ("also_", "2")]
