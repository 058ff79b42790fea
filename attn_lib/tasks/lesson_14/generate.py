"""The task `generate`: a language model writes, each token the likeliest, with the cache.

The model that the answer asks runs elsewhere, see elsewhere.py. It refuses calls that cost more than they
must.
"""

import torch

from attn_lib import generation
from attn_lib.checks.authoring import Case, task
from attn_lib.tasks.lesson_14.elsewhere import Elsewhere
from attn_lib.tasks.lesson_14.runs import Layers, generated


@task(
    lesson=14,
    points=4,
    insight="With the cache, the model reads each token once.",
    library=generation.generate,
    also=("LanguageModel.write",),
    hints=[
        "It is `greedy_decode` of lesson 05 without an end, and with a memory. What does the model have to read in "
        "its first call, and what in the second, if the caches hold all that was read before?",
        "`model.new_caches` once, before the loop: how many tokens will the caches hold in the end? Then in each "
        "round: ask, take the logits of the last place, choose, append.",
        "Two variables: all ids so far, which grow, and what is fed next, which is the prompt at first and then "
        "the column (B, 1) that was just chosen.",
    ],
)
def generate(model, ids, max_new_tokens):
    B = ids.shape[0]
    L = ids.shape[1]
    room = L + max_new_tokens
    caches = model.new_caches(B, room)
    rounds = max_new_tokens
    written, fed = ids, ids
    for _ in range(rounds):
        logits = model(fed, caches=caches)
        last = logits[:, -1]
        chosen = last.argmax(-1)
        column = chosen[:, None]
        grown = torch.cat([written, column], dim=1)
        following = column
        written, fed = grown, following
    output = written
    return output


@generate.cases
def _(rng):
    def case(about, ids, max_new_tokens, V, num_layers=3, script=None, **logits):
        seed = int(torch.randint(1 << 31, (), generator=rng))
        shape = (ids.shape[0], ids.shape[1])
        model = Elsewhere(
            shape, max_new_tokens, num_layers, V, seed, script or {}, **logits
        )
        args = (Layers(num_layers), ids, max_new_tokens)
        return Case(about, args, generated, grad=False, serves=model)

    def drawn(about, B, L, n, V, **kwargs):
        ids = torch.randint(V, (B, L), generator=rng)
        return case(about, ids, n, V, **kwargs)

    said = {(3, 1): 4, (3, 1, 4): 5, (3, 1, 4, 5): 2}
    ids = torch.tensor([[3, 1]])
    said |= {(3, 1, 4, 5, 2): 0, (3, 1, 4, 5, 2, 0): 1}
    yield case("after 3, 1 the model writes 4, 5, 2, 0, 1", ids, 5, 6, script=said)
    said = {(2, 0, 3): 1, (2, 0, 3, 1): 5, (4, 4, 1): 0, (4, 4, 1, 0): 3}
    ids = torch.tensor([[2, 0, 3], [4, 4, 1]])
    yield case("two rows: the model writes 1, 5 and 0, 3", ids, 2, 6, script=said)
    said = {(2, 1, 0, *[4] * n): 4 for n in range(11)} | {(2, 1, 0, *[4] * 11): 1}
    again = torch.tensor([[2, 1, 0]])
    yield case("the model writes 4 eleven times, then 1", again, 12, 6, script=said)
    said = {(3, 1, *range(n)): n for n in range(5)}
    about = "after 3, 1 another model writes 0, 1, 2, 3, 4"
    yield case(about, torch.tensor([[3, 1]]), 5, 6, script=said)
    yield drawn("max_new_tokens 0", 2, 3, 0, 7)
    yield drawn("one new token", 2, 4, 1, 9)
    yield drawn("all sizes different", 3, 4, 6, 11, num_layers=2)
    yield drawn("one row", 1, 5, 4, 12)
    yield drawn("prompts of one token", 3, 1, 5, 13)
    yield drawn("B = L = V", 5, 5, 3, 5)
    yield drawn("B = V", 9, 3, 6, 9)
    yield drawn("L = max_new_tokens", 2, 5, 5, 10)
    yield drawn("a long prompt, few new tokens", 2, 12, 2, 9)
    yield drawn("a prompt of 140 tokens", 1, 140, 4, 9, num_layers=1)
    yield drawn("a prompt of 2,060 tokens", 1, 2060, 3, 9, num_layers=1)
    yield drawn("a short prompt, many new tokens", 2, 2, 40, 9)
    yield drawn("a model of one layer", 2, 3, 4, 9, num_layers=1)
    yield drawn("a model of thirty layers", 2, 3, 4, 9, num_layers=30)
    yield drawn("three tokens to choose from", 3, 2, 8, 3, spread=1e-5)
    yield drawn("1200 tokens to choose from", 2, 3, 4, 1200)
    ids = torch.tensor([[69_999, 7]])
    said = {(69_999, 7): 66_000, (69_999, 7, 66_000): 50_256}  # the end, with GPT-2
    yield case("70,000 tokens to choose from", ids, 3, 70_000, num_layers=1, script=said)
    yield drawn("all logits near -200", 2, 3, 5, 8, shift=-200.0)
    far = {"shift": -2e9, "spread": 1e8}
    yield drawn("all logits below -1e9, far apart", 2, 3, 5, 8, **far)
    close = {"shift": 200.1, "spread": 0.02}  # in float16, most are one number
    yield drawn("all logits near 200, close together", 3, 2, 6, 8, **close)
    ids = torch.randint(9, (4, 3), generator=rng).T
    yield case("not contiguous", ids, 4, 9)


generate.rows("""
The caches hold all that the model has read. What is new since its last call, and what do you feed?
    more-than-the-new-token-fed  following = grown || fed || grown[:, -L:]
Without `caches=caches`, what does the model know in its second call?
    no-caches  logits = model(fed)
How often are the caches made, and for how long must one text keep them?
    caches-made-again  logits = model(fed, caches=model.new_caches(B, room))
    caches-made-again  caches = None ; logits = model(fed, caches=model.new_caches(B, room))
    caches-made-again  caches = None ; following = grown ; logits = model(fed, caches=model.new_caches(B, room))
A model reads any number of tokens in one call. How many are in the prompt, and how many does your first call read?
    prompt-in-parts  logits = model(fed[:, -1:], caches=caches)
How many rows has the prompt? For how many are the caches made, and how many does the model read?
    rows-miscounted  caches = model.new_caches(1, room) || model.new_caches(room, B)
    rows-miscounted  caches = model.new_caches(L, room)
    rows-miscounted  logits = model(fed[:1], caches=caches)
How many tokens do the caches hold in the end: only new ones, only the prompt, or both?
    room-too-small  room = max_new_tokens || L || L + max_new_tokens - 2
    room-too-small  room = max(L, max_new_tokens)
How long may a prompt be, and how many tokens may be asked for? Is there room for every such text in yours?
    room-of-one-size  room = 10 || 16 || 32
Each layer has a cache of its own, and the model makes them all. What did `new_caches` return, and what do you
give to the model?
    other-caches-given  logits = model(fed, caches=caches[0])
    other-caches-given  logits = model(fed, caches=caches[:1])
    other-caches-given  caches = attn_lib.KVCache(B, 1, room, 1)
Read the two calls of the task again: under which name does the model take the caches?
    caches-under-another-name  logits = model(fed, caches) || model(fed, cache=caches)
The caches are made by the model. Where do yours come from?
    caches-from-elsewhere  caches = new_caches(B, room) || []
`new_caches` needs two sizes: of which two?
    sizes-of-the-caches-missing  caches = model.new_caches() || model.new_caches(B)
The logits are (B, L, V), one row of V for each place. Which place tells what comes next?
    another-place  last = logits[:, 0] || logits[-1] || logits.mean(1) || logits.amax(1)
    another-place  last = logits[:, L - 1]
A token is one of V, for each row. Along which axis of the logits does your argmax look, and which shape has what you append to ids
(B, L)?
    argmax-over-another-axis  chosen = last.argmax(0) || last.argmax().expand(B)
    argmax-over-another-axis  chosen = last.argmax() || logits.argmax(1)[:, -1]
    argmax-over-another-axis  column = logits.argmax(1) || logits.argmax()
    argmax-over-another-axis  chosen = (last.argmax() % last.shape[-1]).expand(B)
    argmax-over-another-axis  column = last.argmax().reshape(1, 1) || last.argmax().reshape(1, 1).expand(B, 1)
Which of the V tokens does greedy mean? Call it twice: which ones do you get?
    not-the-likeliest  chosen = last.softmax(-1).multinomial(1)[:, 0] || last.argmin(-1)
    not-the-likeliest  chosen = last.abs().argmax(-1)
In which dtype do you compare the logits? What do -1e9 and -2e9 become there?
    logits-in-half-precision  chosen = last.half().argmax(-1)
Logits can be in the hundreds. Which of your steps, an exp or a bound, makes several of them one number? Does argmax need it?
    exp-too-large  chosen = last.exp().argmax(-1)
    exp-too-large  chosen = (last.exp() / last.exp().sum(-1, keepdim=True)).argmax(-1)
What do you append: the largest logit, or the place where it stands?
    logit-instead-of-its-place  chosen = last.amax(-1) || last.amax(-1).long()
    logit-instead-of-its-place  chosen = last.max(-1)
Each row writes a text of its own. Which row is chosen for in yours?
    first-row-for-all  chosen = last[:1].argmax(-1).expand(B)
    first-row-for-all  chosen = last.mean(0, keepdim=True).argmax(-1).expand(B)
    first-row-for-all  output = written[:1] || written[0]
`.item()` makes one Python number. How many rows write a token in each round?
    item-of-many-rows  chosen = torch.tensor([last.argmax(-1).item()])
    item-of-many-rows  chosen = torch.full((B,), int(last.argmax(-1)))
The model has chosen a token. Which token does it read in its next call, in your code?
    chosen-token-not-fed  following = fed[:, -1:] || written[:, -1:] || column * 0
What stands in the result: every token once, in the order in which it was written?
    written-in-another-order  grown = torch.cat([column, written], dim=1)
    written-in-another-order  grown = torch.cat([ids, column], dim=1)
    written-in-another-order  output = torch.cat([ids, written], dim=1)
    written-in-another-order  grown = torch.cat([fed, column], dim=1)
    written-in-another-order  grown = torch.cat([written, column, column], dim=1)
The ids that came in are part of what goes out, in front. Which columns do you return?
    other-columns-returned  output = written[:, L:] || written[:, -1:] || written[:, 1:]
    other-columns-returned  output = written[:, :-1] || ids || written[:, -1]
    other-columns-returned  output = written[:, :max_new_tokens]
How many tokens have you written when max_new_tokens is 1? And when it is 0?
    one-token-off  rounds = max_new_tokens + 1 || max_new_tokens - 1
    one-token-off  rounds = max(1, max_new_tokens)
max_new_tokens counts the new ones. What does yours count?
    length-instead-of-new-tokens  rounds = max_new_tokens - L || L || L + max_new_tokens
    length-instead-of-new-tokens  rounds = max_new_tokens * B || B
Which shape and which dtype has what you feed, and what you append to ids (B, L)? Along which axis does it grow?
    another-column-appended  column = chosen || chosen[None]
    another-column-appended  following = chosen || chosen[None]
    another-column-appended  column = logits.argmax(-1)
    another-column-appended  grown = dim=1 => dim=0 || written + column
    another-column-appended  grown = torch.stack([written, column], dim=1)
    another-column-appended  column = chosen[:, None].float()
    another-column-appended  following = chosen.tolist()
    another-column-appended  column = F.one_hot(chosen, logits.shape[-1]) || last
What do you return: one tensor of ids, (B, L + max_new_tokens)?
    other-than-ids  output = written.tolist() || written.float() || written.flatten()
    other-than-ids  output = written.T || (written, caches) || written.int()
    other-than-ids  output = written.squeeze() || logits
No token ends a text here: each row gets all its tokens. Which token does yours wait for?
    stops-early  rounds = 0 if (ids == 0).any() else max_new_tokens
With which best do you begin to compare? All logits can be below it.
    best-begins-at-zero  chosen = torch.where((last > 0).any(-1), last.argmax(-1), 0)
""")


@generate.mistake(
    "prompt-in-parts",
    "A model reads any number of tokens in one call. How many are in the prompt, and how many does your first "
    "call read?",
)
def _(model, ids, max_new_tokens):
    caches = model.new_caches(len(ids), ids.shape[1] + max_new_tokens)
    for token in ids.split(1, dim=1):
        logits = model(token, caches=caches)
    for _ in range(max_new_tokens):
        ids = torch.cat([ids, logits[:, -1:].argmax(-1)], dim=1)
        logits = model(ids[:, -1:], caches=caches)
    return ids


@generate.mistake(
    "prompt-in-parts",
    "The last token of the prompt is a part of the prompt. How many tokens does your first call read, and how "
    "many has the prompt?",
)
def _(model, ids, max_new_tokens):
    caches = model.new_caches(len(ids), ids.shape[1] + max_new_tokens)
    model(ids[:, :-1], caches=caches)
    for _ in range(max_new_tokens):
        logits = model(ids[:, -1:], caches=caches)
        ids = torch.cat([ids, logits[:, -1:].argmax(-1)], dim=1)
    return ids


@generate.mistake(
    "read-twice",
    "Count how often the model reads the last token of the prompt in your code. What do the logits of the first "
    "call tell?",
)
def _(model, ids, max_new_tokens):
    caches = model.new_caches(len(ids), ids.shape[1] + max_new_tokens + 1)
    model(ids, caches=caches)
    for _ in range(max_new_tokens):
        logits = model(ids[:, -1:], caches=caches)
        ids = torch.cat([ids, logits[:, -1:].argmax(-1)], dim=1)
    return ids


@generate.mistake(
    "read-twice",
    "The prompt is read before your loop. What does the first call in your loop read, and which call chooses the "
    "first token?",
)
def _(model, ids, max_new_tokens):
    caches = model.new_caches(len(ids), 2 * ids.shape[1] + max_new_tokens)
    fed = ids
    model(ids, caches=caches)
    for _ in range(max_new_tokens):
        fed = model(fed, caches=caches)[:, -1:].argmax(-1)
        ids = torch.cat([ids, fed], dim=1)
    return ids


@generate.mistake(
    "new-logits-not-kept",
    "Each call returns new logits. Where do those go that your loop gets, and which ones does it choose from?",
)
def _(model, ids, max_new_tokens):
    caches = model.new_caches(len(ids), ids.shape[1] + max_new_tokens)
    logits = model(ids, caches=caches)
    for _ in range(max_new_tokens):
        new = logits[:, -1:].argmax(-1)
        ids = torch.cat([ids, new], dim=1)
        model(new, caches=caches)
    return ids


@generate.mistake(
    "more-calls-than-tokens",
    "Count the calls of the model in your code: how many are there for one new token? What is done with what the "
    "last one returns?",
)
def _(model, ids, max_new_tokens):
    L, fed = ids.shape[1], ids
    caches = model.new_caches(len(ids), L + max_new_tokens + 2)
    for _ in range(max_new_tokens + 2):
        fed = model(fed, caches=caches)[:, -1:].argmax(-1)
        ids = torch.cat([ids, fed], dim=1)
    return ids[:, : L + max_new_tokens]


@generate.mistake(
    "last-token-twice",
    "The last new token need not be read. Is it chosen all the same, from the logits of the call before?",
)
def _(model, ids, max_new_tokens):
    caches = model.new_caches(len(ids), ids.shape[1] + max_new_tokens)
    fed = ids
    for i in range(max_new_tokens):
        if i == 0 or i < max_new_tokens - 1:
            fed = model(fed, caches=caches)[:, -1:].argmax(-1)
        ids = torch.cat([ids, fed], dim=1)
    return ids


def _tokens(model, ids, max_new_tokens, caches=None):
    """Yield the newest tokens (B, 1), as a right answer chooses them."""
    caches = caches or model.new_caches(len(ids), ids.shape[1] + max_new_tokens)
    for _ in range(max_new_tokens):
        ids = model(ids, caches=caches)[:, -1:].argmax(-1)
        yield ids


def _joined(join):
    """Return an answer that keeps the new columns in a list, and joins them in the end."""
    return lambda model, ids, n: join(ids, list(_tokens(model, ids, n)))


generate.mistake(
    "other-columns-returned",
    "The ids that came in are part of what goes out, in front. What do you join in the end?",
)(
    _joined(lambda ids, new: torch.cat(new, dim=1)),
    _joined(lambda ids, new: torch.cat(new, dim=1) if new else ids),
)
generate.mistake(
    "nothing-to-join",
    "With `max_new_tokens=0`, what is in your list of new columns? What can be joined all the same?",
)(_joined(lambda ids, new: torch.cat([ids, torch.cat(new, dim=1)], dim=1)))


def _in_default(model, ids, max_new_tokens, kept=[]):  # noqa: B006
    if not kept:
        kept.append(model.new_caches(len(ids), ids.shape[1] + max_new_tokens))
    return torch.cat([ids, *_tokens(model, ids, max_new_tokens, kept[0])], dim=1)


def _in_model(model, ids, max_new_tokens):
    if not hasattr(model, "kept"):
        model.kept = model.new_caches(len(ids), ids.shape[1] + max_new_tokens)
    return torch.cat([ids, *_tokens(model, ids, max_new_tokens, model.kept)], dim=1)


generate.mistake(
    "one-set-of-caches-for-all-texts",
    "Somebody asks the model about another text. What is in your caches then? Where are they made, and how long do "
    "they live?",
)(_in_default, _in_model)


def _ended_by(is_end, *, is_kept):
    """Return an answer that stops when something is true of the newest tokens (B, 1), with or without them."""

    def answer(model, ids, max_new_tokens):
        for new in _tokens(model, ids, max_new_tokens):
            if is_kept or not is_end(new):
                ids = torch.cat([ids, new], dim=1)
            if is_end(new):
                break
        return ids

    return answer


def _filled_up(end, filling):
    """Return an answer that writes on until all rows have met an end, with a filling behind it."""

    def answer(model, ids, max_new_tokens):
        is_done = torch.zeros(len(ids), 1, dtype=torch.bool)
        for new in _tokens(model, ids, max_new_tokens):
            column = new.masked_fill(is_done, filling)
            is_done = is_done | (column == end)
            ids = torch.cat([ids, column], dim=1)
        return ids

    return answer


ENDS = (
    lambda new: (new == 2).all(),
    lambda new: (new == 2).any(),
    lambda new: new[0, 0] == 2,
    lambda new: (new == 0).all(),
    lambda new: (new == 0).any(),
    lambda new: new[0, 0] == 0,
)
generate.mistake(
    "stops-early",
    "No token ends a text here: each row gets all its tokens. Which token does yours wait for?",
)(
    *(_ended_by(is_end, is_kept=kept) for kept in (True, False) for is_end in ENDS),
    *(_filled_up(end, filling) for end, filling in ((2, 2), (0, 0), (2, 0))),
)

generate.drills(
    "other-columns-returned, argmax-over-another-axis, one-token-off 1, rows-miscounted 1, room-too-small 1, "
    "written-in-another-order 1, more-than-the-new-token-fed, another-column-appended 1, prompt-in-parts, "
    "chosen-token-not-fed 1, another-place 4"
)
