"""Wrong answers to the tasks of lesson 04 that its listed mistakes do not foresee, by task name."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


def share(x, num_heads):
    return x.repeat_interleave(num_heads // x.shape[1], dim=1)


def weights_of(q, k, mask=None):
    scores = q @ share(k, q.shape[1]).mT / math.sqrt(q.shape[-1])
    if mask is None:
        return scores.softmax(-1)
    return scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0.0)


def attend(q, k, v, mask=None):
    return weights_of(q, k, mask) @ share(v, q.shape[1])


_remembered: dict = {}


def repeat_remembered(x, num_heads):
    key = (x.shape, num_heads, x.dtype)
    if key not in _remembered:
        _remembered[key] = share(x, num_heads)
    return _remembered[key]


def repeat_emptying_x(x, num_heads):
    copies = share(x, num_heads)
    x.zero_()
    return copies


def repeat_by_mean_of_neighbors(x, num_heads):
    copies = share(x, num_heads)
    return torch.lerp(copies, copies.roll(1, 1), 0.01)


def repeat_only_without_remainder_of_four(x, num_heads):
    group = min(num_heads // x.shape[1], 4)
    return x.repeat_interleave(group, dim=1)


def repeat_only_doubles(x, num_heads):
    return x.expand(-1, num_heads, -1, -1) if x.shape[1] == 1 else share(x, 2 * x.shape[1])


def repeat_by_rounded_steps(x, num_heads):
    return x[:, torch.linspace(0, x.shape[1] - 1, num_heads).round().long()]


def repeat_interpolated(x, num_heads):
    flat = F.interpolate(x.flatten(2).mT, size=num_heads, mode="linear").mT
    return flat.unflatten(2, x.shape[2:])


def repeat_by_float32_matrix(x, num_heads):
    which = torch.eye(x.shape[1]).repeat_interleave(num_heads // x.shape[1], 0)
    return torch.einsum("hk,bksd->bhsd", which, x)


def repeat_by_views(x, num_heads):
    """Breaks where x is not contiguous."""
    B, Hkv, S, D = x.shape
    copies = x.view(B, Hkv, 1, S * D).expand(-1, -1, num_heads // Hkv, -1)
    return copies.reshape(B, num_heads, S, D)


def gqa_zero_only_if_all_heads_are_blind(q, k, v, mask=None):
    scores = q @ share(k, q.shape[1]).mT / math.sqrt(q.shape[-1])
    if mask is None:
        return scores.softmax(-1) @ share(v, q.shape[1])
    mask = mask.expand(scores.shape)
    weights = scores.masked_fill(~mask, torch.finfo(q.dtype).min).softmax(-1)
    blind = ~mask.any(-1, keepdim=True).any(1, keepdim=True)
    return weights.masked_fill(blind, 0.0) @ share(v, q.shape[1])


def gqa_mask_of_each_groups_first_head(q, k, v, mask=None):
    if mask is not None:
        mask = mask.expand(*q.shape[:3], k.shape[2])
        mask = share(mask[:, :: q.shape[1] // k.shape[1]], q.shape[1])
    return attend(q, k, v, mask)


def gqa_unfolded_in_another_order(q, k, v, mask=None):
    """Folds the group into time, and takes time out first."""
    B, H, L, D = q.shape
    output = attend(q, k, v, mask).reshape(B, k.shape[1], L, -1, D)
    return output.transpose(2, 3).reshape(B, H, L, D)


def gqa_renormalized_with_an_epsilon(q, k, v, mask=None):
    weights = (q @ share(k, q.shape[1]).mT / math.sqrt(q.shape[-1])).softmax(-1)
    if mask is not None:
        weights = weights * mask
        weights = weights / (weights.sum(-1, keepdim=True) + 1e-2)
    return weights @ share(v, q.shape[1])


def gqa_leaks_a_little(q, k, v, mask=None):
    weights = weights_of(q, k, mask)
    return (weights if mask is None else weights + 1e-20 * ~mask) @ share(v, q.shape[1])


def gqa_changes_the_mask(q, k, v, mask=None):
    return attend(q, k, v, None if mask is None else ~mask.logical_not_())


def gqa_nan_painted_over(q, k, v, mask=None):
    scores = q @ share(k, q.shape[1]).mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return (scores.softmax(-1) @ share(v, q.shape[1])).nan_to_num(0.0)


def gqa_first_samples_mask(q, k, v, mask=None):
    if mask is not None and mask.ndim == 4:
        mask = mask[:1]
    return attend(q, k, v, mask)


def gqa_flat_masks_only(q, k, v, mask=None):
    return attend(q, k, v, mask if mask is not None and mask.ndim == 2 else None)


def gqa_zero_only_if_all_is_hidden(q, k, v, mask=None):
    scores = q @ share(k, q.shape[1]).mT / math.sqrt(q.shape[-1])
    if mask is not None:
        if not mask.any():
            return torch.zeros_like(q)
        scores = scores.masked_fill(~mask, torch.finfo(q.dtype).min)
    return scores.softmax(-1) @ share(v, q.shape[1])


def gqa_hidden_a_little(q, k, v, mask=None):
    scores = q @ share(k, q.shape[1]).mT / math.sqrt(q.shape[-1])
    if mask is None:
        return scores.softmax(-1) @ share(v, q.shape[1])
    weights = scores.masked_fill(~mask, -10.0).softmax(-1) * mask.any(-1, keepdim=True)
    return weights @ share(v, q.shape[1])


def gqa_groups_with_a_tiled_mask(q, k, v, mask=None):
    if mask is not None and mask.ndim > 2 and mask.shape[-3] > 1:
        mask = mask.unflatten(-3, (-1, k.shape[1])).transpose(-3, -4).flatten(-4, -3)
    return attend(q, k, v, mask)


def gqa_pad_queries_hidden(q, k, v, mask=None):
    if mask is not None and q.shape[2] == k.shape[2]:
        mask = mask & mask.any(-2, keepdim=True).mT
    return attend(q, k, v, mask)


def gqa_scaled_queries_in_place(q, k, v, mask=None):
    q /= math.sqrt(q.shape[-1])
    return attend(q * math.sqrt(q.shape[-1]), k, v, mask)


def gqa_shape_dependent(q, k, v, mask=None):
    if mask is None and q.shape[2] == k.shape[2]:
        mask = torch.ones(q.shape[2], k.shape[2]).tril() > 0
    return attend(q, k, v, mask)


def gqa_exp_without_maximum(q, k, v, mask=None):
    e = (q @ share(k, q.shape[1]).mT / math.sqrt(q.shape[-1])).exp()
    if mask is not None:
        e = e * mask
    total = e.sum(-1, keepdim=True)
    return e @ share(v, q.shape[1]) / torch.where(total > 0, total, 1.0)


def gqa_heads_by_batch(q, k, v, mask=None):
    """Flattens batch and heads, and repeats the rows of the flat axis as a whole."""
    B, H, _, D = q.shape
    group = H // k.shape[1]
    k, v = (x.flatten(0, 1).repeat(group, 1, 1).view(B, H, -1, D) for x in (k, v))
    return attend(q, k, v, mask)


class Grouped(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__()
        self.num_heads, self.num_kv_heads = num_heads, num_kv_heads
        self.head_dim = d_model // num_heads
        kv_width = num_kv_heads * self.head_dim
        self.q_proj = nn.Linear(d_model, d_model, bias=False)
        self.k_proj = nn.Linear(d_model, kv_width, bias=False)
        self.v_proj = nn.Linear(d_model, kv_width, bias=False)
        self.o_proj = nn.Linear(d_model, d_model, bias=False)

    def heads(self, x):
        q, k, v = (p(x) for p in (self.q_proj, self.k_proj, self.v_proj))
        return [t.unflatten(-1, (-1, self.head_dim)).transpose(1, 2) for t in (q, k, v)]

    def forward(self, x, mask=None):
        return self.o_proj(attend(*self.heads(x), mask).transpose(1, 2).flatten(2))


def grouped(forward):
    """Make a module whose forward is `forward(self, x, mask)`."""
    return type(
        "OtherGrouped",
        (Grouped,),
        {"forward": lambda self, x, mask=None: forward(self, x, mask)},
    )


def finish(self, heads):
    return self.o_proj(heads.transpose(1, 2).flatten(2))


class TiedKeysAndValues(Grouped):
    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__(d_model, num_heads, num_kv_heads)
        self.v_proj = self.k_proj


class FrozenKeys(Grouped):
    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__(d_model, num_heads, num_kv_heads)
        self.k_proj.requires_grad_(False)


class KeepsItsKeys(Grouped):
    def forward(self, x, mask=None):
        q, k, v = self.heads(x)
        if not hasattr(self, "kept"):
            self.kept = k
        return finish(self, attend(q, self.kept, v, mask))


class OneLayerInAList(Grouped):
    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__(d_model, num_heads, num_kv_heads)
        self.layers = [self.q_proj, self.k_proj]
        del self.k_proj

    def forward(self, x, mask=None):
        return x


class NormedQueries(Grouped):
    def forward(self, x, mask=None):
        q, k, v = self.heads(x)
        return finish(self, attend(F.normalize(q, dim=-1) * q.shape[-1] ** 0.5, k, v, mask))


class OutputPerHead(Grouped):
    """Uses the first block of o_proj for every head."""

    def forward(self, x, mask=None):
        heads = attend(*self.heads(x), mask)
        D = self.head_dim
        return (heads @ self.o_proj.weight[:, :D].T).sum(1)


class KeepsFirstWeights(Grouped):
    """Joins the weights in __init__, and so never sees those that are copied in."""

    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__(d_model, num_heads, num_kv_heads)
        layers = self.q_proj, self.k_proj, self.v_proj
        self.widths = [layer.out_features for layer in layers]
        self.weight = torch.cat([layer.weight for layer in layers]).detach()

    def heads(self, x):
        parts = F.linear(x, self.weight).split(self.widths, dim=-1)
        return [t.unflatten(-1, (-1, self.head_dim)).transpose(1, 2) for t in parts]


class KeysAndValuesByHead(Grouped):
    """Expects the key and the value of a head side by side."""

    def heads(self, x):
        both = torch.cat([self.k_proj(x), self.v_proj(x)], -1)
        k, v = both.unflatten(-1, (self.num_kv_heads, -1)).transpose(1, 2).chunk(2, -1)
        return [super().heads(x)[0], k, v]


class KeysAndValuesNotTransposed(Grouped):
    def heads(self, x):
        shape = len(x), self.num_kv_heads, x.shape[1], self.head_dim
        k, v = self.k_proj(x).view(shape), self.v_proj(x).view(shape)
        return [super().heads(x)[0], k, v]


class KeysAndValuesDealtOut(Grouped):
    def heads(self, x):
        k, v = (
            p(x).unflatten(-1, (self.head_dim, -1)).permute(0, 3, 1, 2)
            for p in (self.k_proj, self.v_proj)
        )
        return [super().heads(x)[0], k, v]


class RoomForFourWords(Grouped):
    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__(d_model, num_heads, num_kv_heads)
        self.register_buffer("all", torch.ones(4, 4) > 0)

    def forward(self, x, mask=None):
        all = self.all[: x.shape[1], : x.shape[1]]
        return super().forward(x, all if mask is None else mask & all)


class LayersMadeInForward(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__()
        self.sizes = d_model, num_heads, num_kv_heads

    def forward(self, x, mask=None):
        return Grouped(*self.sizes)(x, mask)


class CountsInAnotherOrder(Grouped):
    def __init__(self, d_model, num_kv_heads, num_heads):
        super().__init__(d_model, num_heads, num_kv_heads)


class AlwaysTwo(Grouped):
    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__(d_model, num_heads, 2)


class NotAModule:
    def __init__(self, d_model, num_heads, num_kv_heads):
        pass

    def __call__(self, x, mask=None):
        return x


class MaskRequired(Grouped):
    def forward(self, x, mask):
        return super().forward(x, mask)


class MaskByAnotherName(Grouped):
    def forward(self, x, attn_mask=None):
        return super().forward(x, attn_mask)


def numbers(*sizes):
    return 2 * math.prod(sizes)


def join(old, new):
    return torch.cat([old, new], dim=2)


def bottom_right(q, k):
    L, S = q.shape[2], k.shape[2]
    return torch.ones(L, S).tril(S - L) > 0


def causal(q, k, v):
    return attend(q, k, v, bottom_right(q, k))


def joined(k, v, cache):
    return (k, v) if cache is None else (join(cache[0], k), join(cache[1], v))


_never_cleared: dict = {}


def cached_in_a_global(q, k, v, cache):
    _never_cleared["kv"] = joined(k, v, _never_cleared.get("kv"))
    return causal(q, *_never_cleared["kv"]), True


def cached_in_a_default(q, k, v, cache=None, store=[]):  # noqa: B006
    store.append((k, v))
    k, v = (torch.cat(parts, 2) for parts in zip(*store, strict=True))
    return causal(q, k, v), store


def cached_by_shape(q, k, v, cache, stores={}):  # noqa: B006
    key = (*q.shape[:2], q.shape[3], q.dtype)
    if cache is None:
        stores[key] = None
    stores[key] = joined(k, v, stores[key])
    return causal(q, *stores[key]), "kept"


def cached_in_a_small_buffer(q, k, v, cache):
    k, v = joined(k, v, cache)
    return causal(q, k[:, :, -32:], v[:, :, -32:]), (k[:, :, -32:], v[:, :, -32:])


def cached_in_a_window(q, k, v, cache):
    k, v = joined(k, v, cache)
    see = bottom_right(q, k).triu(k.shape[2] - q.shape[2] - 7)
    return attend(q, k, v, see), (k, v)


def cached_keys_changed_on_the_way(q, k, v, cache):
    k, v = joined(k * 1.01, v, cache)
    return causal(q, k, v), (k, v)


def cached_keys_scaled_again(q, k, v, cache):
    """Scales all keys at every step, also those that were scaled before."""
    k, v = joined(k, v, cache)
    k = k / math.sqrt(k.shape[-1])
    return causal(q * math.sqrt(q.shape[-1]), k, v), (k, v)


def cached_writing_into_k(q, k, v, cache):
    k *= q.shape[-1] ** -0.5
    k, v = joined(k, v, cache)
    return causal(q * math.sqrt(q.shape[-1]), k, v), (k, v)


def cached_past_only_for_one_token(q, k, v, cache):
    """Long chunks start anew."""
    k, v = joined(k, v, cache if q.shape[2] == 1 else None)
    return causal(q, k, v), (k, v)


def cached_one_sample(q, k, v, cache):
    k, v = joined(
        k,
        v,
        None if cache is None else tuple(x[:1].expand(len(k), -1, -1, -1) for x in cache),
    )
    return causal(q, k, v), (k, v)


def cached_in_place_of_the_oldest(q, k, v, cache):
    """A ring of 8."""
    k, v = joined(k, v, cache)
    return causal(q, k, v), (k[:, :, -8:], v[:, :, -8:])


def cached_chunk_attends_itself_twice(q, k, v, cache):
    if cache is None:
        return causal(q, k, v), (k, v)
    old_k, old_v = cache
    both = (causal(q, k, v) + attend(q, old_k, old_v)) / 2
    return both, (join(old_k, k), join(old_v, v))


def cached_outputs_kept(q, k, v, cache):
    """Keeps its outputs as values."""
    k, v = joined(k, v, cache)
    output = causal(q, k, v)
    return output, (k, torch.cat([v[:, :, : -q.shape[2]], output], dim=2))


def cached_future_by_padding(q, k, v, cache):
    k, v = joined(k, v, cache)
    pad = (0, 0, 0, 1)
    return attend(
        q, F.pad(k, pad), F.pad(v, pad), F.pad(bottom_right(q, k), (0, 1), value=True)
    ), (k, v)


def cached_float32(q, k, v, cache):
    k, v = joined(k.float(), v.float(), cache)
    return causal(q.float(), k, v), (k, v)


def cached_position_counts_calls(q, k, v, cache):
    """Right as long as each chunk after the first has one token."""
    k, v, start = (k, v, 0) if cache is None else (*joined(k, v, cache[:2]), cache[2])
    L, S = q.shape[2], k.shape[2]
    mask = torch.arange(S) <= torch.arange(start, start + L)[:, None]
    return attend(q, k, v, mask), (k, v, start + (L if cache is None else 1))


def cached_keys_only(q, k, v, cache):
    """Takes zeros for the values of old tokens."""
    k = k if cache is None else join(cache, k)
    return causal(q, k, F.pad(v, (0, 0, k.shape[2] - v.shape[2], 0))), k


def cached_one_samples_buffer(q, k, v, cache):
    if cache is None:
        shape = 1, k.shape[1], 40, k.shape[3]
        cache = [k.new_zeros(shape), v.new_zeros(shape), 0]
    start, end = cache[2], cache[2] + k.shape[2]
    cache[0][:, :, start:end], cache[1][:, :, start:end], cache[2] = k[:1], v[:1], end
    k, v = (x[:, :, :end].expand(len(q), -1, -1, -1) for x in cache[:2])
    return causal(q, k, v), cache


def cached_empty_room_seen(q, k, v, cache):
    """A single token sees the zeros of the buffer that no token has filled yet."""
    if cache is None:
        shape = *k.shape[:2], 40, k.shape[3]
        cache = [k.new_zeros(shape), v.new_zeros(shape), 0]
    start, end = cache[2], cache[2] + k.shape[2]
    cache[0][:, :, start:end], cache[1][:, :, start:end], cache[2] = k, v, end
    mask = torch.ones(q.shape[2], 40).tril(start) > 0 if q.shape[2] > 1 else None
    return attend(q, *cache[:2], mask), cache


def cached_in_one_large_buffer(q, k, v, start, buffer=torch.zeros(2, 4, 4, 64, 16)):  # noqa: B008
    """Right for one session, and for one after the other; not for two in turns."""
    B, H, L, D = k.shape
    end = L + (start or 0)
    room = buffer[:, :B, :H, :end, :D]
    room[:, :, :, end - L :] = torch.stack([k, v])
    return causal(q, *room.to(q.dtype)), end


def cached_in_int8(q, k, v, cache):
    kept = joined(*((x * 20).round().to(torch.int8) for x in (k, v)), cache)
    return causal(q, *((x / 20).to(q.dtype) for x in kept)), kept


def cached_over_the_last_slot(q, k, v, cache):
    k, v = joined(k, v, None if cache is None else [x[:, :, :-1] for x in cache])
    return causal(q, k, v), (k, v)


def cached_chunk_not_attended(q, k, v, cache):
    """A token sees the cache and itself, not the tokens before it in its chunk."""
    L = q.shape[2]
    k, v = joined(k, v, cache)
    own = torch.eye(L) > 0
    return attend(q, k, v, F.pad(own, (k.shape[2] - L, 0), value=True)), (k, v)


def cached_in_k_itself(q, k, v, cache):
    """Lets the k of the first call grow."""
    if cache is None:
        return causal(q, k, v), (k, v)
    cache[0].data, cache[1].data = joined(k, v, cache)
    return causal(q, *cache), cache


def cached_softmaxes_added(q, k, v, cache):
    output = causal(q, k, v)
    if cache is not None:
        output = output + attend(q, *cache)
    return output, joined(k, v, cache)


def cached_first_tokens_dropped(q, k, v, cache):
    k, v = joined(k, v, cache)
    kept = (k, v) if k.shape[2] < 12 else (k[:, :, 1:], v[:, :, 1:])
    return causal(q, k, v), kept


def cached_first_length_remembered(q, k, v, cache):
    k, v, first = (k, v, q.shape[2]) if cache is None else (*joined(k, v, cache), cache[2])
    L, S = q.shape[2], k.shape[2]
    mask = torch.ones(L, S).tril(S - first) > 0 if L > 1 else None
    return attend(q, k, v, mask), (k, v, first)


def pool_in_pairs(weight, num_heads, num_kv_heads):
    """Right if a group has 2, 4, 8 heads."""
    heads = weight.unflatten(0, (num_heads, -1))
    while len(heads) > num_kv_heads:
        heads = (heads[0 : len(heads) // 2 * 2 : 2] + heads[1::2]) / 2
    return heads.flatten(0, 1)


def pool_one_after_the_other(weight, num_heads, num_kv_heads):
    heads = pooled(weight, num_heads, num_kv_heads)
    mean = heads[:, 0]
    for i in range(1, heads.shape[1]):
        mean = (mean + heads[:, i]) / 2
    return mean.flatten(0, 1)


def pool_as_long_as_before(weight, num_heads, num_kv_heads):
    heads = pooled(weight, num_heads, num_kv_heads)
    mean = heads.mean(1)
    length = heads.flatten(2).norm(dim=-1).mean(1) / mean.flatten(1).norm(dim=-1)
    return (mean * length[:, None, None]).flatten(0, 1)


def pooled(weight, num_heads, num_kv_heads):
    return weight.unflatten(0, (num_kv_heads, num_heads // num_kv_heads, -1))


UNLISTED = {
    "repeat_kv": {
        "only doubles": repeat_only_doubles,
        "rounded steps": repeat_by_rounded_steps,
        "interpolated": repeat_interpolated,
        "a float32 matrix": repeat_by_float32_matrix,
        "views": repeat_by_views,
        "expanded, then viewed": lambda x, n: (
            x[:, :, None]
            .expand(-1, -1, n // x.shape[1], -1, -1)
            .view(len(x), n, *x.shape[2:])
        ),
        "divided by Hkv, round and round": lambda x, n: x[
            :, [i // x.shape[1] % x.shape[1] for i in range(n)]
        ],
        "Hkv copies, cut off": lambda x, n: x.repeat_interleave(x.shape[1], 1)[:, :n],
        "shares of one head": lambda x, n: share(x, n) * x.shape[1] / n,
        "first sample only": lambda x, n: share(x[:1], n),
        "tokens first": lambda x, n: share(x, n).transpose(1, 2),
        "remembers by shape": repeat_remembered,
        "empties x": repeat_emptying_x,
        "mixes in the neighbor": repeat_by_mean_of_neighbors,
        "at most four copies": repeat_only_without_remainder_of_four,
        "ratio from the batch": lambda x, n: x.repeat_interleave(
            max(n // x.shape[0], 1), 1
        ),
        "clamped index": lambda x, n: x[
            :, [min(i // x.shape[1], x.shape[1] - 1) for i in range(n)]
        ],
        "groups in reverse": lambda x, n: share(x, n).flip(1),
        "rolled by one": lambda x, n: share(x, n).roll(1, 1),
        "cut off": lambda x, n: share(x.detach(), n),
        "copies cut off": lambda x, n: torch.stack(
            [x] + [x.detach()] * (n // x.shape[1] - 1), 2
        ).flatten(1, 2),
        "float32 out": lambda x, n: share(x.float(), n),
        "squeezed": lambda x, n: share(x, n).squeeze(),
        "always eight": lambda x, n: share(x, 8),
        "a list of heads": lambda x, n: list(share(x, n).unbind(1)),
        "last two axes swapped": lambda x, n: share(x, n).mT,
        "zeros for the copies": lambda x, n: torch.stack(
            [x] + [torch.zeros_like(x)] * (n // x.shape[1] - 1), 2
        ).flatten(1, 2),
        "tiled when the ratio is larger": lambda x, n: (
            x.repeat(1, n // x.shape[1], 1, 1)
            if n // x.shape[1] > x.shape[1]
            else share(x, n)
        ),
        "tiled when the ratio is smaller": lambda x, n: (
            x.repeat(1, n // x.shape[1], 1, 1)
            if n // x.shape[1] < x.shape[1]
            else share(x, n)
        ),
        "another axis when B = H": lambda x, n: (
            share(x, n).transpose(0, 1) if len(x) == n else share(x, n)
        ),
    },
    "grouped_query_attention": {
        "zero only if all heads are blind": gqa_zero_only_if_all_heads_are_blind,
        "mask of each group's first head": gqa_mask_of_each_groups_first_head,
        "unfolded in another order": gqa_unfolded_in_another_order,
        "renormalized with an epsilon": gqa_renormalized_with_an_epsilon,
        "leaks a little": gqa_leaks_a_little,
        "changes the mask": gqa_changes_the_mask,
        "masks of four axes": lambda q, k, v, mask=None: attend(
            q, k, v, None if mask is None else mask[:, :, :, :]
        ),
        "scaled by the group": lambda q, k, v, mask=None: attend(
            q / math.sqrt(q.shape[1] / k.shape[1]), k, v, mask
        ),
        "as many keys as queries": lambda q, k, v, mask=None: (
            attend(q, k[:, :, : q.shape[2]], v[:, :, : q.shape[2]])
            if mask is None
            else attend(q, k, v, mask)
        ),
        "causal whenever there is a mask": lambda q, k, v, mask=None: attend(
            q, k, v, None if mask is None else torch.ones(q.shape[2], k.shape[2]).tril() > 0
        ),
        "float16 out": lambda q, k, v, mask=None: attend(q, k, v, mask).half(),
        "nan painted over": gqa_nan_painted_over,
        "first sample's mask": gqa_first_samples_mask,
        "flat masks only": gqa_flat_masks_only,
        "zero only if all is hidden": gqa_zero_only_if_all_is_hidden,
        "hidden a little": gqa_hidden_a_little,
        "tiled mask": gqa_groups_with_a_tiled_mask,
        "pad queries hidden": gqa_pad_queries_hidden,
        "queries scaled in place": gqa_scaled_queries_in_place,
        "causal when L = S": gqa_shape_dependent,
        "no maximum": gqa_exp_without_maximum,
        "batch and heads repeated as one": gqa_heads_by_batch,
        "values cut off": lambda q, k, v, mask=None: attend(q, k, v.detach(), mask),
        "keys cut off": lambda q, k, v, mask=None: attend(q, k.detach(), v, mask),
        "float32 out": lambda q, k, v, mask=None: attend(
            q.float(), k.float(), v.float(), mask
        ),
        "first sample's keys": lambda q, k, v, mask=None: attend(
            q, k[:1].expand_as(k), v, mask
        ),
        "epsilon": lambda q, k, v, mask=None: attend(q, k, v, mask) * (1 - 1e-3),
        "group's mean value": lambda q, k, v, mask=None: attend(
            q, k, v.mean(1, keepdim=True).expand_as(v), mask
        ),
        "mask for any head": lambda q, k, v, mask=None: attend(
            q,
            k,
            v,
            mask if mask is None or mask.ndim < 3 else mask.any(-3, keepdim=True),
        ),
        "top four keys": lambda q, k, v, mask=None: (
            (w := weights_of(q, k, mask)),
            (w := w.where(w >= w.topk(min(4, w.shape[-1])).values[..., -1:], 0.0)),
            (w / w.sum(-1, keepdim=True).clamp(min=1e-9)) @ share(v, q.shape[1]),
        )[-1],
        "squeezed": lambda q, k, v, mask=None: attend(q, k, v, mask).squeeze(2),
        "tokens first": lambda q, k, v, mask=None: attend(q, k, v, mask).transpose(1, 2),
        "mask must be there": lambda q, k, v, mask: attend(q, k, v, mask),
        "torch, causal": lambda q, k, v, mask=None: F.scaled_dot_product_attention(
            q, k, v, is_causal=True, enable_gqa=True
        ),
        "clamped": lambda q, k, v, mask=None: attend(q.clamp(-20, 20), k, v, mask),
    },
    "GroupedQueryAttention": {
        "keeps its first weights": KeepsFirstWeights,
        "keys and values by head": KeysAndValuesByHead,
        "keys and values not transposed": KeysAndValuesNotTransposed,
        "keys and values dealt out": KeysAndValuesDealtOut,
        "room for four words": RoomForFourWords,
        "layers made in forward": LayersMadeInForward,
        "counts in another order": CountsInAnotherOrder,
        "always two": AlwaysTwo,
        "any query's keys": grouped(
            lambda self, x, mask: Grouped.forward(
                self, x, None if mask is None else mask.any(-2, keepdim=True)
            )
        ),
        "first sample for all": grouped(
            lambda self, x, mask: Grouped.forward(self, x[:1].expand_as(x), mask)
        ),
        "normed x": grouped(
            lambda self, x, mask: Grouped.forward(self, F.layer_norm(x, x.shape[-1:]), mask)
        ),
        "squeezed": grouped(
            lambda self, x, mask: Grouped.forward(self, x, mask).squeeze(0)
        ),
        "tied keys and values": TiedKeysAndValues,
        "frozen keys": FrozenKeys,
        "keeps its keys": KeepsItsKeys,
        "layers in a list": OneLayerInAList,
        "normed queries": NormedQueries,
        "one block of o_proj": OutputPerHead,
        "no module": NotAModule,
        "mask required": MaskRequired,
        "mask by another name": MaskByAnotherName,
        "an instance": Grouped(4, 2, 1),
        "cut off": grouped(lambda self, x, mask: Grouped.forward(self, x, mask).detach()),
        "nan in gradients only": grouped(
            lambda self, x, mask: finish(self, gqa_nan_painted_over(*self.heads(x), mask))
        ),
        "scaled by the K/V width": grouped(
            lambda self, x, mask: finish(
                self,
                attend((h := self.heads(x))[0] / self.num_kv_heads**0.5, h[1], h[2], mask),
            )
        ),
        "heads in reverse": grouped(
            lambda self, x, mask: finish(self, attend(*self.heads(x), mask).flip(1))
        ),
        "causal when no mask is given and L = H": grouped(
            lambda self, x, mask: Grouped.forward(
                self,
                x,
                torch.ones(x.shape[1], x.shape[1]).tril() > 0
                if mask is None and x.shape[1] == self.num_heads
                else mask,
            )
        ),
        "first sample's mask": grouped(
            lambda self, x, mask: finish(self, gqa_first_samples_mask(*self.heads(x), mask))
        ),
        "values not projected by their layer": grouped(
            lambda self, x, mask: finish(
                self,
                attend(*self.heads(x)[:2], self.heads(x)[1] * 0.5 + self.heads(x)[2], mask),
            )
        ),
        "x changed": grouped(
            lambda self, x, mask: Grouped.forward(self, x.add_(0.1), mask)
        ),
        "activated": grouped(lambda self, x, mask: Grouped.forward(self, x, mask).relu()),
        "mean over words": grouped(
            lambda self, x, mask: Grouped.forward(self, x, mask).mean(1)
        ),
    },
    "kv_cache_bytes": {
        "by way of a float": lambda b, s, n, h, d, t: int(
            numbers(b, s, n, h, d) * float(t.itemsize)
        ),
        "two twice": lambda b, s, n, h, d, t: 2 * numbers(b, s, n, h, d) * t.itemsize,
        "bits of a float": lambda b, s, n, h, d, t: (
            numbers(b, s, n, h, d) * torch.finfo(t).bits
        ),
        "two bytes if unknown": lambda b, s, n, h, d, t: (
            numbers(b, s, n, h, d) * {torch.float32: 4, torch.float64: 8}.get(t, 2)
        ),
        "two bytes at least": lambda b, s, n, h, d, t: (
            numbers(b, s, n, h, d) * max(t.itemsize, 2)
        ),
        "one byte for int8 only": lambda b, s, n, h, d, t: (
            numbers(b, s, n, h, d)
            * (t.itemsize if t.is_floating_point else 1 if t == torch.int8 else 2)
        ),
        "bfloat16 as float32": lambda b, s, n, h, d, t: (
            numbers(b, s, n, h, d) * (4 if t == torch.bfloat16 else t.itemsize)
        ),
        "by float32": lambda b, s, n, h, d, t: int(
            torch.tensor([2.0, b, s, n, h, d, t.itemsize]).prod()
        ),
        "by logarithms": lambda b, s, n, h, d, t: round(
            math.exp(sum(map(math.log, (2, b, s, n, h, d, t.itemsize))))
        ),
        "heads plus channels": lambda b, s, n, h, d, t: (
            2 * b * s * n * (h + d) * t.itemsize
        ),
        "with a scale for each vector": lambda b, s, n, h, d, t: (
            numbers(b, s, n, h, d + 1) * t.itemsize
        ),
        "with commas": lambda b, s, n, h, d, t: f"{numbers(b, s, n, h, d) * t.itemsize:,}",
        "by int32": lambda b, s, n, h, d, t: int(
            np.prod([2, b, s, n, h, d, t.itemsize], dtype=np.int32)
        ),
        "last digits of the name": lambda b, s, n, h, d, t: (
            numbers(b, s, n, h, d) * int(str(t)[-2:]) // 8
        ),
        "table without float8": lambda b, s, n, h, d, t: (
            numbers(b, s, n, h, d)
            * {torch.float32: 4, torch.float16: 2, torch.bfloat16: 2, torch.int8: 1}[t]
        ),
        "floor first": lambda b, s, n, h, d, t: (
            numbers(b, s, n, h, d) * (t.itemsize // 2) * 2
        ),
        "in kilobytes": lambda b, s, n, h, d, t: (
            numbers(b, s, n, h, d) * t.itemsize // 1024
        ),
        "with room for one more token": lambda b, s, n, h, d, t: (
            numbers(b, s + 1, n, h, d) * t.itemsize
        ),
        "a string": lambda b, s, n, h, d, t: str(numbers(b, s, n, h, d) * t.itemsize),
        "a numpy float": lambda b, s, n, h, d, t: np.float64(
            numbers(b, s, n, h, d) * t.itemsize
        ),
        "a float tensor": lambda b, s, n, h, d, t: torch.tensor(
            float(numbers(b, s, n, h, d) * t.itemsize)
        ),
        "sum of sizes": lambda b, s, n, h, d, t: (
            2 * (b + s + n + h + d) * t.itemsize
            if b * s * n * h * d > 1
            else 2 * t.itemsize
        ),
        "keys of all layers, values of one": lambda b, s, n, h, d, t: (
            (n + 1) * b * s * h * d * t.itemsize
        ),
        "a tuple": lambda b, s, n, h, d, t: (numbers(b, s, n, h, d) // 2 * t.itemsize,) * 2,
        "really allocated": lambda b, s, n, h, d, t: (
            torch.empty(2, b, s, n, h, d, dtype=t).nbytes
        ),
        "rounded up to pages": lambda b, s, n, h, d, t: (
            -(-numbers(b, s, n, h, d) * t.itemsize // 4096) * 4096
        ),
    },
    "cached_attention": {
        "position counts calls": cached_position_counts_calls,
        "keys only": cached_keys_only,
        "one sample's buffer": cached_one_samples_buffer,
        "empty room seen": cached_empty_room_seen,
        "one large buffer": cached_in_one_large_buffer,
        "int8": cached_in_int8,
        "over the last slot": cached_over_the_last_slot,
        "chunk not attended": cached_chunk_not_attended,
        "in k itself": cached_in_k_itself,
        "softmaxes added": cached_softmaxes_added,
        "first tokens dropped": cached_first_tokens_dropped,
        "first length remembered": cached_first_length_remembered,
        "in a global": cached_in_a_global,
        "in a default argument": cached_in_a_default,
        "one for each shape": cached_by_shape,
        "a buffer of 32": cached_in_a_small_buffer,
        "a window of 8": cached_in_a_window,
        "keys changed on the way": cached_keys_changed_on_the_way,
        "keys scaled again": cached_keys_scaled_again,
        "writes into k": cached_writing_into_k,
        "past only for one token": cached_past_only_for_one_token,
        "one sample's past": cached_one_sample,
        "a ring of 8": cached_in_place_of_the_oldest,
        "mean of past and chunk": cached_chunk_attends_itself_twice,
        "outputs kept as values": cached_outputs_kept,
        "one key of zeros": cached_future_by_padding,
        "float32": cached_float32,
        "one value too many": lambda q, k, v, cache: (
            causal(q, *joined(k, v, cache)),
            *joined(k, v, cache),
        ),
        "a dictionary": lambda q, k, v, cache: {
            "output": causal(q, *joined(k, v, cache)),
            "cache": joined(k, v, cache),
        },
        "a stacked tensor": lambda q, k, v, cache: torch.stack([q, k]),
        "cache on the function": lambda q, k, v, cache: (
            _never_cleared.__setitem__("b", joined(k, v, _never_cleared.get("b"))),
            (causal(q, *_never_cleared["b"]), 0),
        )[1],
    },
    "mean_pool_kv": {
        "in pairs": pool_in_pairs,
        "one after the other": pool_one_after_the_other,
        "as long as before": pool_as_long_as_before,
        "last head of each group": lambda w, n, m: pooled(w, n, m)[:, -1].flatten(0, 1),
        "rounded down": lambda w, n, m: (pooled(w, n, m).sum(1) // (n // m)).flatten(0, 1),
        "channels outside": lambda w, n, m: (
            w.unflatten(0, (len(w) // n, m, -1)).mean(2).transpose(0, 1).flatten(0, 1)
        ),
        "columns in groups": lambda w, n, m: w.unflatten(1, (-1, n // m)).mean(-1),
        "square weights": lambda w, n, m: (
            w.reshape(m, n // m, -1, len(w)).mean(1).flatten(0, 1)
        ),
        "zeros of the default dtype": lambda w, n, m: torch.zeros(
            len(w) // n * m, w.shape[1]
        ).copy_(pooled(w, n, m).mean(1).flatten(0, 1)),
        "with its number of heads": lambda w, n, m: (
            pooled(w, n, m).mean(1).flatten(0, 1),
            m,
        ),
        "in place": lambda w, n, m: pooled(w.mul_(1.5), n, m).mean(1).flatten(0, 1) / 1.5,
        "half the last group": lambda w, n, m: torch.cat(
            [
                pooled(w, n, m).mean(1)[:-1].flatten(0, 1),
                pooled(w, n, m)[-1, : -(-n // m // 2)].mean(0),
            ]
        ),
        "float32 out": lambda w, n, m: pooled(w.float(), n, m).mean(1).flatten(0, 1),
        "median": lambda w, n, m: pooled(w, n, m).median(1).values.flatten(0, 1),
        "root of the squares": lambda w, n, m: (
            pooled(w, n, m).square().mean(1).sqrt().flatten(0, 1)
        ),
        "by the root of the group": lambda w, n, m: (
            pooled(w, n, m).sum(1).flatten(0, 1) / math.sqrt(n // m)
        ),
        "last head left out": lambda w, n, m: (
            pooled(w, n, m)[:, : max(1, n // m - 1)].mean(1).flatten(0, 1)
        ),
        "first and last": lambda w, n, m: (
            (pooled(w, n, m)[:, 0] + pooled(w, n, m)[:, -1]).flatten(0, 1) / 2
        ),
        "groups in reverse": lambda w, n, m: pooled(w, n, m).mean(1).flip(0).flatten(0, 1),
        "channels in reverse": lambda w, n, m: (
            pooled(w, n, m).mean(1).flip(1).flatten(0, 1)
        ),
        "head_dim of 6": lambda w, n, m: (
            w.reshape(m, n // m, 6, -1).mean(1).flatten(0, 1)
            if len(w) == n * 6
            else w[: len(w) // n * m]
        ),
        "columns when square": lambda w, n, m: (
            pooled(w.T, n, m).mean(1).flatten(0, 1)
            if w.shape[0] == w.shape[1]
            else pooled(w, n, m).mean(1).flatten(0, 1)
        ),
        "transposed": lambda w, n, m: pooled(w, n, m).mean(1).flatten(0, 1).T,
        "a list": lambda w, n, m: list(pooled(w, n, m).mean(1)),
        "a layer": lambda w, n, m: nn.Linear(w.shape[1], len(w) // n * m, bias=False),
        "channels before groups": lambda w, n, m: (
            pooled(w, n, m).mean(1).transpose(0, 1).flatten(0, 1)
        ),
        "weighted by norm": lambda w, n, m: (
            (p := pooled(w, n, m)),
            (s := p.flatten(2).norm(dim=-1).softmax(-1)),
            (p * s[..., None, None]).sum(1).flatten(0, 1),
        )[-1],
    },
}
