import subprocess
import sys

import numpy as np
import torch

from attn_lib import MemoryMeter

KB = 4000  # bytes of 1,000 float32


def test_counts_what_is_alive_at_one_time():
    with MemoryMeter() as meter, torch.no_grad():
        x = torch.ones(1000)
        for _ in range(5):
            x = x + 1  # the old one is let go of after the new one is made
    assert meter.peak == 2 * KB
    assert meter.now == KB


def test_counts_what_autograd_keeps():
    x = torch.ones(1000, requires_grad=True)
    with MemoryMeter(ignore=(x,)) as meter:
        y = x
        for _ in range(5):
            y = y.sin()  # keeps its argument for the way back
    assert meter.peak == 5 * KB
    with meter:
        del y
    assert meter.now == 0


def test_a_view_costs_nothing_and_a_copy_of_it_all_that_it_shows():
    x = torch.ones(1, 1000)
    with MemoryMeter(ignore=(x,)) as meter:
        wide = x.expand(50, 1000)
        assert meter.peak == 0
        wide.contiguous()
    assert meter.peak == meter.largest == 50 * KB
    assert meter.where == "clone (50, 1000) float32"


def test_sees_what_is_written_into_a_buffer_from_outside():
    buffer = torch.empty(10, 1000)
    with MemoryMeter() as meter:
        torch.mm(torch.ones(10, 1), torch.ones(1, 1000), out=buffer)
    assert meter.largest == 10 * KB
    with MemoryMeter() as meter:
        buffer[3:5, :10] = 1.0
    assert meter.largest == 10 * KB


def test_counts_bytes_and_not_numbers():
    with MemoryMeter() as meter:
        torch.ones(1000, dtype=torch.bool)
    assert meter.largest == 1000
    assert meter.where == "ones (1000,) bool"


def test_sees_the_way_back():
    x = torch.ones(1000, requires_grad=True)
    with MemoryMeter(ignore=(x,)) as meter:
        (x * 2).sum().backward()
    assert meter.now == KB  # the gradient


def test_a_memory_that_grows_in_place_is_counted_again():
    x = torch.ones(10)
    with MemoryMeter() as meter:
        x.add_(1)
        x.resize_(1000)
    assert meter.now == meter.largest == KB


def test_adds_up_what_was_made_where_it_does_not_see():
    q = torch.ones(8)
    made_before = torch.ones(4)
    with MemoryMeter(ignore=(q,)) as meter:
        q * 2 * torch.tensor(3.0)
    assert not meter.unseen
    with MemoryMeter(ignore=(q,)) as meter:
        torch.from_numpy(np.ones(16, "float32")) + torch.from_numpy(np.arange(16))
        (made_before + 1) * made_before
    assert meter.unseen == {torch.float32: 4 * (16 + 4), torch.int64: 8 * 16}


def test_loads_no_compiler():
    """That would take a learner's first check more than a second."""
    code = (
        "import sys, torch; from attn_lib import MemoryMeter\n"
        "with MemoryMeter(): torch.ones(3) + 1\n"
        "assert 'torch._dynamo' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
