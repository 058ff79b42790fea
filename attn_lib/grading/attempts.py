"""How often learners tried each task, from the progress files that they may hand in."""

import json
import statistics
from collections import defaultdict
from pathlib import Path

from attn_lib.grading.find import PROGRESS, read

_LARGEST = 5_000_000  # bytes
_MOST = 1000  # attempts that are believed


def attempts(folder: Path) -> dict[str, float]:
    """Return the middle number of attempts at each task, of those who tried it; what is no progress is passed over.

    Args:
        folder: of the submissions, with files called `progress.json`, or by a platform's name for it, anywhere.
    """
    found: dict[str, list[int]] = defaultdict(list)
    for path in sorted(folder.rglob(PROGRESS)):
        for name, number in _read(path).items():
            found[name].append(number)
    return {name: statistics.median(numbers) for name, numbers in found.items()}


def _read(path: Path) -> dict[str, int]:
    """Return the attempts in one file, in which a stranger may have written anything."""
    try:
        data = read(path)
        entries = json.loads(data)["tasks"].items() if len(data) < _LARGEST else ()
        return {
            name: entry["attempts"]
            for name, entry in entries
            if type(entry["attempts"]) is int and 0 < entry["attempts"] <= _MOST
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
