"""How the cases of this lesson call an answer, where it is more than one plain call.

Nothing here is an answer: this file goes into the sandbox with a learner's code.
"""

import torch

from attn_lib.checks.case import Wrong
from attn_lib.checks.say import describe
from attn_lib.memory_meter import MemoryMeter


class FullMatrix(Wrong):
    """A tensor has a number for each pair of a query and a key."""


class FullMask(Wrong):
    """A tensor has one byte for each pair of a query and a key."""


class KeptBlocks(Wrong):
    """Each tensor is small, but together they have a number for each pair."""


class OutOfSight(Wrong):
    """What was returned was not made by PyTorch, in this thread."""


def metered(answer, q, k, v, *options):
    """Run a case of one head under the memory meter: nothing may be quadratic in the length.

    No tensor may have L · S bytes: a boolean mask for all pairs has as many. All that are alive at one
    time may not have twice as many: so many have the blocks of a matrix in half precision.
    """
    with MemoryMeter(ignore=(q, k, v)) as meter:
        result = answer(q, k, v, *options)
        if isinstance(result, torch.Tensor):
            result = result.clone()  # the meter may not have seen it made
    if not isinstance(result, torch.Tensor):
        return result
    L, S = q.shape[-2], k.shape[-2]
    limit = f"L · S = {L} · {S} = {L * S:,} bytes"
    if meter.largest >= L * S:
        kind = FullMask if meter.largest < 2 * L * S else FullMatrix
        raise kind(
            "A tensor is too large.\n"
            f"It has {meter.largest:,} bytes: {meter.where}. Here none may have {limit} or more."
        )
    if meter.peak >= 2 * L * S:
        raise KeptBlocks(
            "Each tensor is small enough, but too many are alive at one time.\n"
            f"Together they have {meter.peak:,} bytes; the largest has {meter.largest:,}: "
            f"{meter.where}. Here all together may not have twice {limit}."
        )
    if meter.unseen >= q.nbytes:
        raise OutOfSight(
            "The memory of your answer cannot be measured.\n"
            f"{meter.unseen:,} bytes came from where the meter does not see how they were made."
        )
    return result


def whole_rows(answer, m, l, acc, scores, values, sizes):  # noqa: E741
    """Give an answer one block of keys after the other; `sizes` says how many keys each has.

    The gradient is that of acc / l, where a maximum plays no part: it may be cut off, or not.
    """
    start = 0
    for block, size in enumerate(sizes, start=1):
        keys = slice(start, start + size)
        start += size
        result = answer(m, l, acc, scores[..., keys], values[..., keys, :])
        if result is None or result is Ellipsis:
            return result
        m, l, acc = checked_state(result, (m, l, acc), block)  # noqa: E741
    empty = l.detach() == 0
    total = l.masked_fill(empty, 1.0)
    return m.detach(), l.detach(), acc / total * total.detach()


def checked_state(result, state, block):
    """Take apart what `online_softmax_step` returned for its block number `block`, counted from 1."""
    three = "It should return three tensors, m, l and acc, but it returned "
    if not isinstance(result, tuple | list):
        raise Wrong(f"{three}{describe(result)}.")
    if len(result) != 3:
        raise Wrong(f"{three}{len(result)}.")
    for name, old, new in zip(("m", "l", "acc"), state, result, strict=True):
        if not isinstance(new, torch.Tensor):
            raise Wrong(f"After block {block}, {name} is {describe(new)}, not a tensor.")
        for what, asked, got in (
            ("shape", tuple(old.shape), tuple(new.shape)),
            ("dtype", old.dtype, new.dtype),
        ):
            if asked != got:
                raise Wrong(
                    f"After block {block}, {name} should have the {what} {asked}, but it has {got}."
                )
    return result
