"""Right answers to the tasks of lesson 02, by task name."""

import functools
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import attn_lib

# ------------------------------------------------------------------------ causal_mask


def causal_by_tril(q_len, kv_len):
    return torch.tril(torch.ones(q_len, kv_len), diagonal=kv_len - q_len).bool()


def causal_by_triu(q_len, kv_len):
    future = torch.ones(q_len, kv_len, dtype=torch.bool).triu(kv_len - q_len + 1)
    return ~future


def causal_by_comparison(q_len, kv_len):
    position = torch.arange(kv_len - q_len, kv_len)
    return torch.arange(kv_len) <= position.unsqueeze(-1)


def causal_by_loop(q_len, kv_len):
    mask = torch.zeros(q_len, kv_len, dtype=torch.bool)
    for i in range(q_len):
        for j in range(kv_len):
            mask[i, j] = j <= i + kv_len - q_len
    return mask


def causal_by_rows(q_len, kv_len):
    mask = torch.zeros((q_len, kv_len), dtype=bool)
    for i in range(q_len):
        mask[i, : max(0, i + 1 + kv_len - q_len)] = True
    return mask


def causal_by_lists(q_len, kv_len):
    rows = [[q_len - i <= kv_len - j for j in range(kv_len)] for i in range(q_len)]
    return torch.tensor(rows)


def causal_from_the_last_rows(q_len, kv_len):
    size = max(q_len, kv_len)
    return torch.ones(size, size).tril()[size - q_len :, size - kv_len :] == 1


def causal_from_both_ends(q_len, kv_len):
    return torch.ones(q_len, kv_len).flip(0, 1).triu(0).flip(0, 1).bool()


def causal_by_numpy(q_len, kv_len):
    return torch.from_numpy(np.tri(q_len, kv_len, kv_len - q_len, dtype=bool))


def causal_by_cumulative_sum(q_len, kv_len):
    first = torch.zeros(q_len, kv_len + 1, dtype=torch.int64)
    for i in range(q_len):
        first[i, max(0, i + 1 + kv_len - q_len)] = 1
    return first.cumsum(1)[:, :-1] == 0


def causal_by_additive(q_len, kv_len):
    bias = torch.full((q_len, kv_len), -torch.inf).triu(kv_len - q_len + 1)
    return bias == 0


def causal_by_integers(q_len, kv_len):
    ahead = torch.arange(kv_len)[None] - torch.arange(q_len)[:, None] + q_len - kv_len
    return (ahead.clamp(min=0) == 0).to(torch.bool)


def causal_not_contiguous(q_len, kv_len):
    i, j = torch.meshgrid(torch.arange(q_len), torch.arange(kv_len), indexing="xy")
    return (i + kv_len - q_len >= j).T


def causal_by_vmap(n, m):
    may = torch.vmap(torch.vmap(lambda i, j: j - i <= m - n, (None, 0)), (0, None))
    return may(torch.arange(n), torch.arange(m))


def causal_by_past_and_triangle(q_len, kv_len):
    past = torch.ones(q_len, max(kv_len - q_len, 0), dtype=torch.bool)
    triangle = torch.ones(q_len, q_len, dtype=torch.bool).tril()
    return torch.cat([past, triangle], dim=1)[:, -kv_len:]


def causal_out_of_a_large_square(q_len, kv_len):
    size = q_len + kv_len
    return torch.ones(size, size, dtype=torch.bool).tril()[kv_len:, q_len:]


def causal_by_indices(q_len, kv_len):
    mask = torch.zeros(q_len, kv_len, dtype=torch.bool)
    rows, columns = torch.tril_indices(q_len, kv_len, kv_len - q_len)
    mask[rows, columns] = True
    return mask


def causal_by_bytes(q_len, kv_len):
    return torch.ones(q_len, kv_len, dtype=torch.int8).tril(kv_len - q_len).view(torch.bool)


def causal_by_where(q_len, kv_len):
    ahead = torch.arange(kv_len) - torch.arange(kv_len - q_len, kv_len)[:, None]
    return torch.where(ahead > 0, False, True)


def causal_by_rows_joined(q_len, kv_len):
    def row(seen):
        return torch.cat([torch.ones(seen), torch.zeros(kv_len - seen)])

    first = kv_len - q_len + 1
    return torch.stack([row(max(0, first + i)) for i in range(q_len)]).bool()


def causal_by_counting(q_len, kv_len):
    """Of the keys up to key j, S - L + i + 1 belong to the past of query i."""
    count = torch.ones(q_len, kv_len).cumsum(1)
    return count <= kv_len - q_len + torch.ones(q_len, kv_len).cumsum(0)


def causal_from_the_keys(q_len, kv_len):
    return torch.ones(q_len, kv_len).logical_and(
        torch.ones(kv_len, q_len).triu(q_len - kv_len).T
    )


@functools.lru_cache
def causal_kept(q_len, kv_len):
    return causal_by_tril(q_len, kv_len)


class CausalModule(nn.Module):
    def forward(self, q_len, kv_len, device=None):
        return causal_by_comparison(q_len, kv_len).to(device)


# ----------------------------------------------------------------------- padding_mask


def padding_by_view(lengths, max_len):
    real = torch.arange(max_len).unsqueeze(0) < lengths.unsqueeze(1)
    return real.unsqueeze(1).unsqueeze(2)


def padding_by_four_axes(lengths, max_len):
    return torch.arange(max_len).view(1, 1, 1, -1) < lengths.view(-1, 1, 1, 1)


def padding_by_broadcast(lengths, max_len):
    return lengths[:, None, None, None] > torch.arange(max_len)


def padding_by_not_pad(lengths, max_len):
    pad = torch.arange(max_len).expand(len(lengths), -1) >= lengths[:, None]
    return pad.logical_not().reshape(lengths.shape[0], 1, 1, max_len)


def padding_by_loop(lengths, max_len):
    mask = torch.zeros(len(lengths), 1, 1, max_len, dtype=torch.bool)
    for b, length in enumerate(lengths):
        mask[b, :, :, :length] = True
    return mask


def padding_by_double_loop(lengths, max_len):
    rows = [[j < int(n) for j in range(max_len)] for n in lengths]
    return torch.tensor(rows)[:, None, None]


def padding_by_lists(lengths, max_len):
    rows = [[True] * n + [False] * (max_len - n) for n in lengths.tolist()]
    return torch.BoolTensor(rows).view(-1, 1, 1, max_len)


def padding_by_stack(lengths, max_len):
    rows = [F.pad(torch.ones(n), (0, max_len - n)) for n in lengths.tolist()]
    return torch.stack(rows)[:, None, None, :].bool()


def padding_by_rows_of_a_triangle(lengths, max_len):
    triangle = torch.ones(max_len + 1, max_len, dtype=torch.bool).tril(-1)
    return triangle[lengths.long()][:, None, None]


def padding_by_cumulative_sum(lengths, max_len):
    ends = F.one_hot(lengths.long(), max_len + 1)[:, :max_len]
    return (ends.cumsum(-1) == 0)[:, None, None]


def padding_by_transpose(lengths, max_len):
    return (torch.arange(max_len)[:, None] < lengths).T[:, None, None, :]


def padding_by_numpy(lengths, max_len):
    real = np.arange(max_len)[None] < lengths.numpy()[:, None]
    return torch.from_numpy(real)[:, None, None]


def padding_by_floats(lengths, max_len):
    left = lengths[:, None].float() - torch.arange(max_len, dtype=torch.float32)
    return (left.clamp(0, 1) == 1)[:, None, None, :]


def padding_by_einsum_like_names(sizes, n):
    return (torch.arange(n) + 1 <= sizes[..., None])[:, None, None]


def padding_by_pad_sequence(lengths, max_len):
    rows = [torch.ones(n, dtype=torch.bool) for n in (*lengths.tolist(), max_len)]
    return nn.utils.rnn.pad_sequence(rows, batch_first=True)[:-1, None, None]


def padding_by_index_select(lengths, max_len):
    every_length = torch.arange(max_len) < torch.arange(max_len + 1)[:, None]
    return every_length.index_select(0, lengths)[:, None, None]


def padding_by_vmap(lengths, max_len):
    return torch.vmap(lambda n: torch.arange(max_len) < n)(lengths).view(-1, 1, 1, max_len)


def padding_by_map(lengths, max_len):
    rows = list(map(torch.arange(max_len).__lt__, lengths))
    return torch.stack(rows).unflatten(0, (-1, 1, 1))


def padding_by_scatter(lengths, max_len):
    ends = torch.zeros(len(lengths), max_len + 1)
    ends.scatter_(1, lengths.long()[:, None], 1.0)
    return ends.cumsum(1)[:, None, None, :-1] == 0


def padding_by_hiding_the_end(lengths, max_len):
    mask = torch.ones(len(lengths), 1, 1, max_len).bool()
    for b, n in enumerate(lengths):
        mask[b, ..., n:] = False
    return mask


def padding_by_sign(lengths, max_len):
    return (lengths[:, None, None, None] - torch.arange(max_len)).sign() == 1


def padding_by_counting(lengths, max_len):
    ones = torch.ones(len(lengths), 1, 1, max_len, dtype=torch.int64)
    return ones.cumsum(-1).le(lengths.reshape(-1, 1, 1, 1))


def padding_by_concatenation(lengths, max_len):
    rows = [
        torch.cat([torch.full((n,), True), torch.full((max_len - n,), False)])
        for n in lengths.tolist()
    ]
    return torch.stack(rows).unsqueeze(-2).unsqueeze(-2)


def padding_by_repeat(lengths, max_len):
    position = torch.arange(max_len).repeat(len(lengths))
    real = position < lengths.repeat_interleave(max_len)
    return real.view(len(lengths), 1, 1, max_len)


class PaddingModule(nn.Module):
    def forward(self, lengths, max_len):
        return padding_by_view(lengths, max_len)


# ---------------------------------------------------------------- sliding_window_mask


def window_from_causal(q_len, kv_len, window):
    causal = causal_by_comparison(q_len, kv_len)
    return causal & ~causal.tril(kv_len - q_len - window)


def window_by_steps(q_len, kv_len, window):
    steps = torch.arange(kv_len - q_len, kv_len)[:, None] - torch.arange(kv_len)[None, :]
    return (steps >= 0) * (steps < window)


def window_by_chained_triangles(q_len, kv_len, window):
    offset = kv_len - q_len
    return torch.ones(q_len, kv_len).tril(offset).triu(offset - window + 1).bool()


def window_by_difference_of_triangles(q_len, kv_len, window):
    ones = torch.ones(q_len, kv_len)
    offset = kv_len - q_len
    return (ones.tril(offset) - ones.tril(offset - window)) == 1


def window_by_xor(q_len, kv_len, window):
    ones = torch.ones(q_len, kv_len, dtype=torch.bool)
    return ones.tril(kv_len - q_len) ^ ones.tril(kv_len - q_len - window)


def window_by_loop(q_len, kv_len, window):
    mask = torch.zeros(q_len, kv_len, dtype=torch.bool)
    for i in range(q_len):
        p = i + kv_len - q_len
        for j in range(kv_len):
            mask[i, j] = p - window < j <= p
    return mask


def window_by_rows(q_len, kv_len, window):
    mask = torch.zeros(q_len, kv_len, dtype=torch.bool)
    for i in range(q_len):
        end = max(0, i + 1 + kv_len - q_len)
        mask[i, max(0, end - window) : end] = True
    return mask


def window_by_lists(q_len, kv_len, window):
    return torch.tensor(
        [
            [0 <= i - j < window for j in range(kv_len)]
            for i in range(kv_len - q_len, kv_len)
        ]
    )


def window_by_any_of_diagonals(q_len, kv_len, window):
    steps = torch.arange(q_len)[:, None] + (kv_len - q_len) - torch.arange(kv_len)
    return torch.stack([steps == w for w in range(window)]).any(0)


def window_by_logical_and(q_len, kv_len, window):
    last = torch.arange(q_len)[:, None] + kv_len - q_len
    key = torch.arange(kv_len)
    return torch.logical_and(key <= last, key + window > last)


def window_by_isin(q_len, kv_len, window):
    steps = torch.arange(q_len)[:, None] + (kv_len - q_len) - torch.arange(kv_len)
    return torch.isin(steps, torch.arange(window))


def window_by_clamp(q_len, kv_len, window):
    steps = torch.arange(q_len)[:, None] + (kv_len - q_len) - torch.arange(kv_len)
    return steps.clamp(0, window - 1) == steps


def window_by_absolute_distance(q_len, kv_len, window):
    steps = torch.arange(q_len)[:, None] + (kv_len - q_len) - torch.arange(kv_len)
    return (steps.abs() < window).logical_and(steps > -1)


def window_from_the_last_rows(q_len, kv_len, window):
    n = max(q_len, kv_len)
    full = torch.ones(n, n, dtype=torch.bool).tril().triu(-window + 1)
    return full[-q_len:, -kv_len:]


def window_between_two_edges(q_len, kv_len, window):
    end = torch.arange(kv_len - q_len, kv_len)[:, None] + 1
    key = torch.arange(kv_len)
    return (key >= end - window) & (key < end)


def window_by_floor_division(q_len, kv_len, window):
    steps = torch.arange(q_len)[:, None] + (kv_len - q_len) - torch.arange(kv_len)
    return torch.div(steps, window, rounding_mode="floor") == 0


def window_by_distance_from_its_middle(q_len, kv_len, window):
    steps = torch.arange(q_len)[:, None] + (kv_len - q_len) - torch.arange(kv_len)
    return (2 * steps - (window - 1)).abs() < window


def window_never_longer_than_the_keys(q_len, kv_len, window):
    return window_by_steps(q_len, kv_len, min(window, kv_len))


def window_by_shifting_the_causal_mask(q_len, kv_len, window):
    """A key is too old if the key W places after it may be seen as well."""
    causal = causal_by_tril(q_len, kv_len)
    shift = min(window, kv_len)
    return causal & ~F.pad(causal[:, shift:], (0, shift))


def window_by_vmap(q_len, kv_len, window):
    key = torch.arange(kv_len)
    rows = torch.vmap(lambda p: (key <= p) & (key + window > p))
    return rows(torch.arange(kv_len - q_len, kv_len))


def window_by_where(q_len, kv_len, window):
    steps = torch.arange(q_len)[:, None] + (kv_len - q_len) - torch.arange(kv_len)
    return torch.where(steps < 0, False, steps < window)


def window_by_range(q_len, kv_len, window):
    allowed = range(window)
    rows = [
        [i + kv_len - q_len - j in allowed for j in range(kv_len)] for i in range(q_len)
    ]
    return torch.tensor(rows)


def window_out_of_a_large_square(q_len, kv_len, window):
    size = q_len + kv_len
    band = torch.ones(size, size).tril().triu(1 - window)
    return band[kv_len:, q_len:].bool()


def window_turned_around(q_len, kv_len, window):
    return torch.ones(q_len, kv_len).triu().tril(window - 1).flip(0, 1) == 1


class WindowModule(nn.Module):
    def forward(self, q_len, kv_len, window=4):
        return window_by_xor(q_len, kv_len, window)


# --------------------------------------------------------------------- masked_softmax


def softmax_filled_twice(scores, mask):
    w = F.softmax(scores.masked_fill(mask.logical_not(), float("-inf")), dim=-1)
    return w.masked_fill(mask.logical_not(), 0)


def softmax_with_where(scores, mask):
    w = torch.where(mask, scores, -torch.inf).softmax(-1)
    return torch.where(mask, w, torch.zeros_like(w))


def softmax_filled_then_nan_to_num(scores, mask):
    return scores.masked_fill(mask == 0, -math.inf).softmax(-1).nan_to_num(0.0)


def softmax_filled_by_the_smallest_number(scores, mask):
    filled = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return filled.softmax(-1) * mask


def softmax_empty_rows_left_open(scores, mask):
    """Let rows with no key see everything, then zero them: no NaN is ever made."""
    some = mask.any(-1, keepdim=True)
    weights = scores.masked_fill(~mask & some, -torch.inf).softmax(-1)
    return torch.where(some, weights, torch.zeros_like(weights)) * mask


def softmax_by_hand(scores, mask):
    filled = scores.masked_fill(~mask, -torch.inf)
    largest = filled.amax(-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).min)
    e = (filled - largest.detach()).exp()
    total = e.sum(-1, keepdim=True)
    return e / total.masked_fill(total == 0, 1.0)


def softmax_by_hand_with_harmless_epsilon(scores, mask):
    filled = scores.float().masked_fill(~mask, -1e38)
    e = (filled - filled.max(-1, keepdim=True).values).exp() * mask
    return (e / (e.sum(-1, keepdim=True) + 1e-12)).to(scores.dtype)


def softmax_in_float32(scores, mask):
    if scores.dtype == torch.float64:
        return softmax_filled_twice(scores, mask)
    w = torch.softmax(scores.masked_fill(~mask, -torch.inf), -1, dtype=torch.float32)
    return w.masked_fill(~mask, 0.0).to(scores.dtype)


def softmax_1e9_in_float64(scores, mask):
    filled = scores.double().masked_fill(~mask, -1e9)
    return (filled.softmax(-1) * mask).to(scores.dtype)


def softmax_of_additive_mask(scores, mask):
    bias = torch.zeros(mask.shape, dtype=scores.dtype)
    bias.masked_fill_(~mask & mask.any(-1, keepdim=True), -torch.inf)
    return (scores + bias).softmax(-1) * mask


def softmax_of_log_mask(scores, mask):
    some = mask.any(-1, keepdim=True)
    return (scores + (mask | ~some).to(scores.dtype).log()).softmax(-1) * some


def softmax_hidden_afterwards(scores, mask):
    weights = scores.softmax(-1) * mask
    total = weights.sum(-1, keepdim=True)
    return weights / total.masked_fill(total == 0, 1.0)


def softmax_maximum_of_everything(scores, mask):
    e = (scores - scores.amax(-1, keepdim=True)).exp() * mask
    return e / e.sum(-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).tiny)


def softmax_with_1e9_added(scores, mask):
    wide = scores.to(torch.promote_types(scores.dtype, torch.float32))
    return ((wide + (~mask) * -1e9).softmax(-1) * mask).to(scores.dtype)


def softmax_by_logsumexp(scores, mask):
    filled = scores.masked_fill(~mask, -torch.inf)
    total = filled.logsumexp(-1, keepdim=True).masked_fill(~mask.any(-1, True), 0.0)
    return (filled - total).exp()


def softmax_in_place_on_its_own(scores, mask):
    own = scores.clone()
    own.masked_fill_(~mask, -torch.inf)
    weights = own.softmax(-1).clone()
    return weights.masked_fill_(~mask, 0.0)


def softmax_by_index(scores, mask):
    hidden = ~mask.expand_as(scores)
    own = scores.clone()
    own[hidden] = -torch.inf
    weights = own.softmax(-1).clone()
    weights[hidden] = 0.0
    return weights


def softmax_row_by_row(scores, mask):
    rows = scores.reshape(-1, scores.shape[-1])
    allowed = mask.expand_as(scores).reshape(rows.shape)
    result = torch.zeros_like(rows)
    for i in range(len(rows)):
        if allowed[i].any():
            result[i, allowed[i]] = rows[i, allowed[i]].softmax(0)
    return result.view(scores.shape)


def softmax_on_the_transposed(scores, mask):
    mask = mask.expand_as(scores).mT
    return scores.mT.masked_fill(~mask, -torch.inf).softmax(-2).masked_fill(~mask, 0.0).mT


class SoftmaxModule(nn.Module):
    def forward(self, scores, mask):
        w = nn.Softmax(-1)(scores.masked_fill(~mask, -torch.inf))
        return torch.nan_to_num(w, nan=0.0)


def softmax_with_a_sink(scores, mask):
    """One more key, seen only where nothing else may be, takes the whole share of empty rows."""
    none = ~mask.expand_as(scores).any(-1, keepdim=True)
    sink = torch.zeros_like(scores[..., :1]).masked_fill(~none, -torch.inf)
    filled = torch.cat([scores.masked_fill(~mask, -torch.inf), sink], -1)
    return filled.softmax(-1)[..., :-1]


def softmax_with_a_low_sink(scores, mask):
    lowest = torch.finfo(scores.dtype).min
    filled = F.pad(scores.masked_fill(~mask, -torch.inf), (0, 1), value=lowest)
    return filled.softmax(-1)[..., :-1]


def softmax_by_log_softmax(scores, mask):
    filled = scores.masked_fill(~mask, -torch.inf)
    return filled.log_softmax(-1).exp().masked_fill(~mask, 0.0)


def softmax_in_base_two(scores, mask):
    filled = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    scores = scores - filled.amax(-1, keepdim=True)
    e = torch.exp2(scores.masked_fill(~mask, -torch.inf) * math.log2(math.e))
    total = e.sum(-1, keepdim=True)
    return e / (total + (total == 0))


def softmax_where_not_nan(scores, mask):
    w = torch.softmax(torch.where(mask, scores, float("-inf")), dim=-1)
    return torch.where(w.isnan(), torch.zeros_like(w), w)


def softmax_sentence_by_sentence(scores, mask):
    mask = mask.expand(scores.shape)
    if scores.ndim == 1:
        return softmax_filled_twice(scores, mask)
    rows = zip(scores.unbind(0), mask.unbind(0), strict=True)
    return torch.stack([softmax_sentence_by_sentence(s, m) for s, m in rows])


def softmax_of_torch_masked(scores, mask):
    mask = mask.expand_as(scores)
    return torch.masked.softmax(scores, -1, mask=mask).masked_fill(~mask, 0.0)


def softmax_in_float64(scores, mask):
    filled = scores.masked_fill(~mask, -torch.inf)
    return F.softmax(filled, -1, dtype=torch.float64).nan_to_num(0.0).to(scores.dtype)


def softmax_on_the_first_axis(scores, mask):
    hidden = ~mask.expand_as(scores).movedim(-1, 0)
    filled = scores.movedim(-1, 0).masked_fill(hidden, -torch.inf)
    return filled.softmax(0).masked_fill(hidden, 0.0).movedim(0, -1)


def softmax_scattered_rows(scores, mask):
    """Nothing but the allowed scores ever meets the softmax."""
    rows = []
    mask = mask.expand_as(scores).reshape(-1, scores.shape[-1])
    for row, keep in zip(scores.reshape(mask.shape), mask, strict=True):
        shares = row[keep].softmax(0)
        rows.append(torch.zeros_like(row).masked_scatter(keep, shares))
    return torch.stack(rows).view_as(scores)


class _OwnWayBack(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores, mask):
        weights = softmax_filled_twice(scores, mask)
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    def backward(ctx, above):
        (weights,) = ctx.saved_tensors
        return weights * (above - (weights * above).sum(-1, keepdim=True)), None


def softmax_with_its_own_way_back(scores, mask):
    return _OwnWayBack.apply(scores, mask)


# ------------------------------------------------------------------- masked_attention


def attention_matmul(q, k, v, mask=None):
    scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.size(-1))
    if mask is None:
        return torch.matmul(scores.softmax(-1), v)
    return torch.matmul(softmax_filled_twice(scores, mask), v)


def attention_sdpa(q, k, v, mask=None):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def attention_everything_allowed_by_default(q, k, v, mask=None):
    if mask is None:
        mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool)
    scores = torch.einsum("bhid,bhjd->bhij", q, k) * q.shape[-1] ** -0.5
    return torch.einsum("bhij,bhjd->bhid", softmax_with_where(scores, mask), v)


def attention_true_as_default(q, k, v, mask=torch.tensor(True)):  # noqa: B008
    mask = torch.tensor(True) if mask is None else mask
    return softmax_filled_twice(q @ k.mT / math.sqrt(k.shape[-1]), mask) @ v


def attention_another_name(query, key, value, attn_mask=None):
    return attn_lib.fused_attention(query, key, value, mask=attn_mask)[0]


def attention_weights_repaired(q, k, v, mask=None):
    scores = q @ k.mT * q.shape[-1] ** -0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(-1).nan_to_num() @ v


def attention_smallest_number(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is None:
        return scores.softmax(-1) @ v
    return (scores.masked_fill(~mask, torch.finfo(q.dtype).min).softmax(-1) * mask) @ v


def attention_empty_queries_zeroed(q, k, v, mask=None):
    if mask is None:
        return attention_matmul(q, k, v)
    some = mask.any(-1, keepdim=True)
    scores = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~mask & some, -torch.inf)
    return (scores.softmax(-1) @ v).masked_fill(~some, 0.0)


def attention_divided_after_v(q, k, v, mask=None):
    s = q @ k.mT / math.sqrt(q.shape[-1])
    mask = torch.ones_like(s, dtype=torch.bool) if mask is None else mask
    s = s.masked_fill(~mask, -torch.inf)
    largest = s.amax(-1, keepdim=True).clamp(min=torch.finfo(q.dtype).min)
    e = (s - largest.detach()).exp()
    total = e.sum(-1, keepdim=True)
    return (e @ v) / torch.where(total == 0, torch.ones_like(total), total)


def attention_head_by_head(q, k, v, mask=None):
    B, H, L, _ = q.shape
    if mask is not None:
        mask = mask.expand(B, H, L, k.shape[2])
    heads = [
        attention_matmul(q[:, h], k[:, h], v[:, h], None if mask is None else mask[:, h])
        for h in range(H)
    ]
    return torch.stack(heads, dim=1)


def attention_query_by_query(q, k, v, mask=None):
    L = q.shape[2]
    if mask is not None:
        mask = mask.expand(*q.shape[:3], k.shape[2])
    rows = []
    for i in range(L):
        s = (q[:, :, i : i + 1] * k).sum(-1) / math.sqrt(q.shape[-1])
        w = s.softmax(-1) if mask is None else softmax_filled_twice(s, mask[:, :, i])
        rows.append((w[..., None] * v).sum(2))
    return torch.stack(rows, 2)


def attention_bmm(q, k, v, mask=None):
    B, H, L, D = q.shape
    S = k.shape[2]
    q3, k3, v3 = (t.reshape(B * H, t.shape[2], -1) for t in (q, k, v))
    scores = torch.bmm(q3, k3.transpose(1, 2)).view(B, H, L, S) / D**0.5
    w = scores.softmax(3) if mask is None else softmax_with_where(scores, mask)
    return torch.bmm(w.view(B * H, L, S), v3).view(B, H, L, -1)


def attention_in_float64(q, k, v, mask=None):
    return attention_matmul(q.double(), k.double(), v.double(), mask).to(q.dtype)


def attention_half_by_way_of_float32(q, k, v, mask=None):
    scores = (q @ k.mT).float() / math.sqrt(q.shape[-1])
    if q.dtype == torch.float64:
        scores = (q @ k.mT) / math.sqrt(q.shape[-1])
    w = scores.softmax(-1) if mask is None else softmax_filled_twice(scores, mask)
    return w.to(v.dtype) @ v


def attention_scale_on_query(q, k, v, mask=None):
    q = q / math.sqrt(q.shape[-1])
    s = torch.einsum("...ld,...sd->...ls", q, k)
    if mask is not None:
        s = s.masked_fill_(~mask, -torch.inf)
    return torch.einsum("...ls,...sd->...ld", s.softmax(-1).nan_to_num(0.0), v)


def attention_split_scale(q, k, v, mask=None):
    c = q.shape[-1] ** -0.25
    s = (q * c) @ (k * c).mT
    return (s.softmax(-1) if mask is None else softmax_of_additive_mask(s, mask)) @ v


def attention_on_transposed_scores(q, k, v, mask=None):
    s = k @ q.mT / math.sqrt(q.shape[-1])
    if mask is None:
        return s.softmax(-2).mT @ v
    mask = mask.expand(*q.shape[:-1], k.shape[-2]).mT
    w = s.masked_fill(~mask, -torch.inf).softmax(-2).masked_fill(~mask, 0.0)
    return w.mT @ v


def attention_by_keys_in_chunks(q, k, v, mask=None):
    """Two keys at a time, with a running maximum and sum."""
    m = torch.full((*q.shape[:-1], 1), torch.finfo(q.dtype).min / 2, dtype=q.dtype)
    total = torch.zeros_like(m)
    out = torch.zeros(*q.shape[:-1], v.shape[-1], dtype=q.dtype)
    for start in range(0, k.shape[2], 2):
        kk, vv = k[:, :, start : start + 2], v[:, :, start : start + 2]
        s = q @ kk.mT / math.sqrt(q.shape[-1])
        if mask is not None:
            s = s.masked_fill(~mask[..., start : start + 2], -torch.inf)
        new = torch.maximum(m, s.amax(-1, keepdim=True)).detach()
        e = (s - new).exp()
        total = total * (m - new).exp() + e.sum(-1, keepdim=True)
        out = out * (m - new).exp() + e @ vv
        m = new
    return out / torch.where(total == 0, 1.0, total)


def attention_gathering_allowed_keys(q, k, v, mask=None):
    B, H, L, D = q.shape
    full = torch.ones(B, H, L, k.shape[2], dtype=torch.bool)
    full = full if mask is None else full & mask
    rows = []
    for b, h, i in np.ndindex(B, H, L):
        keys = full[b, h, i].nonzero().flatten()
        w = (k[b, h, keys] @ q[b, h, i] / D**0.5).softmax(0)
        rows.append(w @ v[b, h, keys])
    return torch.stack(rows).view(B, H, L, -1)


def attention_hidden_afterwards(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    weights = scores.softmax(-1)
    return (weights if mask is None else softmax_hidden_afterwards(scores, mask)) @ v


def attention_with_1e9_added(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    weights = scores.softmax(-1)
    return (weights if mask is None else softmax_with_1e9_added(scores, mask)) @ v


def attention_vmapped(q, k, v, mask=None):
    """One head of one sentence, lifted over both axes."""
    if mask is None:
        mask = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool)
    mask = mask.expand(*q.shape[:3], k.shape[2])
    return torch.vmap(torch.vmap(attention_matmul))(q, k, v, mask)


def attention_sdpa_guarded(q, k, v, mask=None):
    if mask is None:
        return F.scaled_dot_product_attention(q, k, v)
    some = mask.any(-1, keepdim=True)
    output = F.scaled_dot_product_attention(q, k, v, attn_mask=mask | ~some)
    return torch.where(some, output, torch.zeros_like(output))


def attention_sdpa_head_by_head(q, k, v, mask=None):
    if mask is not None:
        mask = mask.expand(*q.shape[:3], k.shape[2]).flatten(0, 1)
    q3, k3, v3 = (t.flatten(0, 1) for t in (q, k, v))
    output = F.scaled_dot_product_attention(q3, k3, v3, mask, dropout_p=0.0)
    return output.unflatten(0, q.shape[:2])


def attention_with_a_value_of_zero(q, k, v, mask=None):
    """One more key, lower than all others, whose value is 0."""
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    scores = F.pad(scores, (0, 1), value=torch.finfo(q.dtype).min)
    return scores.softmax(-1) @ F.pad(v, (0, 0, 0, 1))


def attention_in_another_layout(q, k, v, mask=None):
    q, k, v = (t.transpose(1, 2) for t in (q, k, v))
    scores = torch.einsum("blhd,bshd->bhls", q, k) / math.sqrt(q.shape[-1])
    w = scores.softmax(-1) if mask is None else softmax_with_where(scores, mask)
    return torch.einsum("bhls,bshe->blhe", w, v).transpose(1, 2)


def attention_by_queries_in_chunks(q, k, v, mask=None):
    outputs = []
    for start in range(0, q.shape[2], 2):
        some = slice(start, start + 2)
        part = mask
        if mask is not None and mask.shape[-2] > 1:
            part = mask[..., some, :]
        outputs.append(attention_matmul(q[:, :, some], k, v, part))
    return torch.cat(outputs, dim=2)


def attention_without_matmul(q, k, v, mask=None):
    scores = (q.unsqueeze(3) * k.unsqueeze(2)).sum(-1) * q.shape[-1] ** -0.5
    w = scores.softmax(-1) if mask is None else softmax_filled_twice(scores, mask)
    return (w.unsqueeze(-1) * v.unsqueeze(2)).sum(3)


def attention_heads_split_and_joined(q, k, v, mask=None):
    H = q.shape[1]
    masks = [mask] * H
    if mask is not None and mask.ndim == 4 and mask.shape[1] > 1:
        masks = mask.split(1, dim=1)
    parts = zip(q.split(1, 1), k.split(1, 1), v.split(1, 1), masks, strict=True)
    return torch.cat([attention_matmul(*part) for part in parts], 1)


def attention_hiding_keys_and_values_too(q, k, v, mask=None):
    if mask is not None and mask.ndim == 4 and mask.shape[1:3] == (1, 1):
        k, v = k.masked_fill(~mask.mT, 0.0), v.masked_fill(~mask.mT, 0.0)
    return attention_matmul(q, k, v, mask)


def attention_transposed_product(q, k, v, mask=None):
    scores = (k @ q.mT).mT / math.sqrt(q.shape[-1])
    w = scores.softmax(-1) if mask is None else softmax_by_log_softmax(scores, mask)
    return (v.mT @ w.mT).mT


def attention_with_its_own_way_back(q, k, v, mask=None):
    mask = torch.ones(1, 1, dtype=torch.bool) if mask is None else mask
    return softmax_with_its_own_way_back(q @ k.mT / math.sqrt(q.shape[-1]), mask) @ v


class Attention:
    def __init__(self, softmax):
        self.softmax = softmax

    def __call__(self, q, k, v, mask=None):
        scores = torch.matmul(q, k.transpose(2, 3)).div(math.sqrt(q.size(3)))
        if mask is None:
            mask = torch.ones_like(scores, dtype=torch.bool)
        return torch.matmul(self.softmax(scores, mask), v)


def attention_of(softmax, q, k, v, mask=None):
    return Attention(softmax)(q, k, v, mask=mask)


ALTERNATIVES = {
    "causal_mask": [
        causal_by_tril,
        causal_by_triu,
        causal_by_comparison,
        causal_by_loop,
        causal_by_rows,
        causal_by_lists,
        causal_from_the_last_rows,
        causal_from_both_ends,
        causal_by_numpy,
        causal_by_cumulative_sum,
        causal_by_additive,
        causal_by_integers,
        causal_not_contiguous,
        causal_by_vmap,
        functools.partial(attn_lib.sliding_window_mask, window=10_000),
        causal_by_past_and_triangle,
        causal_out_of_a_large_square,
        causal_by_indices,
        causal_by_bytes,
        causal_by_where,
        causal_by_rows_joined,
        causal_by_counting,
        causal_from_the_keys,
        causal_kept,
        CausalModule(),
    ],
    "padding_mask": [
        padding_by_view,
        padding_by_four_axes,
        padding_by_broadcast,
        padding_by_not_pad,
        padding_by_loop,
        padding_by_double_loop,
        padding_by_lists,
        padding_by_stack,
        padding_by_rows_of_a_triangle,
        padding_by_cumulative_sum,
        padding_by_transpose,
        padding_by_numpy,
        padding_by_floats,
        padding_by_einsum_like_names,
        padding_by_pad_sequence,
        padding_by_index_select,
        padding_by_vmap,
        padding_by_map,
        padding_by_scatter,
        padding_by_hiding_the_end,
        padding_by_sign,
        padding_by_counting,
        padding_by_concatenation,
        padding_by_repeat,
        PaddingModule(),
    ],
    "sliding_window_mask": [
        window_from_causal,
        window_by_steps,
        window_by_chained_triangles,
        window_by_difference_of_triangles,
        window_by_xor,
        window_by_loop,
        window_by_rows,
        window_by_lists,
        window_by_any_of_diagonals,
        window_by_logical_and,
        window_by_isin,
        window_by_clamp,
        window_by_absolute_distance,
        window_from_the_last_rows,
        window_between_two_edges,
        window_by_floor_division,
        window_by_distance_from_its_middle,
        window_never_longer_than_the_keys,
        window_by_shifting_the_causal_mask,
        window_by_vmap,
        window_by_where,
        window_by_range,
        window_out_of_a_large_square,
        window_turned_around,
        WindowModule(),
    ],
    "masked_softmax": [
        softmax_filled_twice,
        softmax_with_where,
        softmax_filled_then_nan_to_num,
        softmax_filled_by_the_smallest_number,
        softmax_empty_rows_left_open,
        softmax_by_hand,
        softmax_by_hand_with_harmless_epsilon,
        softmax_in_float32,
        softmax_1e9_in_float64,
        softmax_of_additive_mask,
        softmax_of_log_mask,
        softmax_hidden_afterwards,
        softmax_maximum_of_everything,
        softmax_with_1e9_added,
        softmax_by_logsumexp,
        softmax_in_place_on_its_own,
        softmax_by_index,
        softmax_row_by_row,
        softmax_on_the_transposed,
        SoftmaxModule(),
        softmax_with_a_sink,
        softmax_with_a_low_sink,
        softmax_by_log_softmax,
        softmax_in_base_two,
        softmax_where_not_nan,
        softmax_sentence_by_sentence,
        softmax_of_torch_masked,
        softmax_in_float64,
        softmax_on_the_first_axis,
        softmax_scattered_rows,
        softmax_with_its_own_way_back,
    ],
    "masked_attention": [
        attention_matmul,
        attention_sdpa,
        attention_everything_allowed_by_default,
        attention_true_as_default,
        attention_another_name,
        attention_weights_repaired,
        attention_smallest_number,
        attention_empty_queries_zeroed,
        attention_divided_after_v,
        attention_head_by_head,
        attention_query_by_query,
        attention_bmm,
        attention_in_float64,
        attention_half_by_way_of_float32,
        attention_scale_on_query,
        attention_split_scale,
        attention_on_transposed_scores,
        attention_by_keys_in_chunks,
        attention_gathering_allowed_keys,
        attention_hidden_afterwards,
        attention_with_1e9_added,
        attention_vmapped,
        attention_sdpa_guarded,
        attention_sdpa_head_by_head,
        attention_with_a_value_of_zero,
        attention_in_another_layout,
        attention_by_queries_in_chunks,
        attention_without_matmul,
        attention_heads_split_and_joined,
        attention_hiding_keys_and_values_too,
        attention_transposed_product,
        attention_with_its_own_way_back,
        Attention(softmax_in_base_two),
        functools.partial(attention_of, softmax_with_a_sink),
    ],
}
