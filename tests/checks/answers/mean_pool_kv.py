"""Answers to mean_pool_kv that no row makes."""

import torch

from tests.checks.answers import Answers

answers = Answers(
    "mean_pool_kv",
    spelled=dict(
        D=["int(weight.size(0) / num_heads)"],
        groups=[
            "weight.unflatten(0, (num_kv_heads, -1, D))",
            "torch.stack([torch.stack(g.split(D)) for g in weight.split(group * D)])",
        ],
        pooled=[
            "sum(groups[:, i] / group for i in range(group))",
            "torch.einsum('kgde->kde', groups) / groups.shape[1]",
            "groups.double().mean(dim=-3).to(weight.dtype)",
            "(F.avg_pool1d(groups.flatten(2).mT, group)[..., 0]).view(-1, D, E)",
        ],
        output=["torch.cat([*pooled])", "nn.Parameter(_)"],
    ),
)


@answers.right
def by_a_matrix(weight, num_heads, num_kv_heads):
    group, D = num_heads // num_kv_heads, len(weight) // num_heads
    average = torch.eye(num_kv_heads, dtype=weight.dtype).repeat_interleave(group, 1)
    return torch.kron(average / group, torch.eye(D, dtype=weight.dtype)) @ weight


@answers.right
@torch.no_grad()
def row_by_row(weight, num_heads, num_kv_heads):
    D, group = len(weight) // num_heads, num_heads // num_kv_heads
    out = torch.zeros(num_kv_heads * D, weight.shape[1], dtype=weight.dtype)
    for head in range(num_heads):
        for channel in range(D):
            out[head // group * D + channel] += weight[head * D + channel] / group
    return out


@answers.wrong
def in_pairs(weight, num_heads, num_kv_heads):
    heads = weight.unflatten(0, (num_heads, -1))
    while len(heads) > num_kv_heads:
        heads = (heads[0 : len(heads) // 2 * 2 : 2] + heads[1::2]) / 2
    return heads.flatten(0, 1)


@answers.wrong
def columns_when_square(weight, num_heads, num_kv_heads):
    w = weight.T if weight.shape[0] == weight.shape[1] else weight
    return by_a_matrix(w, num_heads, num_kv_heads)
