"""The task `test_attention`: a test that catches wrong implementations, and lets right ones pass.

It is scored in steps, by hidden implementations; see hidden.py.
"""

import contextlib
from dataclasses import replace

import torch
import torch.nn.functional as F

from attn_lib.checks.authoring import Case, Mistake, task
from attn_lib.checks.scoring import Outcome, Trial, Verdict, walled_off
from attn_lib.tasks.lesson_12.hidden import KINDS, Refused, hidden
from attn_lib.tasks.lesson_12.runs import PRINTED, RETURNED, RETURNED_FALSE, tested


@task(
    lesson=12,
    points=6,
    insight="Right answers pass any test: a test is worth what it catches.",
    hints=[
        "Begin with one input and one number that you know: compute it by hand, or let "
        "`F.scaled_dot_product_attention` compute it. Which differences do you allow, and why not none?",
        "Now choose inputs on which mistakes show. Six different sizes, and once B = 1 and L = S; masks of every shape, "
        "with rows of False in all heads and in one; float32 with scores above 100 and below -100, float16 with "
        "ordinary ones. One loop can go over all.",
        "Numbers alone do not show whether gradients are right. `torch.autograd.gradcheck` sees that in float64 only. In "
        "any dtype, `torch.autograd.grad` gives those of the implementation, and those of the right one beside them.",
    ],
)
def test_attention(implementation):
    torch.manual_seed(0)
    (B, H, L, S, D, Dv) = (2, 3, 4, 6, 5, 7)
    q = torch.randn(B, H, L, D)
    k = torch.randn(B, H, S, D)
    v = torch.randn(B, H, S, Dv)
    each = torch.rand(B, H, L, S) < 0.6
    empty = torch.arange(L)[:, None] == 1  # a query that may see nothing
    dead = each & ~empty
    first = torch.arange(H)[:, None, None] == 0
    alone = each & ~(empty & first)  # it sees nothing in one head only
    shared = torch.rand(B, 1, L, S) < 0.6
    padding = torch.rand(B, 1, 1, S) < 0.6
    by_head = torch.rand(H, L, S) < 0.6
    plain = torch.rand(L, S) < 0.6
    masks = [None, each, dead, alone, shared, padding, by_head, plain]
    far = 40.0
    low = (-(q.abs() + 1) * far / 2, k.abs() + 1, v)  # all scores far below 0
    half = [t.half() for t in (q, k, v)]
    double = [t.double() for t in (q, k, v)]
    inputs = [(q, k, v), (q * far, k, v), low, half, double]
    few = [t[:1, :, :4] for t in (q, k, v)]  # B = 1, L = S
    pairs = [*((given, mask) for given in inputs for mask in masks), (few, None)]
    loose = 1e-2
    tight = 1e-4
    least = 1e-10
    for given, mask in pairs:
        got = implementation(*given, mask)
        exact = [t.double() for t in given]
        want = F.scaled_dot_product_attention(exact[0], exact[1], exact[2], mask)
        digits = {torch.float16: loose, torch.float32: tight}
        tolerance = digits.get(got.dtype, least)
        fits = got.shape == want.shape
        typed = got.dtype == given[0].dtype
        equal = ((got - want).abs() <= tolerance).all()
        right = fits and typed and equal
        assert right
    last = dead
    trained = [half, (q, k, v), double]
    for given in trained:
        mine = [t.clone().requires_grad_() for t in given]
        theirs = [t.double().requires_grad_() for t in given]
        ours = implementation(*mine, last)
        known = F.scaled_dot_product_attention(theirs[0], theirs[1], theirs[2], last)
        ways = torch.autograd.grad(ours.sin().sum(), mine)
        right_ways = torch.autograd.grad(known.sin().sum(), theirs)
        slack = 0.05 if given is half else 1e-3
        gaps = [(a - b).abs().max() for a, b in zip(ways, right_ways, strict=True)]
        flows = all(gap <= slack for gap in gaps)
        assert flows


@test_attention.cases
def _(rng):
    seed = int(torch.randint(1 << 31, (), generator=rng))
    for one in hidden(seed):
        yield Case("one of the hidden implementations", (), tested, grad=False, serves=one)


# ------------------------------------------------------------------------------ the points

FALSE_ALARM = 2  # points that each right implementation that is accused takes away

SAYS_DIFFERENT_THINGS = (
    "remembers",
    "Your test accused an implementation, and let another one pass that computes the same but for rounding. "
    "What does it remember from one call to the next?",
)
ACCUSES_RIGHT_ONES = (
    "accuses-right-ones",
    "Read what your test raised on a right implementation. What does your test take for right there: is it what task 2 "
    "promises, also for a query that may see nothing? Is it an error of the test itself? Or a difference: how large a one "
    "do you allow? Right ones that round otherwise differ by 1e-3 in float16, 1e-6 in "
    "float32 and 1e-15 in float64, times the largest score if that is above 1.",
)
INPUT_REFUSED = (
    "input-refused",
    "No implementation gets this input, right or wrong: it is too large, or the task promises nothing of it. "
    "Which call of your test makes it?",
)
RETURNS = (
    "returns-instead-of-raising",
    "Your test returned something, such as False, and raised nothing. Who reads that? Write `assert`.",
)


NUMBERS = (
    "scale",
    "softmax",
)  # kinds of which every one gives other numbers on almost any input
NO_NUMBERS = (
    "numbers-not-asserted",
    "Wrong numbers pass, whatever they are. Which line compares the result with the right numbers, and can its `assert` fail? "
    '`torch.allclose` alone says True or False to nobody, `assert (..., "text")` holds of every pair, and one in a `try` '
    "may not be heard.",
)

NEVER_RAISES = (
    "No implementation ever makes your test raise an error. Does it `assert`, outside of any "
    "`try`? Let it test a function that returns zeros."
)


def points(caught: float, alarms: int) -> int:
    """Return what a test is worth: a point for half of the wrong ones, and one for each tenth more.

    Args:
        caught: the share of wrong implementations that it accuses.
        alarms: how many right ones it accuses.
    """
    return max(0, int(10 * caught + 1e-9) - 4 - FALSE_ALARM * alarms)


# What a refused input is told, by way of autograd.
REFUSED = f"RuntimeError: {Refused.__name__}: "


class _Count:
    """The implementations that a test caught, and those that it accused.

    Attributes:
        caught: whether each wrong implementation was caught, all of its copies, by kind and name.
        alarms: what the test did to the right ones that it accused.
        rights: how many right ones there are.
        is_mixed: whether it said different things about copies.
    """

    def __init__(self, tried: Trial, outcomes: list[Outcome]):
        said: dict[tuple[str, str], list[bool]] = {}  # of each, of all its copies
        self.alarms: list[Outcome] = []
        for case, outcome in zip(tried.cases, outcomes, strict=True):
            key = case.serves.kind, case.serves.name
            said.setdefault(key, []).append(outcome.error is not None)
            if not case.serves.kind and outcome.error:
                self.alarms.append(outcome)
        self.rights = len(said.pop(("", "right")))
        self.caught = {key: all(copies) for key, copies in said.items()}
        self.is_mixed = any(any(copies) and not all(copies) for copies in said.values())

    @property
    def points(self) -> int:
        share = sum(self.caught.values()) / len(self.caught)
        return 0 if self.is_mixed else points(share, len(self.alarms))

    def by_kind(self) -> dict[str, list[bool]]:
        """Return what was caught of each kind."""
        return {
            kind: [caught for (of, _), caught in self.caught.items() if of == kind]
            for kind in KINDS
        }

    @property
    def is_refused(self) -> bool:
        """Whether the check refused an input of the test."""
        return any(_is_refusal(alarm) for alarm in self.alarms)

    def text(self, of: int) -> str:
        """Say what was caught, what was not, by kinds, and what was accused that is right."""
        earned = f"{self.points} of {of} points:"
        if len(self.alarms) == self.rights:  # what it catches says nothing then
            on = "all right implementations"
            if all(self.caught.values()):
                on = "every implementation, the right ones too"
            return f"{earned} your test raises on {on}.\n{self._an_alarm()}"
        caught = f"{sum(self.caught.values())} of {len(self.caught)} wrong implementations"
        lines = [
            f"{earned} your test caught {caught}, and accused "
            f"{len(self.alarms)} of {self.rights} right ones.",
            "Caught, by kinds:",
        ]
        for kind, those in self.by_kind().items():
            lines.append(f"  {kind:<24}{sum(those)} of {len(those)}")
        return "\n".join([*lines, self._an_alarm()] if self.alarms else lines)

    def _an_alarm(self) -> str:
        alarm = max(self.alarms, key=_is_refusal)
        assert alarm.error is not None
        said = alarm.error.explanation
        if _is_refusal(alarm):
            return f"The check refused an input: {said.removeprefix(REFUSED)}"
        return f"On a right one, it raised {said}"


def _is_refusal(outcome: Outcome) -> bool:
    return outcome.error is not None and outcome.error.explanation.startswith(REFUSED)


@test_attention.scored
def _(tried: Trial, outcomes: list[Outcome]) -> Verdict:
    """Give points for what was caught, and ask about what was not."""
    task, count = tried.task, _Count(tried, outcomes)
    earned = Verdict(task.name, "wrong", points=count.points, max_points=task.points)
    if count.points == task.points:
        return replace(earned, status="passed")
    id, question = _asked(tried, outcomes, count)
    return replace(
        earned,
        mistake=id,
        evidence=count.text(task.points),
        question=question,
        printed=outcomes[0].printed,
    )


def _asked(tried: Trial, outcomes: list[Outcome], count: _Count) -> tuple[str | None, str]:
    """Return the id of a mistake, or None, and the question that leads out of it."""
    if count.is_mixed:
        return SAYS_DIFFERENT_THINGS
    if count.is_refused:
        return INPUT_REFUSED
    if count.alarms:
        return ACCUSES_RIGHT_ONES
    if any(_said(o) == RETURNED_FALSE for o in outcomes) or _silence(outcomes) == RETURNED:
        return RETURNS
    if found := _recognized(tried, outcomes):
        return found.id, found.question
    missed = [caught for (kind, _), caught in count.caught.items() if kind in NUMBERS]
    if not any(missed):
        return NO_NUMBERS
    share_missed = {kind: of.count(False) / len(of) for kind, of in count.by_kind().items()}
    most = max(share_missed, key=share_missed.__getitem__)
    return None, KINDS[most][1]


def _recognized(tried: Trial, outcomes: list[Outcome]) -> Mistake | None:
    """Return the known mistake that catches just what this test catches."""
    numbers, silent = range(len(outcomes)), _silence(outcomes)

    def is_same(m: int) -> bool:
        if any(_raises(tried, m, i) != bool(outcomes[i].error) for i in numbers):
            return False
        return _silence([tried.mistaken((m,), i) for i in numbers]) == silent

    with walled_off():
        every = enumerate(tried.known.mistakes)
        return next((mistake for m, mistake in every if is_same(m)), None)


def _raises(tried: Trial, m: int, i: int) -> bool:
    return tried.mistaken((m,), i).error is not None


def _said(outcome: Outcome) -> int | None:
    """Return the number that `tested` returns, if it is one: from a sandbox anything may come."""
    value = outcome.values[0] if len(outcome.values) == 1 else None
    return value if type(value) is int else None


def _silence(outcomes: list[Outcome]) -> int:
    """Return what a test did instead, if it never raised an error: returned something, printed, nothing."""
    if any(outcome.error for outcome in outcomes):
        return 0
    does = set(map(_said, outcomes))
    return RETURNED if RETURNED in does else PRINTED if PRINTED in does else 0


test_attention.rows("""
How many implementations have the right shape, and are wrong all the same? What else can you know of
the result?
    only-the-shape  right = fits ; flows = True
    only-the-shape  right = fits and typed ; flows = True
Wrong numbers are finite, too. With what do you compare them?
    only-finite  right = got.isfinite().all() ; flows = True
    only-finite  right = fits and typed and got.isfinite().all() ; flows = True
A law that wrong implementations obey as well proves little. Put ones into v: which mistakes still
give ones? With which numbers could you compare?
    only-the-sum  right = fits and ((implementation(given[0], given[1], torch.ones_like(given[2]), mask) - (1.0 if mask is None else mask.any(-1, keepdim=True).float().expand(B, H, L, 1))).abs() < 1e-2).all() ; flows = True
Is there a call with a mask in your test? A right answer without one says nothing about it.
    no-mask  masks = [None] ; last = None
    no-mask  masks = [None] ; last = None ; inputs = [(q, k, v)]
    no-mask  masks = [None] ; trained = []
    no-mask  masks = [None] ; trained = [] ; inputs = [(q, k, v)]
    no-mask  masks = [None] ; trained = [] ; inputs = [(q, k, v), half]
You give it a mask. Of which shape? What if it is another one in each head, or sentence?
    one-shape-of-mask  each = torch.rand(L, S) < 0.6 ; masks = [None, each, dead]
    one-shape-of-mask  each = torch.rand(B, 1, 1, S) < 0.6 ; masks = [None, each, dead]
    one-shape-of-mask  each = torch.ones(L, S).tril(S - L) > 0 ; masks = [None, each, dead]
    one-shape-of-mask  masks = [None, each, dead, alone] || [None, each, dead, alone, shared]
    one-shape-of-mask  by_head = each || shared
    one-shape-of-mask  plain = each ; padding = each
    one-shape-of-mask  plain = each || by_head
    one-shape-of-mask  padding = each || shared
In which of your masks may a query see nothing at all? What should it get?
    no-dead-row  empty = torch.arange(L)[:, None] == L
    no-dead-row  empty = torch.arange(L)[:, None] == L ; trained = []
    no-dead-row  masks = [None, each, shared, padding, by_head, plain] ; last = each
Your query that may see nothing does so in all heads. What if it is one head, and the others see something?
    dead-row-in-all-heads  alone = dead
Some implementations are right only if B or H is 1, or L = S, or D = Dv. Which of your sizes are equal?
If none: how small a difference do you let pass?
    equal-sizes  (B, H, L, S, D, Dv) = (1, 1, 4, 4, 5, 5) || (4, 4, 4, 4, 4, 4)
    equal-sizes  (B, H, L, S, D, Dv) = (2, 3, 4, 6, 5, 5)
Some mistakes show only where a size is 1, or where L = S. On which of your inputs is that so?
    only-different-sizes  few = [q, k, v]
What is exp(100) in float32? Which of your scores are as large as that?
    only-small-scores  far = 1.0
    only-small-scores  inputs = [(q, k, v), half]
Your scores are far above 0, or on either side of it. What if all of them are below -100: which key wins then, if a
forbidden one was given -100?
    no-low-scores  low = (q, k, v)
Attention often runs in half precision. Does any of your inputs?
    only-float32  inputs = [(q, k, v), (q * far, k, v)]
    only-float32  inputs = [(q, k, v), (q * far, k, v)] ; trained = []
    only-float32  inputs = [(q, k, v)] || [(q, k, v), (q * far, k, v), low]
    only-float32  inputs = [(q, k, v)] ; trained = []
What would your test say of an implementation whose output has the right numbers, and from which no gradient
comes back?
    no-gradients  trained = []
In which dtypes do you ask for gradients? What if half of one comes back in float16, or a nan in float32?
    gradients-in-one-dtype  trained = [double] || [(q, k, v)] || [(q, k, v), double]
Which difference do you allow, and how large are the numbers? Some mistakes are small.
    too-loose  tight = 1.0 ; loose = 1.0 ; least = 1.0
""")
test_attention.rows(f"""
{NEVER_RAISES}
    nothing-is-wrong  want = got.double() ; right = True ; flows = True
    nothing-is-wrong  want = implementation(*given, mask).double() ; flows = True ; typed = True ; equal = True ; fits = True
{ACCUSES_RIGHT_ONES[1]}
    accuses-right-ones  right = False
    accuses-right-ones  fits = got.shape == q.shape
    accuses-right-ones  each = torch.rand(B, H, L, S)
    accuses-right-ones  want = implementation(*given)
    accuses-right-ones  tight = 0.0 ; loose = 0.0 ; least = 0.0
    accuses-right-ones  tight = 1e-7 ; loose = 1e-7
    accuses-right-ones  loose = 1e-5
""")


@test_attention.mistake("nothing-is-wrong", NEVER_RAISES)
def _(implementation):
    with contextlib.suppress(Exception):
        test_attention.reference(implementation)


@test_attention.mistake(*RETURNS)
def _(implementation):
    try:
        test_attention.reference(implementation)
    except Exception:
        return False
    return True


@test_attention.mistake(
    "prints-instead-of-raising",
    "Your test prints, and ends well. Who reads that when a thousand tests run at night? Which statement "
    "stops a test?",
)
def _(implementation):
    try:
        test_attention.reference(implementation)
    except Exception:
        print("wrong")
