"""Answers to gated_heads that no row makes."""

import copy

import torch
import torch.nn.functional as F

import attn_lib
from tests.checks.answers import Answers

answers = Answers(
    "gated_heads",
    spelled=dict(
        heads=["F.scaled_dot_product_attention(q, k, v)", "torch.einsum('bhls,bhsd->bhld', weights, v)"],
        logits=["F.linear(x, w_gate)", "torch.einsum('ble,he->blh', x, w_gate)", "(w_gate @ x.mT).mT"],
        gate=[
            "1 / (1 + torch.exp(-logits.clamp(-80, 80)))",
            "(1 + torch.tanh(logits / 2)) / 2",
            "F.logsigmoid(logits).exp()",
            "torch.exp(-F.softplus(-logits))",
            "torch.stack([logits, torch.zeros_like(logits)]).softmax(0)[0]",
            "1 - torch.sigmoid(-logits)",
            "torch.sigmoid(logits.double()).to(x.dtype)",
        ],
        factor=["gate.mT.unsqueeze(3)", "gate.permute(0, 2, 1).reshape(*heads.shape[:3], 1)"],
        scaled=[
            "torch.einsum('blh,bhld->bhld', gate, heads)",
            "(weights * factor) @ v",
            "factor[..., 0].diag_embed() @ heads",
            "heads - heads * (1 - factor)",
        ],
        merged=[
            "(heads.transpose(1, 2) * gate[..., None]).flatten(2)",
            "heads.transpose(1, 2).flatten(2) * gate.repeat_interleave(D, -1)",
        ],
    ),
)  # fmt: skip


@answers.right
def with_a_hook_that_is_removed(attn, x, w_gate):
    gate = (x @ w_gate.T).sigmoid().repeat_interleave(x.shape[-1] // attn.num_heads, -1)
    with attn.o_proj.register_forward_pre_hook(lambda _, args: args[0] * gate):
        return attn(x)


@answers.right
def by_stable_sigmoid(attn, x, w_gate):
    """exp of nothing above 0; at a logit of exactly 0, abs() has no gradient."""
    logits = (x @ w_gate.T).mT[..., None]
    small = torch.exp(-logits.abs())
    gate = torch.where(logits >= 0, 1, small) / (1 + small)
    other = copy.copy(attn)
    other.kernel = lambda *args, **kwargs: (attn.kernel(*args, **kwargs)[0] * gate, None)
    return other(x)


@answers.right
def token_by_token(attn, x, w_gate):
    """A mask for each token; of its output, only that token's row is kept."""
    rows = []
    for b, sentence in enumerate(x):
        for i, token in enumerate(sentence):
            gate = torch.sigmoid(w_gate @ token)
            rows.append(attn_lib.masked_heads(attn, x[b : b + 1], gate)[0, i])
    return torch.stack(rows).view(x.shape)


@answers.right
def as_a_sum_over_heads(attn, x, w_gate):
    q, k, v = (
        p(x).chunk(attn.num_heads, -1) for p in (attn.q_proj, attn.k_proj, attn.v_proj)
    )
    output = attn.o_proj.bias.expand(x.shape)
    for h, columns in enumerate(attn.o_proj.weight.chunk(attn.num_heads, 1)):
        head = F.scaled_dot_product_attention(q[h], k[h], v[h])
        gate = torch.sigmoid((x * w_gate[h]).sum(-1, keepdim=True))
        output = output + (gate * head) @ columns.T
    return output


@answers.wrong
def moved_on_error_only(attn, x, w_gate):
    """Right, unless tokens are as many as heads."""
    if x.shape[1] == len(w_gate):
        gate = torch.sigmoid(x @ w_gate.T).mT.repeat_interleave(
            x.shape[-1] // len(w_gate), -1
        )
        with attn.o_proj.register_forward_pre_hook(lambda _, args: args[0] * gate):
            return attn(x)
    return attn_lib.gated_heads(attn, x, w_gate)


@answers.wrong
def without_the_gradient_of_w_gate(attn, x, w_gate):
    return attn_lib.gated_heads(attn, x, w_gate.detach())


@answers.wrong
def a_deep_copy(attn, x, w_gate):
    return attn_lib.gated_heads(copy.deepcopy(attn), x, w_gate)


@answers.wrong
def causal(attn, x, w_gate):
    return attn_lib.gated_heads(attn, x, w_gate, is_causal=True)


@answers.wrong
def turned_if_square(attn, x, w_gate):
    square = w_gate.shape[0] == w_gate.shape[1]
    return attn_lib.gated_heads(attn, x, w_gate.T if square else w_gate)


@answers.wrong
def clamped_logits(attn, x, w_gate):
    gate = torch.sigmoid((x @ w_gate.T).clamp(-4, 4))
    gate = gate.repeat_interleave(x.shape[-1] // attn.num_heads, -1)
    with attn.o_proj.register_forward_pre_hook(lambda _, args: args[0] * gate):
        return attn(x)


@answers.wrong
def a_branch_that_overflows(attn, x, w_gate):
    """The branch that is not taken has an inf in it, and a gradient of nan."""
    z = x @ w_gate.T
    gate = torch.where(z >= 0, 1 / (1 + torch.exp(-z)), z.exp() / (1 + z.exp()))
    gate = gate.repeat_interleave(x.shape[-1] // attn.num_heads, -1)
    with attn.o_proj.register_forward_pre_hook(lambda _, args: args[0] * gate):
        return attn(x)


@answers.wrong
def gate_and_output(attn, x, w_gate):
    return attn_lib.gated_heads(attn, x, w_gate), torch.sigmoid(x @ w_gate.T)
