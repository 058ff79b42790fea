"""The task `padding_mask`: nobody looks at what only fills up the batch."""

import torch

import attn_lib
from attn_lib.checks.case import Case
from attn_lib.checks.lesson_02.mask_slips import TRUTH, add_mistakes_of_entries
from attn_lib.checks.task import task


@task(
    lesson=2,
    points=2,
    library=attn_lib.padding_mask,
    hints=[
        "Take one sentence of length 2, padded to 4. Which of the positions 0, 1, 2, 3 are real "
        "words? Say it with a comparison.",
        "All positions at once are `torch.arange(max_len)`, (S,). All lengths are (B,). Which shape "
        "must the lengths get, so that comparing them with the positions gives (B, S)?",
        "The mask will meet scores (B, H, L, S). Line (B, S) up with them from the right: which two "
        "axes of size 1 are missing, and between which axes of yours do they go?",
    ],
)
def padding_mask(lengths, max_len):
    position = torch.arange(max_len)
    ends = lengths[:, None]
    is_real = position < ends  # (B, S)
    real = is_real
    mask = real[:, None, None, :]
    return mask


@padding_mask.cases
def _(rng):
    def case(about, lengths, max_len, dtype=torch.int64):
        return Case(about, (torch.tensor(lengths, dtype=dtype), max_len), grad=False)

    yield case("one sentence of length 2, padded to 3", [2], 3)
    yield case("two sentences, the longer one full", [2, 3], 3)
    yield case("two sentences, both padded", [5, 3], 7)
    yield case("no padding at all", [4, 4, 4], 4)
    yield case("as many sentences as positions", [3, 1, 4, 2], 4)
    yield case("lengths that rise", [1, 2, 3], 3)
    yield case("the same lengths in another order", [3, 1, 2], 3)
    yield case("sentences of one word", [1, 1], 1)
    yield case("an empty sentence", [3, 0, 2], 5)
    yield case("nothing but an empty sentence", [0], 2)
    yield case("lengths in int32", [2, 5, 1], 6, torch.int32)
    B, S = torch.randint(5, 12, (2,), generator=rng).tolist()
    lengths = torch.randint(0, S + 1, (B,), generator=rng)
    yield Case("lengths drawn at random", (lengths, S), grad=False)
    lengths = torch.randint(1, 9, (12,), generator=rng)[::2]
    yield Case("lengths that are not contiguous", (lengths, 9), grad=False)
    yield case("a thousand positions", [700, 1000], 1100)


# ------------------------------------------------------------------------------- mistakes

wrong = padding_mask.wrong
wrong(
    "inverted",
    "What does True mean here: a real word, or a position to be ignored?",
    dict(real="~_"),
    dict(is_real="< => >"),
)
wrong(
    "one-pad-visible",
    "A sentence of length 2 has words at positions 0 and 1. Is position 2 real?",
    dict(is_real="< => <="),
    dict(ends="_ + 1"),
)
ONE_SHORT = "How many True does a sentence of length 2 need? How many does yours have?"
wrong(
    "last-word-hidden",
    ONE_SHORT,
    dict(ends="_ - 1"),
    # As `mask[b, :, :, : length - 1] = True` has it: an end of -1 counts from behind.
    dict(ends="torch.where(_ == 0, max_len, _) - 1"),
)
wrong(
    "negative-slice",
    "A full sentence has 0 pads. What does `x[-0:]` select: nothing, or everything?",
    dict(ends="_ % max_len"),
)
wrong(
    "empty-sentence-opened",
    "A sentence of length 0 has no word. How many True does its row need, and how many has yours? "
    "An empty row is the softmax's concern, not the mask's.",
    dict(ends="_.clamp(min=1)"),
    dict(ends="torch.where(_ == 0, max_len, _)"),
)
wrong(
    "first-word-hidden",
    "Which position has the first word, 0 or 1? Is it True in yours?",
    dict(is_real="_ & (position > 0)"),
)
MEETS = (
    "Line your shape up with (B, H, L, S), from the right. Which axis of the scores would your B "
    "meet?"
)
wrong("axes-missing", MEETS, dict(mask="real"), dict(mask="real[:, None]"))
wrong(
    "axes-in-the-wrong-place",
    "Which axis of (B, 1, 1, S) should hold the sentences, and which the positions? Where are yours?",
    dict(mask="real[None, None]"),
    dict(mask="real[None, :, None]"),
    dict(mask="real[:, :, None, None]"),
)
wrong(
    "queries-masked",
    "Your positions stand on the third axis, that of the queries. Whom should nobody look at: a pad "
    "as a query, or a pad as a key?",
    dict(mask="real[:, None, :, None]"),
)
wrong(
    "sentences-and-positions-swapped",
    "Which axis of your comparison counts sentences? Print its shape before you add axes.",
    dict(position="_[:, None]", ends="lengths"),
)
wrong(
    "sentences-and-positions-swapped",
    "The sizes are right, but are the entries in place? A reshape never moves an entry: was the "
    "sentence the first axis before it?",
    dict(mask="real.T.reshape(len(lengths), 1, 1, max_len)"),
)
wrong(
    "padded-in-front",
    "Are the pads before the words, or after them? Which end do you hide?",
    dict(is_real="position >= max_len - ends"),
)
wrong(
    "max-len-ignored",
    "Sentences of 5 and 3 words, padded to 7: how many keys are there? Where do you use `max_len`?",
    dict(position="max_len => int(lengths.max())"),
)
wrong(
    "one-length-for-all",
    "Change the length of the second sentence only. Does its row change in yours?",
    dict(ends="lengths.max().expand(len(lengths), 1)"),
)
wrong(
    "one-length-for-all",
    "How many sentences are there, and how many rows does your result have?",
    dict(ends="lengths[:1, None]"),
)
wrong(
    "expanded-to-queries",
    "All queries of a sentence share one row. Must the mask hold it more than once, if it can be "
    "broadcast?",
    dict(mask="_.expand(-1, -1, max_len, -1)"),
)
wrong(
    "pad-queries-hidden-too",
    "Nobody reads the output of a pad. Is there anything to hide in its row? Which shape is asked for?",
    dict(mask="_ & _.mT"),
)
wrong(
    "only-the-last-word",
    "Which positions are real: all below the length, or one of them?",
    dict(is_real="position == ends - 1"),
)
wrong(
    "everything-allowed",
    "Is any entry of yours False? Where are the lengths used?",
    dict(is_real="torch.ones(len(lengths), max_len, dtype=torch.bool)"),
)
wrong(
    "lengths-not-a-column",
    "`lengths` is (B,), the positions are (S,). Line them up from the right: what meets what? Which "
    "axis do the lengths lack?",
    dict(ends="lengths", real="_.expand(len(lengths), max_len)"),
    dict(ends="lengths", mask="real"),
    dict(ends="lengths"),
)
wrong(
    "whole-tensor-as-truth-value",
    TRUTH,
    dict(is_real="not position >= ends"),
    dict(is_real="0 <= position < ends"),
)
add_mistakes_of_entries(padding_mask)
