"""How the cases of this lesson call an answer, where it is more than one call of a module.

Nothing here is an answer: this file goes into the sandbox with a learner's code.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from attn_lib.checks.authoring import Wrong


def two_new_norms(answer: Callable, init: tuple, parameters: dict) -> Tensor:
    """Return the weights and biases of a new block's norms, in the order of their names."""
    return _new_norms(answer, init, 2)


def three_new_norms(answer: Callable, init: tuple, parameters: dict) -> Tensor:
    """Return those of a block of three norms."""
    return _new_norms(answer, init, 3)


def _new_norms(answer: Callable, init: tuple, count: int) -> Tensor:
    module = answer(*init)
    is_module = isinstance(module, nn.Module)
    own = dict(module.named_parameters(remove_duplicate=False)) if is_module else {}
    names = {id(parameter): name for name, parameter in reversed(own.items())}
    for name, parameter in own.items():
        if name.startswith("norm") and (first := names[id(parameter)]) != name:
            raise Wrong(
                "shared parameter",
                f"Each norm has parameters of its own, but `{name}` is `{first}`.",
            )
    asked = [f"norm{n}.{part}" for n in range(1, count + 1) for part in ("bias", "weight")]
    theirs = [name for name in own if "attn" not in name and not name.startswith("ff.")]
    there = f"Beside those of attention and `ff`, it has: {', '.join(theirs) or 'none'}."
    for name in asked:
        if name not in own:
            raise Wrong("no norm", f"The module has no parameter `{name}`. {there}")
        if own[name].shape != (init[0],):
            text = f"`{name}` should have shape {(init[0],)}, but has {tuple(own[name].shape)}."
            raise Wrong("size of a norm", text)
    for name in theirs:
        if name not in asked:
            raise Wrong(
                "other state", f"The module has a parameter `{name}` too many. {there}"
            )
    return torch.stack([own[name].detach() for name in asked])
