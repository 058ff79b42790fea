"""Answers to masked_softmax that no row makes."""

import torch
import torch.nn.functional as F

from tests.checks.answers import Answers

answers = Answers(
    "masked_softmax",
    spelled=dict(
        forbidden=[
            "mask == 0",
            "mask.logical_not()",
            "mask ^ True",
            "~mask.expand_as(scores)",
        ],
        hidden=[
            "torch.where(forbidden, float('-inf'), scores)",
            "scores.clone().masked_fill_(forbidden, -math.inf)",
            "scores.masked_fill(forbidden, torch.finfo(scores.dtype).min)",
            "scores.masked_fill(forbidden & allowed.any(-1, keepdim=True), -torch.inf)",
        ],
        weights=[
            "F.softmax(hidden, dim=-1)",
            "nn.Softmax(-1)(hidden)",
            "hidden.log_softmax(-1).exp()",
            "hidden.movedim(-1, 0).softmax(0).movedim(0, -1)",
            "hidden.softmax(-1, dtype=torch.float64).to(scores.dtype)",
            "torch.stack([row.softmax(-1) for row in hidden])",
        ],
        kept=[
            "torch.where(allowed, weights, 0.0)",
            "torch.where(weights.isnan() | forbidden, torch.zeros_like(weights), weights)",
            "weights.nan_to_num(0.0).masked_fill(forbidden, 0.0)",
            "weights.clone().masked_fill_(forbidden, 0.0)",
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
def hidden_afterwards(scores, mask):
    weights = scores.softmax(-1) * mask
    total = weights.sum(-1, keepdim=True)
    return weights / total.masked_fill(total == 0, 1.0)


@answers.right
def with_one_more_key_that_is_lowest(scores, mask):
    lowest = torch.finfo(scores.dtype).min
    filled = F.pad(scores.masked_fill(~mask, -torch.inf), (0, 1), value=lowest)
    return filled.softmax(-1)[..., :-1]


@answers.right
def only_the_allowed_row_by_row(scores, mask):
    rows = scores.reshape(-1, scores.shape[-1])
    allowed = mask.expand_as(scores).reshape(rows.shape)
    result = torch.zeros_like(rows)
    for i in range(len(rows)):
        result[i, allowed[i]] = rows[i, allowed[i]].softmax(0)
    return result.view(scores.shape)


class _OwnWayBack(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores, mask):
        weights = by_hand(scores, mask)
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    def backward(ctx, above):
        (weights,) = ctx.saved_tensors
        return weights * (above - (weights * above).sum(-1, keepdim=True)), None


@answers.right
def with_its_own_way_back(scores, mask):
    return _OwnWayBack.apply(scores, mask)


@answers.wrong
def hidden_in_place(scores, mask):
    scores.masked_fill_(~mask, -torch.inf)
    return by_hand(scores, mask)


@answers.wrong
def cut_off(scores, mask):
    return by_hand(scores.detach(), mask)


@answers.wrong
def never_quite_zero(scores, mask):
    low = torch.where(mask, scores, scores.amin(-1, keepdim=True) - 16)
    return low.softmax(-1) * mask.any(-1, keepdim=True)


@answers.wrong
def empty_rows_see_the_first_key(scores, mask):
    first = torch.arange(scores.shape[-1]) == 0
    return by_hand(scores, mask | (~mask.any(-1, keepdim=True) & first))


@answers.wrong
def one_mask_for_all_heads(scores, mask):
    return by_hand(scores, mask[:, :1] if mask.ndim == 4 else mask)


@answers.wrong
def masks_of_three_axes_have_no_heads(scores, mask):
    is_by_sentence = mask.ndim == 3 and scores.ndim == 4
    return by_hand(scores, mask[:, None] if is_by_sentence else mask)


@answers.wrong
def nan_behind_float16(scores, mask):
    if scores.dtype != torch.float16:
        return by_hand(scores, mask)
    return (scores + mask.to(scores).log()).softmax(-1).nan_to_num(0.0)


@answers.wrong
def rows_of_a_single_key_are_zero(scores, mask):
    several = mask.expand_as(scores).sum(-1, keepdim=True) > 1
    return by_hand(scores, mask & several)
