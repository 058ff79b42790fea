"""Bring the catalogs of attn_lib/locale up to date with the English texts: python -m scripts.catalogs [NAME OF A NEW ONE ...]

A text that has changed is marked as fuzzy, with the old translation, and one that has vanished is kept below, as gettext
does. Neither is shown until somebody has looked at it: translate, and take the mark away.
"""

import json
import re
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po

from attn_lib.checks.language import LOCALE
from attn_lib.checks.mistakes import known
from attn_lib.checks.raised import ABOUT_WRONG, QUESTIONS
from attn_lib.checks.task import tasks
from attn_lib.checks.trial import trial_of

ROOT = Path(__file__).resolve().parents[1]
LAST = 3  # the last lesson that is translated
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def notebooks() -> dict[str, Path]:
    """Return the notebooks that are translated, by the names of their catalogs."""
    named = {
        "lesson": "notebooks/0[0-{}]_*.ipynb",
        "exercise": "exercises/0[0-{}]_*/0?_*.ipynb",
    }
    paths = [
        (kind, path)
        for kind, glob in named.items()
        for path in ROOT.glob(glob.format(LAST))
    ]
    there = {
        f"{kind}_{path.name[:2]}": path for kind, path in paths if ".bak-" not in path.name
    }
    return dict(sorted(there.items()))


def cells_of(notebook: Path) -> list[str]:
    """Return the Markdown cells of a notebook."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]


def numbered(text: str, what: re.Pattern[str]) -> str:
    """Return a text with {0}, {1} ... in the place of what changes in it."""
    place = count()
    return what.sub(lambda _: f"{{{next(place)}}}", text)


def texts_of_tasks(lesson: int) -> Iterator[str]:
    """Yield what the tasks of a lesson say."""
    for task in (task for task in tasks() if task.lesson == lesson):
        yield from (*task.hints, task.insight)
        yield from (f"the {name}" for name in task.returns)
        yield from (mistake.question for mistake in known(task.name).mistakes)
        yield from (numbered(case.about, NUMBER) for case in trial_of(task.name, 0).cases)


def sources() -> dict[str, list[str]]:
    """Return the English texts by the names of their catalogs; wording.po is written by hand."""
    found = {name: cells_of(path) for name, path in notebooks().items()}
    found |= {f"tasks_{n:02d}": [*texts_of_tasks(n)] for n in range(LAST + 1)}
    about_errors = (QUESTIONS | ABOUT_WRONG).values()
    found["errors"] = [
        numbered(question, re.compile(r"\{\}")) for _, question in about_errors
    ]
    return {name: [*dict.fromkeys(filter(None, texts))] for name, texts in found.items()}


def main() -> None:
    """Update the catalogs that are there, and those that are named, in each language."""
    for folder in sorted(path for path in LOCALE.iterdir() if path.is_dir()):
        for name, texts in sources().items():
            path, new = folder / f"{name}.po", Catalog(folder.name)
            if not path.exists() and name not in sys.argv[1:]:
                continue
            for text in texts:
                new.add(text)
            there = Catalog(folder.name)
            if path.exists():
                with path.open("rb") as file:
                    there = read_po(file, folder.name)
            there.update(new)
            with path.open("wb") as file:
                write_po(file, there, width=120, omit_header=True)
            missing = sum(bool(m.id) and (m.fuzzy or not m.string) for m in there)
            print(f"{path.relative_to(ROOT)}: {len(texts)} texts, {missing} to translate")


if __name__ == "__main__":
    main()
