"""What is noted of one call: arguments in and out, results, gradients, errors."""

import warnings
from collections import namedtuple
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from attn_lib.checks import observe as observing
from attn_lib.checks.case import Case, Wrong
from attn_lib.checks.observe import attempt, named_tensors, observe, walled_off

Pair = namedtuple("Pair", "a b")
X, Y = torch.tensor([1.0, 2.0]), torch.tensor([[3.0, 4.0], [5.0, 6.0]])


def case(*args, **options):
    return Case("an input", args, **options)


def test_tensors_are_named_by_their_paths():
    args = (X, [Y, (X,)], {"mask": Y, "sizes": [1, X]}, 3)
    names = {"0": X, "1.0": Y, "1.1.0": X, "2.mask": Y, "2.sizes.1": X}
    found = named_tensors(args)
    assert found.keys() == names.keys()
    assert all(found[name] is tensor for name, tensor in names.items())


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (lambda x, y: None, []),
        (lambda x, y: x.add_(1), ["0"]),
        (lambda x, y: y[1].zero_(), ["1.1"]),
        (lambda x, y: y.append(x), ["1.2"]),
        (lambda x, y: y.pop(), ["1.1"]),
        (lambda x, y: x.resize_(1), ["0"]),
        (lambda x, y: x.fill_(torch.nan), ["0"]),
        (lambda x, y: y[0].mul_(2), ["1.0"]),
    ],
)
def test_arguments_that_are_not_as_they_were_are_listed(change, names):
    special = torch.tensor([torch.nan, 1.0])
    outcome = observe(lambda x, y: (change(x, y), x.sum()), case(X, [special, Y]))
    assert outcome.error is None
    assert outcome.changed == names
    assert X.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("gradients", [False, True])
def test_an_answer_gets_copies_that_lie_in_memory_as_the_inputs_do(gradients):
    seen = []

    def answer(transposed, whole, sizes, more):
        seen.extend([transposed, whole, *more, sizes])
        return transposed.sum()

    inputs = Y.mT, torch.arange(3), 2, [X]
    outcome = observe(answer, case(*inputs), gradients=gradients)
    transposed, whole, x, sizes = seen
    assert transposed.stride() == (1, 2)
    assert transposed.data_ptr() != Y.data_ptr()
    assert (transposed.requires_grad, whole.requires_grad) == (gradients, False)
    assert x.requires_grad == gradients
    assert sizes == 2
    names = {"0", "3.0"} if gradients else set()
    assert outcome.gradients.keys() == names
    assert outcome.gradients.get("3.0") is None
    if gradients:
        assert outcome.gradients["0"].unique().numel() == 1  # that of a sum


def test_gradients_are_those_of_a_mixture_of_all_float_results():
    def answer(x, y):
        return x * 2, y.sum() + x.sum(), (x > 0), 3, "text"

    outcome = observe(answer, case(X, Y), gradients=True)
    rng = torch.Generator().manual_seed(0)
    first = torch.randn(2, generator=rng, dtype=torch.float64)
    second = torch.randn((), generator=rng, dtype=torch.float64)
    torch.testing.assert_close(outcome.gradients["0"], (2 * first + second).float())
    torch.testing.assert_close(outcome.gradients["1"], second.float().expand(2, 2))
    detached = observe(lambda x, y: x.detach(), case(X, Y), gradients=True)
    assert detached.gradients == {"0": None, "1": None}


def test_a_named_tuple_among_the_results_is_several_values():
    outcome = observe(lambda x: Pair(x, 2), case(X))
    assert (outcome.is_sequence, outcome.values[1]) == (True, 2)
    assert len(outcome.values) == 2
    one = observe(lambda x: x, case(X))
    assert (one.is_sequence, len(one.values)) == (False, 1)


def test_an_array_of_numpy_is_not_nothing():
    assert not observe(lambda x: np.ones(2), case(X)).is_nothing
    assert observe(lambda x: None, case(X)).is_nothing


@pytest.mark.parametrize(
    ("answer", "untouched"),
    [
        (lambda x: None, True),
        (lambda x: ..., True),
        (lambda x: x, False),
        (lambda x: [None], False),
    ],
)
def test_a_stub_is_untouched(answer, untouched):
    assert observe(answer, case(X)).untouched is untouched


def raising(error):
    def answer(x):
        raise error

    return answer


class Silent(Exception):
    """An error without words."""


@pytest.mark.parametrize(
    ("error", "kind", "text", "begins"),
    [
        (TypeError("no"), "TypeError", "no", "TypeError: no\n    line "),
        (UnicodeError("no"), "ValueError", "no", "UnicodeError: no\n    line "),
        (Silent(), "Silent", "", "Silent\n    line "),
        (
            RecursionError("deep"),
            "RecursionError",
            "deep",
            "RecursionError: deep (the function calls itself too often)\n    line ",
        ),
        (ValueError("x" * 900), "ValueError", "x" * 900, f"ValueError: {'x' * 600}\n    "),
        (
            SystemExit(),
            "SystemExit",
            "",
            "SystemExit (an answer may not end the program)\n    line ",
        ),
        (NotImplementedError("todo"), "NotImplementedError", "todo", "NotImplemented"),
    ],
)
def test_an_error_is_kept_in_words_with_the_learners_line(error, kind, text, begins):
    outcome = observe(raising(error), case(X))
    assert (outcome.error.kind, outcome.error.text) == (kind, text)
    assert outcome.error.explanation.startswith(begins)
    assert outcome.error.explanation.endswith(", in answer: raise error")
    (frame,) = outcome.error.frames
    assert frame.function == "answer"
    assert frame.line == raising.__code__.co_firstlineno + 2
    assert outcome.error.is_wrong is False
    assert outcome.interrupted is False
    assert outcome.untouched is isinstance(error, NotImplementedError)
    ours = attempt(raising(error), case(X), is_ours=True).error
    assert (ours.kind, ours.text, ours.frames) == (kind, text, ())


def test_a_wrong_use_is_told_apart_from_other_errors():
    for is_ours in (False, True):
        assert attempt(
            raising(Wrong("kind", "no")), case(X), is_ours=is_ours
        ).error.is_wrong


def test_an_operation_that_pytorch_lacks_is_no_stub():
    for text in ("'cumsum' not implemented for 'Bool'", "Could not run 'aten::x' with"):
        assert not observe(raising(NotImplementedError(text)), case(X)).untouched


def test_an_interruption_ends_the_call_and_is_noted():
    for tried in (observe, attempt):
        outcome = tried(raising(KeyboardInterrupt()), case(X))
        assert outcome.interrupted
        assert outcome.error.kind == "KeyboardInterrupt"


def test_an_interruption_before_the_call_is_noted_too(monkeypatch):
    monkeypatch.setattr(observing, "attempt", Mock(side_effect=KeyboardInterrupt))
    outcome = observe(lambda x: x, case(X))
    assert (outcome.interrupted, outcome.error.kind) == (True, "KeyboardInterrupt")


def test_a_case_makes_what_is_compared_of_what_came_back():
    def finish(returned, x):
        if isinstance(returned, tuple):
            return returned[0] + x, "two"
        if returned.isnan().any():
            raise Wrong("kind", "nan")
        return returned * 2

    one = case(X, finish=finish)
    assert observe(lambda x: x, one).values[0].tolist() == [2.0, 4.0]
    two = observe(lambda x: [x, x], one)
    assert (two.values[0].tolist(), two.values[1], two.is_sequence) == ([2, 4], "two", True)
    for is_ours in (False, True):
        wrong = attempt(lambda x: x * torch.nan, one, is_ours=is_ours)
        assert (wrong.error.text, wrong.error.is_wrong, wrong.values) == ("nan", True, [])
    assert observe(lambda x: None, one).untouched
    assert observe(raising(TypeError("no")), one).error.kind == "TypeError"


def test_what_a_known_mistake_does_to_its_arguments_is_not_looked_at():
    outcome = attempt(lambda x: x.add_(1), case(X), is_ours=True)
    assert (outcome.after, outcome.changed) == ({}, [])
    assert attempt(lambda x: x.add_(1), case(X)).after["0"].tolist() == [2.0, 3.0]


def test_warnings_are_noted_each_time_they_come():
    def answer(x):
        for _ in range(2):
            warnings.warn("careful", stacklevel=1)
        return x

    assert observe(answer, case(X)).printed == "UserWarning: careful\n" * 2


def test_behind_the_wall_gradients_are_on_and_autocast_is_off():
    with torch.no_grad(), torch.inference_mode(), torch.autocast("cpu"), walled_off():
        assert torch.is_grad_enabled()
        assert not torch.is_inference_mode_enabled()
        assert not torch.is_autocast_enabled("cpu")
        print("nothing of this is seen")


def test_a_fixed_mixture_needs_a_result_that_can_be_differentiated():
    outcome = observe(lambda x: x.detach().requires_grad_(), case(X), gradients=True)
    assert outcome.gradients == {"0": None}


def test_arguments_lie_in_memory_as_they_were_given():
    seen = []
    every_other = torch.arange(10.0)[1::2]
    turned = torch.randn(2, 3, 4).transpose(0, 2)
    for given in (every_other, turned):
        observe(seen.append, case(given))
        assert seen[-1].stride() == given.stride()
        assert seen[-1].equal(given)


def test_random_numbers_are_noticed_in_functions():
    assert observe(lambda x: torch.dropout(x, 0.5, True), case(X)).drew
    assert not observe(lambda x: x.cumsum(0), case(X)).drew
