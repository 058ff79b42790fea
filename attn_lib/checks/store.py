"""Keep a learner's progress and passed answers: in one JSON file, outside the course folder.

It survives an update of the course. It is written whole to a temporary file that then takes its
place, under a lock, so that neither a crash nor a second notebook can spoil it.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from attn_lib.files import user_folder, write_whole

LOCK_SECONDS = 3
VERSION = 1  # of the file's form: raised when an older course would misread it; `load` reads all of them


class CannotKeep(Exception):
    """Something could not be kept or read back; the message is for the learner."""


def folder() -> Path:
    """Return the folder of the learner's progress."""
    return user_folder()


def path() -> Path:
    """Return the file that holds the progress."""
    return folder() / "progress.json"


def load() -> tuple[dict[str, dict[str, Any]], str]:
    """Read what is kept on each task, and a message if a damaged file had to be set aside.

    Returns:
        A dict from task name to {"attempts": int, "status": str, "passed": bool, "source": str}, with
        "points" where an answer that did not pass has earned some, "mistakes", the ids of those that were
        recognized, and "mended", the drills; and the message, or "".

    Raises:
        CannotKeep: the file is there but may not be read, or a newer course wrote it in another form.
    """
    try:
        text = path().read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return {}, ""
    except UnicodeDecodeError:
        return {}, _set_aside()
    except OSError as error:
        raise CannotKeep(f"Your progress in {path()} could not be read: {error}.") from None
    try:
        whole = json.loads(text)
        form, kept = whole.get("version", VERSION), whole["tasks"]
        if isinstance(form, int) and form > VERSION:
            raise CannotKeep(
                f"Your progress in {path()} was written by a newer version of the course, and is left as it is: "
                f"expected form {VERSION}, got {form}. Update the course."
            )
        if not all(_is_entry(entry) for entry in kept.values()):
            raise TypeError
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}, _set_aside()
    return kept, ""


def update(name: str, change: Callable[[dict[str, Any]], None]) -> str:
    """Change what is kept on one task; return a message, or "".

    Args:
        name: the task's name.
        change: receives the task's entry and changes it in place.

    Raises:
        CannotKeep: it could not be written; nothing has changed.
    """
    try:
        folder().mkdir(parents=True, exist_ok=True)
        with FileLock(folder() / "progress.lock", timeout=LOCK_SECONDS):
            kept, message = load()
            empty = {"attempts": 0, "status": "", "passed": False, "source": ""}
            change(kept.setdefault(name, empty))
            text = json.dumps(
                {"version": VERSION, "tasks": kept}, indent=1, ensure_ascii=False
            )
            write_whole(path(), text, mode=0o600)
            return message
    except Timeout:
        reason = "another notebook is writing to it without end"
    except OSError as error:
        reason = str(error)
    raise CannotKeep(f"Your progress could not be kept in {folder()}: {reason}.")


def _set_aside() -> str:
    """Move a damaged file out of the way, under a name that is still free."""
    number = 1
    while (aside := path().with_name(f"progress.damaged-{number}.json")).exists():
        number += 1
    try:
        os.replace(path(), aside)
    except OSError as error:
        raise CannotKeep(
            f"The file with your progress is damaged and cannot be set aside: {error}."
        ) from None
    return f"The file with your progress was damaged. It is set aside, not lost: {aside}"


def _is_entry(entry: dict[str, Any]) -> bool:
    kinds = {"attempts": int, "status": str, "passed": bool, "source": str}
    has_points = isinstance(entry.get("points", 0), int | float)
    return has_points and all(isinstance(entry[key], kind) for key, kind in kinds.items())
