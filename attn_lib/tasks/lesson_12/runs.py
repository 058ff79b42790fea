"""How the cases of this lesson call an answer, where it is more than one plain call.

Nothing here is an answer: this file goes into the sandbox with a learner's code.
"""

import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from io import TextIOBase
from typing import Any

from torch import Tensor

from attn_lib.checks.authoring import Wrong, describe

# ---------------------------------------------------------------------------- test_attention

SILENT, RETURNED, PRINTED, RETURNED_FALSE = range(4)  # what a test did that raised nothing


class _Heard(TextIOBase):
    """Passes on what is printed, and remembers that something was."""

    def __init__(self, stream: Any):
        self.stream, self.anything = stream, False

    def write(self, text: str) -> int:
        self.anything = True
        return self.stream.write(text)


def tested(answer: Callable, call: Callable[..., Tensor]) -> int:
    """Let the answer test one implementation; it shall raise an error if that is wrong."""

    def implementation(q, k, v, mask=None):
        return call(q, k, v, mask)

    heard = _Heard(sys.stdout)
    with redirect_stdout(heard):
        returned = answer(implementation)
    if returned is False or (isinstance(returned, Tensor) and not returned.all()):
        return RETURNED_FALSE
    if returned is not None:
        return RETURNED
    return PRINTED if heard.anything else SILENT


# ------------------------------------------------------------------------ numerical_gradient


# A mistake is recognized by the kind of its errors too: so each kind has a class.
def refusal(like: Tensor, received: str) -> Wrong:
    """Return what is raised for a point that is not like x."""
    return Wrong(
        "wrong argument",
        f"`fn` needs a tensor like x, shape {tuple(like.shape)}, dtype {like.dtype}, "
        f"but received {received}.",
    )


def differentiated(
    answer: Callable, _: None, x: Tensor, eps: float, call: Callable[..., Tensor]
) -> Any:
    """Ask for the gradient of a function that is elsewhere, where autograd cannot follow."""

    def function(point: Tensor) -> Tensor:
        if not isinstance(point, Tensor):
            raise Wrong(
                "no tensor", f"`fn` needs a tensor like x, but received {describe(point)}."
            )
        return call(point, x)

    return answer(function, x, eps)


def of_one_number(
    answer: Callable, _: None, x: Tensor, eps: float, call: Callable[..., Tensor]
) -> Any:
    """Let the answer differentiate at three numbers which are one in memory."""
    return differentiated(answer, None, x.expand(3), eps, call)
