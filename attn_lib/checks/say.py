"""Say in a few words what a value is, whatever it is made of."""

import inspect
from typing import Any

from torch import Tensor


def describe(value: Any) -> str:
    """Say in a few words what a value is: "a tensor of shape (2, 3)", "a str"."""
    if isinstance(value, Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    if inspect.isclass(value):
        return f"the class {value.__name__}" if value.__name__ else "a class without a name"
    if isinstance(value, tuple | list):
        return f"a {type(value).__name__} of {len(value)}"
    kind = type(value).__name__
    if not kind:  # somebody made the class by `type("", ...)`
        return "an object whose class has no name"
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def shown(value: Any) -> str:
    """Show a text, or None; say of everything else in a few words what it is."""
    is_short = value is None or type(value) is str
    return f"{value!r:.200}" if is_short else describe(value)


def safe_str(value: Any) -> str:
    """Like str, for objects whose own `__str__` may fail."""
    try:
        return str(value)
    except BaseException:
        return f"<{type(value).__name__} that cannot be printed>"
