"""Answers to encoder_decoder_masks that no row makes."""

import torch
import torch.nn.functional as F

import attn_lib
from tests.checks.answers import Answers

answers = Answers(
    "encoder_decoder_masks",
    spelled=dict(
        L=["tgt_ids.size(-1)"],
        src_real=["~(src_ids == pad_id)", "(src_ids - pad_id).bool()", "~torch.isin(src_ids, pad_id)"],
        tgt_real=["tgt_ids.ne(pad_id)", "torch.from_numpy(tgt_ids.numpy() != pad_id)"],
        src=["src_real.unsqueeze(1).unsqueeze(2)"],
        tgt=["tgt_real.view(-1, 1, 1, L)", "tgt_real[:, None, None].repeat(1, 1, L, 1)"],
        causal=[
            "attn_lib.sliding_window_mask(L, L, L)[None, None]",
            "torch.triu(torch.ones(L, L), diagonal=1) == 0",
            "nn.Transformer.generate_square_subsequent_mask(L) == 0",
            "torch.arange(L) <= torch.arange(L)[:, None]",
            "torch.eye(L).cumsum(0).bool()",
        ],
        encoder=["src_real[:, None, None].expand(-1, -1, src_ids.shape[1], -1)"],
        decoder=[
            "torch.logical_and(tgt, causal)",
            "tgt * causal",
            "~(~tgt | ~causal)",
            "(tgt.long() * causal).bool()",
            "torch.where(causal, tgt, False)",
            "tgt.expand(-1, 1, L, L).tril()",
        ],
        cross=["_.clone()", "src.expand(-1, -1, L, -1)"],
        masks=["[encoder, decoder, cross]", "tuple(m.mT.contiguous().mT for m in _)"],
    ),
)  # fmt: skip


@answers.right
def in_lists(src_ids, tgt_ids, pad_id):
    src = torch.tensor([[[[t != pad_id for t in row]]] for row in src_ids.tolist()])
    decoder = [
        [[[j <= i and t != pad_id for j, t in enumerate(row)] for i in range(len(row))]]
        for row in tgt_ids.tolist()
    ]
    return [src, torch.tensor(decoder), src]


@answers.right
def without_a_batch_of_one(src_ids, tgt_ids, pad_id):
    masks = right(src_ids, tgt_ids, pad_id)
    return tuple(m[0, 0] if len(m) == 1 else m for m in masks)


right = attn_lib.encoder_decoder_masks


@answers.wrong
def first_pad_ends_it(src_ids, tgt_ids, pad_id):
    src, tgt = (
        (i != pad_id).long().cumprod(1)[:, None, None] > 0 for i in (src_ids, tgt_ids)
    )
    return src, right(src_ids, tgt_ids, pad_id)[1] & tgt, src


@answers.wrong
def hidden_only_at_both_ends(src_ids, tgt_ids, pad_id):
    real = (src_ids != pad_id).long()
    src = (real.cumsum(1).bool() & real.flip(1).cumsum(1).flip(1).bool())[:, None, None]
    return src, right(src_ids, tgt_ids, pad_id)[1], src


@answers.wrong
def changes_the_pads(src_ids, tgt_ids, pad_id):
    src_ids[src_ids == pad_id] = -100
    src = right(src_ids, tgt_ids, -100)[0]
    return src, right(src_ids, tgt_ids, pad_id)[1], src


@answers.wrong
def compared_by_identity(src_ids, tgt_ids, pad_id):
    """Python keeps one object for each of the numbers -5 to 256, and no longer beyond."""
    src = torch.tensor([[[[t is not pad_id for t in row]]] for row in src_ids.tolist()])
    return src, right(src_ids, tgt_ids, pad_id)[1], src


# Two masks, lists, bytes, half precision, no sign, no negative ids, all sentences' pads, shifted.
for wrong in (
    lambda s, t, p: right(s, t, p)[:2],
    lambda s, t, p: [m.tolist() for m in right(s, t, p)],
    lambda s, t, p: tuple(m.byte() for m in right(s, t, p)),
    lambda s, t, p: right(s.half(), t.half(), p),
    lambda s, t, p: right(s, t, abs(p)),
    lambda s, t, p: right(s.clamp(min=0), t.clamp(min=0), p),
    lambda s, t, p: tuple(m.all(0, keepdim=True) for m in right(s, t, p)),
    lambda s, t, p: (*right(s, t, p)[:2], F.pad(right(s, t, p)[2][..., :-1], (1, 0))),
):
    answers.wrong(wrong)
