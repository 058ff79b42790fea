"""The task `kv_cache_bytes`: what a cache costs."""

import math

import torch

import attn_lib
from attn_lib.checks.case import Case
from attn_lib.checks.task import task


@task(
    lesson=4,
    points=1,
    hints=[
        "Count first, weigh later. How many numbers does one head of one layer keep for one token?",
        "A token leaves two vectors in each K/V head of each layer, a key and a value. Multiply by "
        "all the sizes that repeat them.",
        "Each number takes some bytes. A dtype knows how many: look at the attributes of "
        "`torch.float16`. Only whole numbers should be multiplied, so that the result is an int.",
    ],
)
def kv_cache_bytes(batch_size, seq_len, num_layers, num_kv_heads, head_dim, dtype):
    return attn_lib.kv_cache_bytes(
        batch_size, seq_len, num_layers, num_kv_heads, head_dim, dtype
    )


@kv_cache_bytes.cases
def _(rng):
    def upto(n):
        return int(torch.randint(2, n, (), generator=rng))

    yield Case("one of everything", (1, 1, 1, 1, 1, torch.float32))
    yield Case("one of everything, half the bytes", (1, 1, 1, 1, 1, torch.float16))
    yield Case("three tokens", (1, 3, 1, 1, 4, torch.float32))
    yield Case("all sizes different", (2, 7, 5, 3, 6, torch.float32))
    yield Case("all sizes different, two bytes a number", (3, 11, 2, 5, 7, torch.bfloat16))
    for dtype in (
        torch.float16,
        torch.float64,
        torch.float8_e4m3fn,
        torch.int8,
        torch.int32,
    ):
        sizes = (upto(9), upto(99), upto(40), upto(20), upto(200))
        yield Case("sizes drawn at random", (*sizes, dtype))
    yield Case("a model of 30 layers", (1, 2048, 30, 3, 64, torch.bfloat16))
    # Beyond 2**53 a float no longer holds every whole number.
    huge = (4093, 1048573, 127, 129, 131, torch.float16)
    yield Case("sizes so large that only an int is exact", huge)


def _numbers(*sizes):
    return 2 * math.prod(sizes)


@kv_cache_bytes.mistake(
    "keys-only", "What is kept for each token beside its key? How many vectors are that?"
)
def _(batch_size, seq_len, num_layers, num_kv_heads, head_dim, dtype):
    sizes = (batch_size, seq_len, num_layers, num_kv_heads, head_dim)
    return _numbers(*sizes) // 2 * dtype.itemsize


@kv_cache_bytes.mistake(
    "queries-counted", "Does a later token ask for the queries of earlier ones?"
)
def _(batch_size, seq_len, num_layers, num_kv_heads, head_dim, dtype):
    sizes = (batch_size, seq_len, num_layers, num_kv_heads, head_dim)
    return 3 * math.prod(sizes) * dtype.itemsize


@kv_cache_bytes.mistake(
    "numbers-not-bytes",
    "You have counted numbers. How many bytes does one number take, and where does your code ask "
    "`dtype` for it?",
)
def _(batch_size, seq_len, num_layers, num_kv_heads, head_dim, dtype):
    return _numbers(batch_size, seq_len, num_layers, num_kv_heads, head_dim)


@kv_cache_bytes.mistake("bits-not-bytes", "How many bits are there in a byte?")
def _(batch_size, seq_len, num_layers, num_kv_heads, head_dim, dtype):
    sizes = (batch_size, seq_len, num_layers, num_kv_heads, head_dim)
    return _numbers(*sizes) * dtype.itemsize * 8


@kv_cache_bytes.mistake(
    "always-four-bytes",
    "How many bytes does a float32 take, and a float16? Where do you use `dtype`?",
)
def _(batch_size, seq_len, num_layers, num_kv_heads, head_dim, dtype):
    return _numbers(batch_size, seq_len, num_layers, num_kv_heads, head_dim) * 4


@kv_cache_bytes.mistake(
    "always-two-bytes",
    "How many bytes does a float32 take, and a float16? Where do you use `dtype`?",
)
def _(batch_size, seq_len, num_layers, num_kv_heads, head_dim, dtype):
    return _numbers(batch_size, seq_len, num_layers, num_kv_heads, head_dim) * 2


@kv_cache_bytes.mistake(
    "two-or-four-bytes",
    "float32 and float16 are not the only dtypes. What does `torch.int8` take, and `torch.float64`?",
)
def _(batch_size, seq_len, num_layers, num_kv_heads, head_dim, dtype):
    sizes = (batch_size, seq_len, num_layers, num_kv_heads, head_dim)
    return _numbers(*sizes) * (2 if dtype in (torch.float16, torch.bfloat16) else 4)


@kv_cache_bytes.mistake(
    "two-or-four-bytes",
    "float32 and float16 are not the only dtypes. What does `torch.int8` take, and `torch.float64`?",
)
def _(batch_size, seq_len, num_layers, num_kv_heads, head_dim, dtype):
    sizes = (batch_size, seq_len, num_layers, num_kv_heads, head_dim)
    return _numbers(*sizes) * (4 if dtype == torch.float32 else 2)


@kv_cache_bytes.mistake(
    "batch-forgotten", "Two sentences at once: can they share one cache?"
)
def _(batch_size, seq_len, num_layers, num_kv_heads, head_dim, dtype):
    return _numbers(seq_len, num_layers, num_kv_heads, head_dim) * dtype.itemsize


@kv_cache_bytes.mistake(
    "length-forgotten", "For one token or for the whole sequence? Which size is missing?"
)
def _(batch_size, seq_len, num_layers, num_kv_heads, head_dim, dtype):
    return _numbers(batch_size, num_layers, num_kv_heads, head_dim) * dtype.itemsize


@kv_cache_bytes.mistake(
    "layers-forgotten", "Has each layer its own keys, or do all layers share them?"
)
def _(batch_size, seq_len, num_layers, num_kv_heads, head_dim, dtype):
    return _numbers(batch_size, seq_len, num_kv_heads, head_dim) * dtype.itemsize


@kv_cache_bytes.mistake(
    "heads-forgotten",
    "Does the cache shrink when K/V heads are shared? Where in your code?",
)
def _(batch_size, seq_len, num_layers, num_kv_heads, head_dim, dtype):
    return _numbers(batch_size, seq_len, num_layers, head_dim) * dtype.itemsize


@kv_cache_bytes.mistake("head-dim-forgotten", "How many numbers has one key?")
def _(batch_size, seq_len, num_layers, num_kv_heads, head_dim, dtype):
    return _numbers(batch_size, seq_len, num_layers, num_kv_heads) * dtype.itemsize


@kv_cache_bytes.mistake(
    "length-squared",
    "Twice as many tokens: how many keys are that? Are the scores kept, or keys and values?",
)
def _(batch_size, seq_len, num_layers, num_kv_heads, head_dim, dtype):
    sizes = (batch_size, seq_len, seq_len, num_layers, num_kv_heads, head_dim)
    return _numbers(*sizes) * dtype.itemsize


_INT = "Print `type(...)` of your result. Which operator gives a float even if it divides evenly?"


@kv_cache_bytes.mistake("float-returned", _INT)
def _(batch_size, seq_len, num_layers, num_kv_heads, head_dim, dtype):
    sizes = (batch_size, seq_len, num_layers, num_kv_heads, head_dim)
    return _numbers(*sizes) * (dtype.itemsize * 8) / 8


@kv_cache_bytes.mistake(
    "float-returned",
    _INT
    + " And `torch.finfo` knows floating-point dtypes only: what else tells the size of any "
    "dtype?",
)
def _(batch_size, seq_len, num_layers, num_kv_heads, head_dim, dtype):
    sizes = (batch_size, seq_len, num_layers, num_kv_heads, head_dim)
    return _numbers(*sizes) * torch.finfo(dtype).bits / 8


@kv_cache_bytes.mistake(
    "float-inside",
    "Beyond 2**53 a float no longer holds every whole number. Which operator of yours makes one?",
)
def _(batch_size, seq_len, num_layers, num_kv_heads, head_dim, dtype):
    sizes = (batch_size, seq_len, num_layers, num_kv_heads, head_dim)
    return int(_numbers(*sizes) * (dtype.itemsize * 8) / 8)


@kv_cache_bytes.mistake(
    "finfo-of-an-integer",
    "`torch.finfo` knows floating-point dtypes only. What else tells the size of any dtype?",
)
def _(batch_size, seq_len, num_layers, num_kv_heads, head_dim, dtype):
    sizes = (batch_size, seq_len, num_layers, num_kv_heads, head_dim)
    return _numbers(*sizes) * torch.finfo(dtype).bits // 8


@kv_cache_bytes.mistake("in-mebibytes", "Is your result in bytes, or in something larger?")
def _(batch_size, seq_len, num_layers, num_kv_heads, head_dim, dtype):
    sizes = (batch_size, seq_len, num_layers, num_kv_heads, head_dim)
    return _numbers(*sizes) * dtype.itemsize / 2**20
