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
    given, terms            the weights that a measure reads, and what it adds up over the keys
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

# ----------------------------------------------------------------------------------- reductions

slip(
    "softmax-once-more",
    "The weights come out of a softmax already. Is there another one in what you call?",
    dict(given="_.softmax(-1)"),
)
slip(
    "a-row-of-zeros-is-nan",
    "You make each row add up to 1. What does that do to a row of zeros, of a query that may see "
    "nothing?",
    dict(given="weights / weights.sum(-1, keepdim=True)"),
)
slip(
    "dtype-changed",
    "Give it float16, then float64: which dtype comes out, and which one should?",
    dict(given="weights.float()"),
    dict(given="weights.double()"),
    dict(per_head="_.float()"),
)
slip(
    "only-the-first-sample",
    "Change the second sample. Does your result change?",
    dict(given="_[:1]"),
)
slip(
    "only-the-last-query",
    "Take another query than the last one, and change its weights. Does your result ever change?",
    dict(per_query="_[:, :, -1:]"),
)
slip(
    "mean-over-keys",
    "The weights of a row add up to 1 already. Over its keys, do you add up, or is something divided by "
    "their number?",
    dict(per_query="terms.mean(-1)"),
)
slip(
    "rows-of-zeros-left-out",
    "A row of zeros gives 0, and it is a row like every other. By how many rows do you divide?",
    dict(per_head="per_query.where(weights.any(-1), torch.nan).nanmean((0, 2))"),
)
slip(
    "summed-instead-of-averaged",
    "Twice as many queries, or twice as many samples: should the number of a head double? Over which "
    "axes do you add up where a mean is asked for?",
    dict(per_head="per_query.sum((0, 2))"),
    dict(per_head="per_query.sum(2).mean(0)"),
    dict(per_head="per_query.sum(0).mean(1)"),
)
slip(
    "largest-query",
    "You keep the largest number of all queries. If one query does what the others do not, which number "
    "should its head have?",
    dict(per_head="per_query.amax(2).mean(0)"),
)
slip(
    "one-number-for-all-heads",
    "Two heads that look at different places: can one number tell them apart?",
    dict(per_head="per_query.mean()"),
)
slip(
    "the-wrong-axis-kept",
    "For what is one number left in yours: for each sample, each head, or each query? Which of these "
    "axes should stay?",
    dict(per_head="per_query.mean((1, 2))"),
    dict(per_head="per_query.mean((0, 1))"),
)
slip(
    "means-missing",
    "Print the shape of your result. Which of its axes should be left, and over what is a mean missing?",
    dict(per_head="per_query"),
    dict(per_head="per_query.mean(2)"),
    dict(per_head="per_query.mean(0)"),
)
slip(
    "axis-after-a-mean",
    "After a mean over axis 0, how many axes are left? Which number has the axis of the queries now?",
    dict(per_head="per_query.mean(0).mean(2)"),
)
slip(
    "axis-left-over",
    "A mean with `keepdim` leaves axes of size 1 behind. Which shape should the result have?",
    dict(per_head="per_query.mean((0, 2), keepdim=True)"),
)
slip(
    "samples-for-heads",
    "`reshape` moves no number: in memory, sample 0 with all its heads comes first. Which axis must be "
    "in front before you join the others?",
    dict(per_head="per_query.reshape(per_query.shape[1], -1).mean(-1)"),
)
slip(
    "squeezed",
    "With a single head, how many axes has your result? What does `squeeze` take away?",
    dict(per_head="_.squeeze()"),
)
slip(
    "a-list-of-numbers",
    "You return a list. What makes one tensor of its numbers, in the dtype of the weights?",
    dict(per_head="_.tolist()"),
    dict(per_head="list(_)"),
)
