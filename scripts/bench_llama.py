"""Measure how fast SmolLM2 writes here, beside transformers, ONNX Runtime GenAI and the speed of memory.

A token needs every weight once. So nothing writes faster than memory is read, divided by the bytes of the
weights: the share of that limit stands beside each. All sides take turns, so that a busy machine slows them
alike; the best of the rounds counts. The other libraries are optional: pip install -e '.[bench]'. They get their
model from the file of ours, offline; ONNX Runtime GenAI rounds it to four bits anew, its head too.
"""

import argparse
import copy
import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from bench import rounds
from torch import nn

from attn_lib.four_bits import in_four_bits
from attn_lib.generation import stream
from attn_lib.quantization import Float16Linear, quantized
from attn_lib.smollm2 import find_smollm2, load_smollm2
from attn_lib.split_linear import SplitLinear

Writer = Callable[[list[int], int], object]  # (ids, how many tokens to write)
NEW = 32  # tokens
TEXT = Path(torch.__file__).with_name("_torch_docs.py")
BYTES = {
    "int4": 0.5,
    "int8": 1,
    "float16": 2,
    "ONNX int4": 0.5,
}  # of a weight; of the others 4


def variants(model: Any) -> dict[str, Any]:
    """Return the model with its weights as they are, and rounded."""
    float16 = quantized(model, Float16Linear)
    return {
        "float32": model,
        "by threads": quantized(model, SplitLinear),
        "float16": float16,
        "int8": quantized(model),
        "int4": in_four_bits(model),
    }


def by_rows(model: nn.Module) -> nn.Module:
    """Return a copy whose matrices lie in memory row by row, as PyTorch makes them."""
    model = copy.deepcopy(model)
    for p in model.parameters():
        p.data = p.data.contiguous()
    return model


def their_model() -> Any:
    """Return the model of the transformers library, from the same file."""
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    path = find_smollm2()
    return AutoModelForCausalLM.from_pretrained(
        str(path.parent), gguf_file=path.name, dtype=torch.float32
    ).eval()


def their_writer(model: Any) -> Writer:
    """Return a function that writes with a model of the transformers library."""
    model.generation_config.eos_token_id = None

    def write(ids: list[int], new: int) -> None:
        given = torch.tensor([ids])
        mask = torch.ones_like(given)
        model.generate(given, attention_mask=mask, max_new_tokens=new, do_sample=False)

    return write


def export_for_genai(model: Any, tokenizer: Any, folder: Path) -> dict[str, Path]:
    """Build models of ONNX Runtime GenAI from one of transformers, by its own tool; return their folders."""
    from transformers import AutoModelForCausalLM

    del model.config.quantization_config  # it says GGUF, which transformers does not write
    plain = AutoModelForCausalLM.from_config(model.config, dtype=torch.float32)
    plain.load_state_dict(model.state_dict())
    plain.save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    kind = '{"tokenizer_class": "PreTrainedTokenizerFast"}'
    (folder / "tokenizer_config.json").write_text(kind)
    folders = {}
    for name, precision in (("ONNX float32", "fp32"), ("ONNX int4", "int4")):
        folders[name] = folder / precision
        command = [sys.executable, "-m", "onnxruntime_genai.models.builder", "-e", "cpu"]
        command += ["-i", folder, "-o", folders[name], "-p", precision, "-c", folder]
        if precision == "int4":
            command += ["--extra_options", "block_size=32", "accuracy_level=4"]
        subprocess.run(command, check=True, capture_output=True)
    return folders


def genai_writer(folder: Path, threads: int) -> Writer:
    """Return a function that writes with a model of ONNX Runtime GenAI."""
    import onnxruntime_genai as genai

    config = genai.Config(str(folder))
    options = {"session_options": {"intra_op_num_threads": threads}}
    config.overlay(json.dumps({"model": {"decoder": options, "eos_token_id": []}}))
    model = genai.Model(config)

    def write(ids: list[int], new: int) -> None:
        params = genai.GeneratorParams(model)
        params.set_search_options(do_sample=False, max_length=len(ids) + new)
        generator = genai.Generator(model, params)
        generator.append_tokens(ids)
        for _ in range(new):
            generator.generate_next_token()

    return write


def write(model: Any, ids: list[int], new: int) -> None:
    """Write some tokens with a model of ours."""
    list(islice(stream(model, list(ids), model.new_caches(1, len(ids) + new)), new))


def best(calls: dict[Any, Callable[[], object]], runs: int) -> dict[Any, float]:
    """Run the calls in turn; return the seconds of each one's best run."""
    times = rounds(*calls.values(), runs=runs)
    return {name: min(each) / 1000 for name, each in zip(calls, times, strict=True)}


@torch.no_grad()
def bench_speed(
    model: Any, ids: list[int], runs: int, theirs: Any, exported: dict[str, Path]
) -> None:
    """Print tokens a second after a short prompt, and the time to the first token after a long one."""
    weights = [p for p in model.parameters() if p.ndim == 2]
    writers: dict[str, Writer] = {}
    if theirs:
        writers["transformers"] = their_writer(theirs)
    models = {"float32, rows": by_rows(model)} | variants(model)
    writers |= {name: partial(write, each) for name, each in models.items()}
    for threads in (1, 2):
        torch.set_num_threads(threads)
        writers |= {name: genai_writer(path, threads) for name, path in exported.items()}
        calls: dict = {"memory": lambda: [w.sum() for w in weights]}
        for name, writer in writers.items():
            calls[name, "long"] = partial(writer, ids[:32], NEW + 1)
            calls[name, "short"] = partial(writer, ids[:32], 1)
        seconds = best(calls, runs)
        first = best({n: partial(w, ids[:512], 1) for n, w in writers.items()}, 2)
        speed = sum(w.nbytes for w in weights) / seconds["memory"]
        print(f"\n{threads} thread(s); memory is read at {speed / 1e9:.1f} GB/s. A token:")
        print(f"{'':14}{'a second':>10}{'ratio':>8}{'of memory':>11}{'first of 512':>14}")
        tokens = {n: (seconds[n, "long"] - seconds[n, "short"]) / NEW for n in writers}
        slowest = next(iter(tokens.values()))
        for name, token in tokens.items():
            limit = BYTES.get(name, 4) * sum(w.numel() for w in weights) / speed
            print(f"{name:14}{1 / token:10.1f}{slowest / token:8.2f}", end="")
            print(f"{limit / token:11.0%}{first[name]:12.2f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, help="of all sides in turn (5)")
    runs = parser.parse_args().rounds
    model, tokenizer = load_smollm2()
    ids = tokenizer.encode(TEXT.read_text(encoding="utf-8")[:20_000]).ids
    theirs = (
        their_model() if find_spec("transformers") and find_spec("accelerate") else None
    )
    with TemporaryDirectory() as folder:
        exported = {}
        if theirs and find_spec("onnxruntime_genai"):
            exported = export_for_genai(theirs, tokenizer, Path(folder))
        bench_speed(model, ids, runs, theirs, exported)


if __name__ == "__main__":
    main()
