"""Answers to merge_heads that no row makes."""

import torch
import torch.nn.functional as F

from tests.checks.answers import Answers

answers = Answers(
    "merge_heads",
    spelled=dict(
        turned=[
            "x.permute(0, 2, 1, 3).contiguous()",
            "x.movedim(1, 2)",
            "torch.einsum('bhld->blhd', x)",
        ],
        merged=[
            "turned.flatten(2)",
            "turned.contiguous().view(x.shape[0], L, -1)",
            "torch.cat(x.unbind(1), dim=-1)",
            "torch.cat([x[:, h] for h in range(x.shape[1])], -1)",
            "x.mT.flatten(1, 2).mT",
            "torch.stack([x[:, :, i].flatten(1) for i in range(L)], dim=1)",
        ],
    ),
)


def merge(x):
    return x.transpose(1, 2).flatten(2)


@answers.right
def into_zeros(x):
    B, H, L, D = x.shape
    out = x.new_zeros(B, L, H * D)
    for h in range(H):
        out[:, :, h * D : (h + 1) * D] += x[:, h]
    return out


@answers.right
def sum_of_padded(x):
    H, D = x.shape[1], x.shape[3]
    return sum(F.pad(x[:, h], (h * D, (H - 1 - h) * D)) for h in range(H))


@answers.right
def by_index(x):
    H, D = x.shape[1], x.shape[3]
    channel = torch.arange(H * D)
    return x[:, channel // D, :, channel % D].permute(1, 2, 0)


@answers.wrong
def changes_x(x):
    y = merge(x)
    x.zero_()
    return y


@answers.wrong
def the_fewer_of_two_are_heads(x):
    return merge(x) if x.shape[1] <= x.shape[2] else x.flatten(2)


@answers.wrong
def strides_of_a_split(x):
    B, H, L, D = x.shape
    return x.as_strided((B, L, H * D), (L * H * D, H * D, 1))


@answers.wrong
def half_the_gradient(x):
    y = merge(x)
    return y.detach() + (y - y.detach()) / 2


@answers.wrong
def float32_in_between(x):
    return merge(x.float()).to(x.dtype)


@answers.wrong
def untransposed_if_contiguous(x):
    return x.reshape(x.shape[0], x.shape[2], -1) if x.is_contiguous() else merge(x)
