"""One training loop for every lesson."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from tqdm.auto import tqdm


@dataclass
class Record:
    """What a training run did: its losses and gradient norms by step, and (step, test loss) pairs."""

    losses: list[float] = field(default_factory=list)
    gradient_norms: list[float] = field(default_factory=list)
    tests: list[tuple[int, float]] = field(default_factory=list)


def train(
    model: nn.Module,
    batch_loss: Callable[[torch.Generator], Tensor],
    steps: int,
    *,
    lr: float = 3e-3,
    seed: int = 0,
    test: Callable[[], float] | None = None,
    every: int = 50,
    patience: int | None = None,
) -> Record:
    """Train with AdamW: the learning rate rises for a tenth of the steps, then falls to 0.

    Args:
        model: changed in place; at the end it is in `eval` mode, and in its best state if it was tested.
        batch_loss: draws a batch with the generator it is given, and returns the loss on it.
        steps: how many batches at most.
        lr: the largest learning rate.
        seed: of the batches and of dropout.
        test: returns the loss on data kept aside; called without gradients, in `eval` mode.
        every: steps between two tests.
        patience: stop after so many tests in a row without a new best; None = never.
    """
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, lr, steps, pct_start=0.1)
    record, best, state, since = Record(), float("inf"), None, 0
    for step in tqdm(range(1, steps + 1), leave=False, mininterval=0.5):
        model.train()
        loss = batch_loss(generator)
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        record.losses.append(loss.item())
        record.gradient_norms.append(norm.item())
        if test and (step % every == 0 or step == steps):
            model.eval()
            with torch.no_grad():
                now = float(test())
            record.tests.append((step, now))
            since += 1
            if now < best:
                best, state, since = now, deepcopy(model.state_dict()), 0
            if patience is not None and since >= patience:
                break
    if state is not None:
        model.load_state_dict(state)
    model.eval()
    return record
