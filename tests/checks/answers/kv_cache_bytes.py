"""Answers to kv_cache_bytes that no row makes."""

import math

import numpy as np
import torch

from tests.checks.answers import Answers

answers = Answers(
    "kv_cache_bytes",
    spelled=dict(
        vectors=["len(('key', 'value'))"],
        a_head=["head_dim << 1", "head_dim + head_dim"],
        a_token=["sum(a_layer for _ in range(num_layers))"],
        numbers=["math.prod([a_sentence, batch_size])"],
        size=[
            "torch.tensor([], dtype=dtype).element_size()",
            "torch.empty(1, dtype=dtype, device='meta').nbytes",
            "(torch.finfo if dtype.is_floating_point else torch.iinfo)(dtype).bits // 8",
        ],
        output=["int(torch.tensor(numbers) * size)", "numbers * (8 * size) // 8"],
    ),
)


@answers.right
def by_numpy_objects(batch_size, seq_len, num_layers, num_kv_heads, head_dim, dtype):
    sizes = [2, batch_size, seq_len, num_layers, num_kv_heads, head_dim, dtype.itemsize]
    return int(np.prod(sizes, dtype=object))


@answers.right
def by_a_tensor_without_memory(*sizes):
    return 2 * torch.empty(sizes[:-1], dtype=sizes[-1], device="meta").nbytes


def _numbers(*sizes):
    return 2 * math.prod(sizes)


@answers.wrong
def by_way_of_a_float(*sizes):
    return int(_numbers(*sizes[:-1]) * float(sizes[-1].itemsize))


@answers.wrong
def by_int32(*sizes):
    return int(np.prod([2, *sizes[:-1], sizes[-1].itemsize], dtype=np.int32))


@answers.wrong
def one_byte_for_int8_only(*sizes):
    dtype = sizes[-1]
    size = dtype.itemsize if dtype.is_floating_point else 1 if dtype == torch.int8 else 2
    return _numbers(*sizes[:-1]) * size


@answers.wrong
def bfloat16_as_float32(*sizes):
    size = 4 if sizes[-1] == torch.bfloat16 else sizes[-1].itemsize
    return _numbers(*sizes[:-1]) * size


@answers.wrong
def really_allocated(*sizes):
    return torch.empty(2, *sizes[:-1], dtype=sizes[-1]).nbytes


@answers.wrong
def a_string(*sizes):
    return str(_numbers(*sizes[:-1]) * sizes[-1].itemsize)
