"""The tasks of lesson 01: one attention head."""

import inspect
import math

import torch
import torch.nn.functional as F
from torch import nn

from attn_lib import einsum_attention
from attn_lib.checks.task import Case, Wrong, run_module, sharpened_parameters, task

# ---------------------------------------------------------------------------- stable_softmax


@task(
    lesson=1,
    points=2,
    hints=[
        "exp(1000) is too large for a float. Which number can you subtract from every entry of a "
        "row without changing its softmax?",
        "Subtract the largest entry of the row, so that the largest exponent is 0. Which argument "
        "of `amax` says what a row is here, and which one keeps that axis, so that the "
        "subtraction lines up?",
        "Three lines: shift by the maximum along `dim`, exponentiate, divide by the sum along the "
        "same `dim`. Both reductions need `keepdim=True`.",
    ],
)
def stable_softmax(x, dim=-1):
    exponentials = (x - x.amax(dim, keepdim=True)).exp()
    return exponentials / exponentials.sum(dim, keepdim=True)


def _with_dim(answer, x, dim):
    try:
        by_position = "dim" not in inspect.signature(answer).parameters
    except (TypeError, ValueError):  # a function built into PyTorch
        by_position = False
    return answer(x, dim) if by_position else answer(x, dim=dim)


def _exact_zero(answer, x):
    result = answer(x)
    if isinstance(result, torch.Tensor) and result.shape == x.shape:
        largest = result[x == -torch.inf].abs().max().item()
        if 0 < largest < 1e-3:  # anything larger shows as an ordinary difference
            raise Wrong(f"A score of -inf should get exactly 0, but gets {largest:.3g}.")
    return result


@stable_softmax.cases
def _(rng):
    def random(*shape, scale=2.0):
        return torch.randn(*shape, generator=rng) * scale

    yield Case("one row", (torch.tensor([[1.0, 2.0, 4.0]]),))
    yield Case("a vector", (random(5), 0), _with_dim)
    yield Case("rows of a 3-D tensor", (random(2, 3, 5),))
    yield Case("the same shape, other numbers", (random(2, 3, 5, scale=5.0),))
    for dim in (0, 1, -2):
        yield Case(f"along dim {dim}", (random(3, 4, 5), dim), _with_dim)
    yield Case("a square", (random(4, 4),))
    yield Case("a square along dim 0", (random(4, 4), 0), _with_dim)
    yield Case("a cube along dim 1", (random(3, 3, 3), 1), _with_dim)
    yield Case("four axes, along dim -3", (random(2, 3, 4, 5), -3), _with_dim)
    yield Case("one number", (random(1, 1),))
    # In float32, numbers near 1e4 are 0.001 apart: correct answers differ by that much there.
    for about, rows in (
        ("large numbers, up to 1e4", [[1e4, 1e4 - 1, 0.0]]),
        ("two rows of large numbers", [[1e4, 1e4 - 1, 0.0], [3.0, 1e4, 1e4]]),
        ("very negative numbers", [[-1e4, -1e4 - 2.0, -1e4 + 1.0]]),
        ("one row near 1e4, one near -1e4", [[1e4, 9999.0], [-1e4, -9999.0]]),
    ):
        yield Case(about, (torch.tensor(rows),), tolerance=1e-2, grad=False)
    yield Case("120 apart", (torch.tensor([[120.0, 0.0, 100.0]]),), grad=False)
    yield Case("a wide spread", (random(3, 4, scale=200.0),), grad=False)
    yield Case("everything near -30", (random(3, 4) - 30,))
    yield Case("everything near -100", (random(3, 4) - 100,))
    hidden = random(3, 4).masked_fill(torch.eye(3, 4) == 1, -torch.inf)
    yield Case("a -inf in each row", (hidden,), _exact_zero)
    for lowest in (-1.2e4, -3e4):
        row = torch.tensor([[lowest, -torch.inf, lowest - 1]])
        about = f"a -inf beside numbers near {lowest:.0f}"
        yield Case(about, (row,), _exact_zero, tolerance=1e-2, grad=False)
    yield Case("a view that is not contiguous", (random(5, 3).T,))
    yield Case("float64", (random(2, 3).double(),))
    for dtype in (torch.float16, torch.bfloat16):
        x = random(2, 3, scale=1.0).to(dtype)
        yield Case(f"{dtype}".removeprefix("torch."), (x,), grad=False)


_ONE_SUM = "What do all your numbers add up to together? And what should one row?"
_KEEPDIM = (
    "Print the shapes of x, of the maximum and of the sum. Counted from the right, which axes line up? "
    "Which argument keeps the axis that was reduced?"
)


@stable_softmax.mistake(
    "no-maximum-subtracted", "What is `torch.tensor(1e4).exp()`? And inf / inf?"
)
def _(x, dim=-1):
    return x.exp() / x.exp().sum(dim, keepdim=True)


@stable_softmax.mistake(
    "one-maximum-for-all",
    "If one row is near 1e4 and another near -1e4: what is left of the second one after you have "
    "subtracted your maximum?",
)
def _(x, dim=-1):
    e = (x - x.max()).exp()
    return e / e.sum(dim, keepdim=True)


@stable_softmax.mistake(
    "dim-ignored",
    "Call it with dim=0. Over which axis does your code add up? Where is `dim` used?",
)
def _(x, dim=-1):
    return x.softmax(-1)


@stable_softmax.mistake(
    "first-axis", "With dim=-1, which axis should add up to 1: first or last?"
)
def _(x, dim=-1):
    return x.softmax(0)


@stable_softmax.mistake("sum-over-everything", _ONE_SUM)
def _(x, dim=-1):
    return x.flatten().softmax(0).view_as(x.contiguous())


@stable_softmax.mistake("keepdim-forgotten", _KEEPDIM)
def _(x, dim=-1):
    e = (x - x.amax(dim, keepdim=True)).exp()
    return e / e.sum(dim)


@stable_softmax.mistake("keepdim-forgotten", _KEEPDIM)
def _(x, dim=-1):
    e = (x - x.amax(dim)).exp()
    return e / e.sum(dim)


@stable_softmax.mistake(
    "maximum-with-its-index",
    "`x.max(dim)` returns two things, the values and where they stand. Which of them do you need?",
)
def _(x, dim=-1):
    e = (x - x.max(dim, keepdim=True)).exp()
    return e / e.sum(dim, keepdim=True)


@stable_softmax.mistake("sum-over-everything", _ONE_SUM)
def _(x, dim=-1):
    return x.exp() / x.exp().sum()


@stable_softmax.mistake("sum-over-everything", _ONE_SUM)
def _(x, dim=-1):
    e = (x - x.amax(dim, keepdim=True)).exp()
    return e / e.sum()


@stable_softmax.mistake("keepdim-forgotten", _KEEPDIM)
def _(x, dim=-1):
    return x.exp() / x.exp().sum(dim)


@stable_softmax.mistake("keepdim-forgotten", _KEEPDIM)
def _(x, dim=-1):
    e = (x - x.max()).exp()
    return e / e.sum(dim)


@stable_softmax.mistake("keepdim-forgotten", _KEEPDIM)
def _(x, dim=-1):
    e = (x - x.amax(dim)).exp()
    return e / e.sum(dim, keepdim=True)


@stable_softmax.mistake(
    "epsilon-in-denominator",
    "Let every number be near -30. How large is the sum of the exponentials beside your epsilon? "
    "After the right shift, how small can that sum get at all?",
)
def _(x, dim=-1):
    return x.exp() / (x.exp().sum(dim, keepdim=True) + 1e-6)


@stable_softmax.mistake(
    "mean-subtracted",
    "After your shift, how large can the largest entry still be? Try the row [1e4, 0, 0].",
)
def _(x, dim=-1):
    e = (x - x.mean(dim, keepdim=True)).exp()
    return e / e.sum(dim, keepdim=True)


@stable_softmax.mistake(
    "minimum-subtracted", "After your shift, is the largest exponent 0 or the smallest?"
)
def _(x, dim=-1):
    e = (x - x.amin(dim, keepdim=True)).exp()
    return e / e.sum(dim, keepdim=True)


@stable_softmax.mistake(
    "divided-by-maximum",
    "Compare the rows [1, 2] and [2, 4]: should they have the same softmax? Which operation leaves "
    "the softmax as it is, subtracting or dividing?",
)
def _(x, dim=-1):
    return (x / x.amax(dim, keepdim=True)).softmax(dim)


@stable_softmax.mistake(
    "clamped",
    "Which of 1e4 and 9999 should get more weight? What does your code make of the two?",
)
def _(x, dim=-1):
    e = x.clamp(max=50.0).exp()
    return e / e.sum(dim, keepdim=True)


@stable_softmax.mistake(
    "sign-flipped", "Which entry should get the largest share: the largest?"
)
def _(x, dim=-1):
    return (-x).softmax(dim)


@stable_softmax.mistake(
    "log-returned",
    "Your numbers are negative. Which function turns logarithms into shares?",
)
def _(x, dim=-1):
    return x.log_softmax(dim)


@stable_softmax.mistake("base-two", "Is the softmax built on powers of 2, or of e?")
def _(x, dim=-1):
    return (x * math.log(2)).softmax(dim)


@stable_softmax.mistake(
    "no-softmax",
    "Your numbers do not come from exponentials. What does exp do to a negative score?",
)
def _(x, dim=-1):
    return x / x.sum(dim, keepdim=True)


@stable_softmax.mistake(
    "not-divided", "Your largest number is 1. What do the numbers of one row add up to?"
)
def _(x, dim=-1):
    return (x - x.amax(dim, keepdim=True)).exp()


# -------------------------------------------------------------------------- attention_scores


@task(
    lesson=1,
    points=1,
    hints=[
        "One score says how well one query fits one key: a dot product. Which axis do q and k "
        "share, and so sum away?",
        "In letters, q is `bld` and k is `bsd`. Which letters does a score for every pair of a "
        "query and a key need?",
        "Then one division. By the square root of which size? Try D = 6: it is not 2.",
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
    yield Case("head_dim 1", (random(2, 3, 1), random(2, 4, 1)))
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


def _dots(q, k):
    return torch.einsum("bld,bsd->bls", q, k)


@attention_scores.mistake(
    "scale-missing", "If D grows from 16 to 1024, what happens to the spread of q·k?"
)
def _(q, k):
    return _dots(q, k)


@attention_scores.mistake(
    "scale-multiplied", "Does your factor make the scores larger or smaller?"
)
def _(q, k):
    return _dots(q, k) * math.sqrt(q.shape[-1])


@attention_scores.mistake(
    "scale-by-seq-len", "Should one more key change how well query 0 fits key 0?"
)
def _(q, k):
    return _dots(q, k) / math.sqrt(k.shape[1])


@attention_scores.mistake(
    "scale-by-queries", "Should one more query change the scores of the others?"
)
def _(q, k):
    return _dots(q, k) / math.sqrt(q.shape[1])


@attention_scores.mistake(
    "scale-int-sqrt", "What is the square root of 6, as your code computes it?"
)
def _(q, k):
    return _dots(q, k) / math.isqrt(q.shape[-1])


@attention_scores.mistake(
    "scale-twice", "By what do you divide altogether: by D, or by its square root?"
)
def _(q, k):
    return _dots(q, k) / q.shape[-1]


@attention_scores.mistake(
    "scale-by-batch",
    "Print `q.shape`. Which of its sizes is the length of one query vector?",
)
def _(q, k):
    return _dots(q, k) / math.sqrt(q.shape[0])


@attention_scores.mistake(
    "transposed-scores",
    "Entry (i, j) of your result: is i a query or a key? It should be (L, S).",
)
def _(q, k):
    return _dots(k, q) / math.sqrt(q.shape[-1])


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


@attention_scores.mistake(
    "softmax-too-early",
    "These add up to 1 already: you return weights. Are scores positive only?",
)
def _(q, k):
    return (_dots(q, k) / math.sqrt(q.shape[-1])).softmax(-1)


@attention_scores.mistake(
    "cosine", "If a query becomes twice as long, should its scores change? Do yours?"
)
def _(q, k):
    return _dots(F.normalize(q, dim=-1), F.normalize(k, dim=-1))


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
    return -_dots(q, k) / math.sqrt(q.shape[-1])


# --------------------------------------------------------------------------------- attention


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
    yield Case("head_dim 1", random(2, 3, 4, 1, 2))
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


def _mix(weights, v):
    return torch.einsum("bls,bsd->bld", weights, v), weights


def _scaled(q, k):
    return _dots(q, k) / math.sqrt(q.shape[-1])


@attention.mistake(
    "softmax-over-queries",
    "If query 0 hands out its attention, over which axis must its shares add up to 1?",
)
def _(q, k, v):
    return _mix(_scaled(q, k).softmax(-2), v)


@attention.mistake(
    "softmax-over-batch",
    "Along which axis do your shares add up to 1: samples, queries or keys? With a single sample, "
    "what is every weight?",
)
def _(q, k, v):
    return _mix(_scaled(q, k).softmax(0), v)


@attention.mistake(
    "softmax-flattened",
    "How large should the total weight of one query be, and of the whole matrix?",
)
def _(q, k, v):
    return _mix(_scaled(q, k).flatten(1).softmax(-1).view(len(q), q.shape[1], -1), v)


@attention.mistake("softmax-missing", "What does one row of your weights add up to?")
def _(q, k, v):
    return _mix(_scaled(q, k), v)


@attention.mistake(
    "scale-missing", "If D grows from 16 to 1024, what happens to the spread of q·k?"
)
def _(q, k, v):
    return _mix(_dots(q, k).softmax(-1), v)


@attention.mistake(
    "scale-multiplied", "Does your factor make the scores larger or smaller?"
)
def _(q, k, v):
    return _mix((_dots(q, k) * math.sqrt(q.shape[-1])).softmax(-1), v)


@attention.mistake(
    "scale-by-seq-len", "Should adding keys change how similar q and key 0 are?"
)
def _(q, k, v):
    return _mix((_dots(q, k) / math.sqrt(k.shape[1])).softmax(-1), v)


@attention.mistake(
    "scale-by-value-dim",
    "Which vectors meet in the dot product? Is Dv the length of one of them?",
)
def _(q, k, v):
    return _mix((_dots(q, k) / math.sqrt(v.shape[-1])).softmax(-1), v)


@attention.mistake(
    "scale-int-sqrt", "What is the square root of 6, as your code computes it?"
)
def _(q, k, v):
    return _mix((_dots(q, k) / math.isqrt(q.shape[-1])).softmax(-1), v)


@attention.mistake(
    "scale-after-softmax", "After your last step, what does one row of weights sum to?"
)
def _(q, k, v):
    return _mix(_dots(q, k).softmax(-1) / math.sqrt(q.shape[-1]), v)


@attention.mistake(
    "scale-twice", "By what are the scores divided altogether: by D, or by its square root?"
)
def _(q, k, v):
    return _mix((_scaled(q, k) / math.sqrt(q.shape[-1])).softmax(-1), v)


@attention.mistake(
    "scale-on-output",
    "Is it the scores that grow with D, or the values? Which of them do you divide?",
)
def _(q, k, v):
    output, weights = _mix(_dots(q, k).softmax(-1), v)
    return output / math.sqrt(q.shape[-1]), weights


@attention.mistake(
    "transposed-scores", "Entry (i, j): is i a query or a key in your matrix?"
)
def _(q, k, v):
    return _mix(_scaled(k, q).softmax(-1), v)


@attention.mistake(
    "transposed-weights", "Which axis of the weights has to meet the key axis of v?"
)
def _(q, k, v):
    weights = _scaled(q, k).softmax(-1)
    return weights.mT @ v, weights


@attention.mistake("weights-times-k", "If you replace v by zeros, what should come out?")
def _(q, k, v):
    return _mix(_scaled(q, k).softmax(-1), k)


@attention.mistake(
    "weights-times-q", "What is being mixed: what a word asks, or what it passes on?"
)
def _(q, k, v):
    return _mix(_scaled(q, k).softmax(-1), q)


@attention.mistake(
    "results-swapped", "Which of the two is asked for first: output or weights?"
)
def _(q, k, v):
    return _mix(_scaled(q, k).softmax(-1), v)[::-1]


@attention.mistake(
    "scores-returned",
    "The second result should be shares. Do the rows of yours add up to 1?",
)
def _(q, k, v):
    return _mix(_scaled(q, k).softmax(-1), v)[0], _scaled(q, k)


@attention.mistake(
    "softmax-overflows",
    "What is exp(20000)? Which number may you subtract from a row beforehand?",
)
def _(q, k, v):
    e = _scaled(q, k).exp()
    return _mix(e / e.sum(-1, keepdim=True), v)


@attention.mistake(
    "softmax-eps-denominator", "What do your rows sum to, to 4 digits? Try small scores."
)
def _(q, k, v):
    e = _scaled(q, k).exp()
    return _mix(e / (e.sum(-1, keepdim=True) + 1e-6), v)


@attention.mistake("causal", "Nobody asked for a mask. May query 0 see key 1 here?")
def _(q, k, v):
    hidden = torch.ones(q.shape[1], k.shape[1]).triu(1).bool()
    return _mix(_scaled(q, k).masked_fill(hidden, -torch.inf).softmax(-1), v)


@attention.mistake(
    "dropout-left-in", "Call it twice with the same input. Is the answer the same?"
)
def _(q, k, v):
    return _mix(F.dropout(_scaled(q, k).softmax(-1), 0.1), v)


@attention.mistake(
    "only-the-best-key", "Is it a look-up of one value, or a mixture of all?"
)
def _(q, k, v):
    return _mix(F.one_hot(_dots(q, k).argmax(-1), k.shape[1]).to(q.dtype), v)


@attention.mistake(
    "batch-forgotten",
    "How many axes has q here, and how many letters do you give it? Which one is missing?",
)
def _(q, k, v):
    scores = torch.einsum("ld,sd->ls", q, k) / math.sqrt(q.shape[-1])
    return scores.softmax(-1) @ v, scores


@attention.mistake(
    "output-transposed",
    "The output should be (B, L, Dv). In which order do your letters stand?",
)
def _(q, k, v):
    output, weights = _mix(_scaled(q, k).softmax(-1), v)
    return output.mT, weights


@attention.mistake(
    "queries-summed-away",
    "Your output has a row for each key. Which axis should survive, l or s, and which is summed?",
)
def _(q, k, v):
    weights = _scaled(q, k).softmax(-1)
    return torch.einsum("bls,bsd->bsd", weights, v), weights


@attention.mistake(
    "values-summed-away",
    "The output should have the width of v. Which letter have you lost?",
)
def _(q, k, v):
    weights = _scaled(q, k).softmax(-1)
    return torch.einsum("bls,bsd->bls", weights, v), weights


@attention.mistake("uniform", "Do your weights change when q changes?")
def _(q, k, v):
    return _mix(torch.full_like(_dots(q, k), 1 / k.shape[1]), v)


@attention.mistake(
    "sigmoid", "Do your weights compete? What does one row of them add up to?"
)
def _(q, k, v):
    return _mix(_scaled(q, k).sigmoid(), v)


# ----------------------------------------------------------------------------- SelfAttention


class SelfAttention(nn.Module):
    def __init__(self, d_model, head_dim):
        super().__init__()
        self.q_proj = nn.Linear(d_model, head_dim, bias=False)
        self.k_proj = nn.Linear(d_model, head_dim, bias=False)
        self.v_proj = nn.Linear(d_model, head_dim, bias=False)

    def forward(self, x):
        output, _ = einsum_attention(self.q_proj(x), self.k_proj(x), self.v_proj(x))
        return output


self_attention = task(
    lesson=1,
    points=4,
    hints=[
        "In `__init__`, after `super().__init__()`: three `nn.Linear`, named `q_proj`, `k_proj`, "
        "`v_proj`. From which width to which? With a bias or not?",
        "In `forward`, one x makes all three: queries, keys and values. Then call your `attention`.",
        "`attention` returns two things, `forward` should return one: the output. And the scale "
        "belongs to head_dim, which `attention` reads from the queries by itself.",
    ],
)(SelfAttention)


@self_attention.cases
def _(rng):
    def case(about, B, L, d_model, head_dim, dtype=torch.float32, scale=1.0, **options):
        reference = SelfAttention(d_model, head_dim)
        parameters = sharpened_parameters(reference, rng)
        parameters = {name: p.to(dtype) for name, p in parameters.items()}
        x = (torch.randn(B, L, d_model, generator=rng) * scale).to(dtype)
        return Case(about, ((d_model, head_dim), parameters, x), run_module, **options)

    # Worked out by hand, so that a wrong answer is far from the right one.
    parameters = {
        "q_proj.weight": torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]),
        "k_proj.weight": torch.tensor([[0.0, 2.0, 0.0], [1.0, 0.0, -1.0]]),
        "v_proj.weight": torch.tensor([[2.0, 0.0, 1.0], [0.0, 4.0, -1.0]]),
    }
    x = torch.tensor([[[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]]])
    yield Case("two words", ((3, 2), parameters, x), run_module)
    yield case("all sizes different", 2, 5, 10, 6)
    yield case("the same sizes, other numbers", 2, 5, 10, 6)
    yield case("head_dim larger than d_model", 2, 5, 4, 7)
    yield case("d_model = head_dim", 2, 5, 8, 8)
    yield case("B = L", 5, 5, 10, 6)
    yield case("every size 4", 4, 4, 4, 4)
    yield case("L = head_dim", 2, 6, 10, 6)
    yield case("one word", 2, 1, 10, 6)
    yield case("batch 1, head_dim 1", 1, 4, 5, 1)
    yield case("40 words, head_dim 64", 1, 40, 24, 64, scale=0.4)
    far = {"tolerance": 1e-2, "grad": False}
    yield case("scores in the hundreds", 2, 5, 10, 6, scale=12.0, **far)
    yield case("float64", 2, 5, 10, 6, torch.float64)
    yield case("bfloat16", 2, 5, 10, 6, torch.bfloat16, grad=False)


def _head(attend, biased=()):
    """Make a class with the three projections whose forward is `attend(self, x)`."""

    class Head(SelfAttention):
        forward = attend

        def __init__(self, d_model, head_dim):
            super().__init__(d_model, head_dim)
            for name in biased:
                setattr(self, name, nn.Linear(d_model, head_dim))

    return Head


def _qkv(self, x):
    return self.q_proj(x), self.k_proj(x), self.v_proj(x)


def _wrong_head(id, question, biased=()):
    """Register a forward as a mistake of SelfAttention."""

    def keep(attend):
        self_attention.mistake(id, question)(_head(attend, biased))
        return attend

    return keep


@_wrong_head(
    "scale-missing", "If head_dim grows from 16 to 1024, what happens to the spread of q·k?"
)
def _(self, x):
    q, k, v = _qkv(self, x)
    return _mix(_dots(q, k).softmax(-1), v)[0]


@_wrong_head("scale-by-d-model", "How long are the vectors inside the dot product?")
def _(self, x):
    q, k, v = _qkv(self, x)
    return _mix((_dots(q, k) / math.sqrt(x.shape[-1])).softmax(-1), v)[0]


@_wrong_head("scale-by-seq-len", "Should one more word change how well two others fit?")
def _(self, x):
    q, k, v = _qkv(self, x)
    return _mix((_dots(q, k) / math.sqrt(x.shape[1])).softmax(-1), v)[0]


@_wrong_head("scale-int-sqrt", "What is the square root of 6, as your code computes it?")
def _(self, x):
    q, k, v = _qkv(self, x)
    return _mix((_dots(q, k) / math.isqrt(q.shape[-1])).softmax(-1), v)[0]


@_wrong_head(
    "scale-twice", "By what are the scores divided altogether: by D, or by its square root?"
)
def _(self, x):
    q, k, v = _qkv(self, x)
    return _mix((_dots(q, k) / q.shape[-1]).softmax(-1), v)[0]


@_wrong_head("scale-multiplied", "Does your factor make the scores larger or smaller?")
def _(self, x):
    q, k, v = _qkv(self, x)
    return _mix((_dots(q, k) * math.sqrt(q.shape[-1])).softmax(-1), v)[0]


@_wrong_head(
    "softmax-over-queries", "Over which axis must the shares of one query add up to 1?"
)
def _(self, x):
    q, k, v = _qkv(self, x)
    return _mix(_scaled(q, k).softmax(-2), v)[0]


@_wrong_head("softmax-over-batch", "Change sample 1. Does the output of sample 0 move?")
def _(self, x):
    q, k, v = _qkv(self, x)
    return _mix(_scaled(q, k).softmax(0), v)[0]


@_wrong_head("softmax-missing", "Where do the scores become shares that add up to 1?")
def _(self, x):
    q, k, v = _qkv(self, x)
    return _mix(_scaled(q, k), v)[0]


@_wrong_head(
    "queries-and-keys-swapped", "Entry (i, j) of the scores: does i ask, or does it answer?"
)
def _(self, x):
    q, k, v = _qkv(self, x)
    return _mix(_scaled(k, q).softmax(-1), v)[0]


@_wrong_head(
    "keys-as-values", "Which of the three projections gets no gradient in your code?"
)
def _(self, x):
    q, k, _ = _qkv(self, x)
    return _mix(_scaled(q, k).softmax(-1), k)[0]


@_wrong_head(
    "keys-and-values-swapped", "What should be compared with the query, and what be mixed?"
)
def _(self, x):
    q, k, v = _qkv(self, x)
    return _mix(_scaled(q, v).softmax(-1), k)[0]


@_wrong_head("queries-as-keys", "Does `k_proj` get a gradient in your code?")
def _(self, x):
    q, _, v = _qkv(self, x)
    return _mix(_scaled(q, q).softmax(-1), v)[0]


@_wrong_head(
    "values-not-projected", "What is mixed: x itself, or what `v_proj` makes of it?"
)
def _(self, x):
    q, k, _ = _qkv(self, x)
    return _mix(_scaled(q, k).softmax(-1), x)[0]


@_wrong_head("nothing-projected", "Do your three projections get a gradient?")
def _(self, x):
    return _mix(_scaled(x, x).softmax(-1), x)[0]


@_wrong_head(
    "weights-not-transposed",
    "What is the shape of `nn.Linear(3, 5).weight`? Why not call the layer and let it transpose?",
)
def _(self, x):
    q, k, v = (x @ p.weight for p in (self.q_proj, self.k_proj, self.v_proj))
    return _mix(_scaled(q, k).softmax(-1), v)[0]


@_wrong_head("weights-returned-too", "What does `forward` promise: one thing, or two?")
def _(self, x):
    q, k, v = _qkv(self, x)
    return _mix(_scaled(q, k).softmax(-1), v)


@_wrong_head(
    "weights-returned", "`forward` should return the mixture. Which one do you return?"
)
def _(self, x):
    q, k, v = _qkv(self, x)
    return _mix(_scaled(q, k).softmax(-1), v)[1]


@_wrong_head(
    "residual-added", "Nobody asked to add x here. What shape would it need to have?"
)
def _(self, x):
    q, k, v = _qkv(self, x)
    return _mix(_scaled(q, k).softmax(-1), v)[0] + x


@_wrong_head("causal", "Nobody asked for a mask. May word 0 see word 1 here?")
def _(self, x):
    q, k, v = _qkv(self, x)
    return einsum_attention(q, k, v, is_causal=True)[0]


@_wrong_head(
    "dropout-left-in", "Call the module twice with the same input. Is the answer the same?"
)
def _(self, x):
    q, k, v = _qkv(self, x)
    return _mix(F.dropout(_scaled(q, k).softmax(-1), 0.1), v)[0]


_BIAS = "Feed x = 0: what should come out, and what does? Which argument of `nn.Linear` is on by default?"
_ALL = ("q_proj", "k_proj", "v_proj")


@_wrong_head("bias-left-in", _BIAS, biased=_ALL)
@_wrong_head("bias-left-in", _BIAS, biased=("q_proj",))
@_wrong_head("bias-left-in", _BIAS, biased=("v_proj",))
def _(self, x):
    q, k, v = _qkv(self, x)
    return _mix(_scaled(q, k).softmax(-1), v)[0]
