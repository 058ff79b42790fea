"""The task `apply_rope`: turn each pair of channels by an angle that grows with the position."""

import torch

import attn_lib
from attn_lib.checks.authoring import Case, task
from attn_lib.tasks.lesson_08.runs import of_two_chunks


@task(
    lesson=8,
    points=3,
    insight="Turned by position, the product of a query and a key knows only how far apart they stand.",
    library=attn_lib.apply_rope,
    hints=[
        "First the angles alone, (L, D/2): one for each token and pair. Write down, for D = 4 and positions "
        "3 and 5, these four numbers. Which of the sizes of x do they not depend on?",
        "The channels of a pair are c and c + D/2. So the first members of all pairs are the first half of "
        "the channels, `x[..., : D // 2]`. What are the second members, and in which order?",
        "Take the pair (1, 0) and turn it by a quarter: it becomes (0, 1). Turn that one: which number "
        "gets the minus? Both new numbers are made of both old ones. With half precision: in which dtype "
        "are positions and angles, and the result?",
    ],
)
def apply_rope(x, positions, base=10000.0):
    D = x.shape[-1]
    half = D // 2
    c = torch.arange(half, dtype=torch.float64)  # the number of each pair
    exponents = 2 * c / D
    frequencies = base**-exponents
    where = positions.double()
    angles = where[:, None] * frequencies  # (L, D/2)
    full = torch.cat([angles, angles], -1)  # one for each channel
    cos = full.cos()
    sin = full.sin()
    source = x
    first = source[..., :half]
    second = source[..., half:]
    partner = torch.cat([-second, first], -1)  # what is added to each channel
    turned = source * cos + partner * sin
    placed = turned
    output = placed.to(x.dtype)
    return output


@apply_rope.cases
def _(rng):
    def case(about, sizes, positions, *base, dtype=torch.float32, **kwargs):
        x = torch.randn(sizes, generator=rng).to(dtype)
        return Case(about, (x, torch.as_tensor(positions), *base), **kwargs)

    def draw(low, high, length):
        return torch.randint(low, high, (length,), generator=rng)

    x = torch.tensor([1.0, 1.0, 0.0, 0.0]).view(1, 1, 1, 4)
    yield Case("one token at position 2, base 4", (x, torch.tensor([2]), 4.0))
    x = torch.tensor([[1.0, 0.0], [1.0, 0.0]]).view(1, 1, 2, 2)
    yield Case("the same pair at two positions", (x, torch.tensor([0, 1])))
    yield Case("the same pair, at other positions", (x, torch.tensor([3, 1])))
    x = torch.tensor([[1.0, 2.0, 0.0, 0.0], [1.0, 2.0, 0.0, 0.0]]).view(1, 1, 2, 4)
    yield Case("two pairs", (x, torch.tensor([0, 1])))
    yield Case("two pairs, base 4", (x, torch.tensor([1, 2]), 4.0))
    x = torch.tensor([1.0, 3.0, 2.0, -1.0]).view(1, 1, 1, 4)
    yield Case("one token at position 2", (x, torch.tensor([2])))
    yield case("two heads, two tokens, D = 2", (1, 2, 2, 2), [0, 1])
    yield case("all sizes different, from 0", (2, 3, 5, 8), range(5))
    yield case("positions 7 to 11", (2, 3, 5, 8), range(7, 12))
    yield case("positions 0, 1 and 5", (1, 1, 3, 2), [0, 1, 5])
    yield case("base 100.5", (2, 3, 5, 8), range(7, 12), 100.5)
    yield case("base 2.5", (2, 3, 5, 8), range(7, 12), 2.5)
    yield case("D = 6, positions with gaps", (2, 3, 4, 6), [2, 3, 7, 20])
    yield case("positions in another order", (2, 4, 5, 6), [7, 0, 20, 7, 11])
    yield case("every other position", (1, 3, 5, 4), torch.arange(4, 14)[::2])
    yield case("B = H = L = D", (4, 4, 4, 4), range(1, 5), grad=False)
    yield case("one pair", (2, 3, 5, 2), range(5), grad=False)
    yield case("one token, as in decoding", (2, 3, 1, 8), [41], grad=False)
    yield case("one token at position 0", (2, 3, 1, 8), [0], grad=False)
    # In float32, an angle near 4000 has an error of 2e-4.
    far = draw(1050, 2000, 5) * 2 + 1
    yield case("positions beyond 2000", (2, 3, 5, 8), far, tolerance=2e-3)
    yield case("positions near 20,000", (1, 2, 3, 8), [19999, 20000, 20003], tolerance=2e-2)
    yield case("positions beyond a table", (1, 2, 2, 4), [140_001, 3], tolerance=5e-2)
    yield case("base a million", (1, 2, 4, 64), draw(0, 90, 4), 1e6)
    x = torch.randn(2, 5, 3, 8, generator=rng).transpose(1, 2)
    yield Case("in memory as `split_heads` leaves it", (x, torch.arange(5)))
    # The first, the last and the sum are those of the positions in another order.
    yield case("float64", (2, 3, 5, 6), range(7, 12), dtype=torch.float64)
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        about = f"{dtype}, base 100".removeprefix("torch.")
        yield case(about, (2, 3, 5, 6), range(5), 100.0, dtype=dtype, grad=False)
    for dtype in (torch.float16, torch.bfloat16):
        about = f"{dtype}, positions beyond 2050".removeprefix("torch.")
        odd = draw(1025, 2000, 5) * 2 + 1
        yield case(about, (2, 3, 5, 8), odd, dtype=dtype, grad=False)
        about = f"{dtype}, positions 0 to 4".removeprefix("torch.")
        yield case(about, (2, 3, 5, 8), range(5), dtype=dtype, grad=False)
    yield case("13 heads, 40 places, 20 channels", (1, 13, 40, 20), range(40))
    x = torch.randn(1, 2, 3, 6, generator=rng).index_fill(2, torch.tensor([1]), 0.0)
    yield Case("a token of zeros", (x, torch.arange(3)))
    for size in (1e-9, 1e25):
        about = f"float32, numbers of the size of {size:.0e}"
        x = size * torch.randn(1, 2, 3, 6, generator=rng)
        yield Case(about, (x, torch.tensor([0, 4, 9])), grad=False)
    x = 400 * torch.randn(1, 2, 3, 8, generator=rng)
    yield Case("float16, numbers in the hundreds", (x.half(), torch.arange(3)), grad=False)
    # Of the same sizes, one after the other: what is kept of the first may not serve the second.
    for dtype in (torch.bfloat16, torch.float32):
        about = f"{dtype}, 10 channels".removeprefix("torch.")
        about, where = f"{about}, positions beyond 300", [301, 4, 303]
        yield case(about, (1, 2, 3, 10), where, dtype=dtype, grad=False)
    # A power of 10,000 with the number of a pair is too large for float64 there.
    wide = (1, 1, 2, 1100), [3001, 40]
    yield case("more than a thousand channels", *wide, grad=False, tolerance=2e-3)
    far = [2_100_001, 3]
    yield case(
        "positions beyond two million", (1, 2, 2, 2), far, grad=False, tolerance=5e-2
    )
    # Printed, the two lists of positions are one text: PyTorch leaves out the middle.
    for middle in (550, 3):
        places = torch.arange(1100).index_fill(0, torch.tensor([550]), middle)
        yield case("1100 words", (1, 1, 1100, 2), places, grad=False)
    about = "a chunk, and the next one before gradients are asked for"
    yield case(about, (1, 2, 3, 4), [1, 2, 3], run=of_two_chunks)


apply_rope.rows("""
Channel 0 has a partner, with which it turns: is that the next channel, or the one D/2 farther on?
    interleaved-pairs  source = torch.cat([x[..., ::2], x[..., 1::2]], -1) ; placed = turned.unflatten(-1, (2, -1)).mT.flatten(-2)
Follow channel 1 through your code, for D = 4: who is its partner, and by which pair's angle is it turned?
Do both members of a pair turn by the same angle, and stay where they were?
    mixed-conventions  full = angles.repeat_interleave(2, -1)
    mixed-conventions  partner = torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2)
    mixed-conventions  source = torch.cat([x[..., ::2], x[..., 1::2]], -1)
    mixed-conventions  placed = turned.unflatten(-1, (2, -1)).mT.flatten(-2)
    mixed-conventions  full = angles.repeat_interleave(2, -1) ; placed = turned.unflatten(-1, (2, -1)).mT.flatten(-2)
    mixed-conventions  full = angles.repeat_interleave(2, -1) ; source = torch.cat([x[..., ::2], x[..., 1::2]], -1)
    mixed-conventions  full = where[:, None] * base ** (-torch.arange(D) / D)
    mixed-conventions  full = where[:, None] * base ** (-2 * torch.arange(D) / D)
Is the pair (1, 0) as long as before, once you have turned it by 90 degrees? How many minus signs has
a rotation?
    no-minus  partner = -second => second || torch.cat([-second, -first], -1)
    no-minus  turned = torch.cat([_[..., :half], -_[..., half:]], -1)
Turn the pair (1, 0) by +90 degrees: it should become (0, 1). Where does it land in yours?
    turned-the-wrong-way  sin = -_
    turned-the-wrong-way  partner = torch.cat([second, -first], -1)
    turned-the-wrong-way  where = -_
At position 0 nothing turns. What is the cosine of 0, and the sine? What does yours make of a token
at position 0?
    sine-and-cosine-swapped  turned = source * sin + partner * cos
    sine-and-cosine-swapped  partner = torch.cat([first, second], -1)
Both new members of a pair are made of the two old ones. When your code computes the second, is the
first one still the old one?
    first-already-turned  partner = torch.cat([-second, first * cos[..., :half] - second * sin[..., :half]], -1)
How many channels are turned in yours, and how many should be?
    half-of-the-channels  turned = torch.cat([_[..., :half], second], -1)
With D = 4 there are two pairs, with the exponents 0 and 1/2. Which ones has your code? Is your number
that of a pair, or of a channel?
    exponent-halved  exponents = c / D
    exponent-doubled  exponents = 4 * c / D
Print your exponents. In which order does Python compute, and what does `//` make of numbers below 1?
Do all your pairs turn at one speed?
    one-speed-for-all  exponents = 0 * c
The first pair turns by 1 for each step. What is the base to the power 0, and which power has your
first pair?
    pairs-from-one  c = _ + 1
Is the last exponent 1 in yours? With D = 4 it should be 1/2. By what do you divide?
    last-exponent-one  exponents = c / max(half - 1, 1) || c / (half - 1)
How long are the vectors that you turn? Which size of x do you divide the exponents by?
    divided-by-another-size  exponents = 2 * c / x.shape[-2] || 2 * c / x.shape[1]
Should the last pair turn faster than the first, or slower? Do you multiply by the power of the base,
or divide?
    faster-and-faster  frequencies = base ** exponents.float() ; where = positions.float()
The first pair turns fastest, the last slowest. In which order are your speeds?
    speeds-reversed  frequencies = _.flip(0)
Where do you use `base`? Does your result change with it?
    base-ignored  frequencies = base => 10000.0
Which base does yours take if the call names none? Look at your `def`.
    another-base-by-itself  frequencies = base => (500000.0 if base == 10000.0 else base)
    another-base-by-itself  frequencies = base => (1000.0 if base == 10000.0 else base)
    another-base-by-itself  frequencies = base => (100000.0 if base == 10000.0 else base)
exp(x · log a) is a to the power x. Of which base must that logarithm be?
    another-logarithm  frequencies = torch.exp(-exponents * math.log10(base))
    another-logarithm  frequencies = torch.exp(-exponents * math.log2(base))
    another-logarithm  frequencies = 2.0 ** (-exponents * math.log(base))
Give two heads the same x. Do they come out the same? Does a speed depend on the head?
    speeds-of-each-head  frequencies = (base * (1.0 + torch.arange(x.shape[1]))[:, None, None]) ** -exponents
    speeds-of-each-head  placed = attn_lib.split_heads(attn_lib.apply_rope(attn_lib.merge_heads(x)[:, None], positions, base)[:, 0], x.shape[1])
    speeds-of-each-head  c = torch.arange(x.shape[1] * half, dtype=torch.float64).view(-1, 1, half) ; exponents = _ / x.shape[1]
What should happen to a token at position 0, and at position 1? Do you count from 0 or from 1?
    from-one  where = _ + 1
In which line do you use `positions`? In a chunk that begins at 7, what position has its first token
in yours?
    positions-ignored  where = torch.arange(x.shape[-2])
A chunk begins at position 7, because 7 tokens are in a cache. At which position does yours begin?
    positions-restarted  where = _ - positions[0] || _ - positions.min()
Do all tokens turn by the same angle in yours? Each has a position of its own.
    one-position-for-all  where = positions[:1].double() || positions[-1:].double()
Do two tokens of one head turn by different angles in yours? Write the shape of your angles under that
of x, (B, H, L, D), lined up from the right.
    over-another-axis  full = _[:, None] || _[:, None, None]
    over-another-axis  full = torch.arange(x.shape[1])[:, None, None] * frequencies.repeat(2)
You need an angle for each token and each pair, (L, D/2). Which of the two must stand upright, as a
column?
    positions-not-a-column  angles = where * frequencies
    positions-not-a-column  full = angles.T.repeat(1, 2)
There are D/2 angles and D channels. Which of your tensors has only half of the columns?
    angles-not-repeated  full = angles
How large is the step from one number to the next near 1001, in float16? In bfloat16? In which dtype
are your positions, speeds and angles?
    half-precision-angles  where = positions.to(x.dtype)
    half-precision-angles  frequencies = _.to(x.dtype)
    half-precision-angles  angles = _.to(x.dtype)
    half-precision-angles  where = positions.to(x.dtype) ; frequencies = _.to(x.dtype)
    half-precision-angles  c = _.to(x.dtype) ; where = positions.to(x.dtype)
    half-precision-angles  where = positions.half()
`sin` takes radians, and the angle is position times speed. Which factor stands beside that in yours?
    turns-or-degrees  angles = 2 * math.pi * _
Does a rotation add something to x, or turn it? What should happen to a vector of zeros?
    added-instead-of-turned  turned = source + torch.cat([angles.sin(), angles.cos()], -1)
    added-instead-of-turned  turned = source + torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)
Give it float16, then float64: which dtype comes out, and which one should?
    dtype-changed  output = placed.float() || placed
    dtype-changed  output = placed.to(torch.promote_types(x.dtype, torch.float32))
Positions may have gaps, and come in any order, such as 3, 0, 7. Which ones are they in yours?
    positions-counted-on  where = torch.arange(x.shape[-2]) + positions[0]
    positions-counted-on  where = torch.arange(x.shape[-2]) + positions.min()
    positions-counted-on  where = positions.sort().values
Turn the pair (1, 0) by +90 degrees: it should become (0, 1). In its second number, which of the two meets the
cosine, and which the sine?
    members-exchanged  partner = torch.cat([-second, second], -1) ; source = torch.cat([first, first], -1)
    members-exchanged  partner = torch.cat([-first, first], -1) ; source = torch.cat([second, second], -1)
""")

apply_rope.drills(
    "positions-not-a-column, sine-and-cosine-swapped, no-minus, base-ignored, positions-ignored, dtype-changed 1, "
    "exponent-halved, last-exponent-one 1, over-another-axis, turned-the-wrong-way 1, half-precision-angles, "
    "mixed-conventions"
)
