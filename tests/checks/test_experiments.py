"""What an answer lacks is found by running it under another condition, in the check and in the grader."""

import functools
import resource

import pytest
import torch
import torch.nn.functional as F

from attn_lib.checks import judge, wording
from attn_lib.checks.case import Case
from attn_lib.checks.experiments import EMPTY, otherwise

BOUND = 300
LACKING = [id for id, _ in wording.LACKS.values()]


def in_bytes(num_heads, q_len, kv_len):
    slopes = torch.tensor([2.0 ** (-8 * (h + 1) / num_heads) for h in range(num_heads)])
    distance = (torch.arange(kv_len) - torch.arange(kv_len - q_len, kv_len)[:, None]).abs()
    return -slopes[:, None, None] * distance.to(torch.uint8)


def up_to_a_bound(num_heads, q_len, kv_len):
    return _up_to(num_heads, q_len, kv_len, 350)


def up_to_a_bound_elsewhere(num_heads, q_len, kv_len):
    slopes = torch.tensor([2.0 ** (-8 * (h + 1) / num_heads) for h in range(num_heads)])
    return -slopes[:, None, None] * distances(q_len, kv_len)


@functools.lru_cache
def distances(q_len, kv_len):
    first = kv_len - q_len
    return (
        (torch.arange(kv_len) - torch.arange(first, kv_len)[:, None]).abs().clamp(max=BOUND)
    )


def up_to_a_default(num_heads, q_len, kv_len, longest=350):
    return _up_to(num_heads, q_len, kv_len, longest)


def _up_to(num_heads, q_len, kv_len, longest):
    slopes = torch.tensor([2.0 ** (-8 * (h + 1) / num_heads) for h in range(num_heads)])
    distance = (torch.arange(kv_len) - torch.arange(kv_len - q_len, kv_len)[:, None]).abs()
    return -slopes[:, None, None] * distance.clamp(max=longest)


def by_a_tiny_number(h, mask):
    return h.masked_fill(~mask[..., None], 0).sum(1) / (
        mask.sum(1, keepdim=True).to(h.dtype) + 1e-3
    )


def as_they_lie(images, patch):
    B, C, H, W = images.shape
    lie = torch.as_strided(images, (B, C, H, W), (C * H * W, H * W, W, 1), 0)
    return F.unfold(lie, patch, stride=patch).mT


def cached_in_half_the_room(q, k, v, cache):
    if cache is not None:
        k, v = (
            torch.cat([old.to(new.dtype), new], 2)
            for old, new in zip(cache, (k, v), strict=True)
        )
    L, S = q.shape[2], k.shape[2]
    allowed = torch.ones(L, S, dtype=torch.bool).tril(S - L)
    output = F.scaled_dot_product_attention(q, k, v, allowed)
    return output, (k.bfloat16(), v.bfloat16())


def some_rows_never_written(h, mask):
    means = torch.empty_like(h[:, 0])
    means.view(-1)[:] = 7.0  # whatever stands there by chance
    means = torch.empty_like(means)
    for row in range(len(h)):
        if mask[row].any():
            means[row] = h[row, mask[row]].mean(0)
    return means


def half_meets_float(q, k, v, mask=None):
    allowed = (
        torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool) if mask is None else mask
    )
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~allowed, -torch.inf)
    return scores.float().softmax(-1).nan_to_num(0.0) @ v


@pytest.mark.parametrize(
    ("task", "answer", "mistake"),
    [
        ("masked_mean", some_rows_never_written, "empty-not-filled"),
        ("masked_attention", half_meets_float, "dtypes-meet"),
        ("alibi_bias", in_bytes, "dtype-too-narrow"),
        ("alibi_bias", up_to_a_bound, "bound-too-small"),
        ("alibi_bias", up_to_a_bound_elsewhere, "bound-too-small"),
        ("alibi_bias", up_to_a_default, "bound-too-small"),
        ("masked_mean", by_a_tiny_number, "tiny-number-too-large"),
        ("patchify", as_they_lie, "memory-order"),
        ("cached_attention", cached_in_half_the_room, "dtype-too-narrow"),
    ],
)
def test_what_an_answer_lacks_is_asked_about(task, answer, mistake):
    assert judge(task, answer).mistake == mistake


def test_what_is_only_reserved_takes_no_memory():
    def reserved(numbers):
        return torch.empty(numbers)[:1]

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    otherwise(reserved, None, Case("a gigabyte", (2**28,)), EMPTY)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000  # kB


def test_the_code_is_as_it_was_afterwards():
    before = _up_to.__code__, up_to_a_default.__defaults__, BOUND
    judge("alibi_bias", up_to_a_default)
    judge("alibi_bias", up_to_a_bound_elsewhere)
    assert (_up_to.__code__, up_to_a_default.__defaults__, BOUND) == before
    assert int(distances(1, 400)[0, 0]) == BOUND  # nothing is left in a cache, either


def test_nothing_is_said_of_what_no_experiment_mends():
    def upside_down(num_heads, q_len, kv_len, longest=350):
        return up_to_a_bound(num_heads, q_len, kv_len).flip(-1) / 300

    assert judge("alibi_bias", upside_down).mistake not in LACKING


def test_a_nan_that_spreads_is_no_matter_of_digits():
    def by_convolution(series, context_len, horizon):
        size = context_len + horizon
        kernels = torch.eye(size, dtype=series.dtype).unsqueeze(1)
        windows = F.conv1d(series.reshape(1, 1, -1), kernels)[0].T
        return windows[:, :context_len], windows[:, context_len:]

    verdict = judge("make_windows", by_convolution)
    assert verdict.mistake not in {None, *LACKING}, verdict.message
