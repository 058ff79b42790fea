"""A case: one input of a task, and the call of an answer on it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from torch import Tensor


class Wrong(Exception):
    """Raised by a case's `run` when an answer cannot be used at all; the message is the learner's.

    Args:
        kind: a word or two. A mistake is recognized by it and by the first line of the message.
        text: the message. Numbers belong into further lines.
    """

    def __init__(self, kind: str, text: str):
        super().__init__(text)
        self.kind = kind


def parts(returned: Any) -> tuple:
    """Return what `run` returned, if it is a tuple: for a `finish`, to which a sandbox may send anything.

    Raises:
        Wrong: it is something else, such as a tensor of a million rows.
    """
    if not isinstance(returned, tuple):
        raise Wrong("wrong", "It returned something else than what was asked for.")
    return returned


class Result(NamedTuple):
    """The value that a module returned, with the parameters whose gradients are compared too."""

    value: Any
    parameters: dict[str, Tensor]


def call(answer: Callable, *args: Any) -> Any:
    """Run a case of a plain function: call it."""
    return answer(*args)


_quicker: dict[Callable, Callable] = {}


def quicker(for_known: Callable) -> Callable[[Callable], Callable]:
    """Decorate a `run`: what takes its place for known mistakes, which nobody has to watch over."""

    def keep(run: Callable) -> Callable:
        _quicker[run] = for_known
        return run

    return keep


def run_known(run: Callable) -> Callable:
    """Return what takes the place of a `run` for known mistakes."""
    return _quicker.get(run, run)


@dataclass(frozen=True)
class Case:
    """One input. Every tensor in `args` is cloned before a call and compared with itself after it.

    Where the reference raises a ValueError, an answer must, too; the judge alone knows where.

    Args:
        about: what this input is, to a learner: "L = S = 6, no mask".
        args: what `run` receives after the answer.
        run: `run(answer, *args)` returns a tensor, a number, a text or a tuple of those, or a
            `Result`.
        grad: whether gradients are compared on this input once all values are right.
        tolerance: allowed difference relative to the largest expected value; None = by dtype.
        in_turns: `run` calls `answer(*tensors, kept)` several times, with what the last call returned
            second as `kept`, and an answer must know nothing but these. The grader then plays `run`
            in its own process, where a learner's code cannot look.
        is_slow: what known mistakes do on this input is looked at last, and only of those that do the
            same on all others.
        serves: `run` receives one thing more, at the end: a function of tensors that does what this
            does, a `Serves`, and shows nothing of it (see served.py). What remembers its calls has a
            `begin()`, which returns what serves one run.
        finish: `finish(returned, *args)` makes what is compared of what `run` returned, or raises
            `Wrong`: rules that numbers alone do not show. The grader does it in its own process, where
            no answer can replace it; so `run` returns tensors, numbers and texts then.
    """

    about: str
    args: tuple
    run: Callable = call
    grad: bool = True
    tolerance: float | None = None
    in_turns: bool = False
    is_slow: bool = False
    serves: Any = None
    finish: Callable | None = None
