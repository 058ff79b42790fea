"""Two processes as `torchrun` starts them, and the table that they print."""

import math
import os
import re
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

MEANS = "mean_of_means", "distributed_data_parallel"
SUMS = "sum_of_sums", "distributed_sum_of_sums"


def torchrun(processes):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node", str(processes), "-m", "attn_lib.programs.data_parallel"]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def tables():
    """For even and for uneven parts: the tokens of each process, and {way: (loss, off, last)}."""
    run = torchrun(2)
    assert run.returncode == 0, run.stderr
    found = []
    for table in run.stdout.strip().split("\n\n"):
        tokens, _, *lines = table.splitlines()
        rows = {name: tuple(map(float, rest)) for name, *rest in map(str.split, lines)}
        assert tuple(rows) == ("one_process", *MEANS, *SUMS)
        found.append((list(map(int, re.findall(r"\d+", tokens))), rows))
    assert len(found) == 2
    return found


@pytest.mark.nightly
def test_on_even_parts_every_way_is_that_of_one_process(tables):
    tokens, rows = tables[0]
    assert tokens == [156, 156]
    loss, _, last = rows["one_process"]
    assert last < loss - 0.3  # it learns
    for first, off, after in rows.values():
        assert first == pytest.approx(loss, abs=2e-6)
        assert off < 1e-6
        assert after == pytest.approx(last, abs=1e-4)


@pytest.mark.nightly
def test_on_uneven_parts_only_sums_over_all_tokens_are_right(tables):
    tokens, rows = tables[1]
    assert tokens == [156, 36]
    loss, _, last = rows["one_process"]
    for first, off, after in map(rows.get, SUMS):
        assert first == pytest.approx(loss, abs=2e-6)
        assert off < 1e-6
        assert after == pytest.approx(last, abs=1e-4)
    by_hand, ready_made = map(rows.get, MEANS)
    assert by_hand[1] > 0.05
    assert abs(by_hand[2] - last) > 1e-3
    for one, other in zip(by_hand, ready_made, strict=True):
        assert math.isclose(one, other, rel_tol=1e-4)


def test_without_torchrun_or_with_three_processes_it_says_how_to_start_it():
    command = [sys.executable, "-m", "attn_lib.programs.data_parallel"]
    environment = os.environ | {"WORLD_SIZE": "3"}
    alone = subprocess.run(
        command, capture_output=True, text=True, timeout=60, env=environment
    )
    assert alone.returncode == 1
    assert "torchrun --standalone --nproc-per-node 2" in alone.stderr
    assert "Traceback" not in alone.stderr
