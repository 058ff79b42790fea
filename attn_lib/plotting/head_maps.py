"""The weights of several heads side by side, as heat maps on one scale."""

from collections.abc import Sequence

import matplotlib as mpl
from jaxtyping import Bool, Float
from matplotlib.figure import Figure
from torch import Tensor

from attn_lib.plotting.heat_map import (
    DARK,
    LARGEST_WITH_VALUES,
    _luminance,
    explain_masked,
    hatch,
)
from attn_lib.plotting.labels import numbered
from attn_lib.plotting.picture import STYLE, Picture

CELL, SMALL = 0.44, 0.155  # inches; without numbers a cell can be small


def head_maps(
    weights: Float[Tensor, "h l s"],
    queries: Sequence[str],
    keys: Sequence[str] | None = None,
    *,
    titles: Sequence[str] | None = None,
    columns: int | None = None,
    mask: Bool[Tensor, "l s"] | None = None,
    label: str = "attention weight",
) -> Picture:
    """Draw one heat map for each head; each row of a map is one query.

    Args:
        weights: (H, L, S), between 0 and 1; numbers are written for at most 12 tokens.
        queries: L labels.
        keys: S labels; the queries' if None.
        titles: H titles; "head 0", "head 1" and so on if None.
        columns: how many maps stand side by side; all if None.
        mask: (L, S), True where the query may attend; the rest is hatched.
        label: of the color scale.

    Raises:
        ValueError: the weights are not 3-D, or labels, the mask, titles or columns
            do not fit.
    """
    keys = queries if keys is None else keys
    if weights.ndim != 3 or weights.shape[1:] != (len(queries), len(keys)):
        raise ValueError(
            f"expected weights of shape (H, {len(queries)}, {len(keys)}), "
            f"got {tuple(weights.shape)}"
        )
    if mask is not None and mask.shape != weights.shape[1:]:
        raise ValueError(
            f"expected a mask of shape {tuple(weights.shape[1:])}, got {tuple(mask.shape)}"
        )
    titles = [f"head {i}" for i in range(len(weights))] if titles is None else titles
    if len(titles) != len(weights):
        raise ValueError(f"expected {len(weights)} titles, got {len(titles)}")
    values = weights.detach().double().cpu()
    heads, L, S = values.shape
    columns = heads if columns is None else columns
    if not 1 <= columns <= heads:
        raise ValueError(f"expected columns from 1 to {heads}, got {columns}")
    rows = -(-heads // columns)
    few = max(L, S) <= LARGEST_WITH_VALUES
    queries, keys = numbered(queries), numbered(keys)
    with mpl.rc_context(STYLE):
        cell = CELL if few else SMALL
        size = (1.9 + columns * (cell * S + 0.2), 0.9 + rows * (0.5 + cell * L))
        figure = Figure(figsize=size, layout="constrained")
        panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        for axes, panel, title in zip(panels.flat, values, titles, strict=False):
            image = axes.imshow(
                panel.numpy(), cmap="cividis", vmin=0, vmax=1, interpolation="none"
            )
            if mask is not None:
                hatch(axes, ~mask.cpu(), start=-0.5)
            if few:
                _write_values(axes, panel, image)
            axes.set_xticks(range(S), keys, rotation=45, ha="right", rotation_mode="anchor")
            axes.set_yticks(range(L), queries)
            axes.set_title(title)
            axes.tick_params(length=0, labelsize=None if few else 7.5)
            axes.spines[:].set_visible(False)
        for axes in panels[-1]:
            axes.set_xlabel("key (column)")
        for axes in panels[:, 0]:
            axes.set_ylabel("query (row)")
        for axes in panels.flat[heads:]:
            axes.axis("off")
        figure.colorbar(image, ax=panels, label=label, shrink=0.8)
        if mask is not None and not mask.all():
            explain_masked(figure)
    alt = _describe(values, titles, queries, keys)
    return Picture(figure, alt) if few else Picture(figure, alt, colors=96, vector=False)


def _write_values(axes, panel: Tensor, image) -> None:
    for i, j in (panel >= 0.05).nonzero().tolist():
        value = panel[i, j].item()
        ink = "black" if _luminance(*image.cmap(value)[:3]) > DARK else "white"
        text = f"{value:.2f}".replace("0.", ".", 1)
        axes.text(j, i, text, ha="center", va="center", color=ink, fontsize=9)


def _describe(values: Tensor, titles, queries, keys) -> str:
    parts = []
    for panel, title in zip(values, titles, strict=True):
        best = panel.argmax(dim=-1).tolist()
        rows = (
            f"{query} to {keys[j]} ({panel[i, j]:.2f})"
            for i, (query, j) in enumerate(zip(queries, best, strict=True))
        )
        parts.append(f"{title}: {', '.join(rows)}")
    return f"Heat maps of weights. The largest in each row. {'; '.join(parts)}."
