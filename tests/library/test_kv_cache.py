import pytest
import torch

from attn_lib import KVCache, kv_cache_bytes


def test_it_returns_everything_so_far():
    cache = KVCache(1, 2, 4, 3)
    k, v = torch.randn(2, 1, 2, 4, 3)
    first = cache.update(k[:, :, :3], v[:, :, :3])
    assert [tuple(t.shape) for t in first] == [(1, 2, 3, 3)] * 2
    all_k, all_v = cache.update(k[:, :, 3:], v[:, :, 3:])
    assert torch.equal(all_k, k)
    assert torch.equal(all_v, v)
    assert cache.length == 4


def test_it_takes_its_memory_once_and_hands_out_views():
    cache = KVCache(1, 2, 4, 3)
    where = cache.k.data_ptr()
    k, _ = cache.update(torch.zeros(1, 2, 1, 3), torch.zeros(1, 2, 1, 3))
    assert k.data_ptr() == cache.k.data_ptr() == where


def test_no_gradients_flow_through_it():
    cache = KVCache(1, 1, 2, 3)
    k, _ = cache.update(*torch.randn(2, 1, 1, 2, 3, requires_grad=True))
    assert not k.requires_grad


def test_a_full_cache_says_so_and_keeps_what_it_has():
    cache = KVCache(1, 1, 3, 2)
    new = torch.ones(1, 1, 2, 2)
    cache.update(new, new)
    with pytest.raises(ValueError, match="at most 3 tokens, got 2 in the cache and 2 more"):
        cache.update(new, new)
    assert cache.length == 2
    cache.update(new[:, :, :1], new[:, :, :1])
    assert cache.length == 3


def test_bytes_are_those_that_the_tensors_take():
    caches = [KVCache(3, 2, 7, 5, dtype=torch.bfloat16) for _ in range(4)]
    taken = sum(t.nbytes for cache in caches for t in (cache.k, cache.v))
    assert kv_cache_bytes(3, 7, 4, 2, 5, torch.bfloat16) == taken
