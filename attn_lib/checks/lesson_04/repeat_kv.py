"""The task `repeat_kv`: which query head reads which K/V head."""

import torch

import attn_lib
from attn_lib.checks.case import Case
from attn_lib.checks.lesson_04.steps import by_group_count, only_the_first, share, tile
from attn_lib.checks.task import task


@task(
    lesson=4,
    points=1,
    hints=[
        "Write down the list for H = 4 and Hkv = 2: which K/V head do query heads 0, 1, 2 and 3 "
        "read? How many neighbors share one?",
        "Each K/V head is copied H / Hkv times, and its copies stand side by side. Which axis of "
        "(B, Hkv, S, D) counts the heads?",
        "PyTorch has a method that repeats each entry along one axis before it goes on to the next "
        "entry. It takes a whole number (`//`, not `/`) and `dim`. `repeat` is another method.",
    ],
)
def repeat_kv(x, num_heads):
    return attn_lib.repeat_kv(x, num_heads)


@repeat_kv.cases
def _(rng):
    def case(about, num_heads, *shape, **kwargs):
        return Case(about, (torch.randn(shape, generator=rng), num_heads), **kwargs)

    two_heads = torch.tensor([1.0, 2.0]).view(1, 2, 1, 1)
    yield Case("two K/V heads of one number each", (two_heads, 4))
    two_tokens = torch.arange(1.0, 9.0).view(1, 2, 2, 2)
    yield Case("two K/V heads, two tokens", (two_tokens, 4))
    yield case("two K/V heads for eight", 8, 1, 2, 1, 1)
    yield case("three K/V heads for six", 6, 1, 3, 1, 1)
    yield case("all sizes different", 8, 3, 2, 5, 6)
    yield case("three K/V heads for six, two sentences", 6, 2, 3, 5, 4)
    yield case("one K/V head for all", 4, 2, 1, 5, 6)
    yield case("one K/V head, an odd number of heads", 7, 2, 1, 3, 4)
    yield case("as many K/V heads as heads", 4, 2, 4, 5, 6)
    yield case("B = H, one K/V head", 4, 4, 1, 5, 6)
    yield case("B = Hkv", 8, 2, 2, 5, 6)
    yield case("S = H", 8, 3, 2, 8, 6)
    yield case("S = Hkv, D = H", 6, 2, 3, 3, 6)
    yield case("every size 2", 4, 2, 2, 2, 2)
    yield case("four K/V heads for twelve", 12, 2, 4, 3, 5)
    split = torch.randn(2, 5, 2, 6, generator=rng).transpose(1, 2)
    yield Case("not contiguous, fresh from the split", (split, 8))
    yield Case("float64", (torch.randn(2, 2, 3, 5, generator=rng).double(), 6))
    half = torch.randn(2, 2, 3, 5, generator=rng).bfloat16()
    yield Case("bfloat16", (half, 6), grad=False)


@repeat_kv.mistake(
    "heads-tiled",
    "Print the list of K/V heads that query heads 0, 1, 2, 3 get from you. Neighbors should share "
    "one: 0 0 1 1. Where must the copies stand, side by side or one round after the other?",
)
def _(x, num_heads):
    return tile(x, num_heads)


@repeat_kv.mistake(
    "divided-by-num-kv-heads",
    "How many query heads share one K/V head: Hkv, or H / Hkv? By which of the two do you divide i?",
)
def _(x, num_heads):
    return by_group_count(x, num_heads)


@repeat_kv.mistake(
    "all-read-head-0",
    "Change the last K/V head. Which of your output heads notice? What is floor(i / H) for i below H?",
)
def _(x, num_heads):
    return only_the_first(x, num_heads)


@repeat_kv.mistake(
    "tokens-repeated",
    "Your heads are as many as before, but the sentence got longer. Which axis is 1, which is 2?",
)
def _(x, num_heads):
    return x.repeat_interleave(num_heads // x.shape[1], dim=2)


@repeat_kv.mistake(
    "channels-repeated", "Should the vectors get longer, or the heads more numerous?"
)
def _(x, num_heads):
    return x.repeat_interleave(num_heads // x.shape[1], dim=-1)


@repeat_kv.mistake(
    "batch-repeated",
    "Are there more sentences after the call, or more heads? Which axis counts heads?",
)
def _(x, num_heads):
    return x.repeat_interleave(num_heads // x.shape[1], dim=0)


@repeat_kv.mistake(
    "batch-repeated",
    "Are there more sentences after the call, or more heads? Which axis does `cat` use by itself?",
)
def _(x, num_heads):
    return torch.cat([x] * (num_heads // x.shape[1]))


@repeat_kv.mistake(
    "repeated-h-times",
    "Two heads, each copied 8 times: how many are that? How many copies make 8 heads out of 2?",
)
def _(x, num_heads):
    return x.repeat_interleave(num_heads, dim=1)


@repeat_kv.mistake(
    "repeated-hkv-times",
    "How many heads come out if each of Hkv heads is copied Hkv times? How many should there be?",
)
def _(x, num_heads):
    return x.repeat_interleave(x.shape[1], dim=1)


@repeat_kv.mistake(
    "dim-missing",
    "What does `repeat_interleave` do with the axes if it is not told along which one to repeat?",
)
def _(x, num_heads):
    return x.repeat_interleave(num_heads // x.shape[1])


@repeat_kv.mistake(
    "copies-among-the-tokens",
    "The shape is right, the cells are not. In your tensor before the reshape, is the copy axis the "
    "one right behind the heads? Try x = torch.arange(8).view(1, 2, 2, 2).",
)
def _(x, num_heads):
    return share(x.transpose(1, 2), num_heads * x.shape[2] // x.shape[1]).reshape(
        x.shape[0], num_heads, *x.shape[2:]
    )


@repeat_kv.mistake(
    "copies-among-the-tokens",
    "The shape is right, the cells are not. In your tensor before the reshape, does the copy axis "
    "stand right behind the heads, or behind the tokens? Try x = torch.arange(8).view(1, 2, 2, 2).",
)
def _(x, num_heads):
    copies = x.repeat_interleave(num_heads // x.shape[1], dim=2)
    return copies.reshape(x.shape[0], num_heads, *x.shape[2:])


@repeat_kv.mistake(
    "copies-among-the-channels",
    "The shape is right, the cells are not. Which axis did you repeat before the reshape?",
)
def _(x, num_heads):
    copies = x.repeat_interleave(num_heads // x.shape[1], dim=-1)
    return copies.reshape(x.shape[0], num_heads, *x.shape[2:])


@repeat_kv.mistake(
    "copy-axis-not-merged",
    "Your result has five axes. Which two of them together count the H heads?",
)
def _(x, num_heads):
    return torch.stack([x] * (num_heads // x.shape[1]), dim=2)


@repeat_kv.mistake(
    "copy-axis-not-merged",
    "Your result has five axes, and the copies stand before the heads. Which two axes together "
    "should count the H heads, and in which order?",
)
def _(x, num_heads):
    return torch.stack([x] * (num_heads // x.shape[1]), dim=1)


_FLOAT = "What type is 8 / 2 in Python? How do you divide to get a whole number?"


@repeat_kv.mistake("ratio-is-a-float", _FLOAT)
def _(x, num_heads):
    return x.repeat_interleave(num_heads / x.shape[1], dim=1)


@repeat_kv.mistake("ratio-is-a-float", _FLOAT)
def _(x, num_heads):
    return torch.repeat_interleave(x, repeats=num_heads / x.shape[1], dim=1)


@repeat_kv.mistake("ratio-is-a-float", _FLOAT)
def _(x, num_heads):
    B, Hkv, S, D = x.shape
    copies = x[:, :, None].expand(B, Hkv, num_heads / Hkv, S, D)
    return copies.reshape(B, num_heads, S, D)


@repeat_kv.mistake(
    "ratio-upside-down", "What is 2 // 8? Which of the two numbers of heads is larger?"
)
def _(x, num_heads):
    return x.repeat_interleave(x.shape[1] // num_heads, dim=1)


@repeat_kv.mistake(
    "ratio-fixed-at-2", "Where does the number of copies come from? Try H = 8 and Hkv = 2."
)
def _(x, num_heads):
    return x.repeat_interleave(2, dim=1)


@repeat_kv.mistake(
    "ratio-from-another-axis",
    "By which size do you divide `num_heads`: by the number of K/V heads, or by another size?",
)
def _(x, num_heads):
    return x.repeat_interleave(num_heads // x.shape[2], dim=1)


@repeat_kv.mistake(
    "nothing-repeated", "How many heads come out of your function, and how many should?"
)
def _(x, num_heads):
    return x


@repeat_kv.mistake(
    "last-head-fills-up",
    "Every K/V head should serve equally many query heads. How many does your head 0 serve?",
)
def _(x, num_heads):
    return x[:, [min(i, x.shape[1] - 1) for i in range(num_heads)]]
