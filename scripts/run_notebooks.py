"""Run notebooks and store their outputs (`make notebooks`).

A notebook is written back only if every cell ran (cells tagged `raises-exception` may raise). What
differs from run to run for no reason - times, widget states, versions - is not stored.
"""

import argparse
import os
import sys
import time
from pathlib import Path
from unittest import mock

import nbformat
from isolated import isolated_environment
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from attn_lib.files import write_whole

TIMEOUT = 600  # seconds for one cell
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
LANGUAGE = {
    "codemirror_mode": {"name": "ipython", "version": 3},
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "name": "python",
    "nbconvert_exporter": "python",
    "pygments_lexer": "ipython3",
}
WIDGET = "application/vnd.jupyter.widget-view+json"


class Failed(Exception):
    """A notebook did not run; the message is for whoever ran it."""


def main() -> int:
    """Run what the command line names; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "paths", nargs="+", type=Path, help="notebooks, or folders of notebooks"
    )
    failed = 0
    for path in find_notebooks(parser.parse_args().paths):
        start = time.monotonic()
        try:
            result = "stored" if run(path) else "unchanged"
        except Failed as failure:
            failed, result = failed + 1, f"FAILED, left as it was\n{failure}"
        print(f"{path}: {time.monotonic() - start:.1f} s, {result}", flush=True)
    return 1 if failed else 0


def find_notebooks(paths: list[Path]) -> list[Path]:
    """Return the notebooks among and below these paths."""
    found = []
    for path in paths:
        if not path.exists():
            raise SystemExit(f"{path}: no such file or folder")
        below = sorted(path.rglob("*.ipynb")) if path.is_dir() else [path]
        found += [p for p in below if ".ipynb_checkpoints" not in p.parts]
    if not found:
        raise SystemExit(f"No notebooks in {', '.join(map(str, paths))}.")
    return found


def run(path: Path) -> bool:
    """Execute one notebook in its own folder and store it; return whether it changed.

    Raises:
        Failed: a cell raised, ran too long, or killed the kernel.
    """
    before = path.read_text(encoding="utf-8")
    notebook = nbformat.reads(before, as_version=4)
    clean(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    execute(notebook, path.parent)
    clean(notebook)
    after = nbformat.writes(notebook, version=nbformat.NO_CONVERT) + "\n"
    if after != before:
        write_whole(path, after, mode=path.stat().st_mode)
    return after != before


def execute(notebook: NotebookNode, folder: Path) -> None:
    """Execute the cells in a new kernel, away from the user's own progress and settings."""
    current = {"index": 0}
    client = NotebookClient(
        notebook,
        timeout=TIMEOUT,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        extra_arguments=[
            "--log-level=ERROR"
        ],  # a kernel on this machine warns that it uses TCP
        resources={"metadata": {"path": str(folder)}},
        on_cell_start=lambda cell, cell_index: current.update(index=cell_index),
    )
    with isolated_environment() as environment:
        if os.environ.get("CI"):
            environment |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        try:
            with mock.patch.dict(os.environ, environment):
                client.execute()
        except CellExecutionError as error:
            reason = f"{error.ename}: {error.evalue}"
        except CellTimeoutError:
            reason = f"it ran for more than {TIMEOUT} s"
        except DeadKernelError:
            reason = "the kernel died"
        else:
            return
    cell = notebook.cells[current["index"]]
    first_lines = "\n".join("    " + line for line in cell.source.splitlines()[:3])
    raise Failed(f"  cell {current['index'] + 1} ({cell.id}): {reason}\n{first_lines}")


def clean(notebook: NotebookNode) -> None:
    """Drop what says nothing about the course, and bring the rest into one form."""
    notebook.nbformat_minor = max(notebook.nbformat_minor, 5)
    for name in ("jupytext", "signature", "toc", "vscode", "widgets"):
        notebook.metadata.pop(name, None)
    notebook.metadata["kernelspec"] = dict(KERNEL)
    notebook.metadata["language_info"] = dict(LANGUAGE)
    for cell in notebook.cells:
        for name in ("ExecuteTime", "collapsed", "execution", "scrolled"):
            cell.metadata.pop(name, None)
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if keep(output, cell)]


def keep(output: NotebookNode, cell: NotebookNode) -> bool:
    """Take a live widget out of an output; return whether anything to look at remains."""
    data = output.get("data", {})
    if data.pop(WIDGET, None) is None:
        return True
    # The plain text of an ipywidget is debris; that of a widget of ours describes it.
    is_compared = "nbval-ignore-output" not in cell.metadata.get("tags", [])
    return is_compared or bool(set(data) - {"text/plain"})


if __name__ == "__main__":
    sys.exit(main())
