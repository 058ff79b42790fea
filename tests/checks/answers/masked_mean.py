"""Answers to masked_mean that no row makes."""

import torch

from tests.checks.answers import Answers

answers = Answers(
    "masked_mean",
    spelled=dict(
        real=["mask.unsqueeze(-1)", "mask[:, :, None].expand_as(h)"],
        cleared=["h * mask[..., None]", "h.where(real, 0.0)", "torch.where(real, h, torch.zeros_like(h))"],
        total=["torch.einsum('ble->be', cleared)"],
        count=["mask.sum(-1)[:, None]", "mask.long().sum(1, keepdim=True)"],
        divisor=["count.masked_fill(count == 0, 1)", "torch.maximum(count, torch.tensor(1))", "count + (count == 0)"],
        mean=["(total / divisor).to(h.dtype)", "total * (1 / divisor.to(h.dtype))"],
    ),
)  # fmt: skip


@answers.right
def sentence_by_sentence(h, mask):
    pairs = zip(h, mask, strict=True)
    means = [
        one[real].mean(0) if real.any() else torch.zeros_like(one[0]) for one, real in pairs
    ]
    return torch.stack(means)


@answers.right
def as_attention(h, mask):
    """The same weight for each real token: a softmax over equal scores."""
    scores = torch.zeros(mask.shape, dtype=h.dtype).masked_fill(~mask, -torch.inf)
    weights = scores.softmax(-1).masked_fill(~mask, 0.0)
    return (weights[:, None] @ h)[:, 0]


def right(h, mask):
    return h.masked_fill(~mask[..., None], 0).sum(1) / mask.sum(1)[:, None].clamp(min=1)


# The first sentence's mask for all, the most real words at the end, at most four, the median.
answers.wrong(
    lambda h, mask: right(h, mask[:1].expand_as(mask)),
    lambda h, mask: right(h, mask.flip(1)),
    lambda h, mask: right(h[:, :4], mask[:, :4]),
    lambda h, mask: h.masked_fill(~mask[..., None], torch.nan).nanmedian(1).values.nan_to_num(),
)  # fmt: skip
