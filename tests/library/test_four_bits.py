import pytest
import torch
from torch import nn

from attn_lib.four_bits import Int4Linear
from attn_lib.quantization import Float16Linear

needs_kernel = pytest.mark.skipif(
    torch.backends.cpu.get_cpu_capability() not in ("AVX2", "AVX512"),
    reason="no such kernel on this processor",
)


def linear(weight, bias=None):
    made = nn.Linear(*reversed(weight.shape), bias=bias is not None)
    made.weight = nn.Parameter(weight)
    if bias is not None:
        made.bias = nn.Parameter(bias)
    return made


def even_steps(out, inp):
    """Return a weight whose groups are numbers from -5 to 10, with both of them."""
    rng = torch.Generator().manual_seed(0)
    weight = torch.randint(0, 16, (out, inp), generator=rng) - 5.0
    weight[:, ::32], weight[:, 1::32] = -5, 10
    return weight


@needs_kernel
@torch.no_grad()
def test_sixteen_even_steps_are_kept_and_a_constant_group_too():
    weight = even_steps(16, 96)
    weight[:, 32:64] *= 0.25  # each group has a scale of its own
    weight[3, 64:] = 7
    weight[4] = 0
    assert torch.equal(Int4Linear(linear(weight))(torch.eye(96)), weight.T)


@needs_kernel
@torch.no_grad()
def test_a_weight_between_two_steps_goes_to_the_nearer_one():
    weight = torch.zeros(16, 32)
    weight[:, 0], weight[:, 1], weight[:, 2] = 15, 6.4, 6.6
    assert Int4Linear(linear(weight))(torch.eye(32))[:3, 0].tolist() == [15, 6, 7]


@needs_kernel
@pytest.mark.parametrize("bias", [None, torch.arange(16.0)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("shape", [(64,), (1, 64), (0, 64), (2, 3, 64), (40, 64)])
@torch.no_grad()
def test_any_leading_axes_and_dtypes(bias, dtype, shape):
    rng = torch.Generator().manual_seed(0)
    exact = linear(even_steps(16, 64) / 64, bias)
    x = torch.randn(shape, generator=rng).to(dtype)
    y = Int4Linear(exact)(x)
    assert (y.dtype, y.shape) == (dtype, (*shape[:-1], 16))
    torch.testing.assert_close(y.float(), exact(x.float()), atol=0.02, rtol=0.01)


@needs_kernel
@torch.no_grad()
def test_the_layer_keeps_no_memory_of_the_first():
    exact = linear(torch.randn(16, 32), torch.zeros(16))
    layer = Int4Linear(exact)
    before = layer(torch.ones(32))
    exact.weight += 1
    exact.bias += 1
    assert torch.equal(layer(torch.ones(32)), before)


@needs_kernel
@pytest.mark.parametrize("sizes", [(33, 16), (32, 17)])
def test_other_widths_are_refused(sizes):
    with pytest.raises(ValueError, match="multiples of 32 and 16, got Linear"):
        Int4Linear(nn.Linear(*sizes))


@needs_kernel
@pytest.mark.parametrize("odd", [torch.inf, torch.nan])
def test_inf_and_nan_are_refused(odd):
    weight = torch.zeros(16, 32)
    weight[0, 5] = odd
    with pytest.raises(ValueError, match="expected finite weights"):
        Int4Linear(linear(weight))


def test_another_processor_is_refused(monkeypatch):
    """There, PyTorch's operation has the right result, a hundred times as slow."""
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "DEFAULT")
    with pytest.raises(RuntimeError, match="AVX2 or AVX512"):
        Int4Linear(nn.Linear(32, 16))


@torch.no_grad()
def test_a_float16_layer_takes_no_rows():
    try:
        layer = Float16Linear(nn.Linear(32, 7))
    except RuntimeError:
        pytest.skip("no such kernel on this processor")
    assert layer(torch.randn(0, 32)).shape == (0, 7)
