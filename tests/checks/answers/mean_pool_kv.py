"""Answers to mean_pool_kv that no row makes."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.checks.answers import Answers

answers = Answers(
    "mean_pool_kv",
    spelled=dict(
        D=["len(weight) // num_heads", "int(weight.size(0) / num_heads)"],
        group=["int(num_heads / num_kv_heads)"],
        groups=[
            "weight.view(num_kv_heads, group, D, E)",
            "weight.unflatten(0, (num_kv_heads, -1, D))",
            "torch.stack([torch.stack(g.split(D)) for g in weight.split(group * D)])",
        ],
        pooled=[
            "groups.sum(1) / group",
            "sum(groups[:, i] / group for i in range(group))",
            "torch.einsum('kgde->kde', groups) / groups.shape[1]",
            "groups.double().mean(dim=-3).to(weight.dtype)",
            "torch.stack([g.mean(0) for g in groups])",
            "(F.avg_pool1d(groups.flatten(2).mT, group)[..., 0]).view(-1, D, E)",
        ],
        output=["pooled.reshape(-1, E)", "torch.cat([*pooled])", "nn.Parameter(_)"],
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


@answers.right
def by_a_convolution_in_float64(weight, num_heads, num_kv_heads):
    group = num_heads // num_kv_heads
    kernel = torch.full((1, group, 1), 1 / group, dtype=torch.float64)
    heads = weight.double().reshape(num_kv_heads, group, -1)
    return F.conv1d(heads, kernel).reshape(-1, weight.shape[1]).to(weight.dtype)


def _groups(weight, num_heads, num_kv_heads):
    return weight.unflatten(0, (num_kv_heads, num_heads // num_kv_heads, -1))


@answers.wrong
def in_pairs(weight, num_heads, num_kv_heads):
    heads = weight.unflatten(0, (num_heads, -1))
    while len(heads) > num_kv_heads:
        heads = (heads[0 : len(heads) // 2 * 2 : 2] + heads[1::2]) / 2
    return heads.flatten(0, 1)


@answers.wrong
def mean_of_the_mean_and_the_next(weight, num_heads, num_kv_heads):
    heads = _groups(weight, num_heads, num_kv_heads)
    mean = heads[:, 0]
    for i in range(1, heads.shape[1]):
        mean = (mean + heads[:, i]) / 2
    return mean.flatten(0, 1)


@answers.wrong
def columns_when_square(weight, num_heads, num_kv_heads):
    w = weight.T if weight.shape[0] == weight.shape[1] else weight
    return _groups(w, num_heads, num_kv_heads).mean(1).flatten(0, 1)


@answers.wrong
def float32_out(weight, num_heads, num_kv_heads):
    return _groups(weight.float(), num_heads, num_kv_heads).mean(1).flatten(0, 1)


@answers.wrong
def first_and_last(weight, num_heads, num_kv_heads):
    groups = _groups(weight, num_heads, num_kv_heads)
    return ((groups[:, 0] + groups[:, -1]) / 2).flatten(0, 1)


@answers.wrong
def a_layer(weight, num_heads, num_kv_heads):
    return nn.Linear(weight.shape[1], len(weight) // num_heads * num_kv_heads, bias=False)
