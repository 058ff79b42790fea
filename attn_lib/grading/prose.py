"""What learners wrote in words, on one page: no judge reads it, a teacher may."""

import html
import json
from itertools import groupby
from pathlib import Path

from attn_lib.grading.find import read
from attn_lib.grading.names import clean
from attn_lib.grading.release import ROOT
from attn_lib.grading.reports import page
from attn_lib.grading.row import Row
from attn_lib.grading.submission import Unreadable, read_notebook

MOST = 20_000  # characters of one learner's text that are shown
HOW = (
    "What learners wrote into text cells of their own, or changed in ours, such as a report on the task for the "
    "curious. To answer, write a line without points into overrides.csv: it stands on the learner's page."
)


def prose_page(rows: list[Row], folder: Path) -> str:
    """Return a page with the text cells that are not the exercise's own; "" if there are none.

    Args:
        rows: of the class.
        folder: of the submissions.
    """
    of_lesson = sorted((row for row in rows if row.lesson and row.files), key=_lesson)
    body = ""
    for lesson, group in groupby(of_lesson, _lesson):
        texts = [(row.learner, _own(folder / row.files[0].path, lesson)) for row in group]
        if written := [(learner, text) for learner, text in texts if text]:
            body += f"<h2>Lesson {lesson:02}</h2>\n"
            body += "".join(
                f'<h3><bdi>{html.escape(learner)}</bdi></h3>\n<pre class="prose">{html.escape(text)}</pre>\n'
                for learner, text in written
            )
    title = "What learners wrote in words"
    return page(title, f"<h1>{title}</h1>\n<p>{HOW}</p>\n{body}") if body else ""


def _lesson(row: Row) -> int:
    return row.lesson or 0


def _own(path: Path, lesson: int) -> str:
    """Return the text of a notebook's cells that the exercise does not have."""
    try:
        texts = read_notebook(read(path)).texts
    except (Unreadable, OSError):
        return ""
    ours = {text.strip() for text in _given(lesson)}
    own = "\n\n".join(text.strip() for text in texts if text.strip() not in ours)
    return clean(f"{own[:MOST]} [cut here]" if len(own) > MOST else own.strip())


def _given(lesson: int) -> list[str]:
    """Return the text cells of an exercise as it was handed out."""
    [folder] = ROOT.glob(f"exercises/{lesson:02}_*")
    path = folder / f"{folder.name}.ipynb"  # there may be copies beside it
    cells = json.loads(path.read_bytes())["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
