"""The task `causal_mask`: no query may look at what comes after it."""

import torch

import attn_lib
from attn_lib.checks.authoring import Case, task
from attn_lib.tasks.lesson_02.mask_mistakes import ENTRIES, PLACES


@task(
    lesson=2,
    points=2,
    insight="One rule, and a model can be trained on all places of a text at once.",
    library=attn_lib.causal_mask,
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
    seen = True  # what an entry says of a key that may be seen
    i = torch.arange(q_len)[:, None]
    j = torch.arange(kv_len)
    offset = kv_len - q_len
    last = i + offset  # the key at which query i stands
    is_past = j <= last
    mask = is_past == seen
    output = mask
    return output


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
    about = "two new queries, more than four thousand keys"
    yield Case(about, (2, 4200), grad=False, is_slow=True)
    about = "more than a thousand queries, two keys"
    yield Case(about, (1300, 2), grad=False, is_slow=True)


causal_mask.rows("""
2 new queries and 5 keys: the last query is word number 5. At which key does it stand in yours?
    top-left  offset = 0 || kv_len if q_len == 1 else 0
What does True mean here: may look, or is hidden? What does your first row say of its own key, and
of the next one?
    inverted  seen = False
Read your rule aloud: 'query i may see key j if ...'. In row 0 of 3 x 3, how many keys should be
allowed?
    sees-the-future  is_past = <= => >=
May a word look at itself? What does your first word look at?
    own-key-hidden  is_past = <= => < || j < torch.where(last < 0, last + kv_len, last)
How many keys may the first of three words see? How many does yours see?
    one-key-ahead  last = _ + 1
2 new queries, 5 keys: the first 3 keys are the past. May the new words see them?
    old-keys-hidden  is_past = _ & (j >= kv_len - q_len)
    old-keys-hidden  is_past = torch.cat([torch.zeros(q_len, kv_len - q_len), torch.ones(q_len, q_len).tril()], 1) > 0
2 new queries, 5 keys: which key is the newest word's own? May the query before it see that one?
    everything-allowed-with-a-cache  offset = 0 if q_len == kv_len else kv_len
In a 3 x 3 mask, may word 0 look at word 2? Is any entry False?
    everything-allowed  is_past = torch.ones(q_len, kv_len, dtype=torch.bool)
Is any entry of yours True? `tril` keeps what is there: of a tensor of ones, or of zeros?
    nothing-allowed  is_past = torch.zeros(q_len, kv_len, dtype=torch.bool)
2 new queries, 5 keys: on which side of the triangle do the 3 keys of the past stand?
    past-on-the-wrong-side  is_past = torch.cat([torch.ones(q_len, q_len).tril(), torch.ones(q_len, kv_len - q_len)], 1) > 0
Which end of the text does your first row see: its beginning, or its end?
    flipped  mask = _.flip(1) || _.flip(0)
Each query has a row, each key a column. Is the first size of your shape that of the queries?
    shape-transposed  i = q_len => kv_len ; j = kv_len => q_len
May word 2 look back at word 0, or only at itself?
    only-the-own-key  is_past = <= => ==
You cut your mask out of a larger one. Which of its rows belong to the new queries? And how long may
the text get, before yours is too small?
    first-rows-of-a-stored-mask  is_past = torch.ones(kv_len, kv_len).tril().bool()[:q_len]
    first-rows-of-a-stored-mask  is_past = torch.ones(64, 64).tril().bool()[:q_len, :kv_len]
You cut the rows of the queries out of a square of all keys. Take 5 queries and 3 keys: how many
rows has that square?
    last-rows-of-a-square  is_past = torch.ones(kv_len, kv_len).tril().bool()[-q_len:]
Take 5 queries and 3 keys. Where does the slice of row 0 end in yours? What does Python make of an
end below 0?
    negative-slice  last = torch.where(_ < -1, _ + kv_len, _)
How many bits of a number do you need to say yes or no? Which dtype has two values only?
    not-boolean  return = _.to(torch.uint8) || _.to(torch.int8)
Take 5 queries and 3 keys: by how many columns is the past longer than the triangle? Can a tensor
have that many?
    past-of-negative-size  is_past = torch.cat([torch.ones(q_len, kv_len - q_len), torch.ones(q_len, q_len).tril()], 1) > 0
Take 5 queries and 3 keys. Query 0 stands before the first key: which keys may it see? A row with
nothing to see is the softmax's concern, not the mask's.
    empty-rows-opened  is_past = _ | ~_.any(-1, keepdim=True) || _ | (j == 0)
    empty-rows-opened  last = _.clamp(min=0)
`not`, `and`, `or` and `a < b < c` ask whether a whole tensor is true. What turns, or joins, conditions
entry by entry? It binds tighter than `<`: where do you need parentheses?
    whole-tensor-as-truth-value  is_past = not j > last
""")
causal_mask.rows(PLACES)
causal_mask.rows(ENTRIES)


@causal_mask.mistake(
    "shape-transposed",
    "Each query has a row, each key a column. Over which of the two sizes does the loop over rows run?",
)
def _(q_len, kv_len):
    mask = torch.zeros(q_len, kv_len, dtype=torch.bool)
    for i in range(kv_len):
        for j in range(q_len):
            mask[i, j] = j <= i + kv_len - q_len
    return mask


@causal_mask.mistake(
    "shape-transposed",
    "In `mask[a, b]`, a is the row and b the column. Each query has a row: which of your two numbers stands "
    "first?",
)
def _(q_len, kv_len):
    mask = torch.zeros(q_len, kv_len, dtype=torch.bool)
    for i in range(q_len):
        for j in range(i + kv_len - q_len + 1):
            mask[j, i] = True
    return mask


@causal_mask.mistake(
    "top-left",
    "2 new queries and 5 keys: the last query is word number 5. How far does your inner loop run for it?",
)
def _(q_len, kv_len):
    mask = torch.zeros(q_len, kv_len, dtype=torch.bool)
    for i in range(q_len):
        for j in range(i + 1):
            mask[i, j] = True
    return mask


causal_mask.drills(
    "inverted, additive, extra-axes, sees-the-future, queries-not-a-column, top-left, own-key-hidden, "
    "one-key-ahead, offset-backwards, offset-clipped, shape-transposed"
)
