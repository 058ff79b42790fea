"""Right answers to the tasks of lesson 06, by task name."""

import functools
import itertools
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

# ------------------------------------------------------------------ attention_entropy


def entropy_by_entr(weights):
    return torch.special.entr(weights).sum(-1).mean((0, 2))


def entropy_by_xlogy(weights):
    return -torch.special.xlogy(weights, weights).sum(-1).mean(dim=(0, 2))


def entropy_by_where(weights):
    logs = torch.where(weights > 0, weights.log(), torch.zeros_like(weights))
    return -(weights * logs).sum(-1).mean(2).mean(0)


def entropy_by_clamp_tiny(weights):
    tiny = torch.finfo(weights.dtype).tiny
    return -(weights * weights.clamp(min=tiny).log()).sum(dim=-1).mean(dim=(0, 2))


def entropy_by_nan_to_num(weights):
    return -(weights * weights.log()).nan_to_num(0.0).sum(-1).mean((0, 2))


def entropy_by_nansum(weights):
    return -(weights * torch.log(weights)).nansum(dim=-1).mean(dim=(0, 2))


def entropy_by_finite_logs(weights):
    return -(weights * weights.log().nan_to_num(neginf=0.0)).sum(-1).mean((0, 2))


def entropy_with_a_small_epsilon(weights):
    w = weights.float()
    return -(w * (w + 1e-12).log()).sum(-1).mean((0, 2)).to(weights.dtype)


def entropy_with_epsilon_1e_6(weights):
    return -(weights * (weights + 1e-6).log()).sum(-1).mean((0, 2))


def entropy_with_finfo_eps(weights):
    eps = torch.finfo(weights.dtype).eps
    return -(weights * (weights + eps).log()).sum(-1).mean((0, 2))


def entropy_clamped_at_finfo_eps(weights):
    eps = torch.finfo(weights.dtype).eps
    return -(weights * weights.clamp_min(eps).log()).sum(-1).mean((0, 2))


def entropy_by_log2(weights):
    bits = -(weights * weights.masked_fill(weights == 0, 1.0).log2()).sum(-1)
    return bits.mean((0, 2)) * math.log(2)


def entropy_by_einsum(weights):
    logs = weights.masked_fill(weights <= 0, 1).log()
    B, _, L, _ = weights.shape
    return -torch.einsum("bhls,bhls->h", weights, logs) / (B * L)


def entropy_by_loops(weights):
    B, H, L, S = weights.shape
    result = torch.zeros(H)
    for h in range(H):
        for b in range(B):
            for i in range(L):
                for s in range(S):
                    w = weights[b, h, i, s].item()
                    if w > 0:
                        result[h] -= w * math.log(w) / (B * L)
    return result.to(weights.dtype)


def entropy_by_numpy(weights):
    w = weights.double().numpy()
    logs = np.log(w, out=np.zeros_like(w), where=w > 0)
    return torch.from_numpy(-(w * logs).sum(-1).mean((0, 2))).to(weights.dtype)


def entropy_heads_first(weights):
    rows = weights.transpose(0, 1).flatten(1, 2)
    rows = rows * -rows.where(rows != 0, 1.0).log()
    return rows.sum(-1).mean(-1)


def entropy_head_by_head(weights):
    def one(head):
        seen = head[head > 0]
        return -(seen * seen.log()).sum() / (head.shape[0] * head.shape[1])

    return torch.stack([one(head) for head in weights.unbind(1)])


def entropy_in_place_on_a_copy(weights):
    w = weights.clone()
    w[w == 0] = 1
    return w.log_().mul_(weights).neg_().sum(-1).mean((0, 2))


@torch.no_grad()
def entropy_without_gradients(weights):
    return torch.special.entr(weights).sum(dim=-1).mean(dim=(0, 2)).detach()


def entropy_by_cross_entropy(weights):
    # The cross-entropy of log-weights takes their softmax, which is the weights again.
    w = weights.double()
    logs = w.clamp_min(1e-300).log()
    rows = F.cross_entropy(logs.movedim(-1, 1), w.movedim(-1, 1), reduction="none")
    return rows.mean((0, 2)).to(weights.dtype)


def entropy_by_kl_from_uniform(weights):
    S = weights.shape[-1]
    uniform = torch.full_like(weights, -math.log(S))
    seen = weights.sum(-1)
    rows = seen * math.log(S) - F.kl_div(uniform, weights, reduction="none").sum(-1)
    return rows.mean((0, 2))


def entropy_of_the_rows_that_see(weights):
    rows = torch.zeros(weights.shape[:-1], dtype=weights.dtype)
    sees = weights.any(-1)
    categorical = torch.distributions.Categorical(probs=weights[sees])
    rows[sees] = categorical.entropy().to(weights.dtype)
    return rows.mean((0, 2))


def entropy_by_powers(weights):
    """w ** w is exp(w ln w), and 1 for w = 0."""
    return -(weights**weights).log().sum(-1).mean((0, 2))


def entropy_with_ones_for_zeros(weights):
    return -(weights * torch.log(weights + (weights == 0))).sum(-1).mean((0, 2))


def entropy_of_scores(weights):
    """The logarithm of the sum of exponentials minus the mean score."""
    scores = weights.clamp_min(torch.finfo(weights.dtype).tiny).log()
    rows = scores.logsumexp(-1) - (weights * scores).sum(-1)
    return (rows * weights.any(-1)).mean((0, 2))


def entropy_of_what_is_not_zero(weights):
    B, H, L, _ = weights.shape
    head = weights.nonzero()[:, 1]
    seen = weights[weights != 0].double()
    total = torch.zeros(H, dtype=torch.float64).index_add(0, head, -seen * seen.log())
    return (total / (B * L)).to(weights.dtype)


def entropy_by_mean_over_keys(weights):
    return torch.special.entr(weights).mean((0, 2, 3)) * weights.shape[-1]


def entropy_renormalized_safely(weights):
    return entropy_by_entr(weights / weights.sum(-1, keepdim=True).clamp_min(1e-3))


def entropy_mapped(weights):
    one_head = torch.vmap(lambda w: torch.special.entr(w).sum(-1).mean(), in_dims=1)
    return one_head(weights)


def entropy_in_a_nested_function(weights, *, eps=1e-10):
    def row_entropy(p):
        return -(p * torch.log(p + eps)).sum(dim=-1)

    return row_entropy(weights.double()).mean(dim=[0, 2]).type_as(weights)


class EntropyModule(nn.Module):
    def forward(self, weights):
        return entropy_by_xlogy(weights)


class Entropy:
    def __call__(self, weights):
        return torch.special.entr(weights).sum(-1).mean((0, 2))


# ------------------------------------------------------------ mean_attention_distance


def distances(L):
    return (torch.arange(L)[:, None] - torch.arange(L)[None, :]).abs()


def distance_plain(weights):
    return (weights * distances(weights.shape[-1])).sum(-1).mean((0, 2))


def distance_by_einsum(weights):
    d = distances(weights.shape[-1]).to(weights.dtype)
    return torch.einsum("bhij,ij->bhi", weights, d).mean(dim=(0, 2))


def distance_by_one_einsum(weights):
    B, _, L, _ = weights.shape
    d = distances(L).to(weights.dtype)
    return torch.einsum("bhij,ij->h", weights, d) / (B * L)


def distance_by_cdist(weights):
    positions = torch.arange(weights.shape[-1], dtype=torch.float32)[:, None]
    d = torch.cdist(positions, positions, p=1).to(weights)
    return (weights * d).sum(dim=-1).mean(dim=(0, 2))


def distance_by_loops(weights):
    B, H, L, _ = weights.shape
    total = torch.zeros(H, dtype=torch.float64)
    for b in range(B):
        for h in range(H):
            for i in range(L):
                for j in range(L):
                    total[h] += weights[b, h, i, j].item() * abs(i - j)
    return (total / (B * L)).to(weights.dtype)


def distance_by_diagonals(weights):
    B, H, L, _ = weights.shape
    total = torch.zeros(H, dtype=torch.float32)
    for step in range(1 - L, L):
        stripe = weights.float().diagonal(step, dim1=2, dim2=3)
        total = total + abs(step) * stripe.sum((0, 2))
    return (total / (B * L)).to(weights.dtype)


def distance_query_by_query(weights):
    L = weights.shape[-1]
    positions = torch.arange(L)
    rows = [(weights[:, :, i] * (positions - i).abs()).sum(-1) for i in range(L)]
    return torch.stack(rows).mean(0).mean(0)


def distance_by_matmul(weights):
    """The diagonal of weights times distances: they are symmetric."""
    d = distances(weights.shape[-1]).to(weights.dtype)
    return (weights @ d).diagonal(dim1=-2, dim2=-1).mean((0, 2))


def distance_by_numpy(weights):
    w = weights.float().numpy()
    i, j = np.indices(w.shape[2:])
    result = (w * np.abs(i - j)).sum(axis=3).mean(axis=(0, 2))
    return torch.tensor(result, dtype=weights.dtype)


def distance_past_and_future(weights):
    steps = torch.arange(weights.shape[-1])
    back = (steps[:, None] - steps).clamp(min=0)
    return (weights * (back + back.T)).sum(-1).mean((0, 2))


def distance_by_square_root(weights):
    steps = torch.arange(weights.shape[-1], dtype=weights.dtype)
    d = (steps[None] - steps[:, None]).square().sqrt()
    return (weights * d).sum(-1).mean(2).mean(0)


def distance_by_toeplitz(weights):
    L = weights.shape[-1]
    rows = [[abs(i - j) for j in range(L)] for i in range(L)]
    return (weights * torch.tensor(rows, dtype=weights.dtype)).sum(-1).mean((0, 2))


def distance_transposed(weights):
    columns = (weights.mT * distances(weights.shape[-1])).sum(-2)
    return columns.mean(-1).mean(0)


def distance_summed_and_divided(weights):
    B, _, L, _ = weights.shape
    w = weights.double()
    return (w * distances(L)).sum((0, 2, 3)).div(B * L).to(weights.dtype)


def distance_mean_of_heads_map_first(weights):
    """The mean over the batch first: a sum may be taken in any order."""
    return (weights.mean(0) * distances(weights.shape[-1])).sum(-1).mean(-1)


def distance_by_mean_times_length(weights):
    L = weights.shape[-1]
    return (weights * distances(L)).mean((0, 2, 3)) * L


def distance_by_meshgrid(weights):
    L = weights.size(-1)
    i, j = torch.meshgrid(torch.arange(L), torch.arange(L), indexing="ij")
    return torch.sum(weights * torch.abs(i - j), dim=3).mean(dim=2).mean(dim=0)


def distance_by_cumulative_weights(weights):
    """What crosses each gap between tokens, from either side, walks one step there."""
    w = weights.double()
    L = w.shape[-1]
    left = w.cumsum(-1)[..., :-1]  # weight of the keys up to j
    total = w.sum(-1, keepdim=True)
    after = torch.arange(L)[:, None] > torch.arange(L - 1)
    crossing = torch.where(after, left, total - left)
    return crossing.sum(-1).mean((0, 2)).to(weights.dtype)


@torch.no_grad()
def distance_without_gradients(weights):
    return distance_by_einsum(weights)


def distance_mapped(weights):
    d = distances(weights.shape[-1]).to(weights.dtype)
    per_map = torch.vmap(torch.vmap(lambda w: (w * d).sum(-1).mean()))
    return per_map(weights).mean(0)


def distance_renormalized_where_possible(weights):
    total = weights.sum(-1, keepdim=True)
    safe = weights / torch.where(total > 0, total, 1.0)
    return distance_plain(safe)


def distance_by_maximum(weights):
    """|i - j| is 2 max(i, j) - i - j."""
    j = torch.arange(weights.shape[-1])
    i = j[:, None]
    return (weights * (2 * torch.maximum(i, j) - i - j)).sum(-1).mean((0, 2))


def distance_by_tensordot(weights):
    d = distances(weights.shape[-1]).float()
    total = torch.tensordot(weights.float(), d, dims=2).mean(0)
    return (total / len(d)).to(weights.dtype)


def distance_of_a_python_table(weights):
    L = weights.shape[-1]
    table = torch.tensor([[abs(i - j) for j in range(L)] for i in range(L)])
    return weights.mul(table).sum(dim=(2, 3)).div(L).mean(0)


def distance_in_four_axes(weights):
    i = torch.arange(weights.size(2)).view(1, 1, -1, 1)
    j = torch.arange(weights.size(3)).view(1, 1, 1, -1)
    return (weights * (i - j).abs()).sum(3).mean(2).mean(0)


def distance_by_counting_steps(weights):
    """A key is as far away as there are tokens that one must pass: their weights, added up."""
    L = weights.shape[-1]
    beyond = [weights.triu(n) + weights.tril(-n) for n in range(1, L)]
    total = sum((w.double().sum((2, 3)) for w in beyond), torch.zeros(weights.shape[:2]))
    return (total / L).mean(0).to(weights.dtype)


class DistanceModule(nn.Module):
    def forward(self, weights):
        return distance_plain(weights)


class Distance:
    def __call__(self, weights):
        return distance_plain(weights)


# ------------------------------------------------------------------ attention_rollout


def rollout_plain(layers):
    result = torch.eye(layers[0].shape[-1], dtype=layers[0].dtype)
    for weights in layers:
        a = weights.mean(dim=1)
        a = (a + torch.eye(a.shape[-1], dtype=a.dtype)) / 2
        result = a @ result
    return result


def rollout_from_the_top(layers):
    identity = torch.eye(layers[0].shape[-1]).to(layers[0])
    result = identity.expand(len(layers[0]), -1, -1)
    for weights in reversed(layers):
        result = result @ (0.5 * weights.mean(1) + 0.5 * identity)
    return result


def rollout_by_einsum(layers):
    result = None
    for weights in layers:
        a = torch.einsum("bhij->bij", weights) / weights.shape[1]
        a = 0.5 * (a + torch.eye(a.shape[-1]).type_as(a))
        result = a if result is None else torch.einsum("bik,bkj->bij", a, result)
    return result


def rollout_renormalized(layers):
    """As in the paper's code: A + I, and each row divided by its sum."""
    result = None
    for weights in layers:
        a = weights.mean(1) + torch.eye(weights.shape[-1], dtype=weights.dtype)
        a = a / a.sum(-1, keepdim=True)
        result = a if result is None else a.bmm(result)
    return result


def rollout_by_reduce(layers):
    eye = torch.eye(layers[0].shape[-1]).to(layers[0].dtype)
    kept = [(weights.mean(1) + eye) / 2 for weights in layers]
    return functools.reduce(lambda below, layer: layer @ below, kept)


def rollout_by_multi_dot(layers):
    n, eye = len(layers), torch.eye(layers[0].shape[-1]).double()
    samples = []
    for b in range(len(layers[0])):
        kept = [(weights[b].double().mean(0) + eye) / 2 for weights in layers]
        samples.append(torch.linalg.multi_dot(kept[::-1]) if n > 1 else kept[0])
    return torch.stack(samples).to(layers[0].dtype)


def rollout_stacked(layers):
    maps = torch.stack(layers).mean(2)
    maps = (maps + torch.eye(maps.shape[-1]).to(maps)) / 2
    result = maps[0]
    for a in maps[1:]:
        result = a.matmul(result)
    return result


def rollout_residual_in_each_head(layers):
    """(A + I) / 2 of each head, and then the mean: the same, as the mean is linear."""
    result = None
    for weights in layers:
        a = ((weights + torch.eye(weights.shape[-1]).to(weights)) / 2).mean(1)
        result = a if result is None else a @ result
    return result


def rollout_diagonal_added(layers):
    result = None
    for weights in layers:
        a = weights.mean(1) / 2
        a.diagonal(dim1=1, dim2=2).add_(0.5)
        result = a if result is None else a @ result
    return result


def rollout_step_by_step(layers):
    """Half of it stays, half of it is gathered: no identity is multiplied."""
    first = layers[0]
    result = torch.eye(first.shape[-1]).to(first).expand(len(first), -1, -1)
    for weights in layers:
        result = 0.5 * result + 0.5 * (weights.mean(1) @ result)
    return result


def rollout_transposed(layers):
    result = torch.eye(layers[0].shape[-1], dtype=layers[0].dtype)
    for weights in layers:
        a = (weights.mean(1) + torch.eye(weights.shape[-1], dtype=weights.dtype)) / 2
        result = result @ a.mT
    return result.transpose(-2, -1)


def rollout_recursive(layers):
    *below, last = layers
    a = (last.mean(1) + torch.eye(last.shape[-1]).to(last)) / 2
    return a @ rollout_recursive(below) if below else a


def rollout_by_numpy(layers):
    result = np.eye(layers[0].shape[-1])
    for weights in layers:
        a = weights.double().numpy().mean(axis=1)
        result = (a + np.eye(a.shape[-1])) / 2 @ result
    return torch.from_numpy(result).to(layers[0].dtype)


def rollout_by_loops(layers):
    B, _, L, _ = layers[0].shape
    result = torch.eye(L).double().repeat(B, 1, 1)
    for weights in layers:
        a, new = weights.double().mean(1), torch.zeros(B, L, L, dtype=torch.float64)
        for i in range(L):
            for k in range(L):
                share = (a[:, i, k] + (i == k)) / 2
                new[:, i] += share[:, None] * result[:, k]
        result = new
    return result.to(layers[0].dtype)


def rollout_halved_at_the_end(layers):
    result = torch.eye(layers[0].shape[-1]).to(layers[0].dtype)
    for weights in layers:
        result = (weights.mean(1) + torch.eye(weights.shape[-1]).to(weights)) @ result
    return result / 2 ** len(layers)


def rollout_over_subsets(layers):
    """The mean over all subsets of layers of the product of their maps."""
    maps = [weights.double().mean(1) for weights in layers]
    identity = torch.eye(maps[0].shape[-1]).double().expand_as(maps[0])
    paths = [identity]
    for a in maps:
        paths = paths + [a @ path for path in paths]
    return (sum(paths) / len(paths)).to(layers[0].dtype)


def rollout_with_lerp(layers):
    identity = torch.eye(layers[0].shape[-1]).to(layers[0])
    maps = [torch.lerp(weights.mean(1), identity, 0.5) for weights in layers]
    result = maps.pop(0)
    while maps:
        result = maps.pop(0) @ result
    return result


def rollout_from_a_copied_list(layers):
    layers = list(layers)
    layers.reverse()
    result = torch.eye(layers[0].shape[-1]).to(layers[0])
    while layers:
        weights = layers.pop()
        a = torch.mean(weights, 1)
        result = torch.matmul((a + torch.eye(len(a[0])).to(a)) / 2.0, result)
    return result


def rollout_by_sum_of_heads(layers):
    result = None
    for weights in layers:
        a = sum(weights[:, h] for h in range(weights.shape[1])) / weights.shape[1]
        a = a * 0.5 + torch.diag(torch.full((a.shape[-1],), 0.5)).to(a)
        result = a.clone() if result is None else torch.bmm(a, result)
    return result


@torch.no_grad()
def rollout_without_gradients(layers):
    return rollout_plain(layers)


def rollout_normalized_at_the_end(layers):
    result = torch.eye(layers[0].shape[-1]).to(layers[0])
    for weights in layers:
        result = weights.mean(1) @ result + result
    return result / result.sum(-1, keepdim=True)


def rollout_by_baddbmm(layers):
    eye = torch.eye(layers[0].shape[-1]).to(layers[0])
    result = eye.repeat(len(layers[0]), 1, 1)
    for weights in layers:
        result = torch.baddbmm(result, weights.mean(1), result, beta=0.5, alpha=0.5)
    return result


def rollout_with_the_residual_as_a_head(layers):
    """As many identity heads as there are heads: the mean is (A + I) / 2."""
    eye = torch.eye(layers[0].shape[-1]).to(layers[0])
    maps = [torch.cat([w, eye.expand_as(w)], dim=1).mean(1) for w in layers]
    return list(itertools.accumulate(maps, lambda below, layer: layer @ below))[-1]


def rollout_by_halves(layers):
    if len(layers) == 1:
        return rollout_plain(layers)
    middle = len(layers) // 2
    return rollout_by_halves(layers[middle:]) @ rollout_by_halves(layers[:middle])


def rollout_of_each_head_onto_the_rest(layers):
    """Every head reads the result so far; the mean is taken afterwards."""
    eye = torch.eye(layers[0].shape[-1]).to(layers[0])
    result = eye.repeat(len(layers[0]), 1, 1)
    for weights in layers:
        result = ((weights @ result[:, None]).mean(dim=1) + result) / 2
    return result


def rollout_mapped(layers):
    def one_sample(*maps):
        eye = torch.eye(maps[0].shape[-1], dtype=maps[0].dtype)
        return functools.reduce(lambda below, a: (a.mean(0) + eye) / 2 @ below, maps, eye)

    return torch.vmap(one_sample)(*layers)


def rollout_by_one_einsum(layers):
    letters = "ijklmnopqrstuvw"[: len(layers) + 1]
    eye = torch.eye(layers[0].shape[-1])
    maps = [((w.float().mean(1) + eye) / 2) for w in layers[::-1]]
    terms = ",".join(f"b{x}{y}" for x, y in itertools.pairwise(letters))
    result = torch.einsum(f"{terms}->b{letters[0]}{letters[-1]}", *maps)
    return result.to(layers[0].dtype)


class RolloutModule(nn.Module):
    def forward(self, layers):
        return rollout_from_the_top(layers)


class Rollout:
    def __call__(self, layers):
        return rollout_plain(layers)


# -------------------------------------------------------------------- induction_score


def induction_by_diagonal(weights, period):
    return weights.diagonal(offset=1 - period, dim1=-2, dim2=-1).mean((0, 2))


def induction_by_diagonal_two_means(weights, period):
    return weights.diagonal(-(period - 1), 2, 3).mean(-1).mean(0)


def induction_by_index(weights, period):
    i = torch.arange(period - 1, weights.shape[-1])
    return weights[:, :, i, i - period + 1].mean(dim=(0, 2))


def induction_by_loop(weights, period):
    found = [weights[:, :, i, i - period + 1] for i in range(period - 1, weights.shape[-1])]
    return torch.stack(found).mean((0, 1))


def induction_by_keys(weights, period):
    L = weights.shape[-1]
    j = torch.arange(L - period + 1)
    return weights[..., j + period - 1, j].mean(2).mean(0)


def induction_by_gather(weights, period):
    rows = weights[:, :, period - 1 :]
    index = torch.arange(rows.shape[2])[:, None].expand(*rows.shape[:3], 1)
    return rows.gather(3, index).squeeze(3).mean((0, 2))


def induction_by_slices(weights, period):
    n = weights.shape[-1] - period + 1
    square = weights[:, :, period - 1 :, :n]
    return square.diagonal(dim1=2, dim2=3).mean((0, 2))


def induction_by_trace(weights, period):
    n = weights.shape[-1] - period + 1
    square = weights[:, :, -n:, :n]
    return torch.einsum("bhii->bh", square).mean(0) / n


def induction_by_mask(weights, period):
    L = weights.shape[-1]
    i, j = torch.arange(L)[:, None], torch.arange(L)
    return weights[:, :, i - j == period - 1].mean((0, 2))


def induction_by_eye(weights, period):
    L = weights.shape[-1]
    stripe = torch.eye(L).roll(1 - period, 1).tril().to(weights.dtype)
    return (weights * stripe).sum((0, 2, 3)) / (len(weights) * stripe.sum())


def induction_by_ones_on_a_diagonal(weights, period):
    L = weights.shape[-1]
    stripe = torch.diag(torch.ones(L - period + 1, dtype=weights.dtype), 1 - period)
    return (weights * stripe).sum((2, 3)).mean(0) / stripe.sum()


def induction_by_triangles(weights, period):
    stripe = weights.tril(1 - period).triu(1 - period)
    return stripe.sum((2, 3)).mean(0) / (weights.shape[-1] - period + 1)


def induction_by_numpy(weights, period):
    w = weights.float().numpy()
    stripe = np.diagonal(w, offset=1 - period, axis1=2, axis2=3)
    return torch.tensor(stripe.mean(axis=(0, 2)), dtype=weights.dtype)


def induction_by_plain_python(weights, period):
    B, H, L, _ = weights.shape
    scores = []
    for h in range(H):
        total = count = 0
        for b in range(B):
            for i in range(L):
                if i - period + 1 >= 0:
                    total += weights[b, h, i, i - period + 1].item()
                    count += 1
        scores.append(total / count)
    return torch.tensor(scores, dtype=weights.dtype)


def induction_from_above(weights, period):
    return weights.mT.diagonal(period - 1, dim1=-2, dim2=-1).mean((0, 2))


def induction_by_strides(weights, period):
    """One step along the diagonal is L + 1 numbers in memory."""
    B, H, L, _ = weights.shape
    flat = weights.reshape(B, H, L * L)
    return flat[:, :, (period - 1) * L :: L + 1][:, :, : L - period + 1].mean((0, 2))


def induction_of_the_mean_sample(weights, period):
    mean = weights.mean(0)
    return torch.stack([head.diagonal(1 - period).mean() for head in mean])


def induction_in_float64(weights, period):
    stripe = weights.double().diagonal(1 - period, dim1=2, dim2=3)
    return (stripe.sum((0, 2)) / stripe[:, 0].numel()).to(weights.dtype)


def induction_by_rolling(weights, period):
    rows = [row.roll(-i, -1) for i, row in enumerate(weights.unbind(2))]
    aligned = torch.stack(rows, 2)  # the key i - n stands at -n
    column = aligned[..., -(period - 1) % aligned.shape[-1]]
    return column[:, :, period - 1 :].mean((0, 2))


def induction_by_unfold_of_padding(weights, period):
    L = weights.shape[-1]
    padded = F.pad(weights, (period - 1, 0))[..., :L]  # key i - period + 1 is at i
    return padded.diagonal(dim1=2, dim2=3)[..., period - 1 :].mean((0, 2))


def induction_heads_first(weights, period):
    stripe = weights.transpose(0, 1).diagonal(1 - period, dim1=2, dim2=3)
    return stripe.flatten(1).mean(1)


def induction_by_nanmean(weights, period):
    L = weights.shape[-1]
    i, j = torch.arange(L)[:, None], torch.arange(L)
    stripe = weights.masked_fill(j != i - period + 1, torch.nan)
    return stripe.nanmean((0, 2, 3))


@torch.no_grad()
def induction_without_gradients(weights, period):
    return induction_by_diagonal(weights, period)


def induction_mapped(weights, period):
    per_map = torch.vmap(torch.vmap(lambda w: w.diagonal(1 - period).mean()))
    return per_map(weights).mean(0)


def induction_of_the_later_rows(weights, period):
    return weights[:, :, period - 1 :].diagonal(dim1=2, dim2=3).mean((0, 2))


def induction_along_dim(weights, period):
    keys = torch.arange(weights.shape[-1] - period + 1)[:, None]
    rows = weights[:, :, period - 1 :]
    return torch.take_along_dim(rows, keys[None, None], dim=3).mean((0, 2, 3))


def induction_by_as_strided(weights, period):
    B, H, L, _ = weights.shape
    shape, steps = (B, H, L - period + 1), (H * L * L, L * L, L + 1)
    return weights.contiguous().as_strided(shape, steps, (period - 1) * L).mean(2).mean(0)


def induction_by_linalg(weights, period):
    return torch.linalg.diagonal(weights, offset=1 - period).mean(dim=(0, 2))


def induction_by_boolean_index(weights, period):
    i = torch.arange(weights.shape[-1])
    return weights[:, :, i[:, None] - i == period - 1].mean((0, 2))


def induction_by_repeated_letters(weights, period):
    n = weights.shape[-1] - period + 1
    return torch.einsum("bhii->h", weights[:, :, period - 1 :, :n]) / (len(weights) * n)


def induction_from_the_end(weights, period):
    n = weights.shape[-1] - period + 1
    last = [weights[..., -k, -k - period + 1] for k in range(1, n + 1)]
    return torch.stack(last, -1).mean((0, 2))


class InductionModule(nn.Module):
    def forward(self, attention, period=2):
        return induction_by_diagonal(attention, period)


class Induction:
    def __call__(self, weights, period):
        return induction_by_index(weights, period)


ALTERNATIVES = {
    "attention_entropy": [
        entropy_by_entr,
        entropy_by_xlogy,
        entropy_by_where,
        entropy_by_clamp_tiny,
        entropy_by_nan_to_num,
        entropy_by_nansum,
        entropy_by_finite_logs,
        entropy_with_a_small_epsilon,
        entropy_with_epsilon_1e_6,
        entropy_with_finfo_eps,
        entropy_clamped_at_finfo_eps,
        entropy_by_log2,
        entropy_by_einsum,
        entropy_by_loops,
        entropy_by_numpy,
        entropy_heads_first,
        entropy_head_by_head,
        entropy_in_place_on_a_copy,
        entropy_without_gradients,
        entropy_by_cross_entropy,
        entropy_by_kl_from_uniform,
        entropy_of_the_rows_that_see,
        entropy_by_powers,
        entropy_with_ones_for_zeros,
        entropy_of_scores,
        entropy_of_what_is_not_zero,
        entropy_by_mean_over_keys,
        entropy_renormalized_safely,
        entropy_mapped,
        entropy_in_a_nested_function,
        functools.partial(entropy_in_a_nested_function, eps=1e-8),
        EntropyModule(),
        Entropy(),
    ],
    "mean_attention_distance": [
        distance_plain,
        distance_by_einsum,
        distance_by_one_einsum,
        distance_by_cdist,
        distance_by_loops,
        distance_by_diagonals,
        distance_query_by_query,
        distance_by_matmul,
        distance_by_numpy,
        distance_past_and_future,
        distance_by_square_root,
        distance_by_toeplitz,
        distance_transposed,
        distance_summed_and_divided,
        distance_mean_of_heads_map_first,
        distance_by_mean_times_length,
        distance_by_meshgrid,
        distance_by_cumulative_weights,
        distance_without_gradients,
        distance_mapped,
        distance_renormalized_where_possible,
        distance_by_maximum,
        distance_by_tensordot,
        distance_of_a_python_table,
        distance_in_four_axes,
        distance_by_counting_steps,
        DistanceModule(),
        Distance(),
    ],
    "attention_rollout": [
        rollout_plain,
        rollout_from_the_top,
        rollout_by_einsum,
        rollout_renormalized,
        rollout_by_reduce,
        rollout_by_multi_dot,
        rollout_stacked,
        rollout_residual_in_each_head,
        rollout_diagonal_added,
        rollout_step_by_step,
        rollout_transposed,
        rollout_recursive,
        rollout_by_numpy,
        rollout_by_loops,
        rollout_halved_at_the_end,
        rollout_over_subsets,
        rollout_with_lerp,
        rollout_from_a_copied_list,
        rollout_by_sum_of_heads,
        rollout_without_gradients,
        rollout_normalized_at_the_end,
        rollout_by_baddbmm,
        rollout_with_the_residual_as_a_head,
        rollout_by_halves,
        rollout_of_each_head_onto_the_rest,
        rollout_mapped,
        rollout_by_one_einsum,
        RolloutModule(),
        Rollout(),
    ],
    "induction_score": [
        induction_by_diagonal,
        induction_by_diagonal_two_means,
        induction_by_index,
        induction_by_loop,
        induction_by_keys,
        induction_by_gather,
        induction_by_slices,
        induction_by_trace,
        induction_by_mask,
        induction_by_eye,
        induction_by_ones_on_a_diagonal,
        induction_by_triangles,
        induction_by_numpy,
        induction_by_plain_python,
        induction_from_above,
        induction_by_strides,
        induction_of_the_mean_sample,
        induction_in_float64,
        induction_by_rolling,
        induction_by_unfold_of_padding,
        induction_heads_first,
        induction_by_nanmean,
        induction_without_gradients,
        induction_mapped,
        induction_of_the_later_rows,
        induction_along_dim,
        induction_by_as_strided,
        induction_by_linalg,
        induction_by_boolean_index,
        induction_by_repeated_letters,
        induction_from_the_end,
        InductionModule(),
        Induction(),
    ],
}
