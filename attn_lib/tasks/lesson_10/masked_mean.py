"""The task `masked_mean`: one vector for a text, of its real tokens only."""

import torch

import attn_lib
from attn_lib.checks.authoring import Case, task


@task(
    lesson=10,
    points=2,
    insight="A mean is a sum and a count, and pads may be in neither.",
    library=attn_lib.masked_mean,
    hints=[
        "A mean is a sum divided by a count. Which of the two must the mask change, and how?",
        "h is (B, L, E), the mask (B, L): give it an axis of size 1, where the channels are, so that they meet. "
        "The count is one number for each text, not one for the batch.",
        "What is the count of a text of nothing but padding, and what do you divide by then? Which smallest "
        "divisor changes nothing for all other texts?",
    ],
)
def masked_mean(h, mask):
    real = mask[..., None]  # (B, L, 1)
    cleared = h.masked_fill(~real, 0.0)
    total = cleared.sum(1)
    count = mask.sum(1, keepdim=True)
    divisor = count.clamp(min=1)
    mean = total / divisor
    return mean


@masked_mean.cases
def _(rng):
    def drawn(about, E, text, *, dtype=torch.float32, change=lambda h, mask: h, **options):
        """A case with a mask that is drawn: a group of x (real) and . (pad) for each text."""
        mask = torch.tensor([[c == "x" for c in row] for row in text.split()])
        h = torch.randn(*mask.shape, E, generator=rng) + 0.5
        return Case(about, (change(h, mask).to(dtype), mask), **options)

    def given(about, h, mask):
        return Case(about, (torch.tensor(h), torch.tensor(mask)))

    yes, no = True, False
    words = [[2.0, 4.0], [6.0, -2.0], [1.0, 7.0]]
    yield given("three tokens, the last one is a pad", [words], [[yes, yes, no]])
    yield given("three tokens, the first one is a pad", [words], [[no, yes, yes]])
    about = "two texts, of two tokens and of one"
    two = [[[2.0, 4.0], [6.0, -2.0]], [[1.0, 3.0], [5.0, 5.0]]]
    yield given(about, two, [[yes, yes], [yes, no]])
    yield given("nothing but padding", [words], [[no, no, no]])
    zero = [[0.0, 0.0], *words[1:]]
    yield given("a real token of zeros", [zero], [[yes, yes, no]])
    yield drawn("all sizes different", 4, "xxxxx xx... xxx..")
    yield drawn("pads anywhere", 4, "..xxx x.x.x .x...")
    yield drawn("no padding", 4, "xxxxx xxxxx xxxxx")
    yield drawn("one text", 4, "xxx..", grad=False)
    yield drawn("B = L = E", 3, "xxx x.. .xx", grad=False)
    yield drawn("one token each", 4, "x . x", grad=False)
    yield drawn("one channel", 1, "xxx. x..x", grad=False)
    yield drawn("nothing but padding beside real tokens", 3, "xx.. .... xxx.")
    zeros = lambda h, mask: h * (torch.arange(h.shape[1]) % 2)[:, None]  # noqa: E731
    yield drawn("real tokens of zeros", 3, "xxxx xxx.", change=zeros, grad=False)
    ahead = lambda h, mask: -h.abs() - 1  # noqa: E731
    yield drawn("all numbers negative", 3, "xxxx. xx...", change=ahead, grad=False)
    huge = lambda h, mask: h.masked_fill(~mask[..., None], 1e30)  # noqa: E731
    yield drawn("pads hold 1e30", 3, "xxx.. x.x.. .....", change=huge)
    most = torch.finfo(torch.float32).max
    signs = (-1.0) ** torch.arange(5)[:, None]
    limits = lambda h, mask: torch.where(mask[..., None], h, most * signs)  # noqa: E731
    yield drawn("pads as large as float32 allows", 3, ".xx.. x.x.. .....", change=limits)
    large = lambda h, mask: torch.where(mask[..., None], 1e35 * h, h)  # noqa: E731
    yield drawn("real tokens of 1e35, pads of 1", 3, "xxx. x.x.", change=large)
    h, mask = torch.randn(3, 4, 2, generator=rng), torch.rand(4, 3, generator=rng) < 0.6
    yield Case("a mask that is not contiguous", (h, mask.T))
    strided = lambda h, mask: h.mT.contiguous().mT  # noqa: E731
    yield drawn("not contiguous", 3, "xxx. x.x.", change=strided, grad=False)
    about, text = "float64, to its last digits, pads hold 1e300", "xxx. x... ...."
    exact = lambda h, mask: torch.where(mask[..., None], h.double() / 3, 1e300)  # noqa: E731
    yield drawn(about, 3, text, dtype=torch.float64, change=exact, tolerance=1e-12)
    long = f"{'x' * 33_334} {'x.' * 16_667}"
    # With three channels: a mask without its axis raises there, and makes no (L, L).
    yield drawn("thirty thousand tokens", 3, long, grad=False, is_slow=True)
    for dtype in (torch.float16, torch.bfloat16):
        long = f"{dtype}, nine hundred tokens".removeprefix("torch.")
        yield drawn(
            long, 1, "x" * 900, dtype=dtype, change=lambda h, _: h.abs(), grad=False
        )
        about = f"{dtype}, three hundred texts".removeprefix("torch.")
        yield drawn(about, 2, f"{text} " * 100, dtype=dtype, grad=False)
    h = torch.full((2, 4096, 1), 2e-4, dtype=torch.float16)
    mask = torch.stack([torch.arange(4096) == 7, torch.ones(4096, dtype=torch.bool)])
    about = "float16, small numbers, one and 4,096 real tokens"
    yield Case(about, (h, mask), grad=False, is_slow=True)
    # There float16 has whole numbers in steps of 4.
    about, half = "float16, more than four thousand tokens", torch.float16
    options = dict(dtype=half, change=lambda h, _: h.abs(), grad=False, is_slow=True)
    yield drawn(about, 1, "x" * 4200, **options)


masked_mean.rows("""
Change a pad of yours: does the mean move? Which of its two halves, sum and count, do you keep clear of pads?
    pads-averaged  mean = h.mean(1)
    pads-added-up  cleared = h
    pads-counted  divisor = h.shape[1]
    pads-counted  count = h.new_full((len(h), 1), h.shape[1])
No softmax follows here. What must a pad add to a sum, so that it adds nothing?
    pads-far-below-zero  cleared = h.masked_fill(~real, -1e9)
    pads-far-below-zero  cleared = h.masked_fill(~real, -torch.inf)
By which number is each text divided? Is that the count of its own real tokens, or of something else?
    one-count-for-all  count = mask.sum() || mask.sum(1).max() || mask.sum(1).float().mean()
Each text has a vector of its own. Over the tokens of how many texts is your mean?
    one-mean-for-all  mean = h[mask].mean(0) || h[mask].mean(0).expand(len(h), -1)
    one-mean-for-all  mean = (cleared.sum((0, 1)) / mask.sum().clamp(min=1)).expand(len(h), -1)
    one-mean-for-all  mean = _.mean(0, keepdim=True).expand(len(h), -1)
Write every token of a text twice: should its vector double? By which number is the sum of each text divided?
    sum-not-mean  mean = total
What grows with the length of a text in yours? Divide the sum of n equal tokens, and see what is left.
    divided-by-the-root  divisor = count.clamp(min=1).sqrt()
By which number do you divide, and how many real tokens are there? Take a text of one token.
    count-off-by-one  divisor = count + 1 || (count - 1).clamp(min=1)
Can the vector of a real token be zero, or that of a pad be something else? Who knows which tokens are real?
    zeros-taken-for-pads  real = (h != 0).any(-1, keepdim=True) ; count = (h != 0).any(-1).sum(1, keepdim=True)
    zeros-taken-for-pads  count = (cleared != 0).any(-1).sum(1, keepdim=True)
    zeros-taken-for-pads  cleared = h ; count = (h != 0).any(-1).sum(1, keepdim=True)
Which number of all tokens do you keep? The mean of 2 and 6 is 4.
    maximum  mean = cleared.amax(1) || h.masked_fill(~real, -torch.inf).amax(1) || h.amax(1)
Do you take one token for all? Change another one.
    one-word-for-all  mean = h[:, 0] || h[:, -1] || h[torch.arange(len(h)), mask.sum(1) - 1]
How many real tokens has a text, and how many numbers are in them?
    channels-counted  count = mask.sum(1, keepdim=True) * h.shape[-1]
A text of nothing but padding is a text. How many rows has your result, and which one is missing?
    nothing-left-out  mean = _[mask.any(1)]
A text of nothing but padding: which tokens does your mean have there, and which should it have?
    nothing-becomes-everything  real = (mask | ~mask.any(1, keepdim=True))[..., None] ; count = real.sum(1)
What is 0 / 0, and which text has no real token?
    nan-for-nothing  divisor = count
    nan-for-nothing  mean = torch.stack([one[real_one].mean(0) for one, real_one in zip(h, mask)])
Between two real tokens there may be a pad. Does yours leave it out, or everything before the first real one and after the
last?
    one-block-of-real-ones  real = ((mask.long().cumsum(1) > 0) & (mask.long().flip(1).cumsum(1).flip(1) > 0))[..., None] ; count = ((mask.long().cumsum(1) > 0) & (mask.long().flip(1).cumsum(1).flip(1) > 0)).sum(1, keepdim=True)
How many pads has a text, and where do they stand? Put one in front: which token does yours leave out?
    pads-assumed-at-the-end  real = mask.long().cumprod(1).bool()[..., None] ; count = mask.long().cumprod(1).sum(1, keepdim=True)
    pads-assumed-at-the-end  real = (torch.arange(h.shape[1]) < mask.sum(1, keepdim=True))[..., None]
You add the pads and take them away again. How much is left of 1 in float32, after 1e30 was added?
    pads-subtracted  total = h.sum(1) - (h * ~real).sum(1)
What does True promise in this mask: a real token, or a pad? And which cells does `masked_fill` change?
    inverted  cleared = ~real => real
    inverted  cleared = ~real => real ; count = (~mask).sum(1, keepdim=True)
    inverted  count = (~mask).sum(1, keepdim=True)
The result is (B, E): which of the three axes of h must go?
    wrong-axis  total = cleared.sum(0) || cleared.sum(-1)
    wrong-axis  mean = cleared.sum(0) / mask.sum(0)[:, None].clamp(min=1)
    wrong-axis  mean = h.masked_fill(~real, 0.0).sum((0, 1)) / mask.sum().clamp(min=1)
A sum with `keepdim` leaves an axis of size 1. What meets what when you divide, and which shape comes out?
    axis-left-over  total = cleared.sum(1, keepdim=True)
    axis-left-over  mean = _[:, None]
Line the count up with (B, E) from the right. Which axis does its B meet?
    count-along-the-channels  count = mask.sum(1) || mask.sum(0)
Line the mask up with (B, L, E) from the right. Which axis does its L meet?
    mask-without-an-axis  real = mask || mask[:, None]
    mask-without-an-axis  cleared = h * mask || h * mask[:, None]
With one text, or one channel, how many axes has your result? What does `squeeze` take away?
    squeezed  mean = _.squeeze()
Which dtype goes in, and which comes out? A count is float32 after `.float()`, or with a tiny number in it: what
becomes of a float16 that is divided by that?
    dtype-changed  divisor = count.float().clamp(min=1)
    dtype-changed  mean = _.float()
    dtype-changed  cleared = h.float() * real.float() ; divisor = count.float().clamp(min=1)
    dtype-changed  cleared = h * real.float() ; divisor = count.float() + 1e-9
What is 1e-9 in float16? Does it still keep you from dividing by 0?
    tiny-in-float16  divisor = count.to(h.dtype).clamp(min=1e-9)
What is 0 * -inf? Print what you add, for a real token.
    zero-times-inf  mean = ((((~mask).to(h.dtype) * -torch.inf).softmax(1).nan_to_num(0.0))[..., None] * h.masked_fill(~real, 0.0)).sum(1)
Which weight has a pad in your softmax, and which one should it have? What is exp(0)?
    softmax-of-the-mask  mean = (mask.to(h.dtype).softmax(1)[..., None] * h).sum(1).masked_fill(~mask.any(1, keepdim=True), 0.0)
What does a pad add to your sum? Which number may be added without changing it?
    pads-filled-with-ones  cleared = h.masked_fill(~real, 1.0)
""")

masked_mean.drills(
    "inverted, wrong-axis 1, nan-for-nothing, one-count-for-all, count-off-by-one, count-along-the-channels, "
    "mask-without-an-axis 1, axis-left-over, tiny-in-float16"
)
