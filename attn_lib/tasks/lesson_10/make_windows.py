"""The task `make_windows`: what was known, and what came right after it."""

import torch

import attn_lib
from attn_lib.checks.authoring import Case, task


@task(
    lesson=10,
    points=2,
    insight="A series becomes a task when it is cut in time, and nothing of what comes later leaks in.",
    returns=("contexts", "targets"),
    library=attn_lib.make_windows,
    hints=[
        "Write the windows of the numbers 0 to 6 on paper, with a context of 3 and a horizon of 2. With which "
        "number does each window begin, and with which does the last one end?",
        "A window begins at i. At which number does its context end, and where do its targets begin and "
        "end? How many i are there, so that the last target is the last number?",
        "`torch.stack` makes one tensor of equal pieces. Or `unfold` cuts all windows of a series at once: "
        "how long is a window, and where do you part it?",
    ],
)
def make_windows(series, context_len, horizon):
    T = len(series)
    N = T - context_len - horizon + 1
    starts = torch.arange(N)[:, None]
    past = starts + torch.arange(context_len)
    future = starts + context_len + torch.arange(horizon)
    contexts = series[past]
    targets = series[future]
    return contexts, targets


@make_windows.other
def sliced(series, context_len, horizon):
    T = len(series)
    N = T - context_len - horizon + 1
    first = 0
    step = 1
    begins = [i + context_len for i in range(first, N, step)]
    ends = [i + horizon for i in begins]
    pasts = [series[i - context_len : i] for i in begins]
    futures = [series[i:j] for i, j in zip(begins, ends, strict=True)]
    contexts = torch.stack(pasts)
    targets = torch.stack(futures)
    return contexts, targets


@make_windows.cases
def _(rng):
    def case(about, T, context_len, horizon, *, dtype=torch.float32, step=1):
        series = torch.randn(T * step, generator=rng).cumsum(0).to(dtype)[::step]
        return Case(about, (series, context_len, horizon), grad=False, tolerance=1e-12)

    tens = torch.arange(5) * 10.0
    yield Case("five numbers, two known, one to come", (tens, 2, 1), grad=False)
    seven = torch.tensor([3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0])
    yield Case("seven numbers, three known, two to come", (seven, 3, 2), grad=False)
    yield Case("a single window", (tens, 3, 2), grad=False)
    yield case("all sizes different", 20, 7, 3)
    yield case("context as long as the horizon", 15, 4, 4)
    yield case("horizon longer than the context", 14, 2, 5)
    yield case("one number known", 9, 1, 3)
    yield case("one number known, one to come", 6, 1, 1)
    yield case("as many windows as numbers known", 10, 4, 3)
    yield case("as many windows as numbers to come", 9, 3, 4)
    yield case("a long context, a long horizon", 240, 140, 70)
    yield case("not contiguous", 12, 5, 2, step=2)
    yield case("float64, to its last digits", 12, 5, 2, dtype=torch.float64)
    exact = torch.randn(12, generator=rng, dtype=torch.float64)
    yield Case("float64, with all its digits", (exact, 5, 2), grad=False, tolerance=1e-15)
    large = 2**24 + torch.arange(9) ** 2
    yield Case("whole numbers beyond 2^24", (large, 3, 2), grad=False)
    yield case("two thousand numbers", 2000, 4, 1)
    turned = torch.randn(12, generator=rng)[1::2]
    yield Case("from another place of a longer series", (turned, 3, 1), grad=False)
    yield Case("whole numbers", (torch.arange(9) ** 2, 3, 2), grad=False)
    part = torch.randn(12, generator=rng)[4:]
    yield Case("a part of a longer series", (part, 3, 1), grad=False)
    level = torch.tensor([2.0, 2, 2, 2, 2, 2, 5, 5, 5])
    yield Case("numbers that stay the same for a while", (level, 4, 1), grad=False)
    missing = torch.tensor([torch.inf, 1, torch.nan, 3, -torch.inf, 5, torch.nan])
    yield Case("some numbers are nan or inf", (missing, 2, 1), grad=False)
    around_zero = torch.tensor([-1, 0, 1, -1, -1, 2, 0, -1], dtype=torch.int32)
    yield Case("int32, numbers around 0", (around_zero, 3, 1), grad=False)
    ends = torch.tensor([255, 0, 1, 255, 255, 0, 0], dtype=torch.uint8)
    yield Case("uint8, its smallest and largest numbers", (ends, 2, 2), grad=False)
    large = (2**60 + torch.arange(9) ** 2) * (-1) ** torch.arange(9)
    yield Case("whole numbers beyond 2^53", (large, 3, 2), grad=False)
    yield case("float16", 12, 5, 2, dtype=torch.float16)
    yield case("bfloat16, three hundred numbers", 300, 2, 1, dtype=torch.bfloat16)
    long = torch.arange(5100)
    yield Case("five thousand numbers", (long, 1, 1), grad=False, is_slow=True)
    long = (torch.arange(33_000) % 251).to(torch.uint8)  # more than int16 counts to
    yield Case("33 thousand numbers", (long, 1, 1), grad=False, is_slow=True)
    again = torch.tensor([2.0, 1.0, 3.0]).repeat(9)
    yield Case("three numbers, again and again", (again, 4, 2), grad=False)


make_windows.rows("""
The first target stands right behind the last number that is known. Which number of yours is in between?
    gap-before-the-targets  future = (_ + 1).clamp(max=len(series) - 1)
On the day of the forecast, which numbers are known? Compare the end of the first context with the first
target.
    future-in-the-context  past = _ + 1 || _ + horizon
    future-in-the-context  past = starts + torch.arange(context_len + 1)
    future-in-the-context  past = starts + torch.arange(context_len + horizon)
    future-in-the-context  past = starts + torch.arange(context_len + horizon - 1)
    future-in-the-context  pasts = [series[i - context_len : i + 1] for i in begins]
    future-in-the-context  pasts = [series[i - context_len : j] for i, j in zip(begins, ends)]
Which of your targets are known already? Compare the end of the first context with the first target.
    targets-overlap  future = _ - 1 || starts + torch.arange(horizon)
    targets-overlap  future = starts + torch.arange(context_len + horizon)
    targets-overlap  future = starts + torch.arange(horizon) + horizon
    targets-overlap  ends = [i + horizon - 1 for i in begins] ; futures = [series[i - 1 : j] for i, j in zip(begins, ends)]
    targets-overlap  N = _ + 1 ; future = _ - 1
A language model has a target for each place of its input. How many targets does a window have here, and where
do they begin?
    as-long-as-the-context  future = starts + 1 + torch.arange(context_len)
    as-long-as-the-context  future = starts + horizon + torch.arange(context_len)
    as-long-as-the-context  future = starts + context_len + torch.arange(context_len)
    as-long-as-the-context  futures = [series[i - context_len + 1 : i + 1] for i in begins]
Which number is in no context and no target of the first window, though it stands between them?
    gap  N = _ - 1 ; future = _ + 1
    gap  N = _ - 1 ; futures = [series[i + 1 : j + 1] for i, j in zip(begins, ends)]
    gap  N = _ - horizon ; future = _ + horizon
    gap  futures = [series[i + 1 : j + 1] for i, j in zip(begins, ends)]
How many of the targets of a window does yours have?
    targets-not-all  future = starts + context_len + horizon - 1 || starts + context_len
    targets-not-all  future = starts + context_len + torch.arange(horizon - 1)
    targets-not-all  N = _ + 1 ; future = starts + context_len + torch.arange(horizon - 1)
How many targets has each window, and how many axes have those of all windows?
    one-target-each  future = (starts + context_len + horizon - 1)[:, 0]
Is the last number of the series the last target of your last window? How many windows of 3 do 3 numbers have?
    last-window-missing  N = _ - 1 || max(_ - 1, 1)
    last-window-missing  begins = range(first, N, step) => range(first, N - 1, step)
    last-window-missing  N = _ - horizon || _ - context_len
How many windows of 3 do 3 numbers have? And where does your last window end?
    one-window-too-many  N = _ + 1 || T - context_len || T - horizon
    one-window-too-many  begins = range(first, N, step) => range(first, N + 1, step)
    one-window-too-many  begins = range(first, N, step) => range(first, T - context_len, step)
    one-window-too-many  begins = range(first, N, step) => range(first, T - horizon, step)
    one-window-too-many  begins = range(first, N, step) => range(first, T, step)
The first window begins at number 0. Where does the second one begin in yours, and where should it?
    windows-skipped  starts = torch.arange(0, N, horizon)[:, None]
    windows-skipped  starts = torch.arange(0, N, context_len)[:, None]
    windows-skipped  starts = torch.arange(0, N, context_len + horizon)[:, None]
    windows-skipped  starts = torch.arange(0, N, 2)[:, None]
    windows-skipped  step = horizon || context_len || context_len + horizon
With which number does the first window begin?
    first-window-missing  starts = torch.arange(1, N)[:, None]
    first-window-missing  first = 1
Time runs from left to right. In which order do your numbers stand, and in which order your windows?
    order-reversed  contexts = _.flip(-1)
    order-reversed  targets = _.flip(-1)
    order-reversed  contexts, targets = _.flip(-1) || _.flip(0)
    order-reversed  pasts = [p.flip(0) for p in _]
Which windows does a batch of yours hold? Are two of them different?
    the-same-window-again  starts = torch.zeros(N, 1, dtype=torch.long)
    the-same-window-again  starts = torch.full((N, 1), N - 1)
    the-same-window-again  future = context_len + torch.arange(horizon).expand(N, -1)
How many contexts have you, and how many targets? With the last context, what is there left to forecast?
    other-numbers-of-windows  contexts = series.unfold(0, context_len, 1)
    other-numbers-of-windows  contexts = series.unfold(0, context_len, 1)[:-1]
    other-numbers-of-windows  contexts = series.unfold(0, context_len, 1) ; targets = series.unfold(0, horizon, 1)
    other-numbers-of-windows  targets = series.unfold(0, horizon, 1)
How many numbers has one context of yours, and how many has one target? Count them in the smallest input.
    length-off-by-one  past = starts + torch.arange(context_len - 1)
    length-off-by-one  past = starts + 1 + torch.arange(context_len - 1)
    length-off-by-one  N = _ - 1 ; future = starts + context_len + torch.arange(horizon + 1)
Which of the two numbers says how long a context is, and which how long its targets are?
    lengths-exchanged  past = starts + torch.arange(horizon) ; future = starts + horizon + torch.arange(context_len)
Which of the two comes first, and which second?
    changed-places  return = targets, contexts
A context is (N, context_len), a target (N, horizon). How many axes have yours, and in which order?
    another-layout  contexts = _[..., None]
    another-layout  contexts, targets = _[..., None] || _.T || _.flatten()
With a horizon of 1, or a single window, how many axes have your targets? What does `squeeze` take away?
    squeezed  targets = _.squeeze() || _.squeeze(-1)
    squeezed  contexts, targets = _.squeeze()
You return lists. What makes one tensor of its pieces?
    lists  contexts, targets = _.tolist()
Two things are asked for. What makes the cut between them?
    not-parted  return = torch.cat([contexts, targets], 1) || list(zip(contexts, targets))
Which dtype goes in, and which comes out? Does the way through a list, or through `zeros`, keep it?
    dtype-changed  contexts, targets = _.float()
    dtype-changed  contexts = _.float()
    dtype-changed  contexts, targets = _.double() || torch.tensor(_.tolist())
`roll` by 1 moves each number to the next place. Which number stands then at place 0: the one after it, or the last one of
all?
    rolled-backwards  pasts = [torch.stack([series.roll(j)[i - context_len] for j in range(context_len)]) for i in begins] ; futures = [torch.stack([series.roll(j)[i - context_len] for j in range(context_len, context_len + horizon)]) for i in begins]
""")

make_windows.drills(
    "windows-skipped, targets-overlap 1, targets-not-all, as-long-as-the-context, squeezed, "
    "future-in-the-context 2, one-window-too-many 1"
)
