"""The task `test_attention`: a test that catches wrong implementations, and lets right ones pass.

It is scored in steps, by hidden implementations; see hidden.py.
"""

import contextlib

import torch
import torch.nn.functional as F

from attn_lib.checks.case import Case
from attn_lib.checks.lesson_12.hidden import KINDS, hidden
from attn_lib.checks.lesson_12.runs import PRINTED, RETURNED, tested
from attn_lib.checks.observe import Outcome, walled_off
from attn_lib.checks.task import Mistake, task
from attn_lib.checks.trial import Trial
from attn_lib.checks.verdict import Verdict


@task(
    lesson=12,
    points=6,
    hints=[
        "Begin with one input and one number that you know: compute it by hand, or let "
        "`F.scaled_dot_product_attention` compute it. Which differences do you allow, and why not none?",
        "Now choose inputs on which mistakes show. Six different sizes; masks of several shapes, and one with a "
        "row of False only; scores above 100; float16. One loop can go over all of them.",
        "Numbers alone do not show whether gradients are right. `torch.autograd.gradcheck` asks for float64 "
        "inputs that require gradients, is quick with `fast_mode=True`, and raises by itself.",
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
    shared = torch.rand(B, 1, L, S) < 0.6
    masks = [None, each, dead, shared]
    far = 40.0
    inputs = [(q, k, v), (q * far, k, v), (q.half(), k.half(), v.half())]
    loose = 1e-2
    tight = 1e-4
    for given in inputs:
        for mask in masks:
            got = implementation(*given, mask)
            exact = [t.double() for t in given]
            want = F.scaled_dot_product_attention(exact[0], exact[1], exact[2], mask)
            tolerance = loose if got.dtype == torch.float16 else tight
            fits = got.shape == want.shape
            typed = got.dtype == given[0].dtype
            equal = ((got - want).abs() <= tolerance).all()
            right = fits and typed and equal
            assert right
    leaves = [t[:1, :2, :3, :2].double().requires_grad_() for t in (q, k, v)]
    last = dead[:1, :2, :3, :3]
    flows = torch.autograd.gradcheck(implementation, (*leaves, last), fast_mode=True)
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
    "Read what your test raised on a right implementation. Is it an error of the test itself? Or a "
    "difference: how large a one do you allow? Right ones that round otherwise differ by 1e-6 in float32, and "
    "by 1e-3 in float16.",
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


@test_attention.scored
def _(tried: Trial, outcomes: list[Outcome]) -> Verdict:
    """Count what the test caught and what it accused, by kinds."""
    task, accused = tried.task, [outcome.error is not None for outcome in outcomes]
    served = [case.serves for case in tried.cases]
    said: dict[
        tuple[str, str], list[bool]
    ] = {}  # of each wrong one: of all that do the same
    for one, is_accused in zip(served, accused, strict=True):
        if one.kind:
            said.setdefault((one.kind, one.name), []).append(is_accused)
    alarms = [
        o for one, o in zip(served, outcomes, strict=True) if not one.kind and o.error
    ]
    rights = len(served) - sum(map(len, said.values()))
    caught = {name: all(copies) for name, copies in said.items()}
    earned = points(sum(caught.values()) / len(caught), len(alarms))
    is_mixed = any(any(copies) and not all(copies) for copies in said.values())
    if earned == task.points:
        return Verdict(task.name, "passed", points=earned, max_points=task.points)
    by_kind = {kind: [c for (of, _), c in caught.items() if of == kind] for kind in KINDS}
    if is_mixed:
        earned, (id, question) = 0, SAYS_DIFFERENT_THINGS
    elif alarms:
        id, question = ACCUSES_RIGHT_ONES
    elif found := _recognized(tried, outcomes):
        id, question = found.id, found.question
    else:
        missed = {kind: of.count(False) / len(of) for kind, of in by_kind.items()}
        id, question = None, KINDS[max(missed, key=missed.__getitem__)][1]
    return Verdict(
        task.name,
        "wrong",
        mistake=id,
        evidence=_evidence(by_kind, alarms, rights, earned, task.points),
        question=question,
        printed=outcomes[0].printed,
        points=earned,
        max_points=task.points,
    )


def _evidence(
    by_kind: dict[str, list[bool]], alarms: list[Outcome], rights: int, earned: int, of: int
) -> str:
    """Say what was caught, what was not, by kinds, and what was accused that is right."""
    every = [caught for kind in by_kind.values() for caught in kind]
    text = (
        f"{earned} of {of} points: your test caught {sum(every)} of {len(every)} wrong "
        f"implementations, and accused {len(alarms)} of {rights} right ones.\nCaught, by kinds:"
    )
    for kind, caught in by_kind.items():
        text += f"\n  {kind:<24}{sum(caught)} of {len(caught)}"
    if alarms and alarms[0].error:
        text += f"\nOn a right one, it raised {alarms[0].error.explanation}"
    return text


def _recognized(tried: Trial, outcomes: list[Outcome]) -> Mistake | None:
    """Return the known mistake that catches just what this test catches."""
    numbers, silent = range(len(outcomes)), _silence(outcomes)

    def same(m: int) -> bool:
        if any(_raises(tried, m, i) != bool(outcomes[i].error) for i in numbers):
            return False
        return _silence([tried.mistaken((m,), i) for i in numbers]) == silent

    with walled_off():
        every = enumerate(tried.known.mistakes)
        return next((mistake for m, mistake in every if same(m)), None)


def _raises(tried: Trial, m: int, i: int) -> bool:
    return tried.mistaken((m,), i).error is not None


def _silence(outcomes: list[Outcome]) -> int:
    """Return what a test did instead, if it never raised an error: returned something, printed, nothing."""
    if any(outcome.error for outcome in outcomes):
        return 0
    does = {outcome.values[0] for outcome in outcomes}
    return RETURNED if RETURNED in does else PRINTED if PRINTED in does else 0


# ------------------------------------------------------------------------------- mistakes

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
    no-mask  masks = [None] ; flows = True
    no-mask  masks = [None] ; flows = True ; inputs = [(q, k, v)]
    no-mask  masks = [None] ; flows = True ; inputs = [(q, k, v), (q.half(), k.half(), v.half())]
You give it a mask. Of which shape? What if it is another one in each head, or sentence?
    one-shape-of-mask  each = torch.rand(L, S) < 0.6 ; shared = each ; last = dead[:3, :3]
    one-shape-of-mask  each = torch.rand(B, 1, 1, S) < 0.6 ; shared = each
    one-shape-of-mask  each = torch.ones(L, S).tril(S - L) > 0 ; shared = each ; last = dead[:3, :3]
    one-shape-of-mask  shared = each
In which of your masks may a query see nothing at all? What should it get?
    no-dead-row  empty = torch.arange(L)[:, None] == L
    no-dead-row  empty = torch.arange(L)[:, None] == L ; flows = True
    no-dead-row  masks = [None, each, shared] ; last = each[:1, :2, :3, :3]
Some implementations are right only if B or H is 1, or L = S, or D = Dv. Which of your sizes are equal?
If none: how small a difference do you let pass?
    equal-sizes  (B, H, L, S, D, Dv) = (1, 1, 4, 4, 5, 5)
    equal-sizes  (B, H, L, S, D, Dv) = (4, 4, 4, 4, 4, 4)
    equal-sizes  (B, H, L, S, D, Dv) = (2, 3, 4, 6, 5, 5)
What is exp(100) in float32? Which of your scores are as large as that?
    only-small-scores  far = 1.0
    only-small-scores  inputs = [(q, k, v), (q.half(), k.half(), v.half())]
Attention often runs in half precision. Does any of your inputs?
    only-float32  inputs = [(q, k, v), (q * far, k, v)]
    only-float32  inputs = [(q, k, v), (q * far, k, v)] ; flows = True
    only-float32  inputs = [(q, k, v)]
    only-float32  inputs = [(q, k, v)] ; flows = True
What would your test say of an implementation whose output has the right numbers, and from which no gradient
comes back?
    no-gradients  flows = True
Which difference do you allow, and how large are the numbers? Some mistakes are small.
    too-loose  tight = 1.0 ; loose = 1.0
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
    accuses-right-ones  tight = 0.0 ; loose = 0.0
    accuses-right-ones  tight = 1e-7 ; loose = 1e-7
    accuses-right-ones  loose = 1e-5
""")


@test_attention.mistake("nothing-is-wrong", NEVER_RAISES)
def _(implementation):
    with contextlib.suppress(Exception):
        test_attention.reference(implementation)


@test_attention.mistake(
    "returns-instead-of-raising",
    "Your test returns something. Who reads that? What does `assert` do that `return` does not?",
)
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
