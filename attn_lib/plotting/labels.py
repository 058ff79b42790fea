"""Tokens as labels of a picture."""

from collections import Counter
from collections.abc import Sequence

SUBSCRIPT = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def numbered(labels: Sequence[str]) -> list[str]:
    """Tell repeated tokens apart: the, the becomes the₁, the₂; and show a space as ␣."""
    shown = [label if label.strip() else "␣" for label in labels]
    total, seen, result = Counter(shown), Counter[str](), []
    for label in shown:
        seen[label] += 1
        number = str(seen[label]).translate(SUBSCRIPT) if total[label] > 1 else ""
        result.append(label + number)
    return result
