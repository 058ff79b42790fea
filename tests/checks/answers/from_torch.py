"""Answers to from_torch that no row makes."""

import torch
from torch import nn

import attn_lib
from tests.checks.answers import Answers

answers = Answers(
    "from_torch",
    spelled=dict(
        E=["mha.out_proj.out_features"],
        H=["mha.embed_dim // mha.head_dim"],
        matrices=[
            "[mha.in_proj_weight[i * E : (i + 1) * E] for i in range(3)]",
            "mha.state_dict()['in_proj_weight'].tensor_split(3)",
        ],
        biases=["mha.in_proj_bias.detach().clone().split(E)"],
        q_weight=[
            "module.q_proj.weight.data.copy_(matrices[0])",
            "setattr(module.q_proj, 'weight', nn.Parameter(matrices[0].clone()))",
            "setattr(module.q_proj.weight, 'data', matrices[0].clone())",
        ],
        o_weight=["module.o_proj.load_state_dict(mha.out_proj.state_dict())"],
        v_bias=["module.v_proj.bias.set_(biases[2].clone())"],
    ),
)


carried_over = attn_lib.MultiHeadAttention.from_torch


@answers.right
def as_one_vector(mha):
    """All parameters of the new module lie in one place in memory, but not in that of `mha`."""
    module = carried_over(mha)
    numbers = nn.utils.parameters_to_vector(module.parameters()).detach()
    nn.utils.vector_to_parameters(numbers, module.parameters())
    return module


@answers.right
def with_dropout(mha):
    """In eval mode, a dropout does nothing."""
    module = carried_over(mha)
    module.v_proj.register_forward_hook(
        lambda _, __, out: nn.functional.dropout(out, 0.5, module.training)
    )
    return module.train()


@answers.right
def in_float64_and_back_in_eval_mode(mha):
    print("E =", mha.embed_dim)
    return carried_over(mha).double().float().eval()


@answers.wrong
def shares_the_bias_of_the_keys_only(mha):
    module = carried_over(mha)
    module.k_proj.bias.data = mha.in_proj_bias.data[mha.embed_dim : 2 * mha.embed_dim]
    return module


@answers.wrong
def cannot_be_trained(mha):
    with torch.inference_mode():
        return carried_over(mha)
