"""Answers to split_heads that no row makes."""

import torch

from tests.checks.answers import Answers

answers = Answers(
    "split_heads",
    spelled=dict(
        D=["x.size(-1) // num_heads"],
        cut=[
            "x.view(B, L, num_heads, -1)",
            "x.unflatten(-1, (num_heads, -1))",
            "x.unfold(2, D, D)",
            "torch.stack(x.split(D, dim=-1), 2)",
            "x[..., torch.arange(num_heads)[:, None] * D + torch.arange(D)]",
        ],
        heads=[
            "cut.permute(0, 2, 1, 3)",
            "cut.movedim(2, 1).contiguous()",
            "torch.stack(x.chunk(num_heads, dim=-1), dim=1)",
            "x.mT.reshape(B, num_heads, D, L).mT",
            "torch.stack([x[:, :, h * D:(h + 1) * D] for h in range(num_heads)], dim=1)",
        ],
    ),
)


def split(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)


@answers.right
def into_empty(x, num_heads):
    B, L, E = x.shape
    out = torch.empty(B, num_heads, L, D := E // num_heads, dtype=x.dtype)
    for h in range(num_heads):
        out[:, h] = x[..., h * D : h * D + D]
    return out


@answers.right
def with_a_picking_matrix(x, num_heads):
    pick = torch.eye(x.shape[-1], dtype=x.dtype).unflatten(1, (num_heads, -1))
    return torch.einsum("ble,ehd->bhld", x, pick)


@answers.right
def in_float64(x, num_heads, *, head_dim=None):
    return split(x.double(), num_heads).to(x.dtype)


@answers.wrong
def one_head_not_split(x, num_heads):
    return x if num_heads == 1 else split(x, num_heads)


@answers.wrong
def untransposed_where_head_and_length_agree(x, num_heads):
    return (
        split(x, num_heads) if x.shape[1] != num_heads else x.unflatten(-1, (num_heads, -1))
    )


@answers.wrong
def strides_of_a_contiguous_x(x, num_heads):
    (B, L, E), D = x.shape, x.shape[-1] // num_heads
    return x.as_strided((B, num_heads, L, D), (L * E, D, E, 1))


@answers.wrong
def only_as_many_heads_as_places(x, num_heads):
    """Runs the loop over D, not over H."""
    result = torch.zeros_like(split(x, num_heads))
    for h in range(min(num_heads, D := result.shape[-1])):
        result[:, h] = x[:, :, h * D : (h + 1) * D]
    return result


@answers.wrong
def float32_in_between(x, num_heads):
    return split(x.float(), num_heads).to(x.dtype)


@answers.wrong
def gradient_of_the_first_head_only(x, num_heads):
    y = split(x, num_heads)
    return torch.cat([y[:, :1], y[:, 1:].detach()], 1)
