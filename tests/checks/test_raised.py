"""The questions about errors that no known mistake raises."""

import math
import re

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import attn_lib
from attn_lib.checks import judge
from attn_lib.checks.raised import QUESTIONS


class Raising(attn_lib.SelfAttention):
    """A head that asks something else in `forward`."""

    def forward(self, x):
        return self.raise_it(x)


class WithoutSelf(Raising):
    def raise_it(self, x):
        return q_proj(x)  # noqa: F821


class HandsOnItsLayers(Raising):
    def raise_it(self, x):
        return attn_lib.einsum_attention(self.q_proj, self.k_proj, self.v_proj)


class HandsOnTheWrongTensors(Raising):
    def raise_it(self, x):
        return fits(x, self.k_proj(x))


def fits(q, k):
    return torch.einsum("bld,bsd->bls", q, k)


class ForgetsSelf(attn_lib.SelfAttention):
    def forward(x):  # noqa: N805
        return x


class SharesOutATuple(Raising):
    def raise_it(self, x):
        return attn_lib.einsum_attention(x, x, x) @ x


class ReadsTheWrongAxis(Raising):
    def raise_it(self, x):
        return self.q_proj(x.flatten(1))


class ReturnsNothing(Raising):
    def raise_it(self, x):
        return print() @ x


class KeepsNothing(Raising):
    def raise_it(self, x):
        return x / self.head_dim**0.5


class WithoutSuper(Raising):
    def __init__(self, d_model, head_dim):
        self.q_proj = nn.Linear(d_model, head_dim)


ANSWERS = {
    "layer-without-self": WithoutSelf,
    "name-not-there": lambda q, k: scores,  # noqa: F821
    "axes-of-a-shape": lambda q, k: [L for B, L in [q.shape]],
    "things-unpacked": lambda q, k: [a for a, b, c in [(q, k)]],
    "letters-of-an-einsum": lambda q, k: torch.einsum("bhld,bhsd->bhls", q, k),
    "vector-for-a-layer": ReadsTheWrongAxis,
    "handed-on": HandsOnTheWrongTensors,
    "letter-of-two-sizes": lambda q, k: torch.einsum("bld,bd->bl", q, k[:, 0, 1:]),
    "letter-from-nowhere": lambda q, k: torch.einsum("bld,bsd->blx", q, k),
    "letter-twice": lambda q, k: torch.einsum("bld,bsd->bll", q, k),
    "arrow-of-an-einsum": lambda q, k: torch.einsum("bld,bsd>bls", q, k),
    "operands-of-an-einsum": lambda q, k: torch.einsum("bld->bls", q, k),
    "axes-before-a-product": lambda q, k: q.repeat(2, 1, 1) @ k.repeat(3, 1, 1).mT,
    "sizes-of-a-product": lambda q, k: q.flatten() @ k.flatten(),
    "sizes-that-do-not-line-up": lambda q, k: q.repeat(1, 2, 1) * k.repeat(1, 3, 1),
    "sizes-of-a-reshape": lambda q, k: q.view(7, 7, 7),
    "layer-not-called": HandsOnItsLayers,
    "tuple-not-taken-apart": SharesOutATuple,
    "self-not-counted": ForgetsSelf,
    "argument-missing": lambda q, k: fits(q),
    "function-not-called": lambda q, k: fits / math.sqrt(q.shape[-1]),
    "shape-for-a-size": lambda q, k: q @ k.mT / math.sqrt(q.shape),
    "size-is-no-tensor": lambda q, k: q @ k.mT / torch.sqrt(q.shape[-1]),
    "list-for-a-tensor": lambda q, k: q @ k.mT * [[0.5] * k.shape[1]] * q.shape[1],
    "number-in-a-product": lambda q, k: q @ 1 @ k.mT,
    "none-where-a-value-is-needed": ReturnsNothing,
    "axis-not-there": lambda q, k: (q @ k.mT).softmax(3),
    "index-too-large": lambda q, k: q[:, :, 99],
    "dtypes-meet": lambda q, k: q @ k.to(torch.complex64).mT,
    "view-needs-one-piece": lambda q, k: k.repeat(1, 2, 1).mT.view(-1),
    "size-is-a-float": lambda q, k: q @ k.reshape(len(k), 8 / 2, -1),
    "equation-first": lambda q, k: torch.einsum(q, k, "bld,bsd->bls"),
    "truth-of-many": lambda q, k: q @ k.mT if (k > 0) else q,
    "super-forgotten": WithoutSuper,
    "rows-of-two-lengths": lambda q, k: torch.tensor([[1.0, 2.0], [3.0]]),
    "one-list-of-tensors": lambda q, k: torch.cat(q, k, dim=1),
    "values-and-places": lambda q, k: torch.where(q > 0, q.max(-1), q),
    "in-place-too-small": lambda q, k: q[0].clone().add_(q[None]),
    "mask-as-index": lambda q, k: q[torch.ones(1, 99, dtype=torch.bool)],
    "mask-does-not-line-up": lambda q, k: attn_lib.einsum_attention(
        q, k, k, mask=torch.ones(99, 1, 1, dtype=torch.bool)
    ),
    "backward-twice": lambda q, k: [
        torch.autograd.grad(square, number)
        for number in [torch.ones((), requires_grad=True)]
        for square in [number**2]
        for _ in range(2)
    ],
    "three-axes-for-bmm": lambda q, k: torch.bmm(q[None], k[None]),
    "math-of-many-numbers": lambda q, k: q @ k.mT / math.sqrt(k.square().sum(-1)),
    "one-number-of-many": lambda q, k: float(q.flatten()[:1].repeat(2)),
    "attribute-not-there": lambda q, k: (q @ k.mT).boolean(),
    "range-in-a-sum": lambda q, k: q * abs(range(q.shape[1]) - range(k.shape[1])),
    "index-of-a-gather": lambda q, k: q.gather(-1, torch.arange(q.shape[1])),
    "tilde-of-numbers": lambda q, k: q[~torch.eye(2)],
    "name-not-in-attn": lambda q, k: [
        attn.head_dim for attn in [attn_lib.MultiHeadAttention(8, 2)]
    ],
    "index-is-a-float": lambda q, k: q[torch.arange(2) / 2],
    "numpy-has-no-gradient": lambda q, k: q.clone().requires_grad_().numpy(),
    "dtype-that-numpy-lacks": lambda q, k: q.bfloat16().numpy(),
    "not-kept-in-self": KeepsNothing,
}


def test_every_question_has_an_answer_that_it_leads_out_of():
    assert list(ANSWERS) == [id for id, *_ in QUESTIONS]


@pytest.mark.parametrize("mistake", ANSWERS)
def test_an_error_that_no_row_makes_is_asked_about(mistake):
    answer = ANSWERS[mistake]
    task = "SelfAttention" if isinstance(answer, type) else "attention_scores"
    verdict = judge(task, answer)
    assert (verdict.status, verdict.mistake) == ("error", mistake), str(verdict)
    assert verdict.question
    assert not re.search(r"[{}]", verdict.question)


def test_a_layer_of_another_width_that_no_row_makes_is_asked_about():
    class Head(attn_lib.SelfAttention):
        def __init__(self, d_model, head_dim):
            super().__init__(d_model, head_dim)
            self.k_proj = nn.Linear(d_model + 3, head_dim + 2, bias=False)

    verdict = judge("SelfAttention", Head)
    assert (verdict.status, verdict.mistake) == ("wrong", "width-of-a-layer"), str(verdict)
    assert "that `k_proj` reads" in verdict.question
    assert "`k_proj.weight` should have shape" in verdict.evidence


def test_a_tuple_in_a_product_is_called_a_tuple():
    verdict = judge("attention_scores", lambda q, k: (q, k) * k.mT)
    assert (verdict.mistake, "a tuple" in verdict.question) == ("list-for-a-tensor", True)


def test_what_hands_on_the_wrong_thing_is_shown_with_the_line_that_fails():
    def inner(q):
        return q.shape

    class Head(attn_lib.SelfAttention):
        def forward(self, x):
            return inner(self.q_proj)

    evidence = judge("SelfAttention", Head).evidence
    assert "in inner: return q.shape" in evidence
    assert "in forward: return inner(self.q_proj)" in evidence


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [
        (lambda q, k: torch.zeros(8 / 2, 3), "size-is-a-float"),
        (lambda q, k: q.chunk(8 / 2), "size-is-a-float"),
        (lambda q, k: [nn.Linear(3, 8 / 2)], "size-is-a-float"),
        (lambda q, k: q.repeat(8 / 2, 1, 1), "size-is-a-float"),
        (lambda q, k: q.repeat_interleave(8 / 2, dim=0), "size-is-a-float"),
        (lambda q, k: q.view(8 / 2, -1), "size-is-a-float"),
        (lambda q, k: q.unflatten(-1, (8 / 2, -1)), "size-is-a-float"),
        (lambda q, k: [q for _ in range(8 / 2)], "size-is-a-float"),
        (lambda q, k: F.scaled_dot_product_attention(q, k.double(), k), "dtypes-meet"),
        (lambda q, k: (q @ k.mT).item(), "one-number-of-many"),
        (lambda q, k: q.max(-1)[:, None], "values-and-places"),
        (lambda q, k: torch.abs((q, k)), "tuple-not-taken-apart"),
        # What stands beside a product is not asked about the product, nor the other way round.
        (
            lambda q, k: (q @ k.mT).masked_fill(torch.ones(99) > 0, 0.0),
            "sizes-that-do-not-line-up",
        ),
        (lambda q, k: q @ k.mT + torch.ones(99), "sizes-of-a-product"),
    ],
)
def test_one_question_is_asked_about_all_the_words_of_an_error(answer, mistake):
    assert judge("attention_scores", answer).mistake == mistake


@pytest.mark.parametrize("error", [KeyError("a"), RuntimeError("other words"), TypeError()])
def test_an_error_of_other_words_gets_no_question(error):
    def answer(q, k):
        raise error

    assert judge("attention_scores", answer).question == ""


def test_a_layer_of_a_module_is_no_layer_not_called():
    """An attribute that is misspelled is named by the message itself."""

    class Head(attn_lib.SelfAttention):
        def __init__(self, d_model, head_dim):
            super().__init__(d_model, head_dim)
            self.norm = nn.LayerNorm(head_dim)

        def forward(self, x):
            return self.qproj(x)

    assert judge("SelfAttention", Head).mistake == "not-kept-in-self"


def test_an_error_that_only_a_gradient_brings_is_asked_about_too():
    verdict = judge("repeat_kv", by_way_of_numpy)
    assert "with inputs that need gradients" in verdict.evidence
    assert verdict.mistake == "numpy-has-no-gradient"


def by_way_of_numpy(x, num_heads):
    return torch.tensor(x.numpy().repeat(num_heads // x.shape[1], axis=1)).to(x.dtype)
