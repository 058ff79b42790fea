"""What a task is: a reference, a generator of cases, known mistakes, and hints."""

import difflib
import inspect
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

_REGISTRY: dict[str, "Task"] = {}


class Wrong(Exception):
    """Raised by a case's `run` when an answer cannot be used at all; the message is the learner's."""


class Result(NamedTuple):
    """What a module returned, with the parameters whose gradients are compared too."""

    value: Any
    parameters: dict[str, Tensor]


def call(answer: Callable, *args: Any) -> Any:
    """Run a case of a plain function: call it."""
    return answer(*args)


@dataclass(frozen=True)
class Case:
    """One input. Every tensor in `args` is cloned before a call and compared with itself after it.

    Args:
        about: what this input is, to a learner: "L = S = 6, no mask".
        args: what `run` receives after the answer.
        run: `run(answer, *args)` returns a tensor, a number or a tuple of those, or a `Result`.
        grad: whether gradients are compared on this input once all values are right.
        tolerance: allowed difference relative to the largest expected value; None = by dtype.
        in_turns: `run` calls `answer(*tensors, kept)` several times, with what the last call returned
            second as `kept`, and an answer must know nothing but these. The grader then plays `run`
            in its own process, where a learner's code cannot look.
    """

    about: str
    args: tuple
    run: Callable = call
    grad: bool = True
    tolerance: float | None = None
    in_turns: bool = False


class Mistake(NamedTuple):
    """A wrong answer that people really give, and the question that leads out of it."""

    id: str
    question: str
    answer: Callable


@dataclass
class Task:
    """One exercise task. Made by the decorator `task` from its reference answer."""

    name: str
    lesson: int
    points: int
    reference: Callable
    hints: tuple[str, ...]
    returns: tuple[str, ...]
    make_cases: Callable[[torch.Generator], Iterator[Case]] = lambda rng: iter(())
    mistakes: list[Mistake] = field(default_factory=list)

    @property
    def signature(self) -> str:
        """The signature of the contract: "attention(q, k, v)"."""
        kind = "class " if inspect.isclass(self.reference) else ""
        parameters = inspect.signature(self.reference).parameters.values()
        return f"{kind}{self.name}({', '.join(str(p.replace(annotation=p.empty)) for p in parameters)})"

    def cases(self, make: Callable) -> Callable:
        """Decorate the generator of cases, `make(rng)`: the smallest and plainest case first."""
        self.make_cases = make
        return make

    def mistake(self, id: str, question: str) -> Callable:
        """Decorate one wrong answer with its id and its leading question."""

        def keep(answer: Callable) -> Callable:
            self.mistakes.append(Mistake(id, question, answer))
            return answer

        return keep


def task(
    *, lesson: int, points: int, hints: list[str], returns: tuple[str, ...] = ("result",)
) -> Callable[[Callable], Task]:
    """Turn a reference function or class into a `Task` named after it.

    Args:
        lesson: the lesson's number.
        points: what it is worth, all or nothing; 0 for practice.
        hints: graduated, from a nudge to the last step; never the answer.
        returns: a name for each value the answer returns, as the messages call it.
    """

    def register(reference: Callable) -> Task:
        name = reference.__name__
        made = Task(name, lesson, points, reference, tuple(hints), returns)
        _REGISTRY[name] = made
        return made

    return register


def tasks() -> list[Task]:
    """Return every task, in the order of the lessons."""
    return sorted(_REGISTRY.values(), key=lambda t: t.lesson)


def find_task(name: str) -> Task:
    """Return the task of that name.

    Raises:
        ValueError: there is none; the message names the nearest one.
    """
    if isinstance(name, str) and name in _REGISTRY:
        return _REGISTRY[name]
    if not isinstance(name, str) or not name:
        raise ValueError(
            'First comes the name of a task, in quotation marks, as in check("attention", attention). '
            f"There are: {', '.join(_REGISTRY)}."
        )
    near = difflib.get_close_matches(str(name), _REGISTRY, n=1)
    meant = (
        f' Did you mean "{near[0]}"?' if near else f" There are: {', '.join(_REGISTRY)}."
    )
    raise ValueError(f'There is no task named "{name}".{meant}')


def sharpened_parameters(module: nn.Module, rng: torch.Generator) -> dict[str, Tensor]:
    """Draw parameters that make attention visible: logits with a spread near 2, biases not zero.

    PyTorch's default initialization makes the weights nearly uniform, and so hides most mistakes.
    """
    parameters = {}
    for name, parameter in module.named_parameters():
        values = torch.randn(parameter.shape, generator=rng)
        if parameter.ndim == 2:
            gain = 1.5 if name.startswith(("q_proj", "k_proj")) else 1.0
            values = values * gain / parameter.shape[1] ** 0.5
        parameters[name] = values
    return parameters


def run_module(
    answer: Callable,
    init: tuple,
    parameters: dict[str, Tensor],
    *arguments: Any,
) -> Result:
    """Run a case of a module: build it, copy the parameters in by name, call it.

    A bias that the task does not ask for gets random numbers, so that it cannot hide.

    Args:
        answer: the learner's class.
        init: the arguments of its `__init__`.
        parameters: what to copy in, by name.
        arguments: the positional arguments of `forward`, and last, if it is a dict, those given by
            name: a mask.
    """
    *inputs, options = arguments if isinstance(arguments[-1], dict) else (*arguments, {})
    module = answer(*init)
    if not isinstance(module, nn.Module):
        if module is None or module is Ellipsis:
            raise NotImplementedError
        raise Wrong(
            f"The answer must be a class that inherits from `nn.Module`; calling it with {init} "
            f"returned {describe(module)}."
        )
    module.to(inputs[0].dtype)
    own = dict(module.named_parameters(remove_duplicate=False))
    missing = [name for name in parameters if name not in own]
    if missing:
        _raise_if_stub(module, inputs, options)
        raise Wrong(
            f"The module has no parameter `{missing[0]}`. The check copies weights in by name, so "
            "the names must match. "
            + (
                f"It has: {', '.join(own)}."
                if own
                else "It has none. Is there a `self.` before it?"
            )
        )
    wanted = {id(own[name]) for name in parameters}  # a layer may have a second name
    for name, parameter in own.items():
        if name not in parameters:
            if name.endswith("bias") and id(parameter) not in wanted:
                rng = torch.Generator().manual_seed(zlib.crc32(name.encode()))
                nn.init.normal_(parameter, generator=rng)
            continue
        if parameter.shape != parameters[name].shape:
            raise Wrong(
                f"`{name}` should have shape {tuple(parameters[name].shape)}, for {init}, but has "
                f"{tuple(parameter.shape)}. `nn.Linear(a, b).weight` has shape (b, a)."
            )
        with torch.no_grad():
            parameter.copy_(parameters[name])
    with torch.no_grad():
        # Nothing may stay behind from an earlier call.
        module(*(x.flip(1) for x in inputs), **options)
    return Result(module(*inputs, **options), {name: own[name] for name in parameters})


def _raise_if_stub(module: nn.Module, inputs: list, options: dict) -> None:
    """Raise NotImplementedError if `forward` is not written yet; ignore its other errors."""
    try:
        value = module(*inputs, **options)
    except NotImplementedError:
        raise
    except Exception:
        return
    if value is None or value is Ellipsis:
        raise NotImplementedError


def describe(value: Any) -> str:
    """Say in a few words what a value is: "a tensor of shape (2, 3)", "a str"."""
    if isinstance(value, Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    if inspect.isclass(value):
        return f"the class {value.__name__}"
    if isinstance(value, tuple | list):
        return f"a {type(value).__name__} of {len(value)}"
    kind = type(value).__name__
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"
