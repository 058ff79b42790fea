import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from attn_lib import (
    GroupedQueryAttention,
    KVCache,
    MultiHeadAttention,
    causal_mask,
    mean_pool_kv,
    repeat_kv,
    split_heads,
)
from tests.library.tools import gradients, sharpen


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.mark.parametrize("num_kv_heads", [1, 2, 4, 8])
def test_equals_pytorchs_function_with_enable_gqa(num_kv_heads):
    module = sharpen(GroupedQueryAttention(24, 8, num_kv_heads))
    x = torch.randn(2, 5, 24, requires_grad=True)
    q, k, v = (
        split_heads(p(x), n)
        for p, n in (
            (module.q_proj, 8),
            (module.k_proj, num_kv_heads),
            (module.v_proj, num_kv_heads),
        )
    )
    expected = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    expected = module.o_proj(expected.transpose(1, 2).flatten(-2))
    output = module(x, is_causal=True)
    torch.testing.assert_close(output, expected, rtol=1e-6, atol=1e-6)
    weights = module.q_proj.weight, module.k_proj.weight, module.v_proj.weight
    for a, b in zip(
        gradients(output, x, *weights), gradients(expected, x, *weights), strict=True
    ):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)


def test_equals_multi_head_attention_with_repeated_keys_and_values():
    grouped, full = GroupedQueryAttention(24, 6, 2), MultiHeadAttention(24, 6)
    sharpen(grouped)
    copies = {"q_proj": 1, "k_proj": 3, "v_proj": 3, "o_proj": 1}
    with torch.no_grad():
        for name, times in copies.items():
            weight = getattr(grouped, name).weight
            heads = weight.unflatten(0, (-1, 4)).repeat_interleave(times, dim=0)
            getattr(full, name).weight.copy_(heads.flatten(0, 1))
            getattr(full, name).bias.zero_()
    x = torch.randn(2, 5, 24)
    output, weights = grouped(x, return_weights=True)
    expected, expected_weights = full(x, return_weights=True)
    torch.testing.assert_close(output, expected)
    torch.testing.assert_close(weights, expected_weights)


def chunks_of(length):
    """Lists of chunk sizes that add up to the length."""
    cuts = st.sets(st.integers(1, length - 1)) if length > 1 else st.just(set())
    return cuts.map(
        lambda c: [
            b - a for a, b in zip([0, *sorted(c)], [*sorted(c), length], strict=True)
        ]
    )


@given(
    chunks=st.integers(1, 9).flatmap(chunks_of),
    num_kv_heads=st.sampled_from([1, 2, 4]),
    room=st.integers(0, 3),
    show=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_cached_decode_equals_full_forward(chunks, num_kv_heads, room, show):
    length = sum(chunks)
    module = sharpen(GroupedQueryAttention(16, 4, num_kv_heads)).double()
    rng = torch.Generator().manual_seed(length)
    x = torch.randn(2, length, 16, generator=rng, dtype=torch.float64)
    cache = KVCache(2, num_kv_heads, length + room, 4, dtype=torch.float64)
    outputs = []
    with torch.no_grad():
        for part in x.split(chunks, dim=1):
            output = module(part, is_causal=True, cache=cache, return_weights=show)
            outputs.append(output[0] if show else output)
        torch.testing.assert_close(torch.cat(outputs, 1), module(x, is_causal=True))
    assert cache.length == length


def test_a_padded_prompt_decodes_as_the_bare_one():
    module = sharpen(GroupedQueryAttention(16, 4, 2))
    x = torch.randn(1, 5, 16)
    padded = torch.cat([x[:, :3], torch.randn(1, 2, 16), x[:, 3:]], dim=1)
    real = torch.tensor([[1, 1, 1, 0, 0, 1, 1]]).bool()[:, None, None]
    cache = KVCache(1, 2, 7, 4)
    module(padded[:, :5], mask=real[..., :5], is_causal=True, cache=cache)
    output = module(padded[:, 5:], mask=real, is_causal=True, cache=cache)
    torch.testing.assert_close(output, module(x, is_causal=True)[:, 3:])


@pytest.mark.slow
def test_the_compiled_module_decodes_with_a_cache():
    module = sharpen(GroupedQueryAttention(16, 4, 2))
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    x, cache = torch.randn(2, 5, 16), KVCache(2, 2, 5, 4)
    with torch.no_grad():
        parts = [compiled(p, is_causal=True, cache=cache) for p in x.split([2, 1, 2], 1)]
        torch.testing.assert_close(torch.cat(parts, 1), module(x, is_causal=True))


def test_pooling_averages_neighboring_heads():
    weight = torch.arange(8.0)[:, None]  # four heads of two rows
    assert mean_pool_kv(weight, 4, 2).flatten().tolist() == [1, 2, 5, 6]
    assert torch.equal(mean_pool_kv(weight, 4, 4), weight)
    assert mean_pool_kv(weight, 4, 1).flatten().tolist() == [3, 4]


def test_a_mask_of_keys_and_the_cache_must_fit():
    module, cache = GroupedQueryAttention(16, 4, 2), KVCache(1, 2, 4, 4)
    module(torch.zeros(1, 3, 16), cache=cache)
    with pytest.raises(ValueError, match=r"broadcastable to \(1, 4, 1, 4\).* got \(1, 3\)"):
        module(torch.zeros(1, 1, 16), mask=causal_mask(1, 3), cache=cache)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: repeat_kv(torch.zeros(1, 2, 3, 5), 3),
            r"divisor of 3, got \(1, 2, 3, 5\)",
        ),
        (
            lambda: repeat_kv(torch.zeros(2, 3, 5), 6),
            r"x \(B, Hkv, S, D\) .* got \(2, 3, 5\)",
        ),
        (lambda: mean_pool_kv(torch.zeros(10, 3), 4, 2), r"of 4 heads, .* got \(10, 3\)"),
        (lambda: mean_pool_kv(torch.zeros(8, 3), 4, 3), "to divide 4, .* num_kv_heads 3"),
    ],
)
def test_value_error_names_expected_and_actual(call, message):
    with pytest.raises(ValueError, match=message):
        call()
