"""The task `t5_bucket`: near distances one by one, far ones together."""

import math

import torch

import attn_lib
from attn_lib.checks.authoring import Case, task
from attn_lib.tasks.lesson_08.runs import any_int


@task(
    lesson=8,
    points=2,
    insight="Near distances have a number each, far ones share: a few numbers a head, for any length.",
    library=attn_lib.t5_bucket,
    hints=[
        "Three questions for each number: which side is the key on? Is it near? If it is far, how far? "
        "Answer each with a line of its own, for the whole tensor.",
        "Each side has num_buckets / 2 buckets. The near half of these counts 0, 1, 2, ...; the far half "
        "shares out the way from there to max_distance. `torch.where` puts near and far together.",
        "For a far distance: how many times `exact` is it, and what is the logarithm of that, as a share of "
        "the logarithm of the whole way? Times the number of far buckets, rounded down. And beyond the end?",
    ],
)
def t5_bucket(relative_position, num_buckets, max_distance):
    half = num_buckets // 2  # for each side
    exact = half // 2
    ahead = relative_position > 0
    distance = relative_position.abs()
    near = distance < exact
    ratio = distance.clamp(min=1) / exact
    whole = math.log(max_distance / exact)
    share = ratio.log() / whole
    steps = share * (half - exact)
    far = exact + steps.floor().long()
    capped = far.clamp(max=half - 1)
    bucket = torch.where(near, distance, capped)
    start = half * ahead
    result = bucket + start
    return result


def of_any_dtype(buckets, *_):
    return buckets.long()


@t5_bucket.cases
def _(rng):
    def case(about, positions, num_buckets, max_distance):
        # Where a border falls on a whole number, rounding decides: such distances are left out.
        exact, sizes = num_buckets // 4, positions.abs().clamp(min=1)
        way = math.log(max_distance / exact)
        steps = (sizes.double() / exact).log() / way * exact
        # Logarithms in float32 are off by less than 2e-6, also a difference of two.
        on_border = (steps - steps.round()).abs() < 2e-6 * exact / way
        on_border &= (sizes > exact) & (sizes < max_distance)
        if positions.ndim == 1:
            positions = positions[~on_border]
        else:
            assert not on_border.any()
        return Case(
            about, (positions, num_buckets, max_distance), grad=False, finish=any_int
        )

    both = torch.tensor([-9, -6, -1, 0, 1, 6, 7])
    yield case("near keys and far ones", both, 8, 20)
    yield case("near keys", torch.tensor([-2, -1, 0, 1, 2]), 8, 20)
    yield case("near and far keys", torch.tensor([-9, -5, -1, 0, 1, 6, 7]), 8, 20)
    yield case("keys before the query", torch.arange(-12, 1), 12, 30)
    yield case("keys after the query", torch.arange(13), 12, 30)
    yield case(
        "keys beyond max_distance",
        torch.tensor([-(10**7), -500, -31, 31, 500, 3 * 2**31]),
        12,
        30,
    )
    yield case(
        "all keys of four queries", torch.arange(4) - torch.arange(4)[:, None], 8, 20
    )
    yield case("as T5 has it: 32 buckets up to 128", torch.arange(-300, 301), 32, 128)
    yield case("all distances, 20 buckets", torch.arange(-70, 71), 20, 50)
    yield case("more buckets than near distances", torch.arange(-90, 91), 44, 50)
    # (4, 450) and (44, 50) are one text if nothing stands between the two.
    yield case("four buckets", torch.arange(-15, 16), 4, 450)
    yield case("32 buckets, a max_distance of 10", torch.arange(-20, 21), 32, 10)
    # Here some distances are just below a border, by a ten-thousandth of a bucket.
    yield case("a long way", torch.arange(-3000, 3001, 7), 136, 2200)
    far = torch.tensor([-900_000, -300_000, -70_000, 5, 66_000, 500_000])
    yield case("distances that no float16 holds", far, 32, 1_000_000)
    yield case("more buckets than an int8 holds", torch.arange(-900, 901, 4), 160, 700)
    yield case("more buckets than a uint8 holds", torch.arange(-3600, 3601, 16), 512, 3000)
    few = torch.tensor([-70_000, -20_000, -9999, -1, 0, 9999, 20_000, 70_000])
    yield case("more buckets than an int16 holds", few, 40_000, 60_000)
    yield case("a max_distance just beyond the near keys", torch.arange(-12, 13), 32, 9)
    none = torch.zeros(
        2, 0, dtype=torch.int64
    )  # lists of nothing have no dtype: only the shape counts
    yield Case("no distances at all", (none, 8, 20), grad=False, finish=of_any_dtype)
    yield Case("a number (0-d)", (torch.tensor(-7), 12, 30), grad=False, finish=any_int)
    both = torch.arange(9) - torch.arange(9)[:, None]
    yield case("seven queries, nine keys", both[2:], 12, 30)
    yield case("not contiguous", both[2:].T, 20, 50)
    yield case("for each sample and head", both.expand(2, 3, 9, 9)[..., :4], 8, 20)
    drawn = torch.randint(-150, 150, (60,), generator=rng)
    size = 4 * int(torch.randint(3, 12, (), generator=rng))
    yield case("drawn at random", drawn, size, int(drawn.abs().max()) - 10)


t5_bucket.rows("""
`relative_position` is key minus query. Is a key with a positive number before the query or after it, and
which side has the upper half of the buckets?
    sides-swapped  ahead = relative_position < 0 || relative_position <= 0
    sides-swapped  start = half * ~ahead
Distance 0 is the token itself. Does it belong to the keys after the query? Only those have the upper
half of the buckets.
    zero-on-the-wrong-side  ahead = relative_position >= 0
Can a key one step back and one a step ahead end in the same bucket? What are the two halves of the
buckets for?
    sides-not-told-apart  start = 0 * ahead
    sides-not-told-apart  half = num_buckets ; start = 0 * ahead
Which buckets do keys after the query get from you? T5's decoder has none for them; here they have the
upper half.
    for-a-decoder  half = num_buckets ; distance = (-relative_position).clamp(min=0) ; start = 0 * ahead
    for-a-decoder  half = num_buckets ; distance = relative_position.clamp(min=0) ; start = 0 * ahead
    for-a-decoder  distance = (-relative_position).clamp(min=0)
    for-a-decoder  distance = (-relative_position).clamp(min=0) ; start = 0 * ahead
Each side has half of the buckets. How many does yours use for one side, and where does the other
side begin?
    a-side-too-large  half = num_buckets ; start = num_buckets // 2 * ahead
    a-side-too-large  half = num_buckets
Is a distance ever negative? Which keys are near in yours: those of small distance, or all that come
before?
    no-absolute-value  distance = relative_position || -relative_position
    no-absolute-value  near = relative_position < exact
Of which numbers do you take the logarithm twice? Both must have the same base.
    another-logarithm  share = torch.log2(ratio) / whole || torch.log10(ratio) / whole
    another-logarithm  whole = math.log2(max_distance / exact)
    another-logarithm  whole = math.log10(max_distance / exact)
What is your share at distance max_distance? It should be 1 there. What do you divide the logarithm by?
    share-not-divided  whole = 1.0 || math.log(max_distance) || math.log(half / exact)
    share-not-divided  whole = math.log(max_distance - exact)
Where the near distances end, the share should be 0. What is the logarithm of your number there?
    share-does-not-begin-at-zero  ratio = distance.clamp(min=1) || (distance + 1) / exact
    share-does-not-begin-at-zero  ratio = (distance - exact).clamp(min=0) + 1.0
Far buckets grow: each is wider than the one before. Are yours all of one width?
    no-logarithm  share = (distance - exact) / (max_distance - exact)
    no-logarithm  share = ratio / (max_distance / exact)
A share lies between 0 and 1. What does `//` make of it, and what does `.long()`, before you multiply?
    share-rounded-first  share = _.floor() || ratio.log().floor() / whole
What is 7 // 2? Do distances 6 and 7 have the same share in yours?
    ratio-rounded  ratio = distance.clamp(min=1) // exact
Is a key in the middle of a far bucket rounded down, or to the next bucket?
    rounded-up  far = floor => round || floor => ceil
How many buckets are left for the far distances of one side?
    as-many-far-buckets-as-a-side-has  steps = share * half || share * num_buckets
    far-buckets-too-few  steps = share * (half - exact - 1)
Which is the first far bucket? The near ones have the numbers 0 to exact - 1.
    far-buckets-from-another-number  far = steps.floor().long() || _ + 1
    far-buckets-from-another-number  far = half + steps.floor().long()
What is the largest bucket of one side? In which one does a key far beyond max_distance end?
    not-capped  capped = far
A distance of just max_distance: is it capped, too? What are its share and its bucket?
    capped-behind-the-end  capped = torch.where(distance > max_distance, half - 1, far + (distance == max_distance) * (half - far))
    capped-too-late  capped = far.clamp(max=half) || far.clamp(max=num_buckets - 1)
    capped-too-late  capped = far ; result = (_).clamp(max=num_buckets - 1)
    capped-too-early  capped = far.clamp(max=half - 2)
What do you limit, the distance or its bucket? If max_distance is small, is one step less in the last bucket?
    distance-capped  distance = _.clamp(max=max_distance - 1) ; capped = far
Which bucket does a key after the query get that is far away? Which of the two do you do first: add its half, or see to
the largest bucket?
    capped-after-the-side  capped = far ; result = (_).clamp(max=half - 1)
Which distances have a bucket of their own? How many of them are there on one side?
    too-many-near-ones  near = distance < half
    too-few-near-ones  exact = half // 2 - 1 if half > 2 else 1
    too-few-near-ones  exact = half // 4 if half > 3 else 1
    too-few-near-ones  bucket = capped
Which buckets do distances get that are far away? Do all near ones stay as they are, and do you ever ask
for the logarithm?
    near-and-far-swapped  bucket = torch.where(near, capped, distance)
    never-far  bucket = distance.clamp(max=half - 1)
Does your result change with `max_distance`, and with `num_buckets`?
    max-distance-ignored  whole = max_distance => 128
    num-buckets-ignored  half = 16
Do the keys after the query begin at the middle number, or does every other bucket belong to them?
    sides-in-turns  result = 2 * bucket + ahead || bucket * torch.where(ahead, 1, -1) + half
    sides-in-turns  result = bucket * torch.where(ahead, 1, -1)
Does a near key after the query get a bucket of the upper half, too?
    near-ones-without-a-side  result = torch.where(near, distance, capped + start)
Which bucket does the nearest later key get: the first of its half, or one before or after it?
    upper-half-moved  start = (half - 1) * ahead || (half + 1) * ahead || exact * ahead
`if` asks whether a whole tensor is true. What chooses between two tensors, number by number?
    whole-tensor-as-truth-value  bucket = distance if near else capped
`math.log` takes one number. What takes the logarithm of every number in a tensor?
    math-on-a-tensor  share = math.log(ratio) / whole
A bucket is a number of a row in a table. Can a row have the number 2.0?
    not-whole-numbers  result = _.float() || _.double()
    not-whole-numbers  far = exact + steps || exact + steps.floor()
""")

t5_bucket.drills(
    "sides-swapped, ratio-rounded, far-buckets-from-another-number, too-many-near-ones, no-absolute-value 2, "
    "as-many-far-buckets-as-a-side-has, rounded-up, zero-on-the-wrong-side, share-not-divided 1, capped-too-late"
)
