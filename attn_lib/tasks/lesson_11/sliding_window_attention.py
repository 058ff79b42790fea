"""The task `sliding_window_attention`: W keys for each query, and memory for no more, measured.

The last three cases run under the memory meter.
"""

import math
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from attn_lib.checks.authoring import Case, task
from attn_lib.tasks.lesson_01.far_scores import APART, ROUGHLY, far_scores
from attn_lib.tasks.lesson_11.runs import (
    beyond,
    metered,
    metered_twice,
    metered_with_gradients,
)


@task(
    lesson=11,
    points=4,
    insight="The window is in what you read, not in a mask: so nothing of size L × L was needed.",
    # No mask is given, and none for each head; and what is "added-keys-seen".
    without=(
        "one-mask-for-all-heads",
        "forbidden-scores-set-to-zero",
        "causal-always",
        "fill-plus-inf",
    ),
    hints=[
        "How many scores has a query? So which shape has the tensor of all scores, if nothing is in it that "
        "nobody needs?",
        "Query i needs the keys i - W + 1 to i, the next query one further: windows of W rows. `unfold` "
        "shows all windows of an axis without a copy. What must stand in front of the first key (`F.pad`), "
        "so that the first query has W rows, too? A loop over blocks of queries does as well: which keys "
        "does a block need?",
        "The first queries have fewer than W keys. Which score must a key get that is not there, before "
        "the softmax? Column c of query i: which key is that, and when is there none?",
    ],
)
def sliding_window_attention(q, k, v, window):
    D = q.shape[-1]
    L = q.shape[-2]
    before = window - 1
    keys = torch.arange(L)[:, None] - before + torch.arange(window)
    padded_k = F.pad(k, (0, 0, before, 0))
    padded_v = F.pad(v, (0, 0, before, 0))
    windows_k = padded_k.unfold(-2, window, 1)  # (B, H, L, D, W)
    windows_v = padded_v.unfold(-2, window, 1)
    products = (q[..., None, :] @ windows_k).squeeze(-2)  # (B, H, L, W)
    scores = products / math.sqrt(D)
    forbidden = keys < 0
    hidden = scores.masked_fill(forbidden, -torch.inf)
    weights = hidden.softmax(-1)
    output = (windows_v @ weights[..., None]).squeeze(-1)
    return output


@sliding_window_attention.other
def by_blocks(q, k, v, window):
    D = q.shape[-1]
    L = q.shape[-2]
    parts = []
    for start in range(0, L, window):
        stop = min(start + window, L)
        first = max(0, start - window + 1)
        block_q = q[..., start:stop, :]
        block_k = k[..., first:stop, :]
        block_v = v[..., first:stop, :]
        products = block_q @ block_k.mT
        scores = products / math.sqrt(D)
        behind = torch.arange(start, stop)[:, None] - torch.arange(first, stop)
        future = behind < 0
        too_old = behind >= window
        hidden = scores.masked_fill(future | too_old, -torch.inf)
        weights = hidden.softmax(-1)
        part = weights @ block_v
        parts.append(part)
    output = torch.cat(parts, -2)
    return output


@sliding_window_attention.other
def by_queries(q, k, v, window):
    D = q.shape[-1]
    L = q.shape[-2]
    rows = []
    for i in range(L):
        oldest = max(0, i - window + 1)
        end = i + 1
        query = q[..., i : i + 1, :]
        seen_k = k[..., oldest:end, :]
        seen_v = v[..., oldest:end, :]
        products = query @ seen_k.mT
        scores = products / math.sqrt(D)
        weights = scores.softmax(-1)
        row = weights @ seen_v
        rows.append(row)
    output = torch.cat(rows, -2)
    return output


@sliding_window_attention.cases
def _(rng):
    def random(*shape, scale=1.4, dtype=torch.float32):
        q, k = (torch.randn(*shape, generator=rng) * scale for _ in range(2))
        return tuple(t.to(dtype) for t in (q, k, torch.randn(*shape, generator=rng)))

    def case(about, inputs, window, **kwargs):
        return Case(about, (*inputs, window), **kwargs)

    qkv = [[[1.0], [1.0], [2.0]], [[0.0], [1.0], [2.0]], [[1.0], [5.0], [8.0]]]
    yield case(
        "three tokens, each sees itself and the one before",
        torch.tensor(qkv)[:, None, None],
        2,
    )
    yield case("one token", random(1, 1, 1, 1), 1)
    yield case("one token in a window of 3", random(1, 2, 1, 4), 3)
    yield case("every token sees itself only", random(2, 3, 5, 6), 1)
    yield case("all sizes different", random(2, 3, 8, 6), 4)
    yield case("a window that does not divide the length", random(2, 3, 10, 6), 3)
    yield case("a long text, a small window", random(1, 2, 25, 5), 2)
    long: dict[str, Any] = dict(grad=False, is_slow=True)
    about = "two thousand tokens, a window of 40"
    yield case(about, random(1, 1, 2100, 1), 40, **long)
    for window in (80, 120):
        about = f"two hundred tokens, a window of {window}"
        yield case(about, random(1, 1, 200, 2), window, grad=False)
    about = "seven hundred tokens, a window of 600"
    yield case(about, random(1, 1, 700, 1), 600, **long)
    yield case("13 heads, 40 channels", random(1, 13, 20, 40), 9)
    yield case("a window of all but one", random(2, 2, 7, 3), 6)
    yield case("the window is the length", random(1, 3, 6, 10), 6)
    yield case("the window is longer than the text", random(2, 1, 4, 6), 9)
    yield case("L = H = D, W = B", random(3, 5, 5, 5), 3)
    yield case("B = H = L = D = W", random(4, 4, 4, 4), 4)
    yield case("one number in each token", random(2, 1, 9, 1), 4)
    q, k, v = (t.transpose(1, 2).contiguous().transpose(1, 2) for t in random(2, 3, 7, 6))
    yield case("not contiguous, fresh from the split", (q, k, v), 3)
    yield case("not contiguous, every token sees itself only", (q, k, v), 1)
    q, k, v = random(1, 2, 8, 5)
    k[..., 2, :], v[..., 4, :] = 0.0, 0.0
    yield case("a key of zeros, and a value of zeros", (q, k, v), 3)
    q, k, v = random(1, 2, 8, 6, scale=120.0)
    q[:, 0], k[:, 0] = -q[:, 0].abs(), k[:, 0].abs()  # all far below 0 in this head
    yield case("scores up to thousands apart", (q, k, v), 3, tolerance=1e-2)
    yield case(APART, far_scores(rng, 1, 2, 7, 7), 3, **ROUGHLY)
    about = "all scores below -2e30, those of the first row above"
    yield case(about, beyond(rng, 7, 2.0**90, 2.0**11), 3, grad=False)
    half = (t.half() for t in beyond(rng, 7, 4.0, 8192.0))
    yield case("float16, scores near -45,000", half, 3, grad=False)
    exact = random(2, 3, 7, 4, dtype=torch.float64)  # the root of 4 is the same in float32
    yield case("float64, to nine digits", exact, 3, tolerance=1e-9)
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        about = f"{dtype}".removeprefix("torch.")
        six = {"tolerance": 1e-6} if dtype == torch.float64 else {}
        yield case(about, random(2, 3, 7, 6, dtype=dtype), 3, grad=False, **six)
        about += ", the window is longer than the text"
        yield case(about, random(1, 2, 5, 6, dtype=dtype), 8, grad=False)
    about = "bfloat16, three hundred tokens"  # whole numbers above 256 are rounded in it
    yield case(about, random(1, 1, 300, 2, dtype=torch.bfloat16), 3, grad=False)
    four, run = random(2, 2, 512, 1), metered_with_gradients
    yield case("the memory of four heads", four, 8, run=run, **long)
    about, some = "the memory of a text", random(1, 1, 400, 2, dtype=torch.float64)
    yield case(f"{about} of 128 tokens", random(1, 1, 128, 2), 2, run=metered, **long)
    yield case(f"{about}, float64", some, 12, run=metered, **long)
    about = "the memory of a long text, and of its half"
    yield case(about, random(1, 1, 1024, 2), 31, run=metered_twice, **long)


@sliding_window_attention.measured
def _(rng):
    qkv = (torch.randn(1, 1, 7_680, 2, generator=rng) for _ in range(3))
    return Case("the memory of a very long text", (*qkv, 16))


sliding_window_attention.rows("""
Which of your tensors has a number for every pair of a query and a key? How many of these pairs are in
no window?
    full-matrix  products = (q @ padded_k.mT).gather(-1, (torch.arange(L)[:, None] + torch.arange(window)).expand(*q.shape[:-1], window))
    full-matrix  products = (q @ k.mT)[..., start:stop, first:stop] ; part = _
    full-matrix  products = (q @ k.mT)[..., i:end, oldest:end] ; row = _
Your scores need little memory. And the mask: how many True and False does it hold for each query, and
how many does a query need?
    full-mask  forbidden = _ | torch.ones(L, L + before, dtype=torch.bool).tril(-1).gather(-1, torch.arange(L)[:, None] + torch.arange(window))
    full-mask  future = torch.ones(L, L, dtype=torch.bool).triu(1)[start:stop, first:stop]
    full-mask  too_old = torch.ones(L, L, dtype=torch.bool).tril(-window)[start:stop, first:stop]
No tensor is large, and yet all together are as large as the matrix. What still holds a block, or a
whole row, when the next one is made? A list, perhaps?
    kept-blocks  weights = (held := [*locals().get("held", []), F.pad(_, (first, L - stop))])[-1][..., first:stop] ; part = _
    kept-blocks  weights = (held := [*locals().get("held", []), F.pad(_, (oldest, L - end))])[-1][..., oldest:end] ; row = _
How many keys does a query see if window is 3: how many before its own, and how many with it?
    window-one-off  before = window
    window-one-off  before = window ; windows_k = padded_k.unfold(-2, window + 1, 1) ; windows_v = padded_v.unfold(-2, window + 1, 1) ; keys = torch.arange(L)[:, None] - before + torch.arange(window + 1)
    window-one-off  before = window - 2 ; windows_k = padded_k.unfold(-2, window - 1, 1) ; windows_v = padded_v.unfold(-2, window - 1, 1) ; keys = torch.arange(L)[:, None] - before + torch.arange(window - 1)
    window-one-off  too_old = behind > window ; first = max(0, start - window)
    window-one-off  too_old = behind > window || behind >= window - 1
    window-one-off  oldest = max(0, i - window) || max(0, i - window + 2)
May a query see its own key?
    own-key-hidden  future = behind <= 0
    own-key-hidden  end = i
    own-key-hidden  oldest = max(0, i - window) ; end = max(1, i) || i
    own-key-hidden  padded_k = F.pad(k, (0, 0, window, 0))[..., :-1, :] ; padded_v = F.pad(v, (0, 0, window, 0))[..., :-1, :] ; keys = _ - 1
May a query see the next key? Change the last token: do earlier outputs move?
    future-seen  future = behind < -1 || torch.zeros_like(behind, dtype=torch.bool)
    future-seen  padded_k = F.pad(k, (0, 0, 0, before)) ; padded_v = F.pad(v, (0, 0, 0, before)) ; keys = torch.arange(L)[:, None] + torch.arange(window) ; forbidden = keys >= L
    future-seen  padded_k = F.pad(k, (0, 0, 0, before)) ; padded_v = F.pad(v, (0, 0, 0, before))
    future-seen  end = i + window || i + 2
    future-seen  padded_k = F.pad(k, (0, 0, before - before // 2, before // 2)) ; padded_v = F.pad(v, (0, 0, before - before // 2, before // 2)) ; forbidden = (keys + before // 2 < 0) | (keys + before // 2 >= L)
    future-seen  output = _ if window < L else (q @ k.mT / math.sqrt(D)).softmax(-1) @ v
    future-seen  oldest = max(0, i - window // 2) ; end = i + window // 2 + 1
    future-seen  oldest = max(0, i - window + 1) ; end = i + window
    future-seen  too_old = behind.abs() >= window ; future = torch.zeros_like(too_old)
A key may be a vector of zeros. What tells the keys that you add from such a one: their numbers, or their places?
    zeros-taken-for-added-keys  forbidden = (windows_k == 0).all(-2)
Query 0 has no key before its own. Which score do the rows get that you put in front, and which share?
    added-keys-seen  hidden = scores || scores.masked_fill(forbidden, 0.0)
    added-keys-seen  hidden = scores * ~forbidden || scores.masked_fill(forbidden, -1e-9)
    added-keys-seen  before = min(window, L) - 1 ; windows_k = padded_k.unfold(-2, before + 1, 1) ; windows_v = padded_v.unfold(-2, before + 1, 1) ; hidden = scores
Which number has the last row that you put in front, and which has key 0? Which of the two does your mask
hide?
    added-keys-one-off  forbidden = keys < -1
    added-keys-one-off  forbidden = (_).flip(-1)
    added-keys-one-off  forbidden = torch.arange(window) > torch.arange(L)[:, None]
    added-keys-one-off  forbidden = keys < 1 ; weights = _.nan_to_num(0.0)
    added-keys-one-off  forbidden = keys < 1 || keys <= 0 ; hidden = scores.masked_fill(forbidden, -1e9)
Each query hands out a total of 1 among the keys of its window. Which axis of your scores holds them?
    softmax-over-queries  weights = hidden.softmax(-2).nan_to_num(0.0)
Query 0 has no key before its own, so yours sees the first key again. How often does that key count?
    first-key-many-times  windows_k = k[:, :, keys.clamp(min=0)].mT ; windows_v = v[:, :, keys.clamp(min=0)].mT ; hidden = scores
What do the weights of a query add up to after you have hidden some?
    mask-after-the-softmax  windows_k = k[:, :, keys.clamp(min=0)].mT ; windows_v = v[:, :, keys.clamp(min=0)].mT ; hidden = scores ; weights = scores.softmax(-1).masked_fill(forbidden, 0.0)
    mask-after-the-softmax  keys = _[:, -L:] ; windows_k = k[:, :, keys.clamp(min=0)].mT ; windows_v = v[:, :, keys.clamp(min=0)].mT ; hidden = scores ; weights = scores.softmax(-1).masked_fill(forbidden, 0.0)
    mask-after-the-softmax  hidden = scores ; weights = scores.softmax(-1).masked_fill(future | too_old, 0.0) ; part = _
How low can a score be that is not hidden? Is what you fill in lower?
    fill-not-low-enough  hidden = scores.masked_fill(forbidden, -10000.0)
    fill-not-low-enough  hidden = scores.masked_fill(forbidden, -100.0)
    fill-not-low-enough  hidden = scores.masked_fill(future | too_old, -10000.0) ; part = _
    fill-not-low-enough  hidden = scores.masked_fill(forbidden, -1000.0)
    fill-not-low-enough  hidden = scores.masked_fill(future | too_old, -1000.0) ; part = _
What is 0 * -inf? Print what you add, for a key that is there.
    zero-times-inf  hidden = scores + forbidden.to(scores) * -torch.inf
    zero-times-inf  hidden = scores + (future | too_old).to(scores) * -torch.inf ; part = _
Print what you put in front of k and v, and the scores there. Which number hides such a key from every query? And what is 0, or a
number below 0, times a nan or an inf?
    not-finite-in-front  hidden = scores.masked_fill(forbidden, torch.inf)
    not-finite-in-front  padded_k = F.pad(k, (0, 0, before, 0), value=-torch.inf) ; hidden = scores
    not-finite-in-front  padded_k = F.pad(k, (0, 0, before, 0), value=-10000.0) ; hidden = scores
    not-finite-in-front  padded_v = F.pad(v, (0, 0, before, 0), value=torch.nan)
    not-finite-in-front  padded_v = F.pad(v, (0, 0, before, 0), value=-torch.inf)
Is a key older than the window hidden from a query in the middle of a long text?
    window-ignored  too_old = torch.zeros_like(future) ; first = 0
    window-ignored  oldest = 0
A block of queries sees keys from the block before it, too. Are all of them in the window of each of
its queries?
    old-keys-in-a-block  too_old = torch.zeros_like(future)
    old-keys-in-a-block  too_old = torch.zeros_like(future) ; first = max(0, start - window)
The first query of your second block: which keys are in its window? Which of them do you give it?
    own-block-only  first = start || max(0, start - 1)
The first queries have fewer keys than the window. Do they see none, or those that there are?
    first-queries-left-out  output = F.pad(_[..., min(before, L - 1) :, :], (0, 0, min(before, L - 1), 0))
Which keys has query 0, and which ones does yours give it? (A negative start of a slice counts from the end.)
    negative-start  oldest = i - window + 1
    negative-start  first = start - window + 1
Which key comes before the first one? Is it the last?
    wrapped-around  windows_k = k[:, :, keys % L].mT ; windows_v = v[:, :, keys % L].mT ; hidden = scores
Column c of your scores belongs to a key. To which value does column c of the weights belong?
    values-in-another-order  windows_v = _.flip(-1)
    values-in-another-order  windows_v = padded_v.flip(-2).unfold(-2, window, 1)
    values-in-another-order  windows_k = _.flip(-1)
    values-in-another-order  padded_v = F.pad(v, (0, 0, window, 0))[..., :-1, :] || F.pad(v[..., 1:, :], (0, 0, before, 1))
    values-in-another-order  padded_v = F.pad(v, (0, 0, 0, before))
    values-in-another-order  output = (windows_v @ weights.flip(-1)[..., None]).squeeze(-1)
    values-in-another-order  block_v = v[..., : stop - first, :]
    values-in-another-order  seen_v = v[..., : end - oldest, :]
A query has the number it has in the whole text. Which number has the first query of your second block?
    index-restarts  behind = torch.arange(stop - start)[:, None] - torch.arange(stop - first)
On which side of the query are its keys? Print your mask for a small block: which entries are hidden?
    mask-inverted  future = behind > 0
    mask-inverted  forbidden = keys >= 0
    mask-inverted  forbidden = (torch.arange(window) < window - L) | (torch.arange(window) - max(0, window - L) > torch.arange(L)[:, None])
A window is ahead and behind: which of the two conditions must a key meet, or is it both?
    and-for-or  hidden = scores.masked_fill(future & too_old, -torch.inf) ; part = _
Should more keys in the window change how similar a query and a key are?
    scale-by-the-window  scores = products / math.sqrt(window) || products / window
Change the query. Does its output change?
    queries-not-used  hidden = (scores * 0).masked_fill(forbidden, -torch.inf)
The output has the shape of q. Which of your steps moves or joins axes that it should not?
    output-in-another-layout  output = (_).mT
The outputs of your parts: along which axis do they stand one after the other?
    parts-joined-otherwise  output = torch.cat(parts, 1) || torch.cat(parts, -1)
    parts-joined-otherwise  output = torch.cat(parts) || torch.stack(parts, 2)
    parts-joined-otherwise  output = torch.cat(rows, 1) || torch.cat(rows, -1)
    parts-joined-otherwise  output = torch.cat(rows) || torch.stack(rows, 2) || sum(parts)
    parts-joined-otherwise  output = row || part
One axis too many: which of your matrices had a 1 in its shape?
    axis-left-over  output = windows_v @ weights[..., None]
    axis-left-over  products = q[..., None, :] @ windows_k
One thing is asked for. What do you return beside it?
    more-than-the-output  return = output, weights
The output has the shape of q. Which of your steps moves or joins axes that it should not?
    output-in-another-layout  output = (_).transpose(1, 2) || (_).transpose(1, 2).flatten(2)
`unfold` puts the window last: (B, H, L, D, W). Does `reshape` make two axes change places?
    reshaped-not-transposed  windows_k = padded_k.unfold(-2, window, 1).flatten(-2).unflatten(-1, (window, D)).mT ; windows_v = padded_v.unfold(-2, window, 1).flatten(-2).unflatten(-1, (window, D)).mT
""")


@sliding_window_attention.mistake(
    "made-out-of-sight",
    "Which line leaves PyTorch, or this thread, as `.numpy()` does? How could its memory be measured here, and "
    "how would a gradient come back?",
)
def _(q, k, v, window):
    q, k, v = (x.detach().numpy() for x in (q, k, v))
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    behind = np.arange(q.shape[-2])[:, None] - np.arange(q.shape[-2])
    scores = np.where((behind >= 0) & (behind < window), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    output = weights @ v / weights.sum(-1, keepdims=True)
    return torch.from_numpy(output.astype(q.dtype))


sliding_window_attention.drills(
    "scale-multiplied, softmax-over-the-wrong-axis, added-keys-seen 1, axis-left-over 1, window-one-off, "
    "fill-too-large-for-float16, scale-after-softmax, future-seen 3"
)
