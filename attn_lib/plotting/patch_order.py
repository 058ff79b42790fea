"""Patches of a picture in the order in which a model gets them."""

import math

import matplotlib as mpl
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from attn_lib.plotting.picture import STYLE, Picture


def patch_order(cuts: dict[str, Float[Tensor, "n p"]], *, title: str = "") -> Picture:
    """Lay patches out from left to right and from top to bottom, each with its number.

    Args:
        cuts: for each heading, (N, patch * patch) gray values; N a square number, at most 36.
        title: above all panels.

    Raises:
        ValueError: N or the numbers of a patch make no square.
    """
    for patches in cuts.values():
        if any(math.isqrt(size) ** 2 != size for size in patches.shape):
            raise ValueError(
                f"expected (N, P), both square numbers, got {tuple(patches.shape)}"
            )
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(2.3 * len(cuts), 2.6), layout="constrained")
        for axes, (name, patches) in zip(
            figure.subplots(1, len(cuts), squeeze=False)[0], cuts.items(), strict=True
        ):
            n, p = (math.isqrt(size) for size in patches.shape)
            laid = patches.view(n, n, p, p).transpose(1, 2).reshape(n * p, n * p)
            axes.imshow(laid.detach().cpu().numpy(), cmap="gray_r", vmin=0, vmax=1)
            for i in range(n * n):
                x, y = i % n * p, i // n * p
                axes.text(x - 0.3, y - 0.3, str(i), fontsize=7, va="top", color="#d95f02")
            for line in range(1, n):
                axes.axhline(line * p - 0.5, color="#d95f02", lw=0.6)
                axes.axvline(line * p - 0.5, color="#d95f02", lw=0.6)
            axes.set(xticks=[], yticks=[], title=name)
        figure.suptitle(title, fontsize=11)
    heading = f"{title}. " if title else ""
    return Picture(
        figure,
        f"{heading}Patches in their order, laid out row by row, for: {', '.join(cuts)}.",
        colors=64,
        vector=False,
    )
