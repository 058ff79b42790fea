"""Answers to weighted_value_norms that no row makes."""

import torch

from tests.checks.answers import Answers

answers = Answers(
    "weighted_value_norms",
    spelled=dict(
        squares=["vectors * vectors", "vectors**2", "vectors.abs().pow(2)"],
        summed=["torch.einsum('bhsd->bhs', squares)", "squares.mean(-1) * v.shape[-1]"],
        lengths=["summed**0.5", "vectors.norm(dim=-1)", "torch.linalg.vector_norm(vectors, dim=-1)"],
        per_key=["lengths.unsqueeze(2)", "lengths[:, :, None, :].expand_as(weights)"],
        result=[
            "per_key * given",
            "torch.einsum('bhls,bhs->bhls', given, lengths)",
            "(given[..., None] * vectors[:, :, None]).norm(dim=-1)",
            "torch.einsum('bhls,bhsd->bhlsd', given, vectors).square().sum(-1).sqrt()",
            "(given.square() * summed[:, :, None]).sqrt()",
            "(given.mT * lengths[..., None]).mT",
            "given @ torch.diag_embed(lengths)",
        ],
    ),
)  # fmt: skip


@answers.right
def by_distance_from_the_origin(weights, v):
    origin = torch.zeros_like(v[:, :, :1])
    lengths = torch.cdist(origin.double(), v.double())  # (B, H, 1, S)
    return (weights.double() * lengths).to(weights.dtype)


def norms(w, v):
    return w * v.norm(dim=-1)[:, :, None]


# Queries for keys if as many, keys for channels if as many, four channels at most, needs contiguous
# values, drops short ones.
answers.wrong(
    lambda w, v: w * v.norm(dim=-1)[..., None] if w.shape[2] == w.shape[3] else norms(w, v),
    lambda w, v: norms(w, v.mT) if v.shape[2] == v.shape[3] else norms(w, v),
    lambda w, v: norms(w, v[..., :4]),
    lambda w, v: norms(w, v.view(-1, *v.shape[2:]).view(v.shape)),
    lambda w, v: norms(w, v.where(v.abs() > 1e-2, 0.0)),
)
