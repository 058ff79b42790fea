"""Answers to attention_entropy that no row makes."""

import torch

from tests.checks.answers import Answers

answers = Answers(
    "attention_entropy",
    spelled=dict(
        seen=["given + (given == 0)", "given.clamp_min(torch.finfo(given.dtype).tiny)", "given + 1e-6"],
        logs=["seen.log2() * math.log(2)"],
        terms=[
            "torch.special.entr(given)",
            "-(given * given.log()).nan_to_num(0.0)",
            "-(given**given).log()",
        ],
        per_query=["terms.mean(-1) * weights.shape[-1]"],
        per_head=[
            "per_query.transpose(0, 1).flatten(1).mean(1)",
            "torch.stack([head.mean() for head in per_query.unbind(1)])",
        ],
    ),
    survivors=[dict(seen="given.masked_fill(given == 0, 2.0)")],
)  # fmt: skip


@answers.right
def in_place_on_a_copy(weights):
    w = weights.clone()
    w[w == 0] = 1
    return w.log_().mul_(weights).neg_().sum(-1).mean((0, 2))


def entropy(w, axes=(0, 2)):
    return torch.special.entr(w).sum(-1).mean(axes)


kept: dict = {}

# Needs contiguous weights, samples for heads if as many, remembers.
answers.wrong(
    lambda w: entropy(w.view(-1, *w.shape[2:]).view(w.shape)),
    lambda w: entropy(w, (1, 2) if len(w) == w.shape[1] else (0, 2)),
    lambda w: kept.setdefault((w.shape, w.dtype), entropy(w)),
)
