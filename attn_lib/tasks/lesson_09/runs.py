"""How the cases of this lesson call an answer, where it is more than one call of a module.

Nothing here is an answer: this file goes into the sandbox with a learner's code.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from attn_lib.checks.authoring import Wrong


def new_norms(answer: Callable, init: tuple, parameters: dict) -> Tensor:
    """Return the weights and biases of a new block's norms, in the order of their names."""
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
    found = [own[name].detach() for name in sorted(own) if name.startswith("norm")]
    if not found:
        raise Wrong("no parameter", "The module has no parameters of a `norm1`.")
    return torch.stack(found)
