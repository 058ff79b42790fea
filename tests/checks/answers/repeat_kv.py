"""Answers to repeat_kv that no row makes."""

import torch

from tests.checks.answers import Answers

answers = Answers(
    "repeat_kv",
    spelled=dict(
        group=["-(-num_heads // Hkv)"],
        output=[
            "x[:, :, None].expand(-1, -1, group, -1, -1).flatten(1, 2)",
            "x.repeat(1, 1, group, 1).view(len(x), num_heads, *x.shape[2:])",
            "x[:, [i * Hkv // num_heads for i in range(num_heads)]]",
            "x.repeat(1, group, 1, 1)[:, torch.arange(num_heads).view(group, -1).T.flatten()]",
            "torch.vmap(lambda sentence: sentence.repeat_interleave(group, 0))(x)",
        ],
    ),
)


@answers.right
def in_strides_of_a_buffer(x, num_heads):
    group = num_heads // x.shape[1]
    out = torch.zeros(len(x), num_heads, *x.shape[2:], dtype=x.dtype)
    for place in range(group):
        out[:, place::group] = x
    return out


def repeat(x, num_heads, most=99):
    return x.repeat_interleave(min(num_heads // x.shape[1], most), dim=1)


@answers.wrong
def sentences_and_heads_swapped_if_as_many(x, num_heads):
    copies = repeat(x, num_heads)
    return copies.transpose(0, 1) if len(x) == num_heads else copies


# Tiled if the group is small, at most four copies.
answers.wrong(
    lambda x, H: (
        x.repeat(1, H // x.shape[1], 1, 1) if x.shape[1] ** 2 > H else repeat(x, H)
    ),
    lambda x, H: repeat(x, H, 4),
)
