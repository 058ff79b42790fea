"""Mistakes that many tasks share, written once.

Each applies to every right answer that has the lines it changes and the names it reads. So answers
use the same names for the same things:

    queries, keys, values   what the projections make of x       (B, L, E)
    q, k, v                 the same, split into heads           (B, H, L, D)
    D                       what the scale is the root of        an int
    products, scores        q·k, and divided                     (B, H, L, S)
    allowed, hidden         the mask, and the scores under it
    weights, kept           after the softmax, and with zeros in empty rows
    heads, merged, output   what the heads say, side by side, and after o_proj
    per_query, per_head     a number for each (B, H, L), and its mean (H,)
"""

from attn_lib.checks.rows import Edits
from attn_lib.checks.task import Mistake

SHARED: list[Mistake] = []


def slip(id: str, question: str, *ways: Edits) -> None:
    """Add a mistake that many tasks share: lines written otherwise, in one way or in several."""
    SHARED.extend(Mistake(id, question, lines) for lines in ways)


# ---------------------------------------------------------------------------------------- scale

slip(
    "scale-missing",
    "If D grows from 16 to 1024, what happens to the spread of q·k? What is done about it?",
    dict(scores="products"),
)
slip(
    "scale-multiplied",
    "Does your factor make the scores larger or smaller?",
    dict(scores="/ => *"),
)
slip(
    "scale-twice",
    "By what are the scores divided altogether: by D, or by its square root?",
    dict(scores="products / D"),
)
slip(
    "scale-after-softmax",
    "After your last step, what does one row of the weights add up to?",
    dict(scores="products", weights="_ / math.sqrt(D)"),
)
slip(
    "scale-by-the-wrong-size",
    "Print `q.shape`. Which of its sizes is the length of one query vector? Which one do you read?",
    dict(D="q.shape[1]"),
    dict(D="q.shape[-2]"),
)
slip(
    "scale-by-the-wrong-size",
    "Should adding keys change how similar q and key 0 are?",
    dict(D="k.shape[-2]"),
)

# ------------------------------------------------------------------------------------- products

slip(
    "transposed-scores",
    "Entry (i, j) of the scores: is i a query or a key in your matrix?",
    dict(products="k @ q.mT"),
)
slip(
    "keys-not-transposed",
    "What are the shapes of q and k? Which two axes of k must change places, so that D meets D?",
    dict(products="q @ k"),
)
slip(
    "keys-reshaped",
    "A reshape keeps the numbers in their order. Does one column of your k still hold one key? Print "
    "a small k before and after.",
    dict(products="q @ k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2])"),
)

# -------------------------------------------------------------------------------------- softmax

slip(
    "softmax-missing",
    "What should one row of your weights add up to?",
    dict(weights=".softmax(-1) => "),
)
slip(
    "softmax-over-queries",
    "Each query hands out a total of 1 among its keys. Which axis of your scores holds the keys?",
    dict(weights="softmax(-1) => softmax(-2)"),
)
slip(
    "softmax-over-the-wrong-axis",
    "Each query of each head hands out a total of 1 among its keys. Which axis holds the keys?",
    dict(weights="softmax(-1) => softmax(1)"),
    dict(weights="softmax(-1) => softmax(0)"),
)
slip(
    "softmax-twice",
    "How often does a softmax run over your scores? What does the second one make of weights?",
    dict(weights="_.softmax(-1)"),
)

# ----------------------------------------------------------------------------------------- mask

slip(
    "mask-ignored",
    "Where do you use the mask? Flip one entry of it: does the output move?",
    dict(hidden="scores", kept="weights"),
)
slip(
    "full-row-nan",
    "In a row that may see nothing, what do the exponentials add up to, and what is 0 / 0?",
    dict(kept="weights"),
)
slip(
    "fill-1e9",
    "In a row that may see nothing, your fill makes all scores equal: what does that query get? And "
    "what is the largest number float16 can hold?",
    dict(hidden="-torch.inf => -1000000000.0", kept="weights"),
)
slip(
    "fill-too-large-for-float16",
    "What is the largest number float16 can hold, and what do you fill in? Which fill fits into "
    "every float type?",
    dict(hidden="-torch.inf => -1000000000.0"),
)

# ------------------------------------------------------------------------------- what comes out

slip(
    "weights-times-k",
    "If you replace v by zeros, what should come out?",
    dict(heads="@ v => @ k"),
    dict(output="@ v => @ k"),
)
slip(
    "weights-not-used",
    "Where do the weights meet the values in your code? What is a query's output a mixture of?",
    dict(heads="v"),
    dict(output="v"),
)
slip(
    "merged-without-transpose",
    "The shape is right, the cells are not. Which axes must stand side by side before `reshape` may "
    "merge them?",
    dict(merged=".transpose(1, 2).flatten(2) => .reshape(x.shape)"),
)
slip(
    "o-proj-missing",
    "Which layer does your answer not use? What mixes the heads?",
    dict(output="merged"),
)
