"""Next-token prediction: the loss to train with, and greedy decoding."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor


def next_token_loss(
    logits: Float[Tensor, "b l v"], ids: Int[Tensor, "b l"], pad_id: int
) -> Float[Tensor, ""]:
    """Return the cross-entropy of predicting each next token, padding left out.

    The logits at place i are a guess at the token at i + 1: teacher forcing, every place at once.

    Args:
        logits: (B, L, V).
        ids: (B, L), what the model was given.
        pad_id: a target of this id does not count.

    Returns:
        A scalar in nats, the mean over the real targets of the whole batch; 0 if there is none.

    Raises:
        ValueError: logits and ids do not have the same B and L.
    """
    if logits.ndim != 3 or logits.shape[:2] != ids.shape:
        raise ValueError(
            f"expected logits (B, L, V) and ids (B, L), got {tuple(logits.shape)} and {tuple(ids.shape)}"
        )
    targets = ids[:, 1:]
    losses = F.cross_entropy(
        logits[:, :-1].flatten(0, 1),
        targets.flatten(),
        ignore_index=pad_id,
        reduction="sum",
    )
    return losses / (targets != pad_id).sum().clamp(min=1)


def greedy_decode(
    step: Callable[[Int[Tensor, "b l"]], Float[Tensor, "b l v"]],
    batch_size: int,
    bos_id: int,
    eos_id: int,
    max_len: int,
    *,
    device: torch.device | str | None = None,
) -> Int[Tensor, "b n"]:
    """Write the likeliest next token again and again, until every row has ended.

    Args:
        step: `step(ids)` takes all ids so far (B, L), which begin with bos_id, and returns logits
            (B, L, V); those at the last position say which token comes next.
        batch_size: B, how many sequences are written at once.
        bos_id: the id every sequence begins with.
        eos_id: the id that ends a sequence.
        max_len: the largest number of tokens to write.
        device: where the ids are made.

    Returns:
        Ids (B, N), N <= max_len, without the leading bos_id; after its eos_id a row holds nothing
        but eos_id.
    """
    ids = torch.full((batch_size, 1), bos_id, device=device)
    ended = torch.zeros(batch_size, dtype=torch.bool, device=device)
    for _ in range(max_len):
        following = step(ids)[:, -1].argmax(dim=-1).masked_fill(ended, eos_id)
        ids = torch.cat([ids, following[:, None]], dim=1)
        ended |= following == eos_id
        if ended.all():
            break
    return ids[:, 1:]
