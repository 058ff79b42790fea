"""The task `attention`: scores, weights, mixture."""

import math

import torch
import torch.nn.functional as F

from attn_lib import einsum_attention
from attn_lib.checks.case import Case
from attn_lib.checks.lesson_01.steps import dots, mix, scaled
from attn_lib.checks.task import task


@task(
    lesson=1,
    points=3,
    returns=("output", "weights"),
    hints=[
        "Three steps: scores, weights, mixture. You have written the first two already.",
        "Each query hands out a total of 1 among the keys. Which axis of the scores `(B, L, S)` "
        "holds the keys?",
        "The mixture: weights `bls` and values `bsd`. Which letter is summed? Return the output "
        "first, then the weights.",
    ],
)
def attention(q, k, v):
    return einsum_attention(q, k, v)


@attention.cases
def _(rng):
    def random(B, L, S, D, Dv, scale=1.2):
        q, k = (torch.randn(B, n, D, generator=rng) * scale for n in (L, S))
        return q, k, torch.randn(B, S, Dv, generator=rng)

    yield Case(
        "one query, two keys",
        (
            torch.tensor([[[2.0, 0.0, 0.0, 0.0]]]),
            torch.tensor([[[2.0, 0.0, 0.0, 1.0], [1.0, 2.0, 0.0, 1.0]]]),
            torch.tensor([[[4.0, 0.0, 1.0], [0.0, 8.0, 1.0]]]),
        ),
    )
    yield Case("all sizes different", random(2, 5, 7, 6, 4))
    yield Case("the same sizes, other numbers", random(2, 5, 7, 6, 4))
    yield Case("L = S and D = Dv", random(2, 6, 6, 4, 4))
    yield Case("L = S, D = 10, Dv = 3", random(2, 6, 6, 10, 3))
    yield Case("B = L = S", random(3, 3, 3, 6, 5))
    yield Case("every size 4", random(4, 4, 4, 4, 4))
    yield Case("batch 1", random(1, 5, 7, 6, 4))
    yield Case("D = 1", random(2, 3, 4, 1, 2))
    yield Case("40 words, D = 64", random(1, 40, 40, 64, 20, scale=0.5))
    *_, v = random(1, 3, 4, 4, 2)
    yield Case(
        "vectors at right angles", (torch.eye(3, 4)[None], 2 * torch.eye(4)[None], v)
    )
    yield Case("one query", random(2, 1, 4, 6, 3))
    yield Case("one key", random(2, 4, 1, 6, 3))
    q, k, v = random(2, 3, 4, 6, 3)
    far = F.normalize(torch.randn(2, 1, 6, generator=rng), dim=-1)
    yield Case("every score near -30", (q * 0.3 + far * 8.6, k * 0.3 - far * 8.6, v))
    # In float32, numbers near 20000 are 0.002 apart: correct answers differ by 1e-3 there.
    for sign, about in ((1, "20000"), (-1, "-20000")):
        large = (q * 0.1 + far * 221.0, k * 0.1 + sign * far * 221.0, v)
        yield Case(f"every score near {about}", large, tolerance=2e-2, grad=False)
    yield Case(
        "scores up to thousands apart",
        random(2, 3, 4, 6, 3, scale=60.0),
        tolerance=1e-2,
        grad=False,
    )
    q, k, v = random(2, 4, 5, 6, 3)
    yield Case("not contiguous", (q, k, v.mT.contiguous().mT))
    yield Case("float64", tuple(t.double() for t in random(2, 3, 4, 6, 5)))
    for dtype in (torch.float16, torch.bfloat16):
        about = f"{dtype}".removeprefix("torch.")
        yield Case(about, tuple(t.to(dtype) for t in random(2, 3, 4, 6, 5)), grad=False)


@attention.mistake(
    "softmax-over-queries",
    "If query 0 hands out its attention, over which axis must its shares add up to 1?",
)
def _(q, k, v):
    return mix(scaled(q, k).softmax(-2), v)


@attention.mistake(
    "softmax-over-batch",
    "Along which axis do your shares add up to 1: samples, queries or keys? With a single sample, "
    "what is every weight?",
)
def _(q, k, v):
    return mix(scaled(q, k).softmax(0), v)


@attention.mistake(
    "softmax-flattened",
    "How large should the total weight of one query be, and of the whole matrix?",
)
def _(q, k, v):
    return mix(scaled(q, k).flatten(1).softmax(-1).view(len(q), q.shape[1], -1), v)


@attention.mistake("softmax-missing", "What does one row of your weights add up to?")
def _(q, k, v):
    return mix(scaled(q, k), v)


@attention.mistake(
    "scale-missing", "If D grows from 16 to 1024, what happens to the spread of q·k?"
)
def _(q, k, v):
    return mix(dots(q, k).softmax(-1), v)


@attention.mistake(
    "scale-multiplied", "Does your factor make the scores larger or smaller?"
)
def _(q, k, v):
    return mix((dots(q, k) * math.sqrt(q.shape[-1])).softmax(-1), v)


@attention.mistake(
    "scale-by-seq-len", "Should adding keys change how similar q and key 0 are?"
)
def _(q, k, v):
    return mix((dots(q, k) / math.sqrt(k.shape[1])).softmax(-1), v)


@attention.mistake(
    "scale-by-value-dim",
    "Which vectors meet in the dot product? Is Dv the length of one of them?",
)
def _(q, k, v):
    return mix((dots(q, k) / math.sqrt(v.shape[-1])).softmax(-1), v)


@attention.mistake(
    "scale-int-sqrt", "What is the square root of 6, as your code computes it?"
)
def _(q, k, v):
    return mix((dots(q, k) / math.isqrt(q.shape[-1])).softmax(-1), v)


@attention.mistake(
    "scale-after-softmax", "After your last step, what does one row of weights sum to?"
)
def _(q, k, v):
    return mix(dots(q, k).softmax(-1) / math.sqrt(q.shape[-1]), v)


@attention.mistake(
    "scale-twice", "By what are the scores divided altogether: by D, or by its square root?"
)
def _(q, k, v):
    return mix((scaled(q, k) / math.sqrt(q.shape[-1])).softmax(-1), v)


@attention.mistake(
    "scale-on-output",
    "Is it the scores that grow with D, or the values? Which of them do you divide?",
)
def _(q, k, v):
    output, weights = mix(dots(q, k).softmax(-1), v)
    return output / math.sqrt(q.shape[-1]), weights


@attention.mistake(
    "transposed-scores", "Entry (i, j): is i a query or a key in your matrix?"
)
def _(q, k, v):
    return mix(scaled(k, q).softmax(-1), v)


@attention.mistake(
    "transposed-weights", "Which axis of the weights has to meet the key axis of v?"
)
def _(q, k, v):
    weights = scaled(q, k).softmax(-1)
    return weights.mT @ v, weights


@attention.mistake("weights-times-k", "If you replace v by zeros, what should come out?")
def _(q, k, v):
    return mix(scaled(q, k).softmax(-1), k)


@attention.mistake(
    "weights-times-q", "What is being mixed: what a word asks, or what it passes on?"
)
def _(q, k, v):
    return mix(scaled(q, k).softmax(-1), q)


@attention.mistake(
    "results-swapped", "Which of the two is asked for first: output or weights?"
)
def _(q, k, v):
    return mix(scaled(q, k).softmax(-1), v)[::-1]


@attention.mistake(
    "scores-returned",
    "The second result should be shares. Do the rows of yours add up to 1?",
)
def _(q, k, v):
    return mix(scaled(q, k).softmax(-1), v)[0], scaled(q, k)


@attention.mistake(
    "softmax-overflows",
    "What is exp(20000)? Which number may you subtract from a row beforehand?",
)
def _(q, k, v):
    e = scaled(q, k).exp()
    return mix(e / e.sum(-1, keepdim=True), v)


@attention.mistake(
    "softmax-eps-denominator", "What do your rows sum to, to 4 digits? Try small scores."
)
def _(q, k, v):
    e = scaled(q, k).exp()
    return mix(e / (e.sum(-1, keepdim=True) + 1e-6), v)


@attention.mistake("causal", "Nobody asked for a mask. May query 0 see key 1 here?")
def _(q, k, v):
    hidden = torch.ones(q.shape[1], k.shape[1]).triu(1).bool()
    return mix(scaled(q, k).masked_fill(hidden, -torch.inf).softmax(-1), v)


@attention.mistake(
    "dropout-left-in", "Call it twice with the same input. Is the answer the same?"
)
def _(q, k, v):
    return mix(F.dropout(scaled(q, k).softmax(-1), 0.1), v)


@attention.mistake(
    "only-the-best-key", "Is it a look-up of one value, or a mixture of all?"
)
def _(q, k, v):
    return mix(F.one_hot(dots(q, k).argmax(-1), k.shape[1]).to(q.dtype), v)


@attention.mistake(
    "batch-forgotten",
    "How many axes has each tensor in your einsum, and how many letters do you give it?",
)
def _(q, k, v):
    scores = torch.einsum("ld,sd->ls", q, k) / math.sqrt(q.shape[-1])
    return scores.softmax(-1) @ v, scores


@attention.mistake(
    "output-transposed",
    "The output should be (B, L, Dv). In which order do your letters stand?",
)
def _(q, k, v):
    output, weights = mix(scaled(q, k).softmax(-1), v)
    return output.mT, weights


@attention.mistake(
    "queries-summed-away",
    "Your output has a row for each key. Which axis should survive, l or s, and which is summed?",
)
def _(q, k, v):
    weights = scaled(q, k).softmax(-1)
    return torch.einsum("bls,bsd->bsd", weights, v), weights


@attention.mistake(
    "values-summed-away",
    "The output should have the width of v. Which letter have you lost?",
)
def _(q, k, v):
    weights = scaled(q, k).softmax(-1)
    return torch.einsum("bls,bsd->bls", weights, v), weights


@attention.mistake(
    "keys-not-transposed",
    "What are the shapes of q and k? Which two axes of k must change places, so that D meets D?",
)
def _(q, k, v):
    return mix((q @ k / math.sqrt(q.shape[-1])).softmax(-1), v)


@attention.mistake("scale-fixed", "Does your divisor change when D does?")
def _(q, k, v):
    return mix((dots(q, k) / 2).softmax(-1), v)


@attention.mistake(
    "values-not-paired",
    "Weights and values share one axis: has it the same letter in both?",
)
def _(q, k, v):
    weights = scaled(q, k).softmax(-1)
    return torch.einsum("bls,btd->bld", weights, v), weights


@attention.mistake("uniform", "Do your weights change when q changes?")
def _(q, k, v):
    return mix(torch.full_like(dots(q, k), 1 / k.shape[1]), v)


@attention.mistake(
    "sigmoid", "Do your weights compete? What does one row of them add up to?"
)
def _(q, k, v):
    return mix(scaled(q, k).sigmoid(), v)
