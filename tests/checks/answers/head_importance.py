"""Answers to head_importance that no row makes."""

import functools

import torch

from attn_lib import head_importance as right
from tests.checks.answers import Answers

answers = Answers(
    "head_importance",
    spelled=dict(
        start=["torch.ones(num_heads, 2)[:, 0]"],
        head_mask=["nn.Parameter(start)", "start.requires_grad_() * 1"],
        factors=["head_mask.log().exp()"],
        loss=["-_", "_.sum()"],
        gradients=[
            "torch.autograd.grad(loss, head_mask, create_graph=True)",
            "(loss.backward(inputs=head_mask), head_mask.retain_grad() or head_mask.grad)[1:]",
        ],
        importance=["(gradient * head_mask).abs().detach()", "torch.maximum(gradient, -gradient)"],
    ),
    survivors=[dict(gradient="gradients[-1]")],  # there is one
)  # fmt: skip


# By the gradient of a function, and forward.
answers.right(lambda loss_fn, H: torch.func.grad(loss_fn)(torch.ones(H)).abs())
answers.right(lambda loss_fn, H: torch.func.jacfwd(loss_fn)(torch.ones(H)).abs())


@answers.right
def of_what_is_taken_away(loss_fn, num_heads):
    away = torch.zeros(num_heads, requires_grad=True)
    loss_fn(1 - away).backward(inputs=[away])
    return away.grad.abs_()


@answers.wrong
def ones_kept_between_calls(loss_fn, num_heads):
    head_mask = kept_ones(num_heads)
    loss_fn(head_mask).backward(inputs=[head_mask])
    return head_mask.grad.abs()


@functools.cache
def kept_ones(num_heads):
    return torch.ones(num_heads, requires_grad=True)


# Three digits, one call per head.
answers.wrong(lambda loss_fn, num_heads: right(loss_fn, num_heads).mul(1e3).round() / 1e3)
answers.wrong(lambda f, H: torch.stack([right(f, H)[h] for h in range(H)]))
