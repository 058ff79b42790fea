"""The task `sinusoidal_positions`: a code for each position, of waves that are slower and slower."""

import torch

import attn_lib
from attn_lib.checks.authoring import Case, task
from attn_lib.tasks.lesson_08.runs import after_a_wider_one, last_rows


@task(
    lesson=8,
    points=2,
    insight="A step of k turns each pair by a fixed angle: a linear map, the same at every place.",
    library=attn_lib.sinusoidal_positions,
    hints=[
        "Each pair of columns has one speed, and there are E/2 pairs. Write down the speeds of all pairs "
        "for E = 4: two numbers.",
        "Positions as a column (L, 1), times speeds as a row (E/2,): that gives all angles, (L, E/2). "
        "Where do their sines go, and where their cosines?",
        "The even columns of a table, and the odd ones: which slices with a step are these? Before you "
        "fill them, check the angles: position 0 has zeros only, and column 0 counts 0, 1, 2, ...",
    ],
)
def sinusoidal_positions(length, d_model):
    positions = torch.arange(length, dtype=torch.float64)
    i = torch.arange(d_model // 2, dtype=torch.float64)  # the number of each pair
    exponents = 2 * i / d_model
    base = 10000.0
    frequencies = base**-exponents
    angles = positions[:, None] * frequencies  # (L, E/2)
    sines = angles.sin()
    cosines = angles.cos()
    pairs = torch.stack([sines, cosines], -1)  # (L, E/2, 2)
    table = pairs.flatten(1)
    output = table.float()
    return output


@sinusoidal_positions.cases
def _(rng):
    def case(about, length, d_model, **kwargs):
        return Case(about, (length, d_model), grad=False, **kwargs)

    yield case("two positions, two pairs", 2, 4)
    yield case("three positions, one pair", 3, 2)
    yield case("three positions, two pairs", 3, 4)
    yield case("three positions, three pairs", 3, 6)
    yield case("five positions, four pairs", 5, 8)
    yield case("L = E", 6, 6)
    # (1, 14) and (11, 4) are one text if nothing stands between the two.
    yield case("position 0 alone", 1, 14)
    yield case("no positions at all", 0, 4)
    yield case("more positions than columns", 11, 4)
    yield case("a width that is no power of two", 7, 52)
    yield case("a wide table", 5, 128)
    # What is kept by L · E, or by L + E, is that of three positions and two pairs.
    yield case("as many numbers in another shape", 2, 6)
    yield case("five positions, one pair", 5, 2)
    # 1 / (2 / 98) is a little more than 49 in float64.
    yield case("49 pairs", 2, 98)
    length, pairs = torch.randint(12, 40, (2,), generator=rng).tolist()
    yield case("sizes drawn at random", length, 2 * pairs)
    # An angle near 2100 has an error of 1e-4 in float32, and of 1 in float16.
    yield case("two thousand positions", 2100, 8, tolerance=1e-3)
    about, long = "more positions than tables have", dict(tolerance=2e-3, is_slow=True)
    yield case(about, 5300, 2, **long)
    many = dict(run=last_rows, tolerance=2e-2, is_slow=True)
    yield case("more positions than 17 bits count", 131_100, 2, **many)
    # Speeds of six decimals, and powers of a factor of six decimals, show there.
    both = dict(run=last_rows, tolerance=1e-3, is_slow=True)
    yield case("a table that is long and wide", 4000, 192, **both)
    # A power of 10,000 with the number of a pair is too large for float64 there.
    yield case("more than two thousand columns", 5, 2052)
    yield case(
        "as many positions as before, half of the columns", 6, 4, run=after_a_wider_one
    )


sinusoidal_positions.rows("""
Columns 0 and 1 are the sine and the cosine of one and the same angle. Does each column have a speed
of its own in yours?
    per-column-frequency  cosines = torch.cos(positions[:, None] * base ** -((2 * i + 1) / d_model))
    per-column-frequency  exponents = 2 * _ ; cosines = torch.cos(positions[:, None] * base ** -((4 * i + 2) / d_model))
    per-column-frequency  cosines = torch.cos(positions[:, None] * base ** -((2 * i + 2) / d_model))
With E = 4 there are two pairs, with the exponents 0 and 1/2. Which exponents does your code use? Is your
i the number of a pair?
    exponent-halved  exponents = i / d_model
With E = 4 there are two pairs, with the exponents 0 and 1/2. Which exponents does your code use? Does
your i go in steps of one or of two?
    exponent-doubled  exponents = 2 * _
Print your exponents. In which order does Python compute `a / b // c`, and what does `//` make of
numbers below 1? Do all your columns turn at one speed?
    one-speed-for-all  exponents = 0 * i
    one-speed-for-all  angles = positions[:, None] + 0 * frequencies
Print your factor. In which order does Python compute `a / b // c`, and what does `//` make of -2.3?
    rounded-to-whole-numbers  frequencies = torch.exp(2 * i * (-math.log(base) / d_model // 2))
    rounded-to-whole-numbers  frequencies = torch.exp(2 * i * (-math.log(base) // d_model))
From pair to pair, the speed falls by one factor. For E = 6 it is 21.54: is it in yours?
    rounded-to-whole-numbers  frequencies = float(round(base ** (2 / d_model))) ** -i
    rounded-to-whole-numbers  frequencies = float(int(base ** (2 / d_model))) ** -i
What does Python take first in `10000 ** 2 * i / d_model`: the power or the product?
    power-before-product  frequencies = 1 / (base ** 2 * i / d_model)
    power-before-product  frequencies = base ** -2 * i / d_model
What is the angle of pair 0 at position 0 in yours? Which number is raised to a power: 10000, or
position / 10000?
    quotient-to-the-power  angles = (positions[:, None] / base) ** exponents
Does the code of position 3 change when the text gets longer? Which size do you divide by?
    divided-by-the-length  exponents = 2 * i / len(positions)
Does the code of position 3 change when the text gets longer? By what do you divide positions?
    positions-divided-by-the-length  positions = _ / length || _ / max(length - 1, 1)
What is the sine of the first position, and which number should the first position have?
    from-one  positions = _ + 1
The first pair turns by 1 for each step. What is 10000 to the power 0, and which power has your
first pair?
    pairs-from-one  i = _ + 1
Is the last exponent 1 in yours? For E = 4 it should be 1/2. By what do you divide?
    last-exponent-one  exponents = i / max(d_model // 2 - 1, 1) || i / (d_model // 2 - 1)
    last-exponent-one  exponents = 2 * i / max(d_model - 1, 1)
How large is the step from one number to the next in float16, near 2100? And in bfloat16?
    half-precision  positions = _.half() ; i = _.half()
    half-precision  positions = _.bfloat16()
    half-precision  positions = _.bfloat16() ; i = _.bfloat16()
    half-precision  angles = _.half() || _.bfloat16()
In which column is the cosine of the first angle: right after its sine, or after all the sines?
    concatenated  table = pairs.mT.flatten(1)
A reshape moves no number. With sines and cosines in one tensor, which axis must come last, so that each
sine has its cosine beside it?
    stacked-along-the-wrong-axis  table = torch.stack([sines, cosines]).reshape(length, d_model)
Pair i has the columns 2i and 2i + 1. Which ones do you fill for i = 1?
    pairs-overlap  table = torch.cat([sines, cosines[:, -1:], 0 * sines[:, 1:]], 1)
Each position turns a pair by as much as the one before it did. By how much do yours turn from 1 to 2, and from 2 to 3?
    positions-squared  positions = _ ** 2 || _ ** 0.5 || (1 + _).log()
Are all your rows alike? Each position has a row of its own.
    one-row-for-all  positions = torch.full_like(_, length)
    one-row-for-all  positions = torch.full_like(_, length - 1)
What is the sine of 0? Which columns are 0 at position 0: the even or the odd ones?
    sine-and-cosine-swapped  pairs = torch.stack([cosines, sines], -1)
Print your table at position 0. A sine is 0 there: which columns should be 1, and of which function?
    one-function-only  cosines = angles.sin()
    one-function-only  sines = angles.cos()
What decides between sine and cosine: whether the column is even, or whether the position is?
    by-the-parity-of-the-position  pairs = torch.where((positions % 2 == 0)[:, None, None], sines[..., None], cosines[..., None]).expand(-1, -1, 2)
Should the last pair turn faster than the first, or slower? Do you multiply by the power of 10000, or
divide?
    faster-and-faster  frequencies = base ** exponents.float() ; angles = positions.float()[:, None] * frequencies
The first pair turns fastest, the last slowest. In which order are your speeds?
    speeds-reversed  frequencies = _.flip(0)
Each pair turns slower than the one before, always by the same factor. From pair to pair, do your speeds fall by a
factor, or by an amount?
    speeds-on-a-line  frequencies = 1 / (1 + i) || 1 - exponents || torch.linspace(1, 1e-4, len(i))
    speeds-on-a-line  frequencies = 1 / (1 + base * exponents) || (1 - i / len(i)) || 1 + i
    speeds-on-a-line  frequencies = torch.linspace(1, 1 / base, len(i)) || 1 - (1 - 1 / base) * exponents
With an odd number of pairs, which speed is the one in the middle? Divide each by that before it: is it one factor?
    second-half-from-the-first  frequencies = torch.cat([_[: (len(i) + 1) // 2], _[: (len(i) + 1) // 2] / 100])[: len(i)]
The speeds go from 1 down towards 1/10000. Which number do you raise to a power?
    another-base  base = 1000.0 || 100000.0
exp(x · log a) is a to the power x. Of which base must that logarithm be?
    another-logarithm  frequencies = torch.exp(-exponents * math.log10(base))
    another-logarithm  frequencies = torch.exp(-exponents * math.log2(base))
    another-logarithm  frequencies = 2.0 ** (-exponents * math.log(base))
`sin` takes radians, and the formula gives it position times speed. Which factor stands beside that
in yours?
    turns-or-degrees  angles = 2 * math.pi * _ || torch.deg2rad(_)
Each position has a row, each column a pair's sine or cosine. Which size stands first in your shape?
    transposed  table = _.T
    sizes-swapped  positions = torch.arange(d_model, dtype=torch.float64) ; i = torch.arange(length // 2, dtype=torch.float64)
You need an angle for each position and pair, (L, E/2). Which of the two must stand upright, as a column?
    positions-not-a-column  angles = positions * frequencies
You return a list. Which function makes a tensor of it?
    list-returned  output = table.tolist()
Two axes are asked for, (L, E). Who adds the axis of the batch, if it is needed?
    extra-axis  output = _[None] || _[:, None]
How many columns should the table have, and how many has yours? What became of the other half?
    half-of-the-columns  table = sines || pairs
Print the dtype of your result. Which dtype do embeddings have by default?
    dtype-changed  output = table || table.half()
Your table has columns of zeros. Which columns does each of your two assignments fill?
    overwritten  pairs = torch.stack([cosines, 0 * sines], -1)
    overwritten  pairs = torch.stack([sines, 0 * cosines], -1)
    overwritten  pairs = torch.stack([0 * cosines, cosines], -1)
The cosine of 0 is 1. By how much must you shift a sine to get that, and to which side?
    sine-shifted-back  cosines = (angles - math.pi / 2).sin()
""")

sinusoidal_positions.drills(
    "sine-and-cosine-swapped, positions-not-a-column, from-one, turns-or-degrees, positions-divided-by-the-length, "
    "exponent-halved, dtype-changed, last-exponent-one 1"
)
