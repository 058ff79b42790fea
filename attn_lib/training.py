"""The training loop of the lessons."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from tqdm.auto import tqdm


@dataclass
class Record:
    """The losses and gradient norms of a training run, by step."""

    losses: list[float] = field(default_factory=list)
    gradient_norms: list[float] = field(default_factory=list)


def train(
    model: nn.Module,
    batch_loss: Callable[[torch.Generator], Tensor],
    steps: int,
    *,
    lr: float = 3e-3,
    seed: int = 0,
) -> Record:
    """Train with AdamW: the learning rate rises for a tenth of the steps, then falls to 0.

    Args:
        model: changed in place; at the end it is in `eval` mode.
        batch_loss: draws a batch with the generator it is given, and returns the loss on it.
        steps: how many batches.
        lr: the largest learning rate.
        seed: of the batches and of dropout.
    """
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, lr, steps, pct_start=0.1)
    record = Record()
    model.train()
    # The bars of several threads would overwrite each other.
    is_one_of_many = threading.current_thread() is not threading.main_thread()
    for _ in tqdm(range(steps), leave=False, mininterval=0.5, disable=is_one_of_many):
        loss = batch_loss(generator)
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        record.losses.append(loss.item())
        record.gradient_norms.append(norm.item())
    model.eval()
    return record
