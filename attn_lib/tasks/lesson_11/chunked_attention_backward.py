"""The task `chunked_attention_backward`: gradients from what the forward pass kept, and no matrix either."""

import math
from typing import Any

import torch
import torch.nn.functional as F

from attn_lib.checks.authoring import Case, task
from attn_lib.tasks.lesson_01.far_scores import APART, far_scores
from attn_lib.tasks.lesson_11.runs import (
    compared,
    gradients,
    metered,
    metered_twice,
    without_autograd,
)


@task(
    lesson=11,
    points=4,
    insight="Weights made anew cost work and save the matrix: so does FlashAttention on its way back.",
    returns=("grad_q", "grad_k", "grad_v"),
    without=("scale-after-softmax",),
    hints=[
        "Write it without chunks first, and compare with `torch.autograd.grad` through a softmax. Lesson 11 derives four "
        "gradients: of the values, the scores, the queries and the keys. Which of them need the weights?",
        "A weight is exp(score - lse): what is one of a chunk, without the others? From the gradients at the "
        "weights, each query's mean is taken. Which two tensors that you are given hold it already?",
        "Of which queries does the gradient of one key need to know, and of which keys that of one query? So what "
        "is finished after one chunk, and what is summed up over all of them?",
    ],
)
def chunked_attention_backward(q, k, v, out, lse, grad_out, chunk_size):
    D = q.shape[-1]
    S = k.shape[-2]
    total = lse[..., None]
    delta = (grad_out * out).sum(-1, keepdim=True)
    grad_q = torch.zeros_like(q)
    parts_k = []
    parts_v = []
    starts = range(0, S, chunk_size)
    for start in starts:
        stop = start + chunk_size
        block_k = k[..., start:stop, :]
        block_v = v[..., start:stop, :]
        products = q @ block_k.mT
        scores = products / math.sqrt(D)
        weights = torch.exp(scores - total)
        grad_weights = grad_out @ block_v.mT
        grad_scores = weights * (grad_weights - delta)
        grad_products = grad_scores / math.sqrt(D)
        grad_q_new = grad_q + grad_products @ block_k
        part_k = grad_products.mT @ q
        part_v = weights.mT @ grad_out
        grad_q = grad_q_new
        parts_k.append(part_k)
        parts_v.append(part_v)
    grad_k = torch.cat(parts_k, -2)
    grad_v = torch.cat(parts_v, -2)
    return grad_q, grad_k, grad_v


@chunked_attention_backward.other
def by_queries(q, k, v, out, lse, grad_out, chunk_size):
    D = q.shape[-1]
    grad_k = torch.zeros_like(k)
    grad_v = torch.zeros_like(v)
    parts_q = []
    first_queries = range(0, q.shape[-2], chunk_size)
    for start in first_queries:
        stop = start + chunk_size
        block_q = q[..., start:stop, :]
        upstream = grad_out[..., start:stop, :]
        total = lse[..., start:stop, None]
        delta = (upstream * out[..., start:stop, :]).sum(-1, keepdim=True)
        products = block_q @ k.mT
        scores = products / math.sqrt(D)
        weights = torch.exp(scores - total)
        grad_weights = upstream @ v.mT
        grad_scores = weights * (grad_weights - delta)
        grad_products = grad_scores / math.sqrt(D)
        part_q = grad_products @ k
        grad_k_new = grad_k + grad_products.mT @ block_q
        grad_v_new = grad_v + weights.mT @ upstream
        grad_k, grad_v = grad_k_new, grad_v_new
        parts_q.append(part_q)
    grad_q = torch.cat(parts_q, -2)
    return grad_q, grad_k, grad_v


@chunked_attention_backward.cases
def _(rng):
    def case(
        about,
        sizes,
        chunk_size,
        elsewhere=0,
        fewer=0,
        scale=1.4,
        more=0.0,
        dtype=torch.float32,
        **kw,
    ):
        """Make q, k, v of `sizes`, `elsewhere` more keys, which out and lse know of, too, and `fewer` in all.

        All scores are larger by `more`.
        """
        B, H, L, D = sizes
        q, k, v, grad_out = (
            torch.randn(B, H, n, D, generator=rng, dtype=torch.float64)
            for n in (L, L + elsewhere - fewer, L + elsewhere - fewer, L)
        )
        q, k = q * scale, k * scale
        if more:
            q[..., -1] = k[..., -1] = math.sqrt(more * math.sqrt(D))
        scores = q @ k.mT / math.sqrt(D)
        out, lse = scores.softmax(-1) @ v, scores.logsumexp(-1)
        here = k[..., elsewhere:, :], v[..., elsewhere:, :]
        given = [t.to(dtype).contiguous() for t in (q, *here, out, lse, grad_out)]
        return Case(about, (*given, chunk_size), grad=False, **kw)

    one = torch.ones(1, 1, 1, 1)
    by_hand = (one, one * math.log(3), one * 8, one * 7, one[0] * math.log(4), one)
    yield Case("one query, the second of two keys", (*by_hand, 1), grad=False)
    yield case("one query, one key", (1, 1, 1, 1), 1)
    yield case("two tokens, one in each chunk", (1, 1, 2, 1), 1)
    yield case("two tokens in one chunk", (1, 1, 2, 2), 2)
    for elsewhere in (0, 5):
        kind = f", {elsewhere} keys elsewhere" if elsewhere else ""
        yield case(f"three full chunks{kind}", (2, 3, 6, 10), 2, elsewhere)
        yield case(f"the last chunk is not full{kind}", (2, 3, 8, 6), 3, elsewhere)
        about = f"one chunk, far longer than L{kind}"
        yield case(about, (1, 2, 5, 3), 10**12, elsewhere)
        yield case(f"chunks of one{kind}", (1, 2, 5, 6), 1, elsewhere)
        yield case(f"L = D = chunk_size{kind}", (2, 3, 5, 5), 5, elsewhere)
        yield case(f"B = H = chunk_size{kind}", (3, 3, 7, 6), 3, elsewhere)
    about = "a hundred tokens, where autograd is off"
    yield case(about, (1, 1, 100, 2), 30, run=without_autograd)
    yield case("fewer keys here than queries", (1, 2, 11, 4), 4, 6, fewer=10)
    yield case("one key here, others elsewhere", (1, 2, 6, 4), 4, 5, fewer=5)
    yield case("13 heads, 40 channels", (1, 13, 20, 40), 17)
    turned = case("", (2, 6, 3, 5), 4, 2)
    *tensors, size = turned.args
    tensors = [t.transpose(1, 2).contiguous().transpose(1, 2) for t in tensors]
    yield Case("not contiguous, fresh from the split", (*tensors, size), grad=False)
    # Not hundreds apart: one weight of 1 in each row would leave gradients of rounding errors.
    yield case("scores in the hundreds", (1, 2, 8, 6), 3, 2, more=400.0, tolerance=1e-3)
    q, k, v = far_scores(rng, 1, 2, 7, 5)
    lse = (q @ k.mT / 4).amax(-1) + 2  # float32 holds it, and not the logarithm of a sum
    out, grad_out = torch.randn(2, *q.shape, generator=rng)
    args = (q, k, v, out, lse, grad_out, 3)
    yield Case(f"{APART}, others elsewhere", args, grad=False, tolerance=0.1)
    q, k, v, out, grad_out = torch.randn(5, 1, 2, 8, 6, generator=rng)
    args = (q, k, v, out, torch.full((1, 2, 8), 25.0), grad_out, 3)
    yield Case("almost all of the weight is elsewhere", args, grad=False)
    q, k, v, out, grad_out = torch.randn(5, 1, 2, 4, 3, generator=rng)
    args = (q, k[..., :1, :] * 0, v[..., :1, :], out, torch.zeros(1, 2, 4), grad_out, 2)
    yield Case("one key of zeros, so each lse is 0", args, grad=False)
    yield case(
        "float64, to nine digits", (2, 3, 6, 4), 4, dtype=torch.float64, tolerance=1e-9
    )
    for dtype in (torch.float16, torch.bfloat16):
        name = f"{dtype}".removeprefix("torch.")
        yield case(name, (2, 3, 6, 6), 4, dtype=dtype, scale=0.8)
    # Every lse is one of more keys: these are made without a matrix.
    measured: dict[str, Any] = dict(run=metered, grad=False, is_slow=True)
    yield Case("the memory of four heads", (*_long(rng, 128, 1, B=2, H=2), 4), **measured)
    q, k, v, *others = (t.double() for t in _long(rng, 300, 1))
    args = (q, k[..., :260, :], v[..., :260, :], *others, 8)
    yield Case("the memory of a long text, fewer keys, float64", args, **measured)
    about = "the memory of a long text"
    # With D = 8, a grad_q from each chunk of 16 keys, all kept, are half of the matrix.
    for L, size, run in ((512, 16, metered), (1024, 32, metered_twice)):
        args = (*_long(rng, L, 8), size)
        yield Case(f"{about}, chunks of {size}", args, run=run, grad=False, is_slow=True)


def _long(rng, L, D, B=1, H=1):
    q, k, v, out, grad_out = torch.randn(5, B, H, L, D, generator=rng)
    return q, k, v, out, torch.full((B, H, L), math.log(L) + 3), grad_out


@chunked_attention_backward.measured
def _(rng):
    about, args = "the memory of a very long text", (*_long(rng, 7_680, 2), 128)
    return Case(about, args, gradients, finish=compared)


chunked_attention_backward.rows("""
Which of your tensors has a number for every pair of a query and a key? Who needs all of them at once?
    full-matrix  products = (q @ k.mT)[..., start:stop]
    full-matrix  grad_weights = (grad_out @ v.mT)[..., start:stop]
    full-matrix  starts = range(0, S, S) ; stop = S
    full-matrix  first_queries = range(1) ; stop = q.shape[-2]
No tensor is large, and yet all together are as large as the matrix. What is kept of each chunk when the
next ones are made? In a list, perhaps?
    kept-blocks  weights = (held := [*locals().get("held", []), _])[-1]
    kept-blocks  grad_scores = (held := [*locals().get("held", []), _])[-1]
No tensor is as large as the matrix, and some are far larger than the chunks that were asked for. How many keys has one
of your chunks, and how many queries?
    chunks-too-large  starts = range(0, S, 8 * chunk_size) ; stop = start + 8 * chunk_size
    chunks-too-large  starts = range(0, S, max(chunk_size, 128)) ; stop = start + max(chunk_size, 128)
    chunks-too-large  first_queries = range(0, q.shape[-2], 8 * chunk_size) ; stop = start + 8 * chunk_size
Move one score of a row up. What does the softmax do to the other weights of that row, and where does
your gradient know it?
    mean-not-taken  grad_scores = weights * grad_weights
Move one score of a row up: the others lose. Is that a slope of each weight alone?
    each-weight-alone  grad_scores = weights * (1 - weights) * grad_weights
From each gradient the row's mean is taken: over which keys? Which of them are in this chunk?
    mean-of-the-chunk  grad_scores = weights * (grad_weights - (weights * grad_weights).sum(-1, keepdim=True))
    mean-of-the-chunk  grad_scores = weights * (grad_weights - (weights * grad_weights).sum(-1, keepdim=True) / weights.sum(-1, keepdim=True))
    mean-of-these-keys  grad_scores = weights * (grad_weights - ((q @ k.mT / math.sqrt(D) - total).exp() * (grad_out @ v.mT)).sum(-1, keepdim=True))
Of a row the mean is taken, weighted by its weights. Does yours weigh all keys alike?
    mean-without-weights  grad_scores = weights * (grad_weights - grad_weights.mean(-1, keepdim=True))
Two rows meet in a dot product, grad_out and out. Are its channels added up, or is a mean taken of them?
    mean-over-the-channels  delta = (grad_out * out).mean(-1, keepdim=True)
The mean of a row is one number for each query. Over which axis do you add up, and what do you keep?
    mean-over-another-axis  delta = (grad_out * out).sum(-2, keepdim=True)
    mean-over-another-axis  delta = (grad_out * out).sum((-2, -1), keepdim=True) || (grad_out * out).sum()
    mean-over-another-axis  delta = grad_out * out || (grad_out * out).sum(-1)
Which two tensors meet in a row's mean? One of them came forward, the other comes back.
    mean-of-another-product  delta = (grad_out * v).sum(-1, keepdim=True) || (out * out).sum(-1, keepdim=True)
    mean-of-another-product  delta = (grad_out * grad_out).sum(-1, keepdim=True) || out.sum(-1, keepdim=True)
    mean-of-another-product  delta = (q * out).sum(-1, keepdim=True) || grad_out.sum(-1, keepdim=True)
Is the mean taken from the gradients at the weights, or added to them? And which one from which?
    mean-added  grad_scores = weights * (grad_weights + delta)
    sign-flipped  grad_scores = weights * (delta - grad_weights)
The softmax stands between weights and scores. Where do you multiply by the weights on the way back?
    weights-not-multiplied  grad_scores = grad_weights - delta
    weights-not-multiplied  grad_scores = weights * grad_weights - delta
The weights of a chunk are part of a row that may go on, here or elsewhere. To what does your softmax make
them add up?
    softmax-of-the-chunk  weights = scores.softmax(-1)
    softmax-of-the-chunk  weights = torch.exp(scores - scores.logsumexp(-1, keepdim=True))
    softmax-of-the-chunk  weights = torch.exp(scores - scores.amax(-1, keepdim=True))
    softmax-of-these-keys  weights = (q @ k.mT / math.sqrt(D)).softmax(-1)[..., start:stop]
What is exp(score) divided by, to be a weight? And lse is the logarithm of what?
    lse-not-subtracted  weights = torch.exp(scores)
    lse-divided  weights = torch.exp(scores) / total || torch.exp(scores / total)
    lse-inverted  weights = torch.exp(total - scores) || torch.exp(scores + total)
    exp-missing  weights = scores - total
    lse-as-a-sum  weights = torch.exp(scores - total.log()) || torch.exp2(scores - total)
A score can be a few hundred. What is exp(300), and what is it divided by?
    exp-before-subtracting  weights = torch.exp(scores) / torch.exp(total)
lse has one number for each query. Along which axis of the scores do queries stand?
    lse-of-the-keys  total = lse[..., None, :]
    lse-of-the-keys  total = lse.mean(-1, keepdim=True)[..., None] || lse.amax() || lse[..., :1, None]
    lse-of-the-keys  total = lse
The scores were divided by the root of D. What does this do to the gradients of q and of k?
    gradient-not-scaled  grad_products = grad_scores
    gradient-not-scaled  part_k = grad_scores.mT @ q
    gradient-not-scaled  part_k = _ * math.sqrt(D)
    gradient-not-scaled  grad_q_new = grad_q + grad_scores @ block_k
    gradient-not-scaled  part_q = grad_scores @ k
    gradient-scaled-otherwise  grad_products = grad_scores / D || grad_scores * math.sqrt(D)
    gradient-scaled-otherwise  part_k = _ / math.sqrt(D)
    gradient-scaled-otherwise  grad_q_new = grad_q + grad_products @ block_k / math.sqrt(D)
Does v meet the root of D on the way forward? Then what has the root to do with its gradient?
    values-scaled  part_v = _ / math.sqrt(D)
Out is weights @ v. Through which of the two does the gradient of v come?
    gradient-of-v-otherwise  part_v = grad_scores.mT @ grad_out || weights.mT @ out
    gradient-of-v-otherwise  part_v = grad_weights.mT @ grad_out || weights.mT @ grad_out * weights.mT.sum(-1, keepdim=True)
    gradient-of-v-otherwise  part_v = weights.mT @ (grad_out - delta) || weights.sum(-2)[..., None] * grad_out.mean(-2, keepdim=True)
Out is weights @ v. Two tensors make the gradient at the weights: which one comes back, and which one stood beside the weights?
    gradient-at-weights-otherwise  grad_weights = out @ block_v.mT || grad_out @ block_k.mT
    gradient-at-weights-otherwise  grad_weights = q @ block_v.mT
A score is q · k. Which of them is the slope of the other?
    q-and-k-swapped  grad_q_new = grad_q + grad_products @ block_v
    q-and-k-swapped  part_k = grad_products.mT @ grad_out
    q-and-k-swapped  part_k = grad_products.mT @ out
    own-vector  grad_q_new = grad_q + grad_products.sum(-1, keepdim=True) * q
    own-vector  part_k = grad_products.sum(-2)[..., None] * block_k
The gradient of a key adds up over queries. Which axis of a block are they on?
    block-not-transposed  part_k = grad_products @ q
    block-not-transposed  part_v = weights @ grad_out
    block-not-transposed  part_k = grad_products @ q ; part_v = weights @ grad_out
    block-not-transposed  grad_k_new = grad_k + grad_products @ block_q
    block-not-transposed  grad_v_new = grad_v + weights @ upstream
    block-not-transposed  grad_k_new = grad_k + grad_products @ block_q ; grad_v_new = grad_v + weights @ upstream
    block-not-transposed  grad_q_new = grad_q + grad_products.mT @ block_k
A query asks keys of all chunks. What of the earlier ones is left in its gradient?
    old-chunks-forgotten  grad_q_new = grad_products @ block_k
    mean-of-the-chunks  grad_q = grad_q_new / len(starts)
Every chunk of queries asks every key. What of the earlier chunks is left in the gradients of keys and values?
    old-queries-forgotten  grad_k_new = grad_products.mT @ block_q
    old-queries-forgotten  grad_v_new = weights.mT @ upstream
    old-queries-forgotten  grad_k_new = grad_products.mT @ block_q ; grad_v_new = weights.mT @ upstream
How many chunks has yours seen when it returns?
    first-chunk-only  starts = _[:1] ; grad_k = torch.cat([*parts_k, torch.zeros_like(k)], -2)[..., :S, :] ; grad_v = torch.cat([*parts_v, torch.zeros_like(v)], -2)[..., :S, :]
    first-chunk-only  starts = _[:1]
    first-chunk-only  first_queries = _[:1]
There are 8 keys, and 3 in a chunk. Which keys does your last chunk have?
    last-chunk-left-out  starts = range(0, max(S // chunk_size, 1) * chunk_size, chunk_size)
    last-chunk-left-out  starts = range(0, S - chunk_size + 1, chunk_size)
    last-chunk-left-out  first_queries = range(0, q.shape[-2] // chunk_size * chunk_size, chunk_size)
    last-chunk-left-out  starts = range(0, S - chunk_size + 1, chunk_size) ; grad_k = torch.cat([*parts_k, torch.zeros_like(k)], -2)[..., :S, :] ; grad_v = torch.cat([*parts_v, torch.zeros_like(v)], -2)[..., :S, :]
    last-chunk-left-out  starts = range(0, max(S - chunk_size, 1), chunk_size) ; grad_k = torch.cat([*parts_k, torch.zeros_like(k)], -2)[..., :S, :] ; grad_v = torch.cat([*parts_v, torch.zeros_like(v)], -2)[..., :S, :]
    last-chunk-left-out  first_queries = range(0, q.shape[-2] - chunk_size + 1, chunk_size) ; grad_q = torch.cat([*parts_q, torch.zeros_like(q)], -2)[..., : q.shape[-2], :]
    last-chunk-left-out  first_queries = range(0, q.shape[-2] - chunk_size + 1, chunk_size)
Which keys are in your first chunk, and which in your second? Is one in both, or in none?
    keys-twice-or-never  stop = start + chunk_size + 1 || start + chunk_size - 1
    keys-twice-or-never  starts = range(S) || range(0, S, chunk_size + 1)
    keys-twice-or-never  starts = range(chunk_size, S, chunk_size)
Which values belong to the keys of this chunk?
    values-of-other-keys  block_v = v[..., :block_k.shape[-2], :]
    values-of-other-keys  block_v = v[..., -block_k.shape[-2]:, :]
Which of the output's rows, and which lse, belong to the queries of this chunk?
    rows-of-other-queries  total = lse[..., :block_q.shape[-2], None]
    rows-of-other-queries  upstream = grad_out[..., :block_q.shape[-2], :]
    rows-of-other-queries  delta = (upstream * out[..., :block_q.shape[-2], :]).sum(-1, keepdim=True)
The gradients of your chunks: along which axis do they stand one after the other, and in which order?
    parts-joined-otherwise  grad_k = torch.cat(parts_k, 1) ; grad_v = torch.cat(parts_v, 1)
    parts-joined-otherwise  grad_k = torch.stack(parts_k) ; grad_v = torch.stack(parts_v)
    parts-joined-otherwise  grad_k = torch.cat(parts_k[::-1], -2) ; grad_v = torch.cat(parts_v[::-1], -2)
    parts-joined-otherwise  grad_k = sum(parts_k) ; grad_v = sum(parts_v)
    parts-joined-otherwise  grad_q = torch.cat(parts_q, 1) || torch.stack(parts_q)
Three gradients are asked for: of q, of k, of v. In which order do you return them?
    another-order  return = grad_q, grad_v, grad_k || grad_k, grad_q, grad_v || grad_v, grad_k, grad_q
    another-order  return = grad_k, grad_v, grad_q || grad_v, grad_q, grad_k
    too-few-or-too-many  return = grad_q, grad_k || grad_q || grad_q, grad_k, grad_v, delta
""")


@chunked_attention_backward.mistake(
    "forward-run-again",
    "Your gradients are those of a softmax over the keys that are here. In out and lse, which keys had a share?",
)
def _(q, k, v, out, lse, grad_out, chunk_size):
    with torch.enable_grad():
        inputs = [t.detach().requires_grad_() for t in (q, k, v)]
        again = F.scaled_dot_product_attention(*inputs)
        return torch.autograd.grad(again, inputs, grad_out)


chunked_attention_backward.drills(
    "old-chunks-forgotten, gradient-not-scaled, block-not-transposed, lse-divided, mean-over-the-channels, "
    "lse-of-the-keys, gradient-at-weights-otherwise, gradient-of-v-otherwise, sign-flipped, "
    "weights-not-multiplied 1, exp-before-subtracting, parts-joined-otherwise"
)
