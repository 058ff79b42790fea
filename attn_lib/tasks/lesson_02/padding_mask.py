"""The task `padding_mask`: nobody looks at what only fills up the batch."""

import torch

import attn_lib
from attn_lib.checks.authoring import Case, task
from attn_lib.tasks.lesson_02.mask_mistakes import ENTRIES


@task(
    lesson=2,
    points=2,
    insight="Texts of different lengths can share a batch, because nobody looks at the pads.",
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
    seen = True  # what an entry says of a real word
    position = torch.arange(max_len)
    ends = lengths[:, None]
    is_real = position < ends  # (B, S)
    real = is_real == seen
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
    long = torch.tensor([2501, 4199] * 3), 4200
    yield Case("more than four thousand positions", long, grad=False, is_slow=True)
    lengths = torch.tensor([300, 0, 600, 0, 257, 0], dtype=torch.int32)[::2]
    about = "hundreds of positions, lengths in int32, not contiguous"
    yield Case(about, (lengths, 600), grad=False)


padding_mask.rows("""
What does True mean here: a real word, or a position to be ignored?
    inverted  seen = False
    inverted  is_real = < => >
A sentence of length 2 has words at positions 0 and 1. Is position 2 real?
    one-pad-visible  is_real = < => <=
    one-pad-visible  ends = _ + 1
    one-pad-visible  is_real = torch.ones(max_len, max_len).tril().bool()[lengths.long()]
A sentence may fill all positions. At which place does it end then, and is there such a place in
yours?
    no-place-for-the-end  is_real = F.one_hot(lengths.long(), max_len).cumsum(-1) == 0
    no-place-for-the-end  is_real = torch.zeros(len(lengths), max_len).scatter(1, lengths.long()[:, None], 1.0).cumsum(-1) == 0
Lengths can be int32. Which dtype does your function ask for?
    needs-int64  is_real = _ & (F.one_hot(lengths, max_len + 1) < 2)[:, :max_len]
Does `lengths` hold the ids of words, or numbers of words? How many True does a length of 2 need?
    lengths-taken-for-ids  mask = (lengths != 0)[:, None, None, :]
How many True does a sentence of length 2 need? How many does yours have?
    last-word-hidden  ends = _ - 1 || torch.where(_ == 0, max_len, _) - 1
A full sentence has 0 pads. What does `x[-0:]` select: nothing, or everything?
    negative-slice  ends = _ % max_len
A sentence of length 0 has no word. How many True does its row need, and how many has yours? An
empty row is the softmax's concern, not the mask's.
    empty-sentence-opened  is_real = _ | (position == 0) || _ | ~_.any(-1, keepdim=True)
Which position has the first word, 0 or 1? Is it True in yours?
    first-word-hidden  is_real = _ & (position > 0)
Line your shape up with (B, H, L, S), from the right. Which axis of the scores would your B meet?
    axes-missing  mask = real || real[:, None]
Which axis of (B, 1, 1, S) should hold the sentences, and which the positions? Where are yours?
    axes-in-the-wrong-place  mask = real[None, None] || real[None, :, None]
    axes-in-the-wrong-place  mask = real[:, :, None, None]
Your positions stand on the third axis, that of the queries. Whom should nobody look at: a pad as a
query, or a pad as a key?
    queries-masked  mask = real[:, None, :, None]
Which axis of your comparison counts sentences? Print its shape before you add axes.
    sentences-and-positions-swapped  position = _[:, None] ; ends = lengths
The sizes are right, but are the entries in place? A reshape never moves an entry: was the sentence
the first axis before it?
    sentences-and-positions-swapped  mask = real.T.reshape(len(lengths), 1, 1, max_len)
Are the pads before the words, or after them? Which end do you hide?
    padded-in-front  is_real = position >= max_len - ends
Sentences of 5 and 3 words, padded to 7: how many keys are there? Where do you use `max_len`?
    max-len-ignored  position = max_len => int(lengths.max())
Change the length of the second sentence only. Does its row change in yours?
    one-length-for-all  ends = lengths.max().expand(len(lengths), 1)
How many sentences are there, and how many rows does your result have?
    one-length-for-all  ends = lengths[:1, None] || lengths.max()[None, None]
All queries of a sentence share one row. Must the mask hold it more than once, if it can be
broadcast?
    expanded-to-queries  mask = _.expand(-1, -1, max_len, -1)
Nobody reads the output of a pad. Is there anything to hide in its row? Which shape is asked for?
    pad-queries-hidden-too  mask = _ & _.mT
Which positions are real: all below the length, or one of them?
    only-the-last-word  is_real = position == ends - 1
A sentence can have several pads. How many of them does yours hide?
    only-one-pad-hidden  is_real = position != ends
Your mask has four axes. Which of them does your slice cut, and which one holds the positions?
    another-axis-sliced  is_real = (ends > 0).expand(-1, max_len)
Do you count words, or what is missing to `max_len`?
    pads-for-words  is_real = position < max_len - ends
May a word look at a later one? Is that the concern of this mask? Which shape is asked for?
    causal-too  mask = _ & torch.ones(max_len, max_len, dtype=torch.bool).tril()
With a single sentence, how many axes has your comparison? What does `squeeze` take away?
    squeezed  mask = real.squeeze()[..., None, None, :]
How many bits of a number do you need to say yes or no? Which dtype has two values only?
    not-boolean  return = _.to(torch.uint8) || _.to(torch.int8)
Is any entry of yours False? Where are the lengths used?
    everything-allowed  is_real = torch.ones(len(lengths), max_len, dtype=torch.bool)
`lengths` is (B,), the positions are (S,). Line them up from the right: what meets what? Which axis
do the lengths lack?
    lengths-not-a-column  ends = lengths ; real = _.expand(len(lengths), max_len)
    lengths-not-a-column  ends = lengths ; mask = real
    lengths-not-a-column  ends = lengths
`not`, `and`, `or` and `a < b < c` ask whether a whole tensor is true. What turns, or joins, conditions
entry by entry? It binds tighter than `<`: where do you need parentheses?
    whole-tensor-as-truth-value  is_real = not position >= ends || 0 <= position < ends
Is any entry of yours True? Which line should fill your tensor of zeros?
    nothing-allowed  is_real = torch.zeros(len(lengths), max_len, dtype=torch.bool)
""")
padding_mask.rows(ENTRIES)

padding_mask.drills(
    "additive, lengths-not-a-column 2, max-len-ignored, axes-missing 1, padded-in-front, last-word-hidden, "
    "axes-in-the-wrong-place, one-pad-visible, queries-masked, sentences-and-positions-swapped"
)
