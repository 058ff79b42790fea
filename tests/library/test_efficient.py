from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.export import Dim, export
from torch.utils.flop_counter import FlopCounterMode

from attn_lib import (
    GroupedQueryAttention,
    KVCache,
    MemoryMeter,
    MultiHeadAttention,
    chunked_attention,
    einsum_attention,
    fused_attention,
    sliding_window_attention,
    sliding_window_mask,
)
from tests.library.tools import TOLERANCE, gradients, sharpen


def draw(*shape, seed, dtype=torch.float64):
    rng = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=rng, dtype=torch.float64).to(dtype).requires_grad_()


@st.composite
def problems(draw_from):
    """Inputs of any sizes, with any mask, bias and groups."""
    B, Hkv, group = (draw_from(st.integers(1, 3)) for _ in range(3))
    L, S = draw_from(st.integers(1, 9)), draw_from(st.integers(1, 9))
    D, Dv, seed = (draw_from(st.integers(1, n)) for n in (4, 4, 999))
    H = Hkv * group
    q = draw(B, H, L, D, seed=seed)
    k, v = draw(B, Hkv, S, D, seed=seed + 1), draw(B, Hkv, S, Dv, seed=seed + 2)
    whole = [(1, 1, 1, S), (B, H, L, S), (B, 1, L, S), (1, H, L, 1)]
    shapes = st.sampled_from([shape[-ndim:] for ndim in (2, 3, 4) for shape in whole])
    options = {}
    if draw_from(st.booleans()):
        options["mask"] = draw(*draw_from(shapes), seed=seed + 3) > -0.3
    if draw_from(st.booleans()):
        options["bias"] = draw(*draw_from(shapes), seed=seed + 4)
    return (q, k, v), options


def assert_same(kernel, inputs, options, expected_options):
    """The output and all gradients are those of the einsum kernel."""
    inputs_and_bias = [*inputs, *([options["bias"]] if "bias" in options else [])]
    ours = kernel(*inputs, **options)[0]
    expected = einsum_attention(*inputs, **expected_options)[0]
    torch.testing.assert_close(ours, expected)
    found, wanted = (gradients(output, *inputs_and_bias) for output in (ours, expected))
    torch.testing.assert_close(found, wanted)


@given(problems(), st.booleans(), st.integers(1, 10))
def test_chunks_of_any_size_give_output_and_gradients_of_the_whole(
    problem, is_causal, chunk_size
):
    inputs, options = problem
    options["is_causal"] = is_causal
    assert_same(partial(chunked_attention, chunk_size=chunk_size), inputs, options, options)


@given(problems(), st.integers(1, 10))
def test_a_window_gives_output_and_gradients_of_its_mask(problem, window):
    inputs, options = problem
    band = sliding_window_mask(inputs[0].shape[2], inputs[1].shape[2], window)
    expected = options | {"mask": band & options.get("mask", torch.tensor(True))}
    kernel = partial(sliding_window_attention, window=window)
    assert_same(kernel, inputs, options, expected)


@pytest.mark.parametrize("axes", [(), (3,), (2, 3, 2)])
def test_there_may_be_any_number_of_axes_before_the_tokens(axes):
    inputs = [draw(*axes, 5, 4, seed=seed) for seed in range(3)]
    assert_same(partial(chunked_attention, chunk_size=2), inputs, {}, {})


@pytest.mark.parametrize("window", [70, 300, 1500])
def test_a_window_over_several_blocks_of_keys_equals_its_mask(window):
    inputs = [draw(1, 2, 1400, 4, seed=seed) for seed in range(3)]
    mask = sliding_window_mask(1400, 1400, window)
    assert_same(
        partial(sliding_window_attention, window=window), inputs, {}, {"mask": mask}
    )


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_half_precision_is_summed_up_in_float32(dtype):
    """So it is as near to the exact result as one rounding of it."""
    q, k, v = (draw(1, 2, 600, 8, seed=s, dtype=dtype) for s in range(3))
    exact = einsum_attention(q.double(), k.double(), v.double())[0]
    for kernel in (chunked_attention, partial(sliding_window_attention, window=600)):
        output = kernel(q, k, v, is_causal=False)[0]
        assert output.dtype == dtype
        assert all(g.dtype == dtype for g in gradients(output, q, k, v))
    error = (chunked_attention(q, k, v, chunk_size=64)[0].double() - exact).abs().max()
    assert error <= max(torch.finfo(dtype).eps, 1e-6) * exact.abs().max()


def test_a_second_derivative_is_an_error_and_not_wrong():
    q = draw(1, 1, 4, 2, seed=0)
    (grad,) = torch.autograd.grad(
        chunked_attention(q, q, q)[0].square().sum(), q, create_graph=True
    )
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad.sum().backward()


@pytest.mark.parametrize(
    "kernel", [chunked_attention, partial(sliding_window_attention, window=8)]
)
@pytest.mark.parametrize(
    "module", [MultiHeadAttention(12, 4), GroupedQueryAttention(12, 4, 2)]
)
def test_a_module_takes_the_kernel_and_decodes_with_it(module, kernel):
    module = sharpen(module)
    module.kernel, heads = kernel, getattr(module, "num_kv_heads", 4)
    x, cache = torch.randn(1, 20, 12), KVCache(1, heads, 20, 3)
    with torch.no_grad():
        whole = module(x, is_causal=True)
        parts = [module(p, is_causal=True, cache=cache) for p in x.split([9, 1, 10], 1)]
    torch.testing.assert_close(torch.cat(parts, 1), whole, rtol=1e-5, atol=1e-5)


# ------------------------------------------------------------------------- memory and work


def measured(kernel, length, *, backward=False, **options):
    """The bytes at the peak, and the operations, of a call and its way back."""
    q, k, v = (draw(1, 2, length, 16, seed=s, dtype=torch.float32) for s in range(3))
    with MemoryMeter(ignore=(q, k, v)) as meter, FlopCounterMode(display=False) as counter:
        output = kernel(q, k, v, **options)[0]
        if backward:
            output.sum().backward()
    return meter.peak, counter.get_total_flops()


@pytest.mark.slow
@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("is_causal", [False, True])
def test_memory_grows_with_the_length_and_not_with_its_square(backward, is_causal):
    options = {"backward": backward, "is_causal": is_causal}
    small = partial(chunked_attention, chunk_size=64)
    short, long = (measured(small, length, **options)[0] for length in (256, 1024))
    assert long < 4.2 * short
    assert measured(einsum_attention, 1024, **options)[0] > 8 * long


@pytest.mark.parametrize("backward", [False, True])
def test_a_window_takes_time_and_memory_that_grow_with_the_length(backward):
    kernel = partial(sliding_window_attention, window=64)
    short, long = (measured(kernel, length, backward=backward) for length in (1024, 4096))
    assert all(more < 4.2 * less for more, less in zip(long, short, strict=True))


def test_blocks_of_the_future_are_not_computed():
    kernel = partial(chunked_attention, chunk_size=32)
    causal, full = (measured(kernel, 512, is_causal=c)[1] for c in (True, False))
    assert causal < 0.55 * full


BOTH = [
    partial(chunked_attention, chunk_size=4),
    partial(sliding_window_attention, window=99),
]


@pytest.mark.parametrize("kernel", BOTH)
@pytest.mark.parametrize("shape", [(2, 4, 0, 3), (2, 2, 0, 3)])
def test_without_keys_zeros_come_out(kernel, shape):
    q, k, v = draw(2, 4, 5, 3, seed=0), draw(*shape, seed=1), draw(*shape[:3], 2, seed=2)
    assert_same(kernel, (q, k, v), {}, {})


@pytest.mark.parametrize("kernel", BOTH)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_a_bias_is_added_in_the_dtype_of_the_scores(kernel, dtype):
    """In bfloat16, what is about -50 has steps of 0.25."""
    q, k, v = (draw(1, 2, 6, 8, seed=n, dtype=dtype).detach() for n in range(3))
    bias = (draw(6, 6, seed=3) - 50).to(torch.bfloat16).float().detach()
    given = bias.bfloat16() if dtype == torch.bfloat16 else bias
    wide = (t.double() for t in (q, k, v))
    expected = einsum_attention(*wide, is_causal=True, bias=bias.double())[0]
    found = kernel(q, k, v, is_causal=True, bias=given)[0].double()
    tolerance = 0.01 if dtype == torch.bfloat16 else 1e-12
    torch.testing.assert_close(found, expected, atol=tolerance, rtol=0)


@pytest.mark.parametrize("kernel", [einsum_attention, fused_attention, *BOTH])
@pytest.mark.parametrize("num_kv_heads", [4, 2])
@pytest.mark.parametrize("is_causal", [False, True])
def test_an_exported_module_takes_other_batches_and_lengths(
    kernel, num_kv_heads, is_causal
):
    class Attend(nn.Module):
        def __init__(self):
            super().__init__()
            self.attn = GroupedQueryAttention(16, 4, num_kv_heads, kernel=kernel)

        def forward(self, x):
            return self.attn(x, is_causal=is_causal)

    module = Attend()
    any_size = {0: Dim("batch", max=64), 1: Dim("length", max=64)}
    graph = export(module, (torch.randn(2, 6, 16),), dynamic_shapes=(any_size,)).module()
    x = torch.randn(5, 9, 16)
    torch.testing.assert_close(graph(x), module(x))
