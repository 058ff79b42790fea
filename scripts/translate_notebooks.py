"""Write the lessons and exercises in the language that was chosen: python -m scripts.translate_notebooks

They come into the folder zh, beside the English ones: the Markdown cells are translated, all else is the same. `make lab`
calls this. A notebook that somebody has run or written in is kept.
"""

import hashlib
import json
import os
import re
from pathlib import Path

from attn_lib.checks.language import LOCALE, catalog, spoken
from attn_lib.files import write_whole
from scripts.catalogs import ROOT, notebooks

LINK = re.compile(r"\]\(([^):#\s]+)(?=[)#])")  # of a file in the course


def translated_notebook(
    notebook: Path, texts: dict[str, str], translated: set[Path], code: str
) -> str:
    """Return a notebook with its Markdown cells in another language.

    Args:
        notebook: the English one.
        texts: the catalog of its cells; a cell that is not in it stays English.
        translated: the notebooks that exist in that language.
        code: of the language, and the name of its folder.
    """
    here = ROOT / code / notebook.relative_to(ROOT).parent

    def linked(found: re.Match[str]) -> str:
        target = (notebook.parent / found[1]).resolve()
        target = ROOT / code / target.relative_to(ROOT) if target in translated else target
        return f"]({Path(os.path.relpath(target, here)).as_posix()}"

    content = json.loads(notebook.read_text(encoding="utf-8"))
    for cell in content["cells"]:
        if cell["cell_type"] == "markdown":
            source = "".join(cell["source"])
            said = LINK.sub(linked, texts.get(source, source))
            cell["source"] = said.splitlines(keepends=True)
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def write_translated(code: str, root: Path = ROOT) -> None:
    """Write the notebooks of a language into its folder, all but those that somebody has worked in."""
    found = {
        n: path for n, path in notebooks().items() if (LOCALE / code / f"{n}.po").exists()
    }
    folder, written = root / code, {}
    if (record := folder / "written.json").exists():
        written = json.loads(record.read_text(encoding="utf-8"))
    for name, path in found.items():
        text = translated_notebook(path, catalog(code, name), {*found.values()}, code)
        place = folder / path.relative_to(ROOT)
        key = place.relative_to(folder).as_posix()
        new = hashlib.sha256(text.encode()).hexdigest()
        there = hashlib.sha256(place.read_bytes()).hexdigest() if place.exists() else new
        if there not in (new, written.get(key)):
            print(f"{code}/{key}: kept, it was worked in. Rename it to get it anew.")
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        write_whole(place, text)
        written[key] = new
        write_whole(record, json.dumps(written, indent=1))


if __name__ == "__main__":
    if spoken() != "en":
        write_translated(spoken())
