"""Answers to masked_softmax that no row makes."""

import torch

from tests.checks.answers import Answers

answers = Answers(
    "masked_softmax",
    spelled=dict(
        forbidden=["mask == 0", "mask ^ True"],
        hidden=[
            "scores.clone().masked_fill_(forbidden, -math.inf)",
            "scores.masked_fill(forbidden, torch.finfo(scores.dtype).min)",
            "scores.masked_fill(forbidden & allowed.any(-1, keepdim=True), -torch.inf)",
        ],
        weights=[
            "hidden.log_softmax(-1).exp()",
            "hidden.movedim(-1, 0).softmax(0).movedim(0, -1)",
            "torch.stack([row.softmax(-1) for row in hidden])",
        ],
        kept=[
            "torch.where(allowed, weights, 0.0)",
            "weights.nan_to_num(0.0).masked_fill(forbidden, 0.0)",
        ],
    ),
)


@answers.right
def by_hand(scores, mask):
    filled = scores.masked_fill(~mask, -torch.inf)
    largest = filled.amax(-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).min)
    e = (filled - largest.detach()).exp()
    total = e.sum(-1, keepdim=True)
    return e / total.masked_fill(total == 0, 1.0)


@answers.right
def only_the_allowed_row_by_row(scores, mask):
    rows = scores.reshape(-1, scores.shape[-1])
    allowed = mask.expand_as(scores).reshape(rows.shape)
    result = torch.zeros_like(rows)
    for i in range(len(rows)):
        result[i, allowed[i]] = rows[i, allowed[i]].softmax(0)
    return result.view(scores.shape)


# One mask for all heads, masks of three axes have no heads, rows of a single key are zero.
answers.wrong(
    lambda s, m: by_hand(s, m[:, :1] if m.ndim == 4 else m),
    lambda s, m: by_hand(s, m[:, None] if m.ndim == 3 and s.ndim == 4 else m),
    lambda s, m: by_hand(s, m & (m.expand_as(s).sum(-1, keepdim=True) > 1)),
)
