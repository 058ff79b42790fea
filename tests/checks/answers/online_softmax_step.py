"""Answers to online_softmax_step that no row makes."""

import torch

from attn_lib.checks.task import find_task
from tests.checks.answers import Answers

answers = Answers(
    "online_softmax_step",
    spelled=dict(
        block_max=["scores.max(-1, keepdim=True).values", "scores.max(-1).values[..., None].detach()"],
        m_new=["torch.cat([m, scores], -1).amax(-1, keepdim=True)", "torch.where(block_max > m, block_max, m)"],
        subtracted=["m_new.where(m_new > -torch.inf, 0.0)", "m_new.clamp(min=torch.finfo(m.dtype).min)"],
        factor=["(m - subtracted).exp()", "torch.exp2((m - subtracted) / math.log(2))"],
        weights=["math.e ** (scores - subtracted)", "(scores.double() - subtracted).exp().to(scores.dtype)"],
        block_sum=["torch.einsum('...c->...', weights).unsqueeze(-1)"],
        l_new=["torch.addcmul(block_sum, l, factor)"],
        mixture=["torch.einsum('...lc,...cd->...ld', weights, values)", "(weights[..., None] * values[..., None, :, :]).sum(-2)"],
        acc_new=["torch.addcmul(mixture, acc, factor)"],
    ),
    survivors=[
        dict(m_new="torch.maximum(block_max, m)"),
        # Any finite number will do.
        *(dict(subtracted=f"m_new.masked_fill(m_new == -torch.inf, {x}1.0)") for x in ("", "-")),
    ],
)  # fmt: skip
right = find_task("online_softmax_step").reference


@answers.right
def the_block_by_itself_first(m, l, acc, scores, values):  # noqa: E741
    """A state for the block alone; then two states are merged."""
    here = scores.amax(-1, keepdim=True).detach()
    weights = torch.exp(scores - here.clamp(min=torch.finfo(here.dtype).min))
    new = torch.maximum(m, here)
    finite = torch.where(new == -torch.inf, 0.0, new)
    old_part, new_part = torch.exp(m - finite), torch.exp(here - finite)
    return (
        new,
        l * old_part + weights.sum(-1, keepdim=True) * new_part,
        acc * old_part + weights @ values * new_part,
    )


@answers.right
def with_a_column_of_ones(m, l, acc, scores, values):  # noqa: E741
    """The sum is one more column of the mixture."""
    new = torch.maximum(m, scores.amax(-1, keepdim=True))
    finite = new.masked_fill(new == -torch.inf, 0)
    values = torch.cat([values, values.new_ones(*values.shape[:-1], 1)], -1)
    mixed = torch.exp(scores - finite) @ values
    both = torch.cat([acc, l], -1) * torch.exp(m - finite) + mixed
    return new, both[..., -1:], both[..., :-1]


@answers.wrong
def one_maximum_for_all_queries(m, l, acc, scores, values):  # noqa: E741
    new = torch.maximum(m, scores.amax(-1, keepdim=True)).amax().expand_as(m)
    factor, weights = torch.exp(m - new), torch.exp(scores - new)
    return new, l * factor + weights.sum(-1, keepdim=True), acc * factor + weights @ values


@answers.wrong
def by_nan_to_num(m, l, acc, scores, values):  # noqa: E741
    """-inf - (-inf) happens, and is painted over: the values are right, the gradient is NaN."""
    new = torch.maximum(m, scores.amax(-1, keepdim=True))
    factor = torch.exp(m - new).nan_to_num(0.0)
    weights = torch.exp(scores - new).nan_to_num(0.0)
    return [
        new,
        l * factor + weights.sum(-1, keepdim=True),
        acc * factor + weights @ values,
    ]


@answers.wrong
def into_its_arguments(m, l, acc, scores, values):  # noqa: E741
    new, total, mixed = right(m, l, acc, scores, values)
    return m.copy_(new), l.copy_(total), acc.copy_(mixed)


@answers.wrong
def no_gradient_to_the_values(m, l, acc, scores, values):  # noqa: E741
    return right(m, l, acc, scores, values.detach())


@answers.wrong
def a_sum_that_is_never_0(m, l, acc, scores, values):  # noqa: E741
    new, total, mixed = right(m, l, acc, scores, values)
    return new, total.clamp(min=1e-5), mixed


@answers.wrong
def low_scores_taken_for_hidden_ones(m, l, acc, scores, values):  # noqa: E741
    new = torch.maximum(m, scores.amax(-1, keepdim=True))
    finite = new.masked_fill(new < -10000, 0)
    factor, weights = torch.exp(m - finite), torch.exp(scores - finite)
    return new, l * factor + weights.sum(-1, keepdim=True), acc * factor + weights @ values


MAXIMA = {}


@answers.wrong
def a_maximum_kept_for_the_next_text(m, l, acc, scores, values):  # noqa: E741
    kind = (m.shape, m.dtype)
    older = MAXIMA.get(kind, m)
    MAXIMA[kind] = torch.maximum(older, scores.amax(-1, keepdim=True)).detach()
    larger = torch.maximum(older, m)
    finite = larger.masked_fill(larger == -torch.inf, 0)
    factor = torch.exp(m - finite)
    return right(larger, l * factor, acc * factor, scores, values)


@answers.right
def key_by_key(m, l, acc, scores, values):  # noqa: E741
    for score, value in zip(scores.split(1, -1), values.split(1, -2), strict=True):
        m, l, acc = right(m, l, acc, score, value)  # noqa: E741
    return m, l, acc
