"""The task `alibi_bias`: the farther a key, the less it counts, and each head has its own measure."""

import torch

import attn_lib
from attn_lib.checks.authoring import Case, task
from attn_lib.tasks.lesson_08.runs import written_into


@task(
    lesson=8,
    points=2,
    insight="Nothing is learned here: the distance itself is the penalty.",
    library=attn_lib.alibi_bias,
    hints=[
        "Two tables make it: slopes, one for each head, and distances, one for each query and key. Write "
        "down both by hand, for two heads and three tokens.",
        "The last query stands at the last key. At which position does query 0 stand, if there are fewer "
        "queries than keys? Then: positions of keys along one axis, of queries along the other, subtract.",
        "From one head to the next the slope is multiplied by one and the same factor, and after H of them 1 has become 1/256. "
        "Which power of 2 is the factor? Slopes (H, 1, 1) meet distances (L, S). A bias is added to the scores and should make "
        "far keys smaller: which sign has it?",
    ],
)
def alibi_bias(num_heads, q_len, kv_len):
    i = torch.arange(1, num_heads + 1)
    exponents = 8 * i / num_heads
    slopes = 2.0**-exponents
    offset = kv_len - q_len
    queries = torch.arange(q_len) + offset
    keys = torch.arange(kv_len)
    difference = keys - queries[:, None]  # (L, S)
    distance = difference.abs()
    penalty = slopes[:, None, None] * distance
    bias = -penalty
    return bias


@alibi_bias.cases
def _(rng):
    def case(about, *sizes):
        return Case(about, sizes, written_into, grad=False)

    yield case("two heads, one new query, three keys", 2, 1, 3)
    yield case("two heads, three tokens", 2, 3, 3)
    yield case("one head, four tokens", 1, 4, 4)
    yield case("one head, one new query", 1, 1, 4)
    yield case("two heads, two new queries", 2, 2, 5)
    yield case("two heads, more queries than keys", 2, 4, 2)
    # (4, 1, 13) and (4, 11, 3) are one text if nothing stands between the numbers.
    yield case("four heads, one new query", 4, 1, 13)
    yield case("eight heads", 8, 3, 6)
    yield case("H = L = S", 4, 4, 4)
    yield case("sixteen heads", 16, 5, 7)
    yield case("more queries than keys", 4, 11, 3)
    yield case("one query, one key", 4, 1, 1)
    yield case("one new query, four hundred keys", 16, 1, 407)
    a, b = torch.randint(9, 20, (2,), generator=rng).tolist()
    yield case("sizes drawn at random", 32, a, a + b)
    yield case("a square drawn at random", 2, b, b)
    yield case("three hundred queries", 2, 300, 300)
    yield case("one new query, more keys than before", 2, 1, 5)
    yield case("and fewer again", 2, 1, 3)
    yield case("as many numbers in another shape", 2, 3, 1)
    # Beyond 256, bfloat16 no longer holds every whole number; beyond 2048, float16.
    yield case("one new query, two thousand keys", 1, 1, 2051)
    # The square of a distance has more digits there than float32.
    yield case("one new query, five thousand keys", 1, 1, 5000)
    yield case("five thousand queries, two keys", 1, 5000, 2)
    yield case("512 heads", 512, 2, 3)
    yield case("two heads, three new queries", 2, 3, 4)


alibi_bias.rows("""
For 8 heads the slopes are 1/2, 1/4, 1/8, ... Which is your first one? What is the power of two for head 0?
    heads-from-zero  i = torch.arange(num_heads)
For 8 heads the slopes are 1/2, 1/4, 1/8, ... Which head is the most short-sighted, and which one is it
in yours?
    slopes-reversed  slopes = _.flip(0)
For 8 heads the slopes are 1/2, 1/4, 1/8, ... For 2 heads they are 1/16 and 1/256. What are yours? Where
does the number of heads come in?
    slopes-without-the-number-of-heads  exponents = i || 8 * i
    slopes-without-the-number-of-heads  exponents = torch.linspace(1, 8, num_heads)
For 8 heads the exponents are 1, 2, 3, ... up to 8. To which one do yours go?
    exponents-too-small  exponents = i / num_heads
In `2 ** -8 * i / H`, what does Python take first: the power or the product? Print your slopes.
    power-before-product  slopes = 2.0 ** -8 * i / num_heads
Print your slopes: are they all different? Which of your numbers depends on the head?
    one-slope-for-all  exponents = 8 / num_heads * torch.ones(num_heads)
    one-slope-for-all  exponents = 8 * torch.ones(num_heads)
    one-slope-for-all  exponents = 4 * torch.ones(num_heads) || torch.ones(num_heads)
Print your slopes for 2 heads and for 16. By which factor do they fall, and what is the first one? (`//` makes 0 of 2/8, and of 8/16.)
    exponents-floored  exponents = i / (num_heads // 8) || 8 * i // num_heads
    exponents-floored  exponents = -(-8 * i // num_heads) || 8 // num_heads * i || max(8 // num_heads, 1) * i
Each head halves the slope of the one before, if there are 8. Which number do you raise to a power?
    another-base  slopes = torch.exp(-exponents)
A slope of 2^(-8i/H) is smaller than 1. What are yours?
    slopes-above-one  slopes = 2.0 ** exponents
Do the slopes fall by the same factor from head to head, or by the same amount?
    slopes-on-a-line  slopes = 1.0 / i || 2.0 ** (-8 / num_heads) * i || i / num_heads
    slopes-on-a-line  slopes = torch.linspace(2.0 ** (-8 / num_heads), 2.0**-8, num_heads) || 1 - i / (num_heads + 1)
    slopes-on-a-line  slopes = torch.linspace(0.5, 2.0**-8, num_heads) || torch.linspace(1, 2.0**-8, num_heads)
Where does the slope of a head stand in your code?
    slopes-ignored  slopes = torch.ones(num_heads)
A key after the query is as far away as one before it, here. What does a later key get from you: a
penalty, or a bonus?
    signed-distance  distance = -difference || difference
Only later keys are far away in yours, or only earlier ones. How far is the key on the other side?
    one-side-only  distance = (-difference).clamp_min(0) || difference.clamp_min(0)
Should a far key get more of the attention, or less? You return what is *added* to its score: which sign must
that have?
    positive-bias  bias = penalty
With one new query and 4 keys: at which key does the query stand, and which one is nearest to it?
    top-left  offset = 0
    top-left  distance = (keys - keys[:, None]).abs()[:q_len]
Take 4 queries and 2 keys. How many rows has the table that you cut yours from?
    cut-from-too-few-rows  distance = (keys - keys[:, None]).abs()[-q_len:]
With 2 queries and 5 keys, by how much do the queries move, and to which side?
    offset-backwards  offset = q_len - kv_len
With 4 queries and 2 keys, where does query 0 stand? May that be before key 0?
    offset-clipped  offset = max(_, 0)
    distance-instead-of-offset  offset = abs(_)
How far is a token from itself? What is on the diagonal of your table?
    off-by-one  distance = _ + 1
    off-by-one  offset = _ - 1 || _ + 1
    off-by-one  distance = (_ - 1).clamp_min(0)
Each step costs the same. What does the second step cost in yours?
    not-linear  distance = _.square() || _.float().sqrt()
How far is the first token from the last? Does that depend on the length in yours, or on D? Nothing is
said of a division here.
    divided  penalty = _ / kv_len || _ / math.sqrt(num_heads) || _ / math.sqrt(kv_len)
Do all queries have the same row in yours? The nearest key is another one for each.
    by-the-key-alone  distance = keys.expand(q_len, -1)
    by-the-key-alone  distance = (kv_len - 1 - keys).expand(q_len, -1)
    by-the-key-alone  bias = slopes[:, None, None] * keys.expand(q_len, -1)
    by-the-key-alone  difference = keys - queries.flip(0)[:, None]
You forbid later keys. Is that asked for here, and who does it for a model that needs it?
    causal-mask-added  bias = (-penalty).masked_fill(difference > 0, -torch.inf)
Three axes: heads, queries, keys, in this order. In which order are yours, and with which of them do your slopes line up?
    slopes-on-the-wrong-axis  penalty = slopes * distance || slopes[:, None] * distance
    slopes-on-the-wrong-axis  penalty = slopes * distance[..., None]
    slopes-on-the-wrong-axis  penalty = slopes[:, None] * distance[:, None]
Which axis stands first: the heads, or the batch? Is an axis of size 1 asked for?
    extra-axis  bias = (-penalty)[None]
Row i of each head belongs to query i. To whom does it belong in yours?
    transposed  bias = (-penalty).mT
    transposed  difference = _.T
Every query must meet every key: which of the two position lists has to stand upright, as a column?
    queries-not-a-column  difference = keys - queries
Where do you use `kv_len`, and where `q_len`? What shape should the result have?
    always-square  keys = torch.arange(q_len) ; offset = 0
    always-square  queries = torch.arange(kv_len)
Print the dtype of your result. Which dtype do scores have by default?
    dtype-changed  bias = (-penalty).double() || (-penalty).long()
Near 2050, which whole numbers does float16 hold, and which bfloat16?
    half-precision  slopes = _.bfloat16() ; distance = _.bfloat16() ; bias = (-penalty).float()
Is it asked to apply the bias? It is to be added to scores that somebody else has.
    softmax-applied  bias = (-penalty).softmax(-1) || (-penalty).exp()
""")

alibi_bias.drills(
    "positive-bias, another-base, heads-from-zero, slopes-without-the-number-of-heads, queries-not-a-column, "
    "slopes-on-the-wrong-axis 1, top-left, signed-distance, exponents-floored 1, offset-backwards, offset-clipped"
)
