"""How the cases of this lesson call an answer, where it is more than one plain call.

Nothing here is an answer: this file goes into the sandbox with a learner's code.
"""

import torch

from attn_lib.checks.authoring import Wrong


def written_into(answer, *sizes):
    """Call it, write into the result, and call it again: neither may find there what is the other's."""
    first = answer(*sizes)
    if isinstance(first, torch.Tensor):
        first.fill_(1.0)
    second = answer(*sizes)
    both = (first, second) if isinstance(first, torch.Tensor) else ()
    ones = [isinstance(t, torch.Tensor) and bool((t == 1.0).all()) for t in both]
    if ones and ones != [True, False]:
        raise Wrong(
            "keeps something",
            "Called twice with the same sizes, and ones written into the first result in between: both results "
            "hold the same numbers then. Are they one tensor?",
        )
    return second


def after_a_wider_one(answer, length, d_model):
    """Ask for a table of twice the width first."""
    answer(length, 2 * d_model)
    return answer(length, d_model)


def last_rows(answer, length, d_model):
    """Ask for a table that is too large to be sent, and return its last rows."""
    table = answer(length, d_model)
    return table[-3:] if isinstance(table, torch.Tensor) and table.ndim else table


def of_two_chunks(answer, x, positions):
    """Turn one chunk and then the next, before anybody asks for gradients."""
    both = [answer(x, positions), answer(x, positions + len(positions))]
    is_usual = all(isinstance(chunk, torch.Tensor) and chunk.ndim == 4 for chunk in both)
    return torch.cat(both, 2) if is_usual else both[0]


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
            f"The result should have whole numbers, of int8 to int64 or uint8, but its dtype is {result.dtype}.",
        )
    return result
