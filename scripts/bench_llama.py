"""Measure how fast SmolLM2 writes here, beside the transformers library and the speed of memory.

A token needs every weight once. So nothing writes faster than memory is read, divided by the bytes of the
weights: the share of that limit stands beside each. A nearer limit is the time that PyTorch needs for the
products alone, with weights of that kind. All sides take turns, so that a busy machine slows them alike; the
best of the rounds counts. The transformers library is optional: pip install -e '.[bench]'.
"""

import argparse
import copy
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from attn_lib.generation import generate, stream
from attn_lib.quantization import Float16Linear, Int8Linear, quantized
from attn_lib.smollm2 import find_smollm2, load_smollm2

NEW = 32  # tokens
TEXT = Path(torch.__file__).with_name("_torch_docs.py")
Writer = Callable[[list[int], int], None]  # of a prompt, and how many tokens to write


@dataclass
class Side:
    """One way to write: by what, its products alone, and the bytes of its weights."""

    write: Writer
    products: Callable[[], object]
    size: int


def by_rows(model: nn.Module) -> nn.Module:
    """Return a copy whose matrices lie in memory row by row, as PyTorch makes them."""
    model = copy.deepcopy(model)
    for p in model.parameters():
        p.data = p.data.contiguous()
    return model


def theirs() -> Any:
    """Return the model of the transformers library, from the same file."""
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    path = find_smollm2()
    return AutoModelForCausalLM.from_pretrained(
        str(path.parent), gguf_file=path.name, dtype=torch.float32
    ).eval()


def their_writer(model: Any) -> Writer:
    """Return what lets a model of the transformers library write."""
    model.generation_config.eos_token_id = None

    def write(ids: list[int], new: int) -> None:
        given = torch.tensor([ids])
        mask = torch.ones_like(given)
        model.generate(given, attention_mask=mask, max_new_tokens=new, do_sample=False)

    return write


def our_writer(model: Any) -> Writer:
    """Return what lets a model of ours write."""

    def write(ids: list[int], new: int) -> None:
        tokens = stream(model, list(ids), model.new_caches(1, len(ids) + new))
        list(islice(tokens, new))

    return write


def products(model: Any) -> Callable[[], object]:
    """Return what multiplies every matrix by a vector, and does nothing else."""
    layers = [
        (m, torch.randn(1, 1, m.in_features)) for m in model.modules() if is_linear(m)
    ]
    return lambda: [layer(x) for layer, x in layers]


def is_linear(module: nn.Module) -> bool:
    return isinstance(module, nn.Linear | Int8Linear | Float16Linear)


def sides(model: Any) -> dict[str, Side]:
    """Return all that write, the transformers library first, if it is there."""
    models = {
        "float32, rows": (by_rows(model), 4),
        "float32": (model, 4),
        "int8": (quantized(model, Int8Linear), 1),
        "float16": (quantized(model, Float16Linear), 2),
    }
    count = sum(p.numel() for p in model.parameters())
    result = {}
    if find_spec("transformers") and find_spec("accelerate"):
        peer = theirs()
        result["transformers"] = Side(their_writer(peer), products(peer), 4 * count)
    for name, (each, size) in models.items():
        result[name] = Side(our_writer(each), products(each), size * count)
    return result


def best(calls: dict[Any, Callable[[], object]], rounds: int) -> dict[Any, float]:
    """Run the calls in turn; return the seconds of each one's best round."""
    seconds = dict.fromkeys(calls, float("inf"))
    for run in range(rounds + 1):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            if run:  # the first one warms up
                seconds[name] = min(seconds[name], time.perf_counter() - start)
    return seconds


@torch.no_grad()
def bench_speed(model: Any, all_sides: dict, ids: list[int], rounds: int) -> None:
    """Print tokens a second after a short prompt, and the time to the first token after a long one."""
    weights = [p for p in model.parameters() if p.ndim == 2]
    size = sum(w.nbytes for w in weights)
    for threads in (1, 2):
        torch.set_num_threads(threads)
        calls: dict = {"memory": lambda: [w.sum() for w in weights]}
        for name, side in all_sides.items():
            calls[name, "long"] = partial(side.write, ids[:32], NEW + 1)
            calls[name, "short"] = partial(side.write, ids[:32], 1)
            calls[name, "products"] = side.products
        seconds = best(calls, rounds)
        first = best({n: partial(s.write, ids[:512], 1) for n, s in all_sides.items()}, 2)
        speed = size / seconds["memory"]
        print(f"\n{threads} thread(s); memory is read at {speed / 1e9:.1f} GB/s. A token:")
        print(f"{'':14}{'a second':>10}{'ratio':>8}{'GB/s':>8}{'of memory':>11}", end="")
        print(f"{'of its products':>17}{'first of 512':>14}")
        slowest = None
        for name, side in all_sides.items():
            token = (seconds[name, "long"] - seconds[name, "short"]) / NEW
            slowest = slowest or token
            read = side.size / token
            print(
                f"{name:14}{1 / token:10.1f}{slowest / token:8.2f}{read / 1e9:8.1f}", end=""
            )
            print(f"{read / speed:11.0%}{seconds[name, 'products'] / token:17.0%}", end="")
            print(f"{first[name]:12.2f} s", flush=True)


@torch.no_grad()
def bench_loss(model: Any, text: torch.Tensor) -> None:
    """Print what rounding costs: the loss token by token, as it writes; where a greedy text departs."""
    torch.set_num_threads(1)
    reference = generate(model, text[:, :32], 200)
    print(f"\n{'':16}{'loss, nats':>12}{'more':>9}   first other token of 200, greedy")
    losses = []
    for name, layer in (
        ("float32", None),
        ("int8", Int8Linear),
        ("float16", Float16Linear),
    ):
        each: Any = model if layer is None else quantized(model, layer)
        caches = each.new_caches(1, text.shape[1])
        logits = torch.cat(
            [each(token, caches=caches)[0] for token in text.split(1, dim=1)]
        )
        losses.append(F.cross_entropy(logits[:-1], text[0, 1:]).item())
        other = (generate(each, text[:, :32], 200) != reference)[0].nonzero()
        where = f"{other[0].item() - 31}" if len(other) else "none"
        print(f"{name:16}{losses[-1]:12.4f}{losses[-1] - losses[0]:+9.4f}   {where}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, help="of all sides in turn (5)")
    rounds = parser.parse_args().rounds
    model, tokenizer = load_smollm2()
    ids = tokenizer.encode(TEXT.read_text(encoding="utf-8")[:20_000]).ids
    bench_speed(model, sides(model), ids, rounds)
    bench_loss(model, torch.tensor([ids[:2000]]))


if __name__ == "__main__":
    main()
