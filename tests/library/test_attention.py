import math
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from attn_lib import (
    causal_mask,
    chunked_attention,
    einsum_attention,
    fused_attention,
    repeat_kv,
)
from tests.library.tools import TOLERANCE, gradients, slow_attention

# Blocks of 2, so that even few keys are several blocks, and the last one is not full.
KERNELS = [einsum_attention, fused_attention, partial(chunked_attention, chunk_size=2)]


def random_inputs(B, H, L, S, D, Dv, dtype=torch.float32, seed=0):
    rng = torch.Generator().manual_seed(seed)
    q = torch.randn(B, H, L, D, generator=rng) * 1.5
    k = torch.randn(B, H, S, D, generator=rng) * 1.5
    v = torch.randn(B, H, S, Dv, generator=rng)
    return q.to(dtype), k.to(dtype), v.to(dtype)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_case_worked_out_by_hand(kernel):
    """Scores 4/2 and 2/2, so weights e^2 : e^1."""
    q = torch.tensor([[2.0, 0, 0, 0]])
    k = torch.tensor([[2.0, 0, 0, 1], [1, 2, 0, 1]])
    v = torch.tensor([[4.0, 0], [0, 8]])
    share = math.e / (1 + math.e)
    torch.testing.assert_close(
        kernel(q, k, v)[0], torch.tensor([[4 * share, 8 * (1 - share)]])
    )


sizes = st.integers(1, 5)


@pytest.mark.parametrize("kernel", KERNELS)
@given(
    B=st.integers(1, 2), Hkv=st.integers(1, 3), L=sizes, S=sizes, D=sizes, data=st.data()
)
@settings(max_examples=60, deadline=None)
def test_equals_the_slow_loop(kernel, B, Hkv, L, S, D, data):
    H, Dv = Hkv * data.draw(st.integers(1, 4)), data.draw(sizes)
    seed = data.draw(st.integers(0, 999))
    q, k, v = random_inputs(B, H, L, S, D, Dv, torch.float64, seed)
    k, v = k[:, :Hkv], v[:, :Hkv]
    rng = torch.Generator().manual_seed(seed)
    mask = torch.rand(B, 1, L, S, generator=rng) < 0.6 if data.draw(st.booleans()) else None
    is_causal = data.draw(st.booleans())
    full = torch.ones(B, 1, L, S).bool() if mask is None else mask
    full = full & causal_mask(L, S) if is_causal else full
    output, _ = kernel(q, k, v, mask=mask, is_causal=is_causal)
    for b in range(B):
        for h in range(H):
            kv = h * Hkv // H
            slow = slow_attention(q[b, h], k[b, kv], v[b, kv], full[b, 0])
            torch.testing.assert_close(output[b, h], slow)


def grouped_inputs(B, H, Hkv, L, S, D):
    q, k, v = random_inputs(B, H, L, S, D, D)
    return q, k[:, :Hkv], v[:, :Hkv]


@pytest.mark.parametrize("Hkv", [1, 2, 4, 8])
@pytest.mark.parametrize("kernel", KERNELS)
def test_grouped_heads_equal_pytorchs_enable_gqa_forward_and_backward(kernel, Hkv):
    inputs = [t.requires_grad_() for t in grouped_inputs(2, 8, Hkv, 5, 7, 6)]
    mask = torch.rand(2, 8, 5, 7, generator=torch.Generator().manual_seed(1)) < 0.7
    mask[1, 3, 2] = False
    ours, _ = kernel(*inputs, mask=mask)
    theirs = F.scaled_dot_product_attention(*inputs, attn_mask=mask, enable_gqa=True)
    torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-6)
    for mine, other in zip(
        gradients(ours, *inputs), gradients(theirs, *inputs), strict=True
    ):
        torch.testing.assert_close(mine, other, rtol=1e-5, atol=1e-5)


def test_repeat_kv_puts_copies_side_by_side():
    x = torch.arange(3.0).view(1, 3, 1, 1)
    assert repeat_kv(x, 6).flatten().tolist() == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("is_causal", [False, True])
def test_all_kernels_agree_in_every_dtype(dtype, is_causal):
    q, k, v = random_inputs(2, 3, 5, 7, 6, 4, dtype)
    mask = torch.rand(2, 1, 1, 7, generator=torch.Generator().manual_seed(1)) < 0.7
    first, *others = (f(q, k, v, mask=mask, is_causal=is_causal)[0] for f in KERNELS)
    for other in others:
        assert other.dtype == dtype
        torch.testing.assert_close(other, first, rtol=0, atol=TOLERANCE[dtype] * 10)


@pytest.mark.parametrize("Hkv", [1, 2])
@pytest.mark.parametrize("L", [1, 3])
def test_the_fused_kernel_reads_a_kv_head_once_for_its_whole_group(monkeypatch, Hkv, L):
    q, k, v = grouped_inputs(2, 8, Hkv, L, 7, 6)
    expected = einsum_attention(q, k, v)[0]
    seen = []
    fused = F.scaled_dot_product_attention

    def watch(q, k, v, **options):
        seen.append((q.shape[1:3], options["enable_gqa"]))
        return fused(q, k, v, **options)

    monkeypatch.setattr(F, "scaled_dot_product_attention", watch)
    torch.testing.assert_close(fused_attention(q, k, v)[0], expected)
    assert seen == [((Hkv, 8 // Hkv * L), False)]


@pytest.mark.parametrize("shape", [(7,), (1, 7), (2, 1, 1, 7), (8, 1, 7), (2, 8, 1, 7)])
@pytest.mark.parametrize("kind", ["mask", "bias"])
def test_one_query_keeps_its_heads_mask_and_bias(shape, kind):
    q, k, v = grouped_inputs(2, 8, 2, 1, 7, 6)
    x = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    options = {kind: x > -0.5 if kind == "mask" else x}
    for kernel in KERNELS[1:]:
        ours = kernel(q, k, v, **options)[0]
        torch.testing.assert_close(ours, einsum_attention(q, k, v, **options)[0])


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_query_that_may_see_nothing_gets_zero_and_finite_gradients(kernel, dtype):
    inputs = [t.requires_grad_() for t in random_inputs(2, 3, 4, 5, 6, 4, dtype)]
    mask = torch.ones(4, 5, dtype=torch.bool)
    mask[2] = False
    output, weights = kernel(*inputs, mask=mask)
    assert (output[:, :, 2] == 0).all()
    assert weights is None or (weights[:, :, 2] == 0).all()
    gradients = torch.autograd.grad(output.float().sum(), inputs)
    assert all(g.isfinite().all() for g in gradients)
    assert (gradients[0][:, :, 2] == 0).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_gradients_are_those_of_finite_differences(kernel):
    inputs = [t.requires_grad_() for t in random_inputs(1, 2, 3, 4, 3, 2, torch.float64)]
    mask = causal_mask(3, 4)
    assert torch.autograd.gradcheck(lambda *a: kernel(*a, mask=mask)[0], inputs)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_masked_key_has_no_influence(kernel):
    q, k, v = random_inputs(1, 1, 3, 4, 5, 2)
    mask = torch.tensor([True, True, False, True])
    before, _ = kernel(q, k, v, mask=mask)
    k[:, :, 2], v[:, :, 2] = 1e30, 1e30
    after, _ = kernel(q, k, v, mask=mask)
    torch.testing.assert_close(after, before)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    ("q", "k", "v", "message"),
    [
        (
            (2, 5, 6),
            (2, 7, 4),
            (2, 7, 3),
            r"one head_dim D, got q \(2, 5, 6\), k \(2, 7, 4\)",
        ),
        ((2, 5, 6), (2, 7, 6), (2, 5, 3), r"one value for each key, got k \(2, 7, 6\), v"),
        ((2, 5, 6), (3, 7, 6), (3, 7, 3), r"the same leading sizes.* got q \(2, 5, 6\)"),
        (
            (2, 6, 5, 3),
            (2, 4, 7, 3),
            (2, 4, 7, 3),
            r"divide the query heads, got q \(2, 6, 5",
        ),
        ((6,), (6,), (6,), r"expected q \(\.\.\., L, D\).* got q \(6,\)"),
    ],
)
def test_shapes_that_do_not_fit_raise_value_error(kernel, q, k, v, message):
    with pytest.raises(ValueError, match=message):
        kernel(*map(torch.zeros, (q, k, v)))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (torch.ones(5, 7), "a boolean mask.* got torch.float32"),
        (torch.ones(2, 7).bool(), r"broadcastable to \(2, 5, 7\) .* got \(2, 7\)"),
    ],
)
def test_a_mask_that_does_not_fit_raises_value_error(kernel, mask, message):
    q, k, v = torch.zeros(2, 5, 6), torch.zeros(2, 7, 6), torch.zeros(2, 7, 3)
    with pytest.raises(ValueError, match=message):
        kernel(q, k, v, mask=mask)


@pytest.mark.parametrize(("L", "S", "D"), [(3, 5, 5), (5, 7, 5), (5, 5, 3)])
def test_the_fused_kernel_takes_no_width_for_a_length(L, S, D):
    q, k, v = (torch.randn(1, 2, length, D) for length in (L, S, S))
    ours = fused_attention(q, k, v, is_causal=True)[0]
    torch.testing.assert_close(ours, einsum_attention(q, k, v, is_causal=True)[0])
