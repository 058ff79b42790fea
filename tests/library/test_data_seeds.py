"""What is drawn depends on the generator, and on nothing else."""

import pytest
import torch

from attn_lib.data.captioned_digits import captioned_digits, scans
from attn_lib.data.text import random_windows
from attn_lib.data.two_lookups import two_lookups


@pytest.mark.parametrize(
    "draw",
    [
        lambda generator: captioned_digits(*scans(), 5, generator=generator).images,
        lambda generator: random_windows(torch.arange(100), 5, 4, generator=generator),
        lambda generator: two_lookups(20, generator)[0],
    ],
)
def test_the_same_seed_gives_the_same_and_another_one_another(draw):
    first, again, other = (draw(torch.Generator().manual_seed(seed)) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
