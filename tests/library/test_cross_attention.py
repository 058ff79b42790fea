import copy

import pytest
import torch
from torch import nn

from attn_lib import CrossAttention, MultiHeadAttention, einsum_attention
from tests.library.tools import TOLERANCE, gradients, sharpen

REAL = torch.tensor([[True] * 7, [True] * 4 + [False] * 3])


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.mark.parametrize("real", [None, REAL])
def test_equals_pytorchs_module_with_its_weights(real):
    theirs = nn.MultiheadAttention(12, 3, kdim=8, vdim=8, batch_first=True)
    sharpen(theirs)
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
    torch.testing.assert_close(
        gradients(output, x), gradients(expected, x), rtol=1e-5, atol=1e-5
    )


def test_equals_multi_head_attention_where_both_widths_are_one():
    cross, both = sharpen(CrossAttention(12, 12, 3)), MultiHeadAttention(12, 3)
    both.load_state_dict(cross.state_dict())
    x, context = torch.randn(2, 5, 12), torch.randn(2, 7, 12)
    torch.testing.assert_close(cross(x, context), both(x, context))


def test_keys_and_values_computed_once_serve_every_token():
    module = sharpen(CrossAttention(12, 8, 3))
    x, context = torch.randn(2, 5, 12), torch.randn(2, 7, 8)
    k, v = module.keys_values(context)
    one_by_one = [module.attend(x[:, t : t + 1], k, v, context_mask=REAL) for t in range(5)]
    torch.testing.assert_close(
        torch.cat(one_by_one, 1), module(x, context, context_mask=REAL)
    )


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("kernel", [None, einsum_attention])
def test_a_context_of_nothing_but_padding_gives_the_output_bias(dtype, kernel):
    options = {"kernel": kernel} if kernel else {}
    module = sharpen(CrossAttention(12, 8, 3, **options)).to(dtype)
    x = torch.randn(2, 5, 12, dtype=dtype, requires_grad=True)
    context = torch.randn(2, 7, 8, dtype=dtype)
    output = module(x, context, context_mask=REAL & torch.tensor([[True], [False]]))
    torch.testing.assert_close(output[1], module.o_proj.bias.expand(5, 12))
    assert all(g.isfinite().all() for g in gradients(output, x, *module.parameters()))


def test_the_compiled_module_gives_the_same_with_gradients():
    module = sharpen(CrossAttention(12, 8, 3))
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    x, context = torch.randn(2, 5, 12, requires_grad=True), torch.randn(2, 7, 8)
    wanted = module(x, context, context_mask=REAL)
    got = compiled(x, context, context_mask=REAL)
    torch.testing.assert_close(got, wanted)
    torch.testing.assert_close(gradients(got, x), gradients(wanted, x))


def test_half_precision_stays_near_float64():
    module = sharpen(CrossAttention(12, 8, 3))
    x, context = torch.randn(2, 5, 12), torch.randn(2, 7, 8)
    exact = copy.deepcopy(module).double()(x.double(), context.double())
    half = module.bfloat16()(x.bfloat16(), context.bfloat16())
    limit = 0.15 * exact.abs().max().item()
    torch.testing.assert_close(half.double(), exact, rtol=0, atol=limit)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, x, c: m(c, x), r"context of shape \(B, length, 8\), got \(2, 5, 12\)"),
        (
            lambda m, x, c: m(x, c, context_mask=torch.ones(2, 5).bool()),
            r"context_mask of shape \(2, 7\) \(B, S\), got \(2, 5\)",
        ),
        (
            lambda m, x, c: m(x[..., :3], c),
            r"x of shape \(B, length, 12\), got \(2, 5, 3\)",
        ),
        (
            lambda m, x, c: CrossAttention(12, 8, 5),
            "num_heads to divide d_model, got d_model 12, num_heads 5",
        ),
    ],
)
def test_value_error_names_expected_and_actual(call, message):
    with pytest.raises(ValueError, match=message):
        call(CrossAttention(12, 8, 3), torch.zeros(2, 5, 12), torch.zeros(2, 7, 8))
