"""What does not fit is refused with a ValueError that names what was expected and what came."""

import math
from functools import partial

import pytest
import torch
from torch import nn, ones, zeros

import attn_lib as lib
from attn_lib.data import captioned_digits, dates, docstrings, suitcase_sentences, text
from attn_lib.data.two_lookups import two_lookups
from attn_lib.generation import next_token
from attn_lib.llama import RopeTable
from attn_lib.quantization import dequantize_int8, quantize_int8

X, C = zeros(2, 5, 12), zeros(2, 7, 8)
MULTI = lib.MultiHeadAttention(12, 3)
GROUPED = lib.GroupedQueryAttention(16, 4, 2)
CROSS = lib.CrossAttention(12, 8, 3)
torchs = partial(nn.MultiheadAttention, 12, 3)
INT8 = torch.int8


def kernel(q, k, v, function=lib.einsum_attention, **options):
    return function(zeros(q), zeros(k), zeros(v), **options)


def masked(mask):
    return kernel((2, 5, 6), (2, 7, 6), (2, 7, 3), mask=mask)


def from_torch(**options):
    return lib.MultiHeadAttention.from_torch(torchs(**options))


def cached(cache, **options):
    GROUPED(zeros(1, 3, 16), cache=cache)
    return GROUPED(zeros(1, 1, 16), cache=cache, **options)


def updated(k, v=None):
    return lib.KVCache(2, 1, 4, 2).update(k, k if v is None else v)


def digits():
    images, labels = captioned_digits.scans()
    return captioned_digits.captioned_digits(images[labels != 7], labels[labels != 7], 1)


MASKS = [
    ("a window of at least 1 key, got 0", lambda: lib.sliding_window_mask(3, 3, 0)),
    (r"of shape \(B,\), got \(2, 3\)", lambda: lib.padding_mask(ones(2, 3).long(), 3)),
    (r"a boolean mask.* got torch.float32", lambda: masked(ones(5, 7))),
    (r"to \(2, 5, 7\) .* got \(2, 7\)", lambda: masked(ones(2, 7).bool())),
]
KERNELS = [
    (r"q \(\.\.\., L, D\).* got q \(6,\)", lambda: kernel(6, 6, 6)),
    (r"one head_dim D, .* k \(2, 7, 4\)", lambda: kernel((2, 5, 6), (2, 7, 4), (2, 7, 3))),
    (r"one value for each key", lambda: kernel((2, 5, 6), (2, 7, 6), (2, 5, 3))),
    (r"same leading sizes.* q \(2, 5", lambda: kernel((2, 5, 6), (3, 7, 6), (3, 7, 3))),
    (
        r"divide the query heads, got q \(2, 6, 5",
        lambda: kernel((2, 6, 5, 3), (2, 4, 7, 3), (2, 4, 7, 3)),
    ),
    *(
        ("expected queries and keys", partial(kernel, (3, 2), (3, 1), (3, 1), function))
        for function in (
            lib.fused_attention,
            lib.chunked_attention,
            partial(lib.sliding_window_attention, window=2),
        )
    ),
    (
        "chunks of at least 1 token, got 0",
        lambda: lib.chunked_attention(X, X, X, chunk_size=0),
    ),
    (
        "a window of at least 1 key, got 0",
        lambda: lib.sliding_window_attention(X, X, X, window=0),
    ),
]
MODULES = [
    (
        r"x of shape \(B, length, 10\), got \(5, 12\)",
        lambda: lib.SelfAttention(10, 6)(X[0]),
    ),
    (r"divisible by 3 heads, got \(2, 7, 8\)", lambda: lib.split_heads(C, 3)),
    (r"context of shape .*12\), got \(2, 7, 8\)", lambda: MULTI(X, C)),
    ("d_model, got d_model 12, num_heads 5", lambda: lib.MultiHeadAttention(12, 5)),
    ("got both", lambda: MULTI(X, X, cache=lib.KVCache(2, 3, 5, 4))),
    ("kdim = vdim = embed_dim", lambda: from_torch(kdim=8)),
    ("kdim = vdim = embed_dim", lambda: from_torch(vdim=8)),
    ("without add_bias", lambda: from_torch(add_bias_kv=True)),
    ("and add_zero", lambda: from_torch(add_zero_attn=True)),
    ("12, num_heads 4, num_kv_heads 3", lambda: lib.GroupedQueryAttention(12, 4, 3)),
    ("16, num_heads 3, num_kv_heads 1", lambda: lib.GroupedQueryAttention(16, 3, 1)),
    (r"length, 16\), got \(2, 5, 12\)", lambda: GROUPED(X)),
    (r"divisor of 3, got \(1, 2, 3, 5\)", lambda: lib.repeat_kv(zeros(1, 2, 3, 5), 3)),
    (r"x \(B, Hkv, S, D\) .* got \(2, 3, 5\)", lambda: lib.repeat_kv(zeros(2, 3, 5), 6)),
    (r"of 4 heads, .* got \(10, 3\)", lambda: lib.mean_pool_kv(zeros(10, 3), 4, 2)),
    ("to divide 4, .* num_kv_heads 3", lambda: lib.mean_pool_kv(zeros(8, 3), 4, 3)),
    ("d_model, got d_model 12, num_heads 5", lambda: lib.CrossAttention(12, 8, 5)),
    (r"context .* 8\), got \(2, 5, 12\)", lambda: CROSS(X, X)),
    (r"x .* 12\), got \(2, 7, 8\)", lambda: CROSS(C, C)),
    (
        r"context_mask of shape \(2, 7\) \(B, S\), got \(2, 5\)",
        lambda: CROSS(X, C, context_mask=ones(2, 5).bool()),
    ),
    (r"\(3,\).*got \(5, 3\)", lambda: lib.masked_heads(MULTI, X, ones(5, 3))),
    (r"\(B, length, 12\), got \(2, 7, 8\)", lambda: lib.masked_heads(MULTI, C, ones(3))),
    (r"\(3, 12\).*got \(12, 3\)", lambda: lib.gated_heads(MULTI, X, ones(12, 3))),
    (r"\(B, H, L, S\), got \(2, 5, 12\)", lambda: lib.diversity_loss(X)),
]
CACHES = [
    (
        r"to \(1, 4, 1, 4\).* got \(1, 3\)",
        lambda: cached(lib.KVCache(1, 2, 4, 4), mask=lib.causal_mask(1, 3)),
    ),
    ("at most 3 tokens, got 3 in the cache", lambda: cached(lib.KVCache(1, 2, 3, 4))),
    *(
        (r"expected k and v \(2, 1, L, 2\) of torch.float32", partial(updated, *new))
        for new in (
            [zeros(1, 1, 1, 2)],  # another batch
            [zeros(2, 3, 1, 2)],  # other heads
            [zeros(2, 1, 1, 2), zeros(2, 1, 2, 2)],  # another length of v
            [zeros(2, 1, 2)],  # no axis of heads
            [zeros(2, 1, 1, 2).half()],
        )
    ),
]
POSITIONS = [
    ("even d_model, got 5", lambda: lib.sinusoidal_positions(3, 5)),
    ("D even", lambda: lib.apply_rope(zeros(1, 1, 2, 3), torch.arange(2))),
    (r"\(3,\)", lambda: lib.apply_rope(zeros(1, 1, 2, 4), torch.arange(3))),
    ("power of two, got 6", lambda: lib.alibi_bias(6, 2, 2)),
    ("multiple of 4", lambda: lib.t5_bucket(torch.arange(3), 6)),
    ("32 and 8", lambda: lib.t5_bucket(torch.arange(3), 32, 8)),
    ("at most 4 positions, got 5", lambda: lib.LearnedPositions(4, 12).add(X)),
    ("at most 4 positions, got 5", lambda: RopeTable(12, 4, 1e5)(X[None], X[None])),
]
L4 = r"weights \(B, H, L, L\), got \(2, 3, 4, 5\)"
W, V = zeros(2, 3, 4, 5), zeros(2, 3, 5, 5)
PATTERNS = [
    (r"weights \(B, H, L, S\), got \(2, 5, 12\)", lambda: lib.attention_entropy(X)),
    (r"weights \(B, H, L, S\), got \(2, 5, 12\)", lambda: lib.weighted_value_norms(X, X)),
    (r"weights \(B, H, L, L\), got \(2, 5, 12\)", lambda: lib.offset_score(X, -1)),
    (L4, lambda: lib.mean_attention_distance(W)),
    (L4, lambda: lib.attention_rollout([W])),
    (L4, lambda: lib.induction_score(W, 2)),
    (L4, lambda: lib.offset_score(W, -1)),
    ("period from 1 to 5, got 0", lambda: lib.induction_score(V, 0)),
    ("period from 1 to 5, got 6", lambda: lib.induction_score(V, 6)),
    ("from -4 to 4, got -5", lambda: lib.offset_score(V, -5)),
    ("from -4 to 4, got 5", lambda: lib.offset_score(V, 5)),
    (r"values \(2, 3, 5, D\), got", lambda: lib.weighted_value_norms(W, V[0])),
    (r"values \(2, 3, 5, D\), got", lambda: lib.weighted_value_norms(W, V[:, :, :4])),
    (r"values \(2, 3, 5, D\), got", lambda: lib.weighted_value_norms(W, V[:1])),
    (r"values \(2, 3, 5, D\), got", lambda: lib.weighted_value_norms(W, V[:, :1])),
    ("expected layers", lambda: lib.attention_rollout([])),
    ("expected layers", lambda: lib.attention_rollout([V, V[:1]])),
    ("expected layers", lambda: lib.attention_rollout([V, V[..., :4, :4]])),
]
WEIGHTS = [
    (r"\(out, in\), got \(3,\)", lambda: quantize_int8(ones(3))),
    (r"got \(2, 5, 12\)", lambda: quantize_int8(X)),
    (r"got \(0, 3\)", lambda: quantize_int8(ones(0, 3))),
    ("finite", lambda: quantize_int8(torch.tensor([[1.0, math.nan]]))),
    ("finite", lambda: quantize_int8(torch.tensor([[1e300]], dtype=torch.float64))),
    (r"torch\.float32", lambda: dequantize_int8(ones(3, 3), ones(3, 1))),
    *(
        (r"scale \(out, 1\)", partial(dequantize_int8, ones(3, 3, dtype=INT8), scale))
        for scale in (ones(3), ones(1, 3), ones(2, 1), torch.tensor(1.0))
    ),
]
MODELS = [
    *(
        (
            "0 <= temperature < inf and 0 < top_p <= 1",
            partial(next_token, X[0, 0], *options),
        )
        for options in ((-1.0, 1), (math.nan, 1), (math.inf, 1), (1.0, 0.0), (1.0, 1.1))
    ),
    (
        r"ids \(B, L\), got \(2, 5, 12\)",
        lambda: lib.next_token_loss(X, C[..., 0].long(), 0),
    ),
    (
        r"patches of 2 fill, got \(3, 9\)",
        lambda: lib.Forecaster(4, 8, 2, 1, patch=2)(ones(3, 9)),
    ),
    *(
        ("expected", partial(lib.patchify, zeros(shape), 2))
        for shape in ((2, 4, 6), (1, 2, 5, 6), (1, 2, 4, 5))
    ),
]
DAY = dates.date(2024, 3, 3)
DATA = [
    ("a style of .*medium.*, got 'short'", lambda: dates.write_date(DAY, "de", "short")),
    ("that Babel knows.* got 'xx'", lambda: dates.write_date(DAY, "xx", "long")),
    ("a locale.* got 'not one'", lambda: dates.write_date(DAY, "not one", "long")),
    ("at most 365 .* got 366", lambda: dates.date_pairs(366, years=(2023, 2023))),
    ("got -1", lambda: dates.date_pairs(-1)),
    ("at least one locale, got none", lambda: dates.date_pairs(1, locales=[])),
    ("of 'ab', got 'd' in 'bad'", lambda: dates.Characters(["ab"]).encode(["bad"])),
    ("from 0 to 4, got 5", lambda: dates.Characters(["ab"]).decode(torch.tensor([[5]]))),
    ("1 words, got 2", lambda: docstrings.Words([["a"]], 3).encode([["a", "a"]], length=1)),
    (r"row of ids \(L,\), got shape \(2, 5, 12\)", lambda: suitcase_sentences.text(X)),
    ("from 0 to 27, got 0 to 99", lambda: suitcase_sentences.text(torch.tensor([0, 99]))),
    ("got -1 to -1", lambda: suitcase_sentences.text(torch.tensor([-1]))),
    ("at least one character, got an empty", lambda: text.encode("")),
    (r"N at least 7, .* got \(6,\)", lambda: text.random_windows(torch.arange(6), 7, 1)),
    (r"got \(2, 5, 12\)", lambda: text.random_windows(X.long(), 3, 1)),
    ("at least 1 sentence, got 0", lambda: two_lookups(0, None)),
    ("all digits 0 to 9", digits),
]


@pytest.mark.parametrize(
    ("says", "call"),
    [
        *(*MASKS, *KERNELS, *MODULES, *CACHES, *POSITIONS),
        *(*PATTERNS, *WEIGHTS, *MODELS, *DATA),
    ],
)
def test_value_error_names_what_was_expected_and_what_came(says, call):
    with pytest.raises(ValueError, match=says):
        call()
