"""Text that learners write, on a page that is safe to open."""

from dataclasses import replace

from nbformat import v4

from attn_lib.grading.prose import MOST, _given, prose_page
from attn_lib.grading.row import Row
from tests.grading.judging import class_of
from tests.grading.test_reports import HOSTILE, row


def handed_in(*texts: str) -> bytes:
    cells = [v4.new_code_cell("x = 1"), *map(v4.new_markdown_cell, texts)]
    return v4.writes(v4.new_notebook(cells=cells)).encode()


def test_only_what_is_not_the_exercises_own_is_shown_escaped_and_cut(tmp_path):
    given = _given(1)
    files = {
        "a.ipynb": handed_in(*given, HOSTILE, "I measured 3 ms."),
        "b.ipynb": handed_in(*(text + "\n" for text in given)),
        "c.ipynb": handed_in("x" * (MOST + 1)),
        "d.ipynb": b"{",
    }
    class_of(tmp_path, files)
    rows = [row(name, path=f"{name}.ipynb") for name in "abcd"]
    page = prose_page([*rows, Row("e", None, None, "why", "", ())], tmp_path)
    assert "I measured 3 ms.</pre>" in page
    assert HOSTILE not in page
    assert page.count("<h3>") == 2  # a and c
    assert page.count("x" * MOST + " [cut here]") == page.count("Lesson 01") == 1
    assert prose_page([*rows[1:2], replace(rows[0], files=())], tmp_path) == ""


def test_half_of_a_pair_of_signs_can_be_written_to_a_file(tmp_path):
    data = handed_in("I measured @ ms").replace(b"@", b"\\ud800")
    class_of(tmp_path, {"a.ipynb": data})
    page = prose_page([row("a", path="a.ipynb")], tmp_path)
    assert "I measured \ufffd ms" in page
    page.encode()
