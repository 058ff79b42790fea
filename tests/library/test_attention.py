import math
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from attn_lib import (
    causal_mask,
    chunked_attention,
    einsum_attention,
    fused_attention,
    repeat_kv,
)
from tests.library.tools import TOLERANCE, slow_attention

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
    q, k, v = (t.requires_grad_() for t in random_inputs(1, 2, 3, 4, 3, 2, torch.float64))
    inputs, mask = (q, k[:, :1], v[:, :1]), causal_mask(3, 4)
    assert torch.autograd.gradcheck(lambda *a: kernel(*a, mask=mask)[0], inputs)
