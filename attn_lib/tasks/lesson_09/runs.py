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
    own = dict(module.named_parameters()) if isinstance(module, nn.Module) else {}
    found = [own[name].detach() for name in sorted(own) if name.startswith("norm")]
    if not found:
        raise Wrong("no parameter", "The module has no parameters of a `norm1`.")
    return torch.stack(found)
