"""The task `cached_attention`: one chunk at a time, and nothing computed twice.

Its cases play whole sessions: the answer gets chunk after chunk, each with the cache it returned for
the chunk before. Only outputs are compared. What a cache looks like is the learner's own affair.
"""

import math

import torch

from attn_lib import causal_mask, einsum_attention
from attn_lib.checks.case import Case
from attn_lib.checks.lesson_04.runs import in_turns, one_session, two_beginnings
from attn_lib.checks.lesson_04.steps import attend, mix, scaled, weigh
from attn_lib.checks.task import task


@task(
    lesson=4,
    points=4,
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
    if cache is not None:
        k, v = (torch.cat(pair, dim=2) for pair in zip(cache, (k, v), strict=True))
    output, _ = einsum_attention(q, k, v, is_causal=True)
    return output, (k, v)


@cached_attention.cases
def _(rng):
    def random(B, H, L, D, scale=1.4, dtype=torch.float32):
        q, k = (torch.randn(B, H, L, D, generator=rng) * scale for _ in range(2))
        return tuple(t.to(dtype) for t in (q, k, torch.randn(B, H, L, D, generator=rng)))

    several = {"grad": False, "in_turns": True}

    def session(sizes, *shape, about="", **kwargs):
        sizes_text = " + ".join(map(str, sizes))
        about = about or ("one chunk" if len(sizes) == 1 else "chunks")
        args = (*random(*shape, **kwargs), sizes)
        return Case(f"{about} of {sizes_text} tokens", args, one_session, **several)

    def sessions(about, shapes, turns, dim=0, run=in_turns):
        args = tuple(zip(*(random(*shape) for shape in shapes), strict=True))
        return Case(about, (*args, turns, dim), run, **several)

    first = random(1, 1, 1, 1)
    yield Case("the first token, cache None", (*first, (1,)), one_session, **several)
    yield sessions(
        "two sessions of one token, one after the other, joined along the batch",
        [(1, 1, 1, 1), (1, 1, 1, 1)],
        ((0, 1), (1, 1)),
        run=two_beginnings,
    )
    q = torch.tensor([[1.0, 0.0], [1.0, 2.0]]).view(1, 1, 2, 2)
    k = torch.tensor([[0.0, 1.0], [1.0, 0.0]]).view(1, 1, 2, 2)
    v = torch.tensor([[1.0, 0.0], [5.0, 8.0]]).view(1, 1, 2, 2)
    yield Case("two tokens in one chunk", (q, k, v, (2,)), one_session, **several)
    yield Case("two tokens, one at a time", (q, k, v, (1, 1)), one_session, **several)
    yield session((1, 1, 1), 1, 1, 3, 2)
    yield session((1, 2), 1, 1, 3, 2)
    yield session((6,), 2, 3, 6, 10)
    yield session((2, 3, 1), 2, 3, 6, 10)
    yield session((1, 1, 1, 1), 2, 3, 4, 6)
    yield session((3, 1, 1, 1), 2, 4, 6, 6)
    yield session((4, 2), 1, 3, 6, 6)
    yield session((2, 2, 2), 2, 2, 6, 6, about="B = H = L, chunks")
    yield session((2, 2), 3, 1, 4, 1, about="one head, D = 1, chunks")
    yield session((2, 5, 1, 3), 3, 2, 11, 3)
    yield session((37, 1, 2), 1, 2, 40, 4)
    yield sessions(
        "two sessions, one after the other, joined along the batch",
        [(2, 3, 5, 6), (1, 3, 5, 6)],
        ((0, 2), (0, 1), (0, 2), (1, 3), (1, 1), (1, 1)),
    )
    yield sessions(
        "two sessions of one shape, in turns, joined along the batch",
        [(1, 2, 4, 3), (1, 2, 4, 3)],
        ((0, 2), (1, 1), (0, 1), (1, 2), (1, 1), (0, 1)),
    )
    yield sessions(
        "two sessions of other shapes, in turns, joined along the heads",
        [(2, 3, 4, 6), (2, 2, 4, 6)],
        ((0, 1), (1, 2), (0, 2), (1, 2), (0, 1)),
        dim=1,
    )
    q, k, v = (t.transpose(1, 2).contiguous().transpose(1, 2) for t in random(2, 3, 6, 6))
    about = "not contiguous, fresh from the split, chunks of 2 + 3 + 1 tokens"
    yield Case(about, (q, k, v, (2, 3, 1)), one_session, **several)
    q, k, v = random(2, 2, 5, 6, scale=60.0)
    about = "scores up to thousands apart, chunks of 3 + 2 tokens"
    yield Case(about, (q, k, v, (3, 2)), one_session, **several, tolerance=1e-2)
    for dtype in (torch.float64, torch.bfloat16):
        about = f"{dtype}".removeprefix("torch.") + ", chunks"
        yield session((2, 3, 1), 2, 3, 6, 6, about=about, dtype=dtype)


def _join(old, new, dim=2):
    return torch.cat([old, new], dim=dim)


def _causal(q, k, v):
    return attend(q, k, v, causal_mask(q.shape[2], k.shape[2]))


def _causal_product(q, k, v):
    """Attend by `@`: parts of a cache that do not fit raise another error than with einsum."""
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    return weigh(scores, causal_mask(q.shape[2], k.shape[2])) @ v


def _joined(q, k, v, cache):
    return (k, v) if cache is None else (_join(cache[0], k), _join(cache[1], v))


_LENGTH = "How many tokens are in your cache after four calls with one token each?"


@cached_attention.mistake(
    "past-not-attended",
    "Which keys does the first token of the second chunk see in your code: all so far, or those of "
    "its own chunk?",
)
def _(q, k, v, cache):
    return _causal(q, k, v), (k, v)


@cached_attention.mistake("only-the-newest-kept", _LENGTH)
def _(q, k, v, cache):
    return _causal(q, *_joined(q, k, v, cache)), (k, v)


@cached_attention.mistake("only-the-first-kept", _LENGTH)
def _(q, k, v, cache):
    output = _causal(q, *_joined(q, k, v, cache))
    return output, (k, v) if cache is None else cache


@cached_attention.mistake(
    "new-tokens-stored-twice",
    "How many tokens are in your cache after two calls with one token each? How often is each there?",
)
def _(q, k, v, cache):
    all_k, all_v = _joined(q, k, v, cache)
    if cache is None:
        return _causal(q, all_k, all_v), (k, v)
    return _causal(q, all_k, all_v), (_join(all_k, k), _join(all_v, v))


@cached_attention.mistake(
    "first-chunk-stored-twice",
    "How many tokens are in your cache after one call with one token? Which lines of yours put it "
    "there?",
)
def _(q, k, v, cache):
    old_k, old_v = (k, v) if cache is None else cache
    k, v = _join(old_k, k), _join(old_v, v)
    return _causal(q, k, v), (k, v)


@cached_attention.mistake(
    "cache-is-none",
    "What is `cache` in the very first call? What does your first line do with it?",
)
def _(q, k, v, cache):
    old_k, old_v = cache
    k, v = _join(old_k, k), _join(old_v, v)
    return _causal(q, k, v), (k, v)


@cached_attention.mistake(
    "cache-is-none",
    "What is `cache` in the very first call? What does your first line do with it?",
)
def _(q, k, v, cache):
    k, v = _join(cache[0], k), _join(cache[1], v)
    return _causal(q, k, v), (k, v)


@cached_attention.mistake(
    "cache-not-returned",
    "Which value does the next call get as `cache`? Where does your function hand it out?",
)
def _(q, k, v, cache):
    return _causal(q, *_joined(q, k, v, cache)), None


@cached_attention.mistake(
    "cache-not-returned",
    "Which value does the next call get as `cache`? Where does your function hand it out?",
)
def _(q, k, v, cache):
    return _causal(q, *_joined(q, k, v, cache)), cache


@cached_attention.mistake(
    "cache-not-returned",
    "Which value does the next call get as `cache`? Where does your function hand it out?",
)
def _(q, k, v, cache):
    return _causal(q, *_joined(q, k, v, cache))


@cached_attention.mistake(
    "three-things-returned",
    "The next call gets one thing, `cache`. How can it hold both keys and values?",
)
def _(q, k, v, cache):
    k, v = _joined(q, k, v, cache)
    return _causal(q, k, v), k, v


@cached_attention.mistake(
    "results-swapped", "Which of the two is asked for first: output or cache?"
)
def _(q, k, v, cache):
    k, v = _joined(q, k, v, cache)
    return (k, v), _causal(q, k, v)


_ONLY_K = (
    "Compare the lengths of the two parts of your cache after three calls. Do both grow?"
)


@cached_attention.mistake("values-not-cached", _ONLY_K)
def _(q, k, v, cache):
    k, new_v = k if cache is None else _join(cache[0], k), v
    return _causal_product(q, k, new_v), (k, new_v)


@cached_attention.mistake("values-not-cached", _ONLY_K)
def _(q, k, v, cache):
    k = k if cache is None else _join(cache[0], k)
    return _causal(q, k, v), (k, v)


@cached_attention.mistake("values-not-cached", _ONLY_K)
def _(q, k, v, cache):
    all_k, all_v = _joined(q, k, v, cache)
    return _causal_product(q, all_k, all_v), (all_k, v)


@cached_attention.mistake("values-not-cached", _ONLY_K)
def _(q, k, v, cache):
    all_k, all_v = _joined(q, k, v, cache)
    return _causal_product(q, all_k, all_v), (all_k, v if cache is None else cache[1])


@cached_attention.mistake("keys-not-cached", _ONLY_K)
def _(q, k, v, cache):
    all_k, all_v = _joined(q, k, v, cache)
    return _causal_product(q, all_k, all_v), (k, all_v)


_AXIS = (
    "Which axis should be longer after each call? Which axis does your `cat` join along?"
)


@cached_attention.mistake("joined-along-the-heads", _AXIS)
def _(q, k, v, cache):
    if cache is not None:
        k, v = _join(cache[0], k, 1), _join(cache[1], v, 1)
    return _causal(q, k, v), (k, v)


@cached_attention.mistake("joined-along-the-batch", _AXIS)
def _(q, k, v, cache):
    if cache is not None:
        k, v = _join(cache[0], k, 0), _join(cache[1], v, 0)
    return _causal(q, k, v), (k, v)


@cached_attention.mistake("joined-along-the-channels", _AXIS)
def _(q, k, v, cache):
    if cache is not None:
        k, v = _join(cache[0], k, -1), _join(cache[1], v, -1)
    return _causal(q, k, v), (k, v)


@cached_attention.mistake(
    "new-tokens-first",
    "Write down the order of the tokens in your keys. Which of them does your mask take for the newest?",
)
def _(q, k, v, cache):
    if cache is not None:
        k, v = _join(k, cache[0]), _join(v, cache[1])
    return _causal(q, k, v), (k, v)


@cached_attention.mistake(
    "keys-and-values-in-another-order",
    "In which order do you join old and new for the keys, and in which for the values?",
)
def _(q, k, v, cache):
    if cache is not None:
        k, v = _join(cache[0], k), _join(v, cache[1])
    return _causal(q, k, v), (k, v)


@cached_attention.mistake(
    "cache-read-in-another-order",
    "In which order do you put keys and values into the cache, and in which do you take them out?",
)
def _(q, k, v, cache):
    if cache is not None:
        old_v, old_k = cache
        k, v = _join(old_k, k), _join(old_v, v)
    return _causal(q, k, v), (k, v)


@cached_attention.mistake(
    "mask-top-left",
    "One new token, six in the cache: how many keys does it see under your mask? To which row of the "
    "full 7 x 7 mask does it belong?",
)
def _(q, k, v, cache):
    k, v = _joined(q, k, v, cache)
    mask = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril()
    return attend(q, k, v, mask), (k, v)


@cached_attention.mistake(
    "mask-of-the-chunk-only",
    "Two new tokens, one in the cache: how many keys does each of them meet, and how many columns "
    "has your mask?",
)
def _(q, k, v, cache):
    k, v = _joined(q, k, v, cache)
    return attend(q, k, v, causal_mask(q.shape[2], q.shape[2])), (k, v)


@cached_attention.mistake(
    "mask-top-left-in-later-chunks",
    "One new token is right. Now two new tokens with six in the cache: how many keys does the first "
    "of them see under your mask? To which rows of the full 8 x 8 mask do the two belong?",
)
def _(q, k, v, cache):
    k, v = _joined(q, k, v, cache)
    L, S = q.shape[2], k.shape[2]
    return attend(q, k, v, torch.ones(L, S).tril() > 0 if L > 1 else None), (k, v)


@cached_attention.mistake(
    "mask-multiplied", "A hidden key's score is now 0. What is exp(0)?"
)
def _(q, k, v, cache):
    k, v = _joined(q, k, v, cache)
    scores = scaled(q, k) * causal_mask(q.shape[2], k.shape[2])
    return mix(scores.softmax(-1), v), (k, v)


@cached_attention.mistake(
    "mask-after-the-softmax",
    "What do the weights of one token add up to after you have hidden some?",
)
def _(q, k, v, cache):
    k, v = _joined(q, k, v, cache)
    weights = scaled(q, k).softmax(-1) * causal_mask(q.shape[2], k.shape[2])
    return mix(weights, v), (k, v)


@cached_attention.mistake(
    "chunk-looks-ahead",
    "A chunk has two tokens. May the first see the second? Change the last token: do earlier outputs "
    "move?",
)
def _(q, k, v, cache):
    k, v = _joined(q, k, v, cache)
    return attend(q, k, v), (k, v)


@cached_attention.mistake(
    "later-chunks-look-ahead",
    "Your first chunk is causal. What about the second one, when it has several tokens?",
)
def _(q, k, v, cache):
    all_k, all_v = _joined(q, k, v, cache)
    see = _causal if cache is None else attend
    return see(q, all_k, all_v), (all_k, all_v)


@cached_attention.mistake(
    "one-token-ahead", "Which is the last key that the first query of a chunk may see?"
)
def _(q, k, v, cache):
    k, v = _joined(q, k, v, cache)
    L, S = q.shape[2], k.shape[2]
    return attend(q, k, v, torch.ones(L, S).tril(S - L + 1) > 0), (k, v)


@cached_attention.mistake(
    "blind-to-itself", "May a token see itself? What does the very first token see?"
)
def _(q, k, v, cache):
    k, v = _joined(q, k, v, cache)
    L, S = q.shape[2], k.shape[2]
    return attend(q, k, v, torch.ones(L, S).tril(S - L - 1) > 0), (k, v)


@cached_attention.mistake(
    "mask-inverted", "What does True promise in your mask: 'may look' or 'hidden'?"
)
def _(q, k, v, cache):
    k, v = _joined(q, k, v, cache)
    return attend(q, k, v, ~causal_mask(q.shape[2], k.shape[2])), (k, v)


@cached_attention.mistake(
    "first-token-sees-nothing",
    "A token may always see itself, so no row is empty. Print your mask for one token without a "
    "cache: may the token look? And what does True mean to the function that receives it?",
)
def _(q, k, v, cache):
    k, v = _joined(q, k, v, cache)
    seen = causal_mask(q.shape[2], k.shape[2])
    return mix(scaled(q, k).masked_fill(seen, -torch.inf).softmax(-1), v), (k, v)


_global: dict = {}


@cached_attention.mistake(
    "one-cache-for-all-sessions",
    "Two people talk to your model in turns. Whose keys are in your cache? Is what you keep the same "
    "thing that you return, and that you get as `cache`?",
)
def _(q, k, v, cache):
    if cache is None:
        _global.clear()
    _global["cache"] = _joined(q, k, v, _global.get("cache"))
    return _causal(q, *_global["cache"]), "in a global"


@cached_attention.mistake(
    "cache-in-half-precision", "What dtype has your cache, and what dtype have k and v?"
)
def _(q, k, v, cache):
    kept = _joined(q, k.half(), v.half(), cache)
    return _causal(q, *(x.to(q.dtype) for x in kept)), kept


@cached_attention.mistake(
    "cache-in-half-precision", "What dtype has your cache, and what dtype have k and v?"
)
def _(q, k, v, cache):
    kept = _joined(q, k.bfloat16(), v.bfloat16(), cache)
    return _causal(q, *(x.to(q.dtype) for x in kept)), kept


@cached_attention.mistake(
    "queries-cached-too",
    "Who needs the queries of old tokens? Their outputs were returned long ago: how many does this "
    "call ask for?",
)
def _(q, k, v, cache):
    if cache is not None:
        q, k, v = (_join(old, new) for old, new in zip(cache, (q, k, v), strict=True))
    return _causal(q, k, v), (q, k, v)


@cached_attention.mistake(
    "only-the-last-token", "A chunk of three tokens: how many outputs should come back?"
)
def _(q, k, v, cache):
    k, v = _joined(q, k, v, cache)
    return attend(q[:, :, -1:], k, v), (k, v)


@cached_attention.mistake("scale-missing", "What do you divide the scores by, and where?")
def _(q, k, v, cache):
    k, v = _joined(q, k, v, cache)
    return _causal(q * math.sqrt(q.shape[-1]), k, v), (k, v)


@cached_attention.mistake(
    "scale-by-length", "Should a longer cache change how well a query fits a key?"
)
def _(q, k, v, cache):
    k, v = _joined(q, k, v, cache)
    return _causal(q * math.sqrt(q.shape[-1] / k.shape[2]), k, v), (k, v)


@cached_attention.mistake(
    "keys-as-values", "If you replace v by zeros, what should come out?"
)
def _(q, k, v, cache):
    k, v = _joined(q, k, v, cache)
    return _causal(q, k, k), (k, v)
