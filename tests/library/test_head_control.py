import pytest
import torch

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

every_mask = pytest.mark.parametrize(
    "options", [{}, {"is_causal": True}, {"mask": padding_mask(torch.tensor([5, 2]), 5)}]
)


def module():
    return sharpen(MultiHeadAttention(12, 3)).double()


def x(seed=0):
    return torch.randn(2, 5, 12, generator=torch.Generator().manual_seed(seed)).double()


@every_mask
@pytest.mark.parametrize("factors", [[1, 1, 1], [1, 0, 1], [0, 0, 0], [0.5, -1, 2]])
def test_each_head_is_multiplied_by_its_number_where_o_proj_reads_it(factors, options):
    attn, factors = module(), torch.tensor(factors).double()
    output = masked_heads(attn, x(), factors, **options)
    attn.o_proj.weight.data *= factors.repeat_interleave(4)
    torch.testing.assert_close(output, attn(x(), **options))


def test_the_modules_own_kernel_is_used():
    attn, calls = module(), []

    def kernel(*args, **kwargs):
        calls.append(kwargs)
        return einsum_attention(*args, **kwargs)

    attn.kernel = kernel
    masked_heads(attn, x(), torch.ones(3).double(), is_causal=True)
    assert [call["is_causal"] for call in calls] == [True]


def test_importance_is_the_absolute_gradient_at_ones():
    def loss_fn(m):
        return 2 * m[0] - 3 * m[1] ** 2 + m[0] * m[2]

    assert head_importance(loss_fn, 3).tolist() == [3, 6, 1]


def test_importance_equals_small_changes_and_leaves_the_gradients_of_parameters_alone():
    attn, target = module(), x(seed=1)
    attn.q_proj.weight.grad = torch.full_like(attn.q_proj.weight, 7)

    def loss_fn(head_mask):
        return (masked_heads(attn, x(), head_mask.double()) - target).square().mean()

    found = head_importance(loss_fn, 3)
    assert not found.requires_grad
    assert attn.q_proj.weight.grad.eq(7).all()
    assert attn.o_proj.weight.grad is None
    for importance, change in zip(found, 1e-5 * torch.eye(3).double(), strict=True):
        slope = (loss_fn(1 + change) - loss_fn(1 - change)) / 2e-5
        assert abs(slope.item()) == pytest.approx(importance.item(), rel=1e-4)


@every_mask
def test_each_token_is_gated_as_by_a_mask_of_its_own(options):
    attn, inputs = module(), x()
    w_gate = torch.randn(3, 12).double()
    output = gated_heads(attn, inputs, w_gate, **options)
    for b in range(2):
        for i in range(5):
            factors = torch.sigmoid(w_gate @ inputs[b, i])
            expected = masked_heads(attn, inputs, factors, **options)[b, i]
            torch.testing.assert_close(output[b, i], expected)


def test_diversity_is_pytorchs_cosine_similarity_pair_by_pair():
    weights = torch.randn(3, 4, 5, 6).mul(2).softmax(-1)
    pairs = [
        torch.cosine_similarity(weights[b, g].flatten(), weights[b, h].flatten(), dim=0)
        for b in range(3)
        for g in range(4)
        for h in range(g)
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
