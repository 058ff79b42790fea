"""Answers to sliding_window_mask that no row makes."""

import torch.nn.functional as F

from attn_lib import causal_mask as causal
from attn_lib import sliding_window_mask as right
from tests.checks.answers import Answers

answers = Answers(
    "sliding_window_mask",
    spelled=dict(
        i=["torch.arange(1, q_len + 1).view(-1, 1) - 1"],
        j=["torch.arange(kv_len).float()"],
        last=["torch.arange(kv_len - q_len, kv_len)[:, None]"],
        is_past=["~(steps < 0)", "attn_lib.causal_mask(q_len, kv_len)"],
        is_near=["j > last - window", "steps.abs() < window"],
        mask=[
            "is_past ^ is_past.tril(offset - window)",
            "steps.clamp(0, window - 1) == steps",
            "torch.stack([steps == w for w in range(window)]).any(0)",
            "torch.ones(q_len, kv_len).triu().tril(window - 1).flip(0, 1) == 1",
        ],
    ),
)


@answers.right
def by_shifting_the_causal_mask(q_len, kv_len, window):
    """A key is too old if the key W places after it may be seen as well."""
    shift, mask = min(window, kv_len), causal(q_len, kv_len)
    return mask & ~F.pad(mask[:, shift:], (0, shift))


# Causal when decoding, own key hidden if the window is long, even windows one longer.
answers.wrong(
    lambda n, m, w: right(n, m, w if n > 1 else m),
    lambda n, m, w: right(n, m, w) & ~(right(n, m, 1) & (w >= m)),
    lambda n, m, w: right(n, m, w // 2 * 2 + 1),
)
