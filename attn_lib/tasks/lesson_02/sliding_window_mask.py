"""The task `sliding_window_mask`: each query sees the last few keys only."""

import torch

import attn_lib
from attn_lib.checks.authoring import Case, task
from attn_lib.tasks.lesson_02.mask_mistakes import ENTRIES, PLACES


@task(
    lesson=2,
    points=2,
    insight="With W keys a query, the pairs grow with the length, and no more with its square.",
    library=attn_lib.sliding_window_mask,
    hints=[
        "A window of W holds W keys, the query's own included. With W = 1, what does each query see? "
        "With W = 2?",
        "Count how many steps before the query a key stands: 0 for its own. The query stands at "
        "position i + (S - L). Which numbers of steps may it look back?",
        "Two conditions must hold at once: not after the query, and fewer than W steps before it. "
        "Join them with `&`. Your `causal_mask` is the first one.",
    ],
)
def sliding_window_mask(q_len, kv_len, window):
    seen = True  # what an entry says of a key that may be seen
    i = torch.arange(q_len)[:, None]
    j = torch.arange(kv_len)
    offset = kv_len - q_len
    last = i + offset  # the key at which query i stands
    steps = last - j
    is_past = steps >= 0
    is_near = steps < window
    both = is_past & is_near
    mask = both == seen
    output = mask
    return output


@sliding_window_mask.cases
def _(rng):
    def case(about, q_len, kv_len, window):
        return Case(about, (q_len, kv_len, window), grad=False)

    yield case("four words, each sees two", 4, 4, 2)
    yield case("a window of one", 3, 3, 1)
    yield case("a window as long as the text", 4, 4, 4)
    yield case("a window longer than the text", 3, 3, 5)
    yield case("one new query", 1, 6, 3)
    yield case("two new queries", 2, 7, 4)
    yield case("three new queries, a window of one", 3, 8, 1)
    yield case("three new queries, a window that reaches the first key", 3, 6, 5)
    yield case("more queries than keys", 6, 3, 2)
    yield case("more queries than keys, a long window", 5, 2, 4)
    yield case("two new queries, a window longer than the text", 2, 5, 9)
    yield case("one query, one key", 1, 1, 1)
    yield case("one step from a full window", 5, 5, 4)
    a, b, c = torch.randint(9, 20, (3,), generator=rng).tolist()
    yield case("sizes drawn at random", a, a + b, c)
    yield case("one new query, more than a thousand keys", 1, 1100, 3)
    about = "two new queries, more than four thousand keys, a window of 2500"
    yield Case(about, (2, 4200, 2500), grad=False, is_slow=True)


sliding_window_mask.rows("""
With a window of 1, how many keys should a query see? Count yours.
    window-too-large  is_near = < => <=
    window-too-small  is_near = window => window - 1
With a window of 1, how many keys should a query see? Count yours in a square, then for one new query
and 6 keys.
    window-too-large  is_near = i - j <= window
Is there anything in your condition that forbids a later key?
    future-allowed  both = is_near
How far ahead may a query look in a causal window? Has your distance a sign?
    both-sides  steps = _.abs()
    both-sides  steps = _.abs() ; is_near = < => <=
Does your window lie around the query, or end at it? May it look ahead?
    centered  steps = _.abs() ; is_near = steps <= window // 2 || steps < window / 2
You cut the future off, but what is left of the window? With W = 2, how many keys does the last
query see?
    centered  is_near = steps <= window // 2
Where do you use `window`? With four words and W = 2, may the last see the first? If you subtract, how
large is your difference for that key: has it the right sign? If you join two conditions with `&`, does
each stand in parentheses?
    window-ignored  both = is_past
Does your window end at the query, or begin at it? What comes first, key or query?
    looks-ahead  steps = j - last
One new query and 6 keys: at which key does the query stand, 0 or 5? Where does yours stand?
    top-left  offset = 0
The triangle is aligned at the last key. Is the other edge of your band, too? Try one new query and
6 keys.
    top-left  is_near = steps => i - j
One edge of your band is aligned at the last key. Is the triangle, too? Try one new query and 6
keys.
    top-left  is_past = steps => i - j
What does True mean here: may look, or is hidden? What does your query 0 see?
    inverted  seen = False
The window holds the query's own key, too. With W = 1, which key is it?
    own-key-excluded  steps = _ - 1
The window holds the query's own key, too. How many keys do your queries see, with W = 2?
    own-key-excluded  is_past = >= => >
Which is the newest key that a query may see: its own, or the one after it?
    one-key-ahead  steps = _ + 1
    one-key-ahead  is_past = 0 => -1
Where does the slice of row 0 begin in yours, if W = 2? What does Python make of a start below 0?
    negative-slice  is_near = steps < torch.where(last - window < -1, window - kv_len, window)
    negative-slice  is_past = j <= torch.where(last < -1, last + kv_len, last) ; is_near = steps < torch.where(last - window < -1, window - kv_len, window)
Take 6 queries and 3 keys. Where does the slice of row 0 end in yours? What does Python make of an
end below 0?
    negative-slice  is_past = j <= torch.where(last < -1, last + kv_len, last)
With W = 2, how many keys lie at or before query 0? How many does yours see, and which one does not
lie there?
    always-full  is_past = j < (last + 1 - window).clamp(min=0) + window
Is any of your entries False? A key must fulfil two conditions at once: which ones, and which sign
joins them?
    or-instead-of-and  both = & => |
Your text is cut into blocks. In a window of 2, may word 2 see word 1? Does your window move with
every query?
    blocks  is_near = last // window == j // window
Which W keys does the last query see: the first ones of the text, or the ones just before it?
    first-keys  is_near = j < window
Your window lies at the end of the text for every query. Where should that of query 0 end?
    one-window-for-all  is_near = j >= kv_len - window
Does `window` say in yours how far back a key may be, or how far it must be?
    far-instead-of-near  is_near = < => >= || < => >
Where does the other edge of your band lie: among the keys before the query, or among those after
it?
    edge-on-the-other-side  is_near = steps <= 1 - window
Is any entry of yours True? If you began with zeros: which line fills them? If you compare: is the far
edge of your band before the query, or after it?
    nothing-allowed  is_near = steps <= -window
How many bits of a number do you need to say yes or no? Which dtype has two values only?
    not-boolean  return = _.to(torch.uint8) || _.to(torch.int8)
A window of 3 holds three keys. Which ones, beside the farthest?
    only-the-far-edge  is_near = steps == window - 1
Take 5 queries and 3 keys. Query 0 stands before the first key: which keys may it see? A row with
nothing to see is the softmax's concern, not the mask's.
    empty-rows-opened  both = _ | ~_.any(-1, keepdim=True)
    empty-rows-opened  last = _.clamp(min=0)
`not`, `and`, `or` and `a < b < c` ask whether a whole tensor is true. What turns, or joins, conditions
entry by entry? It binds tighter than `<`: where do you need parentheses?
    whole-tensor-as-truth-value  both = is_past and is_near
`&` binds tighter than `<`, and minus tighter than both. What does yours join, and with what does it compare
that? Where do you need parentheses?
    parentheses-missing  both = is_past & steps < window || is_near & j <= last
    parentheses-missing  both = j <= last & is_near
""")
sliding_window_mask.rows(PLACES)
sliding_window_mask.rows(ENTRIES)


@sliding_window_mask.mistake(
    "negative-slice",
    "To which places does your loop write in row 0, if W = 2? What does Python make of an index below 0?",
)
def _(q_len, kv_len, window):
    mask = torch.zeros(q_len, kv_len, dtype=torch.bool)
    for i in range(q_len):
        for back in range(window):
            mask[i, i + kv_len - q_len - back] = True
    return mask


@sliding_window_mask.mistake(
    "own-key-excluded",
    "The window holds the query's own key, too. Where does the slice of row 0 end in yours: does it hold "
    "key 0?",
)
def _(q_len, kv_len, window):
    mask = torch.zeros(q_len, kv_len, dtype=torch.bool)
    for i in range(q_len):
        last = i + kv_len - q_len
        mask[i, max(0, last - window) : last] = True
    return mask


sliding_window_mask.drills(
    "or-instead-of-and, looks-ahead, far-instead-of-near, queries-not-a-column, top-left, one-window-for-all, "
    "own-key-excluded 1, window-too-large, top-left 1"
)
