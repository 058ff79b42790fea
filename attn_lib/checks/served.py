"""Serve a function that an answer may call, but not look into: it runs elsewhere, and only numbers pass.

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

from attn_lib.checks.case import Wrong

# serves(given, gradient) calls the function on tensors. Without a gradient of its result it returns
# [result, whether gradients flow]; with one, the gradient by each of what was given, or None. Two texts are
# the error that the function raised: the kind of a `Wrong` or "", and the message.
Reply = list[Any] | tuple[str, str]
Serves = Callable[[list[Any], Tensor | None], Reply]


class Served:
    """Serves a plain function of tensors (and None).

    Args:
        function: what is called.
        before: called with the same before each call, but not for its gradients: it may refuse.
    """

    def __init__(
        self, function: Callable[..., Tensor], before: Callable[..., None] | None = None
    ):
        self.function, self.before = function, before

    def __call__(self, given: list[Any], gradient: Tensor | None) -> Reply:
        try:
            leaves = [_leaf(value) for value in given]
            if gradient is None and self.before:
                self.before(*leaves)
            with torch.enable_grad():  # autograd calls this without
                result = self.function(*leaves)
            if gradient is None:
                return [result.detach(), result.requires_grad]
            floats = [leaf for leaf in leaves if leaf is not None and leaf.requires_grad]
            found = torch.autograd.grad(result, floats, gradient, allow_unused=True)
            by_leaf = dict(zip(map(id, floats), found, strict=True))
            return [by_leaf.get(id(leaf)) for leaf in leaves]
        except Wrong as error:
            return error.kind, str(error)
        except Exception as error:
            return "", _said(error)

    def directly(self, *given: Any) -> Tensor:
        """Call the function as an answer of ours may, which is quicker, with the same errors."""
        try:
            if self.before:
                self.before(*given)
            return self.function(*given)
        except Wrong:
            raise
        except Exception as error:
            raise RuntimeError(_said(error)) from None


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def begun(serves: Serves) -> Serves:
    """Return what serves one run: of something that remembers its calls, and has a `begin`, a new one."""
    return serves.begin() if hasattr(serves, "begin") else serves


class Heard:
    """Serves one run, as another does, and remembers the first call that was refused: an answer may hide the error.

    Args:
        serves: what is called.
    """

    def __init__(self, serves: Serves):
        self.serves, self.refused = begun(serves), list[str]()

    def __call__(self, given: list[Any], gradient: Tensor | None) -> Reply:
        reply = self.serves(given, gradient)
        if isinstance(reply, tuple) and reply[0] and not self.refused:
            self.refused += reply
        return reply


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

    Raises:
        Wrong: a call was refused, whatever the answer made of that.
    """
    if serves is None:
        yield []
        return
    if is_ours:
        known = begun(serves)
        if isinstance(known, Served):
            yield [known.directly]
        else:
            yield [lambda *given: _Call.apply(known, *given)[0]]
        return
    heard = Heard(serves)
    questions: SimpleQueue[tuple | None] = SimpleQueue()
    replies: SimpleQueue[Reply] = SimpleQueue()

    def serve() -> None:
        while (question := questions.get()) is not None:
            try:
                replies.put(heard(*question))
            except Exception as error:  # the caller waits for a reply
                replies.put(("", _said(error)))

    def asked(given: list[Any], gradient: Tensor | None) -> Reply:
        questions.put(([_plain(value) for value in given], gradient))
        return replies.get()

    thread = Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield [lambda *given: _Call.apply(asked, *given)[0]]
    finally:
        questions.put(None)
        thread.join()
    if heard.refused:
        raise Wrong(*heard.refused)


def _replied(serves: Serves, given: tuple, gradient: Tensor | None) -> list[Any]:
    """Return what is replied, or raise the error: a `Wrong` of its kind, if it is one."""
    reply = serves(list(given), gradient)
    if isinstance(reply, tuple):
        kind, text = reply
        raise Wrong(kind, text) if kind else RuntimeError(text)
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
    def forward(serves: Serves, *given: Any) -> tuple[Tensor, bool]:
        result, flows = _replied(serves, given, None)
        return result, flows

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: tuple[Tensor, bool]) -> None:
        ctx.serves, *given = inputs
        ctx.save_for_backward(*given)
        ctx.save_for_forward(*given)
        result, flows = output
        if not flows:
            ctx.mark_non_differentiable(result)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor, _: None) -> tuple:
        return None, *_Gradients.apply(ctx.serves, gradient, *ctx.saved_tensors)

    @staticmethod
    def jvp(ctx: Any, _: None, *tangents: Tensor | None) -> tuple[Tensor, None]:
        """Go forward, through a function whose result is one number."""
        found = _Gradients.apply(ctx.serves, torch.ones(()), *ctx.saved_tensors)
        pairs = zip(found, tangents, strict=True)
        parts = [(g * t).sum() for g, t in pairs if g is not None and t is not None]
        return torch.stack(parts).sum(), None

    @staticmethod
    def vmap(*args: Any) -> None:
        raise RuntimeError("This function takes one input at a time.")


class _Gradients(torch.autograd.Function):
    """The gradients by what was given: a node too, to which `torch.func` gives plain tensors."""

    @staticmethod
    def forward(serves: Serves, gradient: Tensor, *given: Any) -> tuple:
        return tuple(_replied(serves, given, gradient))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: tuple) -> None:
        """Nothing goes back from here."""

    vmap = _Call.vmap
