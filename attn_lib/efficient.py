"""Exact attention that never holds an L x S tensor: neither on the way forward nor on the way back.

Queries and keys are read in blocks. The softmax of a row is put together from its blocks by three
running numbers, the *online softmax*: m, the largest score so far; l, the sum of exp(score - m);
acc, the sum of exp(score - m) v. When m rises, l and acc are multiplied by exp(m_old - m_new).

PyTorch's autograd would keep every block for the way back. So the way back is written out here: it
computes each block of weights again, from m + log l, one number for each query.

Both functions are kernels: they can be given to any attention module. A graph that is exported cannot
count blocks: there, PyTorch's fused kernel takes their place, with the same numbers.

Sources: Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018,
arxiv.org/abs/1805.02867; Rabe and Staats, "Self-attention does not need O(n^2) memory", 2021,
arxiv.org/abs/2112.05682; Dao et al., "FlashAttention", 2022, arxiv.org/abs/2205.14135; Dao,
"FlashAttention-2", 2023, arxiv.org/abs/2307.08691, algorithms 1 and 2: acc is divided once at the
end, one log-sum-exp is kept for each query, and the queries are the outer loop (there, forward only).
"""

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from attn_lib.attention import fused_attention
from attn_lib.masks import sliding_window_mask
from attn_lib.shapes import full_mask

# Scores are held in units of 1/log2(e), because exp2 is two to three times as quick as exp.
LOG2_E = 1 / math.log(2)
_NOTHING: Any = (None, None, None)  # m, l and acc before the first block


def chunked_attention(
    q: Float[Tensor, "*batch l d"],
    k: Float[Tensor, "*kv_batch s d"],
    v: Float[Tensor, "*kv_batch s dv"],
    *,
    mask: Bool[Tensor, "..."] | None = None,
    is_causal: bool = False,
    bias: Float[Tensor, "..."] | None = None,
    chunk_size: int = 256,
) -> tuple[Float[Tensor, "*batch l dv"], None]:
    """Attend in blocks of `chunk_size` queries and keys: memory grows with L, time with L S.

    Arguments and errors are those of `einsum_attention`. Blocks that lie wholly in the future of
    a causal model are not computed. Gradients can be taken once, not twice.

    Args:
        chunk_size: the side of a block: small ones cost time, large ones memory.

    Returns:
        The output (..., L, Dv), and None: there are no weights to look at.
    """
    if chunk_size < 1:
        raise ValueError(f"expected chunks of at least 1 token, got {chunk_size}")
    if torch.compiler.is_exporting():
        return fused_attention(q, k, v, mask=mask, is_causal=is_causal, bias=bias)
    full_mask(q, k, v, mask, False)  # for its errors
    sight = _Sight(q.shape[-2], k.shape[-2], is_causal, None, chunk_size, chunk_size)
    return _attend(q, k, v, mask, bias, sight), None


def sliding_window_attention(
    q: Float[Tensor, "*batch l d"],
    k: Float[Tensor, "*kv_batch s d"],
    v: Float[Tensor, "*kv_batch s dv"],
    *,
    window: int,
    mask: Bool[Tensor, "..."] | None = None,
    is_causal: bool = True,
    bias: Float[Tensor, "..."] | None = None,
) -> tuple[Float[Tensor, "*batch l dv"], None]:
    """Attend to the last `window` keys, the query's own included: time and memory grow with L W.

    The same numbers as with `sliding_window_mask`, which computes all L S scores and hides most.
    For a module, fix the window: `partial(sliding_window_attention, window=256)`.

    Args:
        window: W, at least 1.
        is_causal: changes nothing, since the window looks back only.

    Returns:
        The output (..., L, Dv), and None: there are no weights to look at.

    Source: Beltagy et al., "Longformer", 2020, section 3.1, arxiv.org/abs/2004.05150
    """
    if window < 1:
        raise ValueError(f"expected a window of at least 1 key, got {window}")
    if torch.compiler.is_exporting():
        seen = sliding_window_mask(q.shape[-2], k.shape[-2], window, device=q.device)
        mask = seen if mask is None else mask & seen
        return fused_attention(q, k, v, mask=mask, bias=bias)
    full_mask(q, k, v, mask, False)  # for its errors
    # Of a block, the corners outside the band are computed in vain: so its side is short.
    rows = min(64, window)
    sight = _Sight(
        q.shape[-2], k.shape[-2], True, window, rows, min(1024, window + rows + 16)
    )
    return _attend(q, k, v, mask, bias, sight), None


class _Sight(NamedTuple):
    """The keys that each query may see by position, and the blocks they are read in."""

    q_len: int
    kv_len: int
    is_causal: bool
    window: int | None
    rows: int  # queries in a block
    columns: int  # keys in a block

    def blocks(self) -> Iterator[tuple[slice, list[slice]]]:
        """Yield each block of queries, with the blocks of keys that some of them see."""
        for start in range(0, self.q_len, self.rows):
            end = min(start + self.rows, self.q_len)
            place = self.kv_len - self.q_len  # of query 0 among the keys
            first = 0 if self.window is None else max(0, start + place - self.window + 1)
            first -= first % 16  # blocks of whole vectors are quicker
            last = max(1, end + place) if self.is_causal else self.kv_len
            keys = [
                slice(i, min(i + self.columns, last))
                for i in range(first, last, self.columns)
            ]
            yield slice(start, end), keys

    def band(self, rows: slice, keys: slice, like: Tensor) -> Tensor | None:
        """Return what to add to the scores of a block; None if all of it is seen."""
        place = rows.start + self.kv_len - self.q_len - keys.start  # of the first query
        size = rows.stop - rows.start, keys.stop - keys.start
        late = self.is_causal and place < size[1] - 1
        early = self.window is not None and place + size[0] > self.window
        if not late and not early:
            return None
        return _band(*size, place, self.window, like.dtype, like.device)


@lru_cache(maxsize=4)  # most blocks that are cut by the band are cut alike
def _band(
    q_len: int,
    kv_len: int,
    place: int,
    window: int | None,
    dtype: torch.dtype,
    device: torch.device,
) -> Tensor:
    """Return (q_len, kv_len): 0 where a query sees a key, else -inf. Query i stands at i + place."""
    seen = torch.ones(q_len, kv_len, dtype=torch.bool, device=device).tril(place)
    if window is not None:
        seen = seen.triu(place - window + 1)
    return torch.zeros_like(seen, dtype=dtype).masked_fill(~seen, -math.inf)


def _attend(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor | None, sight: _Sight
) -> Tensor:
    shape = (*q.shape[:-1], v.shape[-1])
    if q.shape[:-2] != k.shape[:-2]:  # a group of query heads beside each K/V head
        groups = (k.shape[1], q.shape[1] // k.shape[1])
        q, k, v = q.unflatten(1, groups), k.unsqueeze(2), v.unsqueeze(2)
        mask, bias = (_grouped(t, groups) for t in (mask, bias))
    if sight.kv_len == 0:
        return (q @ k.mT @ v).reshape(shape)  # zeros
    return _Blockwise.apply(q, k, v, bias, mask, sight).reshape(shape)


def _grouped(x: Tensor | None, groups: tuple[int, int]) -> Tensor | None:
    """Split the axis of heads, if there is one, as the queries' is split."""
    if x is None or x.ndim < 3:
        return x
    return x.unflatten(-3, groups if x.shape[-3] > 1 else (1, 1))


class _Blockwise(torch.autograd.Function):
    """Online softmax forward; backward, the weights of each block again from the log-sum-exp."""

    @staticmethod
    def forward(
        ctx: Any,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        bias: Tensor | None,
        mask: Tensor | None,
        sight: _Sight,
    ) -> Tensor:
        output = q.new_empty(*q.shape[:-1], v.shape[-1])
        lse = q.new_empty((*q.shape[:-1], 1), dtype=_wide(q))
        for rows, blocks in sight.blocks():
            queries = _scaled(q, rows)
            m, l, acc = _NOTHING
            for keys in blocks:
                scores = _scores(queries, k, bias, mask, sight, rows, keys)
                m_new = scores.amax(-1, keepdim=True)
                m_new = m_new if m is None else torch.maximum(m, m_new)
                # Where all is hidden so far, m is -inf, and -inf - -inf would be NaN.
                m_new = m_new.clamp(min=torch.finfo(m_new.dtype).min)
                p = scores.sub_(m_new).exp2_()
                l_new, acc_new = p.sum(-1, keepdim=True), p @ v[..., keys, :].to(p.dtype)
                if m is not None:
                    shrink = (m - m_new).exp2()
                    l_new += l * shrink
                    acc_new += acc * shrink
                m, l, acc = m_new, l_new, acc_new
            l = l.clamp(min=1)  # it is at least 1, but for rows that see nothing
            torch.div(acc, l, out=output[..., rows, :])
            lse[..., rows, :] = m + l.log2()
        ctx.save_for_backward(q, k, v, bias, mask, output, lse)
        ctx.sight = sight
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, bias, mask, output, lse = ctx.saved_tensors
        dq, dk, dv = (torch.zeros_like(t, dtype=_wide(q)) for t in (q, k, v))
        dbias = None if bias is None else torch.zeros_like(bias, dtype=_wide(q))
        for rows, blocks in ctx.sight.blocks():
            queries, upstream = _scaled(q, rows), grad[..., rows, :].to(_wide(q))
            mean = (upstream * output[..., rows, :]).sum(-1, keepdim=True)
            for keys in blocks:
                scores = _scores(queries, k, bias, mask, ctx.sight, rows, keys)
                p = scores.sub_(lse[..., rows, :]).exp2_()  # the weights
                dv[..., keys, :] += (p.mT @ upstream).sum_to_size(dv[..., keys, :].shape)
                dp = upstream @ v[..., keys, :].to(p.dtype).mT
                ds = dp.sub_(mean).mul_(p)
                dq[..., rows, :] += ds @ k[..., keys, :].to(p.dtype)
                dk[..., keys, :] += (ds.mT @ queries).sum_to_size(dk[..., keys, :].shape)
                if dbias is not None:
                    part = _block(dbias, rows, keys)
                    part += ds.sum_to_size(part.shape)
        dq /= math.sqrt(q.shape[-1])
        dk /= LOG2_E
        dbias = None if dbias is None else dbias.to(bias.dtype)
        return dq.to(q.dtype), dk.to(k.dtype), dv.to(v.dtype), dbias, None, None


def _wide(q: Tensor) -> torch.dtype:
    """Return the dtype to compute in: half precision is summed up in float32."""
    return torch.promote_types(q.dtype, torch.float32)


def _scaled(q: Tensor, rows: slice) -> Tensor:
    return q[..., rows, :].to(_wide(q)) * (LOG2_E / math.sqrt(q.shape[-1]))


def _scores(
    queries: Tensor,
    k: Tensor,
    bias: Tensor | None,
    mask: Tensor | None,
    sight: _Sight,
    rows: slice,
    keys: slice,
) -> Tensor:
    """Return the scores of one block, -inf where hidden."""
    scores = queries @ k[..., keys, :].to(queries.dtype).mT
    if bias is not None:
        scores += _block(bias, rows, keys).to(scores.dtype) * LOG2_E
    if mask is not None:
        scores.masked_fill_(~_block(mask, rows, keys), -math.inf)
    band = sight.band(rows, keys, scores)
    return scores if band is None else scores.add_(band)


def _block(x: Tensor, rows: slice, keys: slice) -> Tensor:
    """Cut a block out of a tensor that broadcasts to (..., L, S)."""
    x = x if x.ndim > 1 else x[None]
    return x[
        ..., rows if x.shape[-2] > 1 else slice(1), keys if x.shape[-1] > 1 else slice(1)
    ]
