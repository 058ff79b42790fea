"""The task `kv_cache_bytes`: what a cache costs."""

import torch

import attn_lib
from attn_lib.checks.authoring import Case, Wrong, describe, task


@task(
    lesson=4,
    points=1,
    insight="With long texts and many readers, the cache can take more memory than the weights.",
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


def no_tensor(returned, *args):
    """Refuse a tensor of one number, which is a number elsewhere."""
    if isinstance(returned, torch.Tensor):
        raise Wrong(
            "wrong",
            f"The result should be an int, but is {describe(returned)}. A tensor has `.item()`.",
        )
    return returned


@kv_cache_bytes.cases
def _(rng):
    def case(about, *args):
        return Case(about, args, finish=no_tensor)

    def upto(n):
        return int(torch.randint(2, n, (), generator=rng))

    yield case("one of everything", 1, 1, 1, 1, 1, torch.float32)
    yield case("one of everything, half the bytes", 1, 1, 1, 1, 1, torch.float16)
    yield case("one of everything, twice the bytes", 1, 1, 1, 1, 1, torch.float64)
    yield case("three tokens", 1, 3, 1, 1, 4, torch.float32)
    yield case("all sizes different", 2, 7, 5, 3, 6, torch.float32)
    yield case("all sizes different, two bytes a number", 3, 11, 2, 5, 7, torch.bfloat16)
    for dtype in (
        torch.float16,
        torch.float64,
        torch.float8_e4m3fn,
        torch.int8,
        torch.int32,
    ):
        sizes = (upto(9), upto(99), upto(40), upto(20), upto(200))
        yield case("sizes drawn at random", *sizes, dtype)
    yield case("a model of 30 layers", 1, 2048, 30, 3, 64, torch.bfloat16)
    # Beyond 2**53 a float no longer holds every whole number.
    huge = (4093, 1048573, 127, 129, 131, torch.float16)
    yield case("sizes so large that only an int is exact", *huge)
    for dtype in (torch.int64, torch.uint8, torch.int16):
        sizes = (upto(9), upto(99), upto(40), upto(20), upto(200))
        yield case("sizes drawn at random, another dtype", *sizes, dtype)
    huge = (500, 10**13 + 1, 5, 7, 11, torch.bfloat16)
    yield case("not far from 2**63 bytes, ten trillion tokens", *huge)


kv_cache_bytes.rows("""
What is kept for each token beside its key? How many vectors are that?
    keys-only  vectors = 1
Does a later token ask for the queries of earlier ones?
    queries-counted  vectors = 3
You have counted numbers. How many bytes does one number take, and where does your code ask `dtype`
for it?
    numbers-not-bytes  size = 1
How many bits are there in a byte?
    bits-not-bytes  size = _ * 8
How many bytes does a float32 take, and a float16? Where do you use `dtype`?
    always-as-many-bytes  size = 4 || 2
float32 and float16 are not the only dtypes. What does `torch.int8` take, and `torch.float64`?
    two-or-four-bytes  size = 2 if dtype in (torch.float16, torch.bfloat16) else 4
    two-or-four-bytes  size = 4 if dtype == torch.float32 else 2
    two-or-four-bytes  size = 2 if dtype == torch.float16 else 4
    two-or-four-bytes  size = {torch.float16: 2, torch.bfloat16: 2, torch.float32: 4, torch.float64: 8}.get(dtype, 4)
    two-or-four-bytes  size = {torch.float16: 2, torch.bfloat16: 2, torch.float32: 4, torch.float64: 8}.get(dtype, 2)
    two-or-four-bytes  size = {torch.float16: 2, torch.bfloat16: 2, torch.float32: 4, torch.float64: 8}[dtype]
    two-or-four-bytes  size = {torch.float16: 2, torch.bfloat16: 2, torch.float32: 4}[dtype]
    two-or-four-bytes  size = {torch.float16: 2, torch.bfloat16: 2, torch.int8: 1}.get(dtype, 4)
    two-or-four-bytes  size = {torch.float16: 2, torch.bfloat16: 2, torch.float32: 4, torch.int8: 1}[dtype]
You build a cache to see how large it is. Can you tell, too, for one that does not fit into memory?
    cache-built  size = torch.empty(numbers, dtype=dtype).element_size()
    cache-built  size = torch.empty(numbers // 2, dtype=dtype).element_size()
    cache-built  size = torch.empty(numbers // num_layers // 2, dtype=dtype).element_size()
Is what you ask the dtype for a number, or something to be called?
    attribute-called  size = dtype.itemsize()
A tensor has `element_size()`. Has a dtype? Under which name does it know its size?
    method-of-a-tensor  size = dtype.element_size()
Two sentences at once: can they share one cache?
    batch-forgotten  numbers = a_sentence
For one token or for the whole sequence? Which size is missing?
    length-forgotten  a_sentence = a_token
Has each layer its own keys, or do all layers share them?
    layers-forgotten  a_token = a_layer
Does the cache shrink when K/V heads are shared? Where in your code?
    heads-forgotten  a_layer = a_head
Is `head_dim` the width of one head, or of all heads together?
    head-dim-divided  a_head = vectors * (head_dim // num_kv_heads)
    head-dim-divided  a_head = vectors * (head_dim / num_kv_heads)
Which factor stands twice in what you multiply?
    counted-twice  vectors = 4
How many numbers has one key?
    head-dim-forgotten  a_head = vectors
Twice as many tokens: how many keys are that? Are the scores kept, or keys and values?
    length-squared  a_sentence = _ * seq_len
    length-squared  a_head = 1 ; a_sentence = _ * seq_len
    length-squared  a_head = vectors ; a_sentence = _ * seq_len
Two layers with three heads each: how many heads are that, and how do you count them?
    sizes-added  a_head = * => +
    sizes-added  a_layer = * => +
    sizes-added  a_token = * => +
    sizes-added  a_sentence = * => +
    sizes-added  numbers = * => + || _ // vectors + vectors
    sizes-added  numbers = vectors * (batch_size + seq_len + num_layers + num_kv_heads + head_dim)
A key and a value: is that two times as many numbers, or their square?
    squared  numbers = (_ // vectors) ** 2
Print `type(...)` of your result. Which operator gives a float even if it divides evenly?
    float-returned  output = _ * 8 / 8
    float-returned  size = torch.finfo(dtype).bits / 8
Beyond 2**53 a float no longer holds every whole number. Which operator of yours makes one?
    float-inside  output = int(_ * 8 / 8)
`torch.finfo` knows floats only, and `torch.iinfo` knows integers only. What else tells the size of any dtype?
    finfo-of-an-integer  size = torch.finfo(dtype).bits // 8 || torch.iinfo(dtype).bits // 8
Is your result in bytes, or in something larger?
    in-mebibytes  output = _ / 2**20 || _ // 2**20 || _ / 2**30 || _ / 1e9 || _ / 1e6
    in-mebibytes  output = _ / 2**10 || _ // 2**10
How many digits has the size in the name of `torch.int8`, and what stands last in that of `torch.float8_e4m3fn`?
Does a dtype know its size as a number, too?
    size-from-the-name  size = int(str(dtype)[-2:]) // 8
""")

kv_cache_bytes.drills(
    "layers-forgotten, keys-only, method-of-a-tensor, in-mebibytes, queries-counted, two-or-four-bytes, "
    "finfo-of-an-integer"
)
