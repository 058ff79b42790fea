"""The task `chunked_attention`: the numbers of attention without its matrix, and that is measured.

The last three cases run under the memory meter.
"""

import math

import numpy as np
import torch

from attn_lib.checks.authoring import Case, task
from attn_lib.tasks.lesson_01.far_scores import APART, ROUGHLY, far_scores
from attn_lib.tasks.lesson_11.runs import (
    beyond,
    causal_by_name,
    compared,
    metered_twice,
    metered_with_gradients,
    outputs,
)


@task(
    lesson=11,
    points=4,
    insight="The same numbers without the matrix: the memory has changed, and not the work.",
    # Weights divided by a number are divided out again; and these forget that the mask is for is_causal.
    without=("scale-after-softmax", "one-mask-for-all-heads", "fill-not-low-enough"),
    hints=[
        "A loop over blocks of keys, or of queries: which of your tensors has the length of both? Write the "
        "loop without a mask first, and compare it with `F.scaled_dot_product_attention`.",
        "Three tensors go from block to block: m, l and acc. `online_softmax_step` makes the next ones. "
        "After the last block, divide once.",
        "With is_causal, query i sees key j up to j = i. A block begins at a key that is not 0: which keys, "
        "counted from the beginning, are its columns? Make the mask of this block only.",
    ],
)
def chunked_attention(q, k, v, chunk_size, is_causal=False):
    D = q.shape[-1]
    S = k.shape[-2]
    queries = torch.arange(q.shape[-2])[:, None]
    m = torch.full_like(q[..., :1], -torch.inf)
    l = torch.zeros_like(m)  # noqa: E741
    acc = torch.zeros_like(q)
    starts = range(0, S, chunk_size)
    for start in starts:
        stop = start + chunk_size
        block_k = k[..., start:stop, :]
        block_v = v[..., start:stop, :]
        products = q @ block_k.mT
        scores = products / math.sqrt(D)
        keys = start + torch.arange(block_k.shape[-2])
        forbidden = keys > queries
        hidden = scores.masked_fill(forbidden, -torch.inf) if is_causal else scores
        m_new = torch.maximum(m, hidden.amax(-1, keepdim=True))
        factor = torch.exp(m - m_new)
        weights = torch.exp(hidden - m_new)
        l_new = l * factor + weights.sum(-1, keepdim=True)
        acc_new = acc * factor + weights @ block_v
        m, l, acc = m_new, l_new, acc_new  # noqa: E741
    output = acc / l
    return output


@chunked_attention.other
def by_queries(q, k, v, chunk_size, is_causal=False):
    D = q.shape[-1]
    keys = torch.arange(k.shape[-2])
    parts = []
    first_queries = range(0, q.shape[-2], chunk_size)
    for start in first_queries:
        block_q = q[..., start : start + chunk_size, :]
        products = block_q @ k.mT
        scores = products / math.sqrt(D)
        block_queries = start + torch.arange(block_q.shape[-2])[:, None]
        forbidden = keys > block_queries
        hidden = scores.masked_fill(forbidden, -torch.inf) if is_causal else scores
        weights = hidden.softmax(-1)
        part = weights @ v
        parts.append(part)
    output = torch.cat(parts, -2)
    return output


@chunked_attention.cases
def _(rng):
    def random(*shape, scale=1.4, dtype=torch.float32):
        q, k = (torch.randn(*shape, generator=rng) * scale for _ in range(2))
        return tuple(t.to(dtype) for t in (q, k, torch.randn(*shape, generator=rng)))

    def case(about, inputs, chunk_size, is_causal=False, **kwargs):
        return Case(about, (*inputs, chunk_size, is_causal), **kwargs)

    qkv = [[[1.0, 0], [1, 2]], [[0, 1], [1, 0]], [[1, 0], [5, 8]]]
    by_hand = torch.tensor(qkv)[:, None, None]
    yield case("two tokens, one in each chunk", by_hand, 1)
    yield case("two tokens, one in each chunk", by_hand, 1, True)
    yield case("two tokens in one chunk", by_hand, 2)
    yield case("one token", random(1, 1, 1, 1), 1, True)
    for is_causal in (False, True):
        kind = ", causal" if is_causal else ""
        yield case(f"three full chunks{kind}", random(2, 3, 6, 10), 2, is_causal)
        yield case(f"the last chunk is not full{kind}", random(2, 3, 8, 6), 3, is_causal)
        about = f"one chunk, far longer than L{kind}"
        yield case(about, random(1, 2, 5, 3), 10**12, is_causal)
        yield case(f"chunks of one{kind}", random(1, 2, 5, 6), 1, is_causal)
        yield case(f"L = D = chunk_size{kind}", random(2, 3, 5, 5), 5, is_causal)
        yield case(f"B = H = chunk_size{kind}", random(3, 3, 7, 6), 3, is_causal)
    about, long = "two thousand tokens, causal", random(1, 1, 2100, 1)
    yield case(about, long, 300, True, grad=False, is_slow=True)
    yield case("13 heads, 40 channels", random(1, 13, 20, 40), 17, True)
    q, k, v = random(1, 2, 8, 6)
    k = torch.linspace(0.1, 2.0, 8)[:, None] * k[..., :1, :]
    k = torch.where(q.sum((-2, -1), keepdim=True) < 0, -k, k)
    for about, keys in (
        ("or fall with the key", k),
        ("or fall, the other way", k.flip(-2)),
    ):
        yield case(f"scores that rise {about}", (q, keys, v), 3, True)
    about = "one head, D = 1, is_causal=True by its name"
    yield Case(about, (*random(2, 1, 7, 1), 4), causal_by_name)
    yield Case("is_causal left out", (*random(1, 2, 5, 6), 2))
    q, k, v = random(1, 2, 7, 6)
    k[..., 1::4, :] = 0.0
    yield case("some keys are zeros", (q, k, v), 3)
    q, k, v = (t.transpose(1, 2).contiguous().transpose(1, 2) for t in random(2, 3, 6, 6))
    yield case("not contiguous, fresh from the split", (q, k, v), 4, True)
    q, k, v = random(2, 2, 6, 6, scale=120.0)
    q[:, 0], k[:, 0] = -q[:, 0].abs(), k[:, 0].abs()  # all far below 0 in this head
    yield case("scores up to thousands apart", (q, k, v), 2, True, tolerance=1e-2)
    for is_causal in (False, True):
        far = far_scores(rng, 1, 2, 5, 5)
        yield case(APART, far, 2, is_causal, grad=False, **ROUGHLY)
        about = "all scores below -2e30, those of the first row above"
        yield case(about, beyond(rng, 7, 2.0**90, 2.0**11), 3, is_causal, grad=False)
    # Only what overflows fails here, and not a maximum that is too high.
    q, k, v = random(1, 2, 8, 6, scale=0.2)
    k = torch.tensor([0.1, 0.4, 0.7, 1, 1, 0.7, 0.4, 0.1])[:, None] * (k + 10)
    yield case("scores that rise to 245, and fall", (q + 10, k, v), 2, tolerance=1e-3)
    # The root of D = 4 is the same number in float32.
    about, exact = "float64, to nine digits", random(2, 3, 6, 4, dtype=torch.float64)
    yield case(about, exact, 4, True, tolerance=1e-9)
    exact = random(2, 3, 7, 4, dtype=torch.float64)
    yield case(f"{about}, not causal", exact, 3, tolerance=1e-9)
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        about = f"{dtype}".removeprefix("torch.")
        six = {"tolerance": 1e-6} if dtype == torch.float64 else {}
        yield case(about, random(2, 3, 6, 6, dtype=dtype), 4, True, grad=False, **six)
    half = (t.half() for t in beyond(rng, 7, 4.0, 8192.0))
    yield case("float16, scores near -45,000", half, 3, True, grad=False)
    # There 257 is 256: a place. Sums and their logarithms have few digits, too.
    about = "bfloat16, three hundred tokens, one value that is not 0"
    q, k, v = random(1, 1, 300, 1, scale=0.1, dtype=torch.bfloat16)
    v = torch.zeros_like(v).index_fill(-2, torch.tensor(257), 100.0)
    yield case(about, (q, k, v), 64, True, grad=False, tolerance=0.2)
    # Little more than 32 chunks: answers in tiles, of queries and of keys, take a thousand steps.
    about, long = "the memory of a long text", random(1, 1, 500, 1, dtype=torch.float64)
    measured = dict(grad=False, is_slow=True)
    yield case(f"{about}, float64", long, 15, run=metered_twice, **measured)
    four, run = random(2, 2, 150, 1), metered_with_gradients
    yield case("the memory of four heads, causal", four, 4, True, run=run, **measured)
    long = random(1, 1, 1024, 2)
    yield case(f"{about}, causal", long, 8, True, run=metered_twice, **measured)


@chunked_attention.measured
def _(rng):
    qkv = (torch.randn(1, 1, 7_680, 2, generator=rng) for _ in range(3))
    about = "the memory of a very long text"
    return Case(about, (*qkv, 128, False), outputs, finish=compared)


chunked_attention.rows("""
Which of your tensors has a number for every pair of a query and a key? Who needs all of them at once?
    full-matrix  products = (q @ k.mT)[..., start:stop]
    full-matrix  starts = range(0, S, S) ; stop = S
    full-matrix  products = _ if is_causal else (q @ k.mT)[..., start:stop]
    full-matrix  hidden = (q.new_empty(*q.shape[:-1], S), _)[1]
Half precision rounds every score, and saves half of the matrix. Who needs a number for every pair of a
query and a key at once?
    full-matrix  first_queries = range(1) ; block_q = q ; scores = _.bfloat16() ; part = (weights @ v.bfloat16()).to(q.dtype)
Your scores come block by block. And the mask: how many True and False does it hold at once? Which of
them does this block need?
    full-mask  forbidden = torch.ones(q.shape[-2], S, dtype=torch.bool).triu(1)[:, start:stop]
    full-mask  forbidden = (torch.arange(S) > queries)[:, start:stop]
    full-mask  forbidden = torch.ones(q.shape[-2], S, dtype=torch.bool).triu(1)[:, start:stop] if is_causal else _
Only with is_causal have you a number for every pair of a query and a key. Is it a score, or a mask? How
much of it does one block need?
    full-matrix-if-causal  forbidden = torch.ones(q.shape[-2], S).triu(1)[:, start:stop] > 0 if is_causal else _
    full-matrix-if-causal  products = (q @ k.mT)[..., start:stop] if is_causal else _
No tensor is large, and yet all together are as large as the matrix. What is kept of each chunk when the
next ones are made: scores, a mask, an output? In a list, perhaps?
    kept-blocks  weights = (held := [*locals().get("held", []), _])[-1]
    kept-blocks  hidden = (held := [*locals().get("held", []), _])[-1]
    kept-blocks  weights = (held := [*locals().get("held", []), _.half()])[-1].to(q.dtype) ; part = _
    kept-blocks  forbidden = (held := [*locals().get("held", []), _])[-1] if is_causal else _
No tensor is as large as the matrix, and yet too many numbers are alive. How many keys has one of your chunks, and how many
queries? What is kept of it when the next one comes?
    chunks-too-large  starts = range(0, S, 8 * chunk_size) ; stop = start + 8 * chunk_size
    chunks-too-large  starts = range(0, S, max(chunk_size, -(-S // 4))) ; stop = start + max(chunk_size, -(-S // 4))
    chunks-too-large  starts = range(0, S, max(chunk_size, 128)) ; stop = start + max(chunk_size, 128)
    chunks-too-large  first_queries = range(0, q.shape[-2], 8 * chunk_size) ; block_q = q[..., start : start + 8 * chunk_size, :]
Twice the text: how many chunks have you then, and how long is one? Which of the two is chunk_size?
    chunks-grow  first_queries = range(0, q.shape[-2], math.ceil(q.shape[-2] / chunk_size)) ; block_q = q[..., start : start + math.ceil(q.shape[-2] / chunk_size), :]
Which number of what was summed so far belongs to the old maximum, and is mixed with new ones now?
    sum-not-rescaled  l_new = l + weights.sum(-1, keepdim=True)
    output-not-rescaled  acc_new = acc + weights @ block_v
    nothing-rescaled  factor = torch.ones_like(m)
If the maximum rises, must what was summed before become larger or smaller?
    factor-inverted  factor = torch.exp(m_new - m)
    factor-inverted  factor = torch.exp(m_new - m).where(m > -torch.inf, 0.0)
Old terms were divided by exp(old maximum). By which one power of e do you multiply them now?
    factor-of-another-kind  factor = torch.exp(m) || torch.exp(-m_new)
    factor-of-another-kind  factor = torch.exp(m - hidden.amax(-1, keepdim=True))
With which maximum do you weigh the new chunk, and with which one were the old sums made? Which of the two needs a factor,
and which one?
    new-block-rescaled-too  l_new = (l + weights.sum(-1, keepdim=True)) * factor ; acc_new = (acc + weights @ block_v) * factor
    new-block-rescaled-too  acc_new = (acc + weights @ block_v) * factor
    new-block-rescaled-too  l_new = (l + weights.sum(-1, keepdim=True)) * factor
A chunk with small scores follows one with large scores. What is the maximum of all keys so far?
    maximum-of-the-block-only  m_new = hidden.amax(-1, keepdim=True)
    maximum-of-the-block-only  weights = torch.exp(hidden - hidden.amax(-1, keepdim=True))
Your first chunk hides all of its keys from some query. What is its maximum then? What is -inf - (-inf)?
    inf-minus-inf  starts = range(0, S, chunk_size)[::-1]
Is your maximum that of a key which this row sees? What is exp(-1000), and what is 0/0?
    maximum-too-high  m = torch.zeros_like(q[..., :1])
Let one score be 1000. What is exp(1000)? What was subtracted in lesson 01?
    maximum-not-subtracted  weights = torch.exp(hidden) ; factor = torch.ones_like(m)
    maximum-not-subtracted  weights = torch.exp(hidden.clamp(max=80)) ; factor = torch.ones_like(m)
To save memory you round the scores. How many digits has a number in half precision?
    scores-in-half-precision  scores = _.half().to(q.dtype) || _.bfloat16().to(q.dtype)
Two chunks, each with a softmax of its own. Do they always deserve the same say?
    mean-of-the-chunks  weights = hidden.softmax(-1) ; factor = torch.ones_like(m) ; l_new = l + 1
    mean-of-the-chunks  weights = hidden.softmax(-1).nan_to_num(0.0) ; factor = torch.ones_like(m) ; l_new = l + 1
    mean-of-the-chunks  hidden = -torch.inf => -1e9 ; weights = hidden.softmax(-1) ; factor = torch.ones_like(m) ; l_new = l + 1
    mean-of-the-chunks  weights = hidden.softmax(-1) ; factor = torch.ones_like(m) ; l_new = l + 1 ; output = acc / len(starts)
    softmax-of-the-block  weights = hidden.softmax(-1)
    softmax-of-the-block  acc_new = acc * factor + hidden.softmax(-1) @ block_v
    chunks-added-up  weights = hidden.softmax(-1) ; factor = torch.ones_like(m) ; l_new = torch.ones_like(m)
    chunks-added-up  weights = hidden.softmax(-1).nan_to_num(0.0) ; factor = torch.ones_like(m) ; l_new = torch.ones_like(m)
You weigh each chunk by its log-sum-exp. Is a log a weight, and may a weight be negative?
    log-as-a-weight  weights = hidden.softmax(-1) ; factor = torch.ones_like(m) ; l_new = l + hidden.logsumexp(-1, keepdim=True) ; acc_new = acc + (weights @ block_v) * hidden.logsumexp(-1, keepdim=True)
Two chunks, each with an output and a log-sum-exp. Which of the two outputs deserves more? Does it get
more?
    weights-swapped  hidden = -torch.inf => torch.finfo(q.dtype).min ; m_new = torch.logaddexp(m, hidden.logsumexp(-1, keepdim=True)) ; weights = hidden.softmax(-1) ; l_new = torch.ones_like(m) ; acc_new = acc * (1 - factor) + weights @ block_v * factor if start else weights @ block_v
Two chunks, each with an output and a log-sum-exp. The old output shrinks. By what does the new one
shrink?
    new-chunk-not-weighed  hidden = -torch.inf => torch.finfo(q.dtype).min ; m_new = torch.logaddexp(m, hidden.logsumexp(-1, keepdim=True)) ; weights = hidden.softmax(-1) ; l_new = torch.ones_like(m)
Give it values that are all 1. What should come out, and what does?
    not-divided  output = acc
The key with the largest score adds exp(0) to its row's sum. Can that sum be 0, and what does your
epsilon change?
    epsilon-in-denominator  output = acc / (l + 1e-6)
When is a row divided by l: after each chunk, or once at the end? What does the next chunk multiply?
    normalized-in-every-step  acc_new = (_) / l_new
    normalized-in-every-step  acc_new = (acc * l * factor + weights @ block_v) / l_new
    normalized-in-every-step  acc_new = (_) / l_new ; output = acc
What is kept for the next chunk: the sum of this one, or that of all so far?
    old-chunks-forgotten  l_new = weights.sum(-1, keepdim=True)
    old-chunks-forgotten  acc_new = weights @ block_v
    old-chunks-forgotten  l_new = weights.sum(-1, keepdim=True) ; acc_new = weights @ block_v
What is the denominator of a softmax: a sum, a mean, or a number of keys?
    another-denominator  l_new = l * factor + weights.mean(-1, keepdim=True)
    another-denominator  l_new = l + weights.shape[-1]
    another-denominator  output = acc / S
Which key is column 0 of the second chunk? Which number does your mask give it?
    key-index-restarts  keys = torch.arange(block_k.shape[-2])
Query 0 of the second chunk of queries: which number has it in the sequence, and which one in your mask?
    query-index-restarts  block_queries = torch.arange(block_q.shape[-2])[:, None]
With is_causal, change the last token. Do earlier outputs move?
    causal-ignored  hidden = scores
Without is_causal, may query 0 see the last key?
    causal-always  hidden = scores.masked_fill(forbidden, -torch.inf)
    causal-upside-down  hidden = scores if is_causal else scores.masked_fill(forbidden, -torch.inf)
May a query see the key right after it?
    mask-one-off  forbidden = keys > queries + 1
Query 0 may see one key: itself. What does your mask leave to it? And to the others, of the first chunk?
What comes out of a row in which all is hidden?
    nothing-left-to-see  forbidden = keys >= queries || keys <= queries
    nothing-left-to-see  forbidden = torch.full_like(keys, stop) > queries
May a query see its own key? And query 0, which has no other one?
    own-key-hidden  forbidden = keys >= queries ; hidden = -torch.inf => -1e9
    own-key-hidden  forbidden = (keys >= queries) & (queries > 0)
    own-key-hidden  forbidden = keys >= queries ; output = _.nan_to_num(0.0)
    own-key-hidden  forbidden = keys >= queries ; m = torch.full_like(q[..., :1], -1e9) ; output = acc / l.clamp(min=1e-9)
    own-key-hidden  forbidden = keys >= block_queries ; hidden = -torch.inf => -1e9
    own-key-hidden  forbidden = (keys >= block_queries) & (block_queries > 0)
    own-key-hidden  forbidden = keys >= block_queries ; output = _.nan_to_num(0.0)
On which side of the query are the keys that it may see?
    mask-inverted  forbidden = keys < queries
    mask-inverted  forbidden = keys < block_queries
    mask-inverted  forbidden = keys < queries ; hidden = -torch.inf => -1e9
    mask-inverted  forbidden = S - 1 - keys > queries || keys > q.shape[-2] - 1 - queries
A chunk begins before the query and ends after it. Which of its keys does your mask hide?
    whole-chunks-masked  forbidden = torch.full_like(keys, start) > queries
    whole-chunks-masked  forbidden = keys - keys % chunk_size + chunk_size - 1 > queries
A hidden key's score is now 0, or almost. What is exp(0)?
    mask-multiplied  hidden = scores * ~forbidden if is_causal else scores
    mask-multiplied  hidden = -torch.inf => 0.0 || -torch.inf => -1e-9
How low can a score be that is not hidden? Is what you fill in lower?
    fill-too-small  hidden = -torch.inf => -100.0 || -torch.inf => -10000.0
There are 8 keys, and 3 in a chunk. Which keys does your last chunk have?
    last-chunk-left-out  starts = range(0, S - chunk_size + 1, chunk_size)
    last-chunk-left-out  starts = range(0, S - chunk_size, chunk_size)
    last-chunk-left-out  starts = range(0, max(S // chunk_size, 1) * chunk_size, chunk_size)
    last-chunk-left-out  starts = range(0, S // chunk_size * chunk_size, chunk_size)
    last-chunk-left-out  starts = range(0, S - 1, chunk_size)
    last-chunk-left-out  first_queries = range(0, q.shape[-2] - chunk_size + 1, chunk_size)
    last-chunk-left-out  first_queries = range(0, q.shape[-2] // chunk_size * chunk_size, chunk_size)
Which keys are in your first chunk, and which in your second? Is one in both, or in none?
    keys-twice-or-never  stop = start + chunk_size + 1 || start + chunk_size - 1
    keys-twice-or-never  starts = _ if chunk_size > 1 else range(0) ; stop = start + chunk_size - 1
    keys-twice-or-never  starts = range(S) || range(1, S, chunk_size)
    keys-twice-or-never  starts = range(chunk_size, S, chunk_size)
    keys-twice-or-never  starts = range(0, S, chunk_size + 1)
    keys-twice-or-never  stop = chunk_size
    keys-twice-or-never  starts = [min(s, max(S - chunk_size, 0)) for s in range(0, S, chunk_size)]
    keys-twice-or-never  starts = range(-(-S // chunk_size))
To make the last chunk as long as the others, you add keys that are not there. Which score do they get,
and which share?
    added-keys-seen  weights = torch.exp(F.pad(hidden, (0, chunk_size - hidden.shape[-1])) - m_new) ; acc_new = acc * factor + weights[..., :block_v.shape[-2]] @ block_v
    added-keys-seen  block_k = F.pad(_, (0, 0, 0, chunk_size - _.shape[-2])) ; block_v = F.pad(_, (0, 0, 0, chunk_size - _.shape[-2]))
Query 0 of the first chunk, key 5 of the second: do they ever meet?
    own-chunk-only  products = block_q @ k[..., start:start + chunk_size, :].mT ; forbidden = torch.arange(block_q.shape[-2]) > torch.arange(block_q.shape[-2])[:, None] ; part = weights @ v[..., start:start + chunk_size, :]
What is 0 * -inf? Print what you add, for an allowed key.
    zero-times-inf  hidden = scores + forbidden.to(scores) * -torch.inf if is_causal else scores
What should the score of a hidden key be, so that exp makes 0 of it? Look at its sign.
    fill-plus-inf  hidden = -torch.inf => torch.inf
m has a number for each query, (..., L, 1). Which shape has a maximum, or a sum, over the last axis in yours?
    axis-lost  m_new = torch.maximum(m, hidden.amax(-1))
    axis-lost  l_new = l * factor + weights.sum(-1)
How many chunks has yours seen when it returns?
    first-chunk-only  starts = _[:1]
    first-chunk-only  first_queries = _[:1]
The output has the shape of q. Which of your steps moves or joins axes that it should not?
    output-in-another-layout  output = (_).mT
The outputs of your chunks of queries: along which axis do they stand one after the other?
    parts-joined-otherwise  output = torch.cat(parts, 1) || torch.cat(parts, -1)
    parts-joined-otherwise  output = torch.cat(parts, 0) || torch.cat(parts)
    parts-joined-otherwise  output = torch.stack(parts, 2) || torch.stack(parts)
    parts-joined-otherwise  output = torch.cat(parts[::-1], -2) || sum(parts) || parts[-1]
    parts-joined-otherwise  output = parts[0]
Which values belong to the keys of this chunk?
    values-of-other-keys  block_v = v[..., :block_k.shape[-2], :]
    values-of-other-keys  block_v = v[..., -block_k.shape[-2]:, :] || k[..., start:stop, :]
One thing is asked for. What do you return beside it?
    more-than-the-output  return = output, l || output, m, l || m, l, output
The output has the shape of q. Which of your steps moves or joins axes that it should not?
    output-in-another-layout  output = (_).transpose(1, 2) || (_).transpose(1, 2).flatten(2)
An allowed score can be exactly 0, too. How do you tell it from a forbidden one? Ask the places, not the score.
    zero-scores-hidden  hidden = _.masked_fill(scores == 0, -torch.inf)

A chunk with large scores should count for more than one with small ones. In a mean of the chunks' outputs, what does each
count?
    mean-of-chunks  factor = torch.ones_like(m) ; weights = hidden.softmax(-1).nan_to_num() ; l_new = l + (hidden > -torch.inf).any(-1, keepdim=True)
How long are the vectors that meet in a dot product? The number of keys in a chunk says nothing of that.
    scale-by-the-chunk  scores = products / math.sqrt(block_k.shape[-2])
Each chunk has a largest score of its own in yours. With which largest score were the earlier sums made, and are both of one kind?
    another-maximum-in-each-chunk  m_new = hidden.amax(-1, keepdim=True) ; factor = torch.ones_like(m)
""")


@chunked_attention.mistake(
    "made-out-of-sight",
    "Which line leaves PyTorch, or this thread, as `.numpy()` does? How could its memory be measured here, and "
    "how would a gradient come back?",
)
def _(q, k, v, chunk_size, is_causal=False):
    q, k, v = (x.detach().numpy() for x in (q, k, v))
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    if is_causal:
        scores += np.triu(np.full(scores.shape[-2:], -np.inf, scores.dtype), 1)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    output = weights @ v / weights.sum(-1, keepdims=True)
    return torch.from_numpy(output.astype(q.dtype))


chunked_attention.drills(
    "causal-always, output-not-rescaled, softmax-of-the-block, key-index-restarts, mask-multiplied, "
    "nothing-left-to-see, keys-twice-or-never 1, last-chunk-left-out, maximum-of-the-block-only, maximum-too-high, "
    "new-block-rescaled-too, normalized-in-every-step 2"
)
