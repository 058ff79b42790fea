"""The task `rope_attention`: causal attention of several heads that knows where each word stands."""

import math

import torch

from attn_lib.checks.authoring import Case, task


@task(
    lesson=8,
    points=3,
    insight="What this head knows of the order comes from the turning and the mask. Values carry none.",
    hints=[
        "Nothing is new but one step: split, turn, scores, mask, softmax, mixture, merge. You have written "
        "all of these. Which of q, k and v are turned, and at which place in that row?",
        "`apply_rope` wants (B, H, L, D): it comes after the split, with positions `torch.arange(L)`. Which "
        "of the three says where a word stands, and which says only what it means?",
        "The scores are those of lesson 01, divided by the root of the width of one head. No query may see a "
        "later key: -inf before the softmax. Then heads and tokens change places, before the heads are merged.",
    ],
)
def rope_attention(q, k, v, num_heads):
    def turn(x, where):
        speeds = 10000.0 ** (-torch.arange(0, x.shape[-1], 2) / x.shape[-1])
        angles = where[:, None] * speeds  # (L, D/2)
        cos = angles.cos()
        sin = angles.sin()
        first, second = x.chunk(2, -1)
        turned = torch.cat([first * cos - second * sin, first * sin + second * cos], -1)
        return turned.to(x.dtype)

    B = q.shape[0]
    L = q.shape[1]
    width = q.shape[-1] // num_heads
    q_heads = q.reshape(B, L, num_heads, width).transpose(1, 2)  # (B, H, L, D)
    k_heads = k.reshape(B, L, num_heads, width).transpose(1, 2)
    v_heads = v.reshape(B, L, num_heads, width).transpose(1, 2)
    positions = torch.arange(L)
    q = turn(q_heads, positions)
    k = turn(k_heads, positions)
    v = v_heads
    D = q.shape[-1]
    products = q @ k.mT
    scores = products / math.sqrt(D)
    later = torch.ones(L, L, dtype=torch.bool).triu(1)
    masked = scores.masked_fill(later, -torch.inf)
    weights = masked.softmax(-1)
    heads = weights @ v
    merged = heads.transpose(1, 2).flatten(2)
    return merged


@rope_attention.cases
def _(rng):
    def case(about, B, H, L, D, dtype=torch.float32, scale=1.5, **kwargs):
        draw = (torch.randn(B, L, H * D, generator=rng) for _ in range(3))
        q, k, v = draw
        args = (q * scale).to(dtype), (k * scale).to(dtype), v.to(dtype)
        return Case(about, (*args, H), **kwargs)

    ones = torch.tensor([[1.0, 0.0], [1.0, 0.0]])[None]
    v = torch.tensor([[4.0, 8.0], [0.0, 4.0]])[None]
    yield Case("one head, two tokens, the same q and k", (ones, ones, v, 1))
    q = torch.tensor([[2.0, 0.0], [2.0, 0.0], [0.0, 3.0]])[None]
    k = torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])[None]
    v = torch.tensor([[1.0, 0.0], [0.0, 1.0], [3.0, 2.0]])[None]
    yield Case("one head, three tokens", (q, k, v, 1))
    yield case("two heads, two tokens", 1, 2, 2, 2)
    yield case("two heads, three tokens, D = 4", 1, 2, 3, 4)
    yield case("all sizes different", 2, 3, 5, 4)
    yield case("D = 6, eleven tokens", 2, 4, 11, 6)
    yield case("one head", 2, 1, 5, 8)
    yield case("eight heads of two channels", 2, 8, 5, 2)
    yield case("B = H = L = D", 4, 4, 4, 4, grad=False)
    # L and D of (1, 16) and (11, 6) are one text if nothing stands between the two.
    yield case("one token", 2, 3, 1, 16)
    yield case("two tokens", 2, 3, 2, 8)
    # A power of 10,000 with the number of a pair is too large for float32 there.
    yield case("eighty tokens, D = 64", 1, 2, 80, 64, grad=False, tolerance=1e-3)
    x = torch.randn(2, 5, 12, generator=rng) * 1.5
    yield Case("q, k and v are the same", (x, x, x, 3), grad=False)
    q, k, v = torch.randn(3, 2, 12, 5, generator=rng).mT * 1.5
    yield Case("not contiguous", (q, k, v, 3))
    yield case(
        "scores up to hundreds apart", 2, 3, 5, 4, scale=20.0, tolerance=1e-2, grad=False
    )
    yield case("float64", 2, 3, 5, 6, torch.float64, tolerance=1e-6)
    yield case("float16", 2, 3, 5, 4, torch.float16, grad=False, tolerance=2e-2)
    # A word reads those that are whole turns away, so that each position shows in the result.
    turns = torch.arange(300.0)[:, None] + torch.tensor([0.0, -torch.pi / 2])
    qk, v = torch.tensor([2.0, 0.0]).expand(300, 2), 4 * turns.cos()
    long = (x[None].bfloat16() for x in (qk, qk, v))
    yield Case("bfloat16, 300 tokens", (*long, 1), grad=False, tolerance=0.1)
    yield case("as long and as wide, with other heads", 1, 6, 20, 2)
    yield case("as long and as wide, with fewer heads", 1, 2, 20, 6)
    far = torch.tensor([[200.0, 0.0], [200.0, 0.0]])[None]
    v = torch.tensor([[4.0, 8.0], [0.0, 4.0]])[None]
    yield Case("scores near -28,000", (far, -far, v, 1), grad=False, tolerance=1e-2)
    yield case("17 heads, 20 words", 1, 17, 20, 6)
    far = torch.tensor([[1200.0, 0.0], [1200.0, 0.0]])[None]
    yield Case("scores near -1,000,000", (far, -far, v, 1), grad=False, tolerance=0.1)
    # Its exponential is too large for float32, if the maximum of the others is taken off.
    _, k, v = torch.randn(3, 1, 4, 2, generator=rng)
    q = 1.5 * (turns[:4] + torch.tensor([0.0, torch.pi])).cos()[None]
    k[:, 3] = 200 * q[:, 3]
    yield Case("a later key that would get all the weight", (q, k, v, 1))
    # Of the same sizes, one after the other: what is kept of the first may not serve the second.
    for dtype in (torch.bfloat16, torch.float32):
        about = f"{dtype}, 6 words, 10 channels".removeprefix("torch.")
        half = {"tolerance": 5e-2} if dtype == torch.bfloat16 else {}
        yield case(about, 1, 2, 6, 10, dtype, grad=False, **half)
    # Two heads: turned over one head, a thousand words would become a thousand heads.
    half = dict(scale=2.5, grad=False, tolerance=3e-2, is_slow=True)
    yield case("float16, 600 words", 1, 2, 600, 16, torch.float16, **half)
    yield case("a thousand words", 1, 2, 1100, 2, grad=False, is_slow=True)


rope_attention.rows("""
Move all tokens by 5 positions: do the scores stay as they are? Which of q and k do you turn?
    only-one-side-turned  k = k_heads
    only-one-side-turned  q = q_heads
Is a position meant to change what is said, or who listens to whom? What do you turn, beside queries and
keys?
    values-turned  v = turn(v_heads, positions)
    values-turned  v = turn(v_heads, positions) ; q = q_heads ; k = k_heads
    values-turned  heads = turn(_, positions)
Exchange the keys and values of the first two tokens. Does the last query notice? Are two tokens of
one head turned by different angles?
    not-turned  q = q_heads ; k = k_heads
Which channels make a pair: c and c + D/2 of one head, or of all heads together? When do you turn, and
when do you split?
    turned-before-the-split  q = turn(attn_lib.merge_heads(q_heads)[:, None], positions)[:, 0].reshape(B, L, num_heads, width).transpose(1, 2) ; k = turn(attn_lib.merge_heads(k_heads)[:, None], positions)[:, 0].reshape(B, L, num_heads, width).transpose(1, 2)
In which order does your tensor have its axes when you turn it? `apply_rope` takes the last but one
for the tokens.
    turned-over-the-heads  q = turn(q_heads.transpose(1, 2), positions).transpose(1, 2) ; k = turn(k_heads.transpose(1, 2), positions).transpose(1, 2)
Each token has a position. How many tokens are there, and how many positions has your list?
    as-many-positions-as-something-else  positions = torch.arange(num_heads)
    as-many-positions-as-something-else  positions = torch.arange(width)
    as-many-positions-as-something-else  positions = torch.arange(num_heads * width)
    as-many-positions-as-something-else  positions = torch.arange(B)
How often is each query turned, and each key? By which angle altogether?
    turned-twice  q = turn(_, positions) ; k = turn(_, positions)
    turned-twice  q = turn(_, positions)
    turned-twice  k = turn(_, positions)
Query i and key i stand at the same place. Do they have the same position in yours, and does it grow by
one from token to token?
    positions-of-q-and-k-differ  k = turn(k_heads, positions + 1)
    positions-of-q-and-k-differ  q = turn(q_heads, positions + 1)
    positions-of-q-and-k-differ  k = turn(k_heads, positions.flip(0))
    positions-of-q-and-k-differ  q = turn(q_heads, torch.full_like(positions, L - 1))
    positions-of-q-and-k-differ  k = turn(k_heads, -positions)
A query at 5 and a key at 3 are 2 apart. Which way do your queries and keys turn: does the angle grow with
the position?
    turned-the-wrong-way  positions = -_
Which channel turns together with channel 0: the next one, or the one D/2 farther on?
    interleaved-pairs  q = turn(q_heads[..., attn_lib.half_split_order(width)], positions) ; k = turn(k_heads[..., attn_lib.half_split_order(width)], positions)
You add something to queries and keys. Does RoPE add, or turn?
    added-instead-of-turned  q = q_heads + attn_lib.sinusoidal_positions(L, width).to(q_heads) ; k = k_heads + attn_lib.sinusoidal_positions(L, width).to(k_heads)
May query 0 see key 1? Which of your lines forbids it?
    not-causal  masked = scores
Print your mask for three tokens. Which keys may each query see, its own included? Is there a query that
sees none?
    a-query-sees-nothing  later = triu(1) => triu(0) || ~_
    a-query-sees-nothing  later = ~_ ; weights = _.nan_to_num(0.0)
May a query see its own key? Where does your triangle begin, and which weight has the first word for itself?
    own-key-hidden  later = triu(1) => triu(0) ; weights = _.nan_to_num(0.0)
    own-key-hidden  later = triu(1) => triu(0) ; masked = scores.masked_fill(later, -1e9)
    own-key-hidden  later = triu(1) => triu(0) ; masked = scores.masked_fill(later & (torch.arange(L)[:, None] > 0), -torch.inf)
    own-key-hidden  later = torch.ones(L, L, dtype=torch.bool).triu(0) & (torch.arange(L) + torch.arange(L)[:, None] > 0)
May query 0 see key 1? Where does your triangle begin?
    one-key-ahead  later = triu(1) => triu(2)
Which keys may query 0 see: the first, or all but the first? What does True mean in your mask?
    mask-inverted  later = _.T
What does the softmax make of a score of 0? Is that nothing?
    mask-multiplied  masked = scores * ~later || scores + ~later
What is 0 * -inf? Print what you add, for an allowed key.
    zero-times-inf  masked = scores + later * -torch.inf
What should the score of a later key be, so that exp makes 0 of it? Look at its sign.
    fill-plus-inf  masked = scores.masked_fill(later, torch.inf)
    fill-plus-inf  masked = scores.masked_fill(later, torch.nan)
How low can a score be that is not hidden? Is what you fill in lower?
    fill-not-low-enough  masked = scores.masked_fill(later, -100.0)
    fill-not-low-enough  masked = scores.masked_fill(later, -1000.0)
    fill-not-low-enough  masked = scores.masked_fill(later, -10.0)
What does a row of your weights add up to, once the later keys are gone? When must the mask act?
    masked-after-the-softmax  masked = scores ; weights = _ * ~later
What is compared with the query, and what is mixed?
    keys-and-values-swapped  k = turn(v_heads, positions) ; v = k_heads
What is exp(150) in float32? Which number did lesson 01 subtract first?
    maximum-not-subtracted  weights = (e := scores.exp().masked_fill(later, 0.0)) / e.sum(-1, keepdim=True)
How long are the vectors inside one head's dot product: D, or H·D?
    scale-by-the-whole-width  D = q.shape[-1] * num_heads
What is the square root of 6, as your code computes it?
    scale-int-sqrt  scores = math.sqrt => math.isqrt
Which numbers of token 0 are in head 0? `view` and `reshape` only read on in memory order.
    split-without-transpose  q_heads = q.reshape(B, num_heads, L, width) ; k_heads = k.reshape(B, num_heads, L, width) ; v_heads = v.reshape(B, num_heads, L, width)
    split-without-transpose  q_heads = q.reshape(B, num_heads, L, width) ; k_heads = k.reshape(B, num_heads, L, width) ; v_heads = v.reshape(B, num_heads, L, width) ; merged = heads.reshape(B, L, -1)
Your heads attend within one token: how many axes has your tensor, and is L the last but one?
    heads-attend-to-heads  q_heads, k_heads, v_heads = .transpose(1, 2) => ; positions = torch.arange(num_heads) ; later = L, L => num_heads, num_heads ; merged = heads.flatten(2)
Do the channels of head 0 stand side by side in q? Which comes first when you cut the last axis: heads,
or places within a head?
    split-interleaved  q_heads = q.reshape(B, L, width, num_heads).permute(0, 3, 1, 2) ; k_heads = k.reshape(B, L, width, num_heads).permute(0, 3, 1, 2) ; v_heads = v.reshape(B, L, width, num_heads).permute(0, 3, 1, 2)
    split-interleaved  q_heads = q.reshape(B, L, width, num_heads).permute(0, 3, 1, 2) ; k_heads = k.reshape(B, L, width, num_heads).permute(0, 3, 1, 2) ; v_heads = v.reshape(B, L, width, num_heads).permute(0, 3, 1, 2) ; merged = heads.permute(0, 2, 3, 1).flatten(2)
Where does `num_heads` come in? Do the heads have weights of their own in yours?
    one-head-for-all  q_heads, k_heads, v_heads = num_heads, width => 1, -1
The shape is right, the cells are not. Which axes must stand side by side before `reshape` may merge
them?
    merged-without-transpose  merged = heads.reshape(B, L, -1) || heads.mT.reshape(B, L, -1)
In the merged vector, where is channel 0 of head 1: right after channel 0 of head 0, or after its last one?
    merged-interleaved  merged = heads.permute(0, 2, 3, 1).flatten(2)
Three axes are asked for, (B, L, H·D). Who puts the heads side by side again?
    not-merged  merged = heads || heads.transpose(1, 2) || heads.flatten(1, 2)
    not-merged  merged = heads.mean(1) || heads.sum(1)
Give it float64: which dtype comes out, and which one should?
    dtype-changed  merged = _.float()
Which whole numbers above 256 are there in bfloat16? Which dtype have your positions?
    positions-rounded  positions = torch.arange(L).to(q.dtype)
The angle of the slowest pair at the last token: with which base do you get it, and with which does `apply_rope`?
    another-base  speeds = 10000.0 => 100.0 || 10000.0 => 1000.0
An allowed score can be exactly 0, too. How do you tell it from a forbidden one? Ask the places, not the score.
    zero-scores-hidden  masked = scores.masked_fill(later | (scores == 0), -torch.inf)
""")

rope_attention.drills(
    "only-one-side-turned, values-turned, softmax-over-queries, mask-multiplied, transposed-scores, "
    "a-query-sees-nothing, merged-without-transpose, scale-by-the-wrong-size, positions-of-q-and-k-differ 4, "
    "positions-rounded, masked-after-the-softmax"
)
