"""Answers to t5_bucket that no row makes."""

import bisect
import math

import numpy as np
import torch

from attn_lib import t5_bucket as right
from tests.checks.answers import Answers

answers = Answers(
    "t5_bucket",
    spelled=dict(
        ahead=["(relative_position > 0).int()", "relative_position.sign().clamp(min=0)"],
        distance=["torch.where(ahead > 0, relative_position, -relative_position)", "torch.maximum(relative_position, -relative_position)"],
        near=["distance <= exact", "~(distance >= exact)"],
        ratio=["distance / exact", "distance.clamp(min=exact).float() / exact", "distance.clamp(min=1).double() / exact"],
        share=["torch.log2(ratio) / math.log2(max_distance / exact)", "ratio.log() / (math.log(max_distance) - math.log(exact))"],
        steps=["share * exact", "share * (num_buckets // 4)", "(share * exact).double()"],
        far=["exact + steps.long()", "(exact + steps).clamp(max=half - 1).int()", "exact + steps.floor().clamp(0, half).to(torch.int16)"],
        capped=["torch.minimum(far, torch.full_like(far, half - 1))", "far.clamp(0, half - 1)"],
        bucket=["torch.where(near, distance.long(), capped)"],
        result=["(bucket + start).to(torch.int32)", "(bucket + start).to(torch.int16 if num_buckets < 1 << 15 else torch.int32)"],
    ),
    survivors=[  # what is near is not looked at, and what is far with 4 buckets is capped
        {"ratio": "distance.clamp(min=2) / exact"},
        {"ratio": "distance.clamp(min=0) / exact"},
    ],
)  # fmt: skip


@answers.right
def by_looking_up_borders(relative_position, num_buckets, max_distance):
    half, exact = num_buckets // 2, num_buckets // 4
    borders = [exact * (max_distance / exact) ** (j / exact) for j in range(1, exact)]

    def bucket(r):
        side, d = (half if r > 0 else 0), abs(r)
        return side + (d if d < exact else exact + bisect.bisect_right(borders, d))

    flat = [bucket(r) for r in relative_position.flatten().tolist()]
    return torch.tensor(flat).view(relative_position.shape)


@answers.right
def in_numpy(relative_position, num_buckets, max_distance):
    r, half, exact = relative_position.numpy(), num_buckets // 2, num_buckets // 4
    d = np.abs(r)
    far = exact + np.log(np.maximum(d, 1) / exact) / np.log(max_distance / exact) * exact
    bucket = np.where(d < exact, d, np.minimum(np.maximum(far, 0).astype(int), half - 1))
    return torch.as_tensor(bucket + half * (r > 0))


# Capped distances, buckets and borders, later keys beyond the end, floats, one axis, yes or no, a longer way, at least one
# axis, a byte.
answers.wrong(
    lambda r, n, m: right(r.clamp(-m // 2, m // 2), n, m),
    lambda r, n, m: right(r, min(n, 32), m),
    lambda r, n, m: right(r, n, m) - (r > m).long(),
    lambda r, n, m: right(r, n, m).float(),
    lambda r, n, m: right(r, n, m).flatten(),
    lambda r, n, m: torch.atleast_1d(right(r, n, m)),
    lambda r, n, m: right(r, n, m).to(torch.int8),
    lambda r, n, m: right(r, n, min(m, 128)),
    lambda r, n, m: right(r, n, m) > n // 2,
    lambda r, n, m: right(r, n, m + math.ceil(m / 10)),
)
