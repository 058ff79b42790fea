"""Run a module: build it, give it parameters by name, and call it."""

import contextlib
import inspect
import zlib
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

from attn_lib.checks.case import Result, Wrong, quicker
from attn_lib.checks.say import describe

KEEPS = "Called twice with the same arguments, and with other ones and other weights between, the module gives two results."
WITH_GRADIENTS = "Called twice with the same arguments, in `torch.no_grad()` and outside of it, the module gives two results."
NOT_TRAINED = (
    "Where the weights ask for gradients and the input does not, as in the first layer of a model, nothing leads from the "
    "result back to the weights: `loss.backward()` would train nothing."
)
TRAINING = (
    "In training mode the module gives another result than in `eval()`, and draws nothing."
)


def sharpened_parameters(
    module: nn.Module, rng: torch.Generator, dtype: torch.dtype = torch.float32
) -> dict[str, Tensor]:
    """Draw parameters that make attention visible: logits with a spread near 2, biases not zero.

    PyTorch's default initialization makes the weights nearly uniform, and so hides most mistakes.
    """
    parameters = {}
    for name, parameter in module.named_parameters():
        values = torch.randn(parameter.shape, generator=rng)
        if parameter.ndim == 2:
            gain = 1.5 if name.startswith(("q_proj", "k_proj")) else 1.0
            values = values * gain / parameter.shape[1] ** 0.5
        parameters[name] = values.to(dtype)
    return parameters


def known_run(template: nn.Module) -> Callable:
    """Return a quick `run` for known classes that differ from a module's in other methods than `__init__`.

    Building modules takes most of the time of a search. The class of one that stands is changed instead.
    """

    def run(answer: Any, init: tuple, parameters: dict, *arguments: Any) -> Result:
        inputs, options = inputs_and_options(arguments)
        template.__class__ = answer
        with torch.no_grad():
            return Result(template(*inputs, **options), {})

    return run


def run_known_module(
    answer: Callable, init: tuple, parameters: dict[str, Tensor], *arguments: Any
) -> Result:
    """Run a case of a module that is a known answer: it need not be called twice."""
    inputs, options = inputs_and_options(arguments)
    module, _ = built(answer, init, parameters, inputs, options)
    torch.default_generator.manual_seed(0)
    with torch.no_grad():
        return Result(module(*inputs, **options), {})


@quicker(run_known_module)
def run_module(
    answer: Callable,
    init: tuple,
    parameters: dict[str, Tensor],
    *arguments: Any,
) -> Result:
    """Run a case of a module: build it, copy the parameters in by name, call it.

    A parameter that the task does not ask for gets random numbers, so that it cannot hide: a bias of zeros would
    move with the first step of a training. A case that asks for none looks at how a new module begins.

    Args:
        answer: the learner's class.
        init: the arguments of its `__init__`.
        parameters: what to copy in, by name.
        arguments: the positional arguments of `forward`, and last, if it is a dict, those given by
            name: a mask.
    """
    inputs, options = inputs_and_options(arguments)
    before = [x.clone() for x in inputs]
    module, own = built(answer, init, parameters, inputs, options)
    seed = torch.default_generator.manual_seed
    with torch.no_grad():
        seed(0)  # a dropout does the same as in a known mistake
        first = deepcopy(module)(*(x.clone() for x in inputs), **deepcopy(options))
        _call_with_other_numbers(module, inputs, options)
        others = {name: -0.5 * parameter for name, parameter in parameters.items()}
        beside, _ = built(answer, init, others, inputs, options)
        beside(*inputs, **deepcopy(options))  # another one, which reads the same
        if not options:
            _call_with_masks(module, [x.clone() for x in inputs])
        seed(0)
        last = module(*inputs, **deepcopy(options))
    seed(0)
    value = module(*inputs, **options)
    as_before = all(map(_is_alike, before, inputs))
    if as_before and not _is_alike(first, last):
        raise Wrong("keeps something", KEEPS)
    if as_before and not _is_alike(last, value):
        raise Wrong("another with gradients", WITH_GRADIENTS)
    if parameters and inputs[0].requires_grad and _has_a_way_back(value):
        seed(0)
        alone = module(*(x.detach() for x in inputs), **options)
        if not _has_a_way_back(alone):
            raise Wrong("nothing to train", NOT_TRAINED)
    return Result(value, {name: own[name] for name in parameters})


def _call_with_other_numbers(
    module: nn.Module, inputs: list[Tensor], options: dict[str, Any]
) -> None:
    """Call a module while other numbers stand in its weights and in the same inputs and masks.

    Nothing may stay behind from an earlier call, in its mask or weights neither: that is reported.
    """
    given = [*inputs, *options.values()]
    tensors = [x for x in given if isinstance(x, Tensor) and x.ndim and 0 not in x.stride()]
    weights, numbers = list(module.parameters()), [x.clone() for x in tensors]
    kept = [weight.clone() for weight in weights]
    others = [-0.5 * weight for weight in kept]

    def put(parameters: list, values: list) -> None:
        for parameter, value in zip(parameters, values, strict=True):
            parameter.copy_(value)

    def turned(x: Any) -> Any:
        is_turned = isinstance(x, Tensor) and x.ndim
        return x.flip(1 if x.is_floating_point() else -1) if is_turned else x

    masks = {name: turned(mask) for name, mask in options.items()}
    put(weights, others)
    if all(x.ndim == 3 and x.shape[1] > 1 for x in inputs):
        with contextlib.suppress(Exception):  # a case without a mask shows what is wrong
            module(*(x[:, :-1] for x in inputs))  # shorter sentences, without masks
    module(*map(turned, inputs), **deepcopy(options))
    put(weights, kept)
    put(tensors, [turned(x) for x in numbers])
    module(*inputs, **options)
    put(tensors, numbers)
    put(weights, others)
    module(*inputs, **masks)
    put(weights, kept)


def _has_a_way_back(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


def _is_alike(first: Any, second: Any) -> bool:
    if not isinstance(first, Tensor) or not isinstance(second, Tensor):
        return True  # which is told from the one that is returned
    alike = first.shape == second.shape
    return alike and first.allclose(second, 1e-3, 1e-3, equal_nan=True)


def _call_with_masks(module: nn.Module, inputs: list[Tensor]) -> None:
    """Call a module with each of the masks that it takes."""
    names = inspect.signature(module.forward).parameters
    B, L, S = inputs[0].shape[0], inputs[0].shape[1], inputs[-1].shape[1]
    masks = {
        "mask": torch.ones(L, S, dtype=torch.bool).tril(),
        "context_mask": (torch.arange(S) < 1).expand(B, S),
    }
    for name in names & masks.keys():
        with contextlib.suppress(Exception):  # a case with a mask shows what is wrong
            module(*inputs, **{name: masks[name]})


def without_chance(run: Callable) -> Callable:
    """Return a `run` after which no random number may have been drawn since the call began."""

    def watched(answer: Any, *arguments: Any) -> Result:
        torch.default_generator.manual_seed(0)  # as those that build a module do after that
        result = run(answer, *arguments)
        drawn = torch.default_generator.get_state()
        if not drawn.equal(torch.default_generator.manual_seed(0).get_state()):
            raise Wrong(
                "draws", "In `eval()`, a call draws random numbers: two calls, two results."
            )
        return result

    return watched


run_known_module_in_eval = without_chance(run_known_module)


@quicker(run_known_module_in_eval)
def run_module_in_eval(answer: Callable, *arguments: Any) -> Result:
    """Run a case of a module in eval mode: a dropout may be in it, and must do nothing."""

    def in_eval(*sizes: Any) -> Any:
        module = answer(*sizes)
        return module.eval() if isinstance(module, nn.Module) else module

    return without_chance(run_module)(in_eval, *arguments)


def run_module_in_training(answer: Callable, *arguments: Any) -> Result:
    """Run a case of a module in eval mode; if it draws nothing, it must do the same in training mode."""
    init, parameters, *given = arguments
    inputs, options = inputs_and_options(tuple(given))
    module, _ = built(answer, init, parameters, inputs, options)
    with torch.no_grad():
        value = deepcopy(module).eval()(*inputs, **deepcopy(options))
        before = torch.default_generator.manual_seed(0).get_state()
        other = module.train()(*inputs, **options)
    drew = not before.equal(torch.default_generator.get_state())
    if not drew and not _is_alike(value, other):
        raise Wrong("wrong in training", TRAINING)
    return Result(value, {})


MODULE_RUNS = run_module, run_module_in_eval, run_module_in_training


def inputs_and_options(arguments: tuple) -> tuple[list[Tensor], dict[str, Any]]:
    *inputs, options = arguments if isinstance(arguments[-1], dict) else (*arguments, {})
    return inputs, options


def built(
    answer: Callable,
    init: tuple,
    parameters: dict[str, Tensor],
    inputs: list[Tensor],
    options: dict[str, Any],
) -> tuple[nn.Module, dict[str, nn.Parameter]]:
    """Build a module and copy the parameters in; return it with all of its own, by name."""
    module = answer(*init)
    if not isinstance(module, nn.Module):
        if module is None or module is Ellipsis:
            raise NotImplementedError
        raise Wrong(
            "wrong",
            f"The answer must be a class that inherits from `nn.Module`; calling it with {init} "
            f"returned {describe(module)}.",
        )
    module.to(inputs[0].dtype)
    own = dict(module.named_parameters(remove_duplicate=False))
    missing = [name for name in parameters if name not in own]
    if missing:
        _raise_if_stub(module, inputs, options)
        raise Wrong(
            "no parameter",
            f"The module has no parameter `{missing[0]}`. The check copies weights in by name, so "
            "the names must match. "
            + (
                f"It has: {', '.join(own)}."
                if own
                else "It has none. Is there a `self.` before it, and does a Module or a Parameter stand there, not a list?"
            ),
        )
    wanted = {id(own[name]) for name in parameters}  # a layer may have a second name
    norms = {
        id(parameter)
        for part in module.modules()
        if isinstance(part, nn.LayerNorm | nn.RMSNorm)
        for parameter in part.parameters(recurse=False)
    }
    for name, parameter in own.items():
        if name not in parameters:
            is_known = id(parameter) in wanted or id(parameter) in norms
            if parameters and parameter.requires_grad and not is_known:
                rng = torch.Generator().manual_seed(zlib.crc32(name.encode()))
                nn.init.normal_(parameter, generator=rng)
            continue
        if parameter.shape != parameters[name].shape:
            raise Wrong(
                "another shape",
                f"`{name}` should have shape {tuple(parameters[name].shape)}, for {init}, but has "
                f"{tuple(parameter.shape)}. `nn.Linear(a, b).weight` has shape (b, a).",
            )
        with torch.no_grad():
            parameter.copy_(parameters[name])
    return module, own


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
