"""The task `attention_scores`: how well each key fits each query."""

import math

import torch

from attn_lib.checks.authoring import Case, task


@task(
    lesson=1,
    points=1,
    insight="Divided by √D, the scores of independent channels spread alike for any D, and the softmax stays soft.",
    hints=[
        "One score says how well one query fits one key: a dot product. Which axis do q and k "
        "share, and so sum away?",
        "In letters, q is `bld` and k is `bsd`. Which letters does a score for every pair of a "
        "query and a key need?",
        "Then one division: by the square root of D, the size of the last axis of q. Read it from "
        "`q.shape`; do not write a number.",
    ],
)
def attention_scores(q, k):
    D = q.shape[-1]
    products = torch.einsum("bld,bsd->bls", q, k)
    scores = products / math.sqrt(D)
    return scores


@attention_scores.cases
def _(rng):
    def random(*shape, scale=1.5):
        return torch.randn(*shape, generator=rng) * scale

    one_query = torch.tensor([[[1.0, 0.0, 2.0, 0.0]]])
    two_keys = torch.tensor([[[2.0, 1.0, 1.0, 0.0], [0, 3, 1, 1]]])
    yield Case("one query, two keys", (one_query, two_keys))
    yield Case("all sizes different", (random(2, 5, 6), random(2, 7, 6)))
    yield Case("the same sizes, other numbers", (random(2, 5, 6), random(2, 7, 6)))
    yield Case("L = S", (random(2, 6, 10), random(2, 6, 10)))
    yield Case("B = L = S = D", (random(3, 3, 3), random(3, 3, 3)))
    yield Case("D = 1", (random(2, 3, 1), random(2, 4, 1)))
    yield Case("vectors at right angles", (torch.eye(3, 4)[None], 2 * torch.eye(4)[None]))
    yield Case("40 words, D = 64", (random(1, 40, 64), random(1, 40, 64)))
    yield Case("one query", (random(2, 1, 6), random(2, 4, 6)))
    yield Case("one key", (random(2, 4, 6), random(2, 1, 6)))
    large = random(1, 2, 6, scale=100.0), random(1, 3, 6, scale=100.0)
    yield Case("large numbers", large)
    yield Case("not contiguous", (random(2, 6, 5).mT, random(2, 6, 4).mT))
    yield Case("float64", (random(2, 3, 6).double(), random(2, 4, 6).double()))
    for dtype in (torch.float16, torch.bfloat16):
        half = random(2, 3, 6).to(dtype), random(2, 4, 6).to(dtype)
        yield Case(f"{dtype}".removeprefix("torch."), half, grad=False)
    exact = [random(2, n, 4).double() / 3 for n in (3, 5)]
    yield Case("float64, to nine digits", (*exact,), grad=False, tolerance=1e-9)
    unlike = random(1, 2, 6, scale=1e6), random(1, 3, 6, scale=1e-6)
    yield Case("long queries, short keys", unlike)
    yield Case(
        "scores in the millions", (random(1, 2, 6, scale=3e3), random(1, 3, 6, scale=3e3))
    )
    yield Case("D = 300", (random(1, 2, 300), random(1, 3, 300)))


attention_scores.rows("""
Print `q.shape`. Which of its sizes is the length of one query vector? What do you read?
    scale-by-batch          D = q.shape[0]
    scale-by-several-sizes  D = q[0].numel() || q.numel()
D need not be a square number. Which type has the root of such a D in your code?
    scale-int-sqrt  scores = sqrt => isqrt || products / round(math.sqrt(D))
Print what your scores are divided by, for D = 4 and for D = 16. Is it the root? If you wrote
`D ** 1 / 2`: which of the two does Python take first?
    scale-without-parentheses  scores = products / D / 2 || products / (D / 2)
Does your divisor change when D does?
    scale-fixed  D = 4 || 64 || 512
Which two axes of k does your transpose exchange? Print the shape before and after it.
    wrong-axes-transposed  products = q @ k.transpose(0, 1)
Does the batch axis of k stay where it is? Which two axes should change places?
    all-axes-turned  products = q @ k.permute(2, 1, 0)
A reshape or view keeps the numbers in their order. Does one column of your k still hold one key?
Print a small k before and after.
    keys-reshaped  products = q @ k.reshape(k.shape[0], k.shape[2], k.shape[1])
    keys-reshaped  products = q @ k.view(k.shape[0], k.shape[2], k.shape[1])
`*` multiplies numbers that stand in the same place. How does every query meet every key?
    multiplied-elementwise  products = q * k || (q * k).sum(-1)
Which axis do you sum away? Is what meets there two vectors, or one channel of all tokens?
    tokens-summed-away  products = q.mT @ k
These add up to 1 already: you return weights. Are scores positive only?
    softmax-too-early  scores = _.softmax(-1) || _.softmax(1)
If a query becomes twice as long, should its scores change? Do yours?
    cosine  products = _ / q.norm(dim=-1, keepdim=True) / k.norm(dim=-1)[:, None] ; scores = products
    cosine  products = _ / q.norm(dim=-1, keepdim=True) / k.norm(dim=-1)[:, None]
    cosine  products = _ / q.norm(dim=-1, keepdim=True) || _ / k.norm(dim=-1)[:, None]
Is a score here how far a key is from a query, or how well it fits?
    distance  products = torch.cdist(q, k) || -torch.cdist(q, k) || -torch.cdist(q, k) ** 2
Change sample 1. Should the scores of sample 0 move? Do they?
    across-batch  products = torch.einsum('bld,csd->bls', q, k)
    across-batch  products = torch.tensordot(q, k, dims=([2], [2]))
    across-batch  products = q.flatten(0, 1) @ k.flatten(0, 1).T
Change the keys of the last sample. Do its scores move?
    first-sample-only  products = q @ k[:1].mT || q[:1] @ k.mT
    first-sample-only  scores = _[0]
How many axes has q here, and how many letters do you give it? Which one is missing?
    batch-forgotten  products = torch.einsum('ld,sd->ls', q, k)
How many letters are summed away in your einsum? q and k share one axis: has it the same letter in
both?
    features-not-paired  products = torch.einsum('bld,bse->bls', q, k)
Should a key that points along the query score high or low?
    sign-flipped  products = -_
Can a key be worse than one at a right angle to the query? What becomes of negative scores?
    negative-lost  scores = _.relu() || _.abs()
Three axes are asked for: samples, queries, keys. Which one is missing in your result, and what has become
of its numbers?
    samples-added-up  products = torch.einsum('bld,bsd->ls', q, k)
The result should be (B, L, S). Which axis is still there, and what should become of it?
    nothing-summed  products = torch.einsum('bld,bsd->blsd', q, k)
Three axes are asked for, even if one of them has size 1. Which line of yours drops it?
    axes-of-size-1-lost  return = _.squeeze()
Nobody asked for a mask. May query 0 meet key 1 here?
    causal  scores = _ + torch.full_like(_, -torch.inf).triu(1)
Which dtype goes in, and which one comes out?
    dtype-changed  return = _.float() || _.double()
Of what is the root taken in your code: of D alone? And what is the root of a negative product?
    root-of-the-product  scores = (products / D).sqrt() || products.sqrt() / D
How many samples go in, and how many come out?
    one-sample  scores = _[:1]
""")

attention_scores.drills(
    "scale-multiplied, softmax-too-early, scale-twice, wrong-axes-transposed, multiplied-elementwise 1, "
    "samples-added-up, transposed-scores, tokens-summed-away, keys-reshaped 1, scale-by-the-wrong-size"
)
