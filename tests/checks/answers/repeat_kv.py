"""Answers to repeat_kv that no row makes."""

import torch
import torch.nn.functional as F

from tests.checks.answers import Answers

answers = Answers(
    "repeat_kv",
    spelled=dict(
        Hkv=["x.size(1)", "len(x[0])"],
        group=["int(num_heads / Hkv)", "-(-num_heads // Hkv)"],
        output=[
            "torch.repeat_interleave(x, group, dim=-3)",
            "x.repeat_interleave(torch.full((Hkv,), group), dim=1)",
            "x[:, :, None].expand(-1, -1, group, -1, -1).flatten(1, 2)",
            "x.unsqueeze(2).repeat(1, 1, group, 1, 1).flatten(1, 2)",
            "x.repeat(1, 1, group, 1).view(len(x), num_heads, *x.shape[2:])",
            "torch.stack([x] * group, dim=2).flatten(1, 2)",
            "torch.cat([h.expand(-1, group, -1, -1) for h in x.split(1, 1)], 1)",
            "x[:, [i * Hkv // num_heads for i in range(num_heads)]]",
            "x.index_select(1, torch.arange(num_heads) // group)",
            "torch.einsum('bksd,g->bkgsd', x, x.new_ones(group)).flatten(1, 2)",
            "x.repeat(1, group, 1, 1)[:, torch.arange(num_heads).view(group, -1).T.flatten()]",
            "torch.vmap(lambda sentence: sentence.repeat_interleave(group, 0))(x)",
            "x.double().repeat_interleave(group, 1).to(x.dtype)",
        ],
    ),
)


@answers.right
def by_a_matrix(x, num_heads):
    which = torch.arange(num_heads) // (num_heads // x.shape[1])
    return torch.einsum("hk,bksd->bhsd", F.one_hot(which, x.shape[1]).to(x.dtype), x)


@answers.right
def in_strides_of_a_buffer(x, num_heads):
    group = num_heads // x.shape[1]
    out = torch.zeros(len(x), num_heads, *x.shape[2:], dtype=x.dtype)
    for place in range(group):
        out[:, place::group] = x
    return out


@answers.wrong
def at_most_four_copies(x, num_heads):
    return x.repeat_interleave(min(num_heads // x.shape[1], 4), dim=1)


@answers.wrong
def tiled_if_the_group_is_large(x, num_heads):
    Hkv = x.shape[1]
    group = num_heads // Hkv
    tiled = x.repeat(1, group, 1, 1)
    return tiled if group > Hkv else x.repeat_interleave(group, 1)


@answers.wrong
def tiled_if_the_group_is_small(x, num_heads):
    Hkv = x.shape[1]
    group = num_heads // Hkv
    tiled = x.repeat(1, group, 1, 1)
    return tiled if group < Hkv else x.repeat_interleave(group, 1)


@answers.wrong
def sentences_and_heads_swapped_if_as_many(x, num_heads):
    copies = x.repeat_interleave(num_heads // x.shape[1], 1)
    return copies.transpose(0, 1) if len(x) == num_heads else copies


@answers.wrong
def breaks_where_x_is_not_contiguous(x, num_heads):
    copies = x.view(*x.shape[:2], 1, -1).expand(-1, -1, num_heads // x.shape[1], -1)
    return copies.reshape(len(x), num_heads, *x.shape[2:])


@answers.wrong
def copies_cut_off(x, num_heads):
    copies = [x.detach()] * (num_heads // x.shape[1] - 1)
    return torch.stack([x, *copies], 2).flatten(1, 2)


@answers.wrong
def float32_out(x, num_heads):
    return x.float().repeat_interleave(num_heads // x.shape[1], 1)


@answers.wrong
def empties_x(x, num_heads):
    copies = x.repeat_interleave(num_heads // x.shape[1], 1)
    x.zero_()
    return copies
