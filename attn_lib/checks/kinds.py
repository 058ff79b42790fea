"""Kinds of mistakes, told by the words of their ids: what a learner makes again in another task."""

from collections import Counter
from typing import Any

KINDS = {  # how the words of an id begin; the first kind that fits
    "masks": "mask causal pad hid visible inverted future opens fill forbidden allowed upside",
    "dtypes": "dtype precision half float int8 int64 bool overflow inf nan eps low rounded",
    "state": "input cache remember gradient grad generator drawn draws dropout detach overwritten stored hook",
    "axes": "axis axes transpos reshap column row shape squeez split merg layout joined stack head keepdim "
    "flat batch sample sentences swapped dim channel matrix group repeat",
    "scale": "scale softmax denominator normal divided mean sum weigh factor maximum root squared average "
    "share log exp base norm sign",
    "counting": "off miscount shift too index position order place last first next length window step far "
    "chunk block key number twice end start one edge gap",
}


def kind_of(mistake: str) -> str:
    """Return the kind of a mistake, by its id; "" if it is of none."""
    words = mistake.split("-")
    for kind, beginnings in KINDS.items():
        if any(word.startswith(tuple(beginnings.split())) for word in words):
            return kind
    return ""


def came_back(kept: dict[str, dict[str, Any]]) -> list[tuple[str, int]]:
    """Return the kinds that were made in several tasks, with the number of tasks, most of them first.

    Args:
        kept: from task name to what is kept on it, as `store.load` returns it.
    """
    counts = Counter(
        kind
        for entry in kept.values()
        for kind in {kind_of(mistake) for mistake in entry.get("mistakes", [])} - {""}
    )
    return [(kind, count) for kind, count in counts.most_common() if count > 1]
