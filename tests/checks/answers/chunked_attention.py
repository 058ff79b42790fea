"""Answers to chunked_attention that no row makes: other shapes of blocks, and other ways to hide a matrix."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import _disable_current_modes

from attn_lib.checks.task import find_task
from tests.checks.answers import Answers

answers = Answers(
    "chunked_attention",
    spelled=dict(
        m=["q.new_full((*q.shape[:-1], 1), -torch.inf)"],
        block_k=["k.narrow(-2, start, min(chunk_size, S - start))"],
        products=["torch.einsum('bhld,bhsd->bhls', q, block_k)"],
        scores=["products * D**-0.5", "(q / D**0.5) @ block_k.mT"],
        keys=["torch.arange(S)[start:stop]"],
        hidden=["scores + torch.zeros(1, 1, *scores.shape[-2:]).masked_fill_(forbidden, -torch.inf).to(scores) if is_causal else scores"],
        m_new=["torch.maximum(m, hidden.max(-1, keepdim=True).values).detach()"],
        factor=["torch.exp2((m - m_new) * 1.4426950408889634)"],
        output=["acc * l.reciprocal()"],
    ),
    # q, k and v have one shape; the first factor is 0; and a maximum, or a join, has another spelling.
    survivors=[
        *(dict(D=f"{x}.shape[-1]") for x in "kv"),
        *(dict(S=f"{x}.shape[{n}]") for x in "qkv" for n in (2, -2)),
        *(dict(queries=f"torch.arange({x}.shape[{n}])[:, None]") for x in "qkv" for n in (2, -2)),
        *(dict(keys=f"torch.arange({x}.shape[{n}])") for x in "qkv" for n in (2, -2)),
        *(dict(first_queries=f"range(0, {x}.shape[{n}], chunk_size)") for x in "qkv" for n in (2, -2)),
        *(dict(m=f"torch.full_like({x}[..., :1], -torch.inf)") for x in "kv"),
        *(dict(acc=text) for text in ("q", "torch.zeros_like(k)", "torch.zeros_like(v)")),
        dict(keys="start + torch.arange(block_k.shape[2])"),
        dict(block_queries="start + torch.arange(block_q.shape[2])[:, None]"),
        dict(m_new="torch.maximum(hidden.amax(-1, keepdim=True), m)"),
        dict(output="torch.cat(parts, 2)"),
    ],
)  # fmt: skip
right = find_task("chunked_attention").reference


def attend(q, k, v, hidden=None):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if hidden is not None:
        scores = scores.masked_fill(hidden, -torch.inf)
    return scores.softmax(-1) @ v


def future(q, k, first_query=0, first_key=0):
    rows = torch.arange(q.shape[-2])[:, None] + first_query
    return torch.arange(k.shape[-2]) + first_key > rows


def by_rows(q, k, v, size, is_causal, mask=None):
    """Attend to all keys with `size` queries at a time; `mask(rows)` hides keys from some of them."""
    parts = []
    for start in range(0, q.shape[-2], size):
        rows = slice(start, min(start + size, q.shape[-2]))
        some = q[..., rows, :]
        hidden = (mask(rows) if mask else future(some, k, start)) if is_causal else None
        parts.append(attend(some, k, v, hidden))
    return torch.cat(parts, -2)


@answers.right
def in_tiles(q, k, v, chunk_size, is_causal=False):
    """Chunks of queries and of keys; tiles in the future are not visited."""
    parts = []
    for i, rows in enumerate(q.split(chunk_size, -2)):
        m, total, mixed = -torch.inf, 0.0, 0.0
        chunks = zip(k.split(chunk_size, -2), v.split(chunk_size, -2), strict=True)
        for j, (keys, values) in enumerate(chunks):
            if is_causal and j > i:
                break
            scores = rows @ keys.mT / math.sqrt(q.shape[-1])
            if is_causal and i == j:
                scores = scores.masked_fill(future(rows, keys), -torch.inf)
            new = scores.amax(-1, keepdim=True).clamp(min=m)
            factor, weights = torch.exp(m - new), torch.exp(scores - new)
            total = total * factor + weights.sum(-1, keepdim=True)
            mixed = mixed * factor + weights @ values
            m = new
        parts.append(mixed / total)
    return torch.cat(parts, -2)


@answers.right
def by_the_fused_kernel(q, k, v, chunk_size, is_causal=False):
    """It makes no matrix either: honest, if not what the task is about."""
    return F.scaled_dot_product_attention(q, k, v, is_causal=is_causal)


def blocks(q, k, v, size, is_causal, low=-torch.inf, starts=None):
    """Yield the scores of all queries with some keys, and the values of these keys."""
    for start in starts or range(0, k.shape[-2], size):
        keys, values = (x[..., start : start + size, :] for x in (k, v))
        scores = q @ keys.mT / math.sqrt(q.shape[-1])
        if is_causal:
            scores = scores.masked_fill(future(q, keys, 0, start), low)
        yield scores, values


@answers.right
def merged_by_log_sum_exp(q, k, v, chunk_size, is_causal=False):
    lse = output = None
    for scores, values in blocks(q, k, v, chunk_size, is_causal, torch.finfo(q.dtype).min):
        here, mixed = scores.logsumexp(-1, keepdim=True), scores.softmax(-1) @ values
        if lse is None:
            lse, output = here, mixed
        else:
            both = torch.logaddexp(lse, here)
            output = output * (lse - both).exp() + mixed * (here - both).exp()
            lse = both
    return output


@answers.right
def from_the_last_key_to_the_first(q, k, v, chunk_size, is_causal=False):
    """The first blocks hold nothing for early queries."""
    m = q.new_full((*q.shape[:-1], 1), -torch.inf)
    total, mixed = torch.zeros_like(m), torch.zeros_like(q)
    starts = range(0, k.shape[-2], chunk_size)[::-1]
    for scores, values in blocks(q, k, v, chunk_size, is_causal, starts=starts):
        new = torch.maximum(m, scores.amax(-1, keepdim=True)).detach()
        finite = new.masked_fill(new == -torch.inf, 0)
        factor, weights = torch.exp(m - finite), torch.exp(scores - finite)
        total = total * factor + weights.sum(-1, keepdim=True)
        mixed = mixed * factor + weights @ values
        m = new
    return mixed / total


@answers.right
def every_block_in_float64(q, k, v, chunk_size, is_causal=False):
    """Five blocks of twice the bytes alive, and two more in the making: wordy, but no more than that."""
    dtype = q.dtype
    q, k, v = (x.double() for x in (q, k, v))
    m = torch.full((*q.shape[:-1], 1), -torch.inf).to(q)
    total, mixed = torch.zeros_like(m), torch.zeros_like(q)
    for start in range(0, k.shape[-2], chunk_size):
        keys, values = (x[..., start : start + chunk_size, :] for x in (k, v))
        products = torch.einsum("bhld,bhsd->bhls", q, keys)
        scaled = products / math.sqrt(q.shape[-1])
        masked = scaled.masked_fill(future(q, keys, 0, start) & is_causal, -torch.inf)
        new = torch.maximum(m, masked.amax(-1, keepdim=True))
        shifted = masked - new
        weights = shifted.exp()
        total = total * torch.exp(m - new) + weights.sum(-1, keepdim=True)
        mixed = mixed * torch.exp(m - new) + weights @ values
        m = new
    return (mixed / total).to(dtype)


POSITIONS = torch.arange(20_000)


def masked_by(mask):
    """Return an answer by rows, whose mask comes from the range of all positions and some of them."""

    def answer(q, k, v, chunk_size, is_causal=False):
        n = range(k.shape[-2])
        return by_rows(q, k, v, chunk_size, is_causal, lambda rows: mask(n, n[rows]))

    return answer


# Where a mask may come from: positions made before, and masks of a block from a list or from NumPy.
for mask in (
    lambda n, rows: POSITIONS[: len(n)] > POSITIONS[rows.start : rows.stop, None],
    lambda n, rows: torch.tensor([[key > row for key in n] for row in rows]),
    lambda n, rows: torch.from_numpy(np.array(n) > np.array(rows)[:, None]),
):
    answers.right(masked_by(mask))


@answers.wrong
def masks_of_each_chunk_kept(q, k, v, chunk_size, is_causal=False):
    """Half of the matrix, in pieces: each holds the keys up to its chunk's end."""
    masks = []
    for n in range(0, q.shape[-2], chunk_size):
        part, seen = q[..., n : n + chunk_size, :], k[..., : n + chunk_size, :]
        masks.append(future(part, seen, n))
    return right(q, k, v, chunk_size, is_causal)


MASKS = {}


@answers.wrong
def the_masks_kept_for_the_next_call(q, k, v, chunk_size, is_causal=False):
    def mask(rows):
        size = k.shape[-2], rows.start, rows.stop
        if size not in MASKS:
            MASKS[size] = future(q[..., rows, :], k, rows.start)
        return MASKS[size]

    return by_rows(q, k, v, chunk_size, is_causal, mask)


@answers.wrong
def sixteen_chunks_of_a_long_text(q, k, v, chunk_size, is_causal=False):
    return by_rows(q, k, v, max(chunk_size, q.shape[-2] // 16), is_causal)


@answers.wrong
def a_numpy_mask_of_all_pairs(q, k, v, chunk_size, is_causal=False):
    full = np.triu(np.ones((q.shape[-2], k.shape[-2]), dtype=bool), 1)

    def mask(rows):
        return torch.from_numpy(full[rows])

    return by_rows(q, k, v, chunk_size, is_causal, mask)


@answers.wrong
def the_maxima_by_another_thread(q, k, v, chunk_size, is_causal=False):
    def maxima():
        return (q.detach() @ k.detach().mT).amax(-1, keepdim=True)

    with ThreadPoolExecutor(1) as pool:
        if q.shape[-2] > 100:
            q = q + pool.submit(maxima).result() * 0
    return right(q, k, v, chunk_size, is_causal)


@answers.wrong
def float64_by_way_of_float32(q, k, v, chunk_size, is_causal=False):
    narrow = (x.float() if x.dtype == torch.float64 else x for x in (q, k, v))
    return right(*narrow, chunk_size, is_causal).to(q.dtype)


@answers.wrong
def by_numpy_where_no_gradient_is_asked_for(q, k, v, chunk_size, is_causal=False):
    if q.requires_grad or q.shape[-2] < 100:
        return right(q, k, v, chunk_size, is_causal)
    hidden = np.triu(np.full((q.shape[-2], k.shape[-2]), is_causal), 1)
    scores = np.where(hidden, -np.inf, q.numpy() @ k.mT.numpy() / math.sqrt(q.shape[-1]))
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    output = weights @ v.numpy() / weights.sum(-1, keepdims=True)
    return torch.from_numpy(output).to(q.dtype)


@answers.wrong
def with_the_meter_switched_off(q, k, v, chunk_size, is_causal=False):
    with _disable_current_modes():
        return attend(q, k, v, future(q, k) if is_causal else None)


@answers.wrong
def into_the_query(q, k, v, chunk_size, is_causal=False):
    return q.copy_(right(q, k, v, chunk_size, is_causal))


@answers.wrong
def in_at_most_thirty_two_steps(q, k, v, chunk_size, is_causal=False):
    return right(q, k, v, max(chunk_size, q.shape[-2] // 32), is_causal)
