"""Run an answer once, walled off from the learner's session, and note everything it did."""

import contextlib
import dis
import inspect
import io
import os
import random
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.random import mtrand
from torch import Tensor
from torch.autograd import grad  # as it is now: a learner's code may put another one there

from attn_lib.checks.case import Case, Result, Wrong
from attn_lib.checks.say import safe_str
from attn_lib.checks.served import calls

# Characters kept of what an answer prints: a flood must not fill the memory.
PRINT_LIMIT = 10_000
# What Python makes of a function without code.
EMPTY = {"RESUME", "NOP", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST"}


class Frame(NamedTuple):
    """A line of the learner's code that an error passed through."""

    function: str
    line: int


@dataclass(frozen=True)
class Raised:
    """The words that are kept of an error, so that it can travel between processes.

    Attributes:
        kind: the error's class, by name, ValueError for every kind of it; the kind of a `Wrong`.
        text: its message.
        explanation: both, with the line of the learner's code.
        frames: where in the learner's code, outermost first.
        is_wrong: whether it is `Wrong`, whose message is meant for the learner.
    """

    kind: str
    text: str
    explanation: str
    frames: tuple[Frame, ...] = ()
    is_wrong: bool = False


@dataclass
class Outcome:
    """The values, gradients, errors and prints of one call of an answer."""

    # Tensors or numbers, in the order returned.
    values: list[Any] = field(default_factory=list)
    is_sequence: bool = False  # they came as a tuple or list
    gradients: dict[str, Tensor | None] = field(default_factory=dict)
    error: Raised | None = None
    untouched: bool = False  # the stub is still there: NotImplementedError, or no code
    interrupted: bool = False
    after: dict[str, Tensor] = field(default_factory=dict)  # its arguments, after the call
    changed: list[str] = field(default_factory=list)  # arguments that were changed in place
    drew: bool = False  # random numbers, in a function
    printed: str = ""

    @property
    def is_nothing(self) -> bool:
        """Whether it returned, but nothing."""
        # Nothing is compared by ==: an array of NumPy's would answer with an array.
        return not self.is_sequence and any(v is None or v is ... for v in self.values)


class _BoundedText(io.TextIOBase):
    """A text stream that keeps the beginning and drops the rest."""

    def __init__(self) -> None:
        self.text = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.text += text[: max(0, PRINT_LIMIT - len(self.text))]
        return len(text)


_BITS = np.random.MT19937()
_NOTHING_DRAWN = torch.Generator().manual_seed(0).get_state()


@contextlib.contextmanager
def walled_off(captured: io.TextIOBase | None = None) -> Iterator[None]:
    """Capture prints and warnings; start from known settings; put the session's own back.

    Args:
        captured: receives what is printed or warned of meanwhile; None throws it away.
    """
    captured = captured or _BoundedText()
    python_state, numpy_bits = random.getstate(), mtrand.get_bit_generator()
    folder, search_path = os.getcwd(), list(sys.path)
    dtype, device = torch.get_default_dtype(), torch.get_default_device()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the tensors are tiny: more threads only wait for each other
    torch.set_default_dtype(torch.float32)
    if device.type != "cpu":
        torch.set_default_device("cpu")
    random.seed(0)
    mtrand.set_bit_generator(_BITS)  # quicker than to copy the session's
    np.random.seed(0)
    try:
        with (
            torch.random.fork_rng(devices=[]),
            torch.inference_mode(False),
            torch.enable_grad(),
            torch.autocast("cpu", enabled=False),
            contextlib.redirect_stdout(captured),
            contextlib.redirect_stderr(captured),
            warnings.catch_warnings(record=True) as caught,
        ):
            warnings.simplefilter("always")
            # torch.manual_seed would wake the accelerators too.
            torch.default_generator.manual_seed(0)
            try:
                yield
            finally:
                for warning in caught:
                    captured.write(f"{warning.category.__name__}: {warning.message}\n")
    finally:
        random.setstate(python_state)
        mtrand.set_bit_generator(numpy_bits)
        os.chdir(folder)
        sys.path[:] = search_path
        torch.set_num_threads(threads)
        torch.set_default_dtype(dtype)
        # None, not "cpu": a device that is set, even this one, stays as a mode around every call.
        torch.set_default_device(None if device.type == "cpu" else device)


def observe(answer: Callable, case: Case, *, gradients: bool = False) -> Outcome:
    """Call an answer on clones of a case's arguments, walled off; never raise, whatever it does.

    Args:
        answer: the learner's function or class.
        case: the input.
        gradients: also differentiate a fixed random mixture of all results.
    """
    outcome, captured = Outcome(), _BoundedText()
    try:
        with walled_off(captured):
            outcome = attempt(answer, case, gradients=gradients)
    except KeyboardInterrupt as error:
        outcome.error, outcome.interrupted = _describe_error(error), True
    outcome.printed = captured.text
    return outcome


def attempt(
    answer: Callable, case: Case, *, gradients: bool = False, is_ours: bool = False
) -> Outcome:
    """Do what `observe` does, for many answers within one `walled_off`.

    Args:
        answer: the learner's function or class, or a known mistake.
        case: the input.
        gradients: also differentiate.
        is_ours: look neither at changed arguments nor at the lines of an error.
    """
    outcome = Outcome()
    torch.default_generator.manual_seed(0)
    try:
        args, leaves = _clone(case.args, gradients)
        try:
            with calls(case.serves, is_ours=is_ours) as functions:
                returned = case.run(answer, *args, *functions)
        except NotImplementedError as error:
            outcome.untouched = not _from_torch(error)
            raise
        if not is_ours and not isinstance(answer, type):  # to build a module draws some
            outcome.drew = not torch.default_generator.get_state().equal(_NOTHING_DRAWN)
        parameters: dict[str, Tensor] = {}
        if isinstance(returned, Result):
            returned, parameters = returned
        is_nothing = returned is None or returned is Ellipsis
        outcome.untouched = is_nothing and _is_empty(answer)
        outcome.values = plain_values(returned)
        outcome.is_sequence = isinstance(returned, tuple | list)
        if gradients:
            outcome.gradients = _gradients(outcome.values, leaves | parameters)
        finish(outcome, case, is_ours=is_ours)
        if is_ours:
            return outcome
        outcome.after = {
            name: tensor.new_empty(0) if _is_marked(tensor, gradients) else tensor
            for name, tensor in named_tensors(args).items()
        }
        if not changed(case.args, outcome.after):
            others = _other_things(case.args, args)
            outcome.after |= {path: torch.empty(0) for path in others}
        earlier = _earlier.pop(id(answer), None)
        if earlier is not None and _is_changed(earlier):
            outcome.after[next(iter(outcome.after), "0")] = torch.empty(0)
        outcome.changed = changed(case.args, outcome.after)
        if len(_earlier) > FEW:
            _earlier.clear()
        if (
            not outcome.changed
        ):  # else it is told now, and a helper may be mended before the next call
            _earlier[id(answer)] = Earlier(answer, case.args, args)
    except KeyboardInterrupt as error:
        outcome.error, outcome.interrupted = _describe_error(error), True
    except BaseException as error:  # SystemExit too: no answer may end the session
        outcome.error = _brief(error) if is_ours else _describe_error(error)
    return outcome


def _is_empty(answer: Callable) -> bool:
    """Say whether an answer has no code of its own but `pass`, `...` or a docstring."""
    method = answer.forward if hasattr(answer, "forward") else answer
    code = getattr(method, "__code__", None)
    return code is None or {line.opname for line in dis.get_instructions(code)} <= EMPTY


def finish(outcome: Outcome, case: Case, *, is_ours: bool = False) -> None:
    """Let a case make what is compared of what came back, if there is anything."""
    if case.finish is None or outcome.is_nothing or outcome.error is not None:
        return
    try:
        values = outcome.values
        returned = case.finish(
            tuple(values) if outcome.is_sequence else values[0], *case.args
        )
        outcome.values = plain_values(returned)
        outcome.is_sequence = isinstance(returned, tuple | list)
    except Exception as error:  # `Wrong`, or whatever odd values lead to
        outcome.error = _brief(error) if is_ours else _describe_error(error)
        outcome.values = []


def changed(args: tuple, after: dict[str, Tensor]) -> list[str]:
    """List the tensors of a case's arguments that are not as they were, by their paths.

    Args:
        args: the case's arguments.
        after: the same ones after a call, as `named_tensors` gives them.
    """
    before = named_tensors(args)
    differ = [name for name, tensor in before.items() if not _same(tensor, after.get(name))]
    # What was put into a list or a dict, or in the place of something there.
    return differ + [name for name in after if name not in before]


class Earlier(NamedTuple):
    """The last input of an answer, and what it was given; the answer is kept, or another one could have its id."""

    answer: Any
    before: tuple
    given: Any


_earlier: dict[int, Earlier] = {}  # by the answer's id
FEW = 4  # answers whose last input is kept


def _is_changed(earlier: Earlier) -> bool:
    """Say whether an input was changed since its call: by a thread, or by this call."""
    _, before, given = earlier
    return bool(changed(before, named_tensors(given))) or any(_other_things(before, given))


def _is_marked(tensor: Tensor, gradients: bool) -> bool:
    """Say whether something hangs on a tensor that was plain: a gradient, a hook, or that one is asked for."""
    if gradients:
        return bool(tensor._backward_hooks)
    return tensor.requires_grad or tensor.grad is not None or bool(tensor._backward_hooks)


def _other_things(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """Yield the paths where a list, a tuple or a dict holds something else than before, but for tensors' numbers."""
    if isinstance(before, Tensor) and isinstance(after, Tensor):
        return
    if isinstance(before, list | tuple | dict):
        if type(after) is not type(before) or len(after) != len(before):
            yield f"{path}.{len(before)}"
        elif isinstance(before, dict) and [*after] != [*before]:
            yield f"{path}.keys"
        else:
            keys = before if isinstance(before, dict) else range(len(before))
            for key in keys:
                inner = f"{path}.{key}" if path else str(key)
                yield from _other_things(before[key], after[key], inner)
    elif isinstance(before, str | int | float | None) and (
        type(after) is not type(before) or before != after
    ):
        yield path


def _brief(error: BaseException) -> Raised:
    """Say what a known mistake raised: what an answer's error is compared with."""
    text = safe_str(error)
    return Raised(_kind(error), text, text, is_wrong=isinstance(error, Wrong))


def _kind(error: BaseException) -> str:
    """Return the name of an error's class, or the kind of a `Wrong`.

    A learner's own kind of ValueError is one, too.
    """
    if isinstance(error, Wrong):
        return error.kind
    name = type(error).__name__
    if isinstance(error, ValueError):
        return "ValueError"
    return f"another {name}" if name == "ValueError" else name


def named_tensors(args: tuple) -> dict[str, Tensor]:
    """List the tensors in a case's arguments, also inside lists and dicts, by a path like "0"."""
    found: dict[str, Tensor] = {}

    def walk(path: str, value: Any) -> None:
        if isinstance(value, Tensor):
            found[path] = value
        elif isinstance(value, tuple | list):
            for i, item in enumerate(value):
                walk(f"{path}.{i}" if path else str(i), item)
        elif isinstance(value, dict):
            for key, item in value.items():
                walk(f"{path}.{key}" if path else str(key), item)

    walk("", args)
    return found


def _clone(args: Any, gradients: bool) -> tuple[Any, dict[str, Tensor]]:
    """Copy the arguments, memory layout included; return also the leaves to differentiate by."""
    leaves: dict[str, Tensor] = {}

    def copy(path: str, value: Any) -> Any:
        if isinstance(value, Tensor):
            leaf = _as_it_lies(value)
            if not gradients or not leaf.is_floating_point():
                return leaf
            leaves[path] = leaf.requires_grad_()
            # A leaf that needs gradients may not be changed in place; a copy of it may, and then
            # the change is reported as what it is.
            return leaf.clone(memory_format=torch.preserve_format)
        if isinstance(value, tuple | list):
            return type(value)(
                copy(f"{path}.{i}" if path else str(i), v) for i, v in enumerate(value)
            )
        if isinstance(value, dict):
            return {k: copy(f"{path}.{k}" if path else str(k), v) for k, v in value.items()}
        return value

    return copy("", args), leaves


def _as_it_lies(tensor: Tensor) -> Tensor:
    """Copy a tensor with its strides, the gaps between its numbers included."""
    strides = tensor.stride()
    reach = 1 + sum(s * (n - 1) for s, n in zip(strides, tensor.shape, strict=True))
    if reach <= tensor.numel() or 0 in strides or not tensor.numel():
        return tensor.detach().clone(memory_format=torch.preserve_format)
    room = tensor.new_zeros(reach + 1)  # nor does it begin at the first number
    return room.as_strided(tensor.shape, strides, 1).copy_(tensor.detach())


def plain_values(returned: Any) -> list[Any]:
    """Flatten one level of tuple or list; turn tensor subclasses into plain tensors."""
    if inspect.iscoroutine(returned):
        returned.close()
    values = list(returned) if isinstance(returned, tuple | list) else [returned]
    return [_plain_tensor(v) if isinstance(v, Tensor) else v for v in values]


def _plain_tensor(value: Tensor) -> Tensor:
    if type(value) is Tensor:
        return value
    with torch._C.DisableTorchFunctionSubclass():
        return torch.Tensor.as_subclass(value, Tensor)


def _gradients(values: list[Any], leaves: dict[str, Tensor]) -> dict[str, Tensor | None]:
    mixture = torch.zeros((), dtype=torch.float64)
    rng = torch.Generator().manual_seed(0)
    for value in values:
        if isinstance(value, Tensor) and value.is_floating_point():
            weight = torch.randn(value.shape, generator=rng, dtype=torch.float64)
            mixture = mixture + (value.double() * weight).sum()
    if not mixture.requires_grad:
        return dict.fromkeys(leaves)
    open_leaves = {name: leaf for name, leaf in leaves.items() if leaf.requires_grad}
    found = grad(mixture, list(open_leaves.values()), allow_unused=True)
    return dict.fromkeys(leaves) | dict(zip(open_leaves, found, strict=True))


def _same(before: Tensor, after: Tensor | None) -> bool:
    if after is None or (before.shape, before.dtype) != (after.shape, after.dtype):
        return False
    return bool(((before == after) | (before.isnan() & after.isnan())).all())


def _from_torch(error: BaseException) -> bool:
    """PyTorch raises NotImplementedError for a dtype it lacks: that is an error, not a stub."""
    return "not implemented for" in safe_str(error) or "Could not run" in safe_str(error)


def _describe_error(error: BaseException) -> Raised:
    """Say what was raised and on which line of the learner's code."""
    text = safe_str(error)
    kind = type(error).__name__
    explanation = f"{kind}: {text[:600]}" if text else kind
    if isinstance(error, RecursionError):
        explanation += " (the function calls itself too often)"
    if isinstance(error, SystemExit):
        explanation += " (an answer may not end the program)"
    if "modified by an inplace operation" in text:
        explanation += (
            "\n`x += y` and `x[...] = y` write into x, which the gradient still needs. `x = x + y` makes "
            "a new tensor, and so do `masked_fill` and `torch.where`."
        )
    frames = _learner_frames(error)
    if frames:
        last = frames[-1]
        where = f"\n    line {last.lineno}, in {last.name}: {last.line or ''}"
        explanation += where.rstrip(": ")
        caller = next((f for f in reversed(frames) if f.name != last.name), None)
        if caller:  # what is wrong may be what it passes on
            where = f"\n    called in line {caller.lineno}, in {caller.name}: {caller.line or ''}"
            explanation += where.rstrip(": ")
    return Raised(
        _kind(error),
        text,
        explanation,
        tuple(Frame(frame.name, frame.lineno or 0) for frame in frames),
        isinstance(error, Wrong),
    )


def _learner_frames(error: BaseException) -> list[traceback.FrameSummary]:
    """Return the frames of an error that belong to the learner's code, outermost first."""
    package = Path(__file__).parents[1]
    ours = str(package / "checks"), str(package / "tasks")
    return [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(ours) and "site-packages" not in frame.filename
    ]
