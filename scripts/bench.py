"""Measure what the course promises about speed, as ratios to named peers in the same run.

Each comparison alternates between the two sides, so that a busy machine slows both alike. Read the
ratios; the milliseconds are those of this machine, now.
"""

import argparse
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F

from attn_lib import einsum_attention, fused_attention
from attn_lib.checks import judge, tasks
from attn_lib.checks.battery import battery

IMPORT = (
    "import time, torch; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
)


def alternate(*sides: Callable[[], object], runs: int) -> list[float]:
    """Return the median milliseconds of each side, run in turn."""
    times: list[list[float]] = [[] for _ in sides]
    for run in range(runs + 1):
        for i, side in enumerate(sides):
            start = time.perf_counter()
            side()
            if run:  # the first run warms up
                times[i].append((time.perf_counter() - start) * 1000)
    return [statistics.median(t) for t in times]


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
    battery.cache_clear()
    judge(name, answer)


def bench_checks(runs: int) -> None:
    """The first `judge` call, for the reference and for the slowest of the known mistakes."""
    print(f"\n{'check':24}{'right answer':>16}{'slowest mistake':>18}")
    for task in tasks():
        (right,) = alternate(
            lambda task=task: first_judgment(task.name, task.reference), runs=runs
        )
        slowest = max(
            alternate(lambda m=m, task=task: first_judgment(task.name, m.answer), runs=2)[0]
            for m in task.mistakes
        )
        print(f"{task.name:24}{right:13.1f} ms{slowest:15.1f} ms")


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


def with_backward(forward: Callable[[], torch.Tensor]) -> Callable[[], None]:
    """Return a function that runs forward and then backward."""
    return lambda: forward().sum().backward()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--runs", type=int, default=20, help="runs of each side (default 20)"
    )
    runs = parser.parse_args().runs
    print(
        f"PyTorch {torch.__version__}, Python {platform.python_version()}, "
        f"{torch.get_num_threads()} threads, medians of {runs} runs"
    )
    bench_import(runs)
    bench_checks(runs)
    bench_kernels(runs)


if __name__ == "__main__":
    main()
