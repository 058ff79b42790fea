"""Answers to test_attention that no row makes: the tests of lesson 12 in other words, and naive ones."""

import torch
import torch.nn.functional as F

from tests.checks.answers import Answers

__test__ = False  # for pytest: what is called test_... here is an answer

answers = Answers(
    "test_attention",
    spelled=dict(
        far=["100.0", "60.0"],
        tight=["1e-3", "2e-5"],
        masks=[
            "[plain, padding, shared, alone, dead, each, by_head, None]",
            "[None, dead, alone, shared, padding, by_head, plain]",
        ],
        equal=["torch.allclose(got.double(), want.double(), rtol=0.0, atol=tolerance)"],
        slack=[
            "{torch.float16: 0.1, torch.float32: 1e-2, torch.float64: 1e-6}[ours.dtype]"
        ],
        flows=["torch.stack(gaps).max() <= slack"],
    ),
)


def want(q, k, v, mask):
    """Compute attention as in lesson 02."""
    scores = q.double() @ k.double().mT / q.shape[-1] ** 0.5
    forbidden = torch.zeros(scores.shape[-2:], dtype=torch.bool) if mask is None else ~mask
    weights = scores.masked_fill(forbidden, -torch.inf).softmax(-1)
    return (weights.masked_fill(forbidden, 0.0) @ v.double()).to(q.dtype)


def inputs(B, H, L, S, D, Dv, dtype=torch.float32, scale=1.0):
    rng = torch.Generator().manual_seed(3)
    shapes = (B, H, L, D), (B, H, S, D), (B, H, S, Dv)
    q, k, v = (torch.randn(shape, generator=rng) for shape in shapes)
    mask = torch.rand((B, H, L, S), generator=rng) < 0.5
    mask[..., 0, :] = False
    mask[:, 0, -1] = False
    return (q * scale).to(dtype), k.to(dtype), v.to(dtype), mask


@answers.right
def by_torch_testing(implementation):
    for dtype, scale in ((torch.float32, 1.0), (torch.float16, 1.0), (torch.float32, 60.0)):
        q, k, v, mask = inputs(3, 2, 4, 5, 6, 7, dtype, scale)
        several = (None, mask, mask[:, :1], mask[:, :1, 1:2], mask[0], mask[0, 0])
        near = 1e-2 if dtype == torch.float16 else 1e-4
        for given in several:
            got, right = implementation(q, k, v, given), want(q, k, v, given)
            torch.testing.assert_close(got, right, rtol=near, atol=near)
        if scale == 1:  # a gradient, no nan, and not half of it
            leaves = [t.requires_grad_() for t in (q, k, v)]
            both = (f(*leaves, mask).square().sum() for f in (implementation, want))
            for got, right in zip(
                *(torch.autograd.grad(o, leaves) for o in both), strict=True
            ):
                torch.testing.assert_close(got, right, rtol=5 * near, atol=5 * near)
    q, k, v, mask = inputs(2, 2, 3, 3, 4, 3)
    q, k = -20 * q.abs() - 20, k.abs() + 1  # scores below -100
    close = {"rtol": 1e-4, "atol": 1e-4}
    got = implementation(q, k, v, mask)
    torch.testing.assert_close(got, want(q, k, v, mask), **close)
    q, k, v, mask = inputs(1, 2, 3, 3, 2, 2, torch.float64)
    torch.testing.assert_close(implementation(q, k, v), want(q, k, v, None))
    leaves = [t.requires_grad_() for t in (q, k, v)]
    assert torch.autograd.gradcheck(lambda *t: implementation(*t, mask), leaves)


@answers.right
def gradients_beside_the_right_ones(implementation):
    """No gradcheck: the gradients are compared with those of what is right."""
    near = {torch.float16: 2e-2, torch.float32: 1e-3, torch.float64: 1e-12}
    several = []
    for dtype, scale in ((torch.float32, 60.0), *((dtype, 1.0) for dtype in near)):
        q, k, v, mask = inputs(2, 3, 4, 5, 6, 7, dtype, scale)
        masks = (mask, mask[:, :1], mask[:, :1, 1:2], mask[0], mask[0, 0], None)
        several += [((q, k, v), given) for given in masks]
        if scale > 1:
            several.append(((-q.abs() - 20, k.abs() + 1, v), mask))  # scores below -100
    several.append((inputs(1, 2, 3, 3, 2, 2)[:3], None))
    for qkv, given in several:
        leaves = [t.clone().requires_grad_() for t in qkv]
        mine, right = implementation(*leaves, given), want(*leaves, given)
        assert mine.shape == right.shape
        assert mine.dtype == right.dtype
        assert (mine - right).abs().max() < near[mine.dtype]
        grads = (torch.autograd.grad(o.square().sum(), leaves) for o in (mine, right))
        for one, other in zip(*grads, strict=True):
            slack = 5 * near[mine.dtype] * (1 + other.abs().max())
            assert (one - other).abs().max() <= slack


@answers.wrong
def is_close_to_pytorch(implementation):
    """The test that most people write first."""
    q, k, v, _ = inputs(2, 2, 4, 4, 8, 8)
    for mask in (None, torch.ones(4, 4).tril().bool()):
        right = F.scaled_dot_product_attention(q, k, v, mask)
        assert torch.allclose(implementation(q, k, v, mask), right, atol=1e-5)


@answers.wrong
def properties_only(implementation):
    """The laws of lesson 12, without any reference: wrong temperatures obey them."""
    q, k, v, mask = inputs(2, 3, 4, 6, 5, 7)
    got = implementation(q, k, v, mask)
    assert got.shape == (2, 3, 4, 7)
    assert got.isfinite().all()
    assert (got[..., 0, :] == 0).all()
    ones = implementation(q, k, torch.ones_like(v))
    assert (ones - 1).abs().max() < 1e-4
    order = torch.tensor([3, 1, 0, 5, 4, 2])
    moved = implementation(q, k[:, :, order], v[:, :, order], mask[..., order])
    assert (moved - got).abs().max() < 1e-5


@answers.wrong
def gradcheck_only(implementation):
    *leaves, mask = inputs(1, 2, 3, 4, 2, 2, torch.float64)
    leaves = [t.requires_grad_() for t in leaves]
    assert torch.autograd.gradcheck(
        lambda *t: implementation(*t, mask), leaves, fast_mode=True
    )


@answers.wrong
def by_torch_equal(implementation):
    q, k, v, mask = inputs(2, 3, 4, 6, 5, 7)
    assert torch.equal(implementation(q, k, v, mask), want(q, k, v, mask))
