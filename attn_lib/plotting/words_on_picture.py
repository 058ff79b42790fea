"""Where each word of a caption looks in its picture."""

from collections.abc import Sequence

import matplotlib as mpl
import torch
from jaxtyping import Float
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from torch import Tensor

from attn_lib.plotting.picture import STYLE, Picture


def words_on_picture(
    image: Float[Tensor, "h w"],
    words: Sequence[str],
    weights: Float[Tensor, "l n"],
    *,
    title: str = "",
) -> Picture:
    """Draw the picture, and for each word the picture again under its weights.

    Args:
        image: (height, width), 0 is paper and 1 is ink.
        words: L words.
        weights: (L, N), one weight for each patch, row by row; as many rows of patches as columns.
        title: above all panels.

    Raises:
        ValueError: not one row of weights for each word, or N patches make no square grid.
    """
    side = round(weights.shape[-1] ** 0.5)
    if weights.shape != (len(words), side * side):
        raise ValueError(
            f"expected weights ({len(words)}, N), N a square number, got {tuple(weights.shape)}"
        )
    image = image.detach().cpu()
    height, width = image.shape
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(1.55 * (len(words) + 1) + 0.6, 2.0), layout="constrained")
        first, *panels = figure.subplots(1, len(words) + 1)
        first.imshow(image.numpy(), cmap="gray_r", vmin=0, vmax=1)
        first.set_title("picture")
        grid = weights.detach().cpu().view(-1, side, side)
        box = (-0.5, width - 0.5, height - 0.5, -0.5)
        for axes, word, values in zip(panels, words, grid, strict=True):
            map_ = axes.imshow(
                values.numpy(),
                cmap="cividis",
                norm=Normalize(0, 1),
                extent=box,
                interpolation="none",
            )
            axes.imshow(_ink(image, values).numpy())
            axes.set_title(f"“{word}”")
        for axes in (first, *panels):
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set_visible(False)
        figure.colorbar(map_, ax=panels, label="attention weight", shrink=0.9)
        figure.suptitle(title, fontsize=11)
    parts = "; ".join(
        f"{word}: {values.max():.2f} on row {values.argmax() // side}, column {values.argmax() % side}"
        for word, values in zip(words, grid, strict=True)
    )
    heading = f"{title}. " if title else ""
    alt = f"{heading}A picture, and the patch that gets the largest weight of each word: {parts}."
    return Picture(figure, alt, colors=64, vector=False)


def _ink(image: Tensor, weights: Tensor) -> Tensor:
    """Return the picture's ink as (height, width, RGBA): black on bright patches, white on dark ones."""
    height, width = image.shape
    rows, columns = (
        (torch.arange(size) * len(weights) // size) for size in (height, width)
    )
    bright = weights[rows[:, None], columns] > 0.5
    shade = torch.where(bright, 0.0, 1.0)[..., None].expand(-1, -1, 3)
    return torch.cat([shade, 0.9 * image[..., None]], dim=-1).clamp(0, 1)
