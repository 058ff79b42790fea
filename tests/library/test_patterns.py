import math

import pytest
import torch
from hypothesis import given, settings
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

SELF_ATTENTION = [
    mean_attention_distance,
    lambda weights: attention_rollout([weights]),
    lambda weights: induction_score(weights, 2),
    lambda weights: offset_score(weights, -1),
]
MEASURES = [attention_entropy, *SELF_ATTENTION]


def random_weights(*shape, seed=0, sharpness=2.0):
    scores = torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
    return (scores * sharpness).softmax(-1)


# ------------------------------------------------------------------------------ entropy


def test_entropy_worked_out_by_hand():
    one_key, two_keys = [0.0, 1.0, 0.0, 0.0], [0.5, 0.0, 0.0, 0.5]
    weights = torch.tensor([[[one_key, one_key], [two_keys, one_key], [[0.25] * 4] * 2]])
    expected = torch.tensor([0.0, math.log(2) / 2, math.log(4)])
    torch.testing.assert_close(attention_entropy(weights), expected)


def test_entropy_of_one_key_is_not_shown_as_minus_zero():
    assert str(attention_entropy(torch.ones(1, 1, 2, 1))) == "tensor([0.])"
    assert str(attention_entropy(torch.eye(3).expand(1, 1, 3, 3))) == "tensor([0.])"


def test_a_row_of_zeros_has_entropy_zero_and_is_counted():
    weights = torch.tensor([[[[0.0, 0.0], [0.5, 0.5]]]])
    torch.testing.assert_close(attention_entropy(weights), torch.tensor([math.log(2) / 2]))


@given(
    sizes=st.tuples(*[st.integers(1, 5)] * 3), S=st.integers(1, 9), seed=st.integers(0, 99)
)
def test_entropy_equals_pytorchs_and_lies_between_0_and_ln_s(sizes, S, seed):
    weights = random_weights(*sizes, S, seed=seed)
    expected = Categorical(weights).entropy().mean((0, 2))
    entropy = attention_entropy(weights)
    torch.testing.assert_close(entropy, expected, rtol=1e-5, atol=1e-5)
    assert (entropy > -1e-6).all()
    assert (entropy < math.log(S) + 1e-5).all()


def test_the_gradient_of_entropy_is_finite_through_a_mask():
    scores = torch.randn(2, 3, 4, 4, requires_grad=True)
    mask = causal_mask(4, 4).clone()
    mask[1] = False
    (gradient,) = torch.autograd.grad(
        attention_entropy(masked_softmax(scores, mask)).sum(), scores
    )
    assert gradient.isfinite().all()
    free = [0, 2, 3]
    leaf = scores[..., free, :].detach().requires_grad_()
    logits = leaf.masked_fill(~mask[free], -1e9)
    expected = Categorical(logits=logits).entropy().mean((0, 2)).sum() * 3 / 4
    (expected,) = torch.autograd.grad(expected, leaf)
    torch.testing.assert_close(gradient[..., free, :], expected, rtol=1e-4, atol=1e-5)


# ----------------------------------------------------------------------------- distance


def test_distance_worked_out_by_hand():
    weights = torch.tensor([[[[1.0, 0, 0], [0.5, 0, 0.5], [0.25, 0.5, 0.25]]]])
    torch.testing.assert_close(
        mean_attention_distance(weights), torch.tensor([(0 + 1 + 1) / 3])
    )


@given(sizes=st.tuples(*[st.integers(1, 6)] * 3), seed=st.integers(0, 99))
def test_distance_equals_a_plain_loop_and_does_not_know_left_from_right(sizes, seed):
    B, H, L = sizes
    weights = random_weights(B, H, L, L, seed=seed)
    expected = torch.zeros(H)
    for i in range(L):
        for j in range(L):
            expected += weights[:, :, i, j].mean(0) * abs(i - j) / L
    torch.testing.assert_close(mean_attention_distance(weights), expected)
    torch.testing.assert_close(mean_attention_distance(weights.flip(2, 3)), expected)


# ------------------------------------------------------------------------------ rollout


def test_rollout_worked_out_by_hand():
    # Both layers let token 1 look at token 0; the first one gives it half of itself as well.
    first = torch.tensor([[[[1.0, 0.0], [0.5, 0.5]]]])
    second = torch.tensor([[[[0.0, 1.0], [1.0, 0.0]]]])
    #   (second + I) / 2   times   (first + I) / 2
    #   [.5  .5]                   [1    0  ]
    #   [.5  .5]                   [.25  .75]
    expected = torch.tensor([[[0.625, 0.375], [0.625, 0.375]]])
    torch.testing.assert_close(attention_rollout([first, second]), expected)


@given(
    sizes=st.tuples(*[st.integers(1, 4)] * 3), n=st.integers(1, 5), seed=st.integers(0, 99)
)
def test_rollout_rows_add_up_to_1_and_equal_the_sum_over_all_paths(sizes, n, seed):
    B, H, L = sizes
    layers = [random_weights(B, H, L, L, seed=seed + i) for i in range(n)]
    rollout = attention_rollout(tuple(layers))
    torch.testing.assert_close(rollout.sum(-1), torch.ones(B, L))
    paths = torch.eye(L).expand(B, L, L)  # from the output down to the input
    for weights in reversed(layers):
        mean = sum(weights[:, h] for h in range(H)) / H
        paths = paths / 2 + torch.einsum("boi,bij->boj", paths, mean) / 2
    torch.testing.assert_close(rollout, paths, rtol=1e-5, atol=1e-6)


def test_layers_of_a_rollout_may_differ_in_their_number_of_heads():
    layers = [random_weights(2, heads, 4, 4) for heads in (3, 1, 5)]
    means = [weights.mean(1, keepdim=True) for weights in layers]
    torch.testing.assert_close(attention_rollout(layers), attention_rollout(means))


# ---------------------------------------------------------------------------- induction


def test_induction_score_worked_out_by_hand():
    # A B C A B: C (query 2) looks at A, A (query 3) at B, B (query 4) at C.
    weights = torch.zeros(1, 1, 5, 5)
    weights[0, 0, 2, 0], weights[0, 0, 3, 1], weights[0, 0, 4, 2] = 0.3, 0.9, 0.6
    torch.testing.assert_close(induction_score(weights, 3), torch.tensor([0.6]))


@given(sizes=st.tuples(*[st.integers(1, 6)] * 3), seed=st.integers(0, 99), data=st.data())
def test_induction_score_equals_a_plain_loop(sizes, seed, data):
    B, H, L = sizes
    period = data.draw(st.integers(1, L))
    weights = random_weights(B, H, L, L, seed=seed)
    found = [weights[:, :, i, i - period + 1].mean(0) for i in range(period - 1, L)]
    expected = torch.stack(found).mean(0)
    torch.testing.assert_close(induction_score(weights, period), expected)


@pytest.mark.parametrize("period", [-1, 0, 6])
def test_a_period_that_does_not_fit_raises_value_error(period):
    with pytest.raises(ValueError, match=f"period from 1 to 5, got {period}"):
        induction_score(torch.zeros(1, 1, 5, 5), period)


# -------------------------------------------------------------------------------- offset


def test_offset_score_worked_out_by_hand():
    rows = [[0.5, 0.25, 0.25], [0.75, 0.125, 0.125], [0.125, 0.625, 0.25]]
    weights = torch.tensor([[rows]])
    expected = {-2: 0.125, -1: 0.6875, 0: 0.875 / 3, 1: 0.1875, 2: 0.25}
    for offset, score in expected.items():
        torch.testing.assert_close(offset_score(weights, offset), torch.tensor([score]))


@given(sizes=st.tuples(*[st.integers(1, 6)] * 3), seed=st.integers(0, 99), data=st.data())
def test_offset_score_equals_a_plain_loop(sizes, seed, data):
    B, H, L = sizes
    offset = data.draw(st.integers(1 - L, L - 1))
    weights = random_weights(B, H, L, L, seed=seed)
    queries = [i for i in range(L) if 0 <= i + offset < L]
    expected = torch.stack([weights[:, :, i, i + offset].mean(0) for i in queries]).mean(0)
    torch.testing.assert_close(offset_score(weights, offset), expected)


@pytest.mark.parametrize("offset", [-5, 5, 6])
def test_an_offset_that_no_query_has_raises_value_error(offset):
    with pytest.raises(ValueError, match=f"offset from -4 to 4, got {offset}"):
        offset_score(torch.zeros(1, 1, 5, 5), offset)


# ------------------------------------------------------------------- weighted value norms


def test_weighted_value_norms_worked_out_by_hand():
    weights = torch.tensor([[[[0.2, 0.8], [1.0, 0.0]]]])
    v = torch.tensor([[[[3.0, 4.0], [0.0, 1.0]]]])
    expected = torch.tensor([[[[1.0, 0.8], [5.0, 0.0]]]])
    torch.testing.assert_close(weighted_value_norms(weights, v), expected)


@given(sizes=st.tuples(*[st.integers(1, 5)] * 5), seed=st.integers(0, 99))
def test_weighted_value_norms_are_the_lengths_of_the_weighted_values(sizes, seed):
    B, H, L, S, D = sizes
    weights = random_weights(B, H, L, S, seed=seed)
    v = torch.randn(B, H, S, D, generator=torch.Generator().manual_seed(seed))
    weighted = weights[..., None] * v[:, :, None]  # (B, H, L, S, D)
    torch.testing.assert_close(weighted_value_norms(weights, v), weighted.norm(dim=-1))
    # The parts are never shorter together than their sum, the output.
    assert (
        (weights @ v).norm(dim=-1) <= weighted_value_norms(weights, v).sum(-1) + 1e-5
    ).all()


@pytest.mark.parametrize("shape", [(2, 3, 5), (2, 3, 4, 6), (1, 3, 5, 6), (2, 1, 5, 6)])
def test_values_that_do_not_fit_the_weights_raise_value_error(shape):
    with pytest.raises(ValueError, match=r"expected values \(2, 3, 5, D\), got"):
        weighted_value_norms(torch.zeros(2, 3, 4, 5), torch.zeros(shape))


# ------------------------------------------------------------------------------ all of them


@settings(max_examples=20)
@given(dtype=st.sampled_from(list(TOLERANCE)), seed=st.integers(0, 99))
def test_dtype_is_kept_and_gradients_flow(dtype, seed):
    weights = random_weights(2, 3, 5, 5, seed=seed).double().requires_grad_()
    for measure in MEASURES:
        result = measure(weights.to(dtype))
        assert result.dtype == dtype
        tolerance = 4 * TOLERANCE[dtype]
        expected = measure(weights)
        torch.testing.assert_close(
            result.double(), expected, rtol=tolerance, atol=tolerance
        )
        (gradient,) = torch.autograd.grad(expected.sum(), weights)
        assert gradient.abs().sum() > 0


@pytest.mark.parametrize("measure", [*MEASURES, lambda w: weighted_value_norms(w, w)])
def test_too_few_axes_raise_value_error(measure):
    with pytest.raises(ValueError, match=r"expected weights .*, got \(3, 5, 5\)"):
        measure(torch.zeros(3, 5, 5))


@pytest.mark.parametrize("measure", SELF_ATTENTION)
def test_weights_that_are_not_square_raise_value_error(measure):
    with pytest.raises(ValueError, match=r"\(B, H, L, L\), got \(2, 3, 4, 5\)"):
        measure(torch.zeros(2, 3, 4, 5))


@pytest.mark.parametrize(
    "layers", [[], [(1, 2, 3, 3), (1, 2, 4, 4)], [(1, 2, 3, 3), (2, 2, 3, 3)]]
)
def test_layers_that_do_not_fit_raise_value_error(layers):
    with pytest.raises(ValueError, match="expected layers"):
        attention_rollout([torch.zeros(shape) for shape in layers])
