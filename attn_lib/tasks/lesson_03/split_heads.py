"""The task `split_heads`: cut the channels of every token into heads."""

import torch

import attn_lib
from attn_lib.checks.authoring import Case, task


@task(
    lesson=3,
    points=2,
    insight="No number has changed: heads are a way to read the same memory.",
    library=attn_lib.split_heads,
    hints=[
        "Nothing is computed here: the same numbers get a new address. A token's channels are cut "
        "into pieces, and piece h is its part of head h. Which axis of x holds the channels?",
        "Two steps. First the last axis alone becomes two, so that nothing leaves its token. Which "
        "of the two comes first: the number of the head, or the place within the head?",
        "After the cut the shape is (B, L, H, D). Two neighboring axes must still change places. "
        "`transpose` exchanges axes. `view` and `reshape` only cut the same line of numbers anew.",
    ],
)
def split_heads(x, num_heads):
    B = x.shape[0]
    L = x.shape[1]
    D = x.shape[2] // num_heads
    cut = x.reshape(B, L, num_heads, D)
    heads = cut.transpose(1, 2)
    return heads


@split_heads.cases
def _(rng):
    def random(*shape):
        return torch.randn(*shape, generator=rng)

    # Tens count tokens, ones count channels.
    x = torch.tensor([[[0.0, 1.0, 2.0, 3.0], [10.0, 11.0, 12.0, 13.0]]])
    yield Case("two tokens of four channels", (x, 2))
    x = torch.arange(3)[:, None] * 10.0 + torch.arange(6)
    yield Case("three tokens of six channels", (x[None], 2))
    yield Case("the same three tokens, three heads", (x[None], 3))
    yield Case("all sizes different, exactly", (random(2, 5, 12), 3), tolerance=1e-9)
    yield Case("the same sizes, other numbers", (random(2, 5, 12), 3))
    yield Case("the same x shape, six heads", (random(2, 5, 12), 6))
    yield Case("eight heads", (random(9, 3, 40), 8))
    yield Case("every size 3", (random(3, 3, 9), 3))
    yield Case("one head", (random(2, 3, 5), 1))
    yield Case("as many heads as channels", (random(2, 3, 5), 5))
    yield Case("one token", (random(2, 1, 12), 3))
    yield Case("batch 1", (random(1, 5, 12), 3))
    yield Case("the last 12 of 24 channels", (random(2, 5, 24)[..., 12:], 3))
    yield Case("not contiguous, tokens last in memory", (random(2, 12, 5).mT, 3))
    yield Case("batch second in memory", (random(5, 2, 12).transpose(0, 1), 3))
    yield Case("float64, exactly", (random(2, 3, 10).double(), 2), tolerance=1e-9)
    yield Case("float16", (random(2, 3, 10).half(), 2))
    yield Case("bfloat16", (random(2, 3, 10).bfloat16(), 2))
    # 27 / 49 * 49 is a little less than 27 in float64.
    yield Case("49 heads of one channel", (random(1, 2, 49), 49))
    yield Case("13 heads, 17 channels", (random(2, 20, 221), 13))
    yield Case("bfloat16, 20 heads, 300 channels", (random(1, 2, 300).bfloat16(), 20))


split_heads.rows("""
Which numbers of token 0 are in head 0? Print your result for `torch.arange(12.)` as two tokens:
`view` and `reshape` only read on in memory order.
    split-view-no-transpose  heads = x.reshape(B, num_heads, L, D)
    split-view-no-transpose  heads = x.view(B, num_heads, L, D)
In Python, is 4 / 2 the number 2 or 2.0? Sizes must be whole numbers: which operator divides into
those?
    head-dim-is-a-float  D = // => / ; cut = reshape => view
    head-dim-is-a-float  D = // => /
Do the channels of head 0 stand side by side in x? Yours are every H-th one. Which comes first when
you cut the last axis: heads, or places within a head?
    split-interleaved-channels  cut = x.reshape(B, L, D, num_heads).mT
    split-interleaved-channels  cut = x.reshape(B, L, D, num_heads).mT ; heads = cut
    split-interleaved-channels  cut = x.reshape(B, L, D, num_heads).mT ; heads = cut.permute(0, 2, 3, 1)
Of which shape is your result if H, L and D are 2, 3 and 5? Which line exchanges heads and places after the cut?
    places-before-heads  cut = _.mT
How wide is one head? Is `num_heads` a number of pieces, or their width?
    num-heads-as-head-dim  cut = x.reshape(B, L, D, num_heads)
    num-heads-as-head-dim  cut = torch.stack([x[..., h * num_heads:(h + 1) * num_heads] for h in range(num_heads)], 2)
After the cut: in which order should the four axes stand, and in which do yours?
    transpose-forgotten  heads = cut
Your last two axes are D and L. Which one do q·k and the softmax expect last?
    head-dim-before-tokens  heads = _.mT
Which axis comes first: the sample or the head?
    heads-before-batch  heads = _.transpose(0, 1)
Which two of the four axes does your transpose exchange? Count from 0.
    wrong-axes-transposed  heads = cut.transpose(0, 1) || cut.transpose(2, 3)
    wrong-axes-transposed  heads = cut.transpose(1, 3)
What does the first axis of x count here: samples or tokens? The task says (B, L, H*D).
    sequence-first  heads = _.transpose(0, 2)
x is (B, L, H*D), with three axes. What does the first one count, and where is it in your result?
    samples-forgotten  heads = x.view(L, num_heads, D).transpose(0, 1)
Four axes are asked for. Which two of them have you folded into one?
    batch-folded-in  return = _.flatten(0, 1)
Does every head see all L tokens in your result? Which axis have you cut into pieces?
    tokens-cut  heads = x.unflatten(1, (num_heads, -1))
    tokens-cut  heads = torch.stack(x.chunk(num_heads, dim=1), dim=1)
    tokens-cut  heads = torch.cat(x.chunk(num_heads, dim=1), dim=-1)
    tokens-cut  heads = torch.cat(x.chunk(num_heads, dim=1), dim=-1)[:, None]
After `x.transpose(1, 2)` the channels are rows. Does your cut keep the numbers of one token
together?
    transposed-then-cut  heads = x.mT.reshape(B, num_heads, L, D)
How wide should one head be? Yours are as wide as x. Is that a split?
    every-head-gets-everything  heads = x[:, None].repeat(1, num_heads, 1, 1)
    every-head-gets-everything  D = x.shape[2]
Change the last channel of x. Which head should notice?
    first-head-repeated  heads = x[:, None, :, :D].repeat(1, num_heads, 1, 1)
    first-head-repeated  return = _[:, 0] || _[:, :1]
Should the first channels of x be in head 0, or in the last head?
    heads-reversed  cut = _.flip(2)
Within a head, do the channels stand in the order they had in x?
    channels-reversed  cut = _.flip(3)
In which order do the three sizes of x stand, in `x.shape` and where you use them? Which one comes first?
    axes-misnamed  B = x.shape[1] ; L = x.shape[0]
The channels of a token are dealt out to the heads. Which size of x do you divide?
    width-from-another-axis  D = x.shape[1] // num_heads || x.shape[0] // num_heads
How many samples go in, and how many come out?
    first-sample-only  return = _[:1] || _[0]
Where does your function cut anything? Each head should have its own piece of the channels.
    nothing-cut  heads = x || x[:, None]
A slice stops before its end: how many channels has `x[..., 0:3]`, and how many has a head?
    last-channel-lost  heads = _[..., :-1]
At which channel does head 1 begin in your code: at 1, or at D?
    heads-overlap  heads = torch.stack([x[..., h:h + D] for h in range(num_heads)], dim=1)
One tensor with an axis for the heads is asked for. Which function puts tensors of one shape side by
side along a new axis?
    list-of-heads  heads = x.chunk(num_heads, dim=-1)
The heads need an axis of their own. Does `cat` make a new axis, or `stack`?
    heads-joined-along-tokens  heads = torch.cat(x.chunk(num_heads, dim=-1), dim=1)
You join heads and samples in one axis, and part them again. Whose rows come first there: all heads
of sample 0, or head 0 of all samples? And how do you part them?
    heads-before-samples-in-one-axis  heads = torch.cat(x.chunk(num_heads, dim=-1), dim=0).reshape(B, num_heads, L, D)
x may be float16 or float64. Of which dtype is a new `torch.zeros(...)`, and what does `.float()`
make? Moving numbers needs neither.
    dtype-not-kept  return = _.float()
Four axes are asked for, even if one of them has size 1. Which line of yours drops it?
    axes-of-size-1-lost  return = _.squeeze()
Does your result change when `num_heads` does?
    num-heads-ignored  cut = x.unflatten(-1, (2, -1)) || x.unflatten(-1, (-1, 4))
`view` moves nothing, so it cannot join axes whose numbers are apart in memory. Only the last axis
needs a cut: why join the others first?
    view-needs-one-piece  cut = x.view(-1, D).view(B, L, num_heads, D)
Your sizes stand as (B, H, L, D) before the transpose already. Which order have they after it, and did the
cut keep the numbers of one token together?
    transposed-twice-over  heads = x.reshape(B, num_heads, L, D).transpose(1, 2)
With which channel does head 1 begin? How many channels has the head before it?
    heads-begin-elsewhere  heads = torch.stack([x[..., h * num_heads : h * num_heads + D] for h in range(num_heads)], 1)
""")

split_heads.drills(
    "transpose-forgotten, batch-folded-in, head-dim-is-a-float 1, every-head-gets-everything 1, "
    "num-heads-as-head-dim, wrong-axes-transposed 1, axes-misnamed"
)
