"""Positions: values worked out by hand, laws, and agreement with other libraries."""

import math
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file

from attn_lib import (
    ALiBi,
    GroupedQueryAttention,
    KVCache,
    LearnedPositions,
    MultiHeadAttention,
    Positions,
    RoPE,
    SinusoidalPositions,
    T5Bias,
    alibi_bias,
    apply_rope,
    einsum_attention,
    half_split_order,
    sinusoidal_positions,
    t5_bucket,
)
from tests.library.tools import sharpen

REFERENCE = load_file(Path(__file__).parents[1] / "data" / "reference_blocks.safetensors")
SCHEMES = {
    "none": lambda: Positions(),
    "rope": lambda: RoPE(),
    "squeezed": lambda: RoPE(squeeze=4.0),
    "alibi": lambda: ALiBi(),
    "t5": lambda: T5Bias(4, 8, 20),
}


def close(a, b, tolerance=1e-5):
    torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


def test_sinusoidal_codes_worked_out_by_hand():
    codes = sinusoidal_positions(3, 4)
    expected = [
        [math.sin(p), math.cos(p), math.sin(p / 100), math.cos(p / 100)] for p in range(3)
    ]
    close(codes, torch.tensor(expected))


def test_rope_turns_a_pair_by_a_right_angle():
    """With head_dim 4 and base 16, the pairs (0, 2) and (1, 3) turn by p and by p / 4."""
    x = torch.tensor([1.0, 1.0, 0.0, 0.0]).view(1, 1, 1, 4)
    turned = apply_rope(x, torch.tensor([math.pi / 2]), base=16.0)
    slow = math.pi / 8
    close(turned.flatten(), torch.tensor([0.0, math.cos(slow), 1.0, math.sin(slow)]))


@given(
    shift=st.integers(0, 2000),
    pair=st.tuples(st.integers(0, 50), st.integers(0, 50)),
    width=st.sampled_from([2, 4, 6, 10]),
)
def test_with_rope_a_score_depends_on_the_difference_of_positions_alone(shift, pair, width):
    q, k = torch.randn(2, 1, 1, 1, width, dtype=torch.float64)
    scores = []
    for start in (0, shift):
        places = torch.tensor(pair) + start
        scores.append(apply_rope(q, places[:1]) @ apply_rope(k, places[1:]).mT)
    close(scores[0], scores[1], 1e-9)


def test_far_positions_are_not_counted_in_half_precision():
    x = torch.randn(1, 1, 1, 8)
    exact = apply_rope(x, torch.tensor([3001]))
    turned = apply_rope(x.bfloat16(), torch.tensor([3001]))
    assert turned.dtype == torch.bfloat16
    close(turned.float(), exact, 2e-2)


def test_interleaved_pairs_in_half_split_order_turn_alike():
    """The same rotation, written with complex numbers, for pairs that lie side by side."""
    x, places = torch.randn(2, 3, 5, 8), torch.arange(5)
    frequencies = 10000.0 ** (-torch.arange(4) / 4)
    turn = torch.polar(torch.ones(5, 4), places[:, None] * frequencies)
    interleaved = torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (4, 2))) * turn)
    order = half_split_order(8)
    assert order.tolist() == [0, 2, 4, 6, 1, 3, 5, 7]
    close(apply_rope(x[..., order], places)[..., order.argsort()], interleaved.flatten(-2))


def test_alibi_worked_out_by_hand():
    """Two heads: slopes 1/16 and 1/256. Two queries at the end of three keys."""
    bias = alibi_bias(2, 2, 3)
    close(
        bias * 256,
        torch.tensor([[[-16.0, 0, -16], [-32, -16, 0]], [[-1, 0, -1], [-2, -1, 0]]]),
    )
    assert alibi_bias(8, 1, 2)[:, 0, 0].tolist() == [-(2.0**-i) for i in range(1, 9)]


@pytest.mark.parametrize(("buckets", "distance"), [(32, 128), (8, 20), (64, 1000)])
def test_t5_buckets_equal_those_of_transformers_for_10000_distances(buckets, distance):
    relative = REFERENCE["t5.relative"].long()
    expected = REFERENCE[f"t5.{buckets}.{distance}"].long()
    assert torch.equal(t5_bucket(relative, buckets, distance), expected)


def test_grouped_attention_with_rope_equals_that_of_llama():
    """Reference values of transformers' LlamaAttention, positions 5 to 11; see tests/data."""
    module = GroupedQueryAttention(24, 6, 2, positions=RoPE())
    parts = {k.removeprefix("llama."): v for k, v in REFERENCE.items() if "llama" in k}
    expected = parts.pop("output")
    module.load_state_dict(parts)
    close(module(REFERENCE["x"], is_causal=True), expected)


@pytest.mark.parametrize("scheme", SCHEMES)
@given(cuts=st.lists(st.integers(1, 4), min_size=1, max_size=5))
@settings(max_examples=10)
def test_chunks_with_a_cache_equal_the_full_forward(scheme, cuts):
    torch.manual_seed(0)
    positions = sharpen(SCHEMES[scheme]())
    for module, heads in (
        (GroupedQueryAttention(16, 4, 2, positions=positions), 2),
        (MultiHeadAttention(16, 4, positions=positions), 4),
    ):
        sharpen(module)
        x = torch.randn(2, sum(cuts), 16)
        cache = KVCache(2, heads, sum(cuts), 4)
        with torch.no_grad():
            chunks = [
                module(part, is_causal=True, cache=cache) for part in x.split(cuts, 1)
            ]
            close(torch.cat(chunks, 1), module(x, is_causal=True))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_both_kernels_agree_and_let_gradients_through(scheme):
    module = sharpen(MultiHeadAttention(16, 4, positions=SCHEMES[scheme]()))
    x = torch.randn(2, 5, 16)
    mask = torch.rand(2, 1, 5, 5) < 0.7
    mask[0, :, 2] = False
    output, weights = module(x, mask=mask, return_weights=True)
    close(module(x, mask=mask), output)
    close(weights.sum(-1)[0, :, 2], torch.zeros(4))
    module(x, mask=mask).square().sum().backward()
    assert all(p.grad.isfinite().all() for p in module.parameters())


def test_a_bias_is_added_to_the_scores_before_the_mask():
    q, k, v = torch.randn(3, 1, 2, 4, 8)
    bias, mask = torch.randn(2, 4, 4), torch.ones(4, 4).tril().bool()
    _, weights = einsum_attention(q, k, v, mask=mask, bias=bias)
    by_hand = (q @ k.mT / math.sqrt(8) + bias).masked_fill(~mask, -math.inf).softmax(-1)
    close(weights, by_hand)


def test_codes_added_to_embeddings_go_on_counting():
    x = torch.randn(2, 6, 8)
    for scheme in (LearnedPositions(6, 8), SinusoidalPositions()):
        parts = scheme.add(x[:, :4]), scheme.add(x[:, 4:], 4)
        close(torch.cat(parts, 1), scheme.add(x))
    close(SinusoidalPositions().add(x) - x, sinusoidal_positions(6, 8).expand(2, 6, 8))


def test_another_sequence_is_read_without_positions():
    module = sharpen(MultiHeadAttention(16, 4, positions=RoPE()))
    x, context = torch.randn(2, 3, 16), torch.randn(2, 5, 16)
    close(module(x, context), module(x, context.flip(1)))
