"""Scene 4: the path of each number when heads are split and merged again."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from attn_lib.explorer.scene import Scene, expect
from attn_lib.explorer.still import BLUE, SOFT, Still

TOKEN_COLORS = ("#cfe0f2", "#fbdcc2", "#cdeadf", "#e6d3ee")
MOST_CHANNELS = 8


class SplitMerge(Scene):
    """The cells of one sentence on their way into heads and back, done right and done wrong.

    Shapes and strides are those of real tensors; a cell is written as its token's first letter and
    its channel.

    Args:
        tokens: L words, two to four, with different first letters.
        num_heads: H.
        head_dim: D; num_heads * head_dim is at most 8.

    Raises:
        ValueError: there are more tokens or channels, or two tokens begin alike.
    """

    script = "split_merge"
    title = "Split and merge: which cells does each head get?"

    def __init__(self, tokens: Sequence[str], num_heads: int, head_dim: int):
        initials = {token[:1] for token in tokens}
        expect(
            2 <= len(tokens) == len(initials) <= len(TOKEN_COLORS),
            f"2 to {len(TOKEN_COLORS)} tokens with different first letters",
            list(tokens),
        )
        expect(
            min(num_heads, head_dim) >= 1 and num_heads * head_dim <= MOST_CHANNELS,
            f"num_heads * head_dim of 1 to {MOST_CHANNELS}",
            f"{num_heads} * {head_dim}",
        )
        self.tokens, self.num_heads, self.head_dim = list(tokens), num_heads, head_dim
        right, wrong = self._first_head("split and merge"), self._first_head("wrong view")
        self.alt = (
            f"The cells of {len(tokens)} tokens before and after the split. Split by view and "
            f"transpose, head 0 holds {right}. With one view straight to the same shape, head 0 "
            f"holds {wrong}: the tokens are scrambled."
        )

    def paths(self) -> dict[str, list[tuple[str, Tensor]]]:
        """Return, for each way of doing it, the code of each step and the tensor it gives."""
        L, H, D = len(self.tokens), self.num_heads, self.head_dim
        x = torch.arange(L * H * D).view(1, L, H * D)
        viewed = x.view(1, L, H, D)
        heads = viewed.transpose(1, 2)
        back = heads.transpose(1, 2)
        start = ("x", x)
        split = [
            start,
            (f"x.view(1, {L}, {H}, {D})", viewed),
            (".transpose(1, 2): the heads", heads),
        ]
        merge = [
            (".transpose(1, 2)", back),
            (f".reshape(1, {L}, {H * D})", back.reshape(x.shape)),
        ]
        wrong = (f"x.view(1, {H}, {L}, {D})", x.view(1, H, L, D))
        direct = (f".reshape(1, {L}, {H * D})", heads.reshape(x.shape))
        return {
            "split and merge": [*split, *merge],
            "wrong view": [start, wrong],
            "wrong merge": [*split, direct],
        }

    def cell(self, number: int) -> str:
        """Return how a cell is written: the first letter of its token, and its channel."""
        token, channel = divmod(number, self.num_heads * self.head_dim)
        return f"{self.tokens[token][0]}{channel}"

    def _first_head(self, path: str) -> str:
        heads = self.paths()[path][2 if path == "split and merge" else 1][1]
        rows = heads[0, 0].tolist()
        return "; ".join(" ".join(map(self.cell, row)) for row in rows)

    def model(self) -> dict[str, Any]:
        paths = self.paths()
        x, heads = paths["split and merge"][0][1], paths["split and merge"][2][1]
        # The last steps should have given these.
        wanted = {"wrong view": heads, "wrong merge": x}
        return {
            "tokens": self.tokens,
            "colors": TOKEN_COLORS,
            "width": self.num_heads * self.head_dim,
            "paths": {
                name: [
                    {
                        "code": code,
                        "shape": list(tensor.shape),
                        "strides": list(tensor.stride()),
                        "contiguous": tensor.is_contiguous(),
                        "cells": tensor.flatten().tolist(),
                        "scrambled": tensor is steps[-1][1]
                        and not torch.equal(tensor, wanted.get(name, tensor)),
                    }
                    for code, tensor in steps
                ]
                for name, steps in paths.items()
            },
        }

    def still(self) -> Still:
        paths = self.paths()
        heads, wrong = paths["split and merge"][2][1], paths["wrong view"][1][1]
        L, H, D = len(self.tokens), self.num_heads, self.head_dim
        size, panel = 30, 30 * D + 16
        still = Still(max(H * panel + 90, 420), 3 * (30 * L + 44) + 10)
        x = paths["split and merge"][0][1]
        for n, (title, tensor) in enumerate(
            (
                (f"x: (1, {L}, {H * D})", x[:, None]),
                (f"view, then transpose: (1, {H}, {L}, {D})", heads),
                (f"the wrong view: (1, {H}, {L}, {D})", wrong),
            )
        ):
            top = 12 + n * (30 * L + 44)
            still.text(80, top, title, bold=True, color=BLUE)
            for i, token in enumerate(self.tokens):
                if n < 2:
                    still.text(72, top + 31 + i * size, token, anchor="end", color=SOFT)
            for h, grid in enumerate(tensor[0].tolist()):
                words = [[self.cell(number) for number in row] for row in grid]
                fills = [[TOKEN_COLORS[n // (H * D)] for n in row] for row in grid]
                still.grid(80 + h * panel, top + 16, size, fills, words)
        return still
