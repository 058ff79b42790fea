"""The task `quantize_int8`: a matrix of weights in a quarter of its bytes."""

import torch

from attn_lib.checks.authoring import Case, task
from attn_lib.quantization import quantize_int8 as of_the_library
from attn_lib.tasks.lesson_13.runs import quantized, with_parameter


@task(
    lesson=13,
    points=2,
    insight="A quarter of the bytes, and each number is off by at most half a step of its row.",
    library=of_the_library,
    returns=("q", "scale"),
    hints=[
        "A row has its own ruler of 254 steps, from -127 to 127. Its farthest number from zero, on either side, lies "
        "at the end. How long is one step then?",
        "The length of a step is `scale`, one for each row, (out, 1). Which axis of `weight` do you search for the "
        "largest, and what keeps an axis of size 1? How many steps away from zero is each number?",
        "`.to(torch.int8)` cuts off what stands after the point: what must come before it? And a row of zeros has a "
        "step of length 0: which number can you put there before you divide?",
    ],
)
def quantize_int8(weight):
    numbers = weight.float()
    largest = numbers.abs().amax(1, keepdim=True)  # (out, 1)
    step = largest / 127
    scale = step.masked_fill(largest == 0, 1.0)
    steps = numbers / scale
    rounded = steps.round()
    kept = rounded.clamp(-127, 127)
    q = kept.to(torch.int8)
    return q, scale


@quantize_int8.cases
def _(rng):
    def given(about, weight):
        return Case(about, (torch.tensor(weight),), grad=False, finish=quantized)

    def case(about, rows, columns, *, dtype=torch.float32, change=lambda w: w, **options):
        """Rows of different sizes, whose numbers are no halves of a step, to be rounded either way."""
        sizes = 10 ** (4 * torch.rand(rows, 1, generator=rng) - 3)
        weight = change(torch.randn(rows, columns, generator=rng) * sizes).to(dtype)
        steps = weight.double() * (127 / weight.double().abs().amax(1, keepdim=True))
        is_half = ((steps - steps.floor()) - 0.5).abs() < 0.002
        args = (weight.masked_fill(is_half, 0),)
        return Case(about, args, grad=False, finish=quantized, **options)

    def rows_of(*largest):
        ends = torch.tensor(largest)[:, None]
        return lambda w: w / w.abs().amax(1)[:, None] * ends

    yield given("one row", [[0.4, -2.54, 0.1]])
    yield given("two rows", [[0.4, -2.54, 0.1], [127.0, 63.7, -20.2]])
    yield given("a row of zeros", [[0.0, 0.0, 0.0], [0.5, 2.54, -0.1]])
    yield given("rows whose sum is zero", [[0.5, -0.5, 0.0], [0.3, -0.1, -0.2]])
    yield case("all sizes different, to six digits", 3, 5, tolerance=1e-6)
    yield case("more rows than columns", 6, 4)
    yield case("square", 4, 4)
    yield case("one column", 3, 1)
    yield case("one row of many", 1, 7)
    yield case("nothing positive", 3, 5, change=lambda w: -w.abs())
    yield case("nothing negative", 3, 5, change=torch.abs)
    zeros = torch.tensor([[1.0], [0.0], [1.0]])
    yield case("a row of zeros among others", 3, 5, change=lambda w: w * zeros)
    yield case("rows that hold one number only", 4, 3, change=lambda w: w * torch.eye(4, 3))
    yield case("tiny numbers", 3, 5, change=rows_of(1e-5, 1e-12, 1e-30))
    yield case("huge numbers", 3, 5, change=rows_of(1e5, 1e12, 1e30))
    yield case("rows of 1e30, 1e-30 and 1", 3, 5, change=rows_of(1e30, 1e-30, 1.0))
    yield given("nothing but zeros", [[0.0, 0.0], [0.0, 0.0]])
    yield case("the `weight` of an `nn.Linear`", 3, 5, run=with_parameter)
    yield case("a wide matrix", 5, 40)
    yield case("a hundred rows", 100, 2)
    last = lambda w: torch.cat([w, 1.5 * w.abs().amax(1, keepdim=True)], 1)  # noqa: E731
    yield case("2,101 columns, the last one the largest", 2, 2100, change=last)
    (weight,) = case("", 4, 6).args
    strided = (weight.mT.contiguous().mT,)
    yield Case("not contiguous", strided, grad=False, finish=quantized)
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        yield case(str(dtype).removeprefix("torch."), 3, 6, dtype=dtype)
    far_apart = rows_of(1e-6, 0.0, 6e4)
    about = "float16, a tiny row, one of zeros and a huge one"
    yield case(about, 3, 20, dtype=torch.float16, change=far_apart)
    half = rows_of(0.3, 0.03, 3e5, 0.003)  # 127 is not what a half holds best
    yield case("bfloat16, a wide matrix", 4, 20, dtype=torch.bfloat16, change=half)


quantize_int8.rows("""
One row holds numbers near 1000, another near 0.001. With one step for both, what is left of the second?
    one-scale-for-all  largest = numbers.abs().amax()
    one-scale-for-all  largest = numbers.abs().amax().expand(len(numbers), 1)
    one-scale-for-all  largest = numbers.abs().amax((0, 1), keepdim=True)
A row of the weight makes one output, a column reads one input. For which of the two is a scale asked for?
    scale-of-each-column  largest = amax(1, keepdim=True) => amax(0, keepdim=True)
    scale-of-each-column  largest = numbers.abs().amax(0) || numbers.abs().amax(0)[:, None]
    scale-of-each-column  largest = numbers.abs().amax(0) ; scale = _[:, None] ; steps = numbers / scale.mT
Is -2.54 farther from zero than 0.4? Which of the two is your largest number?
    sign-not-dropped  largest = numbers.amax(1, keepdim=True)
    sign-not-dropped  largest = numbers.amax(1, keepdim=True) ; kept = rounded
    sign-not-dropped  largest = numbers.amax(1, keepdim=True) ; scale = torch.where(step > 0, step, 1.0) ; kept = rounded
    sign-not-dropped  largest = numbers.amax(1, keepdim=True).abs()
    sign-not-dropped  largest = numbers.amax(1, keepdim=True).abs() ; kept = rounded
    sign-not-dropped  largest = numbers.amax(1, keepdim=True).clamp(min=0)
    sign-not-dropped  largest = numbers.amin(1, keepdim=True).abs()
    sign-not-dropped  largest = -numbers.amin(1, keepdim=True)
Which number of the row must become 127 or -127, and which one does in yours?
    not-the-largest  largest = numbers.std(1, keepdim=True)
    not-the-largest  largest = 3 * numbers.std(1, keepdim=True)
    not-the-largest  largest = numbers.abs().mean(1, keepdim=True)
    not-the-largest  largest = numbers.norm(dim=1, keepdim=True)
    not-the-largest  largest = numbers.abs().sum(1, keepdim=True)
    not-the-largest  largest = numbers.square().mean(1, keepdim=True).sqrt()
    not-the-largest  largest = numbers.abs().quantile(0.99, dim=1, keepdim=True)
    not-the-largest  largest = numbers.abs().median(1, keepdim=True).values
    not-the-largest  largest = numbers.abs().amin(1, keepdim=True)
The range is -127 to 127. How many steps lie between zero and its end?
    steps-miscounted  step = largest / 128
    steps-miscounted  step = largest / 128 ; kept = rounded.clamp(-128, 127)
    steps-miscounted  step = largest / 126 || largest / 127.5
    steps-miscounted  step = torch.maximum(numbers.amax(1, keepdim=True) / 127, -numbers.amin(1, keepdim=True) / 128) ; kept = rounded.clamp(-128, 127)
    steps-miscounted  step = (numbers.amax(1, keepdim=True) - numbers.amin(1, keepdim=True)) / 255 ; kept = rounded.clamp(-128, 127)
    steps-miscounted  step = largest / 127.5 ; kept = rounded.clamp(-128, 127)
    steps-miscounted  step = largest / 255
    steps-miscounted  step = largest / 255 ; kept = rounded
    steps-miscounted  step = largest / 256
    steps-miscounted  step = largest / 256 ; kept = rounded
    steps-miscounted  step = 2 * largest / 254 ; scale = _ * 2
    steps-miscounted  step = largest / 7 || largest
int8 ends at 127. What does 128 become in it? Print `torch.tensor(128.0).to(torch.int8)`.
    wraps-around  step = largest / 128 ; kept = rounded
    wraps-around  step = largest / 127.5 ; kept = rounded
What does `.to(torch.int8)` make of 19.8, and what is nearest?
    not-rounded  rounded = steps
Which whole number is nearest to -19.8, and which one to 19.8? Which ones do you take?
    rounded-one-way  rounded = steps.floor()
    rounded-one-way  rounded = steps.floor() ; kept = rounded
    rounded-one-way  rounded = steps.ceil()
    rounded-one-way  rounded = steps.ceil() ; kept = rounded
    rounded-one-way  rounded = (steps + 0.5).trunc()
You round before you count steps. What does that leave of 0.4?
    rounded-too-early  steps = numbers.round() / scale ; rounded = steps
    rounded-too-early  steps = numbers.round() / scale
What is 0 / 0, and which row divides by zero? Its scale may be any number but that.
    a-row-of-zeros  scale = step
    a-row-of-zeros  scale = step.masked_fill(numbers.sum(1, keepdim=True) == 0, 1.0)
A row of zeros needs a stand-in, a row of tiny numbers does not. By what do you divide a row whose largest number is
1e-30?
    epsilon-too-large  scale = step + 1e-6 || step + 1e-8 || step + 1e-12
    epsilon-too-large  scale = step.clamp(min=1e-5) || step.clamp(min=1e-30)
    epsilon-too-large  scale = step + (step < 1e-5)
How long is one step: is that what you return, or how many steps make 1?
    scale-upside-down  return = q, 1 / scale
    scale-upside-down  step = 127 / largest ; steps = numbers * scale
Do you divide by the length of a step, or multiply with it?
    multiplied-by-the-scale  steps = numbers * scale
Does your scale know of the 127? What should `q * scale` be?
    scale-without-127  return = q, scale * 127 || q, scale / 127
    scale-without-127  step = largest ; steps = numbers / scale * 127
Symmetric means that 0 stays 0. What is subtracted or added in yours, and how should the one who reads it know?
    shifted  largest = numbers.amax(1, keepdim=True) - numbers.amin(1, keepdim=True) ; step = largest / 255 ; steps = (numbers - numbers.amin(1, keepdim=True)) / scale - 128 ; kept = rounded.clamp(-128, 127)
    shifted  largest = numbers.amax(1, keepdim=True) - numbers.amin(1, keepdim=True) ; step = largest / 254 ; steps = (numbers - numbers.amin(1, keepdim=True)) / scale - 127
    shifted  largest = numbers.amax(1, keepdim=True) - numbers.amin(1, keepdim=True) ; step = largest / 255 ; steps = (numbers - numbers.amin(1, keepdim=True)) / scale ; kept = rounded.clamp(0, 255) ; q = kept.to(torch.uint8)
    shifted  largest = numbers.amax(1, keepdim=True) - numbers.amin(1, keepdim=True) ; step = largest / 255 ; steps = numbers / scale - (numbers.amin(1, keepdim=True) / scale).round() ; kept = rounded.clamp(0, 255) ; q = kept.to(torch.uint8)
    shifted  kept = (rounded + 128).clamp(0, 255) ; q = kept.to(torch.uint8)
    shifted  numbers = weight.float() - weight.float().mean(1, keepdim=True)
    shifted  kept = rounded + 128 ; q = kept.to(torch.uint8)
What becomes of a negative number in yours?
    negative-numbers-lost  kept = rounded.clamp(0, 127) || rounded.abs()
    negative-numbers-lost  numbers = weight.float().abs()
Which of the eight-bit types knows negative numbers, and how many bytes does one number of yours take?
    another-dtype  q = kept || kept.to(torch.uint8) || kept.to(torch.int16)
    another-dtype  q = kept.to(torch.int32) || kept.long() || kept.half()
Print the shape of your scale. With (out,), which axis of q does it meet when it is multiplied?
    scale-without-an-axis  return = q, scale[:, 0] || q, scale.squeeze()
    scale-without-an-axis  largest = numbers.abs().amax(1)
    scale-without-an-axis  scale = _[:, 0] ; steps = numbers / scale[:, None]
In which dtype do you divide if the weight is bfloat16, and how many digits does that keep?
    low-precision  numbers = weight
    low-precision  numbers = weight ; kept = rounded
    low-precision  numbers = weight ; scale = _.float()
    low-precision  numbers = weight ; return = q, scale.float()
    low-precision  numbers = weight ; return = q, scale.float() ; kept = rounded
    low-precision  steps = weight / scale.to(weight.dtype)
    low-precision  steps = weight / scale.to(weight.dtype) ; kept = rounded
    low-precision  numbers = weight.half() || weight.bfloat16()
    low-precision  return = q, scale.half().float()
Which dtype should `scale` have, and which one has yours?
    scale-of-another-dtype  return = q, scale.to(weight.dtype) || q, scale.half()
    scale-of-another-dtype  return = q, scale.double()
    scale-of-another-dtype  numbers = weight.double()
Two things are asked for, q first. What do you return, and in which order?
    returned-otherwise  return = scale, q || q || q * scale
    returned-otherwise  return = q, scale, torch.zeros_like(scale)
    returned-otherwise  return = q, scale.item() if len(scale) == 1 else scale.tolist()
The largest absolute value of a row becomes 127. Which step does yours have for a row of 1 and 3?
    range-for-the-largest  largest = numbers.amax(1, keepdim=True) - numbers.amin(1, keepdim=True) ; step = largest / 255
    range-for-the-largest  largest = numbers.amax(1, keepdim=True) - numbers.amin(1, keepdim=True) ; step = largest / 254
Each row has a scale of its own. Along which axis do you take the largest number, and which one is summed up then: the row, or the
column?
    one-scale-for-each-column  steps = numbers / (numbers.abs().amax(0, keepdim=True) / 127)
""")

quantize_int8.drills(
    "another-dtype 1, multiplied-by-the-scale, one-scale-for-all, scale-of-each-column, scale-without-an-axis 2, "
    "sign-not-dropped, steps-miscounted, rounded-one-way, a-row-of-zeros, low-precision, epsilon-too-large 1, "
    "scale-without-127 2, range-for-the-largest, scale-upside-down 1"
)
