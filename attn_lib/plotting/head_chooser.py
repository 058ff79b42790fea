"""Choose among the heads of a live model: type a text, click a head. It needs a running kernel."""

import base64
import html
import io
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib as mpl
from jaxtyping import Float
from PIL import Image
from torch import Tensor

from attn_lib.plotting.figure import Cells, Figure
from attn_lib.plotting.labels import numbered
from attn_lib.plotting.maps import cells_panel
from attn_lib.plotting.picture import PAGE

THUMBNAIL = 56  # pixels


class HeadChooser:
    """Buttons for layers and heads, with a small map over each head and a large one below.

    It shows itself as widgets; where no kernel runs, as a picture of the head chosen first.

    Args:
        attend: the model: takes a text, and returns L tokens and weights (layers, H, L, L).
        text: what it reads first.
        start: the layer and the head that are shown first.

    Raises:
        ValueError: the weights do not fit the tokens, or there is no such head.
    """

    def __init__(
        self,
        attend: Callable[[str], tuple[Sequence[str], Float[Tensor, "layers h l l"]]],
        text: str,
        *,
        start: tuple[int, int] = (0, 0),
    ):
        import ipywidgets as w  # here, so that other figures need not wait for it

        self.attend = attend
        self.layer, self.head = start
        self._read(text)
        layers, heads = self.weights.shape[:2]
        self.text = w.Text(text, description="text", continuous_update=False)
        self.text.layout.width = "95%"
        self.layers = w.ToggleButtons(
            options=range(layers), value=self.layer, description="layer"
        )
        self.layers.style.button_width = "3em"
        side = w.Layout(width=f"{THUMBNAIL}px", height=f"{THUMBNAIL}px")
        self.thumbnails = [w.Image(layout=side) for _ in range(heads)]
        width = w.Layout(width=f"{THUMBNAIL}px", margin="0")
        self.heads = [w.Button(description=str(h), layout=width) for h in range(heads)]
        pairs = [w.VBox(p) for p in zip(self.thumbnails, self.heads, strict=True)]
        row = w.HBox([w.Label("head"), *pairs], layout=w.Layout(flex_flow="row wrap"))
        self.status = w.HTML()
        self.map = w.Image(layout=w.Layout(align_self="flex-start", max_width="100%"))
        self.widget = w.VBox([self.text, self.layers, row, self.status, self.map])

        self.text.observe(self._on_text, "value")
        self.layers.observe(self._on_layer, "value")
        for head, button in enumerate(self.heads):
            button.on_click(lambda _, head=head: self._choose(head))
        self._show_layer()

    def __repr__(self) -> str:
        best = self.weights[self.layer, self.head].argmax(-1).tolist()
        rows = ", ".join(
            f"{self.tokens[i]} to {self.tokens[j]}" for i, j in enumerate(best)
        )
        return (
            f"Layer {self.layer}, head {self.head}. The largest weight of each row: {rows}."
        )

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, Any]:
        picture = {
            "text/plain": repr(self),
            "image/png": base64.b64encode(self.map.value).decode(),
        }
        return self.widget._repr_mimebundle_() | picture

    def _read(self, text: str) -> None:
        """Run the model, and keep its weights if they fit."""
        tokens, weights = self.attend(text)
        if weights.ndim != 4 or weights.shape[2:] != (len(tokens), len(tokens)):
            raise ValueError(
                f"expected weights (layers, H, {len(tokens)}, {len(tokens)}), "
                f"got {tuple(weights.shape)}"
            )
        sizes, chosen = tuple(weights.shape[:2]), (self.layer, self.head)
        if not all(0 <= i < size for i, size in zip(chosen, sizes, strict=True)):
            raise ValueError(f"expected a layer and a head below {sizes}, got {chosen}")
        self.tokens, self.weights = numbered(tokens), weights.detach().float().cpu()

    def _on_text(self, change: dict[str, Any]) -> None:
        try:
            self._read(change["new"])
        except Exception as error:  # whatever the model says, the learner should read it
            self.status.value = html.escape(f"This text did not work: {error}")
        else:
            self._show_layer()

    def _on_layer(self, change: dict[str, Any]) -> None:
        self.layer = change["new"]
        self._show_layer()

    def _show_layer(self) -> None:
        for thumbnail, weights in zip(
            self.thumbnails, self.weights[self.layer], strict=True
        ):
            pixels = (mpl.colormaps["cividis"](weights.numpy()) * 255).astype("uint8")
            small = Image.fromarray(pixels).resize((THUMBNAIL, THUMBNAIL), 0)  # 0: nearest
            buffer = io.BytesIO()
            small.save(buffer, "png")
            thumbnail.value = buffer.getvalue()
        self._choose(self.head)

    def _choose(self, head: int) -> None:
        self.heads[self.head].button_style = ""
        self.head = head
        self.heads[head].button_style = "primary"
        cells, title = (
            Cells(self.weights[self.layer, head]),
            f"layer {self.layer}, head {head}",
        )
        panel = cells_panel([cells], self.tokens, self.tokens, title, size=8)
        side = 1.2 + 0.2 * len(self.tokens)
        picture = Figure([panel], (side + 1, side), raster=96).picture()
        self.map.width = str(round((side + 1) * PAGE))
        self.map.value = picture.png()
        self.status.value = html.escape(str(self))
