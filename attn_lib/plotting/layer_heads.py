"""One number for every head of a deep model, on a map: layers across, heads down."""

from collections.abc import Mapping

import matplotlib as mpl
from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator
from torch import Tensor

from attn_lib.plotting.picture import STYLE, Picture

NAMED = 5  # heads that the text names


def layer_heads(panels: Mapping[str, Float[Tensor, "layers h"]]) -> Picture:
    """Draw maps of the same heads one above the other, on one color scale from 0 to 1.

    Args:
        panels: a title and (layers, H) numbers between 0 and 1 for each map.

    Raises:
        ValueError: there is no map, the maps differ in shape, or a number is not between 0 and 1.
    """
    shapes = {tuple(scores.shape) for scores in panels.values()}
    if len(shapes) != 1 or len(next(iter(shapes))) != 2:
        raise ValueError(f"expected maps of one shape (layers, H), got {sorted(shapes)}")
    if any(((scores < 0) | (scores > 1)).any() for scores in panels.values()):
        raise ValueError("expected numbers between 0 and 1")
    layers, heads = next(iter(shapes))
    with mpl.rc_context(STYLE):
        size = (1.6 + 0.16 * layers, 0.5 + len(panels) * (0.55 + 0.16 * heads))
        figure = Figure(figsize=size, layout="constrained")
        all_axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (title, scores) in zip(all_axes, panels.items(), strict=True):
            image = axes.imshow(
                scores.detach().cpu().T.numpy(), cmap="cividis", vmin=0, vmax=1
            )
            axes.set_title(title, loc="left")
            axes.set_ylabel("head")
            axes.xaxis.set_major_locator(MultipleLocator(5))
            axes.yaxis.set_major_locator(MultipleLocator(2))
            axes.spines[:].set_visible(False)
        all_axes[-1].set_xlabel("layer")
        figure.colorbar(image, ax=list(all_axes), shrink=0.6, label="score")
    parts = ". ".join(f"{title}: {_best(scores)}" for title, scores in panels.items())
    text = f"Maps of {layers} layers of {heads} heads; the largest, as layer.head. {parts}."
    return Picture(figure, text, colors=64, vector=False)


def _best(scores: Tensor) -> str:
    values, places = scores.flatten().topk(min(NAMED, scores.numel()))
    names = [divmod(place, scores.shape[1]) for place in places.tolist()]
    return ", ".join(
        f"{layer}.{head} {value:.2f}"
        for (layer, head), value in zip(names, values.tolist(), strict=True)
    )
