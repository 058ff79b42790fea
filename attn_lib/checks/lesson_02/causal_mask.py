"""The task `causal_mask`: no query may look at what comes after it."""

import torch

import attn_lib
from attn_lib.checks.case import Case
from attn_lib.checks.lesson_02.steps import additive, age, ones
from attn_lib.checks.task import task


@task(
    lesson=2,
    points=2,
    hints=[
        "Draw the mask for 3 queries and 3 keys on paper. Then for 1 query and 3 keys: that query "
        "is the newest word, so how much of the past may it see?",
        "The last query stands at the last key. Query i therefore stands at key i + (S - L). Which "
        "keys j may it see?",
        "Either compare two index ranges, one as a column `[:, None]` and one as a row, or start "
        "from ones and use `tril`. Its second argument moves the diagonal: by how much, and to "
        "which side? At the end, is your dtype `torch.bool`?",
    ],
)
def causal_mask(q_len, kv_len):
    return attn_lib.causal_mask(q_len, kv_len)


@causal_mask.cases
def _(rng):
    def case(about, q_len, kv_len):
        return Case(about, (q_len, kv_len), grad=False)

    yield case("three queries, three keys", 3, 3)
    yield case("one new query, four keys", 1, 4)
    yield case("two new queries, five keys", 2, 5)
    yield case("more queries than keys", 5, 3)
    yield case("one query, one key", 1, 1)
    yield case("two queries, one key", 2, 1)
    yield case("one key more than queries", 4, 5)
    yield case("one query more than keys", 5, 4)
    yield case("a square", 8, 8)
    a, b = torch.randint(9, 30, (2,), generator=rng).tolist()
    yield case("sizes drawn at random", a, a + b)
    yield case("many more queries than keys", a, a // 3)
    yield case("one new query, more than a thousand keys", 1, 1100)


@causal_mask.mistake(
    "top-left",
    "With 1 new query and 4 keys, the query is word number 4. Which row of the full 4 x 4 mask is "
    "its own, the first or the last? Which one do you return?",
)
def _(q_len, kv_len):
    return ones(q_len, kv_len).tril()


@causal_mask.mistake(
    "inverted", "What does True mean here: may look, or is hidden? What is row 0 of yours?"
)
def _(q_len, kv_len):
    return age(q_len, kv_len) < 0


@causal_mask.mistake(
    "inverted",
    "What does True mean here: may look, or is hidden? And with 1 query and 4 keys, at which key "
    "does that query stand?",
)
def _(q_len, kv_len):
    return ones(q_len, kv_len).triu(1)


_FUTURE = (
    "Read your rule aloud: 'query i may see key j if ...'. In row 0 of 3 x 3, how many keys should "
    "be allowed?"
)


@causal_mask.mistake("sees-the-future", _FUTURE)
def _(q_len, kv_len):
    return age(q_len, kv_len) <= 0


@causal_mask.mistake("sees-the-future", _FUTURE)
def _(q_len, kv_len):
    return ones(q_len, kv_len).triu()


@causal_mask.mistake(
    "own-key-hidden", "May a word look at itself? What does your first word look at?"
)
def _(q_len, kv_len):
    return age(q_len, kv_len) > 0


@causal_mask.mistake(
    "own-key-hidden",
    "May a word look at itself? And where does a single new query stand among 4 keys?",
)
def _(q_len, kv_len):
    return ones(q_len, kv_len).tril(-1)


@causal_mask.mistake(
    "one-key-ahead",
    "How many keys may the first of three words see? How many does yours see?",
)
def _(q_len, kv_len):
    return age(q_len, kv_len) >= -1


@causal_mask.mistake(
    "one-key-ahead",
    "How many keys may the first of three words see, when there are three keys? And when there are "
    "four?",
)
def _(q_len, kv_len):
    return ones(q_len, kv_len).tril(1)


@causal_mask.mistake(
    "offset-backwards",
    "With 2 queries and 5 keys, by how many columns must the triangle move, and to which side?",
)
def _(q_len, kv_len):
    return ones(q_len, kv_len).tril(q_len - kv_len)


_DTYPE = "Print the dtype of your result. Which one do `~mask` and `masked_fill` need?"


@causal_mask.mistake("not-boolean", _DTYPE)
def _(q_len, kv_len):
    return torch.ones(q_len, kv_len).tril(kv_len - q_len)


@causal_mask.mistake("not-boolean", _DTYPE)
def _(q_len, kv_len):
    return (age(q_len, kv_len) >= 0).long()


@causal_mask.mistake("not-boolean", _DTYPE)
def _(q_len, kv_len):
    return (age(q_len, kv_len) >= 0).int()


@causal_mask.mistake(
    "not-boolean",
    _DTYPE + " Then look at 1 query and 4 keys: which of the keys may it see?",
)
def _(q_len, kv_len):
    return torch.ones(q_len, kv_len).tril()


@causal_mask.mistake(
    "additive",
    "You return numbers to be added to the scores. What is asked for: numbers, or True and False?",
)
def _(q_len, kv_len):
    return additive(age(q_len, kv_len) >= 0)


@causal_mask.mistake(
    "additive",
    "You return numbers to be added to the scores. What is asked for: numbers, or True and False? "
    "And with 1 query and 4 keys, which keys do you hide?",
)
def _(q_len, kv_len):
    return additive(ones(q_len, kv_len).tril())


@causal_mask.mistake(
    "additive",
    "0 and 1 are numbers. What is asked for is True and False, and which of the two means 'may look'?",
)
def _(q_len, kv_len):
    return torch.ones(q_len, kv_len).triu(kv_len - q_len + 1)


@causal_mask.mistake(
    "shape-transposed",
    "Each query has a row, each key a column. Which size stands first in your shape?",
)
def _(q_len, kv_len):
    return ones(kv_len, q_len).tril(q_len - kv_len)


@causal_mask.mistake(
    "shape-transposed",
    "Each query has a row, each key a column. Which size stands first in your shape?",
)
def _(q_len, kv_len):
    return (age(q_len, kv_len) >= 0).T


@causal_mask.mistake(
    "extra-axes",
    "The mask has one axis for queries and one for keys. Who adds B and H, if they are needed?",
)
def _(q_len, kv_len):
    return (age(q_len, kv_len) >= 0)[None, None]


@causal_mask.mistake(
    "extra-axes",
    "The mask has one axis for queries and one for keys. Who adds B, if it is needed?",
)
def _(q_len, kv_len):
    return (age(q_len, kv_len) >= 0)[None]


@causal_mask.mistake(
    "queries-not-a-column",
    "You compare (L,) with (S,), entry by entry. Every query must meet every key: which of the two "
    "index ranges has to stand upright, as a column?",
)
def _(q_len, kv_len):
    return torch.arange(kv_len) <= torch.arange(q_len) + (kv_len - q_len)


@causal_mask.mistake(
    "always-square",
    "Where do you use `kv_len`? How many columns do 2 queries and 5 keys need?",
)
def _(q_len, kv_len):
    return ones(q_len, q_len).tril()


@causal_mask.mistake(
    "always-square",
    "Where do you use `q_len`? How many rows do 2 queries and 5 keys need?",
)
def _(q_len, kv_len):
    return ones(kv_len, kv_len).tril()


@causal_mask.mistake(
    "offset-clipped",
    "Take 5 queries and 3 keys. The last query sees the last key. How many keys lie before query 0?",
)
def _(q_len, kv_len):
    return ones(q_len, kv_len).tril(max(kv_len - q_len, 0))


@causal_mask.mistake(
    "distance-instead-of-offset",
    "Take 5 queries and 3 keys: is S - L positive or negative there? What does your code use?",
)
def _(q_len, kv_len):
    return ones(q_len, kv_len).tril(abs(kv_len - q_len))


@causal_mask.mistake(
    "old-keys-hidden",
    "2 new queries, 5 keys: the first 3 keys are the past. May the new words see them?",
)
def _(q_len, kv_len):
    return torch.cat([~ones(q_len, kv_len - q_len), ones(q_len, q_len).tril()], 1)


@causal_mask.mistake(
    "old-keys-hidden",
    "2 new queries, 5 keys: the first 3 keys are the past. May the new words see them?",
)
def _(q_len, kv_len):
    return (age(q_len, kv_len) >= 0) & (torch.arange(kv_len) >= kv_len - q_len)


@causal_mask.mistake(
    "everything-allowed-with-a-cache",
    "2 new queries, 5 keys: which key is the newest word's own? May the query before it see that "
    "one?",
)
def _(q_len, kv_len):
    return ones(q_len, kv_len).tril() if q_len == kv_len else ones(q_len, kv_len)


@causal_mask.mistake(
    "top-left",
    "A single new query is right. Now take 2 new queries and 5 keys: at which keys do they stand, and "
    "where does your triangle begin?",
)
def _(q_len, kv_len):
    return ones(q_len, kv_len) if q_len == 1 else ones(q_len, kv_len).tril()


@causal_mask.mistake(
    "negative-slice",
    "Take 5 queries and 3 keys. Where does the slice of row 0 end in yours? What does Python make of "
    "an end below 0?",
)
def _(q_len, kv_len):
    mask = ~ones(q_len, kv_len)
    for i in range(q_len):
        mask[i, : i + 1 + kv_len - q_len] = True
    return mask


@causal_mask.mistake(
    "past-of-negative-size",
    "Take 5 queries and 3 keys: by how many columns is the past longer than the triangle? Can a "
    "tensor have that many?",
)
def _(q_len, kv_len):
    return torch.cat([ones(q_len, kv_len - q_len), ones(q_len, q_len).tril()], 1)


_EMPTY = (
    "Take 5 queries and 3 keys. Query 0 stands before the first key: which keys may it see? A row "
    "with nothing to see is the softmax's concern, not the mask's."
)


@causal_mask.mistake("empty-rows-opened", _EMPTY)
def _(q_len, kv_len):
    mask = age(q_len, kv_len) >= 0
    return mask | ~mask.any(-1, keepdim=True)


@causal_mask.mistake("empty-rows-opened", _EMPTY)
def _(q_len, kv_len):
    return (age(q_len, kv_len) >= 0) | (torch.arange(kv_len) == 0)


@causal_mask.mistake(
    "everything-allowed", "In a 3 x 3 mask, may word 0 look at word 2? Is any entry False?"
)
def _(q_len, kv_len):
    return ones(q_len, kv_len)


@causal_mask.mistake(
    "only-the-own-key", "May word 2 look back at word 0, or only at itself?"
)
def _(q_len, kv_len):
    return age(q_len, kv_len) == 0


@causal_mask.mistake(
    "list-returned",
    "The rows are right, but it is a list. Which function makes a tensor of it?",
)
def _(q_len, kv_len):
    return (age(q_len, kv_len) >= 0).tolist()


@causal_mask.mistake(
    "first-rows-of-a-stored-mask",
    "You cut your mask out of a larger one. Which of its rows belong to the new queries? And how "
    "long may the text get, before yours is too small?",
)
def _(q_len, kv_len):
    return ones(64, 64).tril()[:q_len, :kv_len]
