"""A folder with the lessons and exercises, for somebody who installed the course as a package.

`.course.json` in it says what was shipped: the version, and hashes of each notebook and of its cells. What an update replaces is in
`.updates/TIME/before`; `update.json` beside it is what undoing needs.
"""

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Self

from filelock import FileLock, Timeout

from attn_lib.files import write_whole
from attn_lib.programs.merge import (
    NotReadable,
    Shipped,
    merged,
    read_notebook,
    shipped,
    write_notebook,
)

PACKAGE = Path(__file__).resolve().parents[1]
MANIFEST = ".course.json"
FORMAT = 1  # of the manifest
UPDATES = ".updates"


class Refused(Exception):
    """It cannot be done; the message says why, and nothing has changed."""


@dataclass(frozen=True)
class Noted:
    """What is noted about a notebook that was shipped; empty if that is not known."""

    whole: str = ""  # the hash of the file
    cells: Shipped = field(default_factory=dict)

    @classmethod
    def of(cls, data: bytes) -> Self:
        """Return what is to be noted about a notebook."""
        return cls(sha256(data).hexdigest(), shipped(read_notebook(data)))


@dataclass
class Manifest:
    """What was shipped to a folder."""

    version: str = ""  # not known
    files: dict[str, Noted] = field(default_factory=dict)


@dataclass(frozen=True)
class Change:
    """A file of the folder that an update writes."""

    name: str
    old: bytes | None  # None: it is not there
    new: bytes
    shipped: bytes  # what the course has; `new` may hold something of the learner's, too
    said: str
    compare: bool = False  # keep what is shipped, for a learner who wants to see it


def course_root() -> Path:
    """Return where the notebooks are: in the installed package, or in a clone of the course."""
    packaged = PACKAGE / "course"
    return packaged if packaged.is_dir() else PACKAGE.parent


def course_files() -> dict[str, bytes]:
    """Return the lessons and exercises of the course that is installed, by their names in a folder."""
    root = course_root()
    paths = [*root.glob("notebooks/*.ipynb"), *root.glob("exercises/*/*.ipynb")]
    names = [
        path.relative_to(root).as_posix() for path in paths if ".bak-" not in path.name
    ]
    return {name: (root / name).read_bytes() for name in sorted(names)}


def course_version() -> str:
    """Return the version of the course that is installed."""
    return version("attention-from-scratch")


def find_folder(given: Path | None) -> Path:
    """Return the learner's folder: the one given, this one if it is one, else attention-from-scratch in this one.

    Raises:
        Refused: it is a clone of the course.
    """
    here = Path.cwd()
    is_one = (here / MANIFEST).exists() or (here / "attn_lib").is_dir()
    default = here if is_one else here / "attention-from-scratch"
    folder = (given or default).absolute()
    if (folder / "attn_lib").is_dir():
        raise Refused(
            f"{folder} is a clone of the course: `make lab` opens it there, and git brings what is new."
        )
    return folder


def fill(folder: Path) -> list[Path]:
    """Copy the lessons and exercises into a folder, unless it has them; what is there stays as it is.

    Returns:
        What was written.

    Raises:
        Refused: somebody else is at it.
        OSError: a file cannot be written.
    """
    written = []
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder):
        if (folder / MANIFEST).exists():
            return []
        files = {}
        for name, data in course_files().items():
            path = folder / name
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                write_whole(path, data)
                written.append(path)
            if path.read_bytes() == data:  # else it is somebody's, and not known
                files[name] = Noted.of(data)
        _write_manifest(folder, Manifest(course_version(), files))
    return written


def read_manifest(folder: Path) -> tuple[Manifest, str]:
    """Return what is noted about a folder, and what is to be said about it, or "".

    Raises:
        Refused: a newer version of the course wrote it.
    """
    unknown = "Each cell that differs from the new version is taken for yours."
    try:
        noted = json.loads((folder / MANIFEST).read_bytes())
        if noted["format"] > FORMAT:
            raise Refused(
                f"{folder / MANIFEST} was written by a newer version of the course: "
                f"expected format {FORMAT}, got {noted['format']}."
            )
        files = {
            name: Noted(
                entry["whole"],
                {id: (source, outputs) for id, (source, outputs) in entry["cells"].items()},
            )
            for name, entry in noted["files"].items()
        }
        return Manifest(str(noted["version"]), files), ""
    except FileNotFoundError:
        return Manifest(), f"{MANIFEST}, which says what was shipped, is missing. {unknown}"
    except (ValueError, KeyError, TypeError, AttributeError):
        return Manifest(), f"{MANIFEST}, which says what was shipped, is damaged. {unknown}"


def update(folder: Path, say: Callable[[str], None] = print) -> list[Path]:
    """Bring a folder to the version that is installed, without touching what is the learner's.

    Args:
        folder: with the lessons and exercises.
        say: gets what is to be said, a line at a time.

    Returns:
        The files that are now as they were shipped.

    Raises:
        Refused: it is not a folder of the course, or a newer one; or another update is at work.
        OSError: something cannot be written. What was replaced is in .updates; it can be run again.
    """
    if not (folder / MANIFEST).exists() and not (folder / "notebooks").is_dir():
        raise Refused(
            f"There is no course in {folder}: `attention-from-scratch start` makes one."
        )
    with _alone(folder):
        manifest, problem = read_manifest(folder)
        now = course_version()
        if _numbers(manifest.version) > _numbers(now):
            raise Refused(
                f"{folder} has version {manifest.version}, and the course that is installed is {now}: "
                "install a newer one."
            )
        if problem:
            say(problem)
        noted = Manifest(now)
        changes = [*_changes(folder, manifest, noted, say)]
        if changes:
            backup = _keep(folder, changes, manifest.version, now)
            for change in changes:
                _replace(folder, change, noted, manifest, say)
        if noted != manifest:
            _write_manifest(folder, noted)
    if not changes:
        say(f"Nothing to update: {folder} has version {now}.")
        return []
    came_from = f" from {manifest.version}" if manifest.version not in ("", now) else ""
    say(f"Updated{came_from} to version {now}. What was there before is in {backup};")
    say("`attention-from-scratch update --undo` brings it back.")
    say("Is one of these open in JupyterLab? Choose File, Reload Notebook from Disk.")
    return [folder / change.name for change in changes if change.new == change.shipped]


def undo(folder: Path, say: Callable[[str], None] = print) -> None:
    """Bring back what the last update replaced. What is there now is kept, too.

    Raises:
        Refused: there is no update to undo.
        OSError: something cannot be written; it can be run again.
    """
    with _alone(folder):
        made = sorted(folder.glob(f"{UPDATES}/[!.]*/update.json"))
        made = [path for path in made if ".undone" not in path.parent.name]
        if not made:
            raise Refused(f"There is no update to undo in {folder / UPDATES}.")
        backup = made[-1].parent
        told = json.loads(made[-1].read_bytes())
        now = _free(backup / "after")
        for name in [*told["replaced"], *told["created"], MANIFEST]:
            if (folder / name).exists():
                _copy(folder / name, now / name)
        for name in told["replaced"]:
            _restore(backup / "before" / name, folder / name)
            say(f"{name}: as it was before")
        for name in told["created"]:
            (folder / name).unlink(missing_ok=True)
            say(f"{name}: taken away, it had come with the update")
        if (backup / "before" / MANIFEST).exists():
            _restore(backup / "before" / MANIFEST, folder / MANIFEST)
        else:
            (folder / MANIFEST).unlink(missing_ok=True)
        done = _free(backup.with_name(f"{backup.name}.undone"))
        os.replace(backup, done)
    say(
        f"The update is undone. What it had brought, and what you have written since, is in {done / now.name}."
    )


# ------------------------------------------------------------------------------------ an update


def _changes(
    folder: Path, manifest: Manifest, noted: Manifest, say: Callable[[str], None]
) -> Iterator[Change]:
    """Yield what an update has to write; fill in what is to be noted about the folder."""
    files = course_files()
    for name, data in files.items():
        path, base = folder / name, manifest.files.get(name, Noted())
        noted.files[name] = Noted.of(data)
        if not path.exists():
            missed = name in manifest.files
            yield Change(
                name, None, data, data, "was gone, and is here again" if missed else "new"
            )
            continue
        old = path.read_bytes()
        if old == data or noted.files[name] == base:
            continue  # it is the new one, or there is nothing new for it
        new = read_notebook(data)
        try:
            result = merged(base.cells, read_notebook(old), new)
        except NotReadable as problem:
            noted.files[name] = base
            say(f"{name}: left as it is, it cannot be read ({problem}).")
            say("    To get the course's own, rename this file, and update again.")
            continue
        if result.notebook == read_notebook(old):
            continue
        written = data if result.notebook == new else write_notebook(result.notebook)
        yours = [f"{result.changed} changed"] * bool(result.changed)
        yours += [f"{result.added} added"] * bool(result.added)
        said = "new version" + (f", with your cells: {', '.join(yours)}" if yours else "")
        yield Change(name, old, written, data, said, bool(result.both))
    for name in manifest.files.keys() - files.keys():
        if (folder / name).exists():
            say(f"{name}: no longer in the course; yours stays")


def _replace(
    folder: Path,
    change: Change,
    noted: Manifest,
    manifest: Manifest,
    say: Callable[[str], None],
) -> None:
    """Write a file, unless somebody has just saved it."""
    path = folder / change.name
    if (path.read_bytes() if path.exists() else None) != change.old:
        noted.files[change.name] = manifest.files.get(change.name, Noted())
        say(f"{change.name}: left as it is, it has just been saved. Update again.")
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path.resolve(), change.new)  # of a link, what it leads to
    say(f"{change.name}: {change.said}")
    if change.compare:
        say(
            "    The course has changed cells that you have changed: its own are in .updates, too."
        )


def _keep(folder: Path, changes: list[Change], old: str, new: str) -> Path:
    """Keep what an update is about to replace, whole or not at all; return where."""
    made = _free(folder / UPDATES / time.strftime("%Y-%m-%d_%H-%M-%S"))
    unfinished = made.with_name(f".{made.name}.tmp")
    shutil.rmtree(unfinished, ignore_errors=True)
    for change in changes:
        if change.old is not None:
            _write(unfinished / "before" / change.name, change.old)
        if change.compare:
            _write(unfinished / "course" / change.name, change.shipped)
    if (folder / MANIFEST).exists():
        _copy(folder / MANIFEST, unfinished / "before" / MANIFEST)
    told = {
        "format": FORMAT,
        "from": old,
        "to": new,
        "replaced": [change.name for change in changes if change.old is not None],
        "created": [change.name for change in changes if change.old is None],
    }
    _write(unfinished / "update.json", json.dumps(told, indent=1).encode())
    os.replace(unfinished, made)
    return made


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep others from the folder meanwhile."""
    (folder / UPDATES).mkdir(exist_ok=True)
    try:
        with FileLock(folder / UPDATES / ".lock", timeout=0):
            yield
    except Timeout:
        raise Refused(
            f"Something else is at work in {folder}: wait until it is done."
        ) from None


def _write_manifest(folder: Path, manifest: Manifest) -> None:
    kept = {"format": FORMAT, **asdict(manifest)}
    write_whole(folder / MANIFEST, json.dumps(kept, indent=1))


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, data)


def _copy(path: Path, to: Path) -> None:
    _write(to, path.read_bytes())


def _restore(path: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    write_whole(to.resolve(), path.read_bytes())


def _free(path: Path) -> Path:
    """Return a path of this name, or with the next number that is free."""
    number = 2
    free = path
    while free.exists():
        free, number = path.with_name(f"{path.name}-{number}"), number + 1
    return free


def _numbers(version: str) -> list[int]:
    """Return the numbers of a version, to compare it: "1.10.0" comes after "1.9.0"."""
    return [int(part) for part in version.split(".") if part.isdecimal()]
