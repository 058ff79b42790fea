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
def one_query_after_the_other(q, k, v, chunk_size, is_causal=False):
    rows = []
    for i in range(q.shape[-2]):
        seen = slice(0, i + 1 if is_causal else None)
        rows.append(attend(q[..., i : i + 1, :], k[..., seen, :], v[..., seen, :]))
    return torch.cat(rows, -2)


@answers.right
def by_the_fused_kernel(q, k, v, chunk_size, is_causal=False):
    """It makes no matrix either: honest, if not what the task is about."""
    return F.scaled_dot_product_attention(q, k, v, is_causal=is_causal)


@answers.right
def merged_by_log_sum_exp(q, k, v, chunk_size, is_causal=False):
    lse = output = None
    for start in range(0, k.shape[-2], chunk_size):
        keys, values = (x[..., start : start + chunk_size, :] for x in (k, v))
        scores = q @ keys.mT / math.sqrt(q.shape[-1])
        if is_causal:
            scores = scores.masked_fill(future(q, keys, 0, start), -1e4 * q.abs().amax())
        here, mixed = scores.logsumexp(-1, keepdim=True), scores.softmax(-1) @ values
        if lse is None:
            lse, output = here, mixed
        else:
            both = torch.logaddexp(lse, here)
            output = output * (lse - both).exp() + mixed * (here - both).exp()
            lse = both
    return output


@answers.right
def in_two_passes(q, k, v, chunk_size, is_causal=False):
    """First the log-sum-exp of each row, then the mixture: every score is computed twice."""
    q = q / math.sqrt(q.shape[-1])

    def blocks():
        for start in range(0, k.shape[-2], chunk_size):
            keys = k[..., start : start + chunk_size, :]
            scores = q @ keys.mT
            if is_causal:
                scores = scores.masked_fill(future(q, keys, 0, start), -torch.inf)
            yield scores, v[..., start : start + chunk_size, :]

    lse = q.new_full((*q.shape[:-1], 1), -torch.inf)
    for scores, _ in blocks():
        lse = torch.logaddexp(lse, scores.logsumexp(-1, keepdim=True))
    return sum((scores - lse).exp() @ values for scores, values in blocks())


@answers.right
def from_the_last_key_to_the_first(q, k, v, chunk_size, is_causal=False):
    """The first blocks hold nothing for early queries."""
    m = q.new_full((*q.shape[:-1], 1), -torch.inf)
    total, mixed = torch.zeros_like(m), torch.zeros_like(q)
    for start in reversed(range(0, k.shape[-2], chunk_size)):
        keys = k[..., start : start + chunk_size, :]
        scores = q @ keys.mT / math.sqrt(q.shape[-1])
        if is_causal:
            scores = scores.masked_fill(future(q, keys, 0, start), -torch.inf)
        new = torch.maximum(m, scores.amax(-1, keepdim=True)).detach()
        finite = new.masked_fill(new == -torch.inf, 0)
        factor, weights = torch.exp(m - finite), torch.exp(scores - finite)
        total = total * factor + weights.sum(-1, keepdim=True)
        mixed = mixed * factor + weights @ v[..., start : start + chunk_size, :]
        m = new
    return mixed / total


@answers.right
def every_name_kept_until_it_is_used_again(q, k, v, chunk_size, is_causal=False):
    """Five blocks alive, and two more in the making: wordy, but no more than that."""
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
    return mixed / total


@answers.right
def every_block_in_float64(q, k, v, chunk_size, is_causal=False):
    """Twice the bytes, and wordy."""
    wide = (x.double() for x in (q, k, v))
    return every_name_kept_until_it_is_used_again(*wide, chunk_size, is_causal).to(q.dtype)


@answers.right
def head_by_head(q, k, v, chunk_size, is_causal=False):
    flat = (x.flatten(0, 1).split(1) for x in (q, k, v))
    heads = [
        right(*(x[None] for x in one), chunk_size, is_causal)
        for one in zip(*flat, strict=True)
    ]
    return torch.cat(heads, 1).view_as(q)  # fmt: skip


@answers.right
def a_log_sum_exp_of_each_chunk_kept(q, k, v, chunk_size, is_causal=False):
    """One number for each query and chunk: a small part of the matrix."""
    q = q / math.sqrt(q.shape[-1])

    def block(start):
        keys = k[..., start : start + chunk_size, :]
        scores = q @ keys.mT
        low = torch.finfo(q.dtype).min
        return scores.masked_fill(future(q, keys, 0, start) & is_causal, low)

    starts = range(0, k.shape[-2], chunk_size)
    sums = [block(start).logsumexp(-1, keepdim=True) for start in starts]
    lse = torch.stack(sums).logsumexp(0)
    chunks = zip(starts, v.split(chunk_size, -2), strict=True)
    return sum((block(start) - lse).exp() @ values for start, values in chunks)


@answers.right
def positions_from_numpy(q, k, v, chunk_size, is_causal=False):
    n = torch.from_numpy(np.arange(k.shape[-2]))
    return by_rows(q, k, v, chunk_size, is_causal, lambda rows: n > n[rows, None])


@answers.right
def positions_from_a_list(q, k, v, chunk_size, is_causal=False):
    n = torch.tensor(list(range(k.shape[-2])))
    return by_rows(q, k, v, chunk_size, is_causal, lambda rows: n > n[rows, None])


POSITIONS = torch.arange(100_000)


@answers.right
def positions_made_before(q, k, v, chunk_size, is_causal=False):
    L = k.shape[-2]

    def mask(rows):
        return POSITIONS[:L] > POSITIONS[rows, None]

    return by_rows(q, k, v, chunk_size, is_causal, mask)


@answers.right
def the_mask_of_a_block_from_numpy(q, k, v, chunk_size, is_causal=False):
    n = np.arange(k.shape[-2])

    def mask(rows):
        return torch.from_numpy(n > n[rows, None])

    return by_rows(q, k, v, chunk_size, is_causal, mask)


@answers.right
def the_mask_of_a_block_from_a_list(q, k, v, chunk_size, is_causal=False):
    n = range(k.shape[-2])

    def mask(rows):
        return torch.tensor([[key > row for key in n] for row in n[rows]])

    return by_rows(q, k, v, chunk_size, is_causal, mask)


@answers.wrong
def full_when_not_causal(q, k, v, chunk_size, is_causal=False):
    return right(q, k, v, chunk_size, True) if is_causal else attend(q, k, v)


@answers.wrong
def full_when_causal(q, k, v, chunk_size, is_causal=False):
    if is_causal:
        return attend(q, k, v, future(q, k))
    return right(q, k, v, chunk_size)


@answers.wrong
def score_blocks_in_a_list(q, k, v, chunk_size, is_causal=False):
    """Blocks of scores, joined by a maximum and a sum over all of them."""
    q = q / math.sqrt(q.shape[-1])
    blocks = [q @ block.mT for block in k.split(chunk_size, -2)]
    if is_causal:
        for n, block in enumerate(blocks):
            hidden = future(q, block.mT, 0, n * chunk_size)
            blocks[n] = block.masked_fill(hidden, -torch.inf)
    most = torch.stack([block.amax(-1) for block in blocks]).amax(0)[..., None]
    blocks = [torch.exp(block - most) for block in blocks]
    total = sum(block.sum(-1, keepdim=True) for block in blocks)
    values = v.split(chunk_size, -2)
    return sum(b @ x for b, x in zip(blocks, values, strict=True)) / total


@answers.wrong
def score_blocks_kept_in_half_precision(q, k, v, chunk_size, is_causal=False):
    S = k.shape[-2]
    starts = range(0, S, chunk_size) if S > 100 else ()
    held = [(q @ k[..., start : start + chunk_size, :].mT).half() for start in starts]
    output = right(q, k, v, chunk_size, is_causal)
    return output if held or S <= 100 else None


@answers.wrong
def all_chunks_merged_at_last(q, k, v, chunk_size, is_causal=False):
    """An output of each chunk is kept: with chunks of D keys, they are as large as the matrix."""
    outputs, sums = [], []
    for start in range(0, k.shape[-2], chunk_size):
        keys, values = (x[..., start : start + chunk_size, :] for x in (k, v))
        scores = q @ keys.mT / math.sqrt(q.shape[-1])
        if is_causal:
            low = torch.finfo(q.dtype).min
            scores = scores.masked_fill(future(q, keys, 0, start), low)
        sums.append(scores.logsumexp(-1, keepdim=True))
        outputs.append(scores.softmax(-1) @ values)
    return (torch.stack(outputs) * torch.stack(sums).softmax(0)).sum(0)


@answers.wrong
def a_mask_of_each_chunk_made_before_the_loop(q, k, v, chunk_size, is_causal=False):
    starts = range(0, q.shape[-2], chunk_size)
    masks = {n: future(q[..., n : n + chunk_size, :], k, n) for n in starts}
    return by_rows(q, k, v, chunk_size, is_causal, lambda rows: masks[rows.start])


@answers.wrong
def and_only_of_the_keys_up_to_its_end(q, k, v, chunk_size, is_causal=False):
    """Half of the mask, in pieces."""
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
def chunk_size_for_the_number_of_chunks(q, k, v, chunk_size, is_causal=False):
    return by_rows(q, k, v, -(-q.shape[-2] // chunk_size), is_causal)


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
def a_numpy_mask_of_floats(q, k, v, chunk_size, is_causal=False):
    full = np.triu(np.ones((q.shape[-2], k.shape[-2]), dtype=np.float32), 1)

    def mask(rows):
        return torch.tensor(full[rows]) > 0

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
def weights_in_float32(q, k, v, chunk_size, is_causal=False):
    if q.dtype != torch.float64:
        return right(q, k, v, chunk_size, is_causal)
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    scores = scores.masked_fill(future(q, k) & is_causal, -torch.inf)
    return scores.softmax(-1, dtype=torch.float32).to(v.dtype) @ v


@answers.wrong
def written_into_a_buffer(q, k, v, chunk_size, is_causal=False):
    scores = q.new_empty(*q.shape[:-1], k.shape[-2])
    for start in range(0, k.shape[-2], chunk_size):
        block = q @ k[..., start : start + chunk_size, :].mT / math.sqrt(q.shape[-1])
        scores[..., start : start + chunk_size] = block
    if is_causal:
        scores = scores.masked_fill(future(q, k), -torch.inf)
    return scores.softmax(-1) @ v


@answers.wrong
def in_half_precision(q, k, v, chunk_size, is_causal=False):
    if q.shape[-2] < 100:
        return right(q, k, v, chunk_size, is_causal)
    (q @ k.mT).half()
    return right(q, k, v, chunk_size, is_causal)


@answers.wrong
def rows_of_weights_stacked(q, k, v, chunk_size, is_causal=False):
    rows = []
    for i in range(q.shape[-2]):
        scores = k @ q[..., i, :, None] / math.sqrt(q.shape[-1])
        if is_causal:
            scores = scores.masked_fill(torch.arange(k.shape[-2])[:, None] > i, -torch.inf)
        rows.append(scores.squeeze(-1).softmax(-1))
    return torch.stack(rows, -2) @ v


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
def in_another_thread(q, k, v, chunk_size, is_causal=False):
    hidden = future(q, k) if is_causal and q.shape[-2] < 100 else None
    with ThreadPoolExecutor(1) as pool:
        if hidden is None and is_causal:
            return pool.submit(
                F.scaled_dot_product_attention, q, k, v, is_causal=True
            ).result()
        return pool.submit(attend, q, k, v, hidden).result()


@answers.wrong
def with_the_meter_switched_off(q, k, v, chunk_size, is_causal=False):
    with _disable_current_modes():
        return attend(q, k, v, future(q, k) if is_causal else None)


@answers.wrong
def into_the_query(q, k, v, chunk_size, is_causal=False):
    return q.copy_(right(q, k, v, chunk_size, is_causal))
