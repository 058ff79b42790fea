"""Answers to head_importance that no row makes."""

import functools

import torch
from torch import nn

import attn_lib
from tests.checks.answers import Answers

answers = Answers(
    "head_importance",
    spelled=dict(
        start=["torch.full((num_heads,), 1.0)", "torch.ones(num_heads, 2)[:, 0]"],
        head_mask=["nn.Parameter(start)", "start.requires_grad_() * 1"],
        factors=["head_mask.clamp(0, 1)", "head_mask + 0", "head_mask.log().exp()"],
        loss=["-_", "_.sum()"],
        gradients=[
            "torch.autograd.grad([loss], [head_mask], torch.ones_like(loss))",
            "torch.autograd.grad(loss, head_mask, create_graph=True)",
            "(loss.backward(inputs=head_mask), head_mask.retain_grad() or head_mask.grad)[1:]",
        ],
        importance=[
            "gradient.square().sqrt()",
            "gradient * gradient.sign()",
            "torch.maximum(gradient, -gradient)",
            "(gradient * head_mask).abs().detach()",
            "torch.tensor([abs(g) for g in gradient.tolist()])",
        ],
    ),
    survivors=[dict(gradient="gradients[-1]")],  # there is one
)


@answers.right
def by_func_grad(loss_fn, num_heads):
    return torch.func.grad(loss_fn)(torch.ones(num_heads)).abs()


@answers.right
def by_forward_mode(loss_fn, num_heads):
    return torch.func.jacfwd(loss_fn)(torch.ones(num_heads)).abs()


@answers.right
def of_what_is_taken_away(loss_fn, num_heads):
    away = torch.zeros(num_heads, requires_grad=True)
    loss_fn(1 - away).backward(inputs=[away])
    return away.grad.abs_()


@answers.right
def of_separate_numbers(loss_fn, num_heads):
    numbers = [torch.tensor(1.0, requires_grad=True) for _ in range(num_heads)]
    gradients = torch.autograd.grad(loss_fn(torch.stack(numbers)), numbers)
    return torch.stack(gradients).abs()


@answers.right
def of_float64_ones(loss_fn, num_heads):
    ones = torch.ones(num_heads, dtype=torch.float64, requires_grad=True)
    return torch.autograd.grad(loss_fn(ones.float()), ones)[0].abs()


@answers.wrong
def ones_kept_between_calls(loss_fn, num_heads):
    head_mask = kept_ones(num_heads)
    loss_fn(head_mask).backward(inputs=[head_mask])
    return head_mask.grad.abs()


@functools.cache
def kept_ones(num_heads):
    return torch.ones(num_heads, requires_grad=True)


@answers.wrong
def gradients_set_to_none(loss_fn, num_heads):
    """Cleans up after backward, but only what it made itself."""
    head_mask = torch.ones(num_heads, requires_grad=True)
    loss_fn(head_mask).backward()
    result = head_mask.grad.abs()
    head_mask.grad = None
    return result


@answers.wrong
def parameters_frozen(loss_fn, num_heads):
    head_mask = torch.ones(num_heads, requires_grad=True)
    loss = loss_fn(head_mask)
    todo = [loss.grad_fn]
    while todo:
        node = todo.pop()
        if getattr(node, "variable", head_mask) is not head_mask:
            node.variable.requires_grad_(False)
        todo += [parent for parent, _ in node.next_functions if parent is not None]
    return torch.autograd.grad(loss, head_mask)[0].abs()


@answers.wrong
def a_step_of_adam(loss_fn, num_heads):
    head_mask = nn.Parameter(torch.ones(num_heads))
    steps = torch.optim.Adam([head_mask], lr=1.0)
    loss_fn(head_mask).backward(inputs=[head_mask])
    steps.step()
    return (1 - head_mask.detach()).abs()


@answers.wrong
def one_factor_for_all(loss_fn, num_heads):
    factor = torch.tensor(1.0, requires_grad=True)
    gradient = torch.autograd.grad(loss_fn(factor.expand(num_heads)), factor)[0]
    return gradient.abs().expand(num_heads)


@answers.wrong
def three_digits(loss_fn, num_heads):
    return attn_lib.head_importance(loss_fn, num_heads).mul(1e3).round() / 1e3


@answers.wrong
def one_call_per_head(loss_fn, num_heads):
    found = [attn_lib.head_importance(loss_fn, num_heads)[h] for h in range(num_heads)]
    return torch.stack(found)


@answers.wrong
def a_tuple(loss_fn, num_heads):
    return (attn_lib.head_importance(loss_fn, num_heads),)
