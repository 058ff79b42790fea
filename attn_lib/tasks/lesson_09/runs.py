"""How the cases of this lesson call an answer, where it is more than one call of a module.

Nothing here is an answer: this file goes into the sandbox with a learner's code.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from attn_lib.checks.authoring import Wrong, built


def among_other_calls(
    answer: Callable, init: tuple, parameters: dict, *arguments
) -> Tensor:
    """Call a block after all that another call may differ in.

    A block beside it has other weights. Before, it reads shorter sentences without masks, other tensors,
    the same tensors while they hold other numbers, and the same sentences with other weights and masks.
    """
    *inputs, options = arguments
    module, _ = built(answer, init, parameters, inputs, options)
    others = {name: p.flip(-1) * 0.5 for name, p in parameters.items()}
    beside, _ = built(answer, init, others, inputs, options)
    masks, weights = list(options.values()), list(module.parameters())

    def flipped() -> dict[str, Tensor]:
        return {name: mask.flip(-1) for name, mask in options.items()}

    with torch.no_grad():
        beside.eval()(*inputs, **options)
        module.eval()(*(x[:, :-1] for x in inputs))
        module(*inputs)
        module(*(x.flip(-1) for x in inputs), **flipped())
        for changed in ([*weights, *inputs, *masks], weights):
            wanted = [tensor.clone() for tensor in changed]
            for tensor in changed:
                tensor.copy_(tensor.flip(-1))
            module(*inputs, **flipped())
            module(*inputs, **options)
            for tensor, numbers in zip(changed, wanted, strict=True):
                tensor.copy_(numbers)
        return module(*inputs, **options)


def new_norms(answer: Callable, init: tuple, parameters: dict) -> Tensor:
    """Return the weights and biases of a new block's norms, in the order of their names."""
    module = answer(*init)
    own = dict(module.named_parameters()) if isinstance(module, nn.Module) else {}
    found = [own[name].detach() for name in sorted(own) if name.startswith("norm")]
    if not found:
        raise Wrong("no parameter", "The module has no parameters of a `norm1`.")
    return torch.stack(found)
