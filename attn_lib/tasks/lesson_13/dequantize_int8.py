"""The task `dequantize_int8`: what the bytes stand for."""

from dataclasses import replace

import torch
from torch import Tensor

from attn_lib.checks.authoring import Case, task
from attn_lib.quantization import dequantize_int8 as of_the_library
from attn_lib.tasks.lesson_13.runs import one_after_the_other


@task(
    lesson=13,
    points=1,
    insight="One multiplication. The error was made before, when the numbers were rounded.",
    library=of_the_library,
    hints=[
        "`scale` is the length of one step, and `q` counts steps. How far is that?",
        "q is (out, in), `scale` (out, 1): line them up from the right. Does every number meet the step of its own row?",
        "In int8, 127 is the largest number there is. In which dtype should the product be?",
    ],
)
def dequantize_int8(q, scale):
    steps = q.float()
    weight = steps * scale
    return weight


def in_steps(returned, q, scale):
    """Divide each row by its step, so that a tiny one is seen beside a huge one."""
    if not isinstance(returned, Tensor) or returned.shape != q.shape:
        return returned
    return returned.double() / scale if returned.dtype == scale.dtype else returned


@dequantize_int8.cases
def _(rng):
    def given(about, q, scale):
        q = torch.tensor(q, dtype=torch.int8)
        return Case(about, (q, torch.tensor(scale)), grad=False)

    def case(about, rows, columns, *, change=lambda q, scale: (q, scale), **options):
        q = torch.randint(-127, 128, (rows, columns), generator=rng).to(torch.int8)
        scale = 10 ** (3 * torch.rand(rows, 1, generator=rng) - 2)
        return Case(about, change(q, scale), grad=False, **options)

    yield given("one row", [[20, -127, 5]], [[0.02]])
    yield given("two rows", [[20, -127, 5], [0, 100, 127]], [[0.5], [3.0]])
    yield case("all sizes different, to six digits", 3, 5, tolerance=1e-6)
    yield case("more rows than columns", 6, 4)
    yield case("square", 4, 4)
    yield case("one column", 3, 1)
    yield case("one row of many", 1, 7)
    yield case("one number", 1, 1)
    yield case("a hundred rows", 100, 2)
    yield case("2,100 rows", 2100, 2)
    yield case(
        "a row of zeros",
        2,
        3,
        change=lambda q, s: (q * torch.tensor([[0], [1]], dtype=torch.int8), s),
    )
    yield case("large steps", 3, 4, change=lambda q, s: (q, 1000 * s))
    yield case("small steps", 3, 4, change=lambda q, s: (q, s / 1e5))
    yield case("tiny steps", 3, 4, change=lambda q, s: (q, s / 1e32))
    yield case("huge steps", 3, 4, change=lambda q, s: (q, s * 1e30))
    sizes = torch.tensor([[1e30], [1e-30], [1.0]])
    about = "steps near 1e30, 1e-30 and 1"
    yield case(about, 3, 4, change=lambda q, s: (q, s * sizes), finish=in_steps)
    yield case("steps of whole numbers", 3, 4, change=lambda q, s: (q, 2 + s.round()))
    yield case("not contiguous", 4, 6, change=lambda q, s: (q.mT.contiguous().mT, s))
    yield case("300 columns", 20, 300)
    yield replace(case("two calls, one after the other", 3, 4), run=one_after_the_other)


dequantize_int8.rows("""
How far is 20 steps, if one step is 0.02 long? Where do you use `scale`?
    scale-forgotten  weight = steps
    scale-divided  weight = steps / scale || scale / steps
What is a product, and what a sum? Three steps of 0.02 are how far?
    scale-added  weight = steps + scale || steps - scale
int8 holds whole numbers up to 127. What is left of a scale of 0.02 in it, and of 100 * 3?
    multiplied-in-int8  weight = (q * scale.to(torch.int8)).float()
    multiplied-in-int8  weight = (q * scale.round().to(torch.int8)).float()
    multiplied-in-int8  weight = (q * scale.int()).float()
    multiplied-in-int8  weight = torch.zeros_like(q).copy_(steps * scale).float()
`q *= scale` writes into `q` itself. What can int8 hold, and whose is `q`?
    multiplied-in-int8  weight = q.clone().mul_(scale)
Each row has its own step. Which step does the first row take in yours, and which the second?
    steps-of-other-rows  weight = steps * scale.mT || (steps.mT * scale).mT
    steps-of-other-rows  weight = steps.mT * scale || steps * scale.flip(0)
    steps-of-other-rows  weight = steps @ torch.diag(scale[:, 0])
How many steps are in `scale`, and how many of them do you use?
    one-scale-for-all  weight = steps * scale[0] || steps * scale.amax()
    one-scale-for-all  weight = steps * scale.mean() || steps * scale.sum()
`steps @ scale` adds up. Should each number stay by itself?
    matrix-product  weight = steps @ scale || scale.mT @ steps || steps.mT @ scale
    matrix-product  weight = (steps * scale).sum(1, keepdim=True)
The scale is the length of one step already. What is the 127 for?
    divided-by-127  weight = steps * scale / 127 || steps * scale * 127
    divided-by-127  weight = steps * scale / 128 || steps / 127 || steps / 127 / scale
    divided-by-127  weight = steps * scale / 255
What stands for 0 in q? Is there a zero point?
    shifted  steps = q.float() - 128 || q.float() + 128 || q.float() - 127
    shifted  steps = q.to(torch.uint8).float() - 128
What becomes of a negative number in yours?
    negative-numbers-lost  steps = q.float().abs() || q.float().clamp(min=0)
What does -1 become in a type without a sign?
    read-without-a-sign  steps = q.to(torch.uint8).float()
You round what is real again. Must a weight be a whole number?
    rounded-again  weight = (steps * scale).round()
Which dtype should the weights have, and which one has your result?
    another-dtype  steps = q.double()
    another-dtype  weight = (steps * scale).to(torch.int8) || (steps * scale).int()
    another-dtype  weight = (steps * scale).half() || (steps * scale).bfloat16()
In which dtype is your product before it becomes float32, and how many digits does that keep?
    low-precision  weight = (steps.bfloat16() * scale.bfloat16()).float()
    low-precision  weight = (steps.half() * scale.half()).float()
    low-precision  weight = steps * scale.half() || steps * scale.bfloat16()
    low-precision  weight = (steps * scale).bfloat16().float()
    low-precision  weight = (steps * scale).half().float()
The result is (out, in), as q is. What did you do to its axes?
    axes-changed  weight = (steps * scale).mT || (steps * scale).flatten()
    axes-changed  weight = (steps * scale).squeeze() || (steps * scale)[None]
    axes-changed  weight = (steps * scale).tolist()
One matrix is asked for. What do you return beside it?
    more-returned  return = _, scale
How often does the scale stand in your product?
    scaled-twice  weight = steps * scale * scale || steps * scale**2
""")

dequantize_int8.drills(
    "matrix-product, scale-divided, divided-by-127, steps-of-other-rows, one-scale-for-all, "
    "read-without-a-sign"
)
