"""Answers to split_heads that no row makes."""

import torch

from tests.checks.answers import Answers

answers = Answers(
    "split_heads",
    spelled=dict(
        cut=[
            "x.unfold(2, D, D)",
            "torch.stack(x.split(D, dim=-1), 2)",
            "x[..., torch.arange(num_heads)[:, None] * D + torch.arange(D)]",
        ],
        heads=[
            "cut.movedim(2, 1).contiguous()",
            "torch.stack(x.chunk(num_heads, dim=-1), dim=1)",
            "x.mT.reshape(B, num_heads, D, L).mT",
        ],
    ),
)


def split(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)


@answers.right
def with_a_picking_matrix(x, num_heads, *, head_dim=None):
    pick = torch.eye(x.shape[-1], dtype=x.dtype).unflatten(1, (num_heads, -1))
    return torch.einsum("ble,ehd->bhld", x, pick)


@answers.wrong
def only_as_many_heads_as_places(x, num_heads):
    """Runs the loop over D, not over H."""
    y = split(x, num_heads)
    return torch.cat([y[:, : y.shape[-1]], torch.zeros_like(y[:, y.shape[-1] :])], 1)


# One head not split, not transposed where heads and length agree.
answers.wrong(
    lambda x, H: x if H == 1 else split(x, H),
    lambda x, H: split(x, H).transpose(1, 2) if x.shape[1] == H else split(x, H),
)
