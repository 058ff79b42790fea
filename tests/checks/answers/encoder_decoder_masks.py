"""Answers to encoder_decoder_masks that no row makes."""

from attn_lib import encoder_decoder_masks as right
from tests.checks.answers import Answers

answers = Answers(
    "encoder_decoder_masks",
    spelled=dict(
        src_real=["(src_ids - pad_id).bool()", "~torch.isin(src_ids, pad_id)"],
        tgt_real=["torch.from_numpy(tgt_ids.numpy() != pad_id)"],
        tgt=["tgt_real[:, None, None].repeat(1, 1, L, 1)"],
        causal=[
            "torch.triu(torch.ones(L, L), diagonal=1) == 0",
            "nn.Transformer.generate_square_subsequent_mask(L) == 0",
        ],
        encoder=["src_real[:, None, None].expand(-1, -1, src_ids.shape[1], -1)"],
        decoder=["tgt * causal", "torch.where(causal, tgt, False)", "tgt.expand(-1, 1, L, L).tril()"],
        cross=["src.expand(-1, -1, L, -1)"],
        masks=["[encoder, decoder, cross]", "tuple(m.mT.contiguous().mT for m in _)"],
    ),
    survivors=[dict(masks="order")],  # a tuple already
)  # fmt: skip


@answers.right
def without_a_batch_of_one(src_ids, tgt_ids, pad_id):
    masks = right(src_ids, tgt_ids, pad_id)
    return tuple(m[0, 0] if len(m) == 1 else m for m in masks)


# Lists, bytes, half, no sign.
answers.wrong(
    lambda s, t, p: [m.tolist() for m in right(s, t, p)],
    lambda s, t, p: tuple(m.byte() for m in right(s, t, p)),
    lambda s, t, p: right(s.half(), t.half(), p),
    lambda s, t, p: right(s, t, abs(p)),
)
