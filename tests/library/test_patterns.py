import math
from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.distributions import Categorical

from attn_lib import (
    attention_entropy,
    attention_rollout,
    causal_mask,
    induction_score,
    masked_softmax,
    mean_attention_distance,
    offset_score,
    weighted_value_norms,
)
from tests.library.tools import TOLERANCE


def random_weights(*shape, seed=0, sharpness=2.0):
    scores = torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
    return (scores * sharpness).softmax(-1)


def rollout_of_two(weights):
    return attention_rollout([weights, weights.flip(1, 3)])


def slow_distance(weights):
    *_, L, _ = weights.shape
    means = weights.mean(0)
    return sum(means[:, i, j] * abs(i - j) / L for i in range(L) for j in range(L))


def slow_offset(weights, offset):
    L = weights.shape[-1]
    queries = [i for i in range(L) if 0 <= i + offset < L]
    return torch.stack([weights[:, :, i, i + offset].mean(0) for i in queries]).mean(0)


def slow_rollout(weights):
    """The sum over all paths, from the output down to the input."""
    B, H, L, _ = weights.shape
    paths = torch.eye(L).expand(B, L, L)
    for layer in (weights.flip(1, 3), weights):
        mean = sum(layer[:, h] for h in range(H)) / H
        paths = paths / 2 + torch.einsum("boi,bij->boj", paths, mean) / 2
    return paths


MEASURES = {
    attention_entropy: lambda weights: Categorical(weights).entropy().mean((0, 2)),
    mean_attention_distance: slow_distance,
    rollout_of_two: slow_rollout,
    **{partial(offset_score, offset=n): partial(slow_offset, offset=n) for n in (-2, 0, 1)},
    **{
        partial(induction_score, period=n): partial(slow_offset, offset=1 - n)
        for n in (1, 3)
    },
}


@pytest.mark.parametrize("measure", MEASURES)
@given(
    B=st.integers(1, 4), H=st.integers(1, 5), L=st.integers(3, 7), seed=st.integers(0, 9)
)
def test_a_measure_equals_a_plain_loop(measure, B, H, L, seed):
    weights = random_weights(B, H, L, L, seed=seed)
    found, expected = measure(weights), MEASURES[measure](weights)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_dtype_is_kept_and_gradients_flow(measure, dtype):
    weights = random_weights(2, 3, 5, 5).double().requires_grad_()
    result, expected = measure(weights.to(dtype)), measure(weights)
    assert result.dtype == dtype
    tolerance = 4 * TOLERANCE[dtype]
    torch.testing.assert_close(result.double(), expected, rtol=tolerance, atol=tolerance)
    (gradient,) = torch.autograd.grad(expected.sum(), weights)
    assert gradient.abs().sum() > 0


ONE_KEY, TWO_KEYS = [0.0, 1.0, 0.0, 0.0], [0.5, 0.0, 0.0, 0.5]
ROWS = [[0.5, 0.25, 0.25], [0.75, 0.125, 0.125], [0.125, 0.625, 0.25]]


@pytest.mark.parametrize(
    ("measure", "weights", "expected"),
    [
        (
            attention_entropy,
            [[ONE_KEY, ONE_KEY], [TWO_KEYS, ONE_KEY], [[0.25] * 4] * 2],
            [0.0, math.log(2) / 2, math.log(4)],
        ),
        # A row of zeros has entropy 0, and is counted.
        (attention_entropy, [[[0.0, 0.0], [0.5, 0.5]]], [math.log(2) / 2]),
        (
            mean_attention_distance,
            [[[1.0, 0, 0], [0.5, 0, 0.5], [0.25, 0.5, 0.25]]],
            [2 / 3],
        ),
        *(
            (partial(offset_score, offset=offset), [ROWS], [score])
            for offset, score in {-2: 0.125, -1: 0.6875, 1: 0.1875, 2: 0.25}.items()
        ),
        # A B C A B: C (query 2) looks at A, A (query 3) at B, B (query 4) at C.
        (
            partial(induction_score, period=3),
            [[[0.0] * 5] * 2 + [[0.3, 0, 0, 0, 0], [0, 0.9, 0, 0, 0], [0, 0, 0.6, 0, 0]]],
            [0.6],
        ),
    ],
)
def test_a_measure_worked_out_by_hand(measure, weights, expected):
    torch.testing.assert_close(measure(torch.tensor([weights])), torch.tensor(expected))


def test_rollout_worked_out_by_hand():
    # Both layers let token 1 look at token 0; the first one gives it half of itself as well.
    first = torch.tensor([[[[1.0, 0.0], [0.5, 0.5]]]])
    second = torch.tensor([[[[0.0, 1.0], [1.0, 0.0]]]])
    #   (second + I) / 2   times   (first + I) / 2
    #   [.5  .5]                   [1    0  ]
    #   [.5  .5]                   [.25  .75]
    expected = torch.tensor([[[0.625, 0.375], [0.625, 0.375]]])
    torch.testing.assert_close(attention_rollout([first, second]), expected)


def test_layers_of_a_rollout_may_differ_in_their_number_of_heads():
    layers = [random_weights(2, heads, 4, 4) for heads in (3, 1, 5)]
    means = [weights.mean(1, keepdim=True) for weights in layers]
    torch.testing.assert_close(attention_rollout(layers), attention_rollout(means))


def test_entropy_of_one_key_is_not_shown_as_minus_zero():
    assert str(attention_entropy(torch.ones(1, 1, 2, 1))) == "tensor([0.])"
    assert str(attention_entropy(torch.eye(3).expand(1, 1, 3, 3))) == "tensor([0.])"


def test_the_gradient_of_entropy_is_finite_through_a_mask():
    scores = torch.randn(2, 3, 4, 4, requires_grad=True)
    mask = causal_mask(4, 4).clone()
    mask[1] = False
    entropy = attention_entropy(masked_softmax(scores, mask)).sum()
    (gradient,) = torch.autograd.grad(entropy, scores)
    assert gradient.isfinite().all()
    free = [0, 2, 3]
    leaf = scores[..., free, :].detach().requires_grad_()
    logits = leaf.masked_fill(~mask[free], -1e9)
    expected = Categorical(logits=logits).entropy().mean((0, 2)).sum() * 3 / 4
    (expected,) = torch.autograd.grad(expected, leaf)
    torch.testing.assert_close(gradient[..., free, :], expected, rtol=1e-4, atol=1e-5)


def test_weighted_value_norms_are_the_lengths_of_the_weighted_values():
    weights = torch.tensor([[[[0.2, 0.8], [1.0, 0.0]]]])
    v = torch.tensor([[[[3.0, 4.0], [0.0, 1.0]]]])
    expected = torch.tensor([[[[1.0, 0.8], [5.0, 0.0]]]])
    torch.testing.assert_close(weighted_value_norms(weights, v), expected)
    weights, v = random_weights(2, 3, 4, 5), torch.randn(2, 3, 5, 6)
    weighted = weights[..., None] * v[:, :, None]  # (B, H, L, S, D)
    torch.testing.assert_close(weighted_value_norms(weights, v), weighted.norm(dim=-1))
