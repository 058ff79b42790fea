"""The task `RMSNorm`: each token divided by its root mean square."""

import torch
from torch import nn

from attn_lib import llama
from attn_lib.checks.authoring import Case, run_module, run_module_in_eval, task
from attn_lib.tasks.lesson_14.runs import nothing_more, run_once, state_of


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps):
        super().__init__()
        beginning = torch.ones(d_model)
        self.weight = nn.Parameter(beginning)
        self.eps = eps

    def forward(self, x):
        exact = x.float()
        squares = exact.square()
        mean = squares.mean(-1, keepdim=True)
        above_zero = mean + self.eps
        root = above_zero.sqrt()
        normed = exact / root
        rounded = normed.to(x.dtype)
        output = rounded * self.weight
        return output


rms_norm = task(
    lesson=14,
    points=2,
    insight="A LayerNorm without mean and bias: Llama does with less.",
    library=llama.RMSNorm,
    hints=[
        "Read the name backward: square every number of a token, take the mean of the squares, take the root of "
        "that. How many such roots are there for x (B, L, E), and what shape makes them fit to x?",
        "eps comes to the mean, before the root. Then divide, and multiply channel by channel with `weight`, an "
        "`nn.Parameter` of E ones.",
        "The square of 300 is too large for float16. In which dtype can you compute, whatever comes in, "
        "and which dtype goes out? At which place do you go back?",
    ],
)(RMSNorm)


@rms_norm.cases
def _(rng):
    def case(
        about,
        *shape,
        eps=1e-5,
        scale=1.0,
        offset=0.0,
        dtype=torch.float32,
        run=run_module,
        **kwargs,
    ):
        weight = 1 + 0.5 * torch.randn(shape[-1], generator=rng)
        x = torch.randn(shape, generator=rng) * scale + offset
        args = ((shape[-1], eps), {"weight": weight.to(dtype)}, x.to(dtype))
        return Case(about, args, run, **kwargs)

    one, two = torch.tensor([[[1.0, 7.0]]]), torch.tensor([[[1.0, 7.0], [-4.0, 0.0]]])
    weight = {"weight": torch.tensor([1.0, 2.0])}
    yield Case("one token, eps 0", ((2, 0.0), weight, one), run_module)
    yield Case("two tokens, a large eps", ((2, 11.0), weight, two), run_module)
    about = "a new module: its weight as it begins"
    yield Case(about, ((2, 11.0), {}, two), run_module, grad=False, tolerance=1e-6)
    kept = case("", 2, 5, 6).args
    yield Case("what it keeps", kept, state_of, grad=False, finish=nothing_more)
    yield case("all sizes different", 2, 5, 6)
    yield case("a mean far from zero", 2, 3, 5, offset=3.0)
    yield case("B = L = E", 3, 3, 3, offset=1.0)
    yield case("one channel", 2, 4, 1, eps=0.3)
    yield case("one token", 1, 1, 8)
    yield case("many channels", 2, 3, 576)
    yield case("x (L, E)", 4, 6, eps=0.1)
    yield case("x (B, H, L, D)", 2, 3, 4, 5, eps=0.1)
    yield case("six axes", 2, 1, 3, 2, 1, 5)
    yield case("x (E,)", 6, run=run_once)
    yield case("tiny numbers, eps 1e-6", 2, 3, 5, eps=1e-6, scale=1e-3)
    yield case("tiny numbers, eps 1e-5", 2, 3, 4, eps=1e-5, scale=3e-3)
    yield case("tiny numbers, eps 0", 2, 3, 4, eps=0.0, scale=1e-4)
    yield case("numbers near 1e-16, eps 0", 2, 3, 4, eps=0.0, scale=1e-16, grad=False)
    yield case("huge numbers", 2, 3, 5, scale=1e8)
    init, parameters, x = case("", 3, 4, 5).args
    x = x * torch.tensor([50.0, 1.0, 0.0, 0.02])[:, None]
    yield Case("tokens of very different lengths", (init, parameters, x), run_module)
    x = x.mT.contiguous().mT
    yield Case("not contiguous", (init, parameters, x), run_module)
    yield Case("in eval mode", kept, run_module_in_eval)
    yield case("float64", 2, 5, 6, dtype=torch.float64)
    half = {"dtype": torch.float16, "grad": False}
    yield case("float16, numbers near 1000", 2, 3, 6, scale=400.0, offset=1000.0, **half)
    yield case("float16, tiny numbers", 2, 3, 6, eps=1e-11, scale=1e-5, **half)
    token = torch.tensor([[[1.0, -2.0, 2.0]]], dtype=torch.float16) * 2**-24
    args = ((3, 0.0), {"weight": torch.ones_like(token[0, 0])}, token)
    about = "float16, the smallest numbers there are, eps 0"
    yield Case(about, args, run_module, grad=False)
    yield case("float16, numbers near 20,000", 2, 3, 6, scale=2e4, **half)
    # The length of such a token, too, is beyond float16.
    yield case("float16, many numbers near 2,000", 1, 2048, scale=1e2, offset=2e3, **half)
    about = "bfloat16, numbers near 1000"
    yield case(about, 2, 4, 6, scale=1e3, dtype=torch.bfloat16, grad=False)
    # In float32, all round to the same bfloat16. In bfloat16, the root is 182 instead of 181.2.
    token = torch.tensor([[[237.0, -40.0, -202.0]]], dtype=torch.bfloat16)
    args = ((3, 1e-5), {"weight": torch.ones_like(token[0, 0])}, token)
    about = "bfloat16, numbers whose squares need more digits"
    yield Case(about, args, run_module, grad=False, tolerance=2e-3)


rms_norm.rows("""
Add 5 to all numbers of a token. An RMSNorm sees another token then. Where does yours take the mean away?
    mean-subtracted  exact = x.float() - x.float().mean(-1, keepdim=True)
    mean-subtracted  squares = (exact - exact.mean(-1, keepdim=True)).square()
    mean-subtracted  normed = (exact - exact.mean(-1, keepdim=True)) / root
    mean-subtracted  mean = exact.var(-1, keepdim=True, unbiased=False)
Does eps come before the root is taken, or after? What does the task say?
    eps-outside-the-root  above_zero = mean ; root = mean.sqrt() + self.eps
    eps-outside-the-root  above_zero = mean ; root = mean.sqrt().clamp(min=self.eps)
    eps-outside-the-root  root = above_zero.sqrt() + self.eps
Which eps do you use: the one of `__init__`, and as it is?
    eps-not-the-given-one  above_zero = mean
    eps-not-the-given-one  eps = 1e-6 || 1e-5 || 1e-8
    eps-not-the-given-one  above_zero = mean + self.eps**2
    eps-not-the-given-one  eps = torch.finfo(torch.float32).eps
    eps-not-the-given-one  above_zero = mean + torch.finfo(x.dtype).eps
To the mean of which squares do you add eps: those of x, or of something that you divided before?
    eps-after-another-division  exact = x.float() / x.float().abs().amax(-1, keepdim=True)
    eps-after-another-division  exact = x.float() / x.float().norm(dim=-1, keepdim=True)
What is `0.0 or 1e-5` in Python? Which eps do you use if 0 is given?
    eps-not-the-given-one  eps = _ or 1e-5 || _ or 1e-6
The mean of the squares, with eps. Is eps added once, or once for each channel?
    eps-for-each-channel  squares = _ + self.eps ; mean = squares.sum(-1, keepdim=True) ; root = (mean / x.shape[-1] + self.eps).sqrt()
    eps-for-each-channel  mean = (squares.sum(-1, keepdim=True) + self.eps) / x.shape[-1] ; above_zero = mean
A token of E ones: which root has it, 1, or the root of E?
    sum-instead-of-mean  mean = squares.sum(-1, keepdim=True)
    sum-instead-of-mean  normed = F.normalize(exact, dim=-1)
A mean of n numbers divides by n. By what does yours?
    unbiased  mean = squares.sum(-1, keepdim=True) / (x.shape[-1] - 1)
    unbiased  mean = exact.var(-1, keepdim=True)
    unbiased  squares = (exact - exact.mean(-1, keepdim=True)).square() ; mean = exact.var(-1, keepdim=True) ; normed = (exact - exact.mean(-1, keepdim=True)) / root
Change one token. Does another one move? Over which axis is the mean of a token taken?
    over-other-tokens  mean = squares.mean(-2, keepdim=True)
    over-other-tokens  mean = squares.mean(1, keepdim=True) || squares.mean(0, keepdim=True)
    over-other-tokens  mean = squares.mean() || squares.mean((-1, -2), keepdim=True)
    over-other-tokens  mean = squares.mean(tuple(range(1, x.ndim)), keepdim=True)
Which axis is the last one of x (L, E), of x (B, L, E), and of x (B, H, L, E)? Which number fits all three?
    axis-counted-from-the-front  mean = squares.mean(2, keepdim=True)
    axis-counted-from-the-front  mean = squares.mean(tuple(range(2, x.ndim)), keepdim=True)
There is one root for each token. Which shape must all of them have, to fit to x (B, L, E)?
    axis-lost  mean = squares.mean(-1) || squares.mean(-1).unsqueeze(1)
What do you take the mean of: squares, sizes, or the numbers as they are?
    mean-of-something-else  squares = exact.abs() ; root = mean + self.eps
    mean-of-something-else  squares = exact.abs()
    mean-of-something-else  mean = exact.abs().mean(-1, keepdim=True).square()
    mean-of-something-else  mean = exact.mean(-1, keepdim=True).square()
    mean-of-something-else  mean = exact.abs().amax(-1, keepdim=True).square()
    mean-of-something-else  squares = exact
Twice as large a token should come out the same. What do you divide by: the mean of the squares, or its root?
    root-forgotten  root = above_zero
`rsqrt` is one divided by the root. Do you divide by the root, or multiply by it?
    multiplied-instead-of-divided  root = above_zero.rsqrt()
    multiplied-instead-of-divided  normed = exact * root || exact
The weight is learned, moved and saved with the module. What makes a parameter of a tensor?
    weight-is-no-parameter  weight = beginning
The weights are learned. Where are they in your `forward`?
    weight-not-used  output = rounded
Some models keep weight - 1 and multiply by 1 + weight. Does this one?
    one-plus-weight  output = rounded * (1 + self.weight)
    one-plus-weight  output = rounded * (1 + self.weight) ; beginning = torch.zeros(d_model)
What do you do with the weight: multiply by it, after the norm?
    weight-used-otherwise  output = rounded + self.weight || rounded / self.weight
    weight-used-otherwise  exact = x.float() * self.weight ; output = rounded
    weight-used-otherwise  exact = x.float() * self.weight
    weight-used-otherwise  output = rounded * self.weight.mean() || rounded * self.weight**2
What should come out of a new module: x normalized, as it is? Which weight does that?
    begins-otherwise  beginning = torch.randn(d_model) || torch.zeros(d_model)
    begins-otherwise  beginning = torch.rand(d_model)
Which shape has the weight: a number for each channel, and no more axes?
    weight-of-another-shape  beginning = torch.ones(1) || torch.ones(1, d_model)
    weight-of-another-shape  beginning = torch.ones(1, 1, d_model) || torch.ones(d_model, 1)
    weight-of-another-shape  beginning = torch.tensor(1.0)
What is the square of 300, and which is the largest number of float16? In which dtype do you compute?
    computed-in-half-precision  exact = x
    computed-in-half-precision  squares = x.square() || x.square().float()
    computed-in-half-precision  exact = x.half() || x.bfloat16()
    computed-in-half-precision  mean = _.to(x.dtype)
In which dtype is each of your steps, up to the last one? A float16 ends at 65504, a bfloat16 has 8 binary digits.
    computed-in-half-precision  exact = x if x.dtype == torch.bfloat16 else x.float()
    computed-in-half-precision  root = _.to(x.dtype)
    computed-in-half-precision  normed = exact * above_zero.rsqrt().to(x.dtype)
Give it float16: which dtype comes out, and which one should?
    dtype-changed  rounded = normed ; output = rounded * self.weight.float()
    dtype-changed  output = (rounded * self.weight).float()
    dtype-changed  rounded = normed
    dtype-changed  exact = x.double() ; rounded = normed
Nobody asked to add x here. Who will do that later?
    residual-added  output = _ + x
Is eps added to the mean, or does yours only stand in where the mean is smaller?
    eps-as-a-floor  above_zero = mean.clamp(min=self.eps)
eps can be 0, and 0 counts as False. What does `or`, or `if eps`, make of it? And what a None?
    zero-eps-replaced  above_zero = mean + (self.eps or torch.finfo(torch.float32).eps)
""")


@rms_norm.mistake(
    "bias-left-in",
    "LayerNorm has a weight and a bias, RMSNorm has only the weight: the file has no bias to load. Which other "
    "parameter or buffer does your module register?",
)
class _WithBias(RMSNorm):
    def __init__(self, d_model, eps):
        super().__init__(d_model, eps)
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        return super().forward(x) + self.bias


@rms_norm.mistake(
    "layer-norm",
    "A LayerNorm takes the mean of a token away, and adds a bias. What does an RMSNorm do with the two?",
)
class _LayerNorm(RMSNorm):
    def __init__(self, d_model, eps):
        super().__init__(d_model, eps)
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        return nn.functional.layer_norm(x, x.shape[-1:], self.weight, self.bias, self.eps)


@rms_norm.mistake(
    "three-axes-only",
    "x is (..., E). How many axes may it have, and for how many does your code work?",
)
class _OfThreeAxes(RMSNorm):
    def forward(self, x):
        _B, _L, _E = x.shape
        return super().forward(x)


rms_norm.drills(
    "weight-is-no-parameter, dtype-changed 2, sum-instead-of-mean, multiplied-instead-of-divided, axis-lost, "
    "over-other-tokens 3, mean-subtracted 1, weight-of-another-shape 2, axis-counted-from-the-front, "
    "computed-in-half-precision 1, eps-as-a-floor"
)
