"""Laws that all attention modules keep, and the errors that they raise."""

import copy
from functools import partial

import pytest
import torch
from torch import nn

from attn_lib import (
    CrossAttention,
    GroupedQueryAttention,
    MultiHeadAttention,
    SelfAttention,
    SingleHeadAttention,
    einsum_attention,
)
from tests.library.tools import TOLERANCE, gradients, sharpen

REAL = torch.tensor(
    [[1, 1, 1, 0, 0], [0, 0, 0, 0, 0]]
).bool()  # a sentence of padding alone
MODULES = {
    "single": partial(SingleHeadAttention, 12, 4),
    "multi": partial(MultiHeadAttention, 12, 3),
    "grouped": partial(GroupedQueryAttention, 12, 6, 2),
    "cross": partial(CrossAttention, 12, 8, 3),
}
every_module = pytest.mark.parametrize("make", MODULES.values(), ids=MODULES)
every_dtype = pytest.mark.parametrize("dtype", TOLERANCE)


def arguments(module, x, real=None):
    """Return what lets a module attend to the real tokens of x, or of a context made of x."""
    if isinstance(module, CrossAttention):
        return {"x": x, "context": x.detach()[..., :8], "context_mask": real}
    axes = (slice(None), *[None] * (1 if isinstance(module, SingleHeadAttention) else 2))
    return {"x": x, "mask": None if real is None else real[axes]}


def run(module, x, real=None, **options):
    return module(**arguments(module, x, real), **options)


@every_module
@every_dtype
def test_a_sentence_of_padding_gives_the_output_bias_and_finite_gradients(make, dtype):
    module = sharpen(make()).to(dtype)
    x = torch.randn(2, 5, 12, dtype=dtype, requires_grad=True)
    output = run(module, x, REAL)
    bias = getattr(getattr(module, "o_proj", None), "bias", None)
    expected = torch.zeros(()) if bias is None else bias
    torch.testing.assert_close(output[1], expected.to(dtype).expand_as(output[1]))
    found = gradients(output, x, *module.parameters())
    assert all(g.isfinite().all() for g in found)
    assert (found[0][1] == 0).all()


@every_module
@every_dtype
def test_every_dtype_stays_near_float64(make, dtype):
    module, x = sharpen(make()), torch.randn(2, 5, 12)
    exact = run(copy.deepcopy(module).double(), x.double())
    output = run(module.to(dtype), x.to(dtype))
    assert output.dtype == dtype
    limit = 5 * TOLERANCE[dtype] * exact.abs().max().item()
    torch.testing.assert_close(output.double(), exact, rtol=0, atol=limit)


@every_module
def test_kernels_can_be_swapped(make):
    module, other = sharpen(make(kernel=einsum_attention)), make()
    other.load_state_dict(module.state_dict())
    x = torch.randn(2, 5, 12)
    output, weights = run(other, x, REAL, return_weights=True)
    torch.testing.assert_close(run(module, x, REAL), output)
    torch.testing.assert_close(run(other, x, REAL), output)
    assert weights[0][..., 3:].count_nonzero() == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("single", {"return_weights": True}),
        ("multi", {"is_causal": True}),
        ("cross", {}),
    ],
)
def test_the_compiled_module_gives_the_same_with_gradients(name, options):
    module = sharpen(MODULES[name]())
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    for length in (5, 7) if "is_causal" in options else (5,):
        x = torch.randn(2, length, 12, requires_grad=True)
        wanted, got = (f(**arguments(module, x), **options) for f in (module, compiled))
        if "return_weights" in options:
            wanted, got = wanted[0], got[0]
        torch.testing.assert_close(got, wanted)
        torch.testing.assert_close(gradients(got, x), gradients(wanted, x))


def test_one_head_equals_its_formula():
    head, x = sharpen(SelfAttention(10, 6)), torch.randn(2, 5, 10)
    q, k, v = (x @ p.weight.T for p in (head.q_proj, head.k_proj, head.v_proj))
    torch.testing.assert_close(head(x), (q @ k.mT / 6**0.5).softmax(-1) @ v)
    torch.testing.assert_close(head(x, x), head(x))


X, C = torch.zeros(2, 5, 12), torch.zeros(2, 7, 8)
torchs = partial(nn.MultiheadAttention, 12, 3)
