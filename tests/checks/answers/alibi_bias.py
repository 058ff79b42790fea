"""Answers to alibi_bias that no row makes."""

import torch

from attn_lib import alibi_bias as right
from tests.checks.answers import Answers

answers = Answers(
    "alibi_bias",
    spelled=dict(
        i=["torch.linspace(1, num_heads, num_heads)", "torch.ones(num_heads).cumsum(0)"],
        exponents=["i / (num_heads / 8)"],
        slopes=["1 / 2 ** exponents", "torch.exp2(-exponents)", "(2 ** (-8 / num_heads)) ** i", "0.5 ** exponents"],
        queries=["torch.arange(kv_len - q_len, kv_len)"],
        difference=["keys[None, :] - queries.unsqueeze(1)", "queries[:, None] - keys"],
        distance=["torch.maximum(difference, -difference)", "(difference**2) ** 0.5", "difference.abs().float()"],
        penalty=["torch.einsum('h,ls->hls', slopes, distance.float())", "slopes.view(-1, 1, 1) * distance[None]"],
        bias=["penalty * -1", "(-penalty.double()).float()"],
    ),
)  # fmt: skip


@answers.right
def number_by_number(num_heads, q_len, kv_len):
    bias = torch.zeros(num_heads, q_len, kv_len)
    for h in range(num_heads):
        for i in range(q_len):
            for j in range(kv_len):
                bias[h, i, j] = -abs(i + kv_len - q_len - j) * 2 ** (
                    -8 * (h + 1) / num_heads
                )
    return bias


def steps(n, m):
    return (torch.arange(m) - torch.arange(m - n, m)[:, None]).abs()


# A buffer that ends, nothing if H = L, slopes for 8 heads, clipped, top-left for many queries, slopes of at
# least 4 heads, squeezed, nothing for many heads.
answers.wrong(
    lambda h, n, m: right(h, min(n, 512), min(m, 512)),
    lambda h, n, m: right(h, n, m) * (h != n),
    lambda h, n, m: -(2.0 ** -torch.arange(1.0, h + 1))[:, None, None] * steps(n, m),
    lambda h, n, m: right(h, n, m).clamp(min=-8.0),
    lambda h, n, m: right(h, n, m) if n <= m else right(h, n, n)[..., :m],
    lambda h, n, m: right(max(h, 4), n, m)[:h],
    lambda h, n, m: right(h, n, m).squeeze(),
    lambda h, n, m: right(h, n, m) * (h < 16),
)
