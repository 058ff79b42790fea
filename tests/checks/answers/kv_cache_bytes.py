"""Answers to kv_cache_bytes that no row makes."""

import math

import torch

from tests.checks.answers import Answers

answers = Answers(
    "kv_cache_bytes",
    spelled=dict(
        a_head=["head_dim << 1"],
        a_token=["sum(a_layer for _ in range(num_layers))"],
        numbers=["math.prod([a_sentence, batch_size])"],
        size=[
            "torch.tensor([], dtype=dtype).element_size()",
            "(torch.finfo if dtype.is_floating_point else torch.iinfo)(dtype).bits // 8",
        ],
        output=["int(torch.tensor(numbers) * size)"],
    ),
)


@answers.right
def by_a_tensor_without_memory(*sizes):
    return 2 * torch.empty(sizes[:-1], dtype=sizes[-1], device="meta").nbytes


@answers.wrong
def one_byte_for_int8_only(*sizes):
    dtype = sizes[-1]
    size = dtype.itemsize if dtype.is_floating_point else 1 if dtype == torch.int8 else 2
    return 2 * math.prod(sizes[:-1]) * size


answers.wrong(lambda *sizes: str(by_a_tensor_without_memory(*sizes)))
answers.wrong(lambda *sizes: torch.tensor(by_a_tensor_without_memory(*sizes)))
