"""Answers to merge_heads that no row makes."""

from tests.checks.answers import Answers

answers = Answers(
    "merge_heads",
    spelled=dict(
        turned=["x.permute(0, 2, 1, 3).contiguous()", "torch.einsum('bhld->blhd', x)"],
        merged=[
            "torch.cat([x[:, h] for h in range(x.shape[1])], -1)",
            "x.mT.flatten(1, 2).mT",
            "torch.stack([x[:, :, i].flatten(1) for i in range(L)], dim=1)",
        ],
    ),
)


@answers.right
def into_zeros(x):
    B, H, L, D = x.shape
    out = x.new_zeros(B, L, H * D)
    for h in range(H):
        out[:, :, h * D : (h + 1) * D] += x[:, h]
    return out


def merge(x):
    return x.transpose(1, 2).flatten(2)


# The fewer of two are heads, half the gradient.
answers.wrong(
    lambda x: merge(x) if x.shape[1] <= x.shape[2] else x.flatten(2),
    lambda x: (merge(x) + merge(x).detach()) / 2,
)
