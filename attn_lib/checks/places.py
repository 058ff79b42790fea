"""Where a task stands in the notebooks of the course, as a link that JupyterLab follows."""

import json
import os
import re
from pathlib import Path
from urllib.parse import quote


def link_to(name: str) -> str:
    """Return a link from the folder of the running notebook to a task's heading; "" where there is none."""
    here = Path.cwd()
    # The running notebook is an exercise, or a lesson.
    folders = here.parent, here.parent / "exercises"
    names = "[0-9][0-9]_*/[0-9][0-9]_*.ipynb"
    for path in [path for folder in folders for path in sorted(folder.glob(names))]:
        if path.stem != path.parent.name:  # a copy
            continue
        try:
            cells = json.loads(path.read_bytes())["cells"]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        for cell in cells:
            text = "".join(cell.get("source", ()))
            if re.match(rf"## \d+ · `{name}`$", text, re.MULTILINE) and "id" in cell:
                return f"{quote(os.path.relpath(path, here))}#cell-id={quote(cell['id'])}"
    return ""
