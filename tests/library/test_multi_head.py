import copy

import pytest
import torch
from torch import nn

from attn_lib import (
    MultiHeadAttention,
    causal_mask,
    merge_heads,
    split_heads,
)
from tests.library.tools import TOLERANCE, gradients, sharpen


def assert_equal_to_a_millionth(actual, expected):
    """Within 1e-6 of the largest number: what float32 promises, whatever the order of a sum."""
    limit = 1e-6 * max(1.0, expected.abs().max().item())
    torch.testing.assert_close(actual, expected, rtol=0, atol=limit)


def test_split_puts_the_first_channels_into_head_0():
    x = torch.arange(2 * 3 * 8).reshape(2, 3, 8).float()
    heads = split_heads(x, 2)
    assert heads.shape == (2, 2, 3, 4)
    assert heads[0, 0, 1].tolist() == [8, 9, 10, 11]
    assert heads[0, 1, 1].tolist() == [12, 13, 14, 15]
    assert torch.equal(merge_heads(heads), x)
    with pytest.raises(ValueError, match=r"divisible by 3 heads, got \(2, 3, 8\)"):
        split_heads(x, 3)


def a_torch_module(E=12, H=3, bias=True):
    return sharpen(nn.MultiheadAttention(E, H, bias=bias, batch_first=True))


REAL = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]).bool()
PER_HEAD = torch.rand(2, 3, 5, 5, generator=torch.Generator().manual_seed(3)) < 0.6
PER_HEAD |= torch.eye(5, dtype=torch.bool)
CAUSAL = causal_mask(5, 5)
# What our module is given, and what PyTorch's is: there True means "may not attend".
MASKS = {
    "none": ({}, {}),
    "causal": ({"is_causal": True}, {"attn_mask": ~CAUSAL}),
    "causal mask": ({"mask": CAUSAL}, {"attn_mask": ~CAUSAL}),
    "padding": ({"mask": REAL[:, None, None]}, {"key_padding_mask": ~REAL}),
    "padding and causal": (
        {"mask": REAL[:, None, None], "is_causal": True},
        {"key_padding_mask": ~REAL, "attn_mask": ~CAUSAL},
    ),
    "per head": ({"mask": PER_HEAD}, {"attn_mask": ~PER_HEAD.flatten(0, 1)}),
}


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("masks", MASKS)
def test_equals_pytorchs_module_forward_and_backward(masks, need_weights):
    ours_mask, theirs_mask = MASKS[masks]
    theirs = a_torch_module()
    ours = MultiHeadAttention.from_torch(theirs)
    x = torch.randn(2, 5, 12, requires_grad=True)
    expected, expected_weights = theirs(
        x, x, x, need_weights=need_weights, average_attn_weights=False, **theirs_mask
    )
    output = ours(x, **ours_mask, return_weights=need_weights)
    if need_weights:
        output, weights = output
        assert_equal_to_a_millionth(weights, expected_weights)
    assert_equal_to_a_millionth(output, expected)
    mine = gradients(output, x, ours.q_proj.weight, ours.v_proj.bias, ours.o_proj.weight)
    found = gradients(
        expected, x, theirs.in_proj_weight, theirs.in_proj_bias, theirs.out_proj.weight
    )
    their_x, in_weight, in_bias, out_weight = found
    wanted = (their_x, in_weight[:12], in_bias[24:], out_weight)
    for a, b in zip(mine, wanted, strict=True):
        assert_equal_to_a_millionth(a, b)


def test_equals_pytorchs_module_on_a_context_of_another_length():
    theirs = a_torch_module()
    x, context = torch.randn(2, 5, 12), torch.randn(2, 7, 12)
    real = torch.tensor([[True] * 7, [True] * 4 + [False] * 3])
    expected, _ = theirs(x, context, context, key_padding_mask=~real)
    ours = MultiHeadAttention.from_torch(theirs)
    assert_equal_to_a_millionth(ours(x, context, mask=real[:, None, None]), expected)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_there_and_back_again_keeps_outputs_and_dtype(dtype, bias):
    theirs = a_torch_module(bias=bias).to(dtype)
    before = copy.deepcopy(theirs.state_dict())
    ours = MultiHeadAttention.from_torch(theirs)
    back = ours.to_torch()
    x = torch.randn(2, 5, 12, dtype=dtype)
    assert back.batch_first
    assert MultiHeadAttention.from_torch(theirs.eval()).training is False
    assert ours(x).dtype == dtype
    torch.testing.assert_close(back(x, x, x)[0], theirs(x, x, x)[0])
    with torch.no_grad():  # copies, not the same memory
        for parameter in (*ours.parameters(), *back.parameters()):
            parameter.zero_()
    assert all(torch.equal(before[name], p) for name, p in theirs.state_dict().items())
