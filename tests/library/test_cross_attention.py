import pytest
import torch
from torch import nn

from attn_lib import CrossAttention
from tests.library.tools import gradients, sharpen

REAL = torch.tensor([[True] * 7, [True] * 4 + [False] * 3])


@pytest.mark.parametrize("real", [None, REAL])
def test_equals_pytorchs_module_with_its_weights(real):
    torch.manual_seed(0)
    theirs = sharpen(nn.MultiheadAttention(12, 3, kdim=8, vdim=8, batch_first=True))
    ours = CrossAttention(12, 8, 3)
    with torch.no_grad():
        for name, bias in zip("qkv", theirs.in_proj_bias.chunk(3), strict=True):
            layer = getattr(ours, f"{name}_proj")
            layer.weight.copy_(getattr(theirs, f"{name}_proj_weight"))
            layer.bias.copy_(bias)
    ours.o_proj.load_state_dict(theirs.out_proj.state_dict())
    x, context = torch.randn(2, 5, 12, requires_grad=True), torch.randn(2, 7, 8)
    padding = None if real is None else ~real
    expected, expected_weights = theirs(
        x, context, context, key_padding_mask=padding, average_attn_weights=False
    )
    output, weights = ours(x, context, context_mask=real, return_weights=True)
    torch.testing.assert_close(output, expected, rtol=1e-6, atol=2e-6)
    torch.testing.assert_close(weights, expected_weights, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(ours(x, context, context_mask=real), output)
    found, wanted = gradients(output, x), gradients(expected, x)
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)


def test_keys_and_values_computed_once_serve_every_token():
    module = sharpen(CrossAttention(12, 8, 3))
    x, context = torch.randn(2, 5, 12), torch.randn(2, 7, 8)
    k, v = module.keys_values(context)
    one_by_one = [module.attend(x[:, t : t + 1], k, v, context_mask=REAL) for t in range(5)]
    whole = module(x, context, context_mask=REAL)
    torch.testing.assert_close(torch.cat(one_by_one, 1), whole)
