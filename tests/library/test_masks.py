import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attn_lib import (
    causal_mask,
    encoder_decoder_masks,
    masked_softmax,
    padding_mask,
    sliding_window_mask,
)
from tests.library.tools import TOLERANCE

lengths = st.integers(0, 7)


def test_each_query_sees_itself_and_the_past():
    expected = torch.tensor([[1, 0, 0], [1, 1, 0], [1, 1, 1]]).bool()
    assert torch.equal(causal_mask(3, 3), expected)


def test_the_last_query_sees_the_last_key():
    assert causal_mask(1, 5).all()
    expected = torch.tensor([[1, 1, 1, 0], [1, 1, 1, 1]]).bool()
    assert torch.equal(causal_mask(2, 4), expected)


def test_a_window_of_two_is_the_word_itself_and_one_before():
    expected = torch.tensor([[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]).bool()
    assert torch.equal(sliding_window_mask(4, 4, 2), expected)


@given(L=lengths, S=lengths, window=st.integers(1, 9))
def test_the_band_equals_its_definition(L, S, window):
    """Query i stands at position i + S - L of the keys; it sees the `window` keys up to there."""
    for mask, width in (
        (causal_mask(L, S), L + S + 1),
        (sliding_window_mask(L, S, window), window),
    ):
        expected = [[0 <= i + S - L - j < width for j in range(S)] for i in range(L)]
        assert mask.dtype == torch.bool
        assert mask.tolist() == expected


def test_padding_hides_what_comes_after_the_end_of_each_sentence():
    mask = padding_mask(torch.tensor([3, 0, 1]), 4)
    assert mask.shape == (3, 1, 1, 4)
    assert mask[:, 0, 0].int().tolist() == [[1, 1, 1, 0], [0, 0, 0, 0], [1, 0, 0, 0]]


def test_encoder_decoder_masks_hide_pads_wherever_they_stand_and_the_decoders_future():
    src = torch.tensor([[5, 6, 9, 9], [9, 7, 7, 5]])
    tgt = torch.tensor([[1, 5, 9], [1, 6, 7]])
    encoder, decoder, cross = encoder_decoder_masks(src, tgt, pad_id=9)
    assert encoder[:, 0, 0].int().tolist() == [[1, 1, 0, 0], [0, 1, 1, 1]]
    assert torch.equal(cross, encoder)
    assert decoder[0, 0].int().tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 0]]
    assert decoder[1, 0].int().tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_masked_softmax_shares_among_the_allowed_and_gives_zero_to_rows_without_any(dtype):
    scores = torch.tensor([[1.0, 2.0, 4.0], [9.0, 9.0, 9.0]], dtype=dtype)
    scores.requires_grad_()
    mask = torch.tensor([[True, True, False], [False, False, False]])
    weights = masked_softmax(scores, mask)
    small = 1 / (1 + math.e)
    expected = torch.tensor([[small, 1 - small, 0], [0, 0, 0]], dtype=dtype)
    torch.testing.assert_close(weights, expected, rtol=0, atol=TOLERANCE[dtype] * 2)
    assert (weights[~mask] == 0).all()
    (gradient,) = torch.autograd.grad(weights[:, 0].sum(), scores)
    assert gradient.isfinite().all()
    assert (gradient[~mask] == 0).all()
