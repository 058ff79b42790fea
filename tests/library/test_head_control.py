import copy

import pytest
import torch
from torch import nn

from attn_lib import (
    MultiHeadAttention,
    diversity_loss,
    einsum_attention,
    gated_heads,
    head_importance,
    masked_heads,
    padding_mask,
)
from tests.library.tools import sharpen

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


@pytest.mark.parametrize("control", [masked_heads, gated_heads])
def test_factors_and_gates_can_be_learned(control):
    shape = (3,) if control is masked_heads else (3, 12)
    factors = torch.randn(shape).double().requires_grad_()
    assert torch.autograd.gradcheck(lambda f: control(module(), x(), f), (factors,))


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
def test_each_token_is_gated_as_by_a_mask_of_its_own(masks):
    attn, inputs = module(), x()
    w_gate = torch.randn(3, 12).double()
    output = gated_heads(attn, inputs, w_gate, **MASKS[masks])
    for b in range(2):
        for i in range(5):
            factors = torch.sigmoid(w_gate @ inputs[b, i])
            expected = masked_heads(attn, inputs, factors, **MASKS[masks])[b, i]
            torch.testing.assert_close(output[b, i], expected)


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
