import torch

from attn_lib import causal_mask


def test_each_query_sees_itself_and_the_past():
    expected = torch.tensor([[1, 0, 0], [1, 1, 0], [1, 1, 1]]).bool()
    assert torch.equal(causal_mask(3, 3), expected)


def test_the_last_query_sees_the_last_key():
    assert causal_mask(1, 5).all()
    expected = torch.tensor([[1, 1, 1, 0], [1, 1, 1, 1]]).bool()
    assert torch.equal(causal_mask(2, 4), expected)


def test_with_fewer_keys_than_queries_the_first_queries_see_nothing():
    expected = torch.tensor([[0, 0], [1, 0], [1, 1]]).bool()
    assert torch.equal(causal_mask(3, 2), expected)
