"""Answers to cached_attention that no row makes."""

import torch
import torch.nn.functional as F

from attn_lib.checks.task import find_task
from tests.checks.answers import Answers

answers = Answers(
    "cached_attention",
    spelled=dict(
        k=["k if past_k is None else torch.cat((past_k, k), -2)"],
        v=["torch.cat([x for x in (past_v, v) if x is not None], 2)"],
        scores=["products * D**-0.5"],
        allowed=["torch.arange(S) <= torch.arange(S - L, S)[:, None]", "attn_lib.causal_mask(L, S)"],
        hidden=["scores.masked_fill(~allowed, torch.finfo(scores.dtype).min)"],
        weights=["hidden.double().softmax(-1).to(q.dtype)"],
        output=["F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)"],
        following=["[k, v]", "torch.stack([k, v])"],
    ),
    # All three have the same D, and k and v the same length.
    survivors=[dict(D="k.shape[-1]"), dict(D="v.shape[-1]"), dict(S="v.shape[2]")],
)  # fmt: skip
right = find_task("cached_attention").reference


@answers.right
def in_a_full_buffer(q, k, v, cache):
    """Attends over the whole buffer, the empty part hidden."""
    cache = cache or [x.new_zeros(*x.shape[:2], 4500, x.shape[3]) for x in (k, v)] + [0]
    start, end = cache[2], cache[2] + k.shape[2]
    cache[0][:, :, start:end], cache[1][:, :, start:end], cache[2] = k, v, end
    mask = torch.arange(4500) <= torch.arange(start, end)[:, None]
    return F.scaled_dot_product_attention(q, *cache[:2], attn_mask=mask), cache


@answers.right
def by_ticket(q, k, v, ticket, sessions=[]):  # noqa: B006
    """Cache: a number, by which the keys and values are found; each session has its own."""
    if ticket is None:
        ticket = len(sessions)
        sessions.append(None)
    output, sessions[ticket] = right(q, k, v, sessions[ticket])
    return output, ticket


@answers.wrong
def one_for_each_shape(q, k, v, cache, kept={}):  # noqa: B006
    key = (*q.shape[:2], q.shape[3], q.dtype)
    output, kept[key] = right(q, k, v, None if cache is None else kept[key])
    return output, "kept"


@answers.wrong
def a_buffer_of_32(q, k, v, cache):
    output, kept = right(q, k, v, cache)
    return output, tuple(x[:, :, -32:] for x in kept)


@answers.wrong
def room_doubled_once(q, k, v, cache):
    L = q.shape[2]
    begin = *(x.new_zeros(*x.shape[:2], max(L, 4), x.shape[3]) for x in (k, v)), 0
    *rooms, past = begin if cache is None else cache
    if past + L > rooms[0].shape[2]:
        rooms = [torch.cat([room, room], 2) for room in rooms]
    kept = [
        room.slice_scatter(new, 2, past, past + L)
        for room, new in zip(rooms, (k, v), strict=True)
    ]
    output, _ = right(q, k, v, tuple(x[:, :, :past] for x in kept))
    return output, (*kept, past + L)
