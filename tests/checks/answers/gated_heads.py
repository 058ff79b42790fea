"""Answers to gated_heads that no row makes."""

import copy

import torch

import attn_lib
from tests.checks.answers import Answers

answers = Answers(
    "gated_heads",
    spelled=dict(
        heads=["F.scaled_dot_product_attention(q, k, v)"],
        logits=["torch.einsum('ble,he->blh', x, w_gate)", "(w_gate @ x.mT).mT"],
        gate=[
            "1 / (1 + torch.exp(-logits.clamp(-80, 80)))",
            "(1 + torch.tanh(logits / 2)) / 2",
            "torch.exp(-F.softplus(-logits))",
            "torch.stack([logits, torch.zeros_like(logits)]).softmax(0)[0]",
        ],
        factor=["gate.permute(0, 2, 1).reshape(*heads.shape[:3], 1)"],
        scaled=["(weights * factor) @ v", "heads - heads * (1 - factor)"],
        merged=["heads.transpose(1, 2).flatten(2) * gate.repeat_interleave(D, -1)"],
    ),
)


def attend_with(attn, x, gate):
    """Scales the channels of the heads, by a hook that is removed."""
    gate = gate.repeat_interleave(x.shape[-1] // attn.num_heads, -1)
    with attn.o_proj.register_forward_pre_hook(lambda _, args: args[0] * gate):
        return attn(x)


@answers.right
def with_a_hook_that_is_removed(attn, x, w_gate):
    return attend_with(attn, x, (x @ w_gate.T).sigmoid())


@answers.right
def with_another_kernel(attn, x, w_gate):
    gate = (x @ w_gate.T).sigmoid().mT[..., None]
    other = copy.copy(attn)
    other.kernel = lambda *args, **kwargs: (attn.kernel(*args, **kwargs)[0] * gate, None)
    return other(x)


@answers.wrong
def a_branch_that_overflows(attn, x, w_gate):
    """The branch that is not taken has an inf in it, and a gradient of nan."""
    z = x @ w_gate.T
    gate = torch.where(z >= 0, 1 / (1 + torch.exp(-z)), z.exp() / (1 + z.exp()))
    return attend_with(attn, x, gate)


def turned_where(fits, gate):
    return gate.mT if fits else gate


# A deep copy, tokens for heads if as many, turned if square, gate and output.
answers.wrong(
    lambda attn, x, w: attn_lib.gated_heads(copy.deepcopy(attn), x, w),
    lambda attn, x, w: attend_with(attn, x, turned_where(x.shape[1] == len(w), (x @ w.T).sigmoid())),
    lambda attn, x, w: attn_lib.gated_heads(attn, x, turned_where(w.shape[0] == w.shape[1], w)),
    lambda attn, x, w: (attn_lib.gated_heads(attn, x, w), x @ w.T),
)  # fmt: skip
