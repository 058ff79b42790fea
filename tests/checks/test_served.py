"""A function that an answer calls and cannot look into: its results, its gradients, its errors."""

import contextlib
import threading

import pytest
import torch

from attn_lib.checks.case import Wrong
from attn_lib.checks.served import Served, calls

X, Y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])


class Hostile(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        raise RuntimeError("no")


def product(x, y, scale=None):
    return x * y if scale is None else x * y * scale


@pytest.fixture(params=[True, False], ids=["ours", "theirs"])
def is_ours(request):
    return request.param


def test_it_returns_what_the_function_does_and_where_it_should(is_ours):
    threads = []

    def noted(*given):
        threads.append(threading.current_thread())
        return product(*given)

    with calls(Served(noted), is_ours=is_ours) as (function,):
        assert function(X, Y).tolist() == [3.0, 8.0]
        assert function(X, Y, None).tolist() == [3.0, 8.0]
        assert not function(X.int(), Y.int()).requires_grad
        inside = threading.current_thread()
        assert [thread is inside for thread in threads] == [is_ours] * 3
        assert all(thread.daemon for thread in threads if thread is not inside)
    assert not any(thread.is_alive() for thread in threads if thread is not inside)
    with calls(None, is_ours=is_ours) as functions:
        assert functions == []


def test_gradients_are_those_of_the_function(is_ours):
    x, y, number = X.clone().requires_grad_(), Y.clone().requires_grad_(), torch.tensor(2)
    with calls(Served(product), is_ours=is_ours) as (function,):
        (function(x, y, number) * torch.tensor([1.0, 10.0])).sum().backward()
        assert function(x, y).requires_grad
        assert function(X.clone().requires_grad_(), Y).requires_grad
    assert x.grad.tolist() == [6.0, 80.0]
    assert y.grad.tolist() == [2.0, 40.0]


def test_what_does_not_matter_to_the_function_gets_no_gradient():
    x, y = X.clone().requires_grad_(), Y.clone().requires_grad_()
    with calls(Served(lambda x, y: x * 2), is_ours=False) as (function,):
        function(x, y).sum().backward()
    assert (x.grad.tolist(), y.grad) == ([2.0, 2.0], None)


@pytest.mark.parametrize("without_gradients", [torch.argsort, torch.Tensor.detach])
def test_a_function_without_gradients_cuts_them_off(without_gradients):
    with calls(Served(without_gradients), is_ours=False) as (function,):
        assert not function(X.clone().requires_grad_()).requires_grad


def test_the_function_gets_plain_copies_and_cannot_be_changed_through_them():
    given = []

    def keeps(x):
        given.append(x)
        return x.detach().add_(1)

    with calls(Served(keeps), is_ours=False) as (function,):
        result = function(X.as_subclass(Hostile))
        assert type(given[0]) is torch.Tensor
        assert given[0].data_ptr() != X.data_ptr()
        assert type(result) is torch.Tensor
        assert X.tolist() == [1.0, 2.0]


def test_what_it_refuses_raises_the_same_in_both_ways(is_ours):
    asked = []

    def before(x, y):
        asked.append(x)
        if (x < 0).any():
            raise Wrong("refused", "negative")

    x = X.clone().requires_grad_()
    held = contextlib.nullcontext() if is_ours else pytest.raises(Wrong, match="negative")
    with held, calls(Served(product, before), is_ours=is_ours) as (function,):
        function(x, Y).sum().backward()
        assert len(asked) == 1  # not for the gradients
        with pytest.raises(Wrong, match=r"^negative$") as raised:
            function(-X, Y)
        assert raised.value.kind == "refused"
        with pytest.raises(RuntimeError, match=r"^RuntimeError: The size of") as raised:
            function(X, torch.ones(3))
        assert raised.value.__cause__ is None


def test_only_tensors_pass():
    with calls(Served(product), is_ours=False) as (function,):
        with pytest.raises(TypeError, match="expected a tensor or None, got int"):
            function(X, 3)
        assert function(X, Y).tolist() == [3.0, 8.0]


class Counting:
    """Serves how often it was called since it began."""

    def __init__(self):
        self.count = 0

    def begin(self):
        return Counting()

    def __call__(self, given, gradient):
        self.count += 1
        if self.count > 2:
            raise ValueError("too often")
        return [torch.tensor(float(self.count)), False]


def test_what_remembers_its_calls_begins_anew_in_each_run(is_ours):
    serves = Counting()
    for _ in range(2):
        with calls(serves, is_ours=is_ours) as (function,):
            assert [function(X).item(), function(X).item()] == [1.0, 2.0]
            error, said = (ValueError, "") if is_ours else (RuntimeError, "ValueError: ")
            with pytest.raises(error, match=f"^{said}too often$"):
                function(X)
    assert serves.count == 0


@pytest.mark.filterwarnings("ignore:.*jit.script")
def test_a_derivative_forward_is_that_of_a_function_to_one_number():
    with calls(Served(lambda x, y: (x * y).sum()), is_ours=False) as (function,):
        _, tangent = torch.func.jvp(function, (X, Y), (torch.ones(2), torch.zeros(2)))
        gradients = torch.func.grad(function, argnums=(0, 1))(X, Y)
    assert tangent.item() == 7.0
    assert [g.tolist() for g in gradients] == [Y.tolist(), X.tolist()]


def test_a_call_cannot_be_differentiated_twice_nor_vectorized():
    x = X.clone().requires_grad_()
    with calls(Served(lambda x: (x**3).sum()), is_ours=False) as (function,):
        (gradient,) = torch.autograd.grad(function(x), x, create_graph=True)
        with pytest.raises(RuntimeError, match="does not require grad"):
            gradient.sum().backward()
        with pytest.raises(RuntimeError, match="one input at a time"):
            torch.func.vmap(function)(torch.ones(3, 2))


def test_a_refusal_counts_also_where_the_answer_hides_it():
    def refuses(*given):
        raise Wrong("no", "Not this.")

    def hides(served):
        with calls(served, is_ours=False) as (function,), contextlib.suppress(Exception):
            function(X, Y)

    hides(Served(lambda x, y: x / "no"))  # a plain error may be awaited
    with pytest.raises(Wrong, match="Not this"):
        hides(Served(product, before=refuses))
