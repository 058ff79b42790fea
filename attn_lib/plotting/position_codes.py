"""Codes for positions: the table as colors, and how alike the codes of two positions are."""

from collections.abc import Sequence

import matplotlib as mpl
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from attn_lib.plotting.charts import COLORS
from attn_lib.plotting.line_panels import DASHES
from attn_lib.plotting.picture import STYLE, Picture


def position_codes(
    codes: Float[Tensor, "l e"], positions: Sequence[int], *, title: str = ""
) -> Picture:
    """Draw a table of codes, a row for each position, and the dot products of some rows with all.

    Args:
        codes: (L, E).
        positions: 1 to 4 rows; each gets a line of its dot products with all L rows.
        title: above both.

    Raises:
        ValueError: there are not 1 to 4 positions, or one is not among the rows.
    """
    length = len(codes)
    if not 0 < len(positions) <= len(COLORS) or not all(0 <= p < length for p in positions):
        raise ValueError(
            f"expected 1 to {len(COLORS)} positions from 0 to {length - 1}, got {list(positions)}"
        )
    table = codes.detach().double().cpu()
    largest = table.abs().max().item()
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.0, 2.9), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(1, 1.15))
        image = left.imshow(
            table.numpy(), cmap="PuOr", vmin=-largest, vmax=largest,
            aspect="auto", interpolation="none",
        )  # fmt: skip
        figure.colorbar(image, ax=left).ax.set_title("number", fontsize=9)
        left.set(xlabel="channel", ylabel="position", title="the codes")
        left.spines[:].set_visible(False)
        products = {p: (table @ table[p]).tolist() for p in positions}
        for n, (p, values) in enumerate(products.items()):
            right.plot(values, DASHES[n], color=COLORS[n], lw=1.5, label=f"position {p}")
            right.plot(p, values[p], "o", color=COLORS[n], ms=5)
        right.set(xlabel="the other position", ylabel="dot product", title="how alike")
        right.grid(alpha=0.3)
        figure.legend(loc="outside lower right", ncols=len(products), frameon=False)
        figure.suptitle(title, fontsize=11)
    parts = "; ".join(
        f"of position {p}: {v[p]:.2f} with itself, {v[0]:.2f} with 0, {v[-1]:.2f} with {length - 1}"
        for p, v in products.items()
    )
    heading = f"{title}. " if title else ""
    alt = f"{heading}Colors of {length} codes of {table.shape[1]} numbers, and dot products {parts}."
    return Picture(figure, alt, colors=96, vector=False)
