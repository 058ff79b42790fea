import pytest
import torch
from torch import nn

from attn_lib import (
    MultiHeadAttention,
    SelfAttention,
    SingleHeadAttention,
    einsum_attention,
    merge_heads,
    split_heads,
)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def sharpen(module):
    """Scores with a spread near 2 and biases that are not zero, so that mistakes show."""
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            parameter.normal_()
            if parameter.ndim == 2:
                parameter.mul_(
                    (1.5 if name[0] in "qk" else 1.0) / parameter.shape[1] ** 0.5
                )
    return module


def test_one_head_equals_its_formula():
    head = sharpen(SelfAttention(10, 6))
    x = torch.randn(2, 5, 10)
    q, k, v = (x @ p.weight.T for p in (head.q_proj, head.k_proj, head.v_proj))
    expected = (q @ k.mT / 6**0.5).softmax(-1) @ v
    torch.testing.assert_close(head(x), expected)


def test_one_head_attends_to_a_context():
    head = sharpen(SingleHeadAttention(10, 6))
    x, context = torch.randn(2, 5, 10), torch.randn(2, 7, 10)
    output, weights = head(x, context, return_weights=True)
    assert output.shape == (2, 5, 6)
    assert weights.shape == (2, 5, 7)
    torch.testing.assert_close(output, head(x, context))
    torch.testing.assert_close(output, weights @ head.v_proj(context))


def test_kernels_can_be_swapped():
    head = sharpen(SingleHeadAttention(10, 6, kernel=einsum_attention))
    fused = SingleHeadAttention(10, 6)
    fused.load_state_dict(head.state_dict())
    x = torch.randn(2, 5, 10)
    torch.testing.assert_close(head(x, is_causal=True), fused(x, is_causal=True))


def test_split_puts_the_first_channels_into_head_0():
    x = torch.arange(2 * 3 * 8).reshape(2, 3, 8).float()
    heads = split_heads(x, 2)
    assert heads.shape == (2, 2, 3, 4)
    assert heads[0, 0, 1].tolist() == [8, 9, 10, 11]
    assert heads[0, 1, 1].tolist() == [12, 13, 14, 15]
    assert torch.equal(merge_heads(heads), x)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_multi_head_equals_pytorchs_module_with_its_weights(is_causal, padded):
    theirs = nn.MultiheadAttention(12, 3, batch_first=True)
    nn.init.normal_(theirs.in_proj_bias)
    nn.init.normal_(theirs.out_proj.bias)
    nn.init.normal_(theirs.in_proj_weight, std=0.5)
    ours = MultiHeadAttention(12, 3)
    projections = (ours.q_proj, ours.k_proj, ours.v_proj)
    with torch.no_grad():
        weights, biases = theirs.in_proj_weight.chunk(3), theirs.in_proj_bias.chunk(3)
        for projection, weight, bias in zip(projections, weights, biases, strict=True):
            projection.weight.copy_(weight)
            projection.bias.copy_(bias)
        ours.o_proj.load_state_dict(theirs.out_proj.state_dict())
    x = torch.randn(2, 5, 12)
    real = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]).bool() if padded else None
    expected, expected_weights = theirs(
        x, x, x,
        key_padding_mask=None if real is None else ~real,
        attn_mask=torch.ones(5, 5).triu(1).bool() if is_causal else None,
        average_attn_weights=False,
    )  # fmt: skip
    mask = None if real is None else real[:, None, None, :]
    output, weights = ours(x, mask=mask, is_causal=is_causal, return_weights=True)
    torch.testing.assert_close(output, expected, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(weights, expected_weights, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(ours(x, mask=mask, is_causal=is_causal), output)


def test_multi_head_attends_to_a_longer_context():
    module = sharpen(MultiHeadAttention(12, 3))
    x, context = torch.randn(2, 5, 12), torch.randn(2, 7, 12)
    output, weights = module(x, context, return_weights=True)
    assert output.shape == (2, 5, 12)
    assert weights.shape == (2, 3, 5, 7)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: SelfAttention(10, 6)(torch.zeros(5, 10)),
            r"x of shape \(B, length, 10\), got \(5, 10\)",
        ),
        (
            lambda: MultiHeadAttention(12, 3)(torch.zeros(2, 5, 12), torch.zeros(2, 5, 8)),
            r"context of shape \(B, length, 12\), got \(2, 5, 8\)",
        ),
        (
            lambda: MultiHeadAttention(12, 5),
            "num_heads to divide d_model, got d_model 12, num_heads 5",
        ),
        (
            lambda: split_heads(torch.zeros(2, 3, 8), 3),
            r"divisible by 3 heads, got \(2, 3, 8\)",
        ),
    ],
)
def test_value_error_names_expected_and_actual(call, message):
    with pytest.raises(ValueError, match=message):
        call()
