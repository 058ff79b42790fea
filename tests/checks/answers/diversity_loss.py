"""Answers to diversity_loss that no row makes."""

import itertools

import torch
import torch.nn.functional as F

import attn_lib
from tests.checks.answers import Answers

UPPER = "torch.triu_indices(*different.shape, 1)"
answers = Answers(
    "diversity_loss",
    spelled=dict(
        given=["weights.transpose(1, 2).contiguous().transpose(1, 2)"],
        maps=["given.reshape(*given.shape[:2], -1)"],
        length=[
            "torch.linalg.matrix_norm(given).unsqueeze(-1)",
            "maps.square().sum(-1, keepdim=True).clamp_min(1e-24).sqrt()",
        ],
        divisor=["length + 1e-12", "torch.where(length > 0, length, 1.0)", "length + (length == 0)"],
        unit=["F.normalize(maps, dim=-1)", "maps * divisor.reciprocal()"],
        similarity=[
            "torch.einsum('...gn,...hn->...gh', unit, unit)",
            "F.cosine_similarity(maps[:, :, None], maps[:, None], dim=-1)",
        ],
        different=["torch.ones(similarity.shape[1:]).triu(1).bool()"],
        pairs=[
            "similarity.masked_select(different)",
            f"similarity[:, {UPPER}[0], {UPPER}[1]]",
            f"(unit[:, {UPPER}[0]] * unit[:, {UPPER}[1]]).sum(-1)",
            "similarity.flatten(1)[:, 1:].view(len(unit), -1, unit.shape[1] + 1)[:, :, :-1]",
        ],
        mean=[
            "similarity.masked_fill(~different, torch.nan).nanmean()",
            "(unit.sum(1).square().sum() - unit.square().sum()) / unit[:, :, 0].numel() / (unit.shape[1] - 1)",
        ],
    ),
    survivors=[  # similarity is (B, H, H)
        dict(different="~torch.eye(similarity.shape[1], dtype=torch.bool)"),
        dict(different="~torch.eye(similarity.shape[-2], dtype=torch.bool)"),
    ],
)  # fmt: skip


@answers.right
def by_distances(weights):
    """cos = 1 - |a - b|^2 / 2 for vectors of length 1; without length, one half is not lost."""
    maps = F.normalize(weights.flatten(2), dim=-1)
    g, h = torch.tril_indices(weights.shape[1], weights.shape[1], -1)
    lengths, apart = maps.square().sum(-1), (maps[:, g] - maps[:, h]).square().sum(-1)
    return ((lengths[:, g] + lengths[:, h] - apart) / 2).mean()


@answers.right
def pair_by_pair(weights):
    pairs = itertools.combinations(weights.flatten(2).unbind(1), 2)
    return torch.stack([F.cosine_similarity(a, b, dim=-1) for a, b in pairs]).mean()


@answers.right
def in_loops(weights):
    total, count = 0.0, 0
    for sentence in weights.flatten(2):
        for one, other in itertools.permutations(sentence, 2):
            total += one @ other / (one.norm() * other.norm()).clamp_min(1e-9)
            count += 1
    return total / count


@answers.right
def of_sentences_with_weights(weights):
    """Sentences of padding are left out, but count."""
    maps = F.normalize(weights[weights.flatten(1).any(1)].flatten(2), dim=-1)
    pairs = weights.shape[1] * (weights.shape[1] - 1) / 2
    return (maps @ maps.mT).triu(1).sum() / (len(weights) * pairs)


@answers.right
def in_float64(weights):
    return attn_lib.diversity_loss(weights.double()).to(weights.dtype)


@answers.wrong
def without_gradients(weights):
    with torch.no_grad():
        return attn_lib.diversity_loss(weights)


@answers.wrong
def one_side_cut_off(weights):
    maps = F.normalize(weights.flatten(2), dim=-1)
    return (maps @ maps.detach().mT)[:, ~torch.eye(maps.shape[1], dtype=torch.bool)].mean()


@answers.wrong
def in_place(weights):
    weights /= weights.norm(dim=(2, 3), keepdim=True).clamp_min(1e-9)
    return attn_lib.diversity_loss(weights)


@answers.wrong
def whatever_is_1_left_out(weights):
    maps = F.normalize(weights.flatten(2), dim=-1)
    similarity = maps @ maps.mT
    kept = similarity < 1 - 1e-4
    return (similarity * kept).sum() / kept.sum().clamp_min(1)


@answers.wrong
def large_epsilon(weights):
    maps = weights.flatten(2)
    maps = maps / (maps.norm(dim=-1, keepdim=True) + 1e-2)
    return (maps @ maps.mT)[:, ~torch.eye(maps.shape[1], dtype=torch.bool)].mean()


@answers.wrong
def zeros_are_alike(weights):
    """Two maps of zeros are the same: a cosine of 1, and not 0."""
    empty = (weights == 0).flatten(2).all(-1)[..., None, None]
    return attn_lib.diversity_loss(weights + empty)


@answers.wrong
def three_heads_at_most(weights):
    return attn_lib.diversity_loss(weights[:, :3])


@answers.wrong
def square_maps_only(weights):
    size = min(weights.shape[2:])
    return attn_lib.diversity_loss(weights[:, :, :size, :size])


@answers.wrong
def the_last_head_never_compared(weights):
    return attn_lib.diversity_loss(weights[:, : max(2, weights.shape[1] - 1)])


@answers.wrong
def in_half_precision(weights):
    return attn_lib.diversity_loss(weights.bfloat16()).to(weights.dtype)


@answers.wrong
def a_plain_number(weights):
    return attn_lib.diversity_loss(weights).item()
