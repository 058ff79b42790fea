"""Wrong and right ways to write attention: each wrong one is wrong, each right one right."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

import attn_lib
from attn_lib.checks import judge
from attn_lib.tasks.mutants import KINDS, LINES, RIGHT, WRONG, as_kernel, changed_lines


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.slow
def test_the_check_of_the_task_rejects_every_wrong_one(name):
    assert judge("masked_attention", WRONG[name]).status in ("wrong", "error")


@pytest.mark.parametrize("name", RIGHT)
def test_the_check_of_the_task_accepts_every_right_one(name):
    for seed in range(3):
        verdict = judge("masked_attention", RIGHT[name], seed=seed)
        assert verdict.status == "passed", verdict.message


@settings(max_examples=25)
@given(sizes=st.tuples(*[st.integers(1, 5)] * 6), seed=st.integers(0, 99))
def test_right_ones_agree_with_pytorch_under_any_mask(sizes, seed):
    B, H, L, S, D, Dv = sizes
    rng = torch.Generator().manual_seed(seed)
    q, k, v = (
        torch.randn(B, H, n, width, generator=rng, dtype=torch.float64)
        for n, width in ((L, D), (S, D), (S, Dv))
    )
    mask = torch.rand(B, 1, L, S, generator=rng) < 0.6
    expected = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    for attention in RIGHT.values():
        torch.testing.assert_close(attention(q, k, v, mask), expected)


def test_what_is_written_otherwise_can_be_read_and_no_two_are_the_same():
    assert [name for names in KINDS.values() for name in names] == list(WRONG)
    assert LINES["scores"] == "products / math.sqrt(D)"
    assert changed_lines("scale-missing") == {"scores": "products"}
    assert changed_lines("none-becomes-causal").keys() == {"everything"}
    lines = [tuple(changed_lines(name).items()) for name in WRONG | RIGHT]
    assert len(set(lines)) == 38


def test_a_module_takes_an_implementation_as_its_kernel():
    module, x = attn_lib.MultiHeadAttention(8, 2), torch.randn(2, 3, 8)
    mask = attn_lib.causal_mask(3, 3)
    expected = module(x, mask=mask)
    module.kernel = as_kernel(RIGHT["in-float64"])
    torch.testing.assert_close(module(x, mask=mask), expected)
    module.kernel = as_kernel(WRONG["mask-ignored"])
    assert not torch.allclose(module(x, mask=mask), expected, atol=1e-3)
