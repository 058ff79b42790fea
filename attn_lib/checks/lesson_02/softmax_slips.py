"""The mistakes that `masked_softmax` and `masked_attention` share.

Both have the lines `allowed`, `forbidden`, `hidden`, `weights` and `kept`, and `scores`.
"""

from attn_lib.checks.task import Task

TOTAL = "(total := e.sum(-1, keepdim=True))"
LEFT = "(left := weights * allowed) / (left.sum(-1, keepdim=True)"
WITH_INF = "scores + forbidden.to(scores) * -torch.inf"
ADDITIVE = "scores + torch.zeros(allowed.shape).masked_fill(forbidden, -torch.inf)"

FULL_ROW = (
    "In a row that may see nothing, what do the exponentials add up to, and what is 0 / 0? Does your "
    "code see to every such row?"
)
EPSILON = (
    "Let a forbidden score be far above all others. How large is what your mask leaves over, beside "
    "your epsilon? Can the mask act before the softmax?"
)
OVERFLOW = (
    "What is the exp of a score of 150, and of -150? Lesson 01 subtracted something first: which "
    "maximum is it, now that some keys are forbidden?"
)
PAINTED = (
    "You replace NaN when it is there already. On the way back, a gradient of 0 meets it: what is "
    "0 * NaN? `masked_fill` before the softmax stops it, adding -inf does not."
)
INF = "What is 0 * -inf? Print what you add, for an allowed key."
ADDED = (
    "Give it float16, and a row that may see nothing. What becomes of the -1e9 that you add? Can the "
    "mask replace a score, instead of being added to it?"
)
BOOLEAN = "The message names the way out: which operator turns True into False in a boolean tensor?"


def add_mistakes_of_masked_softmaxes(task: Task, *, may_be_none: bool = False) -> None:
    """Add them; if the mask may be None, most learners see to that in the same line."""

    def given(otherwise: str, text: str) -> str:
        return f"{otherwise} if mask is None else {text}" if may_be_none else text

    wrong = task.wrong
    wrong(
        "inverted",
        "True means 'may look' here, and `masked_fill` changes the entries where its condition is True. "
        "Which ones do you remove, in each of your lines?",
        dict(forbidden=given("~allowed", "allowed"), kept="weights"),
        dict(forbidden=given("~allowed", "allowed")),
        dict(kept="forbidden => allowed"),
    )
    wrong("full-row-nan", FULL_ROW, dict(kept="weights"))
    wrong(
        "full-row-uniform",
        "In a row that may see nothing, your fill makes all scores equal. What does the softmax make of "
        "equal scores, and to whom does that row attend now?",
        dict(hidden="-torch.inf => torch.finfo(scores.dtype).min", kept="weights"),
    )
    wrong(
        "fill-not-low-enough",
        "What if the allowed scores are as low as your fill? And what becomes of a row in which "
        "everything is filled?",
        dict(hidden="-torch.inf => -1e4", kept="weights"),
        dict(hidden="-torch.inf => -1e4"),
    )
    wrong(
        "forbidden-scores-set-to-zero",
        "A forbidden score becomes 0 in yours, or nearly 0. What is exp(0), and is it smaller than the "
        "exp of every allowed score?",
        dict(hidden="-torch.inf => 0.0", kept="weights"),
        dict(hidden="-torch.inf => 0.0"),
    )
    wrong(
        "not-renormalized",
        "You remove weights after the softmax. What do the others add up to, in one row?",
        dict(hidden="scores"),
    )
    tiny = dict(hidden="scores", kept=f"{LEFT} + 1e-9)")
    wrong("epsilon-in-denominator", EPSILON, tiny)
    wrong(
        "maximum-not-subtracted",
        OVERFLOW,
        dict(weights="(e := hidden.exp()) / e.sum(-1, keepdim=True)"),
        dict(weights=f"(e := hidden.exp()) / ({TOTAL} + 1e-9)"),
        dict(weights=f"(e := hidden.exp()) / {TOTAL}.masked_fill(total == 0, 1.0)"),
    )
    wrong(
        "hard-maximum",
        "You give everything to one key. What share should a key get whose score is a little smaller?",
        dict(weights="F.one_hot(hidden.argmax(-1), hidden.shape[-1]).to(hidden)"),
    )
    wrong("nan-painted-over", PAINTED, dict(hidden=f"{ADDITIVE}.to(scores)"))
    wrong(
        "written-in-place",
        "Which line changes a tensor in place? Look for names that end in `_`, for `weights[...] = `, and "
        "for `-=`. `masked_fill` without `_` makes a new tensor.",
        dict(kept="masked_fill => masked_fill_"),
    )
    wrong("zero-times-inf", INF, dict(hidden=given("scores", WITH_INF)))
    wrong("boolean-subtracted", BOOLEAN, dict(forbidden=given("~allowed", "1 - allowed")))
    wrong(
        "added-1e9",
        ADDED,
        dict(hidden="scores + forbidden * -1e9", kept="weights"),
        dict(hidden="scores + forbidden * -1e9"),
    )
    wrong(
        "mask-added",
        "As numbers, True is 1 and False is 0. What does adding them to a score do, and is the forbidden "
        "key hidden?",
        dict(hidden="scores + allowed", kept="weights"),
        dict(hidden="scores + allowed"),
    )
    wrong(
        "mask-as-truth-value",
        "Python's `if`, `not`, `and` and `or` ask whether the whole mask is true. What asks whether there "
        "is a mask, and what turns every entry around?",
        dict(forbidden=given("~allowed", "not allowed")),
    )
    wrong(
        "mask-transposed",
        "Row i of the mask belongs to query i. To whom does it belong in yours?",
        dict(allowed="_ if mask is None else _.mT"),
    )
    wrong(
        "zero-scores-hidden",
        "An allowed score can be exactly 0, too. How do you tell it from a forbidden one? Ask the mask, "
        "not the score.",
        dict(allowed="_ & (scores != 0)"),
    )
