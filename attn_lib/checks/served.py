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


def _leaf(value: Tensor | None) -> Tensor | None:
    """Return a plain copy to differentiate by."""
    if value is None:
        return None
    return value.detach().clone().requires_grad_(value.is_floating_point())


@contextmanager
def calls(serves: Serves | None) -> Iterator[list[Callable[..., Tensor]]]:
    """Give a list of one function, which asks `serves` in another thread; an empty one for None."""
    if serves is None:
        yield []
        return
    questions: SimpleQueue[tuple | None] = SimpleQueue()
    replies: SimpleQueue[list[Any] | str] = SimpleQueue()

    def serve(serves: Serves) -> None:
        while (question := questions.get()) is not None:
            replies.put(serves(*question))

    def ask(given: list[Any], gradient: Tensor | None) -> list[Any]:
        questions.put(([_plain(value) for value in given], gradient))
        reply = replies.get()
        if isinstance(reply, str):
            raise RuntimeError(reply)
        return reply

    thread = Thread(target=serve, args=(serves,), daemon=True)
    thread.start()
    try:
        yield [lambda *given: _Call.apply(ask, *given)]
    finally:
        questions.put(None)
        thread.join()


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
    def forward(ctx: Any, ask: Callable, *given: Any) -> Tensor:
        result, flows = ask(list(given), None)
        ctx.ask = ask
        ctx.save_for_backward(*given)
        if not flows:
            ctx.mark_non_differentiable(result)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple:
        return None, *ctx.ask(list(ctx.saved_tensors), gradient)
