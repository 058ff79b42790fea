"""Training in several processes, each with its part of a batch, compared with one process.

    torchrun --standalone --nproc-per-node 2 -m attn_lib.programs.data_parallel

Each process has the whole model and some of the texts. After the backward pass they put their
gradients together, so that all take the same step. `DistributedDataParallel` takes the mean of the
gradients; that is right as long as each part holds as many tokens. The processes meet on this machine only.
"""

import copy
import os
import socket
import sys
from datetime import timedelta

import torch
import torch.distributed as dist
from jaxtyping import Int
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from attn_lib.data.text import random_windows, split_help
from attn_lib.decoding import next_token_loss
from attn_lib.models import LanguageModel
from attn_lib.positions import RoPE

TEXTS, LENGTH, SHORT, STEPS = 8, 40, 10, 10


def one_process(model: nn.Module, ids: Int[Tensor, "b l"], pad_id: int) -> Tensor:
    """Leave the gradients of the whole batch in the model; return its loss, in nats a token."""
    loss = next_token_loss(model(ids), ids, pad_id)
    loss.backward()
    return loss.detach()


def mean_of_means(model: nn.Module, ids: Int[Tensor, "b l"], pad_id: int) -> Tensor:
    """Take the mean, over processes, of the mean over their tokens: right for even parts."""
    loss = one_process(model, part(ids), pad_id)
    for tensor in (loss, *gradients(model)):
        dist.all_reduce(tensor)  # the sum over all processes, in each of them
        tensor /= dist.get_world_size()
    return loss


def distributed_data_parallel(
    model: nn.Module, ids: Int[Tensor, "b l"], pad_id: int
) -> Tensor:
    """Do as `mean_of_means`, by a `DistributedDataParallel`, which averages the gradients."""
    loss = one_process(model, part(ids), pad_id)
    dist.all_reduce(loss)
    return loss / dist.get_world_size()


def sum_of_sums(model: nn.Module, ids: Int[Tensor, "b l"], pad_id: int) -> Tensor:
    """Divide the sum of all losses by the number of all tokens: right for any parts."""
    loss = part_of_loss(model, ids, pad_id)
    loss.backward()
    for tensor in (shared := loss.detach(), *gradients(model)):
        dist.all_reduce(tensor)
    return shared


def distributed_sum_of_sums(
    model: nn.Module, ids: Int[Tensor, "b l"], pad_id: int
) -> Tensor:
    """Do as `sum_of_sums`, by a `DistributedDataParallel`: times the processes it averages over."""
    loss = part_of_loss(model, ids, pad_id)
    (loss * dist.get_world_size()).backward()
    dist.all_reduce(shared := loss.detach())
    return shared


def part_of_loss(model: nn.Module, ids: Int[Tensor, "b l"], pad_id: int) -> Tensor:
    """Return the sum of this process's losses over the number of all tokens."""
    mine = part(ids)
    tokens = (mine[:, 1:] != pad_id).sum()
    all_tokens = tokens.clone()
    dist.all_reduce(all_tokens)
    return next_token_loss(model(mine), mine, pad_id) * tokens / all_tokens


def part(ids: Int[Tensor, "b l"]) -> Int[Tensor, "p l"]:
    """Return the texts of this process."""
    return ids.chunk(dist.get_world_size())[dist.get_rank()]


def gradients(model: nn.Module) -> list[Tensor]:
    return [p.grad for p in model.parameters() if p.grad is not None]


def compare(start: LanguageModel, ids: Int[Tensor, "b l"], pad_id: int) -> list[str]:
    """Train a copy of the model in each way; return a line of the table for each.

    How far a gradient is off: |g - g_1| / |g_1|, all parameters together, g_1 that of one process.
    """
    lines = []
    ways = mean_of_means, distributed_data_parallel, sum_of_sums, distributed_sum_of_sums
    for way in (one_process, *ways):
        model: nn.Module = copy.deepcopy(start)
        if way.__name__.startswith("distributed"):
            model = DistributedDataParallel(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
        for step in range(STEPS):
            optimizer.zero_grad()
            loss = way(model, ids, pad_id)
            if step == 0:
                first, gradient = loss, torch.cat([g.flatten() for g in gradients(model)])
            optimizer.step()
        if way is one_process:
            reference = gradient
        off = (gradient - reference).norm() / reference.norm()
        with torch.no_grad():
            last = next_token_loss(model(ids), ids, pad_id)
        lines.append(f"{way.__name__:26}{first:12.6f}{off:14.1e}{last:14.6f}")
    return lines


def main() -> None:
    """Compare on even parts and on uneven ones; the first process prints the table."""
    processes = int(os.environ.get("WORLD_SIZE", 0))
    if not processes or TEXTS % processes:
        sys.exit(
            "Start it in 2 processes, or another number that divides 8:\n"
            "torchrun --standalone --nproc-per-node 2 -m attn_lib.programs.data_parallel"
        )
    loopback = next(name for _, name in socket.if_nameindex() if name.startswith("lo"))
    os.environ.setdefault("GLOO_SOCKET_IFNAME", loopback)
    dist.init_process_group("gloo", timeout=timedelta(seconds=30))
    torch.manual_seed(0)
    text, _, vocabulary = split_help()
    pad_id = len(vocabulary)
    model = LanguageModel(pad_id + 1, 32, 4, 2, positions=RoPE())
    even = random_windows(text, LENGTH, TEXTS)
    uneven = even.clone()
    uneven[TEXTS // 2 :, SHORT:] = pad_id
    for ids in (even, uneven):
        lines = compare(model, ids, pad_id)
        if dist.get_rank() == 0:
            counts = [(p[:, 1:] != pad_id).sum().item() for p in ids.chunk(processes)]
            print("tokens of each process:", *counts)
            print(f"{'':26}{'first loss':>12}{'gradient off':>14}{f'after {STEPS}':>14}")
            print(*lines, sep="\n", end="\n\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
