"""Measure how fast SmolLM2 writes here, beside the transformers library and the speed of memory.

A token needs every weight once. So nothing writes faster than memory is read, divided by the bytes of the
weights: the share of that limit stands beside each. All sides take turns, so that a busy machine slows
them alike; the best of the rounds counts. The transformers library is optional: pip install -e '.[bench]'.
"""

import argparse
import copy
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from attn_lib.generation import generate
from attn_lib.quantization import Float16Linear, Int8Linear, quantized
from attn_lib.smollm2 import find_smollm2, load_smollm2

NEW = 32  # tokens
TEXT = Path(torch.__file__).with_name("_torch_docs.py")


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


def writers(model: nn.Module) -> dict[str, tuple[Callable, int]]:
    """Return what writes after ids, and the bytes of weights that each token needs."""
    count = sum(p.numel() for p in model.parameters())
    result = {}
    if find_spec("transformers") and find_spec("accelerate"):
        peer = theirs()
        peer.generation_config.eos_token_id = None
        result["transformers"] = (
            lambda ids, n: peer.generate(
                ids, attention_mask=torch.ones_like(ids), max_new_tokens=n, do_sample=False
            ),
            4 * count,
        )
    models = {
        "float32, rows": (by_rows(model), 4),
        "float32": (model, 4),
        "int8": (quantized(model, Int8Linear), 1),
        "float16": (quantized(model, Float16Linear), 2),
    }
    for name, (each, size) in models.items():
        result[name] = (lambda ids, n, each=each: generate(each, ids, n)), size * count
    return result


def best(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Run the calls in turn; return the seconds of each one's best round."""
    seconds = dict.fromkeys(calls, float("inf"))
    for run in range(rounds + 1):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            if run:  # the first one warms up
                seconds[name] = min(seconds[name], time.perf_counter() - start)
    return seconds


def bench_speed(model: nn.Module, sides: dict, text: torch.Tensor, rounds: int) -> None:
    """Print tokens a second, with a short prompt, and the time to the first token of a long one."""
    weights = [p.data for p in model.parameters() if p.ndim == 2]
    for threads in (1, 2):
        torch.set_num_threads(threads)
        calls = {
            name: (lambda write=write: write(text[:, :32], NEW))
            for name, (write, _) in sides.items()
        }
        seconds = best(calls | {"read": lambda: [w.sum() for w in weights]}, rounds)
        first = best(
            {n: (lambda w=w: w(text[:, :512], 1)) for n, (w, _) in sides.items()}, 2
        )
        speed = sum(w.nbytes for w in weights) / seconds.pop("read")
        slowest = next(iter(seconds.values()))
        print(f"\n{threads} thread(s); memory is read at {speed / 1e9:.1f} GB/s")
        print(
            f"{'':16}{'tokens/s':>10}{'ratio':>8}{'GB/s':>8}{'of the limit':>14}{'first of 512':>14}"
        )
        for name, time_taken in seconds.items():
            read = sides[name][1] * NEW / time_taken
            print(
                f"{name:16}{NEW / time_taken:10.1f}{slowest / time_taken:8.2f}{read / 1e9:8.1f}"
                f"{read / speed:14.0%}{first[name]:12.2f} s"
            )


@torch.no_grad()
def bench_loss(model: nn.Module, text: torch.Tensor) -> None:
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
        each = model if layer is None else quantized(model, layer)
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
    text = torch.tensor([ids[:2000]])
    bench_speed(model, writers(model), text, rounds)
    bench_loss(model, text)


if __name__ == "__main__":
    main()
