"""The command `attention-from-scratch`: the course for somebody who installed it as a package."""

import argparse
import os
import runpy
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from attn_lib.checks import progress
from attn_lib.programs.course_folder import (
    Refused,
    course_version,
    fill,
    find_folder,
    read_manifest,
    undo,
    update,
)
from attn_lib.programs.doctor import doctor
from attn_lib.programs.pretrained import fetch_models, has_models

NAME = "attention-from-scratch"
START = "notebooks/00_start_here.ipynb"
LAYOUT = Path(__file__).with_name("default-37a8.jupyterlab-workspace")
# Programs of the course: each has its own arguments, and its own help.
PROGRAMS = {
    "chat": ("attn_lib.chat", "talk to a language model, offline"),
    "train": ("attn_lib.programs.train_own", "train a small one (lesson 15)"),
    "serve": ("attn_lib.programs.serve", "a small HTTP service around one (lesson 13)"),
    "check": ("attn_lib.checks", "judge every answer in a file"),
    "grading": ("attn_lib.grading", "grade a class (for teachers, on Linux)"),
}


def main(arguments: Sequence[str]) -> int:
    """Do what the command line asks for; return the exit status."""
    if not arguments or (
        arguments[0] not in ("-h", "--help", "--version") and arguments[0].startswith("-")
    ):
        arguments = ["start", *arguments]
    if arguments[0] in PROGRAMS:
        sys.argv = [f"{NAME} {arguments[0]}", *arguments[1:]]
        runpy.run_module(PROGRAMS[arguments[0]][0], run_name="__main__")
        return 0
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options, flags = parser().parse_args(arguments[:end]), arguments[end + 1 :]
    if flags and options.command != "start":
        parser().error(f"expected nothing after --, got {' '.join(flags)}")
    try:
        match options.command:
            case "start":
                flags = ["--no-browser"] * options.no_browser + [*flags]
                models = not options.no_models
                return start(find_folder(options.folder), flags, models=models)
            case "update" if options.undo:
                undo(find_folder(options.folder))
            case "update":
                trust(update(find_folder(options.folder)))
            case "models":
                fetch_models()
            case "doctor":
                return doctor(find_folder(options.folder))
            case "progress":
                progress(options.lesson)
    except Refused as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(
            f"{where}{error.strerror or error}. Nothing of yours is lost; run it again when that is mended.",
            file=sys.stderr,
        )
        return 1
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    whole = argparse.ArgumentParser(
        prog=NAME,
        description="Attention from Scratch, a Jupyter course. Without a command it starts: the lessons are copied into a "
        "folder of yours, and JupyterLab opens the first. The same command goes on from there.",
        epilog=f"`{NAME} COMMAND --help` says more about one.",
    )
    whole.add_argument("--version", action="version", version=course_version())
    commands = whole.add_subparsers(dest="command", required=True, metavar="COMMAND")
    where = (
        "the folder (this one if it holds the lessons, else attention-from-scratch in it)"
    )

    about = (
        "Copy the lessons and exercises into a folder, unless they are there; fetch the pretrained models, unless "
        "they are there; open JupyterLab. What stands after -- goes to JupyterLab: -- --port 9000."
    )
    begun = commands.add_parser(
        "start", help="open the course in JupyterLab", description=about
    )
    begun.add_argument("folder", nargs="?", type=Path, metavar="FOLDER", help=where)
    begun.add_argument(
        "--no-browser", action="store_true", help="say the address, do not open it"
    )
    begun.add_argument(
        "--no-models",
        action="store_true",
        help="do not fetch the pretrained models (177 MB)",
    )

    about = (
        "Bring the folder to the version of the course that is installed. A cell that you changed keeps what you wrote, a "
        "cell that you added stays, and whatever is replaced is kept in .updates first."
    )
    new = commands.add_parser(
        "update", help="bring new lessons, keep your answers", description=about
    )
    new.add_argument("folder", nargs="?", type=Path, metavar="FOLDER", help=where)
    new.add_argument(
        "--undo", action="store_true", help="bring back what the last update replaced"
    )

    commands.add_parser("models", help="fetch the pretrained models (177 MB)")
    ill = commands.add_parser("doctor", help="say whether all works here, and what helps")
    ill.add_argument("folder", nargs="?", type=Path, metavar="FOLDER", help=where)
    shown = commands.add_parser("progress", help="show how far you are")
    shown.add_argument(
        "lesson", nargs="?", type=int, metavar="N", help="the tasks of this lesson"
    )
    for name, (_, help) in PROGRAMS.items():
        commands.add_parser(name, help=help, add_help=False)
    return whole


def start(folder: Path, flags: Sequence[str], *, models: bool) -> int:
    """Make what is missing, and open JupyterLab; return its exit status."""
    if written := fill(folder):
        print(f"The lessons and exercises are now in {folder}")
        trust(written)
    else:
        print(f"Going on in {folder}")
        there = read_manifest(folder)[0].version
        if there not in ("", course_version()):
            print(
                f"It has version {there}; {course_version()} is installed. To have what is new: `{NAME} update`"
            )
    if models and not has_models():
        print(
            "Fetching the pretrained models: 177 MB. Ctrl-C goes on without them.",
            flush=True,
        )
        try:
            fetch_models()
        except (Refused, OSError, KeyboardInterrupt) as error:
            print(
                f"{error or 'Stopped.'} Going on without them; `{NAME} models` fetches them."
            )
    return open_lab(folder, flags)


def open_lab(folder: Path, flags: Sequence[str]) -> int:
    """Open JupyterLab on the first lesson; return its exit status."""
    from jupyterlab.labapp import LabApp  # here: the other commands do without

    print("Opening JupyterLab. To stop it, press Ctrl-C twice here.", flush=True)
    # What is open in it, apart from the learner's other work; it begins with the list of headings.
    workspaces = folder / ".jupyter"
    workspaces.mkdir(exist_ok=True)
    if not (workspaces / LAYOUT.name).exists():
        shutil.copyfile(LAYOUT, workspaces / LAYOUT.name)
    os.environ.setdefault("JUPYTERLAB_WORKSPACES_DIR", str(workspaces))
    LabApp.launch_instance([f"--notebook-dir={folder}", *flags, str(folder / START)])
    return 0


def trust(notebooks: Iterable[Path]) -> None:
    """Have Jupyter trust notebooks as they came, so that their scenes are live before a cell is run."""
    import nbformat
    from nbformat.sign import NotebookNotary

    try:
        with NotebookNotary() as notary:
            for path in notebooks:
                notary.sign(nbformat.read(path, as_version=4))
    except Exception as error:  # of a database that cannot be written, say
        print(f"The notebooks could not be trusted: {error}")
        print("Going on: a live scene is a still picture until its cell runs.")


def run() -> None:
    """Call `main` for a terminal."""
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit("\nInterrupted. Run the same again to go on.")


if __name__ == "__main__":
    run()
