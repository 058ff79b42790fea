"""Wrong answers to the tasks of lesson 06 that its listed mistakes do not foresee, by task name."""

import functools
import itertools
import math

import torch
import torch.nn.functional as F

# ------------------------------------------------------------------ attention_entropy


def rows_of(w):
    """The entropy (B, H, L) of every row."""
    return torch.special.entr(w).sum(-1)


def entropy(w):
    return rows_of(w).mean((0, 2))


def zeros_replaced_in_the_input(w):
    zeros = w == 0
    w[zeros] = 1.0
    return -(w.masked_fill(zeros, 0.0) * w.log()).sum(-1).mean((0, 2))


def one_head_by_squeeze(w):
    return entropy(w).squeeze()


def by_view(w):
    B, H, L, S = w.shape
    return rows_of(w.view(B * H, L, S)).view(B, H, L).mean((0, 2))


def in_loops_that_forget_the_last_key(w):
    total = torch.zeros(w.shape[:-1], dtype=w.dtype)
    for s in range(max(1, w.shape[-1] - 1)):
        total = total + torch.special.entr(w[..., s])
    return total.mean((0, 2))


_first_shape: dict = {}


def for_the_first_batch_size(w):
    B = _first_shape.setdefault("B", len(w))
    return rows_of(w).sum((0, 2)) / (B * w.shape[2])


def median_of_the_queries(w):
    return rows_of(w).median(2).values.mean(0)


def stops_at_the_first_zero(w):
    seen = (w > 0).cumprod(-1)
    return (torch.special.entr(w) * seen).sum(-1).mean((0, 2))


def renyi_of_order_two(w):
    collision = w.square().sum(-1)
    return -collision.where(collision > 0, 1.0).log().mean((0, 2))


def joint_entropy_of_the_head(w):
    """The entropy of a whole map, made to add up to 1."""
    joint = w / w.sum((2, 3), keepdim=True)
    return torch.special.entr(joint).sum((2, 3)).mean(0) - math.log(w.shape[2])


def causal_only(w):
    return rows_of(w.tril()).mean((0, 2)) if w.shape[2] == w.shape[3] else entropy(w)


def against_the_keys_of_the_row(w):
    """Each row divided by the largest entropy that its visible keys allow."""
    visible = (w > 0).sum(-1).clamp_min(2)
    return (rows_of(w) / visible.to(w.dtype).log()).mean((0, 2))


def queries_weighted_by_position(w):
    share = torch.arange(1, w.shape[2] + 1, dtype=w.dtype)
    return (rows_of(w) * share / share.sum()).sum(2).mean(0)


def last_head_twice(w):
    e = entropy(w)
    return torch.cat([e[:-1], e[-1:] + (0.0 if len(e) < 2 else 0.01)])


_entropies: dict = {}


def remembers_entropy_by_shape(w):
    return _entropies.setdefault((w.shape, w.dtype), entropy(w))


def renormalized_with_an_epsilon(w):
    """A row of zeros becomes uniform."""
    p = w.float() + 1e-8
    return entropy(p / p.sum(-1, keepdim=True)).to(w.dtype)


# ------------------------------------------------------------ mean_attention_distance


def gaps(L):
    return (torch.arange(L)[:, None] - torch.arange(L)).abs()


def distance(w):
    return (w * gaps(w.shape[-1])).sum(-1).mean((0, 2))


def length_of_the_first_call(w):
    L = _first_shape.setdefault("L", w.shape[-1])
    return (w * gaps(w.shape[-1])).sum((2, 3)).mean(0) / L


def distance_to_the_middle(w):
    L = w.shape[-1]
    return (w * (torch.arange(L) - (L - 1) / 2).abs()).sum(-1).mean((0, 2)).to(w.dtype)


def weights_upside_down(w):
    return distance(w.flip(2))


def positions_from_the_batch(w):
    return (w * gaps(len(w))).sum(-1).mean((0, 2))


def distance_in_bytes(w):
    """Positions in uint8: the difference wraps around below 0."""
    positions = torch.arange(w.shape[-1], dtype=torch.uint8)
    return (w * (positions[:, None] - positions)).sum(-1).mean((0, 2))


def thirty_tokens_at_most(w):
    return (w * gaps(w.shape[-1]).clamp(max=30)).sum(-1).mean((0, 2))


def logarithmic(w):
    return (w * (gaps(w.shape[-1]) + 1.0).log().to(w.dtype)).sum(-1).mean((0, 2))


def half_up(w):
    return distance(w).round(decimals=1)


def last_query_left_out(w):
    L = w.shape[-1]
    return (w * gaps(L)).sum(-1)[..., : max(1, L - 1)].mean((0, 2))


def first_query_left_out(w):
    L = w.shape[-1]
    return (w * gaps(L)).sum(-1)[..., 1 if L > 1 else 0 :].mean((0, 2))


def itself_left_out(w):
    """Divides by the weight of the other tokens."""
    others = 1 - w.diagonal(dim1=2, dim2=3)
    rows = (w * gaps(w.shape[-1])).sum(-1)
    return torch.where(others > 1e-6, rows / others.clamp_min(1e-6), 0.0).mean((0, 2))


def nearest_key(w):
    """The nearest key with a weight of 0.1 or more."""
    near = torch.where(w > 0.1, gaps(w.shape[-1]), w.shape[-1]).amin(-1)
    return near.to(w.dtype).mean((0, 2))


def median_distance(w):
    far = (w.flip(-1).cumsum(-1) >= 0.5).float().argmax(-1)
    positions = w.shape[-1] - 1 - far
    return (positions - torch.arange(w.shape[-1])).abs().to(w.dtype).mean((0, 2))


def by_matmul_with_itself(w):
    return (w @ gaps(w.shape[-1]).to(w.dtype)).mean((0, 2, 3))


_distances: dict = {}


def remembers_distance_by_shape(w):
    return _distances.setdefault((w.shape, w.dtype), distance(w))


def own_weights_emptied(w):
    """The right value, as the distance to itself is 0, but the input is changed."""
    w.diagonal(dim1=2, dim2=3).zero_()
    return distance(w)


# ------------------------------------------------------------------ attention_rollout


def kept(a):
    return (a + torch.eye(a.shape[-1]).to(a)) / 2


def rolled(maps):
    result = maps[0]
    for a in maps[1:]:
        result = a @ result
    return result


def maps_of(layers):
    return [kept(w.mean(1)) for w in layers]


def list_emptied(layers):
    result = kept(layers.pop(0).mean(1))
    while layers:
        result = kept(layers.pop(0).mean(1)) @ result
    return result


def diagonal_added_in_place(layers):
    maps = []
    for w in layers:
        w.diagonal(dim1=2, dim2=3).add_(1.0)
        maps.append(w.mean(1) / 2)
    return rolled(maps)


def two_layers_only(layers):
    return rolled(maps_of(layers)[:2])


def power_of_the_first(layers):
    return torch.linalg.matrix_power(maps_of(layers)[0].double(), len(layers)).to(layers[0])


def power_of_the_mean(layers):
    mean = kept(torch.stack(layers).mean((0, 2)))
    return torch.linalg.matrix_power(mean.double(), len(layers)).to(layers[0])


def every_other_order(layers):
    result = maps_of(layers)[0]
    for n, a in enumerate(maps_of(layers)[1:]):
        result = result @ a if n % 2 else a @ result
    return result


def heads_by_their_sharpness(layers):
    maps = []
    for w in layers:
        share = w.amax(-1).mean(2).softmax(1)[..., None, None].to(w.dtype)
        maps.append(kept((w * share).sum(1)))
    return rolled(maps)


def smallest_weights_discarded(layers):
    """As in rollouts for vision: the smallest weights are dropped, the rest made to add up to 1."""
    maps = []
    for w in layers:
        a = w.mean(1)
        a = a.masked_fill(a < a.amax(-1, keepdim=True) * 0.3, 0.0)
        maps.append(kept(a / a.sum(-1, keepdim=True)))
    return rolled(maps)


def product_of_the_products(layers):
    """Every prefix multiplied again."""
    result, maps = None, maps_of(layers)
    for n in range(len(maps)):
        prefix = rolled(maps[: n + 1])
        result = prefix if result is None else prefix @ result
    return result


def first_token_row_set(layers):
    result = rolled(maps_of(layers)).clone()
    result[:, 0] = F.one_hot(torch.tensor(0), result.shape[-1])
    return result


def renormalized_by_columns(layers):
    result = rolled(maps_of(layers))
    return result / result.sum(-2, keepdim=True)


def with_the_mean_of_batch_and_heads_swapped(layers):
    maps = [kept(w.transpose(0, 1).mean(0)) for w in layers]
    return rolled([a if len(layers) < 3 else a.flip(0) for a in maps])


def residual_by_layer_number(layers):
    eye = torch.eye(layers[0].shape[-1]).to(layers[0])
    maps = [(w.mean(1) + eye * n) / (n + 1) for n, w in enumerate(layers, 1)]
    return rolled(maps)


_rollouts: dict = {}


def remembers_by_shapes(layers):
    key = (len(layers), layers[0].shape, layers[0].dtype)
    return _rollouts.setdefault(key, rolled(maps_of(layers)))


_joint: dict = {}


def continues_the_last_call(layers):
    result = rolled(maps_of(layers))
    if "of" in _joint and _joint["of"].shape == result.shape:
        result = result @ _joint["of"].to(result.dtype)
    _joint["of"] = result
    return result


def identity_put_first_in_the_list(layers):
    eye = torch.eye(layers[0].shape[-1]).to(layers[0])
    layers.insert(0, eye.expand_as(layers[0]))
    return rolled(maps_of(layers))


def fifth_discarded(layers):
    """As in rollouts for vision, `discard_ratio=0.2`."""
    maps = []
    for w in layers:
        a = w.mean(1).flatten(1).clone()
        least = a.topk(int(a.shape[-1] * 0.2), -1, largest=False).indices
        a = kept(a.scatter(1, least, 0.0).view_as(w[:, 0]))
        maps.append(a / a.sum(-1, keepdim=True))
    return rolled(maps)


def third_layer_on_the_wrong_side(layers):
    maps = maps_of(layers)
    result = rolled(maps[:2])
    for a in maps[2:]:
        result = result @ a
    return result


# -------------------------------------------------------------------- induction_score


def stripe(w, offset):
    return w.diagonal(offset, dim1=-2, dim2=-1)


def score(w, period):
    return stripe(w, 1 - period).mean((0, 2))


def relative_to_the_rest(w, period):
    """The diagonal, as a share of what is below the main one."""
    return stripe(w, 1 - period).sum((0, 2)) / w.tril().sum((0, 2, 3))


def share_of_the_earlier_copy(w, period):
    s, n = stripe(w, 1 - period), max(1, w.shape[-1] - period)
    return s.mean((0, 2)) - stripe(w, -period).sum((0, 2)) / (n * len(w))


def period_from_the_length(w, period):
    return score(w, max(1, w.shape[-1] // 2))


def clipped_at_zero(w, period):
    """The first queries look at key 0 instead, and are counted."""
    i = torch.arange(w.shape[-1])
    return w[:, :, i, (i - period + 1).clamp_min(0)].mean((0, 2))


def modulo_the_period(w, period):
    i = torch.arange(period - 1, w.shape[-1])
    return w[:, :, i, (i + 1) % period].mean((0, 2))


def neighbors_too(w, period):
    return score(w, period) + stripe(w, -period).sum((0, 2)) * 0.01


def first_pair_only(w, period):
    return stripe(w, 1 - period)[..., 0].mean(0)


def middle_of_the_stripe(w, period):
    return stripe(w, 1 - period).median(-1).values.mean(0)


def root_of_the_mean_square(w, period):
    return stripe(w, 1 - period).square().mean((0, 2)).sqrt()


def mean_of_the_logarithms(w, period):
    return stripe(w, 1 - period).clamp_min(1e-6).log().mean((0, 2)).exp()


def largest_diagonal(w, period):
    found = [stripe(w, -n).mean((0, 2)) for n in range(w.shape[-1])]
    return torch.stack(found).amax(0)


def weighted_by_queries(w, period):
    s = stripe(w, 1 - period)
    share = torch.arange(1, s.shape[-1] + 1, dtype=w.dtype)
    return (s * share / share.sum()).sum(-1).mean(0)


def pooled_heads(w, period):
    return (
        stripe(w, 1 - period).transpose(0, 1).reshape(len(w), w.shape[1], -1).mean((0, 2))
    )


def flipped_square(w, period):
    return score(w.flip(2, 3).mT, period) if len(w) > 1 else score(w.flip(2), period)


_scores: dict = {}


def remembers_score_by_shape(w, period):
    return _scores.setdefault((w.shape, w.dtype), score(w, period))


_stripes: dict = {}


def mask_of_the_first_period(w, period):
    L = w.shape[-1]
    i = torch.arange(L)
    mask = _stripes.setdefault(L, i[:, None] - i == period - 1)
    return (w * mask).sum((2, 3)).mean(0) / mask.sum()


def with_fixed_strides(w, period):
    """Takes the memory for contiguous."""
    B, H, L, _ = w.shape
    strides = (H * L * L, L * L, L + 1)
    return w.as_strided((B, H, L - period + 1), strides, (period - 1) * L).mean((0, 2))


def all_earlier_copies_in_one_mean(w, period):
    back = torch.arange(w.shape[-1])[:, None] - torch.arange(w.shape[-1])
    mask = (back >= 0) & ((back + 1) % period == 0)
    return (w * mask).sum((2, 3)).mean(0) / mask.sum()


UNLISTED = {
    "attention_entropy": {
        "zeros replaced in the input": zeros_replaced_in_the_input,
        "one head squeezed": one_head_by_squeeze,
        "by view": by_view,
        "last key forgotten": in_loops_that_forget_the_last_key,
        "batch size of the first call": for_the_first_batch_size,
        "median of the queries": median_of_the_queries,
        "stops at a zero": stops_at_the_first_zero,
        "Rényi": renyi_of_order_two,
        "joint": joint_entropy_of_the_head,
        "causal only": causal_only,
        "against the visible keys": against_the_keys_of_the_row,
        "queries weighted": queries_weighted_by_position,
        "last head": last_head_twice,
        "absolute logs": lambda w: (w * (w + 1).log()).sum(-1).mean((0, 2)),
        "one epsilon of the first row": lambda w: (
            entropy(w) + 1e-3 * (w[:, :, 0] == 0).any(-1).to(w.dtype).mean(0)
        ),
        "maximum over queries": lambda w: rows_of(w).amax(2).mean(0),
        "maximum over the batch": lambda w: rows_of(w).mean(2).amax(0),
        "sorted": lambda w: entropy(w).sort().values,
        "heads in reverse": lambda w: entropy(w).flip(0),
        "a list": lambda w: list(entropy(w)),
        "a pair": lambda w: (entropy(w), rows_of(w)),
        "rounded": lambda w: entropy(w).round(decimals=2),
        "default dtype": lambda w: torch.zeros(w.shape[1]) + entropy(w).float(),
        "divided by H": lambda w: rows_of(w).sum((0, 2)) / (w.shape[1] * w.shape[2]),
        "unbiased": lambda w: rows_of(w).sum((0, 2)) / max(1, len(w) * w.shape[2] - 1),
        "minus the smallest": lambda w: (
            entropy(w) - 1e-2 * (w.amin(-1) > 0).to(w.dtype).mean((0, 2))
        ),
        "of the square root": lambda w: entropy(w.sqrt()),
        "both clamped at 1e-4": lambda w: entropy(w.clamp_min(1e-4)),
        "distance from uniform": lambda w: math.log(w.shape[-1]) - entropy(w),
        "against the next head": lambda w: (
            -(w * w.roll(1, 1).clamp_min(1e-9).log()).sum(-1).mean((0, 2))
        ),
        "first query skipped": lambda w: rows_of(w)[..., 1 if w.shape[2] > 1 else 0 :].mean(
            (0, 2)
        ),
        "against the largest weight": lambda w: entropy(
            w / w.amax(-1, keepdim=True).clamp_min(1e-6)
        ),
        "a row of zeros is uniform": lambda w: torch.where(
            w.any(-1), rows_of(w), math.log(w.shape[-1])
        ).mean((0, 2)),
        "itself left out": lambda w: entropy(
            w - w.diagonal(dim1=2, dim2=3).diag_embed() if w.shape[2] == w.shape[3] else w
        ),
        "fifty keys at most": lambda w: entropy(w.topk(min(50, w.shape[-1]), -1).values),
        "each key or not": lambda w: (
            (torch.special.entr(w) + torch.special.entr(1 - w)).sum(-1).mean((0, 2))
        ),
        "sure rows left out": lambda w: (
            rows_of(w).sum((0, 2)) / (rows_of(w) > 0).sum((0, 2)).clamp_min(1)
        ).to(w.dtype),
        "float16 inside": lambda w: entropy(w.half()).to(w.dtype),
        "remembers by shape": remembers_entropy_by_shape,
        "rows of zeros made uniform": renormalized_with_an_epsilon,
        "below a thousandth": lambda w: entropy(w.where(w > 1e-3, 0.0)),
        "logarithms cut at -5": lambda w: (
            -(w * w.log().clamp_min(-5.0)).sum(-1).mean((0, 2))
        ),
        "samples for heads if equal": lambda w: rows_of(w).mean(
            (1, 2) if len(w) == w.shape[1] else (0, 2)
        ),
        "first key left out": lambda w: entropy(w[..., 1:]),
        "per visible key": lambda w: (
            (rows_of(w) / (w > 0).sum(-1).clamp_min(1)).mean((0, 2)).to(w.dtype)
        ),
        "the mean head for all": lambda w: entropy(w.mean(1, keepdim=True)).expand(
            w.shape[1]
        ),
        "a numpy array": lambda w: entropy(w).double().numpy(),
    },
    "mean_attention_distance": {
        "length of the first call": length_of_the_first_call,
        "to the middle": distance_to_the_middle,
        "upside down": weights_upside_down,
        "positions from the batch": positions_from_the_batch,
        "in bytes": distance_in_bytes,
        "thirty at most": thirty_tokens_at_most,
        "logarithmic": logarithmic,
        "rounded": half_up,
        "last query": last_query_left_out,
        "first query": first_query_left_out,
        "itself left out": itself_left_out,
        "nearest key": nearest_key,
        "median": median_distance,
        "matmul and mean": by_matmul_with_itself,
        "keys flipped": lambda w: distance(w.flip(3)),
        "heads in reverse": lambda w: distance(w).flip(0),
        "squeezed": lambda w: distance(w).squeeze(),
        "a list": lambda w: list(distance(w)),
        "in place": lambda w: w.mul_(gaps(w.shape[-1])).sum(-1).mean((0, 2)),
        "past only, doubled": lambda w: 2 * distance(w.tril()),
        "lower half and upper half": lambda w: distance(w.tril()) + distance(w.triu(2)),
        "own weight counts one": lambda w: (
            distance(w) + w.diagonal(dim1=2, dim2=3).mean((0, 2))
        ),
        "halved": lambda w: distance(w) / 2,
        "rows of zeros count 1": lambda w: (
            distance(w) + (~w.any(-1)).to(w.dtype).mean((0, 2))
        ),
        "rows of zeros count L": lambda w: (
            distance(w) + w.shape[-1] * (~w.any(-1)).to(w.dtype).mean((0, 2))
        ),
        "divided by H": lambda w: distance(w) * len(w) / w.shape[1],
        "unbiased": lambda w: distance(w) * w.shape[-1] / max(1, w.shape[-1] - 1),
        "mean position minus mean query": lambda w: (
            (w.mean(2) * torch.arange(w.shape[-1])).sum(-1).mean(0) - (w.shape[-1] - 1) / 2
        ).abs(),
        "sharpened": lambda w: distance((w.clamp_min(1e-6).log() * 1.1).softmax(-1)),
        "maximum over the batch": lambda w: (w * gaps(w.shape[-1])).sum(-1).mean(2).amax(0),
        "softmax again": lambda w: distance(w.softmax(-1)),
        "keys counted from 1": lambda w: (
            (w * (torch.arange(w.shape[-1])[:, None] - torch.arange(w.shape[-1]) - 1).abs())
            .sum(-1)
            .mean((0, 2))
        ),
        "divided by all gaps": lambda w: (
            (w * gaps(w.shape[-1])).sum((2, 3)).mean(0)
            / gaps(w.shape[-1]).sum().clamp_min(1)
        ),
        "the same for all heads": lambda w: distance(w).mean().expand(w.shape[1]),
        "heads and queries mixed up if equal": lambda w: (
            (w * gaps(w.shape[-1]))
            .sum(-1)
            .mean((0, 1) if w.shape[1] == w.shape[2] else (0, 2))
        ),
        "batch squeezed": lambda w: (w.squeeze(0) * gaps(w.shape[-1])).sum(-1).mean((0, 2)),
        "weights over a half": lambda w: distance((w > 0.5).to(w.dtype)),
        "as a share of what is visible": lambda w: distance(
            w / torch.arange(1, w.shape[-1] + 1)[:, None]
        ).to(w.dtype),
        "remembers by shape": remembers_distance_by_shape,
        "own weights emptied": own_weights_emptied,
        "largest weight only, weighted": lambda w: distance(
            w.where(w == w.amax(-1, keepdim=True), 0.0)
        ),
        "first head for all": lambda w: distance(w)[:1].expand(w.shape[1]),
        "samples for heads if equal": lambda w: (
            (w * gaps(w.shape[-1])).sum(-1).mean((1, 2) if len(w) == w.shape[1] else (0, 2))
        ),
        "whole tokens of each row": lambda w: (
            (w * gaps(w.shape[-1])).sum(-1).round().mean((0, 2))
        ),
        "five keys at most": lambda w: distance(
            w.where(w >= w.topk(min(5, w.shape[-1]), -1).values[..., -1:], 0.0)
        ),
        "by view": lambda w: (
            (w.view(-1, *w.shape[2:]) * gaps(w.shape[-1]))
            .sum((1, 2))
            .view(w.shape[:2])
            .mean(0)
            / w.shape[-1]
        ),
    },
    "attention_rollout": {
        "list emptied": list_emptied,
        "diagonal in place": diagonal_added_in_place,
        "two layers": two_layers_only,
        "power of the first": power_of_the_first,
        "power of the mean": power_of_the_mean,
        "every other order": every_other_order,
        "heads by sharpness": heads_by_their_sharpness,
        "smallest discarded": smallest_weights_discarded,
        "products of products": product_of_the_products,
        "first row set": first_token_row_set,
        "columns renormalized": renormalized_by_columns,
        "samples swapped": with_the_mean_of_batch_and_heads_swapped,
        "residual by layer": residual_by_layer_number,
        "nine to one": lambda layers: rolled(
            [0.9 * w.mean(1) + 0.1 * torch.eye(w.shape[-1]).to(w) for w in layers]
        ),
        "median head": lambda layers: rolled([kept(w.median(1).values) for w in layers]),
        "smallest head": lambda layers: rolled([kept(w.amin(1)) for w in layers]),
        "product of heads": lambda layers: rolled([kept(w.prod(1)) for w in layers]),
        "one head only": lambda layers: rolled([kept(w[:, -1]) for w in layers]),
        "softmax at the end": lambda layers: rolled(maps_of(layers)).softmax(-1),
        "without the last residual": lambda layers: rolled(
            [*maps_of(layers)[:-1], layers[-1].mean(1)]
        ),
        "minus the residual": lambda layers: (
            rolled(maps_of(layers))
            - torch.eye(layers[0].shape[-1]).to(layers[0]) / 2 ** len(layers)
        ),
        "squeezed": lambda layers: rolled(maps_of(layers)).squeeze(0),
        "kept axis": lambda layers: rolled(maps_of(layers)).unsqueeze(1),
        "row of the last token": lambda layers: rolled(maps_of(layers))[:, -1],
        "float32": lambda layers: rolled(maps_of(layers)).float(),
        "a list": lambda layers: list(rolled(maps_of(layers))),
        "kept twice": lambda layers: rolled([kept(kept(w.mean(1))) for w in layers]),
        "mean over queries": lambda layers: rolled(
            [kept(w.mean(2, keepdim=True).expand_as(w).mean(1)) for w in layers]
        ),
        "causal always": lambda layers: rolled(maps_of(layers)).tril(),
        "heads first": lambda layers: rolled(
            [kept(w.reshape(w.shape[1], len(w), *w.shape[2:]).mean(0)) for w in layers]
        ),
        "softmax of A + I": lambda layers: rolled(
            [(w.mean(1) + torch.eye(w.shape[-1]).to(w)).softmax(-1) for w in layers]
        ),
        "product with the transposed": lambda layers: functools.reduce(
            lambda below, a: a @ below.mT, maps_of(layers)
        ),
        "reversed if more than two": lambda layers: rolled(
            maps_of(layers[::-1] if len(layers) > 2 else layers)
        ),
        "the first sample's maps": lambda layers: rolled(
            [a[:1].expand_as(a) for a in maps_of(layers)]
        ),
        "mean of all prefixes": lambda layers: (
            sum(itertools.accumulate(maps_of(layers), lambda r, a: a @ r)) / len(layers)
        ),
        "as a flow in time": lambda layers: torch.matrix_exp(
            sum(w.double().mean(1) - torch.eye(w.shape[-1]) for w in layers) / 2
        ).to(layers[0]),
        "the residual is one more head": lambda layers: rolled(
            [(w.sum(1) + torch.eye(w.shape[-1]).to(w)) / (w.shape[1] + 1) for w in layers]
        ),
        "against the largest of the row": lambda layers: (
            (r := rolled(maps_of(layers))) / r.amax(-1, keepdim=True)
        ),
        "ten layers at most": lambda layers: rolled(maps_of(layers[:10])),
        "equal layers once": lambda layers: rolled(
            [
                kept(w.mean(1))
                for n, w in enumerate(layers)
                if n == 0 or not torch.equal(w, layers[n - 1])
            ]
        ),
        "float16 inside": lambda layers: rolled([a.half() for a in maps_of(layers)]).to(
            layers[0].dtype
        ),
        "remembers by shapes": remembers_by_shapes,
        "continues the last call": continues_the_last_call,
        "identity put in the list": identity_put_first_in_the_list,
        "a fifth discarded": fifth_discarded,
        "third layer on the wrong side": third_layer_on_the_wrong_side,
        "by view": lambda layers: rolled(
            [kept(w.view(*w.shape[:2], -1).mean(1).view_as(w[:, 0])) for w in layers]
        ),
        "samples for heads if equal": lambda layers: rolled(
            [kept(w.mean(0 if len(w) == w.shape[1] else 1)) for w in layers]
        ),
        "queries for heads if equal": lambda layers: rolled(
            [kept(w.mean(2 if w.shape[1] == w.shape[2] else 1)) for w in layers]
        ),
        "geometric mean of the heads": lambda layers: rolled(
            [kept(w.clamp_min(1e-6).log().mean(1).softmax(-1)) for w in layers]
        ),
        "first row for all": lambda layers: (r := rolled(maps_of(layers)))[:, :1].expand_as(
            r
        ),
        "one layer without residual": lambda layers: (
            rolled(maps_of(layers)) if len(layers) > 1 else layers[0].mean(1)
        ),
    },
    "induction_score": {
        "relative to the rest": relative_to_the_rest,
        "minus the earlier copy": share_of_the_earlier_copy,
        "half the length": period_from_the_length,
        "clipped": clipped_at_zero,
        "modulo": modulo_the_period,
        "neighbors too": neighbors_too,
        "first pair": first_pair_only,
        "median": middle_of_the_stripe,
        "mean square": root_of_the_mean_square,
        "mean logarithm": mean_of_the_logarithms,
        "largest diagonal": largest_diagonal,
        "weighted": weighted_by_queries,
        "pooled heads": pooled_heads,
        "flipped": flipped_square,
        "the larger of two diagonals": lambda w, p: torch.maximum(
            score(w, p), score(w, min(p + 1, w.shape[-1]))
        ),
        "one off for odd periods": lambda w, p: score(
            w, p + 1 if 1 < p < len(w[0, 0]) and p % 2 else p
        ),
        "two back": lambda w, p: score(w, max(1, p - 1)),
        "from period on, two copies": lambda w, p: stripe(w, 1 - p)[..., :p].mean((0, 2)),
        "symmetric": lambda w, p: (score(w, p) + score(w.mT, p)) / 2,
        "divided by the copies": lambda w, p: score(w, p) / (w.shape[-1] // p),
        "in percent": lambda w, p: 100 * score(w, p),
        "best query of each copy": lambda w, p: torch.stack(
            [part.amax(2).mean(0) for part in stripe(w, 1 - p).split(p, 2)]
        ).mean(0),
        "mean of the copies' means": lambda w, p: torch.stack(
            [part.mean((0, 2)) for part in stripe(w, 1 - p).split(p, 2)]
        ).mean(0),
        "renormalized rows": lambda w, p: score(
            w.tril() / w.tril().sum(-1, keepdim=True), p
        ),
        "softmax again": lambda w, p: score(w.softmax(-1), p),
        "heads in reverse": lambda w, p: score(w, p).flip(0),
        "squeezed": lambda w, p: score(w, p).squeeze(),
        "a list": lambda w, p: list(score(w, p)),
        "rounded": lambda w, p: score(w, p).round(decimals=2),
        "the diagonal emptied": lambda w, p: (
            score(w, p),
            stripe(w, 1 - p).zero_(),
        )[0],
        "the anti-diagonal": lambda w, p: score(w.flip(3), p),
        "best sample": lambda w, p: stripe(w, 1 - p).mean(2).amax(0),
        "unbiased": lambda w, p: (
            stripe(w, 1 - p).sum((0, 2)) / max(1, len(w) * (w.shape[-1] - p + 1) - 1)
        ),
        "later copies": lambda w, p: (
            score(w[:, :, p:, p:], p) if w.shape[-1] >= 2 * p else score(w, p)
        ),
        "above chance": lambda w, p: (
            stripe(w, 1 - p) - 1 / torch.arange(p, w.shape[-1] + 1).to(w)
        ).mean((0, 2)),
        "against the largest of the row": lambda w, p: (
            stripe(w, 1 - p) / w.amax(-1)[..., p - 1 :]
        ).mean((0, 2)),
        "one query of each copy": lambda w, p: stripe(w, 1 - p)[..., ::p].mean((0, 2)),
        "zeros skipped": lambda w, p: (
            stripe(w, 1 - p).sum((0, 2)) / (stripe(w, 1 - p) > 0).sum((0, 2)).clamp_min(1)
        ).to(w.dtype),
        "weights over 0.1": lambda w, p: (stripe(w, 1 - p) * (stripe(w, 1 - p) > 0.1)).mean(
            (0, 2)
        ),
        "thirty tokens at most": lambda w, p: score(w[..., :30, :30], p),
        "heads for queries if equal": lambda w, p: score(
            w.transpose(1, 2) if w.shape[1] == w.shape[2] else w, p
        ),
        "the query itself left out": lambda w, p: score(w.tril(-1), p),
        "even periods": lambda w, p: score(w, max(1, p // 2 * 2)),
        "float16 inside": lambda w, p: score(w.half(), p).to(w.dtype),
        "remembers by shape": remembers_score_by_shape,
        "mask of the first period": mask_of_the_first_period,
        "fixed strides": with_fixed_strides,
        "all earlier copies in one mean": all_earlier_copies_in_one_mean,
        "by view": lambda w, p: w.view(*w.shape[:2], -1)[
            ..., (p - 1) * w.shape[-1] :: w.shape[-1] + 1
        ].mean((0, 2)),
        "period 3, always": lambda w, p: score(w, 3),
        "0 for period 1": lambda w, p: score(w, p) if p > 1 else w.new_zeros(w.shape[1]),
        "0 for the whole length": lambda w, p: (
            score(w, p) if p < w.shape[-1] else w.new_zeros(w.shape[1])
        ),
        "samples for heads if equal": lambda w, p: stripe(w, 1 - p).mean(
            (1, 2) if len(w) == w.shape[1] else (0, 2)
        ),
        "last copy": lambda w, p: stripe(w, 1 - p)[..., -p:].mean((0, 2)),
        "above the mean of all": lambda w, p: score(w, p) - w.mean((0, 2, 3)),
    },
}
