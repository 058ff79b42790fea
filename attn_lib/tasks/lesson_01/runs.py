"""How the cases of this lesson call an answer, where it is more than one plain call.

Nothing here is an answer: this file goes into the sandbox with a learner's code.
"""

import inspect

import torch

from attn_lib.checks.authoring import Wrong


def with_dim(answer, x, dim):
    """Give dim by name, unless the answer calls it otherwise."""
    try:
        by_position = "dim" not in inspect.signature(answer).parameters
    except (TypeError, ValueError):  # a function built into PyTorch
        by_position = False
    return answer(x, dim) if by_position else answer(x, dim=dim)


def exact_zero(result, x):
    """Insist that -inf gets exactly 0."""
    if isinstance(result, torch.Tensor) and result.shape == x.shape:
        largest = result[x == -torch.inf].abs().max().item()
        if 0 < largest < 1e-3:  # anything larger shows as an ordinary difference
            raise Wrong(
                "wrong", f"A score of -inf should get exactly 0, but gets {largest:.3g}."
            )
    return result
