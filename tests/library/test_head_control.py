import copy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from attn_lib import (
    MultiHeadAttention,
    causal_mask,
    diversity_loss,
    einsum_attention,
    gated_heads,
    head_importance,
    masked_heads,
    padding_mask,
)
from tests.library.tools import gradients, sharpen

MASKS = {
    "none": {},
    "causal": {"is_causal": True},
    "padding": {"mask": padding_mask(torch.tensor([5, 2]), 5)},
}


def module(E=12, H=3):
    return sharpen(MultiHeadAttention(E, H)).double()


def x(B=2, L=5, E=12, seed=0):
    return torch.randn(B, L, E, generator=torch.Generator().manual_seed(seed)).double()


def identity(H):
    """H heads of one channel each, which pass on what they hear."""
    attn = MultiHeadAttention(H, H)
    for layer in attn.children():
        nn.init.eye_(layer.weight)
        nn.init.zeros_(layer.bias)
    return attn


def without_columns_of_o_proj(attn, *heads):
    """The module in which these heads are cut off where o_proj reads them."""
    cut, D = copy.deepcopy(attn), attn.q_proj.in_features // attn.num_heads
    for h in heads:
        cut.o_proj.weight.data[:, h * D : (h + 1) * D] = 0
    return cut


# ---------------------------------------------------------------------------- masked_heads


def test_each_head_is_multiplied_by_its_number():
    output = masked_heads(
        identity(2), torch.tensor([[[3.0, 5.0]]]), torch.tensor([0.5, -1])
    )
    assert output.tolist() == [[[1.5, -5.0]]]


@pytest.mark.parametrize("masks", MASKS)
def test_ones_leave_everything_as_it_is(masks):
    attn = module()
    output = masked_heads(attn, x(), torch.ones(3).double(), **MASKS[masks])
    torch.testing.assert_close(output, attn(x(), **MASKS[masks]))


@pytest.mark.parametrize("masks", MASKS)
def test_a_zero_cuts_the_head_off_from_o_proj(masks):
    attn = module()
    for heads in ((1,), (0, 2), (0, 1, 2)):
        head_mask = torch.ones(3).double()
        head_mask[list(heads)] = 0
        expected = without_columns_of_o_proj(attn, *heads)(x(), **MASKS[masks])
        output = masked_heads(attn, x(), head_mask, **MASKS[masks])
        torch.testing.assert_close(output, expected)


def test_without_heads_the_bias_of_o_proj_remains():
    attn = module()
    output = masked_heads(attn, x(), torch.zeros(3).double())
    torch.testing.assert_close(output, attn.o_proj.bias.expand_as(output))


@given(seed=st.integers(0, 99), H=st.integers(1, 4), L=st.integers(1, 4))
@settings(max_examples=25, deadline=None)
def test_the_output_is_linear_in_the_factors(seed, H, L):
    rng = torch.Generator().manual_seed(seed)
    attn, inputs = module(2 * H, H), x(1, L, 2 * H, seed)
    a, b = torch.randn(2, H, generator=rng).double()

    def without_bias(head_mask):
        return masked_heads(attn, inputs, head_mask) - attn.o_proj.bias

    torch.testing.assert_close(
        without_bias(2 * a - b), 2 * without_bias(a) - without_bias(b)
    )


def test_the_factors_and_the_weights_get_gradients():
    attn, head_mask = module(), torch.randn(3).double().requires_grad_()
    tensors = (head_mask, attn.v_proj.bias, attn.o_proj.weight)
    output = masked_heads(attn, x(), head_mask)

    def fn(head_mask):
        return masked_heads(attn, x(), head_mask)

    assert all(g.abs().max() > 1e-3 for g in gradients(output, *tensors))
    assert torch.autograd.gradcheck(fn, (head_mask,))


def test_the_module_is_left_as_it_was():
    attn = module()
    before, hooks = copy.deepcopy(attn.state_dict()), len(attn._forward_hooks)
    masked_heads(attn, x(), torch.zeros(3).double())
    gated_heads(attn, x(), torch.zeros(3, 12).double())
    assert all(torch.equal(before[name], t) for name, t in attn.state_dict().items())
    assert len(attn._forward_hooks) == hooks == 0


def test_the_modules_own_kernel_is_used():
    attn, calls = module(), []

    def kernel(*args, **kwargs):
        calls.append(kwargs)
        return einsum_attention(*args, **kwargs)

    attn.kernel = kernel
    masked_heads(attn, x(), torch.ones(3).double(), is_causal=True)
    assert [call["is_causal"] for call in calls] == [True]


def test_a_head_mask_of_another_shape_raises_value_error():
    with pytest.raises(ValueError, match=r"head_mask of shape \(3,\).*got \(5, 3\)"):
        masked_heads(module(), x(), torch.ones(5, 3).double())
    with pytest.raises(ValueError, match=r"x of shape \(B, length, 12\), got \(2, 5, 8\)"):
        masked_heads(module(), x(E=8), torch.ones(3).double())


# ------------------------------------------------------------------------- head_importance


def test_importance_is_the_absolute_gradient_at_ones():
    def loss_fn(m):
        return 2 * m[0] - 3 * m[1] ** 2 + m[0] * m[2]

    assert head_importance(loss_fn, 3).tolist() == [3, 6, 1]


def test_importance_equals_small_changes_of_each_head():
    attn, target = module(), x(seed=1)

    def loss_fn(head_mask):
        return (masked_heads(attn, x(), head_mask.double()) - target).square().mean()

    ones, step = torch.ones(3).double(), 1e-5
    for h, importance in enumerate(head_importance(loss_fn, 3)):
        change = step * torch.eye(3).double()[h]
        slope = (loss_fn(ones + change) - loss_fn(ones - change)) / (2 * step)
        assert abs(slope.item()) == pytest.approx(importance.item(), rel=1e-4)


def test_importance_calls_once_and_leaves_the_gradients_of_parameters_alone():
    attn, calls = module(), []
    attn.q_proj.weight.grad = torch.full_like(attn.q_proj.weight, 7)

    def loss_fn(head_mask):
        calls.append(head_mask)
        return masked_heads(attn, x(), head_mask.double()).square().mean()

    assert not head_importance(loss_fn, 3).requires_grad
    assert len(calls) == 1
    assert attn.q_proj.weight.grad.eq(7).all()
    assert attn.o_proj.weight.grad is None


# ----------------------------------------------------------------------------- gated_heads


def test_a_gate_opens_by_token_and_head():
    """Head 0 has logit 0, head 1 the first channel of the token: 0 and then 2."""
    w_gate = torch.tensor([[0.0, 0.0], [1.0, 0.0]])
    inputs = torch.tensor([[[0.0, 4.0]], [[2.0, 4.0]]])
    output = gated_heads(identity(2), inputs, w_gate)
    open_at_2 = torch.tensor(2.0).sigmoid().item()
    expected = torch.tensor([[[0.0, 4 * 0.5]], [[2 * 0.5, 4 * open_at_2]]])
    torch.testing.assert_close(output, expected)


@pytest.mark.parametrize("masks", MASKS)
def test_gates_that_are_all_half_open_equal_a_mask_of_halves(masks):
    attn = module()
    output = gated_heads(attn, x(), torch.zeros(3, 12).double(), **MASKS[masks])
    halves = torch.full((3,), 0.5).double()
    torch.testing.assert_close(output, masked_heads(attn, x(), halves, **MASKS[masks]))


@pytest.mark.parametrize("masks", MASKS)
def test_each_token_is_gated_as_by_a_mask_of_its_own(masks):
    attn, inputs = module(), x()
    w_gate = torch.randn(3, 12).double()
    output = gated_heads(attn, inputs, w_gate, **MASKS[masks])
    for b in range(2):
        for i in range(5):
            factors = torch.sigmoid(w_gate @ inputs[b, i])
            expected = masked_heads(attn, inputs, factors, **MASKS[masks])[b, i]
            torch.testing.assert_close(output[b, i], expected)


def test_the_gates_can_be_learned():
    attn, w_gate = module(), torch.randn(3, 12).double().requires_grad_()

    def fn(w_gate):
        return gated_heads(attn, x(), w_gate)

    assert torch.autograd.gradcheck(fn, (w_gate,))


def test_gates_for_another_width_raise_value_error():
    with pytest.raises(ValueError, match=r"w_gate of shape \(3, 12\).*got \(12, 3\)"):
        gated_heads(module(), x(), torch.ones(12, 3).double())


# -------------------------------------------------------------------------- diversity_loss


def test_similarity_worked_out_by_hand():
    """Heads (1, 0) and (0.6, 0.8): cosine 0.6. A third, (0, 1): 0 and 0.8."""
    heads = torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    assert diversity_loss(heads[:2].view(1, 2, 1, 2)).item() == pytest.approx(0.6)
    assert diversity_loss(heads.view(1, 3, 1, 2)).item() == pytest.approx(1.4 / 3)


def test_the_same_heads_count_1_and_heads_without_a_common_key_0():
    same = torch.rand(2, 1, 3, 5).expand(2, 4, 3, 5)
    assert diversity_loss(same).item() == pytest.approx(1.0)
    apart = torch.eye(4).view(1, 4, 1, 4)
    assert diversity_loss(apart).item() == 0


def test_it_equals_pytorchs_cosine_similarity_pair_by_pair():
    weights = torch.randn(3, 4, 5, 6).mul(2).softmax(-1)
    pairs = [
        torch.cosine_similarity(weights[b, g].flatten(), weights[b, h].flatten(), dim=0)
        for b in range(3)
        for g in range(4)
        for h in range(4)
        if g != h
    ]
    torch.testing.assert_close(diversity_loss(weights), torch.stack(pairs).mean())


def test_a_single_head_and_a_sentence_of_padding_count_0():
    assert diversity_loss(torch.rand(2, 1, 3, 3)).item() == 0
    weights = torch.rand(2, 3, 4, 4)
    alone = diversity_loss(weights[:1])
    weights[1] = 0
    assert diversity_loss(weights).item() == pytest.approx(alone.item() / 2)


def test_heads_that_start_almost_the_same_learn_to_differ():
    rng = torch.Generator().manual_seed(0)
    scores = (0.1 * torch.randn(1, 3, 4, 6, generator=rng)).requires_grad_()
    optimizer = torch.optim.Adam([scores], lr=0.1)
    before = diversity_loss(scores.softmax(-1)).item()
    for _ in range(100):
        optimizer.zero_grad()
        diversity_loss(scores.softmax(-1)).backward()
        optimizer.step()
    assert before > 0.95
    assert diversity_loss(scores.softmax(-1)).item() < 0.1


def test_gradients_stay_finite_where_a_whole_sentence_is_masked():
    attn, inputs = module(), x().requires_grad_()
    mask = padding_mask(torch.tensor([5, 0]), 5)
    _, weights = attn(inputs, mask=mask, return_weights=True)
    diversity_loss(weights).backward()
    assert inputs.grad.isfinite().all()
    assert inputs.grad[0].abs().max() > 0


def test_weights_without_heads_raise_value_error():
    with pytest.raises(ValueError, match=r"\(B, H, L, S\), got \(2, 5, 5\)"):
        diversity_loss(torch.rand(2, 5, 5))


def test_a_causal_mask_by_name_equals_is_causal():
    attn, head_mask = module(), torch.tensor([1.0, 0.0, 2.0]).double()
    expected = masked_heads(attn, x(), head_mask, is_causal=True)
    output = masked_heads(attn, x(), head_mask, mask=causal_mask(5, 5))
    torch.testing.assert_close(output, expected)
