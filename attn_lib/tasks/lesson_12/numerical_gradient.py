"""The task `numerical_gradient`: the slope of a function, from its values alone."""

import torch

from attn_lib.checks.authoring import Case, Served, task
from attn_lib.tasks.lesson_12.runs import differentiated, of_one_number, refusal


@task(
    lesson=12,
    points=2,
    insight="It is slow, and it knows nothing of your code: so it can accuse it.",
    hints=[
        "Take one number of x. Make it a little larger, ask `fn`; make it a little smaller, ask `fn`. How far "
        "apart are the two places, and how far the two values?",
        "One number after the other: all others stay as they are. How do you walk over all numbers of a tensor "
        "of any shape, and where does each result go?",
        "Write into a copy, never into x itself, and keep the results in a tensor of x's shape. "
        "`np.ndindex` of numpy gives every index of a shape in turn. Or flatten, and give the shape back "
        "at the end.",
    ],
)
def numerical_gradient(fn, x, eps):
    step = eps
    around = x
    slopes = []
    for i in range(x.numel()):
        one = torch.zeros(x.numel(), dtype=torch.float64)
        where = torch.arange(x.numel()) == i
        moved = one.masked_fill(where, step).reshape(x.shape)
        above = fn(around + moved)
        below = fn(around - moved)
        difference = above - below
        width = 2 * eps
        slope = difference / width
        slopes.append(slope)
    joined = torch.stack(slopes)
    gradient = joined.reshape(x.shape)
    return gradient


# What `fn` may compute: of x, with weights like x.


def cubes(x, weights):
    """The cubes of all numbers, each times its weight: the slope of a large step shows."""
    return (weights * x**3).sum()


def products(x, weights):
    """Each number times the next one, and a sine: no number's slope is that of it alone."""
    flat = x.flatten()
    return (flat * flat.roll(1) * weights.flatten()).sum() + (x * weights).sin().sum()


def corners(x, weights):
    """A function with corners, far above zero."""
    return (weights * x.abs()).sum() + 3.0


def line(x, weights):
    """A straight line: its slope is the same for every step."""
    return (weights * x).sum()


def mixed(x, weights):
    """A softmax, as in attention, and what it mixes."""
    return (x.softmax(-1) * weights).sum()


FORMULAS = {f.__name__: f for f in (cubes, products, corners, line, mixed)}


def slope(formula, weights, *, knows_x):
    """Serve `fn`: a formula of its argument, or of that less what x is then."""

    def function(point, x):
        for given in (point, x):
            if given.shape != weights.shape or given.dtype != weights.dtype:
                text = f"shape {tuple(given.shape)}, dtype {given.dtype}"
                raise refusal(weights, text)
        with torch.no_grad():
            return FORMULAS[formula](point - x if knows_x else point, weights)

    return Served(function)


@numerical_gradient.cases
def _(rng):
    def draw(*shape):
        return torch.randn(shape, generator=rng, dtype=torch.float64)

    def case(about, formula, x, eps, weights=None, *, knows_x=False, **kwargs):
        weights = draw(*x.shape) if weights is None else weights
        options = {"tolerance": 1e-6, "serves": slope(formula, weights, knows_x=knows_x)}
        args = (None, x, eps)
        return Case(about, args, grad=False, **{"run": differentiated} | options | kwargs)

    two = torch.tensor([1.0, 2.0], dtype=torch.float64)
    yield case("fn = 3 x0 + 5 x1", "line", two, 0.5, torch.tensor([3.0, 5.0]).double())
    ones = torch.ones(2, dtype=torch.float64)
    yield case("fn = x0^3 + x1^3, a step of 1", "cubes", two, 1.0, ones)
    yield case(
        "fn = |x0| + |x1| + 3", "corners", torch.tensor([0.25, -2.0]).double(), 0.5, ones
    )
    level = torch.tensor([-0.25, 0.25]).double()  # where up, or down, gains nothing
    yield case("fn = |x0| + |x1| + 3, a step across 0", "corners", level, 0.5, ones)
    for formula in FORMULAS:
        yield case(f"{formula}, seven numbers, a small step", formula, draw(7), 1e-4)
        yield case(f"{formula}, a matrix, a large step", formula, draw(3, 4), 0.3)
    yield case("a step of 1e-6", "mixed", draw(2, 5), 1e-6, tolerance=1e-5)
    yield case("three axes", "products", draw(2, 3, 4), 0.01)
    yield case("four axes", "mixed", draw(2, 1, 3, 2), 0.1)
    yield case("five axes", "products", draw(2, 1, 2, 2, 2), 0.1)
    yield case("six axes", "products", draw(1, 2, 1, 2, 3, 1), 0.1)
    yield case("150 numbers", "cubes", draw(150), 0.1)
    zeros = draw(2, 4) * torch.tensor([1.0, 0.0, 1.0, 0.0]).double()
    yield case("some numbers are 0", "products", zeros, 0.1)
    yield case("to nine digits", "line", draw(2, 3), 0.25, tolerance=1e-9)
    yield case("slopes near 1e-12", "line", draw(5), 0.25, 1e-12 * draw(5))
    near = 3e-8 * torch.tensor([1.0, -1.0, 2.0], dtype=torch.float64)
    yield case("corners, a step of 1e-8 near 0", "corners", near, 1e-8, tolerance=1e-5)
    near = 3e-10 * torch.tensor([1.0, -1.0, 2.0], dtype=torch.float64)
    yield case("corners, a step of 1e-10 near 0", "corners", near, 1e-10, tolerance=1e-4)
    yield case("square", "products", draw(3, 3), 0.1)
    yield case("each number twice", "products", draw(3).repeat(2), 0.1)
    yield case("a single number in two axes", "cubes", draw(1, 1), 0.2)
    yield case("no axes at all", "cubes", draw(), 0.2)
    yield case("not contiguous", "products", draw(4, 3).T, 0.05)
    yield case("not contiguous, three axes", "cubes", draw(3, 2, 4).transpose(0, 2), 0.2)
    yield case("numbers near 1000", "cubes", draw(4) + 1000, 0.5)
    yield case("tiny numbers", "mixed", draw(5) * 1e-5, 1e-3)
    # A number that was moved there and back is no longer what it was.
    yield case("a step of 1e13", "products", draw(3, 5), 1e13)
    # Float32 has these steps, and neither of their squares.
    for step in (1e-30, 1e30):
        yield case(f"a step of {step:g}", "cubes", step * draw(2, 2), step)
    # Nor this step, nor have floats its square.
    yield case("a step of 1e-200", "line", 1e-200 * draw(2, 2), 1e-200)
    # Moved by 1, they are what they were: nothing is gained.
    yield case("numbers near 1e20, a step of 1", "cubes", 1e20 + draw(3), 1.0)
    one, weights = draw(1), draw(3)
    about = "three numbers that are one, by `expand`"
    yield case(about, "products", one, 0.1, weights, run=of_one_number)
    # Float32 has no number between 1 and 1 + 1e-7, and none between 1e9 and 1e9 + 60.
    fine = 1 + 1e-9 * draw(4)
    yield case("a step of 1e-8 near 1", "cubes", fine, 1e-8, tolerance=1e-5)
    yield case("numbers near 1e9", "line", 1e9 + 10 * draw(4), 1.0, tolerance=1e-5)
    for about, x in (
        ("", draw(2, 5)),
        (", a vector", draw(4)),
        (", no axes", draw()),
        (", three axes", draw(2, 2, 2)),
        (", not contiguous", draw(3, 2).T),
    ):
        yield case(f"fn takes away x itself{about}", "line", x, 0.2, knows_x=True)


numerical_gradient.rows("""
Is your slope that of the line through f(x) and f(x + eps), or through a point on either side of x?
Which of the two errors shrinks with eps squared?
    one-sided  below = fn(around) ; width = eps
    one-sided  above = fn(around) ; width = eps
Only one of your two points moved away from x. How far apart are they, and by what do you divide?
    one-sided-over-two-steps  below = fn(around)
    one-sided-over-two-steps  above = fn(around)
By what do you divide, and is it the way between the two points?
    divided-by-something-else  width = eps || eps / 2 || 2 * eps**2
    divided-by-something-else  slope = difference
    divided-by-something-else  width = 2
    divided-by-something-else  slope = difference * 2 * eps
    divided-by-something-else  width = 2 + eps
    divided-by-something-else  width = eps**2 || 4 * eps**2
Between which two points is the slope asked for, and how far is each from x? How often do you call `fn` for a number?
    five-points  difference = (8 * _ - fn(around + 2 * moved) + fn(around - 2 * moved)) / 6
    five-points  difference = (4 * _ - (fn(around + 2 * moved) - fn(around - 2 * moved)) / 2) / 3
What is 6 / 2 * 3 in Python? By what should you divide, all of it?
    multiplied-by-eps  slope = difference / 2 * eps
In which direction does the slope go if f grows?
    sign-turned  difference = below - above
    sign-turned  slope = -_
The caller chose a step. Which one do you take? With a large one the result is less exact, on purpose.
    eps-not-used  step = 1e-6 ; width = 2e-6
    eps-not-used  step = 1e-3 ; width = 2e-3
    eps-not-used  step = 1e-6 || 1e-4 || 1e-3
Print your two points, and x. How far is each of them from x, and by what do you divide?
    step-halved  step = eps / 2
    step-halved  step = eps / 2 ; width = eps
    step-doubled  step = 2 * eps
How many digits has a float32, and which is its smallest number? Take away two numbers that agree in most of them: what is left?
    single-precision  around = x.float() ; one = torch.zeros(x.numel())
    single-precision  one = torch.zeros(x.numel())
    single-precision  difference = above.float() - below.float()
    single-precision  difference = (above.float() - below.float()).double()
    single-precision  moved = _.float() ; around = x.float()
Which dtype has x? Of which one are the slopes where you gather them, and in the result?
    float32-at-the-end  gradient = _.float()
In the result, entry i is the slope by x[i] alone. What stays where it is while x[i] moves?
    all-moved-together  where = torch.ones(x.numel(), dtype=torch.bool)
    all-moved-together  where = torch.arange(x.numel()) <= i || torch.arange(x.numel()) >= i
    all-moved-together  gradient = (fn(x + eps) - fn(x - eps)) / width
    all-moved-together  gradient = (fn(x + eps) - fn(x)) / eps
Which index does your loop move, and to which does the slope belong?
    another-index-moved  where = torch.arange(x.numel()) == x.numel() - 1 - i
    another-index-moved  where = torch.arange(x.numel()) == (i + 1) % x.numel()
    another-index-moved  where = torch.arange(x.numel()) == 0
    another-index-moved  gradient = joined.reshape(tuple(reversed(x.shape))).permute(*range(x.ndim - 1, -1, -1))
How many numbers is `x[i]` if x is a matrix? And if x has no axes, or three? What gives the index of each
single number?
    several-at-once  where = torch.arange(x.numel()) // (n := x.numel() // (x.shape or [1])[0]) == i // n
    several-at-once  where = torch.arange(x.numel()) // (n := x.numel() // len(x)) == i // n
    several-at-once  where = torch.arange(x.numel()) % (n := x.shape[-1]) == i % n
    several-at-once  where = torch.arange(x.numel()) % (n := (x.shape or [1])[-1]) == i % n
    several-at-once  where = torch.arange(x.numel()) // (n := x.numel() // (x.shape[0] * x.shape[1])) == i // n
Your result is 0 everywhere. Do you ask autograd? It cannot look into `fn`. Or do you write into a copy?
    all-zeros  gradient = torch.zeros_like(x)
Which shape has x, and which has your result?
    flat-result  gradient = joined || joined.reshape(1, -1)
Entry (i, j) of the result belongs to entry (i, j) of x. In which order do you write, and in which do you read?
    transposed  gradient = _.mT if x.ndim > 1 else _
    transposed  gradient = joined.reshape(x.mT.shape).mT if x.ndim > 1 else _
How much does f change with x[0] alone, and how much with x[1]? How many slopes are there?
    a-single-number  gradient = joined.sum() || joined.norm()
`fn` knows x in its own shape. Which shape do you give it?
    flat-argument  above = fn((around + moved).flatten()) ; below = fn((around - moved).flatten())
One number of x moves. Does `fn` need that number, or all of x?
    a-number-instead-of-x  above = fn((around + moved).flatten()[i]) ; below = fn((around - moved).flatten()[i])
Does your step depend on how large x is? The caller's eps is the step.
    relative-step  moved = _ * x.abs() || _ * x
    relative-step  around = x * (1 + eps) ; width = 2 * eps
    relative-step  moved = _ * x.abs() ; width = _ * x.flatten()[i].abs()
    relative-step  moved = _ * x.abs().clamp(min=1) ; width = _ * x.flatten()[i].abs().clamp(min=1)
    relative-step  moved = _ * (1 + x.abs()) ; width = _ * (1 + x.flatten()[i].abs())
A slope can be negative. Which sign has yours?
    absolute  slope = _.abs()
`fn` cannot be followed by autograd: it gives values. How do values alone tell a slope?
    autograd-asked  slope = torch.autograd.grad(fn(around.detach().requires_grad_()), around)[0]
The function is called twice for each number. Which of its values do you return?
    values-returned  slope = above || (above + below) / width
You return a list. What makes one tensor of its numbers?
    a-list-of-numbers  gradient = _.tolist() || slopes
""")


def _one_by_one(slope):
    """Return an answer that moves the numbers of one copy: `slope(flat, i, eps, ask)` by number i."""

    def answer(fn, x, eps):
        flat = x.clone().reshape(-1)
        numbers = range(len(flat))
        slopes = [slope(flat, i, eps, lambda: fn(flat.reshape(x.shape))) for i in numbers]
        return torch.stack(slopes).reshape(x.shape)

    return answer


def _not_put_back(flat, i, eps, ask):
    flat[i] += eps
    above = ask()
    flat[i] -= 2 * eps
    return (above - ask()) / (2 * eps)


def _put_back_by_arithmetic(flat, i, eps, ask):
    slope = _not_put_back(flat, i, eps, ask)
    flat[i] += eps
    return slope


def _kept_as_a_view(flat, i, eps, ask):
    old = flat[i]
    flat[i] = old + eps
    above = ask()
    flat[i] = old - eps
    return (above - ask()) / (2 * eps)


numerical_gradient.mistake(
    "not-put-back",
    "You move one number, ask, and go on to the next. Where is the first one by then? Put each back where "
    "it was: to the bit, so keep it in a variable.",
)(_one_by_one(_not_put_back), _one_by_one(_put_back_by_arithmetic))
numerical_gradient.mistake(
    "kept-as-a-view",
    "From where does your number go down: from x, or from where it had gone up? What you keep of a tensor, as in "
    "`old = flat[i]`, is a view into it: what does it hold after you have written there?",
)(_one_by_one(_kept_as_a_view))


@numerical_gradient.mistake(
    "moved-in-x-itself",
    "You put each number back, but `fn` may know x too: what does it see meanwhile? In what else can you move it?",
)
def _(fn, x, eps):
    slopes = []
    for i in range(x.numel()):
        where = (torch.arange(x.numel()) == i).reshape(x.shape)
        before = x[where].clone()
        x[where] = before + eps
        above = fn(x)
        x[where] = before - eps
        slopes.append((above - fn(x)) / (2 * eps))
        x[where] = before
    return torch.stack(slopes).reshape(x.shape)


@numerical_gradient.mistake(
    "view-of-what-is-not-contiguous",
    "x may be a transposed matrix, and `zeros_like(x)` is one then, too: `view` refuses that. Which indices "
    "reach every number of a tensor without making it flat?",
)
def _(fn, x, eps):
    gradient = torch.zeros_like(x)
    for i in range(x.numel()):
        step = torch.zeros_like(x)
        step.view(-1)[i] = eps
        gradient.view(-1)[i] = (fn(x + step) - fn(x - step)) / (2 * eps)
    return gradient


@numerical_gradient.mistake(
    "written-into-a-copy",
    "Of a tensor that is not contiguous, `reshape` and `flatten` give a copy, and x may be a transposed matrix. "
    "Into what do you write?",
)
def _(fn, x, eps):
    gradient = torch.zeros_like(x)
    for i in range(x.numel()):
        step = torch.zeros(x.shape, dtype=x.dtype)
        step.reshape(-1)[i] = eps
        gradient.reshape(-1)[i] = (fn(x + step) - fn(x - step)) / (2 * eps)
    return gradient


numerical_gradient.drills(
    "flat-result, sign-turned, one-sided-over-two-steps, divided-by-something-else, step-halved, "
    "single-precision 1, one-sided"
)
