"""Scene 5: fewer keys and values for the same queries: who reads what, and what the cache costs."""

from typing import Any

import torch

from attn_lib.explorer.scene import Scene, expect
from attn_lib.explorer.still import (
    BLUE,
    ORANGE,
    PALE_BLUE,
    PALE_ORANGE,
    SOFT,
    Still,
    byte_count,
)
from attn_lib.kv_cache import kv_cache_bytes

MOST_HEADS = 16
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "int8": torch.int8}


class SharedHeads(Scene):
    """From multi-head over grouped-query to multi-query attention, as one dial.

    Args:
        num_heads: H, 1 to 16.
        num_kv_heads: Hkv to begin with; it divides num_heads.
        head_dim: D.
        num_layers: to begin with.
        seq_len: S to begin with, in tokens.
        batch_size: B.

    Raises:
        ValueError: there are more heads, num_kv_heads does not divide them, or a size is below 1.
    """

    script = "shared_heads"
    title = "MHA, GQA, MQA: what do fewer keys and values save?"

    def __init__(
        self,
        num_heads: int = 8,
        num_kv_heads: int = 2,
        *,
        head_dim: int = 64,
        num_layers: int = 24,
        seq_len: int = 4096,
        batch_size: int = 1,
    ):
        expect(1 <= num_heads <= MOST_HEADS, f"1 to {MOST_HEADS} heads", num_heads)
        divides = num_kv_heads >= 1 and num_heads % num_kv_heads == 0
        got = f"{num_kv_heads} and {num_heads}"
        expect(divides, "num_kv_heads to divide num_heads", got)
        sizes = {"head_dim": head_dim, "num_layers": num_layers}
        sizes |= {"seq_len": seq_len, "batch_size": batch_size}
        expect(min(sizes.values()) >= 1, "sizes of at least 1", sizes)
        self.num_heads, self.num_kv_heads, self.sizes = num_heads, num_kv_heads, sizes
        shared, full = self.cache_bytes(num_kv_heads), self.cache_bytes(num_heads)
        reads = ", ".join(str(self._reads(i)) for i in range(num_heads))
        self.alt = (
            f"{num_heads} query heads read {num_kv_heads} K/V heads: {reads}. For {seq_len} tokens "
            f"and {num_layers} layers in bfloat16 the cache takes {byte_count(shared)}, with one "
            f"K/V head for each query head {byte_count(full)}. The number of scores is the same."
        )

    def cache_bytes(self, num_kv_heads: int) -> int:
        """Return the bytes of the cache at the sizes to begin with, in bfloat16."""
        s = self.sizes
        size = (s["batch_size"], s["seq_len"], s["num_layers"], num_kv_heads, s["head_dim"])
        return kv_cache_bytes(*size, torch.bfloat16)

    def _reads(self, head: int) -> int:
        return head * self.num_kv_heads // self.num_heads

    def model(self) -> dict[str, Any]:
        return {
            "num_heads": self.num_heads,
            "num_kv_heads": self.num_kv_heads,
            **self.sizes,
            "dtypes": {name: dtype.itemsize for name, dtype in DTYPES.items()},
        }

    def still(self) -> Still:
        H, shared = self.num_heads, self.num_kv_heads
        still, step = Still(560, 236), 440 / H
        still.text(0, 26, "query heads", color=SOFT)
        still.text(0, 106, "K/V heads", color=SOFT)

        def below(j: int) -> float:
            return 90 + (j + 0.5) * 440 / shared

        for i in range(H):
            still.line([(90 + (i + 0.5) * step, 26), (below(self._reads(i)), 106)], BLUE)
        for count, y, fill, edge in (
            (H, 26, PALE_BLUE, BLUE),
            (shared, 106, PALE_ORANGE, ORANGE),
        ):
            for i in range(count):
                x = 90 + (i + 0.5) * 440 / count
                still.rect(x - 11, y - 11, 22, 22, fill, edge)
                still.text(x, y, i, anchor="middle", size=11)
        full = self.cache_bytes(H)
        for n, (name, count) in enumerate((("MHA", H), ("here", shared), ("MQA", 1))):
            size, y = self.cache_bytes(count), 156 + n * 28
            still.text(0, y, f"{name}: {count} K/V")
            still.rect(90, y - 8, 330 * size / full, 16, ORANGE)
            still.text(96 + 330 * size / full, y, byte_count(size))
        return still
