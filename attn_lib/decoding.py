"""Writing a sequence token by token with a model that predicts the next one."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor


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
