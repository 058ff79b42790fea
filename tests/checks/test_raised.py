"""The questions about errors that no known mistake raises."""

import functools
import math
import re

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import attn_lib
from attn_lib.checks import judge
from attn_lib.checks.raised import QUESTIONS
from attn_lib.checks.served import _Call
from tests.checks.told import told


def head(forward):
    """Return a head with another `forward`."""
    return type("Head", (attn_lib.SelfAttention,), {"forward": forward})


def fits(q, k):
    return torch.einsum("bld,bsd->bls", q, k)


def hands_on(self, x):
    return fits(x, self.k_proj(x))


def deeper(q):
    return deeper(q)


class ForgetsSelf(attn_lib.SelfAttention):
    def forward(x):  # noqa: N805
        return x


class WithoutSuper(attn_lib.SelfAttention):
    def __init__(self, d_model, head_dim):
        self.q_proj = nn.Linear(d_model, head_dim)


ANSWERS = {
    "layer-without-self": head(lambda self, x: q_proj(x)),  # noqa: F821
    "name-not-there": lambda q, k: scores,  # noqa: F821
    "axes-of-a-shape": lambda q, k: [L for B, L in [q.shape]],
    "things-unpacked": lambda q, k: [a for a, b, c in [(q, k)]],
    "letters-of-an-einsum": lambda q, k: torch.einsum("bhld,bhsd->bhls", q, k),
    "vector-for-a-layer": head(lambda self, x: self.q_proj(x.flatten(1))),
    "handed-on": head(hands_on),
    "letter-of-two-sizes": lambda q, k: torch.einsum("bld,bd->bl", q, k[:, 0, 1:]),
    "letter-from-nowhere": lambda q, k: torch.einsum("bld,bsd->blx", q, k),
    "letter-twice": lambda q, k: torch.einsum("bld,bsd->bll", q, k),
    "arrow-of-an-einsum": lambda q, k: torch.einsum("bld,bsd>bls", q, k),
    "operands-of-an-einsum": lambda q, k: torch.einsum("bld->bls", q, k),
    "axes-before-a-product": lambda q, k: q.repeat(2, 1, 1) @ k.repeat(3, 1, 1).mT,
    "sizes-of-a-product": lambda q, k: q.flatten() @ k.flatten(),
    "sizes-that-do-not-line-up": lambda q, k: q.repeat(1, 2, 1) * k.repeat(1, 3, 1),
    "axes-of-what-is-joined": lambda q, k: torch.cat([q, k[0]]),
    "chances-that-are-none": lambda q, k: torch.zeros(3).multinomial(1),
    "sizes-of-a-reshape": lambda q, k: q.view(7, 7, 7),
    "layer-not-called": head(lambda self, x: fits(self.q_proj, self.k_proj)),
    "tuple-not-taken-apart": head(lambda self, x: attn_lib.einsum_attention(x, x, x) @ x),
    "self-not-counted": ForgetsSelf,
    "argument-missing": lambda q, k: fits(q),
    "function-not-called": lambda q, k: fits / math.sqrt(q.shape[-1]),
    "shape-for-a-size": lambda q, k: q @ k.mT / math.sqrt(q.shape),
    "size-is-no-tensor": lambda q, k: q @ k.mT / torch.sqrt(q.shape[-1]),
    "list-for-a-tensor": lambda q, k: q @ k.mT * [[0.5] * k.shape[1]] * q.shape[1],
    "number-in-a-product": lambda q, k: q @ 1 @ k.mT,
    "none-where-a-value-is-needed": head(lambda self, x: print() @ x),
    "axis-not-there": lambda q, k: (q @ k.mT).softmax(3),
    "index-too-large": lambda q, k: q[:, :, 99],
    "place-not-in-a-list": lambda q, k: [q][len(k) + 1],
    "smallest-of-nothing": lambda q, k: q[:, : min([])],
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
    "piece-longer-than-its-axis": lambda q, k: q.unfold(1, 99, 1),
    "nothing-to-reshape": lambda q, k: q[:0].reshape(0, -1),
    "calls-itself-too-often": lambda q, k: deeper(q),
    "divided-by-zero": lambda q, k: q / (1 / 0),
    "way-back-overwritten": lambda q, k: (
        q.exp().requires_grad_().exp().relu_().sum().backward()
    ),
    "one-number-in-many-places": lambda q, k: q.sum().expand(3).add_(1),
    "stacked-shapes-differ": lambda q, k: torch.stack([q, q[:, 1:]]),
    "nothing-to-stack": lambda q, k: torch.stack([]),
    "one-at-a-time": lambda q, k: torch.vmap(functools.partial(_Call.apply, None))(q)[0],
    "not-kept-in-self": head(lambda self, x: x / self.head_dim**0.5),
}


def test_every_question_has_an_answer_that_it_leads_out_of():
    assert list(ANSWERS) == list(QUESTIONS)


@pytest.mark.parametrize("mistake", ANSWERS)
def test_an_error_that_no_row_makes_is_asked_about(mistake):
    answer = ANSWERS[mistake]
    task = "SelfAttention" if isinstance(answer, type) else "attention_scores"
    verdict = judge(task, answer)
    assert (verdict.status, verdict.mistake) == ("error", mistake), str(verdict)
    assert verdict.question
    assert not re.search(r"[{}]", verdict.question)


@told(
    "SelfAttention",
    "width-of-a-layer",
    "that `k_proj` reads",
    "`k_proj.weight` should have",
)
def test_a_layer_of_another_width_that_no_row_makes_is_asked_about(d_model, head_dim):
    made = attn_lib.SelfAttention(d_model, head_dim)
    made.k_proj = nn.Linear(d_model + 3, head_dim + 2, bias=False)
    return made


def shape(q):
    return q.shape


@told(
    *("SelfAttention", "layer-not-called", "in shape: return q.shape"),
    "called in line",
    status="error",
    forward_of=attn_lib.SelfAttention,
)
def test_what_hands_on_the_wrong_thing_is_shown_with_the_line_that_fails(self, x):
    return shape(self.q_proj)


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
        (lambda q, k: (q, k) * k.mT, "list-for-a-tensor"),
        # What stands beside a product is not asked about the product, nor the other way round.
        (
            lambda q, k: (q @ k.mT).masked_fill(torch.ones(99) > 0, 0.0),
            "sizes-that-do-not-line-up",
        ),
        (lambda q, k: q @ k.mT + torch.ones(99), "sizes-that-do-not-line-up"),
    ],
)
def test_one_question_is_asked_about_all_the_words_of_an_error(answer, mistake):
    assert judge("attention_scores", answer).mistake == mistake


@pytest.mark.parametrize("error", [KeyError("a"), RuntimeError("other words"), TypeError()])
def test_an_error_of_other_words_gets_no_question(error):
    def answer(q, k):
        raise error

    assert judge("attention_scores", answer).question == ""


@told(
    "SelfAttention", "not-kept-in-self", status="error", forward_of=attn_lib.SelfAttention
)
def test_a_layer_that_is_misspelled_is_no_layer_not_called(self, x):
    return self.qproj(x)
