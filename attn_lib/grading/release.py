"""Make a zip for a class: the lessons, the exercises, and what they need. No answers."""

import contextlib
import hashlib
import io
import json
import posixpath
import re
import subprocess
import zipfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from attn_lib.files import write_whole
from attn_lib.grading.refused import Refused
from attn_lib.grading.visible_course import PACKAGE

ROOT = PACKAGE.parent
TOP = "attention-from-scratch"
# What `make lab` and conda read, what pip needs to install the course, and the README with its picture.
_SET_UP = "Makefile", "environment.yml", "scripts/find_python.sh", "scripts/set_up.py"
_CHINESE = "scripts/catalogs.py", "scripts/translate_notebooks.py"
_PACKAGE = "pyproject.toml", "requirements.txt", "requirements-models.txt"
ALWAYS = (*_SET_UP, *_CHINESE, *_PACKAGE, "LICENSE", "README.md", "site/_static/hero.png")
IN_IT = (
    "the lessons, the exercises without answers, the library with its checks, and what `make lab` "
    "needs. Not solutions/, tests/, the grader, or .git. The checks hold reference answers, because "
    "they run on the learner's machine; points come from grading with a private seed"
)


def release(path: Path, lessons: list[int] | None = None, root: Path = ROOT) -> list[str]:
    """Write the zip of the course in `root`; the same files give the same bytes.

    Args:
        path: of the zip.
        lessons: the numbers of those to hand out, all if empty; lesson 00 is always there.
        root: a clone of the course.

    Returns:
        The names of the files in it.

    Raises:
        Refused: an exercise is missing or holds an answer.
        OSError: a file cannot be read or written.
    """
    chosen = sorted(_notebooks(root, lessons))
    for name in chosen:
        if name.startswith("exercises/"):
            _check_exercise(root / name)
    code = (name for name in code_of(root) if not name.startswith("attn_lib/grading/"))
    missing = [name for name in ALWAYS if not (root / name).is_file()]
    if missing:
        raise Refused(f"{root} is not a whole copy of the course: {missing[0]} is missing.")
    names = sorted({*ALWAYS, *chosen, *code})
    write_zip(
        path,
        {
            f"{TOP}/{name}": _without_dead_links(
                name, _for_learners(name, (root / name).read_bytes()), names
            )
            for name in names
        },
    )
    return names


def code_of(root: Path) -> Iterator[str]:
    """Yield the names of the files of the package in a clone of the course: those that git knows, if it is there.

    A teacher may have put others there; links are left out.
    """
    known: set[str] = set()
    command = ["git", "-C", str(root), "ls-files", "-z", "attn_lib"]
    with contextlib.suppress(OSError):
        told = subprocess.run(command, capture_output=True, text=True)
        known = {name for name in told.stdout.split("\0") if name and not told.returncode}
    for file in (root / "attn_lib").rglob("*"):
        name = file.relative_to(root)
        if file.is_symlink() or (known and name.as_posix() not in known):
            continue
        hidden = any(part.startswith((".", "__pycache__")) for part in name.parts)
        if file.is_file() and not hidden and file.suffix not in (".pyc", ".tmp", ".ipynb"):
            yield name.as_posix()


def write_zip(
    path: Path, files: Mapping[str, bytes], programs: Collection[str] = ()
) -> None:
    """Write a zip, whole; the same files give the same bytes.

    Args:
        path: of the zip.
        files: what is in it, by name.
        programs: the names of those that can be run.

    Raises:
        OSError: it cannot be written.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name)  # of 1980, always
            entry.create_system = 3  # Unix, wherever this runs
            entry.external_attr = (0o100755 if name in programs else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data, compresslevel=9)
    write_whole(path, buffer.getvalue())


_SOLUTIONS = " The answers are in `solutions/`.\n   Try for a while before you look."
_TESTS = re.compile(r"```sh\nmake test\n```\n.*?(?=^## )", re.DOTALL | re.MULTILINE)
_TEACH = re.compile(r"^## How to teach with it\n.*?(?=^## )", re.DOTALL | re.MULTILINE)
_NOT_FROM_A_ZIP = re.compile(
    r"^### (Without cloning it|Without installing it|Update without losing your work)\n.*?(?=^##)"
    r"|^\| (`Your local changes|Something else, after `uvx`)[^\n]*\n",
    re.DOTALL | re.MULTILINE,
)
_HAND_IN = """## What to hand in

Of each exercise its notebook, such as `exercises/01_single_head/01_single_head.ipynb`, saved, and under this name. Nothing else (no zip, no
script), but your `progress.json` if your teacher asks for it. Your answers must keep the names of the tasks.

"""
_TARGETS = (
    "help",
    "lab",
    "models",
)  # of the Makefile: the others need what is not handed out


def _for_learners(name: str, data: bytes) -> bytes:
    """Return a file without what it says about solutions, tests and grading; the README tells what to hand in."""
    if name == "README.md":
        text = data.decode().replace(_SOLUTIONS, "")
        text = _NOT_FROM_A_ZIP.sub("", _TESTS.sub("", text))
        return _TEACH.sub(_HAND_IN, text).encode()
    if name == "Makefile":
        blocks = data.decode().split("\n\n")
        target = re.compile(r"(?:.*\n)*?([a-z-]+):(?!=)")
        kept = [
            block
            for block in blocks
            if not (found := target.match(block)) or found[1] in _TARGETS
        ]
        return ("\n\n".join(kept).rstrip() + "\n").encode()
    return data


_LINK = re.compile(r"\[([^\[\]]+)\]\((?!\w+:)([^()#\s]+)(?:#[^()\s]*)?\)")


def _without_dead_links(name: str, data: bytes, names: list[str]) -> bytes:
    """Return a file in whose text links to files that are not handed out are plain words."""

    def unlinked(text: str) -> str:
        def kept(link: re.Match) -> str:
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), link[2]))
            return link[0] if target in names else link[1]

        return _LINK.sub(kept, text)

    if name.endswith(".md"):
        return unlinked(data.decode()).encode()
    if not name.endswith(".ipynb"):
        return data
    notebook = json.loads(data)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = unlinked("".join(cell["source"])).splitlines(keepends=True)
    return (json.dumps(notebook, ensure_ascii=False, indent=1) + "\n").encode()


def _notebooks(root: Path, lessons: list[int] | None) -> list[str]:
    """Return the names of the lessons and exercises to hand out."""
    found = {
        path.relative_to(root).as_posix(): path.name[:2]
        for pattern in (
            "notebooks/[0-9][0-9]_*.ipynb",
            "exercises/[0-9][0-9]_*/[0-9][0-9]_*.ipynb",
        )
        for path in root.glob(pattern)
        if ".bak-" not in path.name
    }
    if not found:
        raise Refused(
            f"There are no notebooks in {root}: run this in a clone of the course."
        )
    for lesson in lessons or ():
        if f"{lesson:02}" not in found.values():
            there = ", ".join(sorted(set(found.values())))
            raise Refused(f"There is no lesson {lesson:02}; there are {there}.")
    wanted = (
        {"00", *(f"{lesson:02}" for lesson in lessons)} if lessons else set(found.values())
    )
    return [name for name, number in found.items() if number in wanted]


def _check_exercise(path: Path) -> None:
    """Raise Refused if somebody has worked in an exercise: its answers would be handed out."""
    for cell in json.loads(path.read_bytes())["cells"]:
        ours = cell["metadata"].get("nbgrader", {})
        source = "".join(cell["source"])
        answered = ours.get("solution") and ours.get("checksum") != _checksum(cell)
        if answered or "### BEGIN SOLUTION" in source or "### BEGIN HIDDEN" in source:
            raise Refused(
                f"{path} holds an answer (in the cell {ours.get('grade_id', '?')}). Put it back as it "
                "was, with `git restore` or `make exercises`."
            )


def _checksum(cell: dict) -> str:
    """Return what nbgrader noted about an answer's cell when it made the exercise."""
    parts = ("".join(cell["source"]), cell["cell_type"], "False", "True", "False")
    text = "".join(parts) + cell["metadata"]["nbgrader"]["grade_id"]
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
