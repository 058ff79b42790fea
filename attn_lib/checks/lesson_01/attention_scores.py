"""The task `attention_scores`: how well each key fits each query."""

import math

import torch

from attn_lib.checks.case import Case
from attn_lib.checks.task import task


@task(
    lesson=1,
    points=1,
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

    yield Case(
        "one query, two keys",
        (
            torch.tensor([[[1.0, 0.0, 2.0, 0.0]]]),
            torch.tensor([[[2.0, 1.0, 1.0, 0.0], [0, 3, 1, 1]]]),
        ),
    )
    yield Case("all sizes different", (random(2, 5, 6), random(2, 7, 6)))
    yield Case("the same sizes, other numbers", (random(2, 5, 6), random(2, 7, 6)))
    yield Case("L = S", (random(2, 6, 10), random(2, 6, 10)))
    yield Case("L = S = D", (random(2, 5, 5), random(2, 5, 5)))
    yield Case("B = L = S", (random(3, 3, 8), random(3, 3, 8)))
    yield Case("B = L = S = D", (random(3, 3, 3), random(3, 3, 3)))
    yield Case("S = D", (random(2, 3, 7), random(2, 7, 7)))
    yield Case("D = 1", (random(2, 3, 1), random(2, 4, 1)))
    yield Case("vectors at right angles", (torch.eye(3, 4)[None], 2 * torch.eye(4)[None]))
    yield Case("40 words, D = 64", (random(1, 40, 64), random(1, 40, 64)))
    yield Case("one query", (random(2, 1, 6), random(2, 4, 6)))
    yield Case("one key", (random(2, 4, 6), random(2, 1, 6)))
    yield Case(
        "large numbers", (random(1, 2, 6, scale=100.0), random(1, 3, 6, scale=100.0))
    )
    yield Case("not contiguous", (random(2, 6, 5).mT, random(2, 6, 4).mT))
    yield Case("float64", (random(2, 3, 6).double(), random(2, 4, 6).double()))
    for dtype in (torch.float16, torch.bfloat16):
        about = f"{dtype}".removeprefix("torch.")
        yield Case(
            about, (random(2, 3, 6).to(dtype), random(2, 4, 6).to(dtype)), grad=False
        )


# ------------------------------------------------------------------------------- mistakes

wrong = attention_scores.wrong
SIZES = "Print `q.shape`. Which of its sizes is the length of one query vector? What do you read?"
wrong("scale-by-batch", SIZES, dict(D="q.shape[0]"))
wrong("scale-by-several-sizes", SIZES, dict(D="q[0].numel()"), dict(D="q.numel()"))
wrong(
    "scale-int-sqrt",
    "D need not be a square number. Which type has the root of such a D in your code?",
    dict(scores="sqrt => isqrt"),
)
wrong(
    "scale-fixed",
    "Does your divisor change when D does?",
    dict(D="4"),
    dict(D="64"),
)
wrong(
    "wrong-axes-transposed",
    "Which two axes of k does your transpose exchange? Print the shape before and after it.",
    dict(products="q @ k.transpose(0, 1)"),
)
wrong(
    "all-axes-turned",
    "Does the batch axis of k stay where it is? Which two axes should change places?",
    dict(products="q @ k.permute(2, 1, 0)"),
)
wrong(
    "keys-reshaped",
    "A reshape or view keeps the numbers in their order. Does one column of your k still hold one key? "
    "Print a small k before and after.",
    dict(products="q @ k.reshape(k.shape[0], D, k.shape[1])"),
    dict(products="q @ k.view(k.shape[0], D, k.shape[1])"),
)
wrong(
    "multiplied-elementwise",
    "`*` multiplies numbers that stand in the same place. How does every query meet every key?",
    dict(products="q * k"),
)
wrong(
    "softmax-too-early",
    "These add up to 1 already: you return weights. Are scores positive only?",
    dict(scores="_.softmax(-1)"),
)
wrong(
    "cosine",
    "If a query becomes twice as long, should its scores change? Do yours?",
    dict(
        products="_ / q.norm(dim=-1, keepdim=True) / k.norm(dim=-1)[:, None]",
        scores="products",
    ),
    dict(products="_ / q.norm(dim=-1, keepdim=True) / k.norm(dim=-1)[:, None]"),
)
wrong(
    "across-batch",
    "Change sample 1. Should the scores of sample 0 move? Do they?",
    dict(products="torch.einsum('bld,csd->bls', q, k)"),
)
wrong(
    "first-sample-only",
    "Change the keys of the last sample. Do its scores move?",
    dict(products="q @ k[:1].mT"),
)
wrong(
    "batch-forgotten",
    "How many axes has q here, and how many letters do you give it? Which one is missing?",
    dict(products="torch.einsum('ld,sd->ls', q, k)"),
)
wrong(
    "features-not-paired",
    "How many letters are summed away in your einsum? q and k share one axis: has it the same letter "
    "in both?",
    dict(products="torch.einsum('bld,bse->bls', q, k)"),
)
wrong(
    "sign-flipped",
    "Should a key that points along the query score high or low?",
    dict(scores="-_"),
)
