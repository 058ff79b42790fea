"""How the cases of this lesson call an answer, where it is more than one plain call.

Nothing here is an answer: this file goes into the sandbox with a learner's code.
"""

import torch

from attn_lib.checks.authoring import Wrong


def any_int(result, *args):
    """Let whole numbers be of any integer dtype."""
    if isinstance(result, torch.Tensor) and result.dtype in (
        torch.int8,
        torch.uint8,
        torch.int16,
        torch.int32,
    ):
        return result.long()
    if isinstance(result, torch.Tensor) and result.dtype != torch.int64:
        raise Wrong(
            "not whole",
            f"The result should have whole numbers, but its dtype is {result.dtype}.",
        )
    return result
