import pytest
import torch
from torch import nn

from attn_lib.quantization import quantized
from attn_lib.split_linear import SplitLinear


@pytest.fixture(params=[1, 2, 3, 4])
def threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.mark.parametrize("shape", [(5,), (1, 5), (1, 1, 5), (2, 5), (0, 5), (2, 3, 5)])
@pytest.mark.parametrize("bias", [True, False])
def test_each_thread_has_a_part_and_the_result_is_that_of_linear(threads, shape, bias):
    torch.manual_seed(0)
    linear = nn.Linear(5, 8, bias=bias)
    x = torch.randn(shape)
    torch.testing.assert_close(SplitLinear(linear)(x), linear(x), atol=1e-6, rtol=1e-5)


def test_one_vector_is_split_and_several_are_not(monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    split, bmm = [], torch.bmm
    monkeypatch.setattr(torch, "bmm", lambda x, w: split.append(len(w)) or bmm(x, w))
    layer = SplitLinear(nn.Linear(5, 8))
    for x in (torch.ones(1, 1, 5), torch.ones(2, 5)):
        layer(x)
    assert split == [2]


def test_no_weight_is_copied_not_even_one_that_lies_by_columns():
    linear = nn.Linear(5, 8)
    linear.weight.data = linear.weight.data.T.contiguous().T
    model = quantized(nn.Sequential(linear), SplitLinear)
    assert model[0].weight is linear.weight
