import pytest
import torch

from attn_lib import (
    GroupedQueryAttention,
    KVCache,
    MultiHeadAttention,
    mean_pool_kv,
)
from tests.library.tools import sharpen


@pytest.mark.parametrize("group", [1, 2, 3, 6])
def test_equals_multi_head_attention_with_repeated_keys_and_values(group):
    grouped = sharpen(GroupedQueryAttention(24, 6, 6 // group))
    full = MultiHeadAttention(24, 6)
    copies = {"q_proj": 1, "k_proj": group, "v_proj": group, "o_proj": 1}
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
