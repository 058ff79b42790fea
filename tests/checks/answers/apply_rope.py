"""Answers to apply_rope that no row makes."""

import torch

from attn_lib import apply_rope as right
from tests.checks.answers import Answers

answers = Answers(
    "apply_rope",
    spelled=dict(
        c=["torch.arange(half)", "torch.arange(0, D, 2).float() / 2"],
        exponents=["c / half"],
        frequencies=["1.0 / base ** exponents", "torch.exp(-exponents * math.log(base))"],
        where=["positions.float()", "positions"],
        angles=["torch.einsum('l,c->lc', where.double(), frequencies.double())"],
        cos=["full.cos().to(x.dtype)", "full.cos()[None, None]", "(full + math.pi / 2).sin()"],
        partner=[
            "torch.cat([second, first], -1) * torch.tensor([-1.0, 1.0]).repeat_interleave(half)",
            "torch.cat([-second, source], -1)[..., :D]",
        ],
        turned=["torch.cat([first * cos[..., :half] - second * sin[..., :half], first * sin[..., :half] + second * cos[..., :half]], -1)"],
    ),
    survivors=[{"full": "torch.cat([angles, angles], 1)"}],
)  # fmt: skip


@answers.right
def as_matrices(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    angles = positions[:, None].double() / base ** (torch.arange(half) / half)
    cos, sin = angles.cos().diag_embed(), angles.sin().diag_embed()
    matrix = torch.cat([torch.cat([cos, -sin], -1), torch.cat([sin, cos], -1)], -2)
    return torch.einsum("lij,bhlj->bhli", matrix, x.double()).to(x.dtype)


@answers.right
def interleaved_between_two_permutations(x, positions, base=10000.0):
    pairs = x.double().unflatten(-1, (2, -1)).mT  # (..., D/2, 2)
    speeds = base ** -(torch.arange(0, x.shape[-1], 2) / x.shape[-1])
    turned = (
        torch.view_as_complex(pairs.contiguous()) * (1j * positions[:, None] * speeds).exp()
    )
    return torch.view_as_real(turned).mT.flatten(-2).to(x.dtype)


# A table that ends, no gaps, channels for tokens if as many, two channels or all heads but one left out,
# positions that wrap, a single token left as it is, a base that ends.
answers.wrong(
    lambda x, p, base=1e4: right(x, p.clamp(max=2048), base),
    lambda x, p, base=1e4: right(x, torch.arange(len(p)) + p[0], base),
    lambda x, p, base=1e4: right(x.mT, p, base).mT if x.shape[2] == x.shape[3] else right(x, p, base),
    lambda x, p, base=1e4: torch.cat([right(x[..., :-2], p, base), x[..., -2:]], -1),
    lambda x, p, base=1e4: torch.cat([right(x[:, :1], p, base), x[:, 1:]], 1),
    lambda x, p, base=1e4: right(x, p % 1000, base),
    lambda x, p, base=1e4: right(x, p.clamp(max=131_071), base),
    lambda x, p, base=1e4: right(x, p, base) if len(p) > 1 else x,
    lambda x, p, base=1e4: right(x, p, min(base, 1e5)),
)  # fmt: skip
