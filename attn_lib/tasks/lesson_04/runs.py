"""How the cases of this lesson call an answer, where it is more than one plain call.

Nothing here is an answer: this file goes into the sandbox with a learner's code.
"""

import inspect

import torch
from torch import nn

from attn_lib.checks.authoring import Result, Wrong, built, describe


def with_mask(answer, q, k, v, mask):
    """Run a case that has a mask: give it by name, if the answer knows that name."""
    try:
        by_name = "mask" in inspect.signature(answer).parameters
    except (TypeError, ValueError):  # a function built into PyTorch
        by_name = False
    return answer(q, k, v, mask=mask) if by_name else answer(q, k, v, mask)


def after_another_mask(answer, sizes, parameters, x, masks):
    """Call a module with the mask `first`, then with `mask`; return what it does with the latter."""
    mask, first = masks["mask"], masks["first"]
    module, _ = built(answer, sizes, parameters, [x], {"mask": mask})
    with torch.no_grad():
        module(x.clone(), mask=first)
        return Result(module(x, mask=mask), {})


def of_a_layer(answer, weight, num_heads, num_kv_heads):
    """Give the weight as a layer holds it: a parameter, which requires a gradient."""
    rows, columns = weight.shape
    layer = nn.Linear(columns, rows, bias=False)
    layer.load_state_dict({"weight": weight})
    pooled = answer(layer.weight, num_heads, num_kv_heads)
    weight.copy_(layer.weight.detach())  # what was changed in the layer shows here
    if not layer.weight.requires_grad or layer.weight.grad is not None:
        weight.fill_(torch.nan)
    return pooled.detach() if isinstance(pooled, torch.Tensor) else pooled


def checked_pair(result, q, chunk):
    """Take apart what `cached_attention` returned for its chunk number `chunk`, counted from 1."""
    two = "It should return two things, the output and the cache, but it returned "
    if not isinstance(result, tuple | list):
        raise Wrong("wrong", f"{two}{describe(result)}.")
    if len(result) != 2:
        hint = "Keys and values can share one tuple: `return output, (k, v)`."
        raise Wrong("wrong", f"{two}{len(result)}. {hint}")
    output, cache = result
    if not isinstance(output, torch.Tensor):
        raise Wrong(
            "wrong",
            "The first of the two things should be the output, a tensor, but it is "
            f"{describe(output)}. The cache comes second.",
        )
    for what, asked, got in (
        ("shape", tuple(q.shape), tuple(output.shape)),
        ("dtype", q.dtype, output.dtype),
    ):
        if got != asked:
            should = f"the output should have the {what} of q, {asked}, but it has {got}."
            raise Wrong("wrong", f"In chunk {chunk}, {should}")
    if cache is None:
        raise Wrong(
            "wrong",
            "The second of the two things, the cache, is None. The next call will be given what you "
            "return here, and nothing else.",
        )
    return output, cache


def one_session(answer, q, k, v, sizes):
    """Play one session in chunks of these sizes; join the outputs along L."""
    return sessions(answer, (q,), (k,), (v,), [(0, size) for size in sizes], 0)


def sessions(answer, q, k, v, turns, dim):
    """Play several sessions; turn (s, n) gives session s its next n tokens.

    Args:
        answer: the learner's function.
        q: one tensor (B, H, L, D) for each session; k and v are like it.
        turns: pairs of a session and a number of tokens.
        dim: the outputs of all sessions are joined along it.
    """
    caches, done = [None] * len(q), [0] * len(q)
    chunks: list[tuple] = []
    outputs: list[list] = [[] for _ in q]
    for s, n in turns:
        start, done[s] = done[s], done[s] + n
        # Of their own, as in real decoding, and in the memory layout of the whole.
        chunk = [
            x[s][:, :, start : done[s]].clone(memory_format=torch.preserve_format)
            for x in (q, k, v)
        ]
        chunks.append((s, start, done[s], chunk))
        result = answer(*chunk, caches[s])
        if result is None or result is Ellipsis:
            return result
        expected = q[s][:, :, start : done[s]]
        output, caches[s] = checked_pair(result, expected, len(outputs[s]) + 1)
        _refuse_if_vast(caches[s], 2 * q[s][:, :, : done[s]].numel())
        outputs[s].append(output)
    for s, start, end, chunk in chunks:  # what was changed in a chunk shows in the whole
        for whole, part in zip((q, k, v), chunk, strict=True):
            given = whole[s][:, :, start:end]
            given[...] = part if part.shape == given.shape else torch.nan
    return torch.cat([torch.cat(session, dim=2) for session in outputs], dim=dim)


def _refuse_if_vast(cache, come):
    """Raise `Wrong` before a cache that doubles with every call takes all memory.

    Args:
        cache: what the answer keeps, tensors in tuples or lists, or something else.
        come: how many numbers there are in the keys and values of all calls so far.
    """
    waiting, held = [cache], 0
    while waiting:
        one = waiting.pop()
        held += one.numel() if isinstance(one, torch.Tensor) else 0
        waiting += one if isinstance(one, tuple | list) else []
    if held > 2**24 + 64 * come:  # there may be room for thousands of tokens
        raise Wrong(
            "vast cache", f"The cache holds {held:,} numbers, and {come:,} have come."
        )


def in_turns(answer, q, k, v, turns, dim):
    """Play each session alone and all of them in turns: the outputs must be the same."""
    alone = []
    for s in range(len(q)):
        sizes = [size for session, size in turns if session == s]
        result = one_session(answer, q[s].clone(), k[s].clone(), v[s].clone(), sizes)
        if not isinstance(result, torch.Tensor):
            return result
        alone.append(result)
    joined = sessions(answer, q, k, v, turns, dim)
    if isinstance(joined, torch.Tensor) and not torch.allclose(
        joined, torch.cat(alone, dim=dim), atol=1e-3, equal_nan=True
    ):
        raise Wrong(
            "wrong",
            "Each session gets other outputs when it is alone than in turns with the other one. "
            "What does your function keep that is not in the cache it returns?",
        )
    return joined


def two_beginnings(answer, q, k, v, turns, dim):
    """Begin two sessions, each with one token, which sees only itself: the output is its value."""
    joined = sessions(answer, q, k, v, turns, dim)
    if isinstance(joined, torch.Tensor):
        first, second = (joined - torch.cat(v)).abs().flatten(1).amax(1).tolist()
        if first < 1e-4 < second:
            raise Wrong(
                "wrong",
                "The first session is right, the second is not. It too begins with cache None, and "
                "its only token has no past. What does your function still hold from the first one?",
            )
    return joined
