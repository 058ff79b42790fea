"""What `check` and `judge` do with answers of every kind."""

import random
import re
import sys
import time
import warnings

import numpy as np
import pytest
import torch
from torch import nn

import attn_lib
from attn_lib.checks import check, grade, hint, judge, progress, tasks
from attn_lib.checks.observe import PRINT_LIMIT
from attn_lib.checks.task import find_task


def right(q, k, v):
    weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
    return weights @ v, weights


class Hostile(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        raise RuntimeError("no")


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no")

    __repr__ = __str__


def raising(error):
    def answer(q, k, v):
        raise error

    return answer


def returning(value):
    return lambda q, k, v: value


def yields(q, k, v):
    yield right(q, k, v)


async def coroutine(q, k, v):
    return right(q, k, v)


def recursion(q, k, v):
    return recursion(q, k, v)


STRANGE = {
    "a string": "attention",
    "a number": 3,
    "a tensor": torch.zeros(2),
    "a module": nn.Linear(2, 2),
    "a class": nn.Linear,
    "a type": int,
    "exit": raising(SystemExit(0)),
    "generator exit": raising(GeneratorExit()),
    "memory": raising(MemoryError()),
    "unprintable": raising(Unprintable()),
    "recursion": recursion,
    "generator": yields,
    "coroutine": coroutine,
    "string": returning("attention"),
    "empty tuple": returning(()),
    "scalars": returning((1.0, 2.0)),
    "nan": lambda q, k, v: tuple(t * float("nan") for t in right(q, k, v)),
    "too few": lambda q, k, v: right(q, k, v)[0],
    "too many": lambda q, k, v: (*right(q, k, v), 1),
    "float64": lambda q, k, v: tuple(t.double() for t in right(q, k, v)),
    "complex": lambda q, k, v: tuple(t.to(torch.complex64) for t in right(q, k, v)),
    "numpy": lambda q, k, v: tuple(t.detach().numpy() for t in right(q, k, v)),
    "meta device": lambda q, k, v: tuple(t.to("meta") for t in right(q, k, v)),
    "sparse": lambda q, k, v: tuple(t.to_sparse() for t in right(q, k, v)),
    "nested": lambda q, k, v: tuple(
        torch.nested.nested_tensor([t]) for t in right(q, k, v)
    ),
    "wrong shape": lambda q, k, v: tuple(t[0] for t in right(q, k, v)),
    "no arguments": lambda: None,
    "syntax of a learner": lambda q, k, v: undefined_name,  # noqa: F821
}


@pytest.mark.parametrize("answer", STRANGE.values(), ids=STRANGE.keys())
def test_no_answer_makes_check_raise_or_pass(answer, capsys):
    verdict = check("attention", answer)
    assert verdict.status in ("wrong", "error"), str(verdict)
    assert verdict.points == 0
    assert verdict.message
    assert verdict.heading in capsys.readouterr().out
    assert verdict._repr_html_().startswith("<div")


def test_a_hostile_subclass_is_judged_by_its_numbers():
    def answer(q, k, v):
        output, weights = right(q, k, v)
        return output.as_subclass(Hostile), weights

    assert judge("attention", answer).status == "passed"


@pytest.mark.parametrize(
    "answer", [None, ..., raising(NotImplementedError()), returning(None)]
)
def test_an_untouched_stub_is_not_attempted(answer):
    verdict = check("attention", answer)
    assert verdict.status == "not attempted"
    assert verdict.points == 0


def test_a_module_is_not_attempted_until_forward_is_written():
    class SelfAttention(nn.Module):
        def __init__(self, d_model, head_dim):
            super().__init__()
            raise NotImplementedError

        def forward(self, x):
            raise NotImplementedError

    class OnlyInit(nn.Module):
        def __init__(self, d_model, head_dim):
            super().__init__()
            self.q_proj = nn.Linear(d_model, head_dim, bias=False)

        def forward(self, x):
            raise NotImplementedError

    for answer in (SelfAttention, OnlyInit):
        assert judge("SelfAttention", answer).status == "not attempted"


def unwritten():
    raise NotImplementedError


@pytest.mark.parametrize(
    ("forward", "message"),
    [
        (None, "There is no method `forward`"),
        (lambda self, x: unwritten(), "It calls `unwritten`, which still raises"),
    ],
)
def test_what_is_missing_is_named(forward, message):
    class Head(nn.Module):
        def __init__(self, d_model, head_dim):
            super().__init__()
            for name in "qkv":
                setattr(self, f"{name}_proj", nn.Linear(d_model, head_dim, bias=False))

    if forward:
        Head.forward = forward
    verdict = judge("SelfAttention", Head)
    assert verdict.status == "not attempted"
    assert message in verdict.message


def test_an_open_forward_is_named_with_its_line():
    class Head(nn.Module):
        def __init__(self, d_model, head_dim):
            super().__init__()

        def forward(self, x):
            raise NotImplementedError

    assert (
        "`forward` still raises NotImplementedError (line"
        in judge("SelfAttention", Head).message
    )


def test_an_answer_by_way_of_numpy_is_told_of_its_gradient():
    def answer(q, k, v):
        arrays = (t.detach().numpy() for t in (q, k, v))
        return tuple(
            torch.from_numpy(t.numpy()) for t in right(*map(torch.from_numpy, arrays))
        )

    verdict = judge("attention", answer)
    assert verdict.mistake == "no-gradient"


def test_large_numbers_are_told_apart():
    verdict = judge(
        "attention_scores", lambda q, k: q @ k.mT / round(q.shape[-1] ** 0.5, 3)
    )
    assert verdict.status == "wrong"
    expected, got = re.search(r"expected (\S+), got (\S+)\.", verdict.message).groups()
    assert expected != got
    assert "1 times" not in verdict.message


def test_a_default_device_set_by_an_answer_does_not_stay():
    def answer(q, k, v):
        torch.set_default_device("meta")
        return right(q, k, v)

    judge("attention", answer)
    assert torch.get_default_device() == torch.device("cpu")
    assert torch.overrides._get_current_function_mode_stack() == []
    assert torch.zeros(1).device == torch.device("cpu")


def test_a_missing_parameter_is_named():
    class Misnamed(nn.Module):
        def __init__(self, d_model, head_dim):
            super().__init__()
            self.query = nn.Linear(d_model, head_dim, bias=False)

        def forward(self, x):
            return self.query(x)

    verdict = judge("SelfAttention", Misnamed)
    assert verdict.status == "wrong"
    assert "no parameter `q_proj.weight`" in verdict.message
    assert "query.weight" in verdict.message


def test_the_verdict_shows_input_index_and_values():
    def answer(q, k, v):
        output, weights = right(q, k, v)
        output = output.clone()
        output[0, 0, 1] += 0.5
        return output, weights

    verdict = judge("attention", answer)
    assert verdict.status == "wrong"
    assert verdict.mistake is None
    assert (
        "Input: One query, two keys: q (1, 1, 4), k (1, 2, 4), v (1, 2, 3)."
        in verdict.message
    )
    assert (
        "at index [0, 0, 1]: expected 2.1515, got 2.6515. 1 of 3 numbers differs"
        in verdict.message
    )
    assert verdict.inputs["q"].tolist() == [[[2.0, 0.0, 0.0, 0.0]]]
    assert "q = torch.tensor([[[2.0, 0.0, 0.0, 0.0]]])" in str(verdict)
    assert 'data-status="wrong"' in verdict._repr_html_()
    assert "<img" in verdict._repr_html_()


def test_a_recognized_mistake_asks_its_question():
    verdict = judge("attention", lambda q, k, v: right(q, k, v)[::-1])
    assert verdict.mistake == "results-swapped"
    assert "Think: Which of the two is asked for first" in verdict.message
    assert 'data-mistake="results-swapped"' in verdict._repr_html_()


def test_a_mistake_is_recognized_beside_a_dtype_that_suits_float32_only():
    def reversed_order(layers):
        B, _, L, _ = layers[0].shape
        rollout = torch.eye(L).expand(B, L, L)
        for weights in layers:
            rollout = rollout @ ((weights.mean(1) + torch.eye(L)) / 2)
        return rollout

    verdict = judge("attention_rollout", reversed_order)
    assert verdict.mistake == "order-reversed"


def test_an_answer_that_empties_its_list_is_told_so():
    def emptying(layers):
        rollout = torch.eye(layers[0].shape[-1], dtype=layers[0].dtype)
        while layers:
            weights = layers.pop(0).mean(1)
            rollout = (weights + torch.eye(weights.shape[-1]).to(weights)) / 2 @ rollout
        return rollout

    assert judge("attention_rollout", emptying).mistake == "changes-input"
    assert "`.pop`" in judge("attention_rollout", emptying).message


def test_an_answer_that_fills_its_list_is_told_so():
    def filling(layers):
        layers.append(torch.eye(layers[0].shape[-1]))
        return find_task("attention_rollout").reference(layers[:-1])

    assert judge("attention_rollout", filling).mistake == "changes-input"


def test_a_list_of_one_number_is_told_from_a_comma_too_many():
    def answer(weights, period):
        return find_task("induction_score").reference(weights, period).tolist()

    verdict = judge("induction_score", answer)
    assert verdict.mistake == "a-list-of-numbers"
    assert "comma" not in verdict.message


def test_an_error_names_the_learners_line():
    def answer(q, k, v):
        return q @ k  # this line

    verdict = judge("attention", answer)
    assert verdict.status == "error"
    assert "RuntimeError" in verdict.message
    assert "return q @ k  # this line" in verdict.message


def test_a_changed_input_is_an_error_and_named():
    def answer(q, k, v):
        q /= q.shape[-1] ** 0.5
        weights = (q @ k.mT).softmax(-1)
        return weights @ v, weights

    verdict = judge("attention", answer)
    assert verdict.status == "wrong"
    assert verdict.mistake == "changes-input"
    assert "`q`" in verdict.message


def test_a_missing_gradient_is_an_error_and_named():
    def answer(q, k, v):
        return right(q, k.detach(), v)

    verdict = judge("attention", answer)
    assert verdict.mistake == "no-gradient"
    assert "no gradient reaches `k`" in verdict.message


def test_a_gradient_that_is_not_finite_is_an_error_and_named():
    def painted(q, k, v):
        output, weights = right(q, k, v)
        hole = (q.sum() * 0 / 0 * v).nan_to_num(0.0)
        return output + hole.sum(1, keepdim=True), weights

    verdict = judge("attention", painted)
    assert verdict.mistake == "nan-gradient"
    assert "nan or inf" in verdict.message
    assert "paint over it" in verdict.message


def test_one_value_in_a_tuple_is_not_the_value():
    verdict = judge("attention_scores", lambda q, k: (q @ k.mT / q.shape[-1] ** 0.5,))
    assert verdict.status == "wrong"
    assert "a comma or a bracket too many" in verdict.message


def test_a_forward_that_takes_other_arguments_is_told_what_it_is_called_with():
    class WithoutMask(attn_lib.MultiHeadAttention):
        def forward(self, x, context=None):
            return super().forward(x, context)

    verdict = judge("MultiHeadAttention", WithoutMask)
    assert verdict.status == "error"
    assert "`forward(x, context=None, mask=None)`" in verdict.message


def test_a_layer_with_a_second_name_keeps_its_weights():
    class WithNames(attn_lib.MultiHeadAttention):
        def __init__(self, d_model, num_heads):
            super().__init__(d_model, num_heads)
            self.by_letter = nn.ModuleDict({"q": self.q_proj, "k": self.k_proj})

        def forward(self, x, context=None, mask=None):
            return super().forward(x, context, mask=mask)

    assert judge("MultiHeadAttention", WithNames).status == "passed"


def test_the_inputs_of_a_module_can_be_pasted():
    class Doubled(attn_lib.SelfAttention):
        def forward(self, x):
            return 2 * super().forward(x)

    verdict = judge("SelfAttention", Doubled)
    names = {"torch": torch, "SelfAttention": Doubled}
    pasted = str(verdict).partition("To try it by hand:\n")[2]
    exec("\n".join(line.strip() for line in pasted.splitlines()), names)
    assert torch.equal(names["module"].q_proj.weight, verdict.inputs["q_proj.weight"])
    assert torch.equal(names["x"], verdict.inputs["x"])


def test_the_session_is_left_as_it_was():
    def answer(q, k, v):
        torch.manual_seed(1), random.seed(1), np.random.seed(1)
        torch.rand(1), random.random(), np.random.rand()
        torch.set_default_dtype(torch.float64)
        torch.set_grad_enabled(False)
        warnings.simplefilter("ignore")
        sys.stdout = None
        return q + 1, k

    torch.manual_seed(5), random.seed(5), np.random.seed(5)
    expected = torch.rand(1), random.random(), np.random.rand()
    torch.manual_seed(5), random.seed(5), np.random.seed(5)
    stdout = sys.stdout
    assert judge("attention", answer).status == "wrong"
    assert sys.stdout is stdout
    assert (torch.rand(1), random.random(), np.random.rand()) == expected
    assert torch.get_default_dtype() == torch.float32
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_the_sessions_settings_do_not_touch_the_verdict(dtype):
    torch.set_default_dtype(dtype)
    try:
        with torch.no_grad(), torch.inference_mode():
            verdict = judge("attention", right)
    finally:
        torch.set_default_dtype(torch.float32)
    assert verdict.status == "passed", str(verdict)


def test_prints_and_warnings_are_shown_in_the_verdict_and_bounded(capsys):
    def answer(q, k, v):
        print("shape of q:", q.shape)
        warnings.warn("careful", stacklevel=1)
        print("flood " * 50_000)
        return q, k

    verdict = judge("attention", answer)
    assert capsys.readouterr().out == ""
    assert verdict.printed.startswith("shape of q: torch.Size([1, 1, 4])")
    assert len(verdict.printed) <= PRINT_LIMIT
    verdict = judge(
        "attention", lambda q, k, v: warnings.warn("careful", stacklevel=1) or (q, k)
    )
    assert "UserWarning: careful" in verdict.printed


def test_html_in_an_answer_is_escaped():
    verdict = judge("attention", raising(ValueError("<script>alert(1)</script>")))
    assert "<script>" not in verdict._repr_html_()
    assert "&lt;script&gt;" in verdict._repr_html_()


def test_an_interrupted_answer_gives_a_verdict_at_once():
    calls = []

    def answer(q, k, v):
        calls.append(1)
        raise KeyboardInterrupt

    verdict = check("attention", answer)
    assert verdict.status == "error"
    assert "You interrupted it" in verdict.message
    assert len(calls) == 1


def test_an_unknown_task_is_a_verdict_not_an_exception(capsys):
    verdict = check("atention", right)
    assert verdict.status == "error"
    assert 'Did you mean "attention"?' in capsys.readouterr().out
    hint("atention")
    assert 'Did you mean "attention"?' in capsys.readouterr().out


def test_hints_are_graduated_and_end_with_the_last(capsys):
    for expected in (
        "Hint 1 of 3",
        "Hint 2 of 3",
        "Hint 3 of 3 (the last one)",
        "Hint 3 of 3",
    ):
        hint("attention_scores")
        assert expected in capsys.readouterr().out


def test_progress_shows_points(capsys):
    check("attention", right)
    check("attention_scores", right)
    capsys.readouterr()
    progress()
    table = capsys.readouterr().out
    assert "✓ passed" in table
    assert "✗ attempted" in table
    total = sum(task.points for task in tasks())
    assert f"3 of {total}" in table


def test_grade_returns_points_all_or_nothing():
    assert grade("attention", right) == 3.0
    assert grade("attention", lambda q, k, v: right(q, k, v)[::-1]) == 0.0


def test_judge_with_a_private_seed_uses_other_inputs():
    seen = []

    def answer(q, k, v):
        seen.append(q.sum().item())
        return right(q, k, v)

    judge("attention", answer, seed=1)
    first, seen[:] = list(seen), []
    judge("attention", answer, seed=2)
    assert first != seen


def test_the_librarys_own_answer_earns_nothing():
    from attn_lib import einsum_attention

    assert check("attention", einsum_attention).status == "not attempted"


def test_a_slow_answer_is_not_timed_out():
    """Slow is not wrong: a learner's loop may take its time."""

    def answer(q, k, v):
        time.sleep(0.001)
        return right(q, k, v)

    assert judge("attention", answer).status == "passed"


def test_a_number_of_too_many_digits_is_no_surprise():
    for number in (10**5000, -(10**5000)):
        verdict = judge("kv_cache_bytes", lambda *sizes, number=number: number)
        assert "a number of more than 100 digits" in verdict.message


def test_a_right_value_of_numpy_is_told_from_a_wrong_one():
    right = find_task("kv_cache_bytes").reference
    verdict = judge("kv_cache_bytes", lambda *sizes: np.int64(right(*sizes)))
    assert "has the right value, but is an int64: it should be an int" in verdict.message


def test_a_class_without_a_name_is_told_like_any_other():
    nameless = type("", (), {})
    for answer in (
        nameless,
        nameless(),
        lambda q, k, v: nameless(),
        lambda q, k, v: nameless,
    ):
        assert judge("attention", answer).status in ("wrong", "error")


def test_what_is_its_own_transpose_is_not_called_transposed():
    def answer(x):
        return torch.full_like(x.transpose(1, 2).flatten(2), 2.0)

    assert "transposed" not in judge("merge_heads", answer).message


def test_a_mistake_that_is_recognized_leaves_the_sessions_randomness_alone():
    before = torch.get_rng_state()
    assert judge("attention", lambda q, k, v: (q @ k.mT, q @ k.mT)).status == "wrong"
    assert judge("attention_scores", lambda q, k: q @ k.mT).mistake == "scale-missing"
    assert torch.equal(torch.get_rng_state(), before)
