"""What `check` and `judge` do with answers of every kind."""

import math
import random
import sys
import warnings
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from torch import nn

import attn_lib
from attn_lib.checks import check, commands, grade, hint, judge
from attn_lib.checks.case import Case
from attn_lib.checks.compare import agreeing, compare, number
from attn_lib.checks.gradients import _gradient_difference
from attn_lib.checks.observe import Outcome, walled_off
from attn_lib.checks.say import describe, shown
from attn_lib.checks.task import find_task
from attn_lib.checks.trial import Trial
from attn_lib.checks.verdict import small_inputs
from attn_lib.checks.wording import _describe_input, argument_name
from tests.checks.told import told


def right(q, k, v):
    weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
    return weights @ v, weights


def changed(change):
    """Return the right answer with both of its results changed."""
    return lambda q, k, v: tuple(change(t) for t in right(q, k, v))


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


def empty(q, k, v):
    """Return output and weights."""
    ...


async def coroutine(q, k, v):
    return right(q, k, v)


def recursion(q, k, v):
    return recursion(q, k, v)


NAMELESS = type("", (), {})

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
    "too few": lambda q, k, v: right(q, k, v)[0],
    "too many": lambda q, k, v: (*right(q, k, v), 1),
    "nan": changed(lambda t: t * float("nan")),
    "float64": changed(torch.Tensor.double),
    "complex": changed(lambda t: t.to(torch.complex64)),
    "numpy": changed(lambda t: t.detach().numpy()),
    "meta device": changed(lambda t: t.to("meta")),
    "sparse": changed(torch.Tensor.to_sparse),
    "float8": changed(lambda t: t.to(torch.float8_e4m3fn)),
    "quantized": changed(lambda t: torch.quantize_per_tensor(t.float(), 1, 0, torch.qint8)),
    "nested": changed(lambda t: torch.nested.nested_tensor([t])),
    "wrong shape": changed(lambda t: t[0]),
    "a class without a name": NAMELESS,
    "an object of a class without a name": NAMELESS(),
    "returns a class without a name": returning(NAMELESS),
    "returns an object of a class without a name": returning(NAMELESS()),
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
    answer = changed(lambda t: t.as_subclass(Hostile))
    assert judge("attention", answer).status == "passed"


class Head(nn.Module):
    """A SelfAttention without `forward`."""

    def __init__(self, d_model, head_dim):
        super().__init__()
        for name in "qkv":
            setattr(self, f"{name}_proj", nn.Linear(d_model, head_dim, bias=False))


class OpenInit(nn.Module):
    def __init__(self, d_model, head_dim):
        raise NotImplementedError


class OpenForward(nn.Identity):  # it takes any arguments, and has no parameters
    def forward(self, x):
        raise NotImplementedError


class Calling(Head):
    def forward(self, x):
        return raising(NotImplementedError())(x, x, x)


@pytest.mark.parametrize(
    ("task", "answer", "message"),
    [
        ("attention", None, "There is no answer yet"),
        ("attention", ..., "There is no answer yet"),
        ("attention", empty, "It returned None"),
        ("attention", raising(NotImplementedError()), "`answer` still raises"),
        ("attention", attn_lib.einsum_attention, "This is the library's own answer"),
        ("SelfAttention", Head, "There is no method `forward`"),
        ("SelfAttention", OpenInit, "`__init__` still raises NotImplementedError (line"),
        ("SelfAttention", OpenForward, "`forward` still raises NotImplementedError (line"),
        ("SelfAttention", Calling, "It calls `answer`, which still raises"),
        ("from_torch", lambda mha: None, "is there a `return` at its end?"),
    ],
)
def test_what_is_not_written_is_not_attempted_and_named(task, answer, message):
    verdict = check(task, answer)
    assert verdict.status == "not attempted"
    assert (verdict.points, verdict.max_points) == (0, find_task(task).points)
    assert message in verdict.message


@pytest.mark.parametrize(
    ("task", "answer", "message"),
    [
        ("attention", "text", 'the function itself, as in `check("attention", attention)`'),
        ("attention", 3, "without parentheses, but received an int."),
        ("SelfAttention", attn_lib.SelfAttention(4, 2), "`check` needs the class itself"),
    ],
)
def test_what_cannot_be_called_as_an_answer_is_told_so(task, answer, message):
    verdict = judge(task, answer)
    assert (verdict.status, verdict.points) == ("error", 0)
    assert verdict.max_points == find_task(task).points
    assert message in verdict.message


def test_a_module_that_is_called_answers_a_task_for_a_function():
    class Scores(nn.Module):
        def forward(self, q, k):
            return q @ k.mT / q.shape[-1] ** 0.5

    assert judge("attention_scores", Scores()).status == "passed"


@told("attention", None, "It returned None. Does every path end in `return`?")
def test_an_answer_without_return_is_not_called_empty(q, k, v):
    right(q, k, v)


@told("SelfAttention", None, "It returned None. Does", forward_of=attn_lib.SelfAttention)
def test_a_forward_without_return_is_not_called_empty(self, x):
    self.q_proj(x)


@told("attention", "no-gradient")
def test_an_answer_by_way_of_numpy(q, k, v):
    return right(*(torch.from_numpy(t.detach().numpy()) for t in (q, k, v)))


@told("attention", "no-gradient", "no gradient reaches `k`")
def test_a_missing_gradient_is_named(q, k, v):
    return right(q, k.detach(), v)


@told(
    "attention",
    "numpy-has-no-gradient",
    "The values are right, but with inputs that need gradients it raised RuntimeError",
    status="error",
)
def test_what_raises_only_where_gradients_are_needed(q, k, v):
    """The values are asked for first, of plain tensors."""
    return right(*(torch.from_numpy(t.double().numpy()).to(t) for t in (q, k, v)))


@told("split_heads", "rounded", "gradient of `x` is wrong")
def test_a_gradient_that_is_nearly_right_was_rounded(x, num_heads):
    class ByWayOfFloat32(torch.autograd.Function):
        @staticmethod
        def forward(_, x):
            return x.clone()

        @staticmethod
        def backward(_, grad):
            return grad.float().to(grad.dtype)

    return attn_lib.split_heads(ByWayOfFloat32.apply(x), num_heads)


@told("attention", "nan-gradient", "nan or inf", "paint over it")
def test_a_gradient_that_is_not_finite(q, k, v):
    output, weights = right(q, k, v)
    hole = (q.sum() * 0 / 0 * v).nan_to_num(0.0)
    return output + hole.sum(1, keepdim=True), weights


@told("attention", "no-gradient", "Float16", "no gradient reaches `v`")
def test_a_gradient_that_half_precision_loses_is_missed(q, k, v):
    output, weights = attn_lib.einsum_attention(q, k, v)
    return (output.detach(), weights) if q.dtype == torch.float16 else (output, weights)


@told("attention", "changes-input", "`k`")
def test_to_ask_for_gradients_of_an_input_is_a_change(q, k, v):
    k.requires_grad_()
    return attn_lib.einsum_attention(q, k, v)


@told("attention", "changes-input", "`q`")
def test_a_changed_input_is_named(q, k, v):
    q /= q.shape[-1] ** 0.5
    weights = (q @ k.mT).softmax(-1)
    return weights @ v, weights


MHA = attn_lib.MultiHeadAttention


@told("MultiHeadAttention", "changes-input", "`mask`", forward_of=MHA)
def test_a_mask_that_is_inverted_in_place_and_back(self, x, context=None, mask=None):
    """A second call with the same mask would be wrong: `changes-input` says why."""
    forbidden = None if mask is None else mask.logical_not_()
    return MHA.forward(self, x, context, mask=None if mask is None else ~forbidden)


@told("MultiHeadAttention", "inverted", forward_of=MHA)
def test_a_mask_that_is_inverted_in_place_and_used(self, x, context=None, mask=None):
    """Each call undoes what the one before has done to the mask."""
    return MHA.forward(self, x, context, mask=mask if mask is None else mask.logical_not_())


@told("attention_rollout", "changes-input", "`.pop`")
def test_an_answer_that_empties_its_list(layers):
    rollout = torch.eye(layers[0].shape[-1], dtype=layers[0].dtype)
    while layers:
        weights = layers.pop(0).mean(1)
        rollout = (weights + torch.eye(weights.shape[-1]).to(weights)) / 2 @ rollout
    return rollout


@told("attention_rollout", "order-reversed")
def test_a_mistake_beside_a_dtype_that_suits_float32_only(layers):
    B, _, L, _ = layers[0].shape
    rollout = torch.eye(L).expand(B, L, L)
    for weights in layers:
        rollout = rollout @ ((weights.mean(1) + torch.eye(L)) / 2)
    return rollout


@told("attention", "results-swapped", "Think: Which of the two is asked for first")
def test_a_recognized_mistake_asks_its_question(q, k, v):
    return right(q, k, v)[::-1]


@told("induction_score", "a-list-of-numbers", unsaid="comma")
def test_a_list_of_one_number_is_no_comma_too_many(weights, period):
    return find_task("induction_score").reference(weights, period).tolist()


@told("attention_scores", None, "a comma or a bracket too many")
def test_one_value_in_a_tuple_is_not_the_value(q, k):
    return (q @ k.mT / q.shape[-1] ** 0.5,)


@told("attention_scores", None, "It returned None. Does every path end in `return`?")
def test_a_path_without_a_return(q, k):
    return None if q.shape[1] > 1 else q @ k.mT / q.shape[-1] ** 0.5


@told("attention_scores", None, "It returned a generator: is there a `yield` for")
def test_what_yields(q, k):
    yield q @ k.mT / q.shape[-1] ** 0.5


@told("attention_scores", None, "a tuple or list of one: a str.", unsaid="comma")
def test_a_text_in_a_list(q, k):
    return ["scores"]


@told("attention", "keys-not-transposed", "RuntimeError", "q @ k  # this", status="error")
def test_an_error_names_the_learners_line(q, k, v):
    return q @ k  # this line


@told(
    "SelfAttention",
    "parameters-named-otherwise",
    "no parameter `q_proj.weight`",
    "It has: weight, bias.",
)
def test_parameters_of_other_names(d_model, head_dim):
    return nn.Linear(d_model, head_dim)


FORWARD = "`forward(x, context=None, mask=None)`"


@told("MultiHeadAttention", None, FORWARD, status="error", forward_of=MHA)
def test_a_forward_without_a_mask(self, x, context=None):
    return MHA.forward(self, x, context)


@told(
    "map_llama_name",
    "error-returned",
    "name = 'output.weight'",
    "It should raise a ValueError here, but it returned a ValueError.",
)
def test_an_error_that_is_returned(name):
    try:
        return find_task("map_llama_name").reference(name)
    except ValueError as error:
        return error


@told(
    "map_llama_name",
    "unknown-passed-on",
    "It should raise a ValueError here, but it returned 'output.weight'.",
)
def test_what_came_in_is_returned(name):
    try:
        return find_task("map_llama_name").reference(name)
    except ValueError:
        return name


@told(
    "map_llama_name",
    "another-error",
    "It should raise a ValueError here, but it raised Unnamed: ",
    status="error",
)
def test_an_error_that_is_no_value_error(name):
    class Unnamed(Exception): ...

    try:
        return find_task("map_llama_name").reference(name)
    except ValueError as error:
        raise Unnamed(name) from error


@told(
    "load_checkpoint",
    "errors-swallowed",
    "It should raise a ValueError here. It returned",
)
def test_what_returns_where_an_error_was_asked_for(path):
    try:
        return find_task("load_checkpoint").reference(path)
    except ValueError:
        return {}, {"of": path}


def test_the_verdict_shows_input_index_and_values():
    def answer(q, k, v):
        output, weights = right(q, k, v)
        output[0, 0, 1] += 0.5
        return output, weights

    verdict = judge("attention", answer)
    assert verdict.status == "wrong"
    assert verdict.mistake is None
    one_query = "Input: One query, two keys: q (1, 1, 4), k (1, 2, 4), v (1, 2, 3)."
    difference = "at index [0, 0, 1]: expected 2.1515, got 2.6515. 1 of 3 numbers differs"
    assert one_query in verdict.message
    assert difference in verdict.message
    assert verdict.inputs["q"].tolist() == [[[2.0, 0.0, 0.0, 0.0]]]
    assert "q = torch.tensor([[[2.0, 0.0, 0.0, 0.0]]])" in str(verdict)
    assert 'data-status="wrong"' in verdict._repr_html_()
    assert "<img" in verdict._repr_html_()


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (4, 2, 3)])
def test_a_difference_shows_what_was_expected_and_what_came(shape):
    found = compare([torch.zeros(shape)], [torch.ones(shape)], ("result",))
    assert not found.expected.any()
    assert found.actual.all()
    assert found.expected.shape == found.actual.shape == (1, 1, *shape)[-2:]
    count, index = math.prod(shape), f", at index {[0] * len(shape)}" if shape else ""
    more = f" {count} of {count} numbers differ, by up to 1.0000."
    more += " Each of your numbers is the expected one plus 1."
    text = f"In the result{index}: expected 0.0000, got 1.0000."
    assert found.text == text + more * (count > 1)


INF, NAN = torch.inf, torch.nan
ZERO, ONES = torch.zeros(2), torch.ones(2)
SQUARE = torch.tensor([[1.0, 2.0], [3.0, 5.0]])
TRUE_FIRST = torch.tensor([True, False, False])
ORDINARY = "The result should be an ordinary tensor on cpu, but is "
ONE_VALUE = "It should return one value, but it returned "
SIZES = "They are whole numbers: is it the shape of a tensor, not the tensor?"
PARTS = "Is only one of them asked for? Or are they parts of a list: what makes one tensor of it?"


@pytest.mark.parametrize(
    ("want", "got", "text"),
    [
        (ZERO, torch.zeros(3), "The result should have shape (2,), but has (3,)."),
        (
            torch.zeros(2, 3),
            torch.zeros(3, 2),
            "The result should have shape (2, 3), but has (3, 2). The last two sizes have changed places.",
        ),
        (3, 10**99, f"The result should be 3, but is {10**99}."),
        (3, 10**100, "The result should be 3, but is a number of more than 100 digits."),
        (
            3,
            -(10**100),
            "The result should be 3, but is a number of more than 100 digits.",
        ),
        (3, torch.tensor([3, 3]), "The result should be 3, but is a tensor of shape (2,)."),
        (
            3,
            np.int64(3),
            "The result has the right value, but is an int64: it should be an int.",
        ),
        ("a", "A", "The result should be 'a', but is 'A'."),
        ("a", b"a", "The result should be 'a', but is a bytes."),
        (True, 1, "The result has the right value, but is an int: it should be a bool."),
        (ZERO, ZERO.to("meta"), f"{ORDINARY}on device meta."),
        (ZERO, ZERO.to_sparse(), f"{ORDINARY}torch.sparse_coo."),
        (
            ZERO,
            torch.nested.as_nested_tensor([ZERO], layout=torch.jagged),
            f"{ORDINARY}nested.",
        ),
        (1, [1, 2], f"{ONE_VALUE}2 values."),
        (ONES, [2, 3], f"{ONE_VALUE}2 values. {SIZES}"),
        (ONES, [ONES[:1], ONES[:1]], f"{ONE_VALUE}2 values. {PARTS}"),
        (ONES, [ONES, 1.5], f"{ONE_VALUE}2 values."),
        (ONES, [], f"{ONE_VALUE}0 values."),
        ([1, 2], [1], "It should return output and weights, but it returned 1 value."),
        (
            [ONES, 1],
            [2, 3, 4],
            "It should return output and weights, but it returned 3 values.",
        ),
        ([1, 2], [1, 3], "The weights should be 2, but is 3."),
        (
            TRUE_FIRST,
            torch.tensor([True, True, False]),
            "In the result, at index [1]: expected False, got True. 1 of 3 numbers differs.",
        ),
    ],
)
def test_a_difference_of_sizes_of_kinds_or_of_counts_is_said(want, got, text):
    want, got = (x if isinstance(x, list) else [x] for x in (want, got))
    names = ("result",) if len(want) == 1 else ("output", "weights")
    assert compare(want, got, names).text == text


def test_results_that_a_task_has_no_names_for_are_an_error():
    with pytest.raises(ValueError, match="zip"):
        compare([1, 2], [1, 2], ("output",))


@pytest.mark.parametrize(
    ("want", "got", "clue"),
    [
        (SQUARE, SQUARE.mT, " Yours is the expected one transposed."),
        (SQUARE, SQUARE * 1.5, " Each of your numbers is 1.5 times the expected one."),
        (SQUARE, SQUARE + 0.25, " Each of your numbers is the expected one plus 0.25."),
        (SQUARE, SQUARE / (SQUARE > 1), " 1 of your numbers is nan or inf."),
        (SQUARE, SQUARE / (SQUARE > 2), " 2 of your numbers are nan or inf."),
        (SQUARE, -SQUARE, " Each of your numbers is -1 times the expected one."),
        (SQUARE, SQUARE * 1.5 + torch.eye(2) * 5e-4, " is 1.5 times the expected one."),
        (SQUARE[0], SQUARE[0] * 0, " by up to 2.0000."),
        (SQUARE[0], SQUARE[0] + 1, " Each of your numbers is the expected one plus 1."),
        (SQUARE, SQUARE.flip(0), " by up to 3.0000."),
        (SQUARE, SQUARE * 1.0005, " by up to 0.0025."),
        # What was expected to be inf is not counted.
        (
            torch.tensor([INF, 1.0, 2.0]),
            torch.tensor([INF, NAN, 2.0]),
            " 1 of your numbers is nan or inf.",
        ),
    ],
)
def test_a_simple_relation_to_what_was_expected_is_said(want, got, clue):
    assert compare([want], [got], ("result",)).text.endswith(clue)


def test_what_agrees_is_relative_to_the_largest_number_expected():
    large = torch.tensor([1.0, 1e6])
    assert compare([large], [large + 1], ("result",)) is None
    assert "2 of 2 numbers differ" in compare([torch.zeros(2)], [large], ("result",)).text


@pytest.mark.parametrize(
    ("dtype", "near", "far"),
    [
        (torch.float16, 1.009, 1.015),
        (torch.bfloat16, 1.0234, 1.047),
        (torch.float32, 1.00009, 1.00015),
        (torch.float64, 1.00009, 1.00015),
    ],
)
def test_how_near_is_right_depends_on_the_dtype(dtype, near, far):
    want, got = torch.ones(2), torch.tensor([near, far])
    assert agreeing(want.to(dtype), got.to(dtype)).tolist() == [True, False]


def test_where_nothing_is_expected_but_zeros_or_nan_a_small_number_still_agrees():
    assert agreeing(torch.zeros(2), torch.tensor([9e-5, 1.5e-4])).tolist() == [True, False]
    special = torch.tensor([torch.nan, torch.inf, torch.nan, torch.inf])
    got = torch.tensor([torch.nan, torch.inf, 1.0, -torch.inf])
    assert agreeing(special, got).tolist() == [True, True, False, False]


def test_what_is_off_by_all_that_is_allowed_agrees():
    got = torch.tensor([1 + 2**-10, 1 + 2**-9])
    assert agreeing(torch.ones(2), got, tolerance=2**-10).tolist() == [True, False]


def test_two_numbers_that_differ_look_different():
    want = torch.tensor([0.0268], dtype=torch.float64)
    found = compare([want], [want + 1e-7], ("result",), tolerance=1e-8)
    assert "expected 0.0268, got 0.0268001" in found.text


@pytest.mark.parametrize(("got", "is_plain"), [(1.0031, True), (1.0029, False)])
def test_a_difference_of_three_in_a_thousand_can_be_seen_at_a_glance(got, is_plain):
    found = compare([torch.ones(2)], [torch.tensor([1.0, got])], ("result",))
    assert found.is_plain is is_plain


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "True"),
        (3, "3"),
        (0.0, "0.0000"),
        (0.12346, "0.1235"),
        (-0.0015, "-0.0015"),
        (9999.5, "9999.5000"),
        (1e4, "10000"),
        (15000.5, "15000.5"),
        (1.2345e-7, "1.23e-07"),
        (torch.tensor(2.0), "2.0000"),
        (math.nan, "nan"),
    ],
)
def test_a_number_is_shown_with_four_digits_or_as_many_as_it_needs(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (torch.zeros(2, 3), "a tensor of shape (2, 3)"),
        (int, "the class int"),
        (NAMELESS, "a class without a name"),
        (NAMELESS(), "an object whose class has no name"),
        ((1,), "a tuple of 1"),
        ([1, 2], "a list of 2"),
        (3, "an int"),
        ("abc", "a str"),
    ],
)
def test_what_a_value_is_is_said_in_a_few_words(value, text):
    assert describe(value) == text


def test_texts_and_none_are_shown_as_they_are_but_shortened():
    assert (shown("abc"), shown(None), shown(3)) == ("'abc'", "None", "an int")
    assert shown("x" * 300) == "'" + "x" * 199


def gradient_difference(want, got, tolerance=None):
    """Say how gradients by q and k differ, the second of which is empty."""
    outcomes = (Outcome(gradients={"0": g, "1": torch.zeros(0)}) for g in (want, got))
    task, case = find_task("attention_scores"), Case("", (), tolerance=tolerance)
    found = _gradient_difference(task, case, *outcomes)
    return found and found.text.removeprefix("The values are right, but ")


GRADIENT = torch.tensor([-1.0, 0.5])
IS_WRONG = "the gradient of `q` is wrong."


@pytest.mark.parametrize(
    ("want", "got", "tolerance", "text"),
    [
        (GRADIENT, GRADIENT * 1.0005, None, None),
        (GRADIENT, GRADIENT * 1.0015, None, IS_WRONG),
        (GRADIENT, GRADIENT * 1.005, 1e-2, None),
        (GRADIENT, GRADIENT * 1.015, 1e-2, IS_WRONG),
        (GRADIENT, None, None, "no gradient reaches `q`."),
        (GRADIENT, GRADIENT / 0, None, "the gradient of `q` has nan or inf in it."),
        (GRADIENT, torch.zeros(0), None, IS_WRONG),
        (GRADIENT, GRADIENT.double(), None, IS_WRONG),
        (GRADIENT, GRADIENT.int(), None, IS_WRONG),
        (GRADIENT, GRADIENT.to(torch.float8_e4m3fn), None, IS_WRONG),
        # Rounding errors, as where the softmax is saturated.
        (GRADIENT * 1e-5, GRADIENT * 1.05e-5, None, None),
        (GRADIENT * 1e-5, GRADIENT * 1.15e-5, None, IS_WRONG),
        (torch.tensor([1e-6, 0.0], dtype=torch.float64), None, None, None),
        (GRADIENT * 1.5e-6, None, None, "no gradient reaches `q`."),
        (torch.zeros(0), None, None, None),
    ],
)
def test_a_gradient_counts_from_a_thousandth_of_the_largest_one_on(
    want, got, tolerance, text
):
    assert gradient_difference(want, got, tolerance) == text


@pytest.mark.parametrize(
    ("task", "path", "name"),
    [
        ("attention", "1", "k"),
        ("attention_rollout", "0.2", "layers[2]"),
        ("MultiHeadAttention", "1.q_proj.weight", "q_proj.weight"),
        ("MultiHeadAttention", "2", "x"),
        ("MultiHeadAttention", "3", "context"),
        ("MultiHeadAttention", "4.mask", "mask"),
        ("attention", "3", "input 3"),
        ("attention", "3.mask", "mask"),
        ("attention", "q_proj.weight", "q_proj.weight"),
    ],
)
def test_an_argument_is_called_by_its_name_in_the_signature(task, path, name):
    assert argument_name(find_task(task), path) == name


def test_an_input_is_described_by_its_sizes_and_numbers():
    mixed = Case("mixed", (torch.zeros(2, 3), 4, "text", torch.float16, None, [SQUARE]))
    said = _describe_input(find_task("grouped_query_attention"), mixed)
    assert said == "Mixed: k = 4, v = 'text', mask = torch.float16, q (2, 3), 0 (2, 2)."
    assert _describe_input(find_task("attention"), Case("nothing at all", ())) == (
        "Nothing at all."
    )


def test_what_is_known_is_computed_once_and_differentiated_only_if_asked_to():
    tried = Trial(find_task("attention_scores"), 0)
    assert tried.expected(0) is tried.expected(0)
    assert tried.expected(0).gradients == {}
    assert tried.expected(0, gradients=True).gradients.keys() == {"0", "1"}
    with walled_off():
        assert tried.mistaken((0,), 0) is tried.mistaken((0,), 0)
        assert tried.mistaken((0,), 0).gradients == {}
        assert tried.mistaken((0,), 0, True).gradients.keys() == {"0", "1"}


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


@pytest.mark.parametrize("order", [(1, 0, 2), (2, 1, 0), (1, 2, 0), (0, 1, 2)])
def test_an_input_that_is_pasted_lies_in_memory_as_it_did(order):
    tensor = torch.randn(2, 3, 4).permute(order)
    names = {"torch": torch}
    exec(small_inputs({"x": tensor}), names)
    assert torch.allclose(names["x"], tensor, rtol=1e-4)
    assert names["x"].stride() == tensor.stride()


@pytest.mark.parametrize("then", [right, lambda q, k, v: (q + 1, k)])
def test_the_session_is_left_as_it_was(then):
    def answer(q, k, v):
        torch.manual_seed(1), random.seed(1), np.random.seed(1)
        torch.rand(1), random.random(), np.random.rand()
        torch.set_default_dtype(torch.float64)
        torch.set_grad_enabled(False)
        torch.set_default_device("meta")
        warnings.simplefilter("ignore")
        sys.stdout = None
        sys.path.append("elsewhere")
        return then(q, k, v)

    torch.manual_seed(5), random.seed(5), np.random.seed(5)
    expected = torch.rand(1), random.random(), np.random.rand()
    torch.manual_seed(5), random.seed(5), np.random.seed(5)
    stdout, search_path = sys.stdout, list(sys.path)
    assert judge("attention", answer).status in ("wrong", "error")
    assert sys.stdout is stdout
    assert sys.path == search_path
    assert torch.get_default_device() == torch.device("cpu")
    assert torch.overrides._get_current_function_mode_stack() == []
    assert (torch.rand(1), random.random(), np.random.rand()) == expected
    assert torch.get_default_dtype() == torch.float32
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_the_sessions_settings_do_not_touch_the_verdict_and_stay(dtype):
    torch.set_default_dtype(dtype)
    torch.set_default_device("meta")
    try:
        with torch.no_grad(), torch.inference_mode():
            verdict = judge("attention", right, seed=79)  # new inputs: they are drawn here
        assert torch.get_default_device() == torch.device("meta")
        assert torch.get_default_dtype() == dtype
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_default_device(None)
    assert verdict.status == "passed", str(verdict)


def test_an_answer_has_one_thread_and_no_mode_around_it_and_the_session_its_own():
    """A default device, even the usual one, would be a mode: each call of PyTorch would pass through it."""
    threads, seen = torch.get_num_threads(), []

    def answer(*args):
        modes = torch.overrides._get_current_function_mode_stack()
        seen.append((torch.get_num_threads(), modes))
        return right(*args)

    torch.set_num_threads(3)
    try:
        assert judge("attention", answer).status == "passed"
        assert all(noted == (1, []) for noted in seen)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(threads)


def test_prints_and_warnings_are_shown_in_the_verdict_and_bounded(capsys):
    def answer(q, k, v):
        print("shape of q:", q.shape)
        print("flood " * 50_000)
        return q, k

    verdict = judge("attention", answer)
    assert capsys.readouterr().out == ""
    start = "shape of q: torch.Size([1, 1, 4])\n"
    assert verdict.printed == (start + "flood " * 50_000)[:10_000]


def test_html_in_an_answer_is_escaped():
    verdict = judge("attention", raising(ValueError("<script>alert(1)</script>")))
    assert "<script>" not in verdict._repr_html_()
    assert "&lt;script&gt;" in verdict._repr_html_()


def test_an_interrupted_answer_gives_a_verdict_at_once():
    answer = Mock(side_effect=KeyboardInterrupt)
    verdict = check("attention", answer)
    assert verdict.status == "error"
    assert verdict.message.startswith("Input: One query, two keys: q (1, 1, 4), ")
    assert "You interrupted it" in verdict.message
    assert verdict.max_points == 3
    assert answer.call_count == 1


def test_an_answer_that_is_interrupted_on_the_way_to_its_gradients_gives_one_too():
    def answer(q, k, v):
        if q.requires_grad:
            raise KeyboardInterrupt
        return right(q, k, v)

    verdict = judge("attention", answer)
    assert verdict.status == "error"
    assert "You interrupted it" in verdict.message
    assert verdict.message.startswith("Input: ")


def test_an_unknown_task_is_a_verdict_not_an_exception(capsys):
    verdict = check("atention", right)
    assert verdict.status == "error"
    assert 'Did you mean "attention"?' in capsys.readouterr().out
    hint("atention")
    assert 'Did you mean "attention"?' in capsys.readouterr().out


def test_a_check_that_fails_itself_is_a_verdict_too(monkeypatch, capsys):
    monkeypatch.setattr(commands, "_check", Mock(side_effect=RuntimeError("odd")))
    verdict = check("attention", right)
    assert (verdict.task, verdict.status) == ("attention", "error")
    assert verdict.message == "The check was cut short by RuntimeError: odd"
    assert verdict.message in capsys.readouterr().out


def test_a_verdict_that_cannot_be_shown_has_its_heading_printed(monkeypatch, capsys):
    monkeypatch.setattr(commands.Verdict, "show", Mock(side_effect=ValueError))
    assert check("attention", None).status == "not attempted"
    assert capsys.readouterr().out == "○ Not attempted: attention\n"


def test_hints_are_graduated_and_end_with_the_last(capsys, monkeypatch):
    monkeypatch.setattr(commands, "_hints_given", {})
    hints = find_task("attention_scores").hints
    for title, text in zip(
        ("1 of 3", "2 of 3", "3 of 3 (the last one)"), hints, strict=True
    ):
        hint("attention_scores")
        assert capsys.readouterr().out == f"Hint {title}: {text}\n"
    hint("attention_scores")
    assert f"Hint {title}: {text} No more hints: " in capsys.readouterr().out
    hint("mixture")
    assert "Hint 1 of 3: " in capsys.readouterr().out


def test_grade_returns_points_all_or_nothing():
    assert grade("attention", right) == 3.0
    assert type(grade("attention", right)) is float
    assert grade("attention", lambda q, k, v: right(q, k, v)[::-1]) == 0.0


def test_the_same_seed_gives_the_same_inputs_a_private_one_others():
    def seen(seed):
        sums = []
        judge("attention", lambda *x: sums.append(x[0].sum()) or right(*x), seed=seed)
        return torch.stack(sums).tolist()

    assert seen(1) == seen(1) != seen(2)


def test_what_is_drawn_behind_the_wall_begins_at_the_same_place():
    random.seed(5), np.random.seed(5), torch.manual_seed(5)
    with walled_off():
        drawn = random.random(), np.random.rand(), torch.rand(1)
    expected = random.Random(0).random(), np.random.RandomState(0).rand()
    assert drawn == (*expected, torch.rand(1, generator=torch.Generator().manual_seed(0)))
