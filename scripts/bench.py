"""Measure what the course promises about speed, as ratios to named peers in the same run.

Each comparison alternates between its sides, so that a busy machine slows all alike. Read the
ratios; the milliseconds are those of this machine, now.
"""

import argparse
import platform
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from itertools import combinations

import torch
import torch.nn.functional as F
from torch import nn

from attn_lib import (
    GroupedQueryAttention,
    KVCache,
    MemoryMeter,
    MultiHeadAttention,
    chunked_attention,
    einsum_attention,
    fused_attention,
    sliding_window_attention,
)
from attn_lib.checks import judge, tasks
from attn_lib.checks.mistakes import known
from attn_lib.checks.trial import trial_of

IMPORT = "import time, torch; t = time.perf_counter(); import attn_lib; print(time.perf_counter() - t)"
Call = Callable[[], object]
KERNELS = {
    "fused": fused_attention,
    "chunked": chunked_attention,
    "einsum": einsum_attention,
    "window": partial(sliding_window_attention, window=256),
}


def rounds(*sides: Call, runs: int) -> list[list[float]]:
    """Run the sides in turn, many times; return the milliseconds of each side's runs."""
    times: list[list[float]] = [[] for _ in sides]
    for run in range(runs + 1):
        for i, side in enumerate(sides):
            start = time.perf_counter()
            side()
            if run:  # the first run warms up
                times[i].append((time.perf_counter() - start) * 1000)
    return times


def compare(
    title: str, sides: dict[str, Call], runs: int, *, backward: bool = False
) -> None:
    """Print the time of each side, and its ratio to the first: the median over the rounds."""
    with torch.set_grad_enabled(backward):
        calls = [with_backward(call) if backward else call for call in sides.values()]
        first, *others = rounds(*calls, runs=runs)
    title += ", forward and backward" if backward else ""
    print(f"\n{title:48}{'time':>9}{'ratio to the first':>21}")
    for name, times in zip(sides, (first, *others), strict=True):
        ratio = statistics.median(a / b for a, b in zip(times, first, strict=True))
        print(f"  {name:43}{statistics.median(times):9.2f} ms{ratio:18.2f}")


def with_backward(forward: Callable[[], torch.Tensor]) -> Call:
    """Return a function that runs forward and then backward."""
    return lambda: forward().sum().backward()


def bench_import(runs: int) -> None:
    """Print the time of `import attn_lib` when torch is loaded already."""
    run = partial(subprocess.run, [sys.executable, "-c", IMPORT], capture_output=True)
    seconds = [float(run(check=True).stdout) for _ in range(max(3, runs // 4))]
    print(f"\nimport attn_lib, beyond torch: {statistics.median(seconds) * 1000:.1f} ms")


def bench_checks(runs: int) -> None:
    """Print the time of a first `judge` call: of the reference, of known mistakes, and of pairs."""
    print(
        f"\n{'check':24}{'right answer':>16}{'slowest mistake':>18}{'slowest of 20 pairs':>22}"
    )
    for task in tasks():
        right = statistics.median(first_judgments(task.name, task.reference, runs))
        mistakes = known(task.name)
        numbers = range(len(mistakes.mistakes))
        pairs = [pair for pair in combinations(numbers, 2) if mistakes.compose(*pair)]
        some = random.Random(0).sample(pairs, min(20, len(pairs)))
        slowest = [
            max(
                (first_judgments(task.name, mistakes.answer(*n), 1)[0] for n in group),
                default=0,
            )
            for group in ([(n,) for n in numbers], some)
        ]
        print(f"{task.name:24}{right:13.1f} ms{slowest[0]:15.1f} ms{slowest[1]:19.1f} ms")


def first_judgments(name: str, answer: Callable, runs: int) -> list[float]:
    """Return the milliseconds of judgments in which nothing of earlier ones is kept."""

    def judge_anew() -> None:
        trial_of.cache_clear()
        judge(name, answer)

    return rounds(judge_anew, runs=runs)[0]


def bench_kernels(runs: int) -> None:
    """Compare the kernels with PyTorch's function, causal, 8 heads of 64."""
    for length, batch in ((256, 2), (1024, 2), (4096, 1)):
        q, k, v = torch.randn(3, batch, 8, length, 64, requires_grad=True)
        pytorch = partial(F.scaled_dot_product_attention, q, k, v, is_causal=True)
        sides = {"PyTorch": pytorch} | {
            name: lambda f=f, q=q, k=k, v=v: f(q, k, v, is_causal=True)[0]
            for name, f in KERNELS.items()
        }
        for backward in (False, True):
            some = runs if length <= 1024 else max(3, runs // 4)
            compare(f"kernels, {length} tokens", sides, some, backward=backward)


class Limit(nn.Module):
    """The least one can do: one matrix for q, k and v, PyTorch's function, one matrix."""

    def __init__(self, d_model: int, num_heads: int):
        super().__init__()
        self.num_heads = num_heads
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(x).unflatten(-1, (3, self.num_heads, -1)).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).flatten(-2))


def bench_modules(runs: int) -> None:
    """Compare whole modules with the limit, causal, 2 sentences of width 512, 8 heads."""
    for length in (256, 1024):
        peer = nn.MultiheadAttention(512, 8, batch_first=True)
        future = nn.Transformer.generate_square_subsequent_mask(length)
        options = {"need_weights": False, "attn_mask": future, "is_causal": True}
        modules: dict[str, Callable] = {
            "limit": Limit(512, 8),
            "attn_lib MHA": partial(MultiHeadAttention(512, 8), is_causal=True),
            "attn_lib GQA, Hkv 2": partial(
                GroupedQueryAttention(512, 8, 2), is_causal=True
            ),
            "nn.MultiheadAttention": lambda x, peer=peer, o=options: peer(x, x, x, **o)[0],
        }
        if find_spec("x_transformers"):  # pip install -e '.[bench]' brings it
            from x_transformers.x_transformers import Attention

            other = Attention(512, heads=8, dim_head=64, causal=True, flash=True)
            modules["x-transformers"] = lambda x, other=other: other(x)[0]
        # Each module has its own input: a shared one would collect everybody's gradients.
        sides = {
            name: partial(f, torch.randn(2, length, 512, requires_grad=True))
            for name, f in modules.items()
        }
        for backward in (False, True):
            compare(f"modules, {length} tokens", sides, runs, backward=backward)


def bench_decoding(runs: int) -> None:
    """Compare ways to write a hundred tokens after a text: MHA, GQA, MQA, and without a cache.

    A layer decodes alone here. Where the keys and values of many layers push each other out of the
    processor's caches, all sides lose time.
    """
    modules = {
        "MHA": MultiHeadAttention(512, 8),
        "GQA, Hkv 2": GroupedQueryAttention(512, 8, 2),
        "MQA": GroupedQueryAttention(512, 8, 1),
    }
    for length in (512, 4096, 16384):
        x = torch.randn(1, length + 1, 512)
        sides: dict[str, Call] = {}
        for (name, module), heads in zip(modules.items(), (8, 2, 1), strict=True):
            cache = KVCache(1, heads, length + 1, 64)
            cache.update(*torch.randn(2, 1, heads, length, 64))

            def write(module=module, cache=cache, x=x, length=length):
                for _ in range(100):
                    cache.length = length
                    module(x[:, -1:], is_causal=True, cache=cache)

            sides[name] = write
        if length <= 4096:
            again = partial(modules["MHA"], x, is_causal=True)
            sides["MHA, all computed again (1 token)"] = again
        compare(f"a hundred tokens after {length}", sides, max(3, runs // 4))


def bench_memory() -> None:
    """Print the peak memory without the inputs, by the meter: the same in every run."""
    print(f"\n{'peak memory of 8 heads, MB':32}" + "".join(f"{n:>12}" for n in KERNELS))
    for backward in (False, True):
        for length in (2048, 8192, 32768):
            kernels = [
                None if f is einsum_attention and length > 2048 else f
                for f in KERNELS.values()
            ]
            peaks = [
                f"{8 * peak(f, length, backward) / 1e6:12.1f}" if f else f"{'':12}"
                for f in kernels
            ]
            label = f"{length} tokens" + ", and backward" * backward
            print(f"{label:32}", *peaks, sep="")


def peak(kernel: Callable, length: int, backward: bool) -> int:
    """Return the bytes that one causal call of one head takes at most, beside its inputs."""
    q, k, v = (torch.randn(1, 1, length, 64, requires_grad=backward) for _ in range(3))
    with MemoryMeter(ignore=(q, k, v)) as meter:
        output = kernel(q, k, v, is_causal=True)[0]
        if backward:
            output.sum().backward()
    return meter.peak


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=20, help="runs of each side (20)")
    parser.add_argument("--threads", type=int, default=1, help="threads of PyTorch (1)")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(f"PyTorch {torch.__version__}, Python {platform.python_version()}")
    print(f"{options.threads} threads, medians of {options.runs} runs")
    bench_import(options.runs)
    bench_checks(options.runs)
    bench_kernels(options.runs)
    bench_modules(options.runs)
    bench_decoding(options.runs)
    bench_memory()


if __name__ == "__main__":
    main()
