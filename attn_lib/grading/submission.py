"""Read a submitted notebook: find its code and text, or a reason why there is none. Runs nothing.

A notebook is JSON, and this reads it as such, of every format since the first: there is nothing to
upgrade, and nothing else to install. Sizes are looked at before anything is built from them.
"""

import json
import re
from dataclasses import dataclass, field, replace
from typing import Any

FILE_LIMIT = 20 << 20  # bytes of the file
VALUES_LIMIT = 300_000  # values in its JSON, a hundred times those of our largest
DEPTH_LIMIT = 200
CELLS_LIMIT = 2000  # code cells
CODE_LIMIT = 500_000  # bytes of all code, as it travels to the judge
CLEAR = (
    "Ask for it again without outputs (in JupyterLab: Edit, Clear Outputs of All Cells)."
)

# Or up to the end: a search that fails would begin again at each of a million quotation marks.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_NESTING = re.compile(rb"[\[\]{}]")
_SCRIPT = re.compile(
    r"^(?:import \w|from \w[\w.]* import |def \w+\(|class \w+|# %%|# In\[)", re.MULTILINE
)
_DEFINITION = re.compile(
    r"^(?:def|class)\s+(\w+)|^(\w+)\s*(?::[^=\n]+)?=[^=]", re.MULTILINE
)
_SCRIPT_CELL = re.compile(r"^# (?:%%|In\[[\d ]*\]:).*$", re.MULTILINE)
_OTHER_KINDS = (
    (b"PK\x03\x04", "a zip archive (or an office document)"),
    (b"%PDF", "a PDF"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
)


class Unreadable(ValueError):
    """This is no notebook that could be graded; the message tells an instructor why."""


@dataclass(frozen=True)
class Notebook:
    """The parts of a notebook that are graded.

    Attributes:
        cells: the Python source of each code cell, in order.
        grade_ids: the names that nbgrader gave to cells, as far as they are there.
        texts: the source of each text cell.
    """

    cells: list[str]
    grade_ids: list[str]
    texts: list[str] = field(default_factory=list)


def read_cells(data: bytes) -> list[str]:
    """Return the Python sources of a notebook's code cells, in order.

    Raises:
        Unreadable: it is not a usable notebook.
    """
    return read_notebook(data).cells


def defined_at_top(cell: str) -> set[str]:
    """Return the names that a cell gives a value, as far as this can be seen in code that may be broken."""
    return {first or second for first, second in _DEFINITION.findall(cell)}


def read_notebook(data: bytes) -> Notebook:
    """Read a file that a learner handed in: a notebook of any format, or a Python script.

    Raises:
        Unreadable: it is neither, or too large.
    """
    if len(data) > FILE_LIMIT:
        raise Unreadable(f"The file is larger than {FILE_LIMIT >> 20} MB. {CLEAR}")
    text = _decode(data)
    if not text.lstrip().startswith("{") and _SCRIPT.search(text):
        return _checked(_SCRIPT_CELL.split(text), [])
    _check_structure(text.encode("utf-8", "surrogatepass"))
    try:
        content = json.loads(text, strict=False)
    except (ValueError, RecursionError) as error:
        raise Unreadable(_why_not_json(text, error)) from error
    return _from_json(content)


def _decode(data: bytes) -> str:
    """Return the text of a file in UTF-8, -16 or -32, with or without a mark; else as Latin-1."""
    if not data.strip():
        raise Unreadable(
            f"The file is empty ({len(data)} bytes)."
            if not data
            else "There is nothing but blanks in the file."
        )
    if not data.strip(b"\0"):
        raise Unreadable("There is nothing but zero bytes in the file: a broken copy.")
    for start, kind in _OTHER_KINDS:
        if data.startswith(start):
            raise Unreadable(f"It is {kind}, not a notebook.")
    try:
        text = data.decode(json.detect_encoding(data))
    except UnicodeDecodeError:
        # Saved by an editor in a local encoding: code is ASCII, and the rest is comments.
        text = data.decode("latin-1")
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def _check_structure(data: bytes) -> None:
    """Count values and levels, outside of strings, before json builds objects of them."""
    values, skeleton = data.count(b'"') // 2, b""
    if values <= VALUES_LIMIT:
        skeleton = _STRING.sub(b"", data)
        begun, ended = ((b",", b"[", b"{"), (b"]", b"}"))
        values = max(sum(map(skeleton.count, signs)) for signs in (begun, ended))
    if values > VALUES_LIMIT:
        raise Unreadable(f"It holds {values:,} values, more than any notebook. {CLEAR}")
    depth = deepest = 0
    for bracket in _NESTING.findall(skeleton):
        depth += 1 if bracket in b"[{" else -1
        deepest = max(deepest, depth)
    if deepest > DEPTH_LIMIT:
        raise Unreadable(f"Its JSON is nested {deepest:,} levels deep: no notebook is.")


def _why_not_json(text: str, error: Exception) -> str:
    start = text.lstrip()[:500].lower()
    if start.startswith(("<!doctype html", "<html")):
        return "It is an HTML page (an export, or a page that asks to sign in), not a notebook."
    if re.search(r"^<{7} ", text, re.MULTILINE):
        return "It holds the marks of an unfinished merge (<<<<<<<), and is no longer valid JSON."
    if not start.startswith("{"):
        return "It is not a notebook: a notebook starts with a brace."
    if not isinstance(error, json.JSONDecodeError):
        return f"It is not valid JSON: {str(error)[:200]}."
    ended = error.pos >= len(text.rstrip()) - 1 or error.msg.startswith(
        "Unterminated string"
    )
    why = "the file is cut off" if ended else error.msg
    return f"It is not valid JSON: {why} (line {error.lineno})."


def _from_json(content: Any) -> Notebook:
    """Take the code cells out of what a notebook of format 1 to 4, or a later one, holds."""
    if not isinstance(content, dict):
        raise Unreadable("It is JSON, but not a notebook.")
    cells = content.get("cells")
    if not isinstance(cells, list):  # formats 2 and 3
        sheets = content.get("worksheets")
        if not isinstance(sheets, list):
            raise Unreadable("It is JSON, but not a notebook: it has no cells.")
        cells = [cell for sheet in sheets for cell in _at(sheet, "cells", kind=list) or ()]
    language = _at(content, "metadata", "language_info", "name")
    language = language or _at(content, "metadata", "kernelspec", "language")
    if language and "python" not in language.lower():
        raise Unreadable(f"It is a notebook for {language[:50]}, not for Python.")
    code = [
        (source, _at(cell, "metadata", "nbgrader", "grade_id"))
        for cell in cells
        if _at(cell, "cell_type") == "code" and (source := _source(cell)) is not None
    ]
    texts = [_source(cell) for cell in cells if _at(cell, "cell_type") == "markdown"]
    made = _checked([source for source, _ in code], [name for _, name in code if name])
    return replace(made, texts=[text for text in texts if text])


def _at(value: Any, *keys: str, kind: type = str) -> Any:
    """Return what stands in nested dicts at these keys; None if it is not there, or of another kind."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, kind) else None


def _checked(cells: list[str], grade_ids: list[str]) -> Notebook:
    """Raise Unreadable if there is no code, or more than anyone writes."""
    if not any(cell.strip() for cell in cells):
        raise Unreadable("There is no code in it.")
    if len(cells) > CELLS_LIMIT:
        raise Unreadable(
            f"It has {len(cells):,} code cells; at most {CELLS_LIMIT:,} are run."
        )
    size = len(json.dumps(cells))
    longest = max(range(len(cells)), key=lambda n: len(cells[n]))
    if size > CODE_LIMIT:
        raise Unreadable(
            f"Its code is {size:,} bytes long, the longest in code cell {longest + 1}; at most "
            f"{CODE_LIMIT:,} are run. Is there data pasted into it?"
        )
    return Notebook(cells, grade_ids)


def _source(cell: dict) -> str | None:
    """Return a code cell's source, a text or a list of lines; None for anything else."""
    if cell.get("language", "python") not in ("python", "ipython"):  # format 3
        return None
    source = next((cell[key] for key in ("source", "input", "code") if key in cell), None)
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        # Some programs leave the ends of the lines out.
        ended = any(line.endswith("\n") for line in source)
        source = ("" if ended else "\n").join(source)
    return source.replace("\r\n", "\n") if isinstance(source, str) else None
