"""Files that are there whole or not at all, and the folder for those of the learner."""

import os
import stat
import tempfile
from pathlib import Path

import platformdirs


def user_folder() -> Path:
    """Return where the learner's files lie, outside of the course: $ATTN_HOME, or the user's data folder."""
    home = os.environ.get("ATTN_HOME")
    return (
        Path(home) if home else platformdirs.user_data_path("attention-from-scratch", False)
    )


def write_whole(path: Path, content: str | bytes, *, mode: int = 0o644) -> None:
    """Write a file under another name, which then takes its place.

    Args:
        path: of the file.
        content: text is written as UTF-8, its line ends as they are; half of a pair of signs as \\udxxx.
        mode: who may read and write a new file; one that was there keeps its own.

    Raises:
        OSError: it could not be written; what was there before is still there.
    """
    text = content if isinstance(content, str) else ""
    data = content if isinstance(content, bytes) else text.encode(errors="backslashreplace")
    temporary = ""
    try:
        if path.exists():
            mode = stat.S_IMODE(path.stat().st_mode)
        handle, temporary = tempfile.mkstemp(
            dir=path.parent, prefix=f".{path.name[:99]}.", suffix=".tmp"
        )
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno:
            error.filename = str(path)  # the name that means something to whoever reads it
        raise
