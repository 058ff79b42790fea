"""Answers to next_token_loss that no row makes."""

import torch
import torch.nn.functional as F

from tests.checks.answers import Answers

answers = Answers(
    "next_token_loss",
    spelled=dict(
        guesses=["logits[:, : logits.shape[1] - 1]", "logits.narrow(1, 0, logits.shape[1] - 1)"],
        targets=["ids[:, 1:].long()", "ids[..., 1:]"],
        real=["~(targets == pad_id)", "targets.ne(pad_id)"],
        log_probs=["guesses - guesses.logsumexp(-1, keepdim=True)", "F.log_softmax(guesses, dim=-1).log_softmax(-1)"],
        losses=["-(log_probs * F.one_hot(targets, logits.shape[-1])).sum(-1)"],
        counted=["losses * real", "losses.where(real, 0.0)"],
        total=["losses[real].sum()", "counted.sum(1).sum()"],
        divisor=["count + (count == 0)", "count.clamp_min(1)"],
        loss=["(counted / divisor).sum()", "total / max(int(count), 1)"],
    ),
    # `gather` leaves alone what has no target.
    survivors=[dict(guesses="logits"), dict(losses="-chosen[..., -1]")],
)  # fmt: skip


@answers.right
def by_cross_entropy(logits, ids, pad_id):
    guesses, targets = logits[:, :-1].transpose(1, 2), ids[:, 1:]
    losses = F.cross_entropy(guesses, targets, ignore_index=pad_id, reduction="sum")
    return losses / (targets != pad_id).sum().clamp(min=1)


@answers.right
def of_the_real_places_only(logits, ids, pad_id):
    real = ids[:, 1:] != pad_id
    if not real.any():
        return (logits * 0).sum()
    return F.cross_entropy(logits[:, :-1][real], ids[:, 1:][real])


@answers.wrong
def detached(logits, ids, pad_id):
    return by_cross_entropy(logits.detach(), ids, pad_id)


@answers.wrong
def constant_for_nothing(logits, ids, pad_id):
    is_empty = (ids[:, 1:] == pad_id).all()
    return logits.new_zeros(()) if is_empty else by_cross_entropy(logits, ids, pad_id)


@answers.wrong
def ids_in_int16(logits, ids, pad_id):
    targets = ids[:, 1:].short()
    losses = (
        -logits[:, :-1]
        .log_softmax(-1)
        .gather(-1, targets.long()[..., None] % logits.shape[-1])[..., 0]
    )
    real = targets != pad_id
    return torch.where(real, losses, 0.0).sum() / real.sum().clamp_min(1)
