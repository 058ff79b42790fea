"""How the cases of this lesson call an answer, where it is more than one plain call.

Nothing here is an answer: this file goes into the sandbox with a learner's code.
"""

import math
import tracemalloc

import torch

from attn_lib.checks.authoring import Wrong, describe, quicker
from attn_lib.memory_meter import MemoryMeter

LARGE = 8  # a tensor of an eighth of the whole matrix is no block of the size that was asked for


def beyond(rng, L, large, small):
    """Draw q, k and v (1, 1, L, 1) whose scores are below -large · small, far apart and exact; above 0 in row 0.

    The numbers of q are as large as `large`: what is filled in may depend on them.
    """
    order = torch.randperm(L, generator=rng)
    q = torch.full((1, 1, L, 1), large)
    q[..., 0, :] = -large
    k = -small * (1 + order[:, None] / 8).expand(1, 1, L, 1)
    return q, k, torch.randn(1, 1, L, 1, generator=rng)


class NumberMeter(MemoryMeter):
    """Count numbers, whatever their dtype: the mask of a block has as many as its scores."""

    def _size(self, tensor):
        return super()._size(tensor) // tensor.element_size()


def metered(answer, *args):
    """Run a case under a meter of its numbers.

    No tensor may have one for each pair of one head, and all that are alive at one time must have less than half of those
    of all heads.
    """
    return _within_limits(answer, *args)[0]


def metered_with_gradients(answer, *args):
    """Run `metered`, and before it with inputs that ask for gradients: then autograd keeps blocks, but makes no larger ones."""
    asking = [
        t.clone().requires_grad_() if isinstance(t, torch.Tensor) else t for t in args
    ]
    result, meter = _measured(answer, *asking)
    if _tensors(result):
        _no_matrix(meter, *args[:2])
    return metered(answer, *args)


def metered_twice(answer, *args):
    """Run `metered`, then half the text: the whole may not take three times its memory.

    What grows with the length takes twice as much, and what grows with its square four times.
    """
    result, more = _within_limits(answer, *args)
    if not _tensors(result):
        return result
    L = args[0].shape[-2]
    half = (t[:, :, : L // 2] if isinstance(t, torch.Tensor) else t for t in args)
    less = _measured(answer, *half)[1].peak
    if more >= 3 * less:
        raise Wrong(
            "grows faster",
            "Twice the text takes more than twice the memory.\n"
            f"With {L // 2} tokens, {less:,} numbers are alive at one time, and {more:,} with {L}: "
            f"{more / less:.1f} times as many. Here it must be less than 3 times.",
        )
    return result


def _tensors(result):
    """Return the tensors of a result, none if it is none of tensors."""
    several = result if isinstance(result, tuple | list) else [result]
    return several if all(isinstance(t, torch.Tensor) for t in several) else []


def _measured(answer, *args):
    """Return what an answer returns, and the meter that it ran under."""
    inputs = [t for t in args if isinstance(t, torch.Tensor)]
    with NumberMeter(ignore=inputs) as meter:
        result = answer(*args)
        _ = [t.clone() for t in _tensors(result)]  # the meter may not have seen them made
    return result, meter


def _within_limits(answer, q, k, *others):
    """Return what an answer returns, and the most numbers that were alive at one time."""
    result, meter = _measured(answer, q, k, *others)
    if not _tensors(result):
        return result, meter.peak
    heads, L, S = math.prod(q.shape[:-2]), q.shape[-2], k.shape[-2]
    most = heads * L * S
    one = limit = _no_matrix(meter, q, k)
    if heads > 1:
        limit = f"B · H · {limit[: limit.index('=')]}= {most:,}"
    if 2 * meter.peak >= most and LARGE * meter.largest >= most:
        raise Wrong(
            "large blocks",
            "No tensor is as large as the whole matrix, but some are larger than a block must be.\n"
            f"The largest has {meter.largest:,} numbers: {meter.where}. Together {meter.peak:,} are alive "
            f"at one time. Here all together may not have half of {limit}.",
        )
    if 2 * meter.peak >= most:
        raise Wrong(
            "kept blocks",
            "Each tensor is small enough, but too many are alive at one time.\n"
            f"Together they have {meter.peak:,} numbers; the largest has {meter.largest:,}: "
            f"{meter.where}. Here all together may not have half of {limit}.",
        )
    # Positions and masks may come from numpy or a list. Floats can be scores: of how many, nobody knows.
    floats = sum(n for dtype, n in meter.unseen.items() if dtype.is_floating_point)
    if floats >= L:
        raise Wrong(
            "out of sight",
            "The memory of your answer cannot be measured.\n"
            f"{floats:,} floats came from where the meter does not see how they were made.",
        )
    if meter.unseen.total() >= L and (held := _held(answer, q, k, *others)) >= L * S:
        raise Wrong(
            "full mask",
            "A tensor, or an array, is too large.\n"
            f"numpy and lists hold {held:,} bytes at one time. Here they may not hold {one}.",
        )
    return result, meter.peak


def _no_matrix(meter, q, k):
    """Refuse a tensor with a number for each pair of a query and a key; return how many that are, in words."""
    L, S = q.shape[-2], k.shape[-2]
    limit = f"L · S = {L} · {S} = {L * S:,}"
    if meter.largest >= L * S:
        kind = "full mask" if meter.where.endswith("bool") else "full matrix"
        raise Wrong(
            kind,
            "A tensor, or an array, is too large.\n"
            f"It has {meter.largest:,} numbers: {meter.where}. Here none may have {limit} or more.",
        )
    return limit


def _held(answer, *args):
    """Return the most bytes that numpy and Python hold at one time while an answer runs."""
    tracemalloc.start()
    try:
        answer(*args)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def causal_by_name(answer, *args):
    """Call an answer as the exercise does."""
    return answer(*args, is_causal=True)


def without_autograd(answer, *args):
    """Call an answer where nothing is recorded for a way back, whatever it switches on."""
    with torch.inference_mode():
        result = answer(*args)
    several = [t.clone() for t in _tensors(result)]
    return tuple(several) if several else result


def whole_rows(answer, m, l, acc, scores, values, sizes):  # noqa: E741
    """Give an answer one block of keys after the other; `sizes` says how many keys each has.

    The gradient is that of acc / l, where a maximum plays no part: it may be cut off, or not. None is asked for at the
    state before the first block, since an l of 0 may be multiplied by any number.
    """
    start = 0
    m, l, acc = m.detach(), l.detach(), acc.detach()  # noqa: E741
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
        raise Wrong("wrong", f"{three}{describe(result)}.")
    if len(result) != 3:
        raise Wrong("wrong", f"{three}{len(result)}.")
    for name, old, new in zip(("m", "l", "acc"), state, result, strict=True):
        if not isinstance(new, torch.Tensor):
            raise Wrong(
                "wrong", f"After block {block}, {name} is {describe(new)}, not a tensor."
            )
        for what, asked, got in (
            ("shape", tuple(old.shape), tuple(new.shape)),
            ("dtype", old.dtype, new.dtype),
        ):
            if asked != got:
                raise Wrong(
                    "wrong",
                    f"After block {block}, {name} should have the {what} {asked}, but it has {got}.",
                )
    return result


# --------------------------------------------------------------- a very long text

EVERY = 96  # each 96th query and key is compared


def _few(first):
    """The places of an axis that are compared, counted from any number: which one, the grader alone knows."""
    return slice(first % EVERY, None, EVERY)


def _some_outputs(answer, q, k, v, *others, first=0):
    output = torch.zeros_like(q)
    few = ..., _few(first), slice(None)
    output[few] = answer(q[few], k, v, *others)
    return output


def _some_gradients(answer, q, k, v, out, lse, grad_out, chunk_size, first=0):
    grads = [torch.zeros_like(t) for t in (q, k, v)]
    few = ..., _few(first), slice(None)
    above = out[few], lse[..., _few(first)], grad_out[few], chunk_size
    grads[0][few] = answer(q[few], k, v, *above)[0]
    below = answer(q, k[few], v[few], out, lse, grad_out, chunk_size)
    grads[1][few], grads[2][few] = below[1:]
    return tuple(grads)


@quicker(_some_outputs)
def outputs(answer, *args):
    """Run an answer on a text so long that the right outputs are only made where they are compared."""
    return answer(*args)


@quicker(_some_gradients)
def gradients(answer, *args):
    """The same, for what goes back."""
    return answer(*args)


def compared(returned, q, *_, first=0):
    """Take what is compared out of all that was returned."""
    if isinstance(returned, tuple):
        return tuple(compared(one, q, first=first) for one in returned)
    is_whole = isinstance(returned, torch.Tensor) and returned.shape == q.shape
    return returned[..., _few(first), :] if is_whole else returned
