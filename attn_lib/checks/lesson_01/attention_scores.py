"""The task `attention_scores`: how well each key fits each query."""

import math

import torch
import torch.nn.functional as F

from attn_lib.checks.case import Case
from attn_lib.checks.lesson_01.steps import dots
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
    return torch.einsum("bld,bsd->bls", q, k) / math.sqrt(q.shape[-1])


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


@attention_scores.mistake(
    "scale-missing", "If D grows from 16 to 1024, what happens to the spread of q·k?"
)
def _(q, k):
    return dots(q, k)


@attention_scores.mistake(
    "scale-multiplied", "Does your factor make the scores larger or smaller?"
)
def _(q, k):
    return dots(q, k) * math.sqrt(q.shape[-1])


@attention_scores.mistake(
    "scale-by-seq-len", "Should one more key change how well query 0 fits key 0?"
)
def _(q, k):
    return dots(q, k) / math.sqrt(k.shape[1])


@attention_scores.mistake(
    "scale-by-queries", "Should one more query change the scores of the others?"
)
def _(q, k):
    return dots(q, k) / math.sqrt(q.shape[1])


@attention_scores.mistake(
    "scale-int-sqrt", "What is the square root of 6, as your code computes it?"
)
def _(q, k):
    return dots(q, k) / math.isqrt(q.shape[-1])


@attention_scores.mistake(
    "scale-twice", "By what do you divide altogether: by D, or by its square root?"
)
def _(q, k):
    return dots(q, k) / q.shape[-1]


@attention_scores.mistake(
    "scale-by-batch",
    "Print `q.shape`. Which of its sizes is the length of one query vector?",
)
def _(q, k):
    return dots(q, k) / math.sqrt(q.shape[0])


@attention_scores.mistake(
    "transposed-scores",
    "Entry (i, j) of your result: is i a query or a key? It should be (L, S).",
)
def _(q, k):
    return dots(k, q) / math.sqrt(q.shape[-1])


@attention_scores.mistake(
    "wrong-axes-transposed",
    "Which two axes of k does your transpose exchange? Print the shape before and after it.",
)
def _(q, k):
    return q @ k.transpose(0, 1) / math.sqrt(q.shape[-1])


@attention_scores.mistake(
    "keys-not-transposed",
    "Your product runs along the keys, not along the features. Which axes must meet?",
)
def _(q, k):
    return q @ k / math.sqrt(q.shape[-1])


_PRODUCT = "What are the shapes of q and k? Which two axes of k must change places, so that D meets D?"


@attention_scores.mistake("keys-not-transposed", _PRODUCT)
def _(q, k):
    return q @ k


@attention_scores.mistake("wrong-axes-transposed", _PRODUCT)
def _(q, k):
    return q @ k.transpose(0, 1)


@attention_scores.mistake("scale-fixed", "Does your divisor change when D does?")
def _(q, k):
    return dots(q, k) / 2


@attention_scores.mistake("scale-fixed", "Does your divisor change when D does?")
def _(q, k):
    return dots(q, k) / 8


@attention_scores.mistake(
    "softmax-too-early",
    "These add up to 1 already: you return weights. Are scores positive only?",
)
def _(q, k):
    return (dots(q, k) / math.sqrt(q.shape[-1])).softmax(-1)


@attention_scores.mistake(
    "cosine", "If a query becomes twice as long, should its scores change? Do yours?"
)
def _(q, k):
    return dots(F.normalize(q, dim=-1), F.normalize(k, dim=-1))


@attention_scores.mistake(
    "across-batch", "Change sample 1. Should the scores of sample 0 move? Do they?"
)
def _(q, k):
    return torch.einsum("bld,csd->bls", q, k) / math.sqrt(q.shape[-1])


@attention_scores.mistake(
    "batch-forgotten",
    "How many axes has q here, and how many letters do you give it? Which one is missing?",
)
def _(q, k):
    return torch.einsum("ld,sd->ls", q, k) / math.sqrt(q.shape[-1])


@attention_scores.mistake(
    "all-axes-turned",
    "Does the batch axis of k stay where it is? Which two axes should change places?",
)
def _(q, k):
    return q @ k.permute(2, 1, 0) / math.sqrt(q.shape[-1])


@attention_scores.mistake(
    "features-not-paired",
    "How many letters are summed away in your einsum? q and k share one axis: has it the same letter "
    "in both?",
)
def _(q, k):
    return torch.einsum("bld,bse->bls", q, k) / math.sqrt(q.shape[-1])


@attention_scores.mistake(
    "sign-flipped", "Should a key that points along the query score high or low?"
)
def _(q, k):
    return -dots(q, k) / math.sqrt(q.shape[-1])
