"""The task `merge_heads`: put the heads of every token side by side again."""

import torch

import attn_lib
from attn_lib.checks.case import Case
from attn_lib.checks.task import task


@task(
    lesson=3,
    points=2,
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
    yield Case("H = L", (random(2, 3, 3, 4),))
    yield Case("H = D", (random(2, 3, 5, 3),))
    yield Case("B = H", (random(3, 3, 5, 4),))
    yield Case("B = L", (random(4, 3, 4, 2),))
    yield Case("L = D", (random(2, 3, 4, 4),))
    yield Case("every size 3", (random(3, 3, 3, 3),))
    yield Case("one head", (random(2, 1, 3, 5),))
    yield Case("D = 1", (random(2, 5, 3, 1),))
    yield Case("one token", (random(2, 3, 1, 4),))
    yield Case("one head, D = 1", (random(3, 1, 4, 1),))
    yield Case("batch 1", (random(1, 3, 5, 4),))
    yield Case(
        "in memory as `split_heads` leaves it", (random(2, 5, 3, 4).transpose(1, 2),)
    )
    yield Case("not contiguous", (random(2, 3, 4, 5).mT,))
    yield Case(
        "float64, to its last digits", (random(2, 2, 3, 5).double(),), tolerance=1e-9
    )
    yield Case("float16", (random(2, 2, 3, 5).half(),))
    yield Case("bfloat16", (random(2, 2, 3, 5).bfloat16(),))


# ------------------------------------------------------------------------------- mistakes

wrong = merge_heads.wrong
wrong(
    "merge-view-no-transpose",
    "Row 0 of your result should hold all heads of token 0. Whose numbers does it hold? `view` and "
    "`reshape` only read on in memory order.",
    dict(turned="x"),
    dict(turned="x", merged="reshape => view"),
)
wrong(
    "merge-interleaved-channels",
    "Where should channel 0 of head 1 land: right after channel 0 of head 0, or after its last one?",
    dict(turned="x.permute(0, 2, 3, 1)"),
)
wrong(
    "wrong-axes-transposed",
    "Which two of the four axes does your transpose exchange, counted from 0? Which ones count heads "
    "and tokens?",
    dict(turned="x.transpose(2, 3)"),
    dict(turned="x.transpose(2, 3)", merged="turned.flatten(1, 2)"),
    dict(turned="x.transpose(2, 3)", merged="turned.flatten(2)"),
    dict(turned="x.transpose(0, 1)"),
)
wrong(
    "wrong-axes-joined",
    "Heads and tokens have changed places. At which numbers, counted from 0, do H and D stand now, and "
    "which two axes do you join?",
    dict(merged="turned.flatten(1, 2)"),
)
wrong(
    "flatten-forgotten",
    "Heads and tokens have changed places. How many axes should the result have, and how many has yours?",
    dict(merged="turned"),
)
wrong(
    "view-after-transpose",
    "`view` never moves a number, and after a transpose the numbers of a token are not side by side in "
    "memory. Which other method may copy?",
    dict(merged="reshape => view"),
    dict(turned="x.contiguous().transpose(1, 2)", merged="reshape => view"),
)
wrong(
    "heads-joined-along-tokens",
    "How many rows should a sentence of L tokens have afterwards? Along which axis do the heads stand side "
    "by side?",
    dict(merged="x.flatten(1, 2)"),
)
wrong(
    "transpose-forgotten",
    "Which two axes do you join? In the last axis of the result, the channels of all heads of one token "
    "should stand, not those of one head's tokens.",
    dict(merged="x.flatten(2)"),
)
wrong(
    "heads-added",
    "How wide is the result: D, or H times D? If two heads find different things, should they be added up?",
    dict(merged="x.sum(1)"),
)
wrong(
    "heads-averaged",
    "How wide is the result: D, or H times D? Could you get the single heads back out of their mean?",
    dict(merged="x.mean(1)"),
)
wrong(
    "only-the-first-head",
    "Change a number in the last head. Should the result change?",
    dict(merged="x[:, 0]"),
)
wrong(
    "samples-side-by-side",
    "What do you put side by side: the heads of a token, or the samples? Which axis of x counts heads?",
    dict(merged="torch.cat(list(x), -1)"),
)
wrong(
    "batch-folded-in",
    "Three axes are asked for: (B, L, H*D). Which two of them have you folded into one?",
    dict(merged="_.flatten(0, 1)"),
)
wrong(
    "sequence-first",
    "What should the first axis of the result count: samples or tokens?",
    dict(merged="_.transpose(0, 1)"),
)
wrong(
    "axes-misnamed",
    "In which order do the sizes of x stand: (B, H, L, D) or (B, L, H, D)? What do you call `x.shape[1]`?",
    dict(L="x.shape[1]"),
)
wrong(
    "head-dim-before-heads",
    "Your result has one row for each place within a head. Which axis should survive besides B?",
    dict(merged="x.permute(0, 3, 1, 2).flatten(2)"),
)
wrong(
    "heads-reversed",
    "Which head's channels should come first in the result?",
    dict(turned="_.flip(2)"),
)
wrong(
    "dtype-not-kept",
    "x may be float16 or float64. Of which dtype is a new `torch.zeros(...)`, and what does `.float()` "
    "make? Moving numbers needs neither.",
    dict(merged="_.float()"),
)
wrong(
    "axes-of-size-1-lost",
    "Three axes are asked for, even if one of them has size 1. Which line of yours drops it?",
    dict(merged="_.squeeze()"),
)
