"""Bring a notebook that somebody has worked in to a new version of the course, cell by cell.

Cells are known by their ids. What was shipped is known by hashes: a cell whose source differs from what was shipped is
the learner's, and keeps its source.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

Cell = dict[str, Any]
Notebook = dict[str, Any]
Shipped = dict[str, tuple[str, str]]  # by id, in order: hashes of source and of outputs


class NotReadable(ValueError):
    """A file is not a notebook whose cells can be told apart; the message says why."""


@dataclass(frozen=True)
class Merged:
    """A notebook of the new version with what is the learner's in it, and how much that is."""

    notebook: Notebook
    changed: int = 0  # cells whose source is the learner's
    added: int = 0  # cells that the new version does not have
    both: int = 0  # of the changed ones: those that the course has changed, too


def read_notebook(data: bytes) -> Notebook:
    """Return a notebook.

    Raises:
        NotReadable: it is no JSON, no notebook, or has cells without an id of their own.
    """
    try:
        notebook = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise NotReadable(f"expected JSON, got: {error}") from None
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list) or not all(map(_is_cell, cells)):
        raise NotReadable("expected a notebook with cells of nbformat 4")
    ids = [cell.get("id") for cell in cells]
    if not all(isinstance(id, str) for id in ids) or len({*ids}) < len(ids):
        raise NotReadable("expected an id of its own for each cell (nbformat 4.5)")
    return notebook


def write_notebook(notebook: Notebook) -> bytes:
    """Return the bytes of a notebook, as Jupyter writes them."""
    text = json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"
    return text.encode(errors="backslashreplace")


def shipped(notebook: Notebook) -> dict[str, tuple[str, str]]:
    """Return what is noted about a notebook when it is handed out."""
    return {cell["id"]: (_source(cell), _outputs(cell)) for cell in notebook["cells"]}


def merged(base: Shipped, mine: Notebook, new: Notebook) -> Merged:
    """Bring the learner's notebook to the new version.

    A cell that they changed keeps its source and outputs, one that they added stays after the cell that it followed,
    one that they deleted comes back only if the course has changed it. All others come new; outputs of the learner's stay
    where the source is the same as before.

    Args:
        base: what was shipped as this notebook; empty if that is not known: then whatever differs is the learner's.
        mine: the learner's notebook.
        new: that of the new version.
    """
    own = {cell["id"]: cell for cell in mine["cells"]}
    ids = {cell["id"] for cell in new["cells"]}
    cells = []
    changed = both = 0
    for cell in new["cells"]:
        there, was = own.get(cell["id"]), base.get(cell["id"], ("", ""))
        if there is None:
            if was[0] == _source(cell):
                continue  # deleted by the learner, and nothing new
            cells.append(cell)
        elif _source(there) == _source(cell):
            cells.append(_with_outputs(cell, there, was[1]))
        elif _source(there) == was[0]:
            cells.append(cell)
        else:
            changed += 1
            both += bool(was[0]) and was[0] != _source(cell)
            cells.append(there | {"metadata": there["metadata"] | cell["metadata"]})
    added = _put_in(cells, mine["cells"], base, ids)
    kernel = {k: v for k, v in mine.get("metadata", {}).items() if k == "kernelspec"}
    metadata = new["metadata"] | kernel
    return Merged(new | {"cells": cells, "metadata": metadata}, changed, added, both)


def _put_in(cells: list[Cell], mine: list[Cell], base: Shipped, ids: set[str]) -> int:
    """Put the cells that are the learner's alone after those that they followed; return how many they are."""
    before, added = None, 0
    for cell in mine:
        if cell["id"] not in ids:
            if base.get(cell["id"], ("", ""))[0] == _source(cell):
                continue  # the course has taken it away
            places = {placed["id"]: place for place, placed in enumerate(cells, start=1)}
            cells.insert(places.get(before, 0), cell)
            added += 1
        before = cell["id"]
    return added


def _with_outputs(new: Cell, mine: Cell, were: str) -> Cell:
    """Return the new cell with the learner's outputs, unless they are those that were shipped."""
    if new["cell_type"] != "code" or _outputs(mine) == were:
        return new
    return new | {key: mine[key] for key in ("outputs", "execution_count") if key in mine}


def _is_cell(cell: object) -> bool:
    return (
        isinstance(cell, dict)
        and isinstance(cell.get("source"), str | list)
        and isinstance(cell.get("cell_type"), str)
        and isinstance(cell.get("metadata"), dict)
        and isinstance(cell.get("outputs", []), list)
    )


def _source(cell: Cell) -> str:
    return _hash({"type": cell["cell_type"], "source": cell["source"]})


def _outputs(cell: Cell) -> str:
    return _hash([_plain(output) for output in cell.get("outputs", [])])


def _plain(output: Any) -> Any:
    """Return an output without what every run counts anew."""
    return (
        {k: v for k, v in output.items() if k != "execution_count"}
        if isinstance(output, dict)
        else output
    )


def _hash(value: Any) -> str:
    """Return a hash of a part of a notebook, in which texts may be written as lists of lines."""
    return hashlib.sha256(json.dumps(_joined(value), sort_keys=True).encode()).hexdigest()[
        :16
    ]


def _joined(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _joined(part) for key, part in value.items()}
    if isinstance(value, list):
        if all(isinstance(part, str) for part in value):
            return "".join(value)
        return [_joined(part) for part in value]
    return value
