"""Answers to greedy_decode that no row makes."""

import torch

from attn_lib import greedy_decode
from tests.checks.answers import Answers

answers = Answers(
    "greedy_decode",
    spelled=dict(
        start=["torch.tensor([[bos_id]] * batch_size)"],
        last=["logits.double()[:, -1].log_softmax(-1)"],
        chosen=["last.topk(1).indices[:, 0]"],
        newest=[
            "torch.where(ended, filler, chosen)",
            "chosen * ~ended + filler * ended",
            "chosen.masked_fill((ids == eos_id).any(1), filler)",
        ],
        over=["newest == eos_id", "(grown == eos_id).any(1)"],
        done=["False"],
        written=[
            "F.pad(ids[:, 1:], (0, max_len + 1 - ids.shape[1]), value=eos_id)",
            "ids[:, :max_len]",
        ],
    ),
    # The last axis of two; and a row that has ended says eos again and again.
    survivors=[dict(chosen="last.argmax(1)"), dict(over="newest == eos_id")],
)


@answers.right
def cleaned_at_the_end(step, batch_size, bos_id, eos_id, max_len):
    """Rows go on after their eos; what they say there is wiped off."""
    ids = torch.full((batch_size, 1), bos_id)
    for _ in range(max_len):
        ids = torch.cat([ids, step(ids)[:, -1:].argmax(-1)], dim=1)
    return torch.where((ids == eos_id).cumsum(1) > 0, eos_id, ids)[:, 1:]


# Half precision, only the last eight ids shown.
answers.wrong(
    lambda step, *args: greedy_decode(lambda ids: step(ids).half(), *args),
    lambda step, *args: greedy_decode(lambda ids: step(ids[:, -8:]), *args),
)
