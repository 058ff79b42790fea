"""The task `cached_attention`: one chunk at a time, and nothing computed twice.

Its cases play whole sessions: the answer gets chunk after chunk, each with the cache it returned for
the chunk before. Only outputs are compared. What a cache looks like is the learner's own affair.
"""

import math
from typing import Any

import torch

from attn_lib.checks.authoring import Case, task
from attn_lib.tasks.lesson_01.far_scores import APART, ROUGHLY, far_scores
from attn_lib.tasks.lesson_04.runs import in_turns, one_session, two_beginnings


@task(
    lesson=4,
    points=4,
    insight="Old keys and values never change, so a new token costs a row of scores, not a matrix.",
    without=("maximum-not-subtracted",),  # it is "exp-overflows"
    hints=[
        "A new token asks with its own query, but listens to all tokens so far. Of which tokens do "
        "you need the keys and values that are not in this call?",
        "If there is a cache, put its keys before the new keys, and its values before the new values, "
        "along the axis that counts tokens. Attend with the new queries only, and return what you "
        "joined as the next cache.",
        "L new queries meet S keys, and the last query is the last token. Query i sees key j up to "
        "j = i + S - L: the mask of lesson 02 that is aligned at the bottom right.",
    ],
)
def cached_attention(q, k, v, cache):
    past = (None, None) if cache is None else cache
    past_k, past_v = past
    k = k if cache is None else torch.cat([past_k, k], dim=2)  # type: ignore
    v = v if cache is None else torch.cat([past_v, v], dim=2)  # type: ignore
    asked = q
    L = asked.shape[2]
    S = k.shape[2]
    D = q.shape[-1]
    products = asked @ k.mT
    scores = products / math.sqrt(D)
    allowed = torch.ones(L, S, dtype=torch.bool).tril(S - L)
    hidden = scores.masked_fill(~allowed, -torch.inf)
    weights = hidden.softmax(-1)
    output = weights @ v
    following = (k, v)
    return output, following


@cached_attention.cases
def _(rng):
    def random(B, H, L, D, scale=1.4, dtype=torch.float32):
        q, k = (torch.randn(B, H, L, D, generator=rng) * scale for _ in range(2))
        return tuple(t.to(dtype) for t in (q, k, torch.randn(B, H, L, D, generator=rng)))

    several: dict[str, Any] = {"grad": False, "in_turns": True}

    def session(sizes, *shape, about="", **kwargs):
        sizes_text = " + ".join(map(str, sizes))
        about = about or ("one chunk" if len(sizes) == 1 else "chunks")
        args = (*random(*shape, **kwargs), sizes)
        return Case(f"{about} of {sizes_text} tokens", args, one_session, **several)

    def sessions(about, shapes, turns, dim=0, run=in_turns):
        args = tuple(zip(*(random(*shape) for shape in shapes), strict=True))
        return Case(about, (*args, turns, dim), run, **several)

    first = (*random(1, 1, 1, 1), (1,))
    yield Case("the first token, cache None", first, one_session, **several)
    about = "two sessions of one token, one after the other, joined along the batch"
    yield sessions(about, [(1, 1, 1, 1)] * 2, ((0, 1), (1, 1)), run=two_beginnings)
    qkv = [[[1.0, 0], [1, 2]], [[0, 1], [1, 0]], [[1, 0], [5, 8]]]
    q, k, v = torch.tensor(qkv)[:, None, None]
    yield Case("two tokens in one chunk", (q, k, v, (2,)), one_session, **several)
    yield Case("two tokens, one at a time", (q, k, v, (1, 1)), one_session, **several)
    yield session((1, 1, 1), 1, 1, 3, 2)
    yield session((1, 2), 1, 1, 3, 2)
    yield session((6,), 2, 3, 6, 10)
    yield session((2, 3, 1), 2, 3, 6, 10)
    yield session((3, 1, 1, 1), 2, 4, 6, 6)
    yield session((2, 2, 2), 2, 2, 6, 6, about="B = H = L, chunks")
    yield session((2, 2), 3, 1, 4, 1, about="one head, D = 1, chunks")
    yield session((2, 5, 1, 3), 3, 2, 11, 3)
    yield session((37, 1, 2), 1, 2, 40, 4)
    about = "two sessions, one after the other, joined along the batch"
    shapes = [(2, 3, 5, 6), (1, 3, 5, 6)]
    yield sessions(about, shapes, ((0, 2), (0, 1), (0, 2), (1, 3), (1, 1), (1, 1)))
    about = "two sessions of one shape, in turns, joined along the batch"
    shapes = [(1, 2, 4, 3)] * 2
    yield sessions(about, shapes, ((0, 2), (1, 1), (0, 1), (1, 2), (1, 1), (0, 1)))
    about = "two sessions of other shapes, in turns, joined along the heads"
    shapes = [(2, 3, 4, 6), (2, 2, 4, 6)]
    yield sessions(about, shapes, ((0, 1), (1, 2), (0, 2), (1, 2), (0, 1)), dim=1)
    q, k, v = (t.transpose(1, 2).contiguous().transpose(1, 2) for t in random(2, 3, 6, 6))
    about = "not contiguous, fresh from the split, chunks of 2 + 3 + 1 tokens"
    yield Case(about, (q, k, v, (2, 3, 1)), one_session, **several)
    q, k, v = random(2, 2, 5, 6, scale=60.0)
    q[:, 0], k[:, 0] = -q[:, 0].abs(), k[:, 0].abs()  # all far below 0 in this head
    about = "scores up to thousands apart, chunks of 3 + 2 tokens"
    yield Case(about, (q, k, v, (3, 2)), one_session, **several, tolerance=1e-2)
    yield session((150, 1, 1, 3), 1, 2, 155, 4)
    far = torch.tensor([[200.0, 0.0]]).expand(4, 2)[None, None]
    about = "scores near -28,000, chunks of 2 + 2 tokens"
    args = (far, -far, random(1, 1, 4, 2)[2], (2, 2))
    yield Case(about, args, one_session, **several, tolerance=1e-2)
    about = f"{APART}, chunks of 2 + 3 tokens"
    args = (*far_scores(rng, 1, 2, 5, 5), (2, 3))
    yield Case(about, args, one_session, **several, **ROUGHLY)
    exact = [t / 3 for t in random(2, 3, 6, 4, dtype=torch.float64)]
    about = "float64, to nine digits, chunks of 2 + 3 + 1 tokens"
    args = (*exact, (2, 3, 1))
    yield Case(about, args, one_session, **several, tolerance=1e-9)
    args = (*random(2, 3, 6, 6, dtype=torch.float64), (2, 4))
    yield Case(
        "float64, chunks of 2 + 4 tokens", args, one_session, **several, tolerance=1e-6
    )
    for dtype in (torch.float16, torch.bfloat16):
        about = f"{dtype}".removeprefix("torch.") + ", chunks"
        yield session((2, 3, 1), 2, 3, 6, 6, about=about, dtype=dtype)
    # Bfloat16 has no odd numbers above 256. Each of the last keys is worth more than all before it.
    rising = torch.cat([torch.full((290,), -20.0), 2.0 * torch.arange(10)])[
        None, None, :, None
    ]
    late = torch.ones(1, 1, 300, 1), rising, torch.randn(1, 1, 300, 1, generator=rng)
    q, k, v = (t.bfloat16() for t in late)
    about = "bfloat16, chunks of 298 + 2 tokens"
    yield Case(about, (q, k, v, (298, 2)), one_session, **several)
    later = (torch.arange(600) >= 300)[:, None] + torch.zeros(1, 2, 600, 1)
    alike = torch.ones(1, 2, 600, 1), 1 + 0.125 * later, later
    q, k, v = (t.bfloat16() for t in alike)
    about = "bfloat16, keys near 1, 300 hold 0 and 300 hold 1, chunks of 599 + 1 tokens"
    yield Case(about, (q, k, v, (599, 1)), one_session, **several)
    odd = 256.0 + torch.tensor([0, 1, 1, 0, 1, 0])[:, None] + torch.zeros(1, 2, 6, 1)
    apart = torch.full((1, 2, 6, 1), 4.0), odd, random(1, 2, 6, 1)[2]
    q, k, v = (t.half() for t in apart)
    about = "float16, keys of 256 and 257, chunks of 3 + 2 + 1 tokens"
    yield Case(about, (q, k, v, (3, 2, 1)), one_session, **several)
    q, k, v = random(2, 1, 200, 2)
    about = "200 tokens, one at a time"
    yield Case(about, (q, k, v, (1,) * 200), one_session, **several)
    about = "a long text, four chunks of 1,050 tokens, and one of 2"
    args = (*random(1, 1, 4202, 1), (1050, 1050, 1050, 1050, 2))
    yield Case(about, args, one_session, **several, is_slow=True)
    for dtype, most in ((torch.float32, 1e15), (torch.float16, 170.0)):
        q = torch.tensor([most, 0.0, 0.0])[:, None].expand(2, 1, 3, 1)
        low = tuple(t.to(dtype) for t in (q, -q, v[:, :, :3, :1]))
        about = f"{dtype}, the first token's score near {-most * most:.2g}, chunks of 2 + 1"
        about = about.removeprefix("torch.")
        yield Case(about, (*low, (2, 1)), one_session, **several)
    yield session((1, 2, 40), 1, 2, 43, 3, about="a short chunk, then a long one, chunks")


cached_attention.rows("""
How many tokens does your cache hold when the second chunk comes? Which of them does the first token
of that chunk see?
    past-not-attended  k = k ; v = v
May a token see itself? For which keys have your scores a column: for those of this chunk, too?
    chunk-not-attended  products = q @ (k if cache is None else past_k).mT ; S = (k if cache is None else past_k).shape[2] ; hidden = _ if cache is None else scores ; output = weights @ (v if cache is None else past_v)
`if` and `not` ask for one yes or no. For how many numbers does your cache answer? What do you want to
know of it?
    cache-in-a-condition  past = (None, None) if not cache else cache ; following = torch.stack([k, v])
Print the first key in your cache after each call. Does it stay the same?
    cached-keys-change  following = (k / math.sqrt(D), v) || (k * math.sqrt(D), v)
Who needs the queries of old tokens? Their outputs were returned long ago: how many does this call ask
for?
    queries-cached-too  past = _[:2] ; asked = q if cache is None else torch.cat([cache[2], q], dim=2) ; following = (k, v, asked)
What is `cache` in the very first call? What does your first line do with it?
    cache-is-none  past = cache || (cache[0], cache[1])
Two things are asked for: the output, and what the next call gets as `cache`. What are yours?
    cache-not-returned  return = output, None || output || output, k, v || following, output
Compare the lengths of the two parts of your cache after three calls. Do both grow?
    values-not-cached  v = v
    values-not-cached  v = v ; output = torch.einsum('bhls,bhsd->bhld', weights, v)
    values-not-cached  following = (k, v[:, :, -L:]) || (k[:, :, -L:], v)
    values-not-cached  following = (k, v if cache is None else cache[1])
What is the first part of your cache, after the first call, and what the second? And what is taken out of each in the next one?
    one-part-twice  following = (k, k) || (v, v)
Let two new tokens meet six in the cache. Which shape should the mask have, and which rows of the full 8 x 8
mask are its rows?
    mask-top-left  allowed = S - L => 0 || S - L => 0 if L > 1 else S
    mask-top-left  allowed = torch.ones(L, L, dtype=torch.bool).tril()
By how much does your triangle move to the right? Print that beside the number of tokens in the cache.
    mask-moved-too-far  allowed = S - L => 0 if cache is None else past_k.shape[1]
    mask-moved-too-far  allowed = S - L => 0 if cache is None else past_k.shape[0]
    mask-moved-too-far  allowed = S - L => 0 if cache is None else len(cache)
    mask-moved-too-far  allowed = S - L => (S // L - 1) * L
    mask-moved-too-far  allowed = S - L => L - S ; weights = _.nan_to_num(0.0)
    mask-moved-too-far  allowed = S - L => L - S || S - L => L
Beside itself, which keys of its chunk does a token see in your code: those before it, or those after?
    mask-looks-forward  allowed = tril => triu
    mask-looks-forward  allowed = torch.ones(L, S, dtype=torch.bool).triu(S - L + 1) ; hidden = -torch.inf => -1000000000.0
A hidden key's score is now 0. What is exp(0)?
    mask-multiplied  hidden = scores * allowed
How low can a score be that is not hidden? Is what you fill in lower?
    fill-too-small  hidden = -torch.inf => -100.0
What do the weights of one token add up to after you have hidden some?
    mask-after-the-softmax  hidden = scores ; weights = _ * allowed
A chunk, the first or a later one, has two tokens. May the first see the second? Change the last
token: do earlier outputs move?
    chunk-looks-ahead  hidden = scores || _ if cache is None else scores
    chunk-looks-ahead  hidden = scores if cache is None else _
Which is the last key that the first query of a chunk may see: itself, or another one?
    mask-one-off  allowed = S - L => S - L + 1
    mask-one-off  allowed = S - L => S - L - 1 ; weights = _.masked_fill(~allowed, 0.0)
    mask-one-off  allowed = S - L => S - L - 1 ; hidden = -torch.inf => -1000000000.0
A token may always see itself, so no row is empty. Print your mask for one token without a cache:
may the token look? And what does True mean to the function that receives it?
    mask-inverted  allowed = ~_ ; weights = _.masked_fill(~allowed, 0.0)
A token may always see itself. Print the scores of the first token after you have hidden some: is any
of them still finite? If not, which step of yours took it away?
    mask-inverted  allowed = ~_
What dtype has your cache, and what dtype have k and v?
    cache-in-half-precision  k, v = _.half().to(q.dtype) || _.bfloat16().to(q.dtype)
Let scores be hundreds apart, and print what you divide, and by what: is a number there infinite, or
are all of them 0?
    exp-overflows  hidden = scores ; weights = _ * allowed / (_ * allowed).sum(-1, keepdim=True)
    exp-overflows  weights = hidden.exp() / hidden.exp().sum(-1, keepdim=True)
A chunk of three tokens: how many outputs should come back?
    only-the-last-token  output = _[:, :, -1:]
The output has the shape of q. Which of your steps moves or joins axes that it should not?
    output-in-another-layout  output = _.transpose(1, 2) || _.transpose(1, 2).flatten(2)
What should come back first: the weights, or what they make of the values?
    weights-returned  output = weights
After four calls with a token each: how many tokens are in your cache, and which of them may the new one see?
    cache-of-another-length  following = (k[:, :, -L:], v[:, :, -L:])
    cache-of-another-length  following = (k[:, :, :S - L + 1], v[:, :, :S - L + 1])
    cache-of-another-length  following = (k[:, :, :-1], v[:, :, :-1])
    cache-of-another-length  following = (k[:, :, 1:], v[:, :, 1:]) || cache or _
    cache-of-another-length  following = _ if cache is None else [torch.cat([x, x[:, :, -L:]], 2) for x in _]
    cache-of-another-length  k = torch.cat([k if cache is None else past_k, k], dim=2) ; v = torch.cat([v if cache is None else past_v, v], dim=2)
Which axis should be longer after each call? Which axis does your `cat` join along?
    joined-along-another-axis  k, v = dim=2 => dim=0 || dim=2 => dim=1 || dim=2 => dim=-1
    joined-along-another-axis  k, v = torch.cat => torch.stack
    joined-along-another-axis  k = torch.cat([past_k, k], dim=2) => past_k + k ; v = torch.cat([past_v, v], dim=2) => past_v + v
    joined-along-another-axis  following = (k.mT, v)
    joined-along-another-axis  k, v = dim=2 => dim=-1 ; products = torch.einsum('bhld,bhsd->bhls', q, k)
After two calls, what do your keys hold, token by token? And your values? Which token comes last?
    tokens-in-another-order  k = [past_k, k] => [k, past_k] ; v = [past_v, v] => [v, past_v]
    tokens-in-another-order  k = [past_k, k] => [k, past_k]
    tokens-in-another-order  v = [past_v, v] => [v, past_v]
    tokens-in-another-order  past = _ if cache is None else cache[::-1]
At which place of your cache does a new chunk begin? Print it for three calls. What stood there before?
    every-chunk-at-the-start  k = k if cache is None else torch.cat([k, F.pad(past_k, (0, 0, 0, k.shape[2]))[:, :, k.shape[2]:]], dim=2) ; v = v if cache is None else torch.cat([v, F.pad(past_v, (0, 0, 0, v.shape[2]))[:, :, v.shape[2]:]], dim=2)
How many tokens came before this chunk? Chunks can have other lengths than this one.
    past-counted-in-chunks  allowed = torch.ones(L, S, dtype=torch.bool).tril(L if S > L else 0)
How many tokens came before this chunk? Not every chunk before it was as long as this one.
    past-counted-in-calls  past = (None, None) if cache is None else cache[:2] ; allowed = torch.ones(L, S, dtype=torch.bool).tril((0 if cache is None else cache[2]) * L) ; following = (k, v, 1 if cache is None else cache[2] + 1)
""")
for room in (32, 40, 64, 100, 128, 1024):
    padded = f"F.pad(scores, (0, {room} - S))"
    causal = f"torch.full((L, {room}), -torch.inf).triu({room} - L + 1)"
    cached_attention.rows(f"""
Your cache has room for tokens that have not come yet. What is there now, which score does it get, and
which share?
    empty-room-seen  weights = {padded}.softmax(-1)[..., :S]
    empty-room-seen  weights = ({padded} + {causal}).softmax(-1)[..., :S]
    empty-room-seen  weights = {padded}.softmax(-1)[..., :S] if L == 1 else _
""")


@cached_attention.mistake(
    "one-cache-for-all-sessions",
    "Two people talk to your model in turns. Whose keys are in your cache? Is what you keep the same "
    "thing that you return, and that you get as `cache`?",
)
def _(q, k, v, cache, kept={}):  # noqa: B006
    if cache is None:
        kept.clear()
    output, kept["cache"] = cached_attention.reference(q, k, v, kept.get("cache"))
    return output, "in a global"


cached_attention.drills(
    "only-the-last-token, mask-multiplied, mask-looks-forward, mask-top-left, softmax-over-queries, mask-one-off, "
    "chunk-looks-ahead 1, mask-moved-too-far, mask-after-the-softmax, joined-along-another-axis 1, "
    "tokens-in-another-order"
)
