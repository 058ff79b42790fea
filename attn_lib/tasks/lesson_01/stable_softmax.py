"""The task `stable_softmax`: shares from scores of any size."""

import torch

from attn_lib.checks.authoring import Case, task
from attn_lib.tasks.lesson_01.runs import exact_zero, with_dim


@task(
    lesson=1,
    points=2,
    insight="The largest score is taken away, no share changes, and no exp is above 1: every library does it.",
    hints=[
        "exp(1000) is too large for a float. Which number can you subtract from every entry of a "
        "row without changing its softmax?",
        "Subtract the largest entry of the row, so that the largest exponent is 0. Which argument "
        "of `amax` says what a row is here, and which one keeps that axis, so that the "
        "subtraction lines up?",
        "Three lines: shift by the maximum along `dim`, exponentiate, divide by the sum along the "
        "same `dim`. Both reductions need `keepdim=True`.",
    ],
)
def stable_softmax(x, dim=-1):
    axis = dim
    largest = x.amax(axis, keepdim=True)
    shifted = x - largest
    exponentials = shifted.exp()
    total = exponentials.sum(axis, keepdim=True)
    shares = exponentials / total
    return shares


@stable_softmax.cases
def _(rng):
    def random(*shape, scale=2.0):
        return torch.randn(*shape, generator=rng) * scale

    yield Case("one row", (torch.tensor([[1.0, 2.0, 4.0]]),))
    yield Case("a vector", (random(5), 0), with_dim)
    yield Case("rows of a 3-D tensor", (random(2, 3, 5),))
    yield Case("the same shape, other numbers", (random(2, 3, 5, scale=5.0),))
    for dim in (0, 1, -2):
        yield Case(f"along dim {dim}", (random(3, 4, 5), dim), with_dim)
    yield Case("a square", (random(4, 4),))
    yield Case("a square along dim 0", (random(4, 4), 0), with_dim)
    yield Case("a cube along dim 1", (random(3, 3, 3), 1), with_dim)
    yield Case("four axes, along dim -3", (random(2, 3, 4, 5), -3), with_dim)
    yield Case("rows of one number", (random(8, 1),))
    # In float32, numbers near 1e4 are 0.001 apart: correct answers differ by that much there.
    for about, rows in (
        ("large numbers, up to 1e4", [[1e4, 1e4 - 1, 0.0]]),
        ("two rows of large numbers", [[1e4, 1e4 - 1, 0.0], [3.0, 1e4, 1e4]]),
        ("very negative numbers", [[-1e4, -1e4 - 2.0, -1e4 + 1.0]]),
        ("one row near 1e4, one near -1e4", [[1e4, 9999.0], [-1e4, -9999.0]]),
    ):
        yield Case(about, (torch.tensor(rows),), tolerance=1e-2, grad=False)
    # Whole numbers below 2**24 are exact in float32.
    apart = torch.tensor([[1e6, 1e6 - 2, 1e6 - 1], [1.0, 0.0, 2.0], [-1e6, -1e6 - 1, -1e6]])
    yield Case("one row near 1e6, one near 0, one near -1e6", (apart,))
    yield Case("120 apart", (torch.tensor([[120.0, 0.0, 100.0]]),), grad=False)
    yield Case("a wide spread", (random(3, 4, scale=200.0),), grad=False)
    yield Case("everything near -30", (random(3, 4) - 30,))
    yield Case("everything near -100", (random(3, 4) - 100,))
    hidden = random(3, 4).masked_fill(torch.eye(3, 4) == 1, -torch.inf)
    yield Case("a -inf in each row", (hidden,), finish=exact_zero)
    for lowest in (-1.2e4, -3e4):
        row = torch.tensor([[lowest, -torch.inf, lowest - 1]])
        about = f"a -inf beside numbers near {lowest:.0f}"
        yield Case(about, (row,), tolerance=1e-2, grad=False, finish=exact_zero)
    yield Case("a view that is not contiguous", (random(5, 3).T,))
    yield Case("float64", (random(2, 3).double(),))
    for dtype in (torch.float16, torch.bfloat16):
        x = random(2, 3, scale=1.0).to(dtype)
        yield Case(f"{dtype}".removeprefix("torch."), (x,), grad=False)
    apart = torch.tensor([[3e4, 29984.0, 3e4], [-3e4, -3e4, -29984.0]]).half()
    yield Case("float16, one row near 30,000, one near -30,000", (apart,), grad=False)
    # Whole numbers below 2**24 are exact in float32.
    columns = torch.tensor([[1e6, 1.0, -1e6], [1e6 - 2, 0.0, -1e6 - 1]])
    about = "along dim 0, one column near 1e6, one near 0, one near -1e6"
    yield Case(about, (columns, 0), with_dim)
    yield Case("three axes, rows near 1e6, 0 and -1e6", (torch.stack([columns.T] * 2),))
    near = torch.tensor([1e9, 1e9 - 2, 1e9 - 1], dtype=torch.float64)
    yield Case("float64, one row near 1e9, one near -1e9", (torch.stack([near, -near]),))
    exact = random(3, 5).double() / 3
    yield Case("float64, to nine digits", (exact,), grad=False, tolerance=1e-9)
    farthest = torch.tensor([[3e38, -3e38, 0.0], [-torch.inf, -torch.inf, -3e38]])
    yield Case("numbers up to 3e38", (farthest,), grad=False, finish=exact_zero)
    many = torch.tensor([[0.0] * 2000 + [7.5]])
    yield Case("2000 equal numbers, and a last one 7.5 above them", (many,))
    equal = torch.zeros(2, 600, dtype=torch.bfloat16)
    yield Case("bfloat16, 600 equal numbers", (equal,), grad=False)


stable_softmax.rows("""
What is `torch.tensor(1e4).exp()`? And inf / inf?
    no-maximum-subtracted  shifted = x
If one row is near 1e4 and another near -1e4: what is left of the second one after you have
subtracted your maximum?
    one-maximum-for-all  largest = x.amax()
Call it with dim=0. Along which axis does your code take the maximum, along which does it add up?
Where is `dim` used?
    dim-ignored  axis = -1 || 1
    dim-ignored  largest = axis, => -1,
    dim-ignored  total = axis, => -1, || axis, => 1,
With dim=-1, which axis should add up to 1: first or last?
    first-axis  axis = 0
    first-axis  total = axis, => 0,
Where is the axis `dim` in your result? If you move it to the end, what must you do last?
    axis-not-moved-back  shares = _.movedim(dim, -1)
What do all your numbers add up to together? And what should one row?
    sum-over-everything  largest = x.amax() ; total = exponentials.sum()
    sum-over-everything  total = exponentials.sum()
Print the shapes of x, of the sum, and of the maximum if you take one. Counted from the right, which
axes line up? Which argument keeps the axis that was reduced?
    keepdim-forgotten  largest = _.squeeze(axis) ; total = _.squeeze(axis)
    keepdim-forgotten  largest = _.squeeze(axis)
    keepdim-forgotten  total = _.squeeze(axis)
    keepdim-forgotten  largest = _.squeeze(axis)[..., None] ; total = _.squeeze(axis)[..., None]
    keepdim-forgotten  total = _.squeeze(axis)[..., None] || _.squeeze(axis)[:, None]
`x.max(dim)` returns two things, the values and where they stand. Which of them do you need?
    maximum-with-its-index  largest = amax => max || amax => argmax
Where does a large number overflow: in the exponential, or after it? What must be subtracted before that?
    maximum-too-late  shifted = x ; exponentials = (e := x.exp()) - e.amax(axis, keepdim=True)
What is exp(-inf), and what is exp(0)? Which of the two should a forbidden word get?
    minus-infinity-replaced  largest = (y := x.masked_fill(x == -torch.inf, 0.0)).amax(axis, keepdim=True) ; shifted = y - largest
Which number is the largest in a row of negative ones? After your shift, how large is the largest
exponent there?
    largest-without-its-sign  largest = x.abs().amax(axis, keepdim=True)
Do you take the largest number away from the others, or do you add it to them?
    maximum-added  shifted = x + largest
Let every number be near -30. How large is the sum of the exponentials beside your epsilon? After
the right shift, how small can that sum get at all?
    epsilon-in-denominator  shifted = x ; total = _ + 1e-6 || _ + 1e-9
    epsilon-in-denominator  total = _ + 1e-3
After your shift, how large can the largest entry still be? Try the row [1e4, 0, 0].
    mean-subtracted  largest = amax => mean
After your shift, is the largest exponent 0 or the smallest?
    minimum-subtracted  largest = amax => amin
What stands above the line of your fraction, and what below? Are both shifted by the same number?
    shifted-only-once  shares = exponentials / x.exp().sum(axis, keepdim=True)
    shifted-only-once  shares = x.exp() / total || (x - total.log()).exp()
Compare the rows [1, 2] and [2, 4]: should they have the same softmax? Which operation leaves the
softmax as it is, subtracting or dividing?
    divided-by-maximum  shifted = x / largest || _ / x.std(axis, keepdim=True)
    divided-by-maximum  shifted = x / largest - (x / largest).amax(axis, keepdim=True)
    divided-by-maximum  shifted = _ / (largest - x.amin(axis, keepdim=True))
Two numbers beyond your limit become one and the same. Should they get the same share? Which shift
keeps their distance?
    clamped  shifted = x.clamp(max=20.0) || x.clamp(-10.0, 10.0) || x.clamp(max=50.0)
    clamped  shifted = x.clamp(-50.0, 50.0) || x.clamp(max=88.0) || x.clamp(-80.0, 80.0)
    clamped  shifted = x ; exponentials = _.clamp(max=torch.finfo(x.dtype).max)
You put a number where nan was. Which shares should stand there, and where does the nan come from?
    nan-replaced  shifted = x ; shares = torch.nan_to_num(_)
Which entry should get the largest share: the largest?
    sign-flipped  shifted = -_
    sign-flipped  largest = amax => amin ; shifted = -_
Your numbers are negative. Which function turns logarithms into shares?
    log-returned  shares = shifted - total.log() || _.log()
Is the softmax built on powers of 2, or of e?
    base-two  exponentials = 2.0 ** shifted
How many numbers does `math.exp` take? Which `exp` takes a whole tensor?
    math-exp  exponentials = math.exp(shifted)
Your numbers do not come from exponentials. What does exp do to a negative score?
    no-softmax  exponentials = x || shifted
What stands below the line of your fraction: the sum of the scores, or of their exponentials?
    sum-of-scores  shares = exponentials / x.sum(axis, keepdim=True)
What do your numbers of one row add up to, and what should they?
    not-divided  shares = exponentials
    not-divided  shifted = x ; shares = exponentials
What do the numbers of one row add up to in your result? What do you divide by?
    divided-by-the-mean  total = sum => mean || x.shape[axis]
    divided-by-the-mean  total = exponentials.norm(dim=axis, keepdim=True)
Which is larger, one exponential or the sum of all? Which of them stands above the line?
    fraction-upside-down  shares = total / exponentials
One softmax makes shares of the scores. Does something make shares of your shares?
    softmax-twice  shares = _.softmax(axis)
Which dtype goes in, and which one comes out?
    dtype-changed  shares = _.float() || _.double()
Your scores are shifted, and that is only the first step. What makes positive numbers of them, and what
makes shares of these?
    only-shifted  shares = shifted
From all numbers of one row the same one must be taken away. From where does yours come?
    maximum-of-another-row  largest = axis, => 0,
Along which axis do Python's own `max` and `sum` go, whatever `dim` is? Which methods of a tensor can be told?
    max-of-python  largest = max(x) ; total = sum(exponentials)
    max-of-python  largest = max(x)
A loop over x takes its first axis apart, whatever `dim` is. What is a `row` of yours if x has one axis, and
what if it has three?
    loop-over-the-first-axis  shares = torch.stack([(e := (row - row.max()).exp()) / e.sum() for row in x])
""")

stable_softmax.drills(
    "maximum-added, math-exp, divided-by-maximum, maximum-with-its-index, shifted-only-once 1, one-maximum-for-all, "
    "dim-ignored 3, largest-without-its-sign"
)
