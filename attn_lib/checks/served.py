"""A function for an answer to call, and not to look into: it runs elsewhere, and only numbers pass.

In a notebook, elsewhere is a thread of its own: no mode, no tracing and no tensor subclass of an answer
reaches it. In the grader it is the judge's process.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Thread
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

# serves(given, gradient) calls the function on tensors. Without a gradient of its result it returns
# [result, whether gradients flow]; with one, the gradient by each of what was given, or None. A text is
# the error that the function raised.
Serves = Callable[[list[Any], Tensor | None], list[Any] | str]


def served_by(function: Callable) -> Serves:
    """Return what serves a plain function of tensors (and None)."""

    def serves(given: list[Any], gradient: Tensor | None) -> list[Any] | str:
        try:
            leaves = [_leaf(value) for value in given]
            with torch.enable_grad():  # autograd calls this without
                result = function(*leaves)
            if gradient is None:
                return [result.detach(), result.requires_grad]
            floats = [leaf for leaf in leaves if leaf is not None and leaf.requires_grad]
            found = torch.autograd.grad(result, floats, gradient, allow_unused=True)
            by_leaf = dict(zip(map(id, floats), found, strict=True))
            return [by_leaf.get(id(leaf)) for leaf in leaves]
        except Exception as error:
            return f"{type(error).__name__}: {error}"

    return serves


def begun(serves: Serves) -> Serves:
    """Return what serves one run: of something that remembers its calls, and has a `begin`, a new one."""
    return serves.begin() if hasattr(serves, "begin") else serves


def _leaf(value: Tensor | None) -> Tensor | None:
    """Return a plain copy to differentiate by."""
    if value is None:
        return None
    return value.detach().clone().requires_grad_(value.is_floating_point())


@contextmanager
def calls(serves: Serves | None, *, is_ours: bool) -> Iterator[list[Callable[..., Tensor]]]:
    """Give a list of one function, which asks `serves` in another thread; an empty one for None.

    Args:
        serves: what is called; if it remembers its calls, a new one.
        is_ours: a known answer calls it, which may do so in this thread: that is quicker.
    """
    if serves is None:
        yield []
        return
    serves = begun(serves)
    if is_ours:
        yield [lambda *given: _Call.apply(serves, *given)]
        return
    questions: SimpleQueue[tuple | None] = SimpleQueue()
    replies: SimpleQueue[list[Any] | str] = SimpleQueue()

    def serve(serves: Serves) -> None:
        while (question := questions.get()) is not None:
            replies.put(serves(*question))

    def asked(given: list[Any], gradient: Tensor | None) -> list[Any] | str:
        questions.put(([_plain(value) for value in given], gradient))
        return replies.get()

    thread = Thread(target=serve, args=(serves,), daemon=True)
    thread.start()
    try:
        yield [lambda *given: _Call.apply(asked, *given)]
    finally:
        questions.put(None)
        thread.join()


def _replied(serves: Serves, given: tuple, gradient: Tensor | None) -> list[Any]:
    """Return what is replied, or raise the error."""
    reply = serves(list(given), gradient)
    if isinstance(reply, str):
        raise RuntimeError(reply)
    return reply


def _plain(value: Any) -> Tensor | None:
    """Return a tensor without the class that somebody may have made of it."""
    if value is None:
        return None
    if not isinstance(value, Tensor):
        raise TypeError(f"expected a tensor or None, got {type(value).__name__}")
    with torch._C.DisableTorchFunctionSubclass():
        return torch.Tensor.as_subclass(value, Tensor)


class _Call(torch.autograd.Function):
    """A call, for autograd: its graph has this one node, whatever the function does."""

    @staticmethod
    def forward(ctx: Any, serves: Serves, *given: Any) -> Tensor:
        result, flows = _replied(serves, given, None)
        ctx.serves = serves
        ctx.save_for_backward(*given)
        if not flows:
            ctx.mark_non_differentiable(result)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple:
        return None, *_replied(ctx.serves, ctx.saved_tensors, gradient)
