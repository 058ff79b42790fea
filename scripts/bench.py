"""Measure what the course promises about speed, as ratios to named peers in the same run.

Each comparison alternates between the two sides, so that a busy machine slows both alike. Read the
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
    CrossAttention,
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

IMPORT = (
    "import time, torch; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
)


def rounds(*sides: Callable[[], object], runs: int) -> list[list[float]]:
    """Run the sides in turn, many times; return the milliseconds of each side's runs."""
    times: list[list[float]] = [[] for _ in sides]
    for run in range(runs + 1):
        for i, side in enumerate(sides):
            start = time.perf_counter()
            side()
            if run:  # the first run warms up
                times[i].append((time.perf_counter() - start) * 1000)
    return times


def alternate(*sides: Callable[[], object], runs: int) -> list[float]:
    """Return the median milliseconds of each side, run in turn."""
    return [statistics.median(times) for times in rounds(*sides, runs=runs)]


def bench_import(runs: int) -> None:
    """What `import attn_lib` costs when torch is loaded already."""
    seconds = []
    for _ in range(max(3, runs // 4)):
        command = [sys.executable, "-c", IMPORT.format("attn_lib")]
        seconds.append(
            float(subprocess.run(command, capture_output=True, check=True).stdout)
        )
    print(
        f"\nimport attn_lib, beyond torch      {statistics.median(seconds) * 1000:7.1f} ms"
    )


def first_judgment(name: str, answer: Callable) -> None:
    """Judge as in a new session, where nothing is kept of an earlier judgment."""
    trial_of.cache_clear()
    judge(name, answer)


def bench_checks(runs: int) -> None:
    """The first `judge` call: of the reference, of known mistakes, and of two of them in one answer."""
    print(
        f"\n{'check':24}{'right answer':>16}{'slowest mistake':>18}{'slowest of 20 pairs':>22}"
    )
    for task in tasks():
        (right,) = alternate(
            lambda task=task: first_judgment(task.name, task.reference), runs=runs
        )
        mistakes = known(task.name)
        numbers = range(len(mistakes.mistakes))
        pairs = [pair for pair in combinations(numbers, 2) if mistakes.compose(*pair)]
        some = random.Random(0).sample(pairs, min(20, len(pairs)))
        slowest, slowest_pair = (
            max((_first(task.name, mistakes.answer(*n)) for n in group), default=0.0)
            for group in ([(n,) for n in numbers], some)
        )
        print(f"{task.name:24}{right:13.1f} ms{slowest:15.1f} ms{slowest_pair:19.1f} ms")


def _first(name: str, answer: Callable) -> float:
    """Return the milliseconds of a first judgment, the better of two."""
    return min(rounds(lambda: first_judgment(name, answer), runs=1)[0])


def bench_kernels(runs: int) -> None:
    """The kernels beside PyTorch's function (the limit), causal, 2 sentences, 8 heads, D 64."""
    print(
        f"\n{'causal attention':24}{'PyTorch':>11}{'fused':>10}{'ratio':>7}{'einsum':>11}{'ratio':>7}"
    )
    for length in (256, 1024):
        q, k, v = torch.randn(3, 2, 8, length, 64, requires_grad=True)

        def pytorch(q=q, k=k, v=v):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)

        def fused(q=q, k=k, v=v):
            return fused_attention(q, k, v, is_causal=True)[0]

        def einsum(q=q, k=k, v=v):
            return einsum_attention(q, k, v, is_causal=True)[0]

        for name, wrap in (("forward", lambda f: f), ("and backward", with_backward)):
            a, b, c = alternate(wrap(pytorch), wrap(fused), wrap(einsum), runs=runs)
            label = f"L {length}, {name}"
            print(f"{label:24}{a:8.2f} ms{b:7.2f} ms{b / a:7.2f}{c:8.2f} ms{c / a:7.2f}")


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


def causal_modules(length: int) -> dict[str, Callable]:
    """Causal self-attention of width 512 with 8 heads: ours and its peers, by name."""
    d_model, num_heads = 512, 8
    ours, grouped = (
        MultiHeadAttention(d_model, num_heads),
        GroupedQueryAttention(d_model, num_heads, 2),
    )
    peer = nn.MultiheadAttention(d_model, num_heads, batch_first=True)
    future = nn.Transformer.generate_square_subsequent_mask(length)
    modules = {
        "limit": Limit(d_model, num_heads),
        "attn_lib MHA": partial(ours, is_causal=True),
        "attn_lib GQA, Hkv 2": partial(grouped, is_causal=True),
        "nn.MultiheadAttention": lambda x: peer(
            x, x, x, need_weights=False, attn_mask=future, is_causal=True
        )[0],
    }
    if find_spec("x_transformers"):
        from x_transformers.x_transformers import Attention

        theirs = Attention(
            d_model, heads=num_heads, dim_head=d_model // num_heads, causal=True, flash=True
        )
        modules["x-transformers"] = lambda x: theirs(x)[0]
    return modules


def bench_modules(runs: int) -> None:
    """Whole modules as ratios to the limit, causal, 2 sentences of width 512, 8 heads."""
    if not find_spec("x_transformers"):
        print("\nx-transformers is left out: pip install -e '.[bench]' brings it.")
    for length in (256, 1024):
        modules = causal_modules(length)
        # Each module has its own input: a shared one would collect everybody's gradients.
        inputs = [torch.randn(2, length, 512, requires_grad=True) for _ in modules]
        calls = [partial(f, x) for f, x in zip(modules.values(), inputs, strict=True)]
        print_ratios(f"L {length}, forward", modules, calls, runs, grad=False)
        print_ratios(f"L {length}, forward and backward", modules, calls, runs, grad=True)


def bench_cross(runs: int) -> None:
    """Cross-attention beside PyTorch's module: 256 queries, 1024 keys of width 384."""
    ours = CrossAttention(512, 384, 8)
    peer = nn.MultiheadAttention(512, 8, kdim=384, vdim=384, batch_first=True)
    context = torch.randn(2, 1024, 384)
    x, y = (torch.randn(2, 256, 512, requires_grad=True) for _ in range(2))
    names = ["nn.MultiheadAttention", "attn_lib CrossAttention"]
    calls = [
        lambda: peer(y, context, context, need_weights=False)[0],
        lambda: ours(x, context),
    ]
    print_ratios("cross, forward", names, calls, runs, grad=False)
    print_ratios("cross, forward and backward", names, calls, runs, grad=True)


def print_ratios(title, names, calls, runs: int, *, grad: bool) -> None:
    """Time the calls in turn, and print each as a ratio to the first: the median over the rounds."""
    with torch.set_grad_enabled(grad):
        first, *others = rounds(
            *(with_backward(c) if grad else c for c in calls), runs=runs
        )
    print(f"\n{title:32}{'time':>9}{'ratio to the first':>21}")
    for name, times in zip(names, (first, *others), strict=True):
        ratio = statistics.median(a / b for a, b in zip(times, first, strict=True))
        print(f"  {name:27}{statistics.median(times):9.2f} ms{ratio:18.2f}")


@torch.no_grad()
def bench_decoding(runs: int) -> None:
    """One more token after 1, 512 and 4096: with the cache, and with everything recomputed."""
    print(f"\n{'tokens per second':24}{'cached':>10}{'recomputed':>13}{'times faster':>15}")
    for num_kv_heads in (8, 2, 1):
        module = GroupedQueryAttention(512, 8, num_kv_heads)
        for length in (1, 512, 4096):
            x = torch.randn(1, length + 1, 512)
            cache = KVCache(1, num_kv_heads, length + 1, 64)
            module(x[:, :-1], is_causal=True, cache=cache)

            def cached(module=module, cache=cache, new=x[:, -1:], length=length):
                cache.length = length
                return module(new, is_causal=True, cache=cache)

            def recomputed(module=module, x=x):
                return module(x, is_causal=True)

            fast, slow = alternate(cached, recomputed, runs=runs)
            label = f"Hkv {num_kv_heads}, after {length}"
            print(f"{label:24}{1000 / fast:10.0f}{1000 / slow:13.0f}{slow / fast:15.1f}")


@torch.no_grad()
def bench_shared_heads(runs: int) -> None:
    """One more token with the cache: multi-head attention beside fewer K/V heads.

    A hundred tokens in a row, then the next module: a layer that decodes alone. Where the keys and
    values of many layers push each other out of the processor's caches, all sides lose time.
    """
    print(f"\n{'one more token, after':24}{'MHA':>12}{'GQA, Hkv 2':>22}{'MQA':>22}")
    for length in (512, 4096, 16384):
        calls = []
        for module, heads in (
            (MultiHeadAttention(512, 8), 8),
            (GroupedQueryAttention(512, 8, 2), 2),
            (GroupedQueryAttention(512, 8, 1), 1),
        ):
            cache = KVCache(1, heads, length + 1, 64)
            cache.update(*torch.randn(2, 1, heads, length, 64))
            new = torch.randn(1, 1, 512)

            def step(module=module, cache=cache, new=new, length=length):
                for _ in range(100):
                    cache.length = length
                    module(new, is_causal=True, cache=cache)

            calls.append(step)
        mha, gqa, mqa = (t / 100 for t in alternate(*calls, runs=max(3, runs // 4)))
        print(
            f"{length:<24}{mha:9.3f} ms{gqa:9.3f} ms {mha / gqa:4.1f} times"
            f"{mqa:9.3f} ms {mha / mqa:4.1f} times"
        )


def bench_chunked(runs: int) -> None:
    """Attention in blocks beside PyTorch's fused kernel: the price of writing it in Python."""
    q, k, v = torch.randn(3, 1, 8, 4096, 64, requires_grad=True)
    kernels = (fused_attention, chunked_attention, einsum_attention)
    print(
        f"\n{'4,096 tokens, 8 heads':24}{'fused':>11}{'chunked':>11}{'ratio':>7}{'einsum':>12}{'ratio':>7}"
    )
    for is_causal in (False, True):
        for name, wrap in (("forward", torch.no_grad()), ("and backward", with_backward)):
            calls = [
                wrap(lambda f=f, c=is_causal: f(q, k, v, is_causal=c)[0]) for f in kernels
            ]
            a, b, c = alternate(*calls, runs=max(3, runs // 4))
            label = name + ", causal" * is_causal
            print(f"{label:24}{a:8.0f} ms{b:8.0f} ms{b / a:7.2f}{c:9.0f} ms{c / a:7.2f}")


@torch.no_grad()
def bench_window(runs: int) -> None:
    """A window of 256 keys beside the fused kernel over all the past."""
    print(
        f"\n{'window of 256, 8 heads':24}{'all keys':>12}{'window':>12}{'times faster':>15}"
    )
    for length in (4096, 8192, 16384):
        q, k, v = torch.randn(3, 1, 8, length, 64)
        slow, fast = alternate(
            lambda q=q, k=k, v=v: fused_attention(q, k, v, is_causal=True),
            lambda q=q, k=k, v=v: sliding_window_attention(q, k, v, window=256),
            runs=max(3, runs // 5),
        )
        print(f"{length:<24}{slow:9.0f} ms{fast:9.0f} ms{slow / fast:15.1f}")


def bench_memory() -> None:
    """Peak memory without the inputs, by the meter: the same in every run."""
    print(
        f"\n{'peak memory, 8 heads':24}{'fused':>11}{'chunked':>12}{'ratio':>7}{'window 256':>14}{'einsum':>12}"
    )
    window = partial(sliding_window_attention, window=256)
    for backward in (False, True):
        for length in (2048, 8192, 16384, 32768):
            # The longest ones on one head: memory is what is measured, and it is the same for each.
            heads = 8 if length <= 16384 else 1
            kernels = [fused_attention, chunked_attention, window]
            kernels += [einsum_attention] * (length <= 2048)
            peaks = [8 / heads * peak(f, heads, length, backward) for f in kernels]
            label = f"{length}" + (", and backward" if backward else ", forward")
            shown = "".join(f"{p / 1e6:9.1f} MB" for p in peaks[2:])
            ratio = peaks[1] / peaks[0]
            print(
                f"{label:24}{peaks[0] / 1e6:8.1f} MB{peaks[1] / 1e6:9.1f} MB{ratio:7.2f}  {shown}"
            )


def peak(kernel: Callable, heads: int, length: int, backward: bool) -> int:
    """Return the bytes that one causal call takes at most, beside its inputs."""
    q, k, v = (torch.randn(1, heads, length, 64, requires_grad=backward) for _ in range(3))
    with MemoryMeter(ignore=(q, k, v)) as meter:
        output = kernel(q, k, v, is_causal=True)[0]
        if backward:
            output.sum().backward()
    return meter.peak


def with_backward(forward: Callable[[], torch.Tensor]) -> Callable[[], None]:
    """Return a function that runs forward and then backward."""
    return lambda: forward().sum().backward()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--runs", type=int, default=20, help="runs of each side (default 20)"
    )
    parser.add_argument(
        "--threads",
        type=int,
        default=1,
        help="threads of PyTorch (default 1: several wait for each other on a busy machine)",
    )
    arguments = parser.parse_args()
    runs = arguments.runs
    torch.set_num_threads(arguments.threads)
    print(
        f"PyTorch {torch.__version__}, Python {platform.python_version()}, "
        f"{torch.get_num_threads()} threads, medians of {runs} runs"
    )
    bench_import(runs)
    bench_checks(runs)
    bench_kernels(runs)
    bench_modules(runs)
    bench_cross(runs)
    bench_decoding(runs)
    bench_shared_heads(runs)
    bench_chunked(runs)
    bench_window(runs)
    bench_memory()


if __name__ == "__main__":
    main()
