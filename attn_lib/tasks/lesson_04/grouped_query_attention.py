"""The task `grouped_query_attention`: many query heads, few key/value heads."""

import math

import torch

from attn_lib import causal_mask, padding_mask
from attn_lib.checks.authoring import Case, task
from attn_lib.tasks.lesson_01.far_scores import APART, ROUGHLY, far_scores
from attn_lib.tasks.lesson_04.group_mistakes import GROUPS, QUERIES
from attn_lib.tasks.lesson_04.runs import with_mask


@task(
    lesson=4,
    points=3,
    insight="MQA, GQA and MHA are one function: only the number of K/V heads differs.",
    without=("epsilon-in-denominator",),
    hints=[
        "Only one thing is new: k and v have fewer heads than q. What have you just written for that?",
        "Give k and v as many heads as q has, each in the same way. From there on it is the masked "
        "attention of lesson 02: scores, -inf where the mask is False, softmax over the keys, "
        "mixture.",
        "A query that may see nothing has a row of -inf only, and softmax makes NaN of it. Put zeros "
        "into the weights where the mask is False, before they meet the values: then the output "
        "is 0 and no NaN gets into the gradients.",
    ],
)
def grouped_query_attention(q, k, v, mask=None):
    H = q.shape[1]
    Hkv = k.shape[1]
    which = torch.arange(H) // (H // Hkv)  # the K/V head of each query head
    k = k[:, which]
    v = v[:, which]
    D = q.shape[-1]
    products = q @ k.mT
    scores = products / math.sqrt(D)
    everything = torch.ones(scores.shape[-2:], dtype=torch.bool)
    allowed = everything if mask is None else mask
    forbidden = ~allowed
    hidden = scores.masked_fill(forbidden, -torch.inf)
    weights = hidden.softmax(-1)
    kept = weights.masked_fill(forbidden, 0.0)
    heads = kept @ v
    return heads


@grouped_query_attention.cases
def _(rng):
    def random(B, H, Hkv, L, S, D, scale=1.4):
        q = torch.randn(B, H, L, D, generator=rng) * scale
        k = torch.randn(B, Hkv, S, D, generator=rng) * scale
        return q, k, torch.randn(B, Hkv, S, D, generator=rng)

    def case(about, *sizes, dtype=torch.float32, mask=None, **kwargs):
        qkv = tuple(t.to(dtype) for t in random(*sizes))
        if mask is None:
            return Case(about, qkv, **kwargs)
        return Case(about, (*qkv, mask), with_mask, **kwargs)

    q = torch.tensor([[1.0, 0.0, 2.0, 1.0]]).view(1, 4, 1, 1)
    k = torch.tensor([[1.0, 0.0], [0.0, 3.0]]).view(1, 2, 2, 1)
    v = torch.tensor([[1.0, 3.0], [5.0, 8.0]]).view(1, 2, 2, 1)
    yield Case("four heads of one query, two K/V heads", (q, k, v))
    hidden = torch.tensor([[True, False]])
    yield Case("the same, the second key hidden", (q, k, v, hidden), with_mask)
    yield case("eight heads, two K/V heads", 1, 8, 2, 1, 2, 1)
    yield case("six heads, three K/V heads", 1, 6, 3, 1, 2, 1)
    yield case("all sizes different", 3, 8, 2, 5, 7, 6)
    yield case("one K/V head", 2, 4, 1, 5, 7, 6)
    yield case("as many K/V heads as heads", 2, 4, 4, 5, 7, 6)
    yield case("B = H, one K/V head", 4, 4, 1, 3, 5, 6)
    yield case("B = Hkv = L = S", 2, 4, 2, 2, 2, 6)
    yield case("H = L = S = D", 2, 6, 2, 6, 6, 6)
    yield case("one query, as in decoding", 2, 6, 2, 1, 7, 3)
    yield case("one key", 2, 6, 2, 3, 1, 3)

    yield case("a causal mask (L, S)", 2, 6, 3, 5, 7, 6, mask=causal_mask(5, 7))
    padding = padding_mask(torch.tensor([7, 4]), 7)
    yield case("padding (B, 1, 1, S)", 2, 6, 3, 5, 7, 6, mask=padding)
    per_head = torch.rand(2, 6, 4, 5, generator=rng) < 0.6
    per_head[..., 0] |= ~per_head.any(-1)
    yield case("a mask for each head, no empty row", 2, 6, 3, 4, 5, 6, mask=per_head)
    yield case("a mask (1, H, L, S)", 2, 6, 3, 4, 5, 6, mask=per_head[:1])
    about = "B = H = Hkv, a mask (H, L, S)"
    yield case(about, 6, 6, 6, 4, 5, 2, mask=per_head[0])
    about = "B = H, one K/V head, a mask (B, 1, L, S)"
    yield case(about, 6, 6, 1, 4, 5, 2, mask=per_head[0][:, None])
    heads = torch.rand(8, 1, 5, generator=rng) < 0.5
    heads[..., 2] = True
    yield case("a mask (H, 1, S)", 2, 8, 2, 3, 5, 6, mask=heads)
    one_blind = torch.ones(4, 1, 3) > 0
    one_blind[1] = False
    yield case("one of four heads sees nothing", 1, 4, 2, 2, 3, 2, mask=one_blind)
    both = (torch.arange(6) >= torch.tensor([[0], [3]]))[:, None, None] & causal_mask(6, 6)
    yield case("some queries see nothing: causal, padded left", 2, 6, 2, 6, 6, 3, mask=both)
    yield case("no query sees anything", 1, 2, 1, 2, 3, 2, mask=torch.zeros(2, 3) > 0)
    q, k, v = random(2, 6, 2, 5, 5, 3)
    v[1, :, 3:] = 1e30
    far = padding_mask(torch.tensor([5, 3]), 5)
    yield Case("huge values behind hidden keys", (q, k, v, far), with_mask, grad=False)
    q = torch.full((1, 4, 1, 1), 200.0)
    k = torch.tensor([-100.0, -100.5, -100.0] * 2).view(1, 2, 3, 1)
    v = torch.tensor([1.0, 2.0, 4.0, 3.0, 5.0, 6.0]).view(1, 2, 3, 1)
    last = torch.tensor([[True, True, False]])
    low = (q, k, v, last)
    about = "scores near -20000, the last key hidden"
    yield Case(about, low, with_mask, grad=False, tolerance=1e-2)
    q = torch.tensor([20.0, 10.0, 20.0, 10.0]).view(1, 4, 1, 1)
    k = torch.tensor([0.0, 0.05, 40.0] * 2).view(1, 2, 3, 1)
    about = "the hidden key's score is 400 or more above the others"
    yield Case(about, (q, k, v, last), with_mask, grad=False)
    q, k, v = far_scores(rng, 2, 6, 3, 5, kv_heads=2)
    low = (q, k.masked_fill(~far.mT, 0.0), v, far)
    yield Case(f"{APART}, hidden ones 0", low, with_mask, **ROUGHLY)
    apart = random(2, 6, 2, 3, 4, 6, scale=60.0)
    yield Case("scores up to thousands apart", apart, grad=False, tolerance=1e-2)
    q, k, v = (t.mT.contiguous().mT for t in random(2, 6, 2, 3, 4, 6))
    yield Case("not contiguous", (q, k, v))
    some = causal_mask(3, 4) & (torch.arange(3) > 0)[:, None]
    double = {"dtype": torch.float64, "tolerance": 1e-6}
    yield case("float64", 2, 6, 2, 3, 4, 6, mask=some, **double)
    for dtype in (torch.float16, torch.bfloat16):
        about = f"{dtype}".removeprefix("torch.")
        yield case(about, 2, 6, 2, 3, 4, 6, dtype=dtype, mask=some, grad=False)
    yield case("float16, no mask", 2, 6, 2, 3, 4, 6, dtype=torch.float16, grad=False)
    # Bfloat16 has no odd numbers above 256: a sum that counts in it stays there.
    late = (torch.arange(600) >= 300)[:, None] + torch.zeros(1, 2, 600, 1)
    alike = torch.ones(1, 4, 2, 1), 1 + 0.125 * late, late
    about = "bfloat16, 600 keys near 1, of which the first half holds 0, the second 1"
    yield Case(about, tuple(t.bfloat16() for t in alike), grad=False)
    yield case("11 K/V heads for 33, 40 channels", 1, 33, 11, 20, 20, 40)
    exact = [t.double() / 3 for t in random(2, 6, 2, 3, 5, 4)]
    about = "float64, to nine digits"
    args = (*exact, causal_mask(3, 5))
    yield Case(about, args, with_mask, grad=False, tolerance=1e-9)
    yield Case(f"{about}, no mask", tuple(exact), grad=False, tolerance=1e-9)
    for dtype, most in ((torch.float32, 1e15), (torch.float16, 170.0)):
        q = torch.full((1, 4, 1, 1), most)
        k = torch.tensor([-most, 0.0] * 2).view(1, 2, 2, 1)
        v = torch.tensor([1.0, 3.0, 5.0, 8.0]).view(1, 2, 2, 1)
        args = (q.to(dtype), k.to(dtype), v.to(dtype), hidden)
        about = f"{dtype}, the score near {-most * most:.2g}, the hidden key's 0"
        yield Case(about.removeprefix("torch."), args, with_mask, grad=False)
    yield case("a mask (1, L, S)", 2, 6, 2, 3, 5, 4, mask=causal_mask(3, 5)[None])
    blind = torch.tensor([True, False, True, True])[:, None, None].repeat(2, 1, 1, 1)
    yield case(
        "one of four heads sees nothing, a mask (B, H, 1, 1)", 2, 4, 2, 2, 3, 2, mask=blind
    )
    yield case("82 heads, two K/V heads", 1, 82, 2, 1, 3, 2)
    q, k, v = random(1, 4, 2, 2, 300, 4)
    better = torch.arange(300.0)[:, None].expand_as(k) / 200
    about = "300 keys, each fits better than the one before"
    yield Case(about, (torch.ones_like(q), better, v))


grouped_query_attention.rows(GROUPS)
grouped_query_attention.rows("""
How many query heads share one K/V head: Hkv, or H / Hkv? By which of the two do you divide?
    divided-by-num-kv-heads  which = torch.arange(H) // Hkv % Hkv
    divided-by-num-kv-heads  which = (torch.arange(H) // Hkv).clamp(max=Hkv - 1)
The first query heads share one K/V head: which, the first or the last?
    groups-in-reverse  which = Hkv - 1 - torch.arange(H) // (H // Hkv) || (torch.arange(H) // (H // Hkv)).flip(0)
How many heads has q, and how many have k and v where they are used? Who gives both as many heads as q
has?
    heads-not-matched  k = k ; v = v
    heads-not-matched  k = k ; v = v ; products = torch.einsum('bhld,bhsd->bhls', q, k)
How often is each K/V head copied in yours, and how many heads come out? How many has q?
    copied-another-number-of-times  k = k.repeat_interleave(H, 1) ; v = v.repeat_interleave(H, 1)
    copied-another-number-of-times  k = k.repeat_interleave(Hkv // H, 1) ; v = v.repeat_interleave(Hkv // H, 1)
    copied-another-number-of-times  k = k.repeat_interleave(Hkv, 1) ; v = v.repeat_interleave(Hkv, 1)
With one K/V head, k without its head axis is (B, S, D). Counted from the right, which axis of q
does its B meet?
    batch-meets-heads  k = _ if Hkv > 1 else k[:, 0] ; v = _ if Hkv > 1 else v[:, 0]
How many heads should come out? The queries stay as many as they are: what has to be copied?
    query-heads-pooled  k = k ; v = v ; products = q.unflatten(1, (Hkv, -1)).mean(2) @ k.mT ; allowed = everything if mask is None or mask.ndim > 2 else mask
    query-heads-pooled  k = k ; v = v ; products = q.unflatten(1, (Hkv, -1)).mean(2) @ k.mT
    query-heads-pooled  k = k ; v = v ; products = q[:, ::H // Hkv] @ k.mT
    query-heads-pooled  heads = _.unflatten(1, (Hkv, -1)).sum(2)
Your heads are right, but in another order. Which axis stands first when you merge K/V head and
place in the group?
    output-heads-reordered  heads = _.unflatten(1, (Hkv, -1)).transpose(1, 2).flatten(1, 2)
How long are the vectors inside one head's dot product: D, or H * D?
    scale-by-the-whole-width  D = H * q.shape[-1]
What is the square root of 6, as your code computes it?
    scale-int-sqrt  scores = math.sqrt => math.isqrt
The heads stay apart here: (B, H, L, D). Whose work is it to merge them?
    heads-merged  heads = _.transpose(1, 2).flatten(2)
Your scores have five axes, the mask has four or fewer, and they are lined up from the right. Which
axis of the scores does the H of a mask (B, H, L, S) meet? Try `mask.expand(B, H, L, S)` first, and
then cut its heads into groups as you cut those of q.
    mask-not-cut-into-groups  products = q.unflatten(1, (Hkv, -1)) @ k.unflatten(1, (Hkv, -1)).mT ; heads = (kept @ v.unflatten(1, (Hkv, -1))).flatten(1, 2)
    mask-not-cut-into-groups  products = q.unflatten(1, (Hkv, -1)) @ k.unflatten(1, (Hkv, -1)).mT ; heads = (kept @ v.unflatten(1, (Hkv, -1))).flatten(1, 2) ; allowed = _ if mask is None else mask.unsqueeze(2)
    mask-not-cut-into-groups  products = q.unflatten(1, (Hkv, -1)) @ k.unflatten(1, (Hkv, -1)).mT ; heads = (kept @ v.unflatten(1, (Hkv, -1))).flatten(1, 2) ; allowed = _.unsqueeze(2) if _.ndim > 2 else _
Your result has five axes. Which two of them together count the H heads, and in which order?
    groups-not-merged  heads = _.unflatten(1, (Hkv, -1))
    groups-not-merged  heads = _.unflatten(1, (Hkv, -1)).transpose(1, 2)
Query head 1 reads K/V head 0. Which head of a mask (B, H, L, S) belongs to it? Which one does it get in
yours: do you cut the mask's heads into groups as you cut those of q?
    mask-cut-into-other-groups  allowed = _ if mask is None else _.expand(scores.shape).unflatten(1, (-1, Hkv)).transpose(1, 2).flatten(1, 2)
Are there more heads after your repeat, or more tokens? Which axis of (B, Hkv, S, D) counts heads?
    tokens-repeated  k = k.repeat_interleave(H // Hkv, 2) ; v = v.repeat_interleave(H // Hkv, 2)
Does each query head read one K/V head in yours, or a mean of several?
    kv-heads-averaged  k = k.mean(1, keepdim=True) ; v = v.mean(1, keepdim=True)
How many heads has q, and how many have k and v where they are used? Who gives both as many heads as q
has?
    heads-not-matched  k = k ; v = v ; products = q @ k[:, which].mT ; heads = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
A head reads vectors of D numbers. How many heads share a K/V head says nothing of the length of a dot product. By the root of what do
you divide?
    scale-of-the-whole-group  D = _ * H // Hkv || _ * Hkv
""")
grouped_query_attention.rows(QUERIES)

grouped_query_attention.drills(
    "keys-not-transposed, softmax-over-queries, scale-twice, divided-by-num-kv-heads, heads-tiled, "
    "none-becomes-causal 1, forbidden-scores-set-to-zero 1, fill-too-large-for-float16, scale-after-softmax, "
    "full-row-uniform"
)
