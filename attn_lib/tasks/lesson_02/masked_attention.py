"""The task `masked_attention`: attention with heads, and with a mask of any shape that fits."""

import math

import torch
import torch.nn.functional as F

import attn_lib
from attn_lib.checks.authoring import Case, task
from attn_lib.tasks.lesson_01.far_scores import APART, ROUGHLY, far_scores
from attn_lib.tasks.lesson_02.runs import with_finite_gradients as finite


def _library(q, k, v, mask=None):
    if q.shape[1] != k.shape[1]:  # heads in groups are a task of lesson 04
        raise ValueError(
            f"expected as many heads in k as in q, {q.shape[1]}, got {k.shape[1]}"
        )
    return attn_lib.einsum_attention(q, k, v, mask=mask)[0]


@task(
    lesson=2,
    points=3,
    insight="This is `F.scaled_dot_product_attention`, written out.",
    returns=("output",),
    library=_library,
    hints=[
        "Lesson 01 had (B, L, D); here every tensor has a head axis after B. Which lines of your "
        "attention change, if you write them with `...` in einsum, or with `.mT` and `@`?",
        "The mask acts on the scores (B, H, L, S), before the softmax. All its shapes broadcast to "
        "that as they are. You have written the masked softmax already.",
        "Two branches: without a mask the plain softmax, with a mask `masked_softmax`. Ask "
        "`mask is None`: a tensor of many entries is neither true nor false. Return the output only.",
    ],
)
def masked_attention(q, k, v, mask=None):
    D = q.shape[-1]
    products = q @ k.mT
    scores = products / math.sqrt(D)
    everything = torch.ones(scores.shape[-2:], dtype=torch.bool)
    allowed = everything if mask is None else mask
    forbidden = ~allowed
    hidden = scores.masked_fill(forbidden, -torch.inf)
    weights = hidden.softmax(-1)
    # A row with nothing allowed is NaN until here.
    kept = weights.masked_fill(forbidden, 0.0)
    heads = kept @ v
    return heads


@masked_attention.cases
def _(rng):
    def random(B, H, L, S, D=6, Dv=4, scale=1.2):
        q, k = (torch.randn(B, H, n, D, generator=rng) * scale for n in (L, S))
        return q, k, torch.randn(B, H, S, Dv, generator=rng)

    def allowed(*shape):
        """A random mask in which each row allows at least one key and forbids at least one."""
        order = torch.rand(shape, generator=rng).argsort(-1)
        count = torch.randint(1, shape[-1], (*shape[:-1], 1), generator=rng)
        return order < count

    def padding(*lengths, S):
        return (torch.arange(S) < torch.tensor(lengths)[:, None])[:, None, None, :]

    q = torch.tensor([[[[2.0, 0.0, 0.0, 0.0]]]])
    k = [[2.0, 0.0, 0.0, 1.0], [1.0, 2.0, 0.0, 1.0], [3.0, 0.0, 0.0, 0.0]]
    tiny = (q, torch.tensor([[k]]), torch.tensor([[[[4.0, 0.0], [0.0, 8.0], [9.0, 9.0]]]]))
    last = torch.tensor([[True, True, False]])
    yield Case("one query, the last of three keys is forbidden", (*tiny, last))
    yield Case("one query, three keys, no mask", tiny)
    yield Case("a query that may see nothing", (*tiny, last & False), finite)
    small = [[[[2.0, 0], [0, 2]], [[1, 1], [0, 3]]], [[[1.0, 0], [0, 2]], [[2, 0], [1, 1]]]]
    q, k = torch.tensor(small)[:, None]
    v = torch.tensor([[[[1.0, 0], [0, 4]], [[10, 20], [30, 0]]]])
    about = "two heads, two words, word 0 may not see word 1"
    yield Case(about, (q, k, v, torch.ones(2, 2).tril().bool()))
    yield Case("all sizes different, no mask", random(2, 3, 5, 7))
    given = (*random(2, 3, 5, 7), None)
    yield Case("all sizes different, `mask=None` given", given, grad=False)
    for about, sizes, mask in (
        ("all sizes different, one mask (L, S)", (2, 3, 5, 7), (5, 7)),
        ("unequal padding, a mask (B, 1, 1, S)", (2, 3, 5, 7), [7, 4]),
        ("a mask (B, 1, L, S)", (2, 3, 5, 7), (2, 1, 5, 7)),
        ("a mask for each head, (B, H, L, S)", (2, 3, 5, 7), (2, 3, 5, 7)),
        ("B = H, a mask for each head, (H, L, S)", (3, 3, 5, 7), (3, 5, 7)),
        ("B = L, a mask (L, S)", (4, 2, 4, 6), (4, 6)),
        ("B = H, padding", (3, 3, 5, 4), [1, 3, 4]),
        ("B = H, a mask (B, 1, L, S)", (3, 3, 2, 4), (3, 1, 2, 4)),
        ("every size 3, padding", (3, 3, 3, 3, 3, 3), [2, 3, 1]),
        ("a mask (H, 1, S)", (2, 3, 5, 7), (3, 1, 7)),
    ):
        given = random(*sizes)
        seen = allowed(*mask) if isinstance(mask, tuple) else padding(*mask, S=sizes[3])
        yield Case(about, (*given, seen), grad=sizes == (2, 3, 5, 7))
    yield Case("every size 5, no mask", random(5, 5, 5, 5, 5, 5), grad=False)
    about = "one key, allowed in one of two sentences"
    yield Case(about, (*random(2, 3, 4, 1), padding(1, 0, S=1)), finite)
    causal = torch.ones(20, 20, dtype=torch.bool).tril()
    long = random(1, 2, 20, 20, 64, 8, scale=0.5)
    yield Case("20 words, D = 64, causal", (*long, causal))
    hidden = padding(3, 5, S=6)
    far = ~hidden.mT  # (B, 1, S, 1)
    q, k, v = random(2, 3, 4, 6)
    q[..., 0] = q[..., 0].abs() + 0.5
    k = k.masked_fill(far, 0.0)
    k[..., :1] = k[..., :1].masked_fill(far, -1e30)
    about = "forbidden keys and values hold -1e30 and 1e30"
    yield Case(about, (q, k, v.masked_fill(far, 1e30), hidden))
    *_, v = random(1, 2, 3, 4, 4)
    right = [torch.eye(n, 4).expand(1, 2, n, 4) for n in (3, 4)]
    yield Case("vectors at right angles", (*right, v, causal[1:4, :4]))
    q, k, v = random(2, 3, 4, 6)
    push = F.normalize(torch.randn(2, 3, 1, 6, generator=rng), dim=-1)
    low = (q * 0.3 + push * 8.6, (k * 0.3 - push * 8.6).masked_fill(far, 0.0), v, hidden)
    yield Case("every allowed score near -30, forbidden ones 0", low)
    apart = torch.tensor([[20.0, 0.0], [-20.0, 0.0]]).expand(1, 2, 2, 2)
    near = torch.randn(1, 2, 3, 2, generator=rng) * 0.5 + torch.tensor([10.0, 0.0])
    about = "scores near 140 in one row, near -140 in the other"
    yield Case(about, (apart, near, random(1, 2, 1, 3)[2], causal[1:3, :3]))
    # In float32, numbers near 20000 are 0.002 apart: correct answers differ by 1e-3 there.
    low = (q * 0.1 + push * 221.0, k * 0.1 - push * 221.0, v, hidden)
    yield Case("every score near -20000", low, grad=False, tolerance=2e-2)
    asked, keys, v = far_scores(rng, 2, 2, 3, 6)
    low = (asked, keys.masked_fill(far, 0.0), v, hidden)
    yield Case(f"{APART}, forbidden ones 0", low, **ROUGHLY)
    q, k, v = (t.transpose(1, 2).contiguous().transpose(1, 2) for t in random(2, 3, 4, 5))
    yield Case("not contiguous", (q, k, v, allowed(5, 4).T))
    queries = (torch.arange(4) < torch.tensor([[3], [2]]))[:, None, :, None]
    about = "a mask (B, 1, L, 1): a query sees all, or nothing"
    yield Case(about, (*random(2, 3, 4, 5), queries), finite)
    some = allowed(2, 3, 4, 5)
    some[:, :2, 1] = False
    double = (t.double() for t in random(2, 3, 4, 5))
    yield Case("float64", (*double, some), tolerance=1e-6)
    exact = [t.double() / 3 for t in random(2, 3, 4, 5, D=4)]
    about = "float64, to nine digits"
    yield Case(about, (*exact, some), grad=False, tolerance=1e-9)
    yield Case(f"{about}, no mask", tuple(exact), grad=False, tolerance=1e-9)
    half = [t.half() for t in random(2, 3, 4, 5, scale=1.0)]
    yield Case("float16", (*half, some), finite, grad=False)
    yield Case("float16, no mask", tuple(half), grad=False)
    # Bfloat16 has no odd numbers above 256: a sum that counts in it stays there.
    late = (torch.arange(600) >= 300)[:, None] + torch.zeros(1, 2, 600, 1)
    alike = torch.ones(1, 2, 2, 1), 1 + 0.125 * late, late
    about = "bfloat16, 600 keys near 1, of which the first half holds 0, the second 1"
    yield Case(about, tuple(t.bfloat16() for t in alike), grad=False)
    yield Case("13 heads, 40 channels, L = S", random(1, 13, 20, 20, D=40, Dv=40))
    q, k, v = random(2, 3, 4, 6)
    low = (q * 0.1 + push * 18.8, (k * 0.1 - push * 18.8).masked_fill(far, 0.0), v, hidden)
    yield Case("every allowed score near -140, forbidden ones 0", low, tolerance=1e-3)
    q, k, v = random(1, 1, 2, 300, D=4)
    better = torch.arange(300.0)[:, None].expand_as(k) / 200
    about = "300 keys, each fits better than the one before, the last 50 forbidden"
    yield Case(about, (torch.ones_like(q), better, v, padding(250, S=300)))
    one = random(2, 3, 4, 5, D=1, Dv=1)
    yield Case("queries, keys and values of one number", (*one, allowed(4, 5)))
    one = random(2, 3, 1, 7)
    yield Case("one query, a mask for each head, (B, H, L, S)", (*one, allowed(2, 3, 1, 7)))
    yield Case("B = H = L, a mask (L, S)", (*random(3, 3, 3, 5), allowed(3, 5)))
    for dtype, most in ((torch.float32, 1e15), (torch.float16, 170.0)):
        ask, keys = torch.full((1, 1, 9, 1), most), torch.tensor([[[[-most], [0.0]]]])
        numbers = (t.to(dtype) for t in (ask, keys, v[:, :, :2]))
        args = (*numbers, torch.tensor([[True, False]]))
        about = f"{dtype}, allowed scores near {-most * most:.2g}, forbidden ones 0"
        yield Case(about.removeprefix("torch."), args, grad=False)


masked_attention.rows("""
`mask[b, h]` needs a mask of four axes, none of them of size 1. What is `mask[0, 0]` if the mask is
(L, S)? Which function gives any mask the shape (B, H, L, S), without a copy?
    mask-indexed-without-expanding  allowed = everything if mask is None else torch.stack([torch.stack([mask[b, h].expand(scores.shape[2:]) for h in range(q.shape[1])]) for b in range(len(q))])
    mask-indexed-without-expanding  allowed = everything if mask is None else torch.stack([torch.stack([(mask if mask.ndim < 4 else mask[b, h]).expand(scores.shape[2:]) for h in range(q.shape[1])]) for b in range(len(q))])
Inside your loop over heads the scores have three axes, (B, L, S). Which axes has the mask there?
Give it all four before the loop, then take its part for the head.
    mask-not-cut-by-head  heads = _ if mask is None else torch.stack([scores[:, h].masked_fill(forbidden, -torch.inf).softmax(-1).masked_fill(forbidden, 0.0) @ v[:, h] for h in range(q.shape[1])], 1)
You flatten (B, H): the heads of one sentence lie side by side. `repeat` puts the sentences side by
side, again and again. Whose mask does the second entry get? Try `expand`.
    mask-repeated-in-the-wrong-order  allowed = _[:, 0].repeat(q.shape[1], 1, 1).unflatten(0, q.shape[:2]) if _.ndim == 4 and _.shape[1] == 1 else _
Print `q.shape`, and ask of each size what it counts. Which one is the length of the vectors that
meet in q·k? Which one do you read?
    scale-by-the-wrong-size  D = q.shape[1] || q.shape[2] || k.shape[2] || v.shape[-1]
Print `k.shape` and `k.T.shape`: `.T` reverses all four axes. Which two should change places?
    all-axes-reversed  products = q @ k.permute(3, 2, 1, 0)
In lesson 01 the axes 1 and 2 of k changed places. What are they now? Count from the end.
    wrong-axes-transposed  products = q @ k.transpose(1, 2)
How many axes has q now, and how many letters do you give it?
    head-axis-forgotten  products = torch.einsum('bld,bsd->bls', q, k)
    head-axis-forgotten  products = torch.einsum('ld,sd->ls', q, k)
Does a head read anything of the other heads in yours? Which letter stands for the head in each
operand, and which axis do you add up or average?
    heads-mixed  products = _.sum(1, keepdim=True)
    heads-mixed  kept = _.mean(1, keepdim=True)
    heads-mixed  heads = torch.einsum('bhls,bgsd->bhld', kept, v)
    heads-mixed  products = torch.einsum('bhld,bgsd->bhls', q, k)
How often does a softmax run over your scores? What does the second one make of weights?
    softmax-twice  scores = _.softmax(-1) || _ if mask is None else (_).softmax(-1)
Where do the weights meet the values in your code? What is a query's output a mixture of?
    weights-not-used  heads = v || v.mean(2, keepdim=True).expand(*q.shape[:-1], -1)
The output should be (B, H, L, Dv). How many axes has yours, and in which order?
    output-in-another-layout  heads = _.transpose(1, 2) || _.transpose(1, 2).flatten(2)
Give it float16, then float64: which dtype comes out? If you write the output into a tensor that you
made yourself, which dtype has that?
    dtype-changed  heads = _.float()
    dtype-changed  products = q.float() @ k.float().mT ; heads = kept @ v.float()
You replace NaN when it is there already. On the way back, a gradient of 0 meets it: what is 0 * NaN?
`masked_fill` before the softmax stops it, and zeros in the weights before they meet v.
    nan-painted-over  hidden = scores + torch.zeros(allowed.shape).masked_fill(forbidden, -torch.inf).to(scores)
    nan-painted-over  kept = weights ; heads = _.nan_to_num(0.0)
Which line changes a tensor in place? Look for names that end in `_`, for `weights[...] = `, and for
`-=`. `masked_fill` without `_` makes a new tensor.
    written-in-place  kept = masked_fill => masked_fill_
An allowed score can be exactly 0, too. How do you tell it from a forbidden one? Ask the mask, not
the score.
    zero-scores-hidden  allowed = _ & (scores != 0)
What you return has a number for each pair of query and key. Which step of attention is still missing?
    values-not-mixed  heads = kept || weights
The mask says which keys, of the S in a row of the scores, a query may see. Has what you mask there an
axis of keys? Where in your code is one?
    masked-in-the-wrong-place  hidden = scores ; kept = weights ; heads = _ if mask is None else (_).masked_fill(forbidden, 0.0)
    masked-in-the-wrong-place  heads = _ if mask is None else (_).masked_fill(forbidden, 0.0)
    masked-in-the-wrong-place  hidden = scores ; kept = weights ; heads = _ if mask is None else kept @ v.masked_fill(forbidden, 0.0)
q comes as (B, H, L, D): the heads stand before the words already. Which axes do you exchange, and who
meets whom in your product then?
    heads-and-words-exchanged  products = q.transpose(1, 2) @ k.transpose(1, 2).mT ; heads = (kept @ v.transpose(1, 2)).transpose(1, 2)
    heads-and-words-exchanged  products = q.transpose(1, 2) @ k.transpose(1, 2).mT ; heads = kept @ v.transpose(1, 2)
How often does a softmax run over your scores? What does the second one make of weights?
    softmax-twice  kept = _.softmax(-1)
The output has a row for each query. Over which letter does your einsum add up, and over which should it?
    added-up-over-queries  heads = torch.einsum('bhls,bhsd->bhsd', kept, v)
How many heads were ever computed? `return` ends a loop: how far is yours indented?
    returned-inside-the-loop  heads = F.pad(_[:1, :1], (0, 0, 0, 0, 0, _.shape[1] - 1, 0, len(_) - 1))
    returned-inside-the-loop  heads = F.pad(_[:1], (0, 0, 0, 0, 0, 0, 0, len(_) - 1))
Which infinity is your fill? What is exp(inf), and what is exp(-inf)?
    fill-plus-inf  hidden = -torch.inf => torch.inf
    fill-plus-inf  hidden = -torch.inf => torch.inf ; kept = weights.nan_to_num(0.0)
""")

masked_attention.drills(
    "mask-added 1, output-in-another-layout 1, wrong-axes-transposed, softmax-over-the-wrong-axis, "
    "scale-by-the-wrong-size 1, full-row-nan, fill-1e9"
)
