"""The task `repeat_kv`: which query head reads which K/V head."""

import torch

import attn_lib
from attn_lib.checks.authoring import Case, task


@task(
    lesson=4,
    points=1,
    insight="The copies are for the shape's sake: a good kernel reads one head several times, and copies nothing.",
    library=attn_lib.repeat_kv,
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
    Hkv = x.shape[1]
    group = num_heads // Hkv
    output = x.repeat_interleave(group, dim=1)
    return output


@repeat_kv.cases
def _(rng):
    def case(about, num_heads, *shape, **kwargs):
        return Case(about, (torch.randn(shape, generator=rng), num_heads), **kwargs)

    yield Case("two K/V heads of one number each", (torch.tensor([[[[1.0]], [[2.0]]]]), 4))
    yield Case("two K/V heads, two tokens", (torch.arange(1.0, 9.0).view(1, 2, 2, 2), 4))
    yield case("three K/V heads for six", 6, 1, 3, 1, 1)
    yield case("all sizes different", 8, 3, 2, 5, 6)
    yield case("three K/V heads for six, two sentences", 6, 2, 3, 5, 4)
    yield case("one K/V head for all", 4, 2, 1, 5, 6)
    yield case("one K/V head, an odd number of heads", 7, 2, 1, 3, 4)
    yield case("as many K/V heads as heads", 4, 2, 4, 5, 6)
    yield case("B = H, one K/V head", 4, 4, 1, 5, 6)
    yield case("every size 2", 4, 2, 2, 2, 2)
    yield case("four K/V heads for twelve", 12, 2, 4, 3, 5)
    split = torch.randn(2, 5, 2, 6, generator=rng).transpose(1, 2)
    yield Case("not contiguous, fresh from the split", (split, 8))
    yield Case("float64", (torch.randn(2, 2, 3, 5, generator=rng).double(), 6))
    half = torch.randn(2, 2, 3, 5, generator=rng).bfloat16()
    yield Case("bfloat16", (half, 6), grad=False)
    yield case("11 K/V heads for 33, 40 channels", 33, 1, 11, 20, 40)
    yield case("two K/V heads for 82", 82, 1, 2, 5, 3)
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        about = f"{dtype}, each copy exact".removeprefix("torch.")
        x = torch.randn(2, 3, 4, 5, generator=rng, dtype=torch.float64).to(dtype)
        yield Case(about, (x, 6), grad=False, tolerance=1e-12)


repeat_kv.rows("""
Print the list of K/V heads that your query heads get, one after the other. Do neighbors share one?
Where must the copies stand, side by side or one round after the other?
    heads-tiled  output = x.repeat(1, group, 1, 1)
How many query heads share one K/V head, and which number do you take a remainder of?
    remainder  output = x[:, [i % group for i in range(num_heads)]]
Should the first query heads read the first K/V head, or the last one?
    heads-reversed  output = _.flip(1)
Which axis comes first in your result: the sample or the head?
    heads-before-batch  return = _.transpose(0, 1)
Nothing is copied by `expand`, so the copies are not apart in memory. Can `view` join such axes? Which
other method may copy?
    view-needs-one-piece  output = x[:, :, None].expand(-1, -1, group, -1, -1).view(len(x), num_heads, *x.shape[2:])
    view-needs-one-piece  output = x.view(*x.shape[:2], 1, -1).repeat(1, 1, group, 1).view(len(x), num_heads, *x.shape[2:])
Which axes can `expand` make longer: all, or those of size 1?
    several-heads-expanded  output = x.expand(-1, num_heads, -1, -1)
    several-heads-expanded  output = x.expand(len(x), num_heads, *x.shape[2:])
    several-heads-expanded  output = x.expand(-1, group, -1, -1)
How often should each K/V head stand in the result altogether, the original among its copies?
    one-copy-off  group = _ - 1 || _ + 1
How many query heads share one K/V head: Hkv, or H / Hkv? By which of the two do you divide i?
    divided-by-num-kv-heads  output = x[:, [i // Hkv for i in range(num_heads)]]
    divided-by-num-kv-heads  output = x[:, [min(i // Hkv, Hkv - 1) for i in range(num_heads)]]
    divided-by-num-kv-heads  output = x[:, [i // Hkv % Hkv for i in range(num_heads)]]
Change the last K/V head. Which of your output heads notice? What is floor(i / H) for i below H?
    all-read-head-0  output = x[:, :1].repeat(1, num_heads, 1, 1)
Every K/V head should serve equally many query heads. How many does your head 0 serve?
    last-head-fills-up  output = x[:, [min(i, Hkv - 1) for i in range(num_heads)]]
Your heads are as many as before, but the sentence got longer. Which axis is 1, which is 2?
    tokens-repeated  output = dim=1 => dim=2 || x.repeat(1, 1, group, 1)
Should the vectors get longer, or the heads more numerous?
    channels-repeated  output = dim=1 => dim=-1 || x.repeat(1, 1, 1, group)
Are there more sentences after the call, or more heads? Which axis counts heads?
    batch-repeated  output = dim=1 => dim=0 || torch.cat([x] * group)
What does `repeat_interleave` do with the axes if it is not told along which one to repeat?
    dim-missing  output = , dim=1 =>
Your result has five axes. Which two of them together count the H heads, and in which order?
    copy-axis-not-merged  output = torch.stack([x] * group, dim=2)
    copy-axis-not-merged  output = torch.stack([x] * group, dim=1)
What type is 8 / 2 in Python? How do you divide to get a whole number?
    ratio-is-a-float  group = num_heads / Hkv
    ratio-is-a-float  group = num_heads / Hkv ; output = torch.repeat_interleave(x, repeats=group, dim=1)
    ratio-is-a-float  group = num_heads / Hkv ; output = x[:, :, None].expand(-1, -1, group, -1, -1)
How many copies does your division give? Which of the two numbers of heads is larger, and which one
stands below?
    ratio-upside-down  group = Hkv // num_heads
Where does the number of copies come from? Does it change with `num_heads`, and with x?
    ratio-fixed-at-2  group = 2 || 4 || num_heads - Hkv
By which size do you divide `num_heads`: by the number of K/V heads, or by another size?
    ratio-from-another-axis  Hkv = x.shape[2] || x.shape[0] || x.shape[3]
How many heads come out if each head of x is copied `num_heads` times? How many should there be?
    repeated-h-times  group = num_heads
How many heads come out if each of Hkv heads is copied Hkv times? How many should there be?
    repeated-hkv-times  group = Hkv
How many heads come out of your function, and how many should?
    nothing-repeated  output = x
How many sentences go in, and how many come out? Which axis does your index cut?
    first-sentence-only  return = _[:1] || _[0]
Which dtype goes in, and which one comes out?
    dtype-changed  return = _.float()
The shape is right, the cells are not. In your tensor before the reshape, does the copy axis stand
right behind the heads? Try x = torch.arange(8).view(1, 2, 2, 2).
    copies-among-the-tokens  output = x.repeat_interleave(group, dim=2).reshape(len(x), num_heads, *x.shape[2:])
    copies-among-the-tokens  output = x.transpose(1, 2).repeat_interleave(group, dim=1).reshape(len(x), num_heads, *x.shape[2:])
    copies-among-the-channels  output = x.repeat_interleave(group, dim=-1).reshape(len(x), num_heads, *x.shape[2:])
`x[:, 0]` has one axis less than x. Which function gives the heads an axis of their own: `cat` or `stack`?
    head-axis-lost  output = torch.cat([x[:, i // group] for i in range(num_heads)], dim=1)
`repeat` wants a number for each axis of x. And where does it put the copies: side by side, or one round
after the other?
    repeat-with-one-number  output = x.repeat(group)
""")

repeat_kv.drills(
    "ratio-is-a-float, ratio-upside-down, dim-missing, several-heads-expanded 2, tokens-repeated, "
    "ratio-from-another-axis, heads-tiled, view-needs-one-piece"
)
