"""The task `encoder_decoder_masks`: who may read what, when pads fill up two batches of sentences."""

import torch

import attn_lib
from attn_lib.checks.case import Case
from attn_lib.checks.lesson_05.runs import NAMES, expanded
from attn_lib.checks.task import task


@task(
    lesson=5,
    points=3,
    returns=NAMES,
    hints=[
        "Take the three masks one at a time. Who asks there, who is read, and whose pads have to be "
        "hidden?",
        "A row of ids says which keys are real: compare it with `pad_id`. From (B, S) to (B, H, L, S) "
        "two axes are missing: which, and where?",
        "Only one of the three masks is causal as well. There a key must be allowed by both rules at "
        "once: `&`.",
    ],
)
def encoder_decoder_masks(src_ids, tgt_ids, pad_id):
    return attn_lib.encoder_decoder_masks(src_ids, tgt_ids, pad_id)


@encoder_decoder_masks.cases
def _(rng):
    def case(about, src, tgt, pad_id, num_heads):
        args = (torch.as_tensor(src), torch.as_tensor(tgt), pad_id, num_heads)
        return Case(about, args, expanded, grad=False)

    def draw(B, length, pad_id, low=0, high=9):
        """Ids without a pad in them."""
        ids = torch.randint(low, high, (B, length), generator=rng)
        return ids + (ids >= pad_id) if low <= pad_id < high else ids

    def padded(B, length, pad_id, at_most=None, front=False):
        """Ids with padding of different lengths, at the end or in front."""
        ids = draw(B, length, pad_id)
        for b in range(B):
            pads = (2 * b + 1) % length if at_most is None else min(b + 1, at_most)
            ids[b, :pads] = pad_id
        return ids if front else ids.flip(1)

    yield case("one sentence, its last token is a pad", [[5, 8, 0]], [[2, 7]], 0, 2)
    yield case("pads in the output too", [[5, 8, 0]], [[2, 7, 4, 0]], 0, 2)
    yield case("no pads at all", [[5, 8, 6], [4, 5, 9]], [[2, 7], [2, 8]], 0, 4)
    yield case("pad_id 1, and 0 is a token", [[4, 0, 6, 1, 1]], [[0, 7, 1]], 1, 2)
    yield case(
        "pads in front and in the middle",
        [[3, 6, 3, 5], [3, 3, 4, 7]], [[3, 5, 3, 6, 3], [5, 3, 6, 4, 3]], 3, 3,
    )  # fmt: skip
    yield case(
        "pads everywhere in one input", [[5, 6, 4], [0, 0, 0]], [[2, 7], [2, 0]], 0, 4
    )
    yield case(
        "pads everywhere in one output", [[5, 6, 0], [7, 4, 5]], [[0, 0], [2, 7]], 0, 4
    )
    yield case("all sizes different", padded(2, 7, 0), padded(2, 5, 0), 0, 3)
    yield case("output longer than input", padded(3, 4, 2), padded(3, 6, 2), 2, 5)
    yield case(
        "pad_id larger than every id",
        [[9, 50255, 50256, 50256], [50255, 4, 6, 50256]], [[3, 50255, 50256]] * 2, 50256, 5,
    )  # fmt: skip
    yield case("pad_id -1", padded(2, 3, -1), padded(2, 5, -1), -1, 4)
    yield case(
        "padding in front", padded(2, 5, 0, front=True), padded(2, 4, 0, front=True), 0, 3
    )
    yield case("L = S", padded(2, 5, 4), padded(2, 5, 4, at_most=2), 4, 3)
    yield case("B = H", padded(3, 5, 6), padded(3, 4, 6), 6, 3)
    yield case("B = L", padded(3, 5, 0), padded(3, 3, 0), 0, 2)
    yield case("B = S", padded(4, 4, 1), padded(4, 3, 1), 1, 2)
    yield case("B = H = L = S", padded(3, 3, 0), padded(3, 3, 0, at_most=1), 0, 3)
    yield case("one output token", padded(2, 4, 0), [[2], [2]], 0, 3)
    yield case("one input token", [[5], [0]], padded(2, 3, 0), 0, 4)
    yield case("one sentence, one head, no pads", draw(1, 4, 0), draw(1, 3, 0), 0, 1)
    yield case("ids as int32", padded(2, 4, 0).int(), padded(2, 3, 0).int(), 0, 3)
    yield case("ids not contiguous", padded(4, 2, 5).T, padded(3, 2, 5).T, 5, 3)


# ------------------------------------------------------------------------------- mistakes


def _real(ids, pad_id):
    """(B, 1, 1, length), True for tokens."""
    return (ids != pad_id)[:, None, None, :]


def _causal(ids):
    return attn_lib.causal_mask(ids.shape[1], ids.shape[1])


_right = attn_lib.encoder_decoder_masks


@encoder_decoder_masks.mistake(
    "inverted", "What does True promise in this course: 'may attend', or 'hide this'?"
)
def _(src_ids, tgt_ids, pad_id):
    return tuple(~mask for mask in _right(src_ids, tgt_ids, pad_id))


@encoder_decoder_masks.mistake(
    "padding-inverted",
    "Is `ids == pad_id` True for the tokens that may be seen, or for the others?",
)
def _(src_ids, tgt_ids, pad_id):
    src, tgt = ~_real(src_ids, pad_id), ~_real(tgt_ids, pad_id)
    return src, tgt & _causal(tgt_ids), src


@encoder_decoder_masks.mistake(
    "decoder-not-causal",
    "While the decoder learns, the whole output lies before it. Which words may word 0 not see?",
)
def _(src_ids, tgt_ids, pad_id):
    src, tgt = _real(src_ids, pad_id), _real(tgt_ids, pad_id)
    return src, tgt.expand(-1, -1, tgt.shape[-1], -1), src


@encoder_decoder_masks.mistake(
    "decoder-pads-seen", "The outputs are padded as well. Where does the decoder mask hide that?"
)  # fmt: skip
def _(src_ids, tgt_ids, pad_id):
    src = _real(src_ids, pad_id)
    return src, _causal(tgt_ids)[None, None], src


@encoder_decoder_masks.mistake(
    "or-instead-of-and",
    "A key in the future that is no pad: may it be seen? Must one rule allow it, or both?",
)
def _(src_ids, tgt_ids, pad_id):
    src = _real(src_ids, pad_id)
    return src, _real(tgt_ids, pad_id) | _causal(tgt_ids), src


@encoder_decoder_masks.mistake(
    "causal-upside-down", "Row 0 of your decoder mask: does it see what comes first, or last?"
)  # fmt: skip
def _(src_ids, tgt_ids, pad_id):
    src = _real(src_ids, pad_id)
    return src, _real(tgt_ids, pad_id) & _causal(tgt_ids).T, src


@encoder_decoder_masks.mistake(
    "causal-upside-down", "Row 0 of your decoder mask: does it see what comes first, or last?"
)  # fmt: skip
def _(src_ids, tgt_ids, pad_id):
    src = _real(src_ids, pad_id)
    return src, _real(tgt_ids, pad_id) & ~_causal(tgt_ids), src


@encoder_decoder_masks.mistake(
    "does-not-see-itself",
    "May a word see itself? What does row 0 see in your decoder mask?",
)
def _(src_ids, tgt_ids, pad_id):
    src = _real(src_ids, pad_id)
    return src, _real(tgt_ids, pad_id) & _causal(tgt_ids).tril(-1), src


@encoder_decoder_masks.mistake(
    "sees-one-word-ahead",
    "What may row 0 see besides itself? Which diagonal is the last one?",
)
def _(src_ids, tgt_ids, pad_id):
    src = _real(src_ids, pad_id)
    length = tgt_ids.shape[1]
    ahead = torch.ones(length, length, dtype=torch.bool).tril(1)
    return src, _real(tgt_ids, pad_id) & ahead, src


@encoder_decoder_masks.mistake(
    "encoder-causal",
    "The input is complete before anything is written. May its first word see its last?",
)
def _(src_ids, tgt_ids, pad_id):
    src, decoder, cross = _right(src_ids, tgt_ids, pad_id)
    return src & _causal(src_ids), decoder, cross


@encoder_decoder_masks.mistake(
    "encoder-pads-seen", "Which keys does the encoder read: also the pads of the input?"
)
def _(src_ids, tgt_ids, pad_id):
    src, decoder, cross = _right(src_ids, tgt_ids, pad_id)
    return torch.ones_like(src), decoder, cross


@encoder_decoder_masks.mistake(
    "cross-pads-seen", "The decoder reads the input too. Whose pads does it meet there?"
)
def _(src_ids, tgt_ids, pad_id):
    src, decoder, cross = _right(src_ids, tgt_ids, pad_id)
    return src, decoder, torch.ones_like(cross)


@encoder_decoder_masks.mistake(
    "cross-hides-pads-of-the-output",
    "In cross-attention, which sequence gives the keys? Whose pads must be hidden, then?",
)
def _(src_ids, tgt_ids, pad_id):
    src, decoder, _ = _right(src_ids, tgt_ids, pad_id)
    return src, decoder, _real(tgt_ids, pad_id)


@encoder_decoder_masks.mistake(
    "cross-causal",
    "Must the first word of the output wait for the last word of the input, or is it there already?",
)
def _(src_ids, tgt_ids, pad_id):
    src, decoder, cross = _right(src_ids, tgt_ids, pad_id)
    return src, decoder, cross & attn_lib.causal_mask(tgt_ids.shape[1], src_ids.shape[1])


@encoder_decoder_masks.mistake(
    "cross-causal",
    "Must the first word of the output wait for the last word of the input, or is it there already?",
)
def _(src_ids, tgt_ids, pad_id):
    src, decoder, cross = _right(src_ids, tgt_ids, pad_id)
    top_left = torch.ones(tgt_ids.shape[1], src_ids.shape[1], dtype=torch.bool).tril()
    return src, decoder, cross & top_left


@encoder_decoder_masks.mistake(
    "hides-pad-queries-too", "Does the output of a pad query matter to anyone?"
)
def _(src_ids, tgt_ids, pad_id):
    src, tgt = _real(src_ids, pad_id), _real(tgt_ids, pad_id)
    return src & src.mT, tgt & tgt.mT & _causal(tgt_ids), src & tgt.mT


@encoder_decoder_masks.mistake(
    "hides-pad-queries-too", "Does the output of a pad query matter to anyone?"
)
def _(src_ids, tgt_ids, pad_id):
    src, tgt = _real(src_ids, pad_id), _real(tgt_ids, pad_id)
    return src, tgt & _causal(tgt_ids), src & tgt.mT


@encoder_decoder_masks.mistake(
    "hides-pad-queries-too", "Does the output of a pad query matter to anyone?"
)
def _(src_ids, tgt_ids, pad_id):
    src, tgt = _real(src_ids, pad_id), _real(tgt_ids, pad_id)
    return src & src.mT, tgt & tgt.mT & _causal(tgt_ids), src


@encoder_decoder_masks.mistake(
    "hides-pad-queries-too", "Does the output of a pad query matter to anyone?"
)
def _(src_ids, tgt_ids, pad_id):
    src, decoder, cross = _right(src_ids, tgt_ids, pad_id)
    return src & src.mT, decoder, cross


@encoder_decoder_masks.mistake(
    "hides-pad-queries-too", "Does the output of a pad query matter to anyone?"
)
def _(src_ids, tgt_ids, pad_id):
    src, decoder, cross = _right(src_ids, tgt_ids, pad_id)
    return src, decoder & _real(tgt_ids, pad_id).mT, cross


@encoder_decoder_masks.mistake(
    "hides-queries-instead-of-keys",
    "Should a pad not ask, or should it not be read? Is the last axis of a mask queries or keys?",
)
def _(src_ids, tgt_ids, pad_id):
    src, tgt = _real(src_ids, pad_id).mT, _real(tgt_ids, pad_id).mT
    return src, tgt & _causal(tgt_ids), src


@encoder_decoder_masks.mistake(
    "hides-queries-instead-of-keys",
    "Should a pad not ask, or should it not be read? Is the last axis of a mask queries or keys?",
)
def _(src_ids, tgt_ids, pad_id):
    src, tgt = _real(src_ids, pad_id), _real(tgt_ids, pad_id)
    return src.mT, tgt.mT & _causal(tgt_ids), tgt.mT & torch.ones_like(src)


@encoder_decoder_masks.mistake(
    "hides-queries-instead-of-keys",
    "Should a pad not ask, or should it not be read? Is the last axis of a mask queries or keys?",
)
def _(src_ids, tgt_ids, pad_id):
    src, _, cross = _right(src_ids, tgt_ids, pad_id)
    return src, _real(tgt_ids, pad_id).mT & _causal(tgt_ids), cross


@encoder_decoder_masks.mistake(
    "pad-id-is-always-0", "Which id stands for a pad? Is it 0 in every vocabulary?"
)
def _(src_ids, tgt_ids, pad_id):
    return _right(src_ids, tgt_ids, 0)


@encoder_decoder_masks.mistake(
    "compares-by-size", "Are all other ids larger than `pad_id`? Which comparison asks for 'another id'?"
)  # fmt: skip
def _(src_ids, tgt_ids, pad_id):
    src, tgt = ((ids > pad_id)[:, None, None, :] for ids in (src_ids, tgt_ids))
    return src, tgt & _causal(tgt_ids), src


@encoder_decoder_masks.mistake(
    "assumes-pads-at-the-end",
    "A count says how many tokens are real. Does it say which, if a pad stands in front?",
)
def _(src_ids, tgt_ids, pad_id):
    def by_length(ids):
        lengths = (ids != pad_id).sum(1)
        return attn_lib.padding_mask(lengths, ids.shape[1])

    return by_length(src_ids), by_length(tgt_ids) & _causal(tgt_ids), by_length(src_ids)


@encoder_decoder_masks.mistake(
    "opens-empty-rows",
    "Where all is padding, a row may see nothing. Who deals with that: the mask, or the attention "
    "that you wrote in lesson 02?",
)
def _(src_ids, tgt_ids, pad_id):
    def opened(mask):
        return mask | ~mask.any(-1, keepdim=True)

    return tuple(map(opened, _right(src_ids, tgt_ids, pad_id)))


@encoder_decoder_masks.mistake(
    "opens-empty-rows",
    "Where all is padding, a row may see nothing. Who deals with that: the mask, or the attention "
    "that you wrote in lesson 02?",
)
def _(src_ids, tgt_ids, pad_id):
    src, decoder, cross = _right(src_ids, tgt_ids, pad_id)
    length = tgt_ids.shape[1]
    return src, decoder | torch.eye(length, dtype=torch.bool), cross


@encoder_decoder_masks.mistake(
    "not-boolean", "A mask of this course is made of True and False. What is yours made of?"
)
def _(src_ids, tgt_ids, pad_id):
    return tuple(mask.float() for mask in _right(src_ids, tgt_ids, pad_id))


@encoder_decoder_masks.mistake(
    "not-boolean", "A mask of this course is made of True and False. What is yours made of?"
)
def _(src_ids, tgt_ids, pad_id):
    return tuple(mask.long() for mask in _right(src_ids, tgt_ids, pad_id))


@encoder_decoder_masks.mistake(
    "not-boolean",
    "A mask of this course is made of True and False. What is yours made of?",
)
def _(src_ids, tgt_ids, pad_id):
    src = _real(src_ids, pad_id)
    return src, _real(tgt_ids, pad_id) * _causal(tgt_ids).float(), src


@encoder_decoder_masks.mistake(
    "not-boolean",
    "A mask of this course is made of True and False. What is the matrix made of that hides the future?",
)
def _(src_ids, tgt_ids, pad_id):
    src = _real(src_ids, pad_id)
    return src, _real(tgt_ids, pad_id) & _causal(tgt_ids).float(), src


@encoder_decoder_masks.mistake(
    "head-axis-missing",
    "Write the shape of your mask below (B, H, L, S), lined up from the right. Under which axis does "
    "its B stand?",
)
def _(src_ids, tgt_ids, pad_id):
    return tuple(mask[:, 0] for mask in _right(src_ids, tgt_ids, pad_id))


@encoder_decoder_masks.mistake(
    "two-axes-missing",
    "Your mask is (B, S). Write that below (B, H, L, S), lined up from the right. Under which axis "
    "does its B stand?",
)
def _(src_ids, tgt_ids, pad_id):
    src, decoder, cross = _right(src_ids, tgt_ids, pad_id)
    return src[:, 0, 0], decoder, cross[:, 0, 0]


@encoder_decoder_masks.mistake(
    "two-axes-missing",
    "`ids != pad_id` is (B, S). Write that below (B, H, L, S), lined up from the right. Under which "
    "axis does its B stand?",
)
def _(src_ids, tgt_ids, pad_id):
    src = src_ids != pad_id
    return src, (tgt_ids != pad_id) & _causal(tgt_ids), src


@encoder_decoder_masks.mistake(
    "decoder-mask-as-long-as-the-input",
    "In the decoder's own attention, how many queries are there, and how many keys?",
)
def _(src_ids, tgt_ids, pad_id):
    src = _real(src_ids, pad_id)
    return src, _real(tgt_ids, pad_id) & _causal(src_ids), src


@encoder_decoder_masks.mistake(
    "results-out-of-order", "In which order are the three masks asked for?"
)
def _(src_ids, tgt_ids, pad_id):
    src, decoder, cross = _right(src_ids, tgt_ids, pad_id)
    return decoder, src, cross


@encoder_decoder_masks.mistake(
    "results-out-of-order", "In which order are the three masks asked for?"
)
def _(src_ids, tgt_ids, pad_id):
    src, decoder, cross = _right(src_ids, tgt_ids, pad_id)
    return src, cross, decoder


@encoder_decoder_masks.mistake(
    "last-target-dropped",
    "Nobody asked you to shift the output here. How many columns does tgt_ids have, and how many "
    "has your mask?",
)
def _(src_ids, tgt_ids, pad_id):
    return _right(src_ids, tgt_ids[:, :-1], pad_id)
