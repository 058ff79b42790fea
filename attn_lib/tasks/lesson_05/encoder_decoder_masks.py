"""The task `encoder_decoder_masks`: who may read what, when pads fill up two batches of sentences."""

import torch

import attn_lib
from attn_lib.checks.authoring import Case, task
from attn_lib.tasks.lesson_05.runs import NAMES, expanded, without_heads


@task(
    lesson=5,
    points=3,
    insight="Three masks, two questions: which words are real, and which come later?",
    library=attn_lib.encoder_decoder_masks,
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
    src_real = src_ids != pad_id  # (B, S)
    src = src_real[:, None, None, :]
    encoder = src
    L = tgt_ids.shape[1]
    tgt_real = tgt_ids != pad_id
    tgt = tgt_real[:, None, None, :]
    causal = torch.ones(L, L, dtype=torch.bool).tril()
    decoder = tgt & causal
    cross = src
    order = encoder, decoder, cross
    masks = tuple(order)
    return masks


@encoder_decoder_masks.cases
def _(rng):
    def case(about, src, tgt, pad_id, num_heads):
        args = (torch.as_tensor(src), torch.as_tensor(tgt), pad_id, num_heads)
        return Case(about, args, without_heads, grad=False, finish=expanded)

    def padded(B, length, pad_id, at_most=None):
        """Ids from 0 to 9, with padding of different lengths at the end."""
        ids = torch.randint(9, (B, length), generator=rng)
        ids += (ids >= pad_id) & (pad_id >= 0)  # no pad elsewhere
        for b in range(B):
            pads = (2 * b + 1) % length if at_most is None else min(b + 1, at_most)
            ids[b, :pads] = pad_id
        return ids.flip(1)

    yield case("one sentence, its last token is a pad", [[5, 8, 0]], [[2, 7]], 0, 1)
    yield case("pads in the output too", [[5, 8, 0]], [[2, 7, 4, 0]], 0, 1)
    yield case("no pads at all", [[5, 8, 6], [4, 5, 9]], [[2, 7], [2, 8]], 0, 4)
    yield case("pad_id 1, and 0 is a token", [[4, 0, 6, 1, 1]], [[0, 7, 1]], 1, 2)
    src, tgt = [[3, 6, 3, 5], [3, 3, 4, 7]], [[3, 5, 3, 6, 3], [5, 3, 6, 4, 3]]
    yield case("pads in front and in the middle", src, tgt, 3, 3)
    yield case("an input of pads", [[5, 6, 4], [0, 0, 0]], [[2, 7], [2, 0]], 0, 4)
    yield case("an output of pads", [[5, 6, 0], [7, 4, 5]], [[0, 0], [2, 7]], 0, 4)
    yield case("all sizes different", padded(2, 7, 0), padded(2, 5, 0), 0, 3)
    src, tgt = [[9, 50255, 50256, 50256], [50255, 4, 6, 50256]], [[3, 50255, 50256]] * 2
    yield case("pad_id larger than every id", src, tgt, 50256, 5)
    yield case("pad_id -1", padded(2, 3, -1), padded(2, 5, -1), -1, 4)
    yield case("B = H = L = S", padded(3, 3, 0), padded(3, 3, 0, at_most=1), 0, 3)
    yield case("one output token", padded(2, 4, 0), [[2], [2]], 0, 3)
    yield case("ids as int32", padded(2, 4, 0).int(), padded(2, 3, 0).int(), 0, 3)
    yield case("ids not contiguous", padded(4, 2, 5).T, padded(3, 2, 5).T, 5, 3)
    pad = 2**40  # float32 and int32 take each of these ids for it
    src, tgt = [[pad + 1, pad, pad + 2**32]], [[pad - 2**32, pad, pad + 1]]
    yield case("ids of thirteen digits", src, tgt, pad, 2)


encoder_decoder_masks.rows("""
In which order are the three masks asked for?
    results-out-of-order  order = decoder, encoder, cross || encoder, cross, decoder
Which id stands for a pad? Is it 0 in every vocabulary?
    pad-id-is-always-0  src_real = pad_id => 0
    pad-id-is-always-0  tgt_real = pad_id => 0
    pad-id-is-always-0  src_real, tgt_real = pad_id => 0
What does True promise in this course: 'may attend', or 'hide this'?
    inverted  order = tuple(~mask for mask in (_))
    inverted  decoder = ~_
    inverted  cross = ~_
Is `ids == pad_id` True for the tokens that may be seen, or for the others?
    padding-inverted  src_real = != => ==
    padding-inverted  tgt_real = != => ==
    padding-inverted  src_real, tgt_real = != => ==
While the decoder learns, the whole output lies before it. Which words may word 0 not see?
    decoder-not-causal  decoder = tgt
The outputs are padded as well. Where does the decoder mask hide that?
    decoder-pads-seen  decoder = causal
A key in the future that is no pad: may it be seen? Must one rule allow it, or both?
    or-instead-of-and  decoder = & => |
`and`, `or` and `not` ask whether a whole tensor is true. Which signs work entry by entry?
    whole-tensor-as-truth-value  decoder = & => and
Row 0 of your decoder mask: does it see what comes first, or last?
    causal-upside-down  causal = tril => triu || ~_
May a word see itself? What does row 0 see in your decoder mask?
    does-not-see-itself  causal = tril() => tril(-1)
What may row 0 see besides itself? Which diagonal is the last one?
    sees-one-word-ahead  causal = tril() => tril(1)
The input is complete before anything is written. May its first word see its last?
    encoder-causal  encoder = _ & attn_lib.causal_mask(src_ids.shape[1], src_ids.shape[1])
Which keys does the encoder read: also the pads of the input?
    encoder-pads-seen  encoder = torch.ones_like(_)
    encoder-pads-seen  src = torch.ones_like(_)
Which sentences does the encoder read? Whose pads has it to hide?
    encoder-hides-pads-of-the-output  encoder = (tgt_ids != pad_id)[:, None, None, :]
Which of the two batches does the encoder read, and which one does the decoder write?
    sentences-swapped  src_real = tgt_ids != pad_id ; tgt_real = src_ids != pad_id ; L = src_ids.shape[1]
Change the pads of the second sentence. Do your masks change?
    only-the-first-sentence  src_real, tgt_real = _[:1]
The decoder reads the input too. Whose pads does it meet there?
    cross-pads-seen  cross = torch.ones_like(_)
In cross-attention, which sequence gives the keys? Whose pads must be hidden, then?
    cross-hides-pads-of-the-output  cross = tgt || tgt.mT || src & tgt || decoder
How much of the input is there when the first word of the output is written? How much of it may
that word see in your cross mask?
    cross-causal  cross = _ & attn_lib.causal_mask(L, src_ids.shape[1])
    cross-causal  cross = _ & torch.ones(L, src_ids.shape[1], dtype=torch.bool).tril()
Does the output of a pad query matter to anyone?
    hides-pad-queries-too  encoder = _ & src.mT
    hides-pad-queries-too  decoder = _ & tgt.mT
    hides-pad-queries-too  cross = _ & tgt.mT
    hides-pad-queries-too  encoder = _ & src.mT ; decoder = _ & tgt.mT
    hides-pad-queries-too  encoder = _ & src.mT ; decoder = _ & tgt.mT ; cross = _ & tgt.mT
Should a pad not ask, or should it not be read? Is the last axis of a mask queries or keys?
    hides-queries-instead-of-keys  src, tgt = [:, None, None, :] => [:, None, :, None]
    hides-queries-instead-of-keys  encoder = src.mT ; decoder = tgt => tgt.mT ; cross = tgt.mT & torch.ones_like(src)
    hides-queries-instead-of-keys  decoder = tgt => tgt.mT
    hides-queries-instead-of-keys  encoder = src.mT
Are all other ids larger than `pad_id`, or all smaller? Which comparison asks for 'another id'?
    compares-by-size  src_real, tgt_real = != => > || != => <
A count says how many tokens are real. Does it say which, if a pad stands in front?
    assumes-pads-at-the-end  src_real = torch.arange(src_ids.shape[1]) < _.sum(1, keepdim=True) ; tgt_real = torch.arange(L) < _.sum(1, keepdim=True)
Where all is padding, a row may see nothing. Is that up to the mask, or to your attention?
    opens-empty-rows  encoder, decoder, cross = _ | ~_.any(-1, keepdim=True)
    opens-empty-rows  decoder = _ | torch.eye(L, dtype=torch.bool)
    opens-empty-rows  decoder = _ | ~_.any(-1, keepdim=True)
    opens-empty-rows  src = _ | ~_.any(-1, keepdim=True)
    opens-empty-rows  encoder = _ | ~_.any(-1, keepdim=True)
A mask of this course is made of True and False. Print the dtype of all that yours are made from.
    not-boolean  masks = tuple(mask.float() for mask in _)
    not-boolean  masks = tuple(mask.long() for mask in _)
    not-boolean  decoder = causal => causal.float() || tgt * causal.float()
Write the shape of your masks below (B, H, L, S), lined up from the right. What stands below B?
    head-axis-missing  masks = tuple(mask[:, 0] for mask in _)
    head-axis-missing  src = src_real[:, None]
    head-axis-missing  tgt = tgt_real[:, None]
    two-axes-missing   src = src_real
    two-axes-missing   tgt = tgt_real
    two-axes-missing   src = src_real ; tgt = tgt_real
In the decoder's own attention, which sequence gives the queries, and which the keys?
    decoder-mask-as-long-as-the-input  L = tgt_ids => src_ids
    decoder-mask-as-long-as-the-input  decoder = tgt => src
Nobody asked you to shift the output. How many columns has tgt_ids, and how many your mask?
    last-target-dropped  decoder = _[..., :-1, :-1] || _[..., 1:, 1:]
The decoder attends twice: once to what is written, and then to what? Which mask belongs to that?
    cross-mask-missing  order = encoder, decoder
Rows are queries, columns are keys. In cross-attention, whose words ask, and whose are read?
    cross-turned  cross = src.expand(-1, -1, src_ids.shape[1], -1)
    cross-turned  cross = src.mT.expand(-1, -1, -1, L)
A pad may stand in front. What does your mask say of the real tokens behind it?
    ends-at-the-first-pad  src_real, tgt_real = (_).cumprod(1).bool()
""")

encoder_decoder_masks.drills(
    "whole-tensor-as-truth-value, causal-upside-down, or-instead-of-and, decoder-mask-as-long-as-the-input, "
    "does-not-see-itself, cross-hides-pads-of-the-output, cross-causal 1, hides-pad-queries-too, "
    "hides-queries-instead-of-keys, compares-by-size"
)
