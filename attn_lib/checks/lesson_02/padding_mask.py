"""The task `padding_mask`: nobody looks at what only fills up the batch."""

import torch

import attn_lib
from attn_lib.checks.case import Case
from attn_lib.checks.task import task


@task(
    lesson=2,
    points=2,
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
    return attn_lib.padding_mask(lengths, max_len)


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


def _real(lengths, max_len):
    return torch.arange(max_len) < lengths[:, None]


def _axes(mask):
    return mask[:, None, None, :]


@padding_mask.mistake(
    "inverted", "What does True mean here: a real word, or a position to be ignored?"
)
def _(lengths, max_len):
    return _axes(~_real(lengths, max_len))


@padding_mask.mistake(
    "inverted",
    "What does True mean here: a real word, or a position to be ignored? And in a sentence of length "
    "2, what stands at position 2?",
)
def _(lengths, max_len):
    return _axes(torch.arange(max_len) > lengths[:, None])


@padding_mask.mistake(
    "one-pad-visible",
    "A sentence of length 2 has words at positions 0 and 1. Is position 2 real?",
)
def _(lengths, max_len):
    return _axes(torch.arange(max_len) <= lengths[:, None])


_ONE_SHORT = "How many True does a sentence of length 2 need? How many does yours have?"


@padding_mask.mistake("last-word-hidden", _ONE_SHORT)
def _(lengths, max_len):
    return _axes(torch.arange(max_len) < lengths[:, None] - 1)


@padding_mask.mistake("last-word-hidden", _ONE_SHORT)
def _(lengths, max_len):
    mask = torch.zeros(len(lengths), 1, 1, max_len, dtype=torch.bool)
    for row, length in zip(mask, lengths.tolist(), strict=True):
        row[..., : length - 1] = True
    return mask


@padding_mask.mistake(
    "negative-slice",
    "A full sentence has 0 pads. What does `x[-0:]` select: nothing, or everything?",
)
def _(lengths, max_len):
    mask = torch.ones(len(lengths), 1, 1, max_len, dtype=torch.bool)
    for row, length in zip(mask, lengths.tolist(), strict=True):
        row[..., -(max_len - length) :] = False
    return mask


_NO_WORD = (
    "A sentence of length 0 has no word. How many True does its row need, and how many has yours? "
    "An empty row is the softmax's concern, not the mask's."
)


@padding_mask.mistake("empty-sentence-opened", _NO_WORD)
def _(lengths, max_len):
    return _axes(_real(lengths.clamp(min=1), max_len))


@padding_mask.mistake("empty-sentence-opened", _NO_WORD)
def _(lengths, max_len):
    return _axes(_real(lengths.masked_fill(lengths == 0, max_len), max_len))


@padding_mask.mistake(
    "first-word-hidden", "Which position has the first word, 0 or 1? Is it True in yours?"
)
def _(lengths, max_len):
    position = torch.arange(max_len)
    return _axes((position > 0) & _real(lengths, max_len))


_TWO_AXES = (
    "Line your shape up with (B, H, L, S), from the right. Which axis of the scores would your B "
    "meet?"
)


@padding_mask.mistake("axes-missing", _TWO_AXES)
def _(lengths, max_len):
    return _real(lengths, max_len)


@padding_mask.mistake("axes-missing", _TWO_AXES)
def _(lengths, max_len):
    return _real(lengths, max_len)[:, None]


@padding_mask.mistake(
    "axes-in-the-wrong-place",
    "Which axis of (B, 1, 1, S) should hold the sentences, and which the positions? Where are yours?",
)
def _(lengths, max_len):
    return _real(lengths, max_len)[None, None]


@padding_mask.mistake(
    "queries-masked",
    "Your positions stand on the third axis, that of the queries. Whom should nobody look at: a pad "
    "as a query, or a pad as a key?",
)
def _(lengths, max_len):
    return _real(lengths, max_len)[:, None, :, None]


@padding_mask.mistake(
    "axes-in-the-wrong-place",
    "Your positions stand on the second axis, that of the heads. Which axis counts the keys?",
)
def _(lengths, max_len):
    return _real(lengths, max_len)[:, :, None, None]


@padding_mask.mistake(
    "sentences-and-positions-swapped",
    "Which axis of your comparison counts sentences? Print its shape before you add axes.",
)
def _(lengths, max_len):
    return _axes(torch.arange(max_len)[:, None] < lengths)


@padding_mask.mistake(
    "sentences-and-positions-swapped",
    "The sizes are right, but are the entries in place? A reshape never moves an entry: was the "
    "sentence the first axis before it?",
)
def _(lengths, max_len):
    return (torch.arange(max_len)[:, None] < lengths).reshape(len(lengths), 1, 1, max_len)


_DTYPE = "Print the dtype of your result. Which one do `mask & causal` and `~mask` need?"


@padding_mask.mistake("not-boolean", _DTYPE)
def _(lengths, max_len):
    return _axes(_real(lengths, max_len)).float()


@padding_mask.mistake("not-boolean", _DTYPE)
def _(lengths, max_len):
    return _axes(_real(lengths, max_len)).long()


@padding_mask.mistake("not-boolean", _DTYPE)
def _(lengths, max_len):
    return _axes(_real(lengths, max_len)).int()


@padding_mask.mistake(
    "additive",
    "You return numbers to be added to the scores. What is asked for: numbers, or True and False?",
)
def _(lengths, max_len):
    real = _axes(_real(lengths, max_len))
    return torch.zeros(real.shape).masked_fill(~real, -torch.inf)


@padding_mask.mistake(
    "padded-in-front",
    "Are the pads before the words, or after them? Which end do you hide?",
)
def _(lengths, max_len):
    return _axes(torch.arange(max_len) >= max_len - lengths[:, None])


@padding_mask.mistake(
    "max-len-ignored",
    "Sentences of 5 and 3 words, padded to 7: how many keys are there? Where do you use `max_len`?",
)
def _(lengths, max_len):
    return _axes(_real(lengths, int(lengths.max())))


@padding_mask.mistake(
    "one-length-for-all",
    "Change the length of the second sentence only. Does its row change in yours?",
)
def _(lengths, max_len):
    return _axes(_real(lengths.max().expand(len(lengths)), max_len))


@padding_mask.mistake(
    "one-length-for-all",
    "How many sentences are there, and how many rows does your result have?",
)
def _(lengths, max_len):
    return _axes(_real(lengths[:1], max_len))


@padding_mask.mistake(
    "expanded-to-queries",
    "All queries of a sentence share one row. Must the mask hold it more than once, if it can be "
    "broadcast?",
)
def _(lengths, max_len):
    return _axes(_real(lengths, max_len)).expand(-1, -1, max_len, -1)


@padding_mask.mistake(
    "pad-queries-hidden-too",
    "Nobody reads the output of a pad. Is there anything to hide in its row? Which shape is asked for?",
)
def _(lengths, max_len):
    real = _real(lengths, max_len)
    return (real[:, :, None] & real[:, None])[:, None]


@padding_mask.mistake(
    "only-the-last-word", "Which positions are real: all below the length, or one of them?"
)
def _(lengths, max_len):
    return _axes(torch.arange(max_len) == lengths[:, None] - 1)


@padding_mask.mistake(
    "everything-allowed", "Is any entry of yours False? Where are the lengths used?"
)
def _(lengths, max_len):
    return _axes(torch.ones(len(lengths), max_len, dtype=torch.bool))


@padding_mask.mistake(
    "lengths-not-a-column",
    "`lengths` is (B,), the positions are (S,). Line them up from the right: what meets what? Which "
    "axis do the lengths lack?",
)
def _(lengths, max_len):
    return _axes((torch.arange(max_len) < lengths).expand(len(lengths), max_len))


@padding_mask.mistake(
    "lengths-not-a-column",
    "`lengths` is (B,), the positions are (S,). Line them up from the right: what meets what? Which "
    "axis do the lengths lack? And which axes has the result?",
)
def _(lengths, max_len):
    return torch.arange(max_len) < lengths
