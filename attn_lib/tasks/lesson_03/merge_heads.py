"""The task `merge_heads`: put the heads of every token side by side again."""

import torch

import attn_lib
from attn_lib.checks.authoring import Case, task


@task(
    lesson=3,
    points=2,
    insight="Split and merge undo each other. Only between the two do heads live apart.",
    library=attn_lib.merge_heads,
    hints=[
        "It undoes `split_heads`. Which two steps did that take, and in which order are they undone?",
        "The channels of all heads of one token must stand side by side. Which two axes must be "
        "neighbors, in which order, before you make one of them?",
        "After the transpose the tensor is not contiguous: `view` refuses to join its axes. Which two other "
        "methods join axes and copy where they must?",
    ],
)
def merge_heads(x):
    L = x.shape[2]
    turned = x.transpose(1, 2)
    merged = turned.reshape(x.shape[0], L, -1)
    return merged


@merge_heads.cases
def _(rng):
    def random(*shape):
        return torch.randn(*shape, generator=rng)

    # Hundreds count heads, tens count tokens, ones count places within a head.
    heads, tokens = 100.0 * torch.arange(3)[:, None, None], 10.0 * torch.arange(3)[:, None]
    numbers = heads + tokens + torch.arange(2)
    yield Case("two heads, two tokens", (numbers[None, :2, :2],))
    yield Case("two heads, three tokens", (numbers[None, :2],))
    yield Case("three heads, two tokens", (numbers[None, :, :2],))
    yield Case("all sizes different", (random(2, 3, 5, 4),))
    yield Case("the same sizes, other numbers", (random(2, 3, 5, 4),))
    yield Case("eight heads", (random(2, 8, 3, 5),))
    yield Case("every size 3", (random(3, 3, 3, 3),))
    yield Case("one head", (random(2, 1, 3, 5),))
    yield Case("D = 1", (random(2, 5, 3, 1),))
    yield Case("one token", (random(2, 3, 1, 4),))
    yield Case("as `split_heads` leaves it", (random(2, 5, 3, 4).transpose(1, 2),))
    yield Case("not contiguous", (random(2, 3, 4, 5).mT,))
    yield Case("float64, exactly", (random(2, 2, 3, 5).double(),), tolerance=1e-9)
    yield Case("float16", (random(2, 2, 3, 5).half(),))
    yield Case("bfloat16", (random(2, 2, 3, 5).bfloat16(),))
    yield Case("13 heads, 17 channels", (random(2, 13, 20, 17),))
    yield Case("bfloat16, 20 heads, 300 channels", (random(1, 20, 2, 15).bfloat16(),))


merge_heads.rows("""
Row 0 of your result should hold all heads of token 0. Whose numbers does it hold? `view` and
`reshape` only read on in memory order.
    merge-view-no-transpose  turned = x
    merge-view-no-transpose  turned = x ; merged = reshape => view
Where should channel 0 of head 1 land: right after channel 0 of head 0, or after its last one?
    merge-interleaved-channels  turned = x.permute(0, 2, 3, 1)
Which two of the four axes does your transpose exchange, counted from 0? Which ones count heads and
tokens?
    wrong-axes-transposed  turned = x.transpose(2, 3)
    wrong-axes-transposed  return = _.mT
    wrong-axes-transposed  turned = x.transpose(2, 3) ; merged = turned.flatten(2)
    wrong-axes-transposed  turned = x.transpose(0, 1) || x.transpose(1, 3)
Heads and tokens have changed places. At which numbers, counted from 0, do H and D stand now, and
which two axes do you join?
    wrong-axes-joined  merged = turned.flatten(1, 2) || turned.flatten(1) || x.flatten(1)
Heads and tokens have changed places. How many axes should the result have, and how many has yours?
    flatten-forgotten  merged = turned
`view` never moves a number, and after a transpose the numbers of a token are not side by side in
memory. Which other method may copy?
    view-after-transpose  merged = reshape => view
    view-after-transpose  turned = x.contiguous().transpose(1, 2) ; merged = reshape => view
How many rows should a sentence of L tokens have afterwards? Along which axis do the heads stand
side by side?
    heads-joined-along-tokens  merged = torch.cat(turned.unbind(2), 1)
Should there be more samples afterwards, or more channels? Along which axis do you put the heads?
    heads-joined-along-samples  merged = torch.cat(turned.unbind(2), 0)
    heads-joined-along-samples  merged = torch.cat(turned.unbind(2))[None]
One tensor is asked for, and you return its pieces. Which function joins them?
    list-of-heads  merged = turned.unbind(2)
Which two axes do you join? In the last axis of the result, the channels of all heads of one token
should stand, not those of one head's tokens.
    transpose-forgotten  merged = x.flatten(2)
How wide is the result: D, or H times D? If two heads find different things, should they be added
up?
    heads-added  merged = turned.sum(2)
How wide is the result: D, or H times D? How many numbers go in, and how many fit into yours?
    as-wide-as-one-head  merged = turned.reshape(x.shape[0], L, x.shape[3])
    as-wide-as-one-head  merged = turned.reshape(x.shape[0], L, x.shape[1])
How wide is the result: D, or H times D? Could you get the single heads back out of their mean?
    heads-averaged  merged = turned.mean(2) || turned.amax(2)
Change a number in the last head. Should the result change?
    only-the-first-head  merged = turned[:, :, 0]
What do you put side by side: the heads of a token, or the samples? Which axis of x counts heads?
    samples-side-by-side  merged = torch.cat(list(x), -1)
Three axes are asked for: (B, L, H*D). Which two of them have you folded into one?
    batch-folded-in  return = _.flatten(0, 1)
What should the first axis of the result count: samples or tokens?
    sequence-first  return = _.transpose(0, 1)
How many samples go in, and how many come out?
    first-sample-only  return = _[:1] || _[0]
In which order do the sizes of x stand: (B, H, L, D) or (B, L, H, D)? Which one do you call L?
    axes-misnamed  L = x.shape[1] || x.shape[3]
Your result has one row for each place within a head. Which axis should survive besides B?
    head-dim-before-heads  merged = x.permute(0, 3, 1, 2).flatten(2)
Which head's channels should come first in the result?
    heads-reversed  turned = _.flip(2)
x may be float16 or float64. Of which dtype is a new `torch.zeros(...)`, and what does `.float()`
make? Moving numbers needs neither.
    dtype-not-kept  return = _.float()
Three axes are asked for, even if one of them has size 1. Which line of yours drops it?
    axes-of-size-1-lost  return = _.squeeze()
x is (B, H, L, D), with four axes. What does the first one count, and where is it in your result?
    samples-forgotten  merged = turned.reshape(L, x.shape[1] * x.shape[3])
    samples-forgotten  merged = turned.reshape(L, -1)
A `reshape` reads on in the order of the axes. In which order do they stand where you reshape? Are the numbers
that it puts side by side those of one token?
    reshaped-before-transpose  merged = x.reshape(x.shape[0], -1, L).mT
    reshaped-before-transpose  turned = x.reshape(x.shape[0], L, x.shape[1], -1).transpose(1, 2)
""")

merge_heads.drills(
    "merge-view-no-transpose, samples-forgotten 1, as-wide-as-one-head, wrong-axes-transposed, axes-misnamed, "
    "view-after-transpose, merge-interleaved-channels"
)
