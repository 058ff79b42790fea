"""The task `sliding_window_mask`: each query sees the last few keys only."""

import torch

import attn_lib
from attn_lib.checks.case import Case
from attn_lib.checks.lesson_02.steps import additive, age, ones
from attn_lib.checks.task import task


@task(
    lesson=2,
    points=2,
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
    return attn_lib.sliding_window_mask(q_len, kv_len, window)


@sliding_window_mask.cases
def _(rng):
    def case(about, q_len, kv_len, window):
        return Case(about, (q_len, kv_len, window), grad=False)

    yield case("four words, each sees two", 4, 4, 2)
    yield case("a window of one", 3, 3, 1)
    yield case("a window of three", 6, 6, 3)
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
    yield case("a square drawn at random", a, a, a // 2)
    yield case("one new query, more than a thousand keys", 1, 1100, 3)


def _band(q_len, kv_len, window):
    steps = age(q_len, kv_len)
    return (steps >= 0) & (steps < window)


@sliding_window_mask.mistake(
    "window-too-large", "With a window of 1, how many keys should a query see? Count yours."
)
def _(q_len, kv_len, window):
    return _band(q_len, kv_len, window + 1)


@sliding_window_mask.mistake(
    "window-too-small", "With a window of 1, how many keys should a query see? Count yours."
)
def _(q_len, kv_len, window):
    return _band(q_len, kv_len, window - 1)


_SIGN = "How far ahead may a query look in a causal window? Has your distance a sign?"
_SIGN_AND_PLACE = _SIGN + " And at which of 6 keys does one new query stand?"


@sliding_window_mask.mistake("both-sides", _SIGN)
def _(q_len, kv_len, window):
    return age(q_len, kv_len).abs() < window


@sliding_window_mask.mistake(
    "both-sides", _SIGN + " With W = 1, how many keys are allowed?"
)
def _(q_len, kv_len, window):
    return age(q_len, kv_len).abs() <= window


@sliding_window_mask.mistake("both-sides", _SIGN_AND_PLACE)
def _(q_len, kv_len, window):
    return ones(q_len, kv_len).tril(window - 1).triu(1 - window)


@sliding_window_mask.mistake("both-sides", _SIGN_AND_PLACE)
def _(q_len, kv_len, window):
    return ones(q_len, kv_len).tril(window).triu(-window)


@sliding_window_mask.mistake(
    "centered",
    "Does your window lie around the query, or end at it? May it look ahead?",
)
def _(q_len, kv_len, window):
    return age(q_len, kv_len).abs() <= window // 2


@sliding_window_mask.mistake(
    "centered",
    "You cut the future off, but what is left of the window? With W = 2, how many keys does the "
    "last query see?",
)
def _(q_len, kv_len, window):
    steps = age(q_len, kv_len)
    return (steps >= 0) & (steps <= window // 2)


@sliding_window_mask.mistake(
    "future-allowed", "Is there anything in your condition that forbids a later key?"
)
def _(q_len, kv_len, window):
    return age(q_len, kv_len) < window


@sliding_window_mask.mistake(
    "future-allowed",
    "Is there anything in your condition that forbids a later key? And at which of 6 keys does one "
    "new query stand?",
)
def _(q_len, kv_len, window):
    return ones(q_len, kv_len).triu(1 - window)


@sliding_window_mask.mistake(
    "window-ignored",
    "Where do you use `window`? With four words and W = 2, may the last see the first? If you join "
    "two conditions with `&`, does each stand in parentheses?",
)
def _(q_len, kv_len, window):
    return age(q_len, kv_len) >= 0


@sliding_window_mask.mistake(
    "looks-ahead",
    "Does your window end at the query, or begin at it? What comes first, key or query?",
)
def _(q_len, kv_len, window):
    steps = age(q_len, kv_len)
    return (steps <= 0) & (steps > -window)


@sliding_window_mask.mistake(
    "top-left",
    "One new query and 6 keys: at which key does the query stand, 0 or 5? Where does yours stand?",
)
def _(q_len, kv_len, window):
    return ones(q_len, kv_len).tril() & ones(q_len, kv_len).triu(1 - window)


@sliding_window_mask.mistake(
    "top-left",
    "The triangle is aligned at the last key. Is the other edge of your band, too? Try one new "
    "query and 6 keys.",
)
def _(q_len, kv_len, window):
    return ones(q_len, kv_len).tril(kv_len - q_len) & ones(q_len, kv_len).triu(1 - window)


@sliding_window_mask.mistake(
    "top-left",
    "One edge of your band is aligned at the last key. Is the triangle, too? Try one new query and "
    "6 keys.",
)
def _(q_len, kv_len, window):
    first = kv_len - q_len - window + 1
    return ones(q_len, kv_len).tril() & ones(q_len, kv_len).triu(first)


@sliding_window_mask.mistake(
    "top-left",
    "Two things to count. One new query and 6 keys: at which key does the query stand, 0 or 5? And "
    "with a window of 1, how many keys should a query see?",
)
def _(q_len, kv_len, window):
    return ones(q_len, kv_len).tril().triu(-window)


@sliding_window_mask.mistake(
    "not-boolean",
    "Print the dtype of your result: is it True and False? Then take one new query and 6 keys: at "
    "which key does the query stand, 0 or 5?",
)
def _(q_len, kv_len, window):
    return torch.ones(q_len, kv_len).tril().triu(1 - window)


@sliding_window_mask.mistake(
    "inverted",
    "What does True mean here: may look, or is hidden? What does your query 0 see?",
)
def _(q_len, kv_len, window):
    return ~_band(q_len, kv_len, window)


@sliding_window_mask.mistake(
    "inverted",
    "What does True mean here: may look, or is hidden? And at which of 6 keys does one new query "
    "stand?",
)
def _(q_len, kv_len, window):
    return ~ones(q_len, kv_len).tril().triu(1 - window)


@sliding_window_mask.mistake(
    "own-key-excluded",
    "The window holds the query's own key, too. With W = 1, which key is it?",
)
def _(q_len, kv_len, window):
    steps = age(q_len, kv_len)
    return (steps > 0) & (steps <= window)


@sliding_window_mask.mistake(
    "own-key-excluded",
    "The window holds the query's own key, too. How many keys do your queries see, with W = 2?",
)
def _(q_len, kv_len, window):
    steps = age(q_len, kv_len)
    return (steps > 0) & (steps < window)


@sliding_window_mask.mistake(
    "whole-tensor-as-truth-value",
    "`a < b < c` and `and` ask whether a whole tensor is true. Which sign joins two conditions entry "
    "by entry? It binds tighter than `<`: does each condition stand in parentheses?",
)
def _(q_len, kv_len, window):
    return 0 <= age(q_len, kv_len) < window


@sliding_window_mask.mistake(
    "negative-slice",
    "Where does the slice of row 0 begin in yours, if W = 2? What does Python make of a start below "
    "0?",
)
def _(q_len, kv_len, window):
    mask = ~ones(q_len, kv_len)
    for i in range(q_len):
        p = i + kv_len - q_len
        mask[i, p - window + 1 : p + 1] = True
    return mask


@sliding_window_mask.mistake(
    "negative-slice",
    "Take 6 queries and 3 keys. Where does the slice of row 0 end in yours? What does Python make of "
    "an end below 0?",
)
def _(q_len, kv_len, window):
    mask = ~ones(q_len, kv_len)
    for i in range(q_len):
        p = i + kv_len - q_len
        mask[i, max(0, p - window + 1) : p + 1] = True
    return mask


@sliding_window_mask.mistake(
    "negative-slice",
    "Where does the slice of row 0 begin in yours, if W = 2? What does Python make of a start below "
    "0? And at which of 6 keys does one new query stand?",
)
def _(q_len, kv_len, window):
    mask = ~ones(q_len, kv_len)
    for i in range(q_len):
        mask[i, i - window + 1 : i + 1] = True
    return mask


@sliding_window_mask.mistake(
    "queries-not-a-column",
    "You compare (L,) with (S,), entry by entry. Every query must meet every key: which of the two "
    "index ranges has to stand upright, as a column?",
)
def _(q_len, kv_len, window):
    steps = torch.arange(q_len) + (kv_len - q_len) - torch.arange(kv_len)
    return (steps >= 0) & (steps < window)


@sliding_window_mask.mistake(
    "always-full",
    "With W = 2, how many keys lie at or before query 0? How many does yours see, and which one does "
    "not lie there?",
)
def _(q_len, kv_len, window):
    mask = ~ones(q_len, kv_len)
    for i in range(q_len):
        first = max(0, i + kv_len - q_len - window + 1)
        mask[i, first : first + window] = True
    return mask


@sliding_window_mask.mistake(
    "empty-rows-opened",
    "Take 6 queries and 3 keys. Query 0 stands before the first key: which keys may it see? A row "
    "with nothing to see is the softmax's concern, not the mask's.",
)
def _(q_len, kv_len, window):
    mask = _band(q_len, kv_len, window)
    return mask | ~mask.any(-1, keepdim=True)


@sliding_window_mask.mistake(
    "or-instead-of-and",
    "A key must fulfil both conditions. Which sign joins them, `&` or `|`? Is any of your entries "
    "False?",
)
def _(q_len, kv_len, window):
    steps = age(q_len, kv_len)
    return (steps >= 0) | (steps < window)


_DTYPE = "Print the dtype of your result. Which one do `~mask` and `masked_fill` need?"


@sliding_window_mask.mistake("not-boolean", _DTYPE)
def _(q_len, kv_len, window):
    return _band(q_len, kv_len, window).float()


@sliding_window_mask.mistake("not-boolean", _DTYPE)
def _(q_len, kv_len, window):
    return _band(q_len, kv_len, window).long()


@sliding_window_mask.mistake("not-boolean", _DTYPE)
def _(q_len, kv_len, window):
    return _band(q_len, kv_len, window).int()


@sliding_window_mask.mistake(
    "additive",
    "You return numbers to be added to the scores. What is asked for: numbers, or True and False?",
)
def _(q_len, kv_len, window):
    return additive(_band(q_len, kv_len, window))


@sliding_window_mask.mistake(
    "blocks",
    "Your text is cut into blocks. In a window of 2, may word 2 see word 1? Does your window move "
    "with every query?",
)
def _(q_len, kv_len, window):
    j = torch.arange(kv_len)
    i = torch.arange(q_len)[:, None] + kv_len - q_len
    return (j <= i) & (i // window == j // window)


@sliding_window_mask.mistake(
    "first-keys",
    "Which W keys does the last query see: the first ones of the text, or the ones just before it?",
)
def _(q_len, kv_len, window):
    return (age(q_len, kv_len) >= 0) & (torch.arange(kv_len) < window)


@sliding_window_mask.mistake(
    "one-window-for-all",
    "Your window lies at the end of the text for every query. Where should that of query 0 end?",
)
def _(q_len, kv_len, window):
    return (age(q_len, kv_len) >= 0) & (torch.arange(kv_len) >= kv_len - window)


@sliding_window_mask.mistake(
    "shape-transposed",
    "Each query has a row, each key a column. Which size stands first in your shape?",
)
def _(q_len, kv_len, window):
    return _band(q_len, kv_len, window).T


@sliding_window_mask.mistake(
    "extra-axes",
    "The mask has one axis for queries and one for keys. Who adds B and H, if they are needed?",
)
def _(q_len, kv_len, window):
    return _band(q_len, kv_len, window)[None, None]


@sliding_window_mask.mistake(
    "always-square",
    "Where do you use `kv_len`? How many columns do 2 queries and 7 keys need?",
)
def _(q_len, kv_len, window):
    return _band(q_len, q_len, window)


@sliding_window_mask.mistake(
    "always-square",
    "Where do you use `q_len`? How many rows do 2 queries and 7 keys need?",
)
def _(q_len, kv_len, window):
    return _band(kv_len, kv_len, window)


@sliding_window_mask.mistake(
    "offset-clipped",
    "Take 6 queries and 3 keys. The last query sees the last key. How many keys lie before query 0?",
)
def _(q_len, kv_len, window):
    steps = torch.arange(q_len)[:, None] + max(kv_len - q_len, 0) - torch.arange(kv_len)
    return (steps >= 0) & (steps < window)


@sliding_window_mask.mistake(
    "only-the-far-edge",
    "A window of 3 holds three keys. Which ones, beside the farthest?",
)
def _(q_len, kv_len, window):
    return age(q_len, kv_len) == window - 1


@sliding_window_mask.mistake(
    "list-returned",
    "The rows are right, but it is a list. Which function makes a tensor of it?",
)
def _(q_len, kv_len, window):
    return _band(q_len, kv_len, window).tolist()
