"""A function is called again with the same tensors, and each of its inputs alone asks for a gradient."""

import math
from functools import lru_cache

import pytest
import torch

import attn_lib
from attn_lib.checks.again import called_again, find, more_cases, one_at_a_time
from attn_lib.checks.judge import judge
from attn_lib.checks.module_runs import run_module_in_training
from attn_lib.checks.task import find_task, tasks
from attn_lib.checks.trial import trial_of


def mixed(q, k, v):
    weights = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)
    return weights @ v, weights


@lru_cache
def remembers(q, k, v):
    return mixed(q, k, v)


def knows_the_place(q, k, v, kept={}):  # noqa: B006
    key = q.data_ptr(), k.data_ptr(), q.shape, k.shape
    if q.requires_grad or key not in kept:
        kept[key] = q @ k.mT / math.sqrt(q.shape[-1]), q, k
    weights = kept[key][0].softmax(-1)
    return weights @ v, weights


def writes_over(q, k, v, kept={}):  # noqa: B006
    output, weights = mixed(q, k, v)
    if output.requires_grad:
        return output, weights
    place = kept.setdefault((output.shape, output.dtype), torch.empty_like(output))
    return place.copy_(output), weights


def asks_q_only(q, k, v):
    with torch.set_grad_enabled(q.requires_grad):
        return mixed(q, k, v)


@pytest.mark.parametrize("answer", [remembers, knows_the_place, writes_over])
def test_what_is_kept_of_a_call_is_found_out_and_asked_about(answer):
    verdict = judge("attention", answer)
    assert (verdict.status, verdict.mistake) == ("wrong", "keeps-something")
    assert "called again" in verdict.where
    assert "q before" in verdict.inputs


def test_a_gradient_is_asked_for_by_one_input_alone():
    verdict = judge("attention", asks_q_only)
    assert (verdict.status, verdict.mistake) == ("wrong", "no-gradient")
    assert "`k`" in verdict.evidence


class Turn(torch.autograd.Function):
    """RoPE whose way back takes the angles of the last call."""

    @staticmethod
    def forward(ctx, x, positions):
        Turn.positions = positions
        return attn_lib.apply_rope(x, positions)

    @staticmethod
    def backward(ctx, grad):
        return attn_lib.apply_rope(grad, -Turn.positions), None


def test_a_way_back_that_takes_what_the_last_call_left_is_wrong():
    def apply_rope(x, positions, base=10000.0):
        plain = base == 10000.0 and x.requires_grad
        return (
            Turn.apply(x, positions) if plain else attn_lib.apply_rope(x, positions, base)
        )

    verdict = judge("apply_rope", apply_rope)
    assert verdict.status == "wrong"
    assert "the gradient of `x" in verdict.evidence


def test_a_result_may_be_a_view_of_its_input():
    def split_heads(x, num_heads):
        return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)

    assert judge("split_heads", split_heads).status == "passed"


def test_inputs_are_the_same_after_both_calls():
    first, second = torch.ones(3), torch.zeros(3)
    path = "attn_lib.checks.case:call"
    values = called_again(torch.exp, second, {"x before": first}, path)
    assert [value.tolist() for value in values] == [first.exp().tolist(), [1.0] * 3]
    assert first.tolist() == [1.0] * 3
    assert find(path).__name__ == "call"


def test_most_functions_that_take_tensors_are_called_again():
    runs = {
        task.name: {case.run for case in trial_of(task.name, 0).cases}
        for task in tasks()
        if not isinstance(task.reference, type)
    }
    again = [name for name, found in runs.items() if called_again in found]
    alone = [name for name, found in runs.items() if one_at_a_time in found]
    assert len(again) > 30
    assert {"attention", "chunked_attention", "rope_attention"} <= {*alone} <= {*again}
    own = trial_of("PreNormBlock", 0).cases
    training, zeros = more_cases(find_task("PreNormBlock"), own, 0)
    assert training.run is run_module_in_training
    assert not zeros.args[2][:, 1].any()
