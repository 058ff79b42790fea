"""The weights of several heads side by side, as heat maps on one scale."""

from collections.abc import Sequence

import matplotlib as mpl
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from attn_lib.plotting.heat_map import DARK, LARGEST_WITH_VALUES, _luminance
from attn_lib.plotting.picture import STYLE, Picture

CELL = 0.44  # inches


def head_maps(
    weights: Float[Tensor, "h l s"],
    queries: Sequence[str],
    keys: Sequence[str] | None = None,
    *,
    titles: Sequence[str] | None = None,
) -> Picture:
    """Draw one heat map for each head; each row is one query.

    Args:
        weights: (H, L, S), between 0 and 1; numbers are written for at most 12 tokens.
        queries: L labels.
        keys: S labels; the queries' if None.
        titles: H titles; "head 0", "head 1" and so on if None.

    Raises:
        ValueError: the weights are not 3-D, or labels or titles do not fit.
    """
    keys = queries if keys is None else keys
    if weights.ndim != 3 or weights.shape[1:] != (len(queries), len(keys)):
        raise ValueError(
            f"expected weights of shape (H, {len(queries)}, {len(keys)}), "
            f"got {tuple(weights.shape)}"
        )
    titles = [f"head {i}" for i in range(len(weights))] if titles is None else titles
    if len(titles) != len(weights):
        raise ValueError(f"expected {len(weights)} titles, got {len(titles)}")
    values = weights.detach().double().cpu()
    heads, rows, columns = values.shape
    with mpl.rc_context(STYLE):
        size = (1.9 + heads * (CELL * columns + 0.2), 1.4 + CELL * rows)
        figure = Figure(figsize=size, layout="constrained")
        panels = figure.subplots(1, heads, sharey=True, squeeze=False)[0]
        for axes, panel, title in zip(panels, values, titles, strict=True):
            image = axes.imshow(
                panel.numpy(), cmap="cividis", vmin=0, vmax=1, interpolation="none"
            )
            if max(rows, columns) <= LARGEST_WITH_VALUES:
                _write_values(axes, panel, image)
            axes.set_xticks(
                range(columns), keys, rotation=45, ha="right", rotation_mode="anchor"
            )
            axes.set_yticks(range(rows), queries)
            axes.set(title=title, xlabel="key (column)")
            axes.tick_params(length=0)
            axes.spines[:].set_visible(False)
        panels[0].set_ylabel("query (row)")
        figure.colorbar(image, ax=panels, label="attention weight", shrink=0.8)
    return Picture(figure, _describe(values, titles, queries, keys))


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
