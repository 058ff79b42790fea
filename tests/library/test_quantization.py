import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from attn_lib import LanguageModel, RoPE
from attn_lib.checkpoint import load_checkpoint, save_checkpoint
from attn_lib.quantization import (
    Float16Linear,
    Int8Linear,
    dequantize_int8,
    quantize_int8,
    quantized,
)


def test_numbers_worked_out_by_hand():
    q, scale = quantize_int8(
        torch.tensor([[127.0, -3.0, 1.4], [-0.5, 0.25, 0.0], [0.0, 0.0, 0.0]])
    )
    assert q.tolist() == [[127, -3, 1], [-127, 64, 0], [0, 0, 0]]
    torch.testing.assert_close(scale, torch.tensor([[1.0], [0.5 / 127], [1.0]]))
    back = dequantize_int8(q, scale)
    assert back.dtype == torch.float32
    assert back[0].tolist() == [127, -3, 1]
    assert back[2].tolist() == [0, 0, 0]


def test_the_smallest_numbers_neither_wrap_around_nor_divide_by_zero():
    """A float32 has no finer step there, so the scale is the step, or zero."""
    step = 2.0**-149
    q, scale = quantize_int8(torch.tensor([[150 * step, -150 * step], [step, 0.0]]))
    assert q.tolist() == [[127, -127], [0, 0]]
    assert scale.tolist() == [[step], [1.0]]


@given(
    rows=st.integers(1, 5),
    columns=st.integers(1, 6),
    exponent=st.integers(-50, 38),
    dtype=st.sampled_from([torch.float16, torch.bfloat16, torch.float32, torch.float64]),
    seed=st.integers(0, 99),
)
def test_every_weight_comes_back_within_half_a_scale(rows, columns, exponent, dtype, seed):
    rng = torch.Generator().manual_seed(seed)
    weight = torch.randn(rows, columns, generator=rng, dtype=torch.float64) * 10.0**exponent
    weight = weight.clamp(-3e38, 3e38).to(dtype)
    if not weight.isfinite().all():
        return
    q, scale = quantize_int8(weight)
    assert (q.dtype, q.shape) == (torch.int8, weight.shape)
    assert (scale.dtype, scale.shape) == (torch.float32, (rows, 1))
    assert q.min() >= -127
    assert (scale > 0).all()
    off = (dequantize_int8(q, scale).double() - weight.double()).abs()
    # Near the smallest number that float32 has, a scale itself is rounded coarsely.
    assert (off <= scale.double() * 0.501 + 1e-42).all()
    assert torch.equal(quantize_int8(-weight)[0], -q)


def test_the_weight_is_left_as_it_is():
    weight = nn.Parameter(torch.randn(3, 4))
    before = weight.detach().clone()
    q, scale = quantize_int8(weight)
    assert torch.equal(weight, before)
    assert not q.requires_grad
    assert not scale.requires_grad


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_an_int8_layer_computes_with_the_rounded_weight(bias, dtype):
    rng = torch.Generator().manual_seed(0)
    linear = nn.Linear(5, 3, bias=bias, dtype=dtype)
    layer = Int8Linear(linear)
    x = torch.randn(2, 4, 5, generator=rng, dtype=dtype)
    rounded = dequantize_int8(*quantize_int8(linear.weight)).to(dtype)
    expected = nn.functional.linear(x, rounded, linear.bias)
    assert torch.equal(layer(x), expected)
    assert layer(x).dtype == dtype


def model():
    torch.manual_seed(0)
    return LanguageModel(11, 16, 2, 2, positions=RoPE())


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    "kept", [torch.float32, torch.float64, torch.float16, torch.bfloat16]
)
@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16]
)
@torch.no_grad()
def test_a_row_and_several_come_out_in_the_dtype_they_came_in(bias, kept, dtype):
    linear = nn.Linear(32, 7, bias=bias)
    layer = Int8Linear(linear).to(kept)
    for shape in ((32,), (1, 32), (2, 32), (0, 32), (2, 3, 32)):
        x = torch.randn(shape).to(dtype)
        y = layer(x)
        assert (y.dtype, y.shape) == (dtype, (*shape[:-1], 7))
        torch.testing.assert_close(y.float(), linear(x.float()), atol=0.1, rtol=0)


@torch.no_grad()
def test_a_float16_layer_takes_any_leading_axes():
    linear = nn.Linear(32, 7)
    try:
        layer = Float16Linear(linear)
    except RuntimeError:
        pytest.skip("no such kernel on this processor")
    for shape in ((32,), (1, 32), (2, 3, 32)):
        x = torch.randn(shape)
        torch.testing.assert_close(layer(x), linear(x), atol=1e-2, rtol=0)


def test_a_quantized_model_says_almost_the_same_and_the_first_is_left_alone():
    exact = model()
    before = {name: t.clone() for name, t in exact.state_dict().items()}
    small = quantized(exact)
    ids = torch.arange(11)[None]
    off = (small(ids) - exact(ids)).abs().max()
    assert 0 < off < 0.05 * exact(ids).abs().max()
    assert not any(type(m) is nn.Linear for m in small.modules())
    assert all(torch.equal(t, before[name]) for name, t in exact.state_dict().items())
    assert any(type(m) is nn.Linear for m in exact.modules())


def test_a_quantized_model_is_saved_and_loaded(tmp_path):
    small = quantized(model())
    save_checkpoint(small, {}, tmp_path / "int8")
    again = quantized(LanguageModel(11, 16, 2, 2, positions=RoPE()))
    again.load_state_dict(load_checkpoint(tmp_path / "int8")[0])
    ids = torch.arange(11)[None]
    assert torch.equal(again(ids), small(ids))


def test_a_single_layer_a_shared_one_and_a_subclass():
    linear = nn.Linear(4, 4)
    assert isinstance(quantized(linear), Int8Linear)
    twice = quantized(nn.Sequential(linear, nn.ReLU(), linear))
    assert isinstance(twice[0], Int8Linear)
    assert twice[0] is twice[2]
    official = quantized(nn.MultiheadAttention(4, 2, batch_first=True))
    x = torch.randn(1, 3, 4)
    assert official(x, x, x)[0].shape == (1, 3, 4)  # it reads the weight of its out_proj
