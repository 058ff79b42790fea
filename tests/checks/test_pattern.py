"""A result that no known mistake makes is asked about what its failing inputs have in common."""

import pytest
import torch

import attn_lib
from attn_lib.checks import judge
from attn_lib.tasks.lesson_09.decoder_block import DecoderBlock as Right


def sinusoidal(length, d_model, angles=lambda a: a, rows=10**9):
    i = torch.arange(d_model // 2, dtype=torch.float64)
    places = torch.arange(length, dtype=torch.float64)[:, None]
    table = angles(places * 10000 ** (-2 * i / d_model))
    table[rows:] = 0
    return torch.stack([table.sin(), table.cos()], -1).flatten(1).float()


def one_head(num_heads, q_len, kv_len):
    bias = attn_lib.alibi_bias(num_heads, q_len, kv_len)
    return bias * 128 if num_heads == 1 else bias


class MaskNeedsMask(Right):
    def forward(self, x, context, mask=None, context_mask=None):
        return super().forward(x, context, mask, None if mask is None else context_mask)


@pytest.mark.parametrize(
    ("task", "answer", "mistake", "told"),
    [
        (
            "sinusoidal_positions",
            lambda n, E: sinusoidal(n, E, lambda a: a + a.cos() / 700),
            "rounded",
            "",
        ),
        (
            "sinusoidal_positions",
            lambda n, E: sinusoidal(n, E, rows=int("1500")),
            "larger-ones-only",
            "",
        ),
        (
            "sinusoidal_positions",
            lambda n, E: sinusoidal(n, E, lambda a: 1.5 * a),
            None,
            "",
        ),
        ("alibi_bias", one_head, "some-sizes-only", "inputs with `num_heads` = 1 go wrong"),
        (
            "DecoderBlock",
            MaskNeedsMask,
            "some-inputs-only",
            "no `mask` and a `context_mask`",
        ),
    ],
)
def test_what_failing_inputs_share_is_asked_about(task, answer, mistake, told):
    verdict = judge(task, answer)
    assert verdict.status == "wrong"
    assert verdict.mistake == mistake
    assert bool(verdict.question) == (mistake is not None)
    assert told in verdict.question


def test_nothing_is_said_of_size_where_an_input_raises():
    def refuses(length, d_model):
        if length > 1500:
            raise OverflowError("too long")
        return sinusoidal(length, d_model)

    assert judge("sinusoidal_positions", refuses).mistake != "larger-ones-only"
    assert judge("sinusoidal_positions", sinusoidal).status == "passed"
