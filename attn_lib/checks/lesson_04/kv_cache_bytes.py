"""The task `kv_cache_bytes`: what a cache costs."""

import torch

import attn_lib
from attn_lib.checks.case import Case
from attn_lib.checks.task import task


@task(
    lesson=4,
    points=1,
    library=attn_lib.kv_cache_bytes,
    hints=[
        "Count first, weigh later. How many numbers does one head of one layer keep for one token?",
        "A token leaves two vectors in each K/V head of each layer, a key and a value. Multiply by "
        "all the sizes that repeat them.",
        "Each number takes some bytes. A dtype knows how many: look at the attributes of "
        "`torch.float16`. Only whole numbers should be multiplied, so that the result is an int.",
    ],
)
def kv_cache_bytes(batch_size, seq_len, num_layers, num_kv_heads, head_dim, dtype):
    vectors = 2
    a_head = vectors * head_dim
    a_layer = a_head * num_kv_heads
    a_token = a_layer * num_layers
    a_sentence = a_token * seq_len
    numbers = a_sentence * batch_size
    size = dtype.itemsize
    output = numbers * size
    return output


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


# ------------------------------------------------------------------------------- mistakes

wrong = kv_cache_bytes.wrong
wrong(
    "keys-only",
    "What is kept for each token beside its key? How many vectors are that?",
    dict(vectors="1"),
)
wrong(
    "queries-counted",
    "Does a later token ask for the queries of earlier ones?",
    dict(vectors="3"),
)
wrong(
    "numbers-not-bytes",
    "You have counted numbers. How many bytes does one number take, and where does your code ask "
    "`dtype` for it?",
    dict(size="1"),
)
wrong("bits-not-bytes", "How many bits are there in a byte?", dict(size="_ * 8"))
wrong(
    "always-as-many-bytes",
    "How many bytes does a float32 take, and a float16? Where do you use `dtype`?",
    dict(size="4"),
    dict(size="2"),
)
wrong(
    "two-or-four-bytes",
    "float32 and float16 are not the only dtypes. What does `torch.int8` take, and `torch.float64`?",
    dict(size="2 if dtype in (torch.float16, torch.bfloat16) else 4"),
    dict(size="4 if dtype == torch.float32 else 2"),
)
wrong(
    "batch-forgotten",
    "Two sentences at once: can they share one cache?",
    dict(numbers="a_sentence"),
)
wrong(
    "length-forgotten",
    "For one token or for the whole sequence? Which size is missing?",
    dict(a_sentence="a_token"),
)
wrong(
    "layers-forgotten",
    "Has each layer its own keys, or do all layers share them?",
    dict(a_token="a_layer"),
)
wrong(
    "heads-forgotten",
    "Does the cache shrink when K/V heads are shared? Where in your code?",
    dict(a_layer="a_head"),
)
wrong("head-dim-forgotten", "How many numbers has one key?", dict(a_head="vectors"))
wrong(
    "length-squared",
    "Twice as many tokens: how many keys are that? Are the scores kept, or keys and values?",
    dict(a_sentence="_ * seq_len"),
)
wrong(
    "sizes-added",
    "Two layers with three heads each: how many heads are that, and how do you count them?",
    dict(a_head="* => +"),
    dict(a_layer="* => +"),
    dict(a_token="* => +"),
    dict(a_sentence="* => +"),
    dict(numbers="* => +"),
)
wrong(
    "float-returned",
    "Print `type(...)` of your result. Which operator gives a float even if it divides evenly?",
    dict(output="_ * 8 / 8"),
    dict(size="torch.finfo(dtype).bits / 8"),
)
wrong(
    "float-inside",
    "Beyond 2**53 a float no longer holds every whole number. Which operator of yours makes one?",
    dict(output="int(_ * 8 / 8)"),
)
wrong(
    "finfo-of-an-integer",
    "`torch.finfo` knows floating-point dtypes only. What else tells the size of any dtype?",
    dict(size="torch.finfo(dtype).bits // 8"),
)
wrong(
    "in-mebibytes",
    "Is your result in bytes, or in something larger?",
    dict(output="_ / 2**20"),
    dict(output="_ // 2**20"),
    dict(output="_ / 2**10"),
    dict(output="_ // 2**10"),
)
