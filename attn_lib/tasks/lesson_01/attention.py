"""The task `attention`: scores, weights, mixture."""

import math

import torch
import torch.nn.functional as F

import attn_lib
from attn_lib.checks.authoring import Case, task
from attn_lib.tasks.lesson_01.far_scores import APART, ROUGHLY, far_scores


@task(
    lesson=1,
    points=3,
    insight="These few lines are in every layer of a transformer. All else stands around them.",
    returns=("output", "weights"),
    library=attn_lib.einsum_attention,
    without=("softmax-over-the-wrong-axis",),
    hints=[
        "Three steps: scores, weights, mixture. You have written the first two already.",
        "Each query hands out a total of 1 among the keys. Which axis of the scores `(B, L, S)` "
        "holds the keys?",
        "The mixture: weights `bls` and values `bsd`. Which letter is summed? Return the output "
        "first, then the weights.",
    ],
)
def attention(q, k, v):
    D = q.shape[-1]
    products = torch.einsum("bld,bsd->bls", q, k)
    scores = products / math.sqrt(D)
    weights = scores.softmax(-1)
    used = weights
    output = used @ v
    return output, weights


@attention.cases
def _(rng):
    def random(B, L, S, D, Dv, scale=1.2):
        q, k = (torch.randn(B, n, D, generator=rng) * scale for n in (L, S))
        return q, k, torch.randn(B, S, Dv, generator=rng)

    q, k = torch.tensor([[[2.0, 0, 0, 0]]]), torch.tensor([[[2.0, 0, 0, 1], [1, 2, 0, 1]]])
    v = torch.tensor([[[4.0, 0.0, 1.0], [0.0, 8.0, 1.0]]])
    yield Case("one query, two keys", (q, k, v))
    yield Case("all sizes different", random(2, 5, 7, 6, 4))
    yield Case("the same sizes, other numbers", random(2, 5, 7, 6, 4))
    yield Case("L = S and D = Dv", random(2, 6, 6, 4, 4))
    yield Case("every size 4", random(4, 4, 4, 4, 4))
    yield Case("batch 1", random(1, 5, 7, 6, 4))
    yield Case("D = 1", random(2, 3, 4, 1, 2))
    yield Case("40 words, D = 64", random(1, 40, 40, 64, 20, scale=0.5))
    *_, v = random(1, 3, 4, 4, 2)
    q, k = torch.eye(3, 4)[None], 2 * torch.eye(4)[None]
    yield Case("vectors at right angles", (q, k, v))
    yield Case("one query", random(2, 1, 4, 6, 3))
    yield Case("one key", random(2, 4, 1, 6, 3))
    q, k, v = random(2, 3, 4, 6, 3)
    far = F.normalize(torch.randn(2, 1, 6, generator=rng), dim=-1)
    yield Case("every score near -30", (q * 0.3 + far * 8.6, k * 0.3 - far * 8.6, v))
    # In float32, numbers near 20000 are 0.002 apart: correct answers differ by 1e-3 there.
    for sign, about in ((1, "20000"), (-1, "-20000")):
        large = (q * 0.1 + far * 221.0, k * 0.1 + sign * far * 221.0, v)
        yield Case(f"every score near {about}", large, tolerance=2e-2, grad=False)
    yield Case(APART, tuple(t[:, 0] for t in far_scores(rng, 2, 1, 3, 4)), **ROUGHLY)
    far = random(2, 3, 4, 6, 3, scale=60.0)
    yield Case("scores up to thousands apart", far, tolerance=1e-2, grad=False)
    q, k, v = random(2, 4, 5, 6, 3)
    yield Case("not contiguous", tuple(t.mT.contiguous().mT for t in (q, k, v)))
    yield Case("float64", tuple(t.double() for t in random(2, 3, 4, 6, 5)))
    for dtype in (torch.float16, torch.bfloat16):
        about = f"{dtype}".removeprefix("torch.")
        yield Case(about, tuple(t.to(dtype) for t in random(2, 3, 4, 6, 5)), grad=False)
    exact = [t.double() / 3 for t in random(2, 3, 4, 4, 5)]
    yield Case("float64, to nine digits", (*exact,), grad=False, tolerance=1e-9)
    yield Case("values of one number", random(2, 3, 4, 6, 1))
    q, k, v = random(1, 2, 300, 4, 3)
    better = torch.arange(300.0)[None, :, None] / 200
    about = "300 keys, each fits better than the one before"
    yield Case(about, (torch.ones_like(q), better.expand_as(k), v))
    for dtype, most in ((torch.float32, 1e15), (torch.float16, 170.0)):
        ask = torch.full((2, 9, 1), most, dtype=dtype)
        about = f"{dtype}, one key, its scores near {-most * most:.2g}"
        args = (ask, -ask[:, :1], v.view(2, 150, 3)[:, :1].to(dtype))
        yield Case(about.removeprefix("torch."), args, grad=False)


attention.rows("""
Along which axis do your shares add up to 1: samples, queries or keys?
    softmax-over-batch  weights = softmax(-1) => softmax(0)
What should the weights of one query add up to? And the whole matrix?
    softmax-flattened  weights = scores.flatten(1).softmax(-1).view_as(scores)
Which vectors meet in the dot product? Is Dv the length of one of them?
    scale-by-value-dim  D = v.shape[-1]
Print `q.shape`. Which of its sizes is the length of one query vector? What do you read?
    scale-by-several-sizes  D = q[0].numel()
D need not be a square number. Which type has the root of such a D in your code?
    scale-int-sqrt  scores = sqrt => isqrt
Does your divisor change when D does?
    scale-fixed  D = 4 || 64
Is it the scores that grow with D, or the values? Which of them do you divide?
    scale-on-output  scores = products ; output = _ / math.sqrt(D)
Entry (i, j): is i a query or a key in your matrix?
    transposed-scores  products = k @ q.mT
    transposed-scores  products = k @ q.mT ; output = torch.einsum('bls,bsd->bld', used, v)
Which axis of the weights has to meet the key axis of v?
    transposed-weights  used = _.mT
What is being mixed: what a word asks, or what it passes on?
    weights-times-q  output = @ v => @ q || torch.einsum('bls,bsd->bld', used, q)
Which two of your three arguments meet in the scores?
    wrong-pair-compared  products = q @ q.mT || q @ v.mT
Where do the weights meet the values in your code? What is a query's output a mixture of?
    weights-not-used  output = v || v.mean(1, keepdim=True).expand(-1, q.shape[1], -1)
    weights-not-used  output = v.mean(1)
Which of the two is asked for first: output or weights?
    results-swapped  return = weights, output
The second result should be shares. Do the rows of yours add up to 1?
    scores-returned  return = output, scores || output, products || output, output
Is the output made of the very weights that you return: from the same scores, in the same way?
    other-weights-returned  return = output, products.softmax(-1) || output, weights.mT
    other-weights-returned  return = output, (products / D).softmax(-1)
    other-weights-returned  used = products.softmax(-1) || scores
How many things should be returned, and which?
    output-only  return = output
What is exp(20000)? Which number may you subtract from a row beforehand?
    softmax-overflows  weights = scores.exp() / scores.exp().sum(-1, keepdim=True)
You take one maximum away from all rows. What is left of a row that is far below it?
    one-maximum-for-all  weights = (e := (scores - scores.amax()).exp()) / e.sum(-1, keepdim=True)
Print the shapes of the exponentials and of their sum. Counted from the right, which axes line up?
    keepdim-forgotten  weights = (e := scores.exp()) / e.sum(-1)
    keepdim-forgotten  weights = (e := (scores - scores.amax(-1, keepdim=True)).exp()) / e.sum(-1)
What makes a positive number of every score, and what must it be divided by?
    no-softmax  weights = scores / scores.sum(-1, keepdim=True) || scores.exp()
What do your rows sum to, to 4 digits? Try small scores.
    softmax-eps-denominator  weights = scores.exp() / (scores.exp().sum(-1, keepdim=True) + 1e-6)
Nobody asked for a mask. May query 0 see key 1 here?
    causal  scores = _ + torch.full_like(_, -torch.inf).triu(1)
    causal  weights = _.tril()
Call it twice with the same input. Is the answer the same?
    dropout-left-in  weights = F.dropout(_, 0.1) || F.dropout(_)
    dropout-left-in  used = F.dropout(_, 0.1)
    dropout-left-in  output = F.dropout(_, 0.1)
Does each step of your loop over the keys add to the output, or take the place of what was there?
    only-the-last-key  output = used[..., -1:] * v[:, -1:]
Is it a look-up of one value, or a mixture of all?
    only-the-best-key  weights = F.one_hot(scores.argmax(-1), scores.shape[-1]).to(q.dtype)
    only-the-best-key  output = F.one_hot(scores.argmax(-1), scores.shape[-1]).to(q.dtype) @ v
Do your weights change when q changes?
    uniform  weights = torch.ones_like(scores) / k.shape[1]
Do your weights compete? What does one row of them add up to?
    sigmoid  weights = scores.sigmoid()
How many axes has each tensor in your einsum, and how many letters do you give it?
    batch-forgotten  products = torch.einsum('ld,sd->ls', q, k)
The output should be (B, L, Dv). In which order do your axes stand?
    output-transposed  output = _.mT
The output should be (B, L, Dv). Which of its axes is lost in yours, and which one is summed?
    wrong-letter-summed  output = torch.einsum('bls,bsd->bsd', used, v)
    wrong-letter-summed  output = torch.einsum('bls,bsd->bls', used, v)
    wrong-letter-summed  output = torch.einsum('bls,bld->bld', used, v) || _.mean(1)
Weights and values share one axis: has it the same letter in both?
    values-not-paired  output = torch.einsum('bls,btd->bld', used, v)
Which axis do weights and values share? In which order must the two stand, so that it meets itself?
    factors-swapped  output = v @ used || used * v
How wide is a row of v, and how wide is a row of the output? Where does the width in your code come
from?
    output-like-q  output = _.reshape(q.shape) || _.expand_as(q)
    output-like-q  output = torch.stack([o.expand_as(x) for o, x in zip(_, q)])
Change sample 1. Should the result of sample 0 move? Do all samples have a result of their own?
    samples-mixed  products = torch.einsum('bld,csd->bls', q, k)
    samples-mixed  output = torch.einsum('bls,csd->bld', used, v)
    samples-mixed  products = q @ k[:1].mT || q[0] @ k[0].T
    samples-mixed  output = used @ v[:1] || used[0] @ v
    samples-mixed  return = output[0], weights[0]
Three axes are asked for, even if one of them has size 1. Which line of yours drops it?
    axes-of-size-1-lost  output = _.squeeze()
    axes-of-size-1-lost  return = output.squeeze(), weights.squeeze()
Which dtype goes in, and which one comes out, of both results?
    dtype-changed  output = _.float()
    dtype-changed  output = _.float() ; weights = _.float()
    dtype-changed  output = _.double() ; weights = _.double() ; used = _.to(v.dtype)
Of what are the shares made: of the queries and the keys, or of how well they fit?
    softmax-before-product  weights = q.softmax(-1) @ k.softmax(-1).mT
    softmax-before-product  weights = q.softmax(-1) @ k.softmax(1).mT
    softmax-before-product  weights = q.softmax(-1) @ k.mT || q @ k.softmax(-1).mT
    softmax-before-product  weights = q.softmax(-1) @ k.softmax(-1).mT / math.sqrt(D)
    softmax-before-product  weights = q.softmax(-1) @ k.mT / math.sqrt(D)
    softmax-before-product  weights = q @ k.softmax(-1).mT / math.sqrt(D)
    softmax-before-product  weights = (q / math.sqrt(D)).softmax(-1) @ k.mT
    softmax-before-product  products = q.softmax(-1) @ k.softmax(-1).mT
What should add up to 1: the weights of a query, or the features of its output?
    softmax-of-the-output  output = _.softmax(-1) || (scores @ v).softmax(-1)
What is shared out by the weights: the values as they are, or shares of the values?
    softmax-of-the-values  output = used @ v.softmax(-1) || used @ v.softmax(1)
    softmax-of-the-values  weights = scores ; output = scores @ v.softmax(-1)
Two things are asked for. What do the weights do to the values?
    weights-only  return = weights
""")

attention.drills(
    "results-swapped, dropout-left-in 2, factors-swapped, scale-twice, scores-returned, softmax-over-queries, "
    "no-softmax, transposed-scores, values-not-paired, scale-by-value-dim, scale-after-softmax"
)
