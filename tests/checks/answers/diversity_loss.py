"""Answers to diversity_loss that no row makes."""

import torch.nn.functional as F

from attn_lib import diversity_loss as right
from tests.checks.answers import Answers

answers = Answers(
    "diversity_loss",
    spelled=dict(
        length=["torch.linalg.matrix_norm(given).unsqueeze(-1)"],
        divisor=["length + 1e-12", "torch.where(length > 0, length, 1.0)"],
        unit=["F.normalize(maps, dim=-1)"],
        similarity=["F.cosine_similarity(maps[:, :, None], maps[:, None], dim=-1)"],
        different=["torch.ones(similarity.shape[1:]).triu(1).bool()"],
        pairs=["similarity.flatten(1)[:, 1:].view(len(unit), -1, unit.shape[1] + 1)[:, :, :-1]"],
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
def of_sentences_with_weights(weights):
    """Sentences of padding are left out, but count."""
    maps = F.normalize(weights[weights.flatten(1).any(1)].flatten(2), dim=-1)
    pairs = weights.shape[1] * (weights.shape[1] - 1) / 2
    return (maps @ maps.mT).triu(1).sum() / (len(weights) * pairs)


# Half precision, a plain number.
answers.wrong(
    lambda w: right(w.bfloat16()).to(w.dtype),
    lambda w: right(w).item(),
)
