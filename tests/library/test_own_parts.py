"""A learner's pieces in a Llama."""

import copy

import pytest
import torch

import attn_lib.tasks  # noqa: F401 - it makes the tasks known
from attn_lib.checks.task import find_task
from attn_lib.grouped_query import GroupedQueryAttention
from attn_lib.llama import Llama, LlamaBlock, LlamaConfig, RMSNorm, RopeTable, SwiGLU
from attn_lib.own_parts import PUT_IN, own_twin


@pytest.fixture
def model():
    torch.manual_seed(0)
    return Llama(LlamaConfig(50, 24, 6, 2, 2, 32, 64, 10_000.0, 1e-5))


def written_out(name):
    """Return the right answer to a task, as a learner may have written it."""
    return find_task(name).reference


@pytest.mark.parametrize("names", [[name] for name in PUT_IN] + [list(PUT_IN)])
def test_own_pieces_compute_what_the_models_own_do(model, names):
    twin = own_twin(model, {name: written_out(name) for name in names})
    ids = torch.randint(50, (3, 20))
    torch.testing.assert_close(twin(ids), model(ids), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("names", [[], list(PUT_IN)])
def test_pads_at_the_left_change_nothing_behind_them(model, names):
    model = own_twin(model, {name: written_out(name) for name in names})
    ids = torch.randint(50, (1, 9))
    padded = torch.cat([torch.zeros(1, 3, dtype=torch.long), ids], dim=1)
    mask = (torch.arange(12) >= 3)[None, None, None]
    caches = model.new_caches(1, 12)
    first = model(padded[:, :8], caches=caches, mask=mask[..., :8])
    found = torch.cat([first, model(padded[:, 8:], caches=caches, mask=mask)], dim=1)
    torch.testing.assert_close(found[:, 3:], model(ids), rtol=1e-4, atol=1e-5)


def test_the_pieces_are_really_at_work(model):
    twin = own_twin(model, {name: written_out(name) for name in PUT_IN})
    kinds = {type(module) for module in twin.modules()}
    library = {LlamaBlock, GroupedQueryAttention, RopeTable, RMSNorm, SwiGLU}
    assert library <= {type(module) for module in model.modules()}
    assert not kinds & library
    assert {written_out(name) for name in PUT_IN if name != "apply_rope"} <= kinds


def test_training_the_twin_trains_the_model(model):
    twin = own_twin(model, {name: written_out(name) for name in PUT_IN})
    ids = torch.randint(50, (2, 9))
    twin(ids).square().mean().backward()
    grads = [p.grad for p in model.parameters()]
    assert all(grad is not None and grad.abs().max() > 0 for grad in grads)
    assert {id(p) for p in twin.parameters()} == {id(p) for p in model.parameters()}


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("apply_rope", lambda x, positions, base: x),
        ("SwiGLU", lambda d_model, d_ff: torch.nn.Linear(d_model, d_model)),
    ],
)
def test_a_piece_that_computes_something_else_is_refused(model, name, wrong):
    before = copy.deepcopy(model.state_dict())
    with pytest.raises(ValueError, match=f"expected {name} to compute"):
        own_twin(model, {name: wrong})
    assert all(torch.equal(p, before[key]) for key, p in model.state_dict().items())


def test_an_unknown_piece_is_refused(model):
    with pytest.raises(ValueError, match=r"expected pieces named RMSNorm, .* got Softmax"):
        own_twin(model, {"Softmax": None})
