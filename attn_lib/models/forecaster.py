"""A forecaster: queries for the future look back at the past."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attn_lib.blocks import PreNormBlock
from attn_lib.cross_attention import CrossAttention
from attn_lib.positions import RoPE


def make_windows(
    series: Float[Tensor, " t"], context_len: int, horizon: int
) -> tuple[Float[Tensor, "n context"], Float[Tensor, "n horizon"]]:
    """Cut a series into windows of known values, each with the values that follow it.

    Args:
        series: (T,).
        context_len: how many values are known.
        horizon: how many come next.

    Returns:
        Contexts (N, context_len) and targets (N, horizon), N = T - context_len - horizon + 1.

    Raises:
        ValueError: the series is not one-dimensional, or too short for one window.
    """
    length = context_len + horizon
    if series.ndim != 1 or len(series) < length:
        raise ValueError(
            f"expected a series (T,) with T at least {length}, got {tuple(series.shape)}"
        )
    windows = series.unfold(0, length, 1)
    return windows[:, :context_len], windows[:, context_len:]


class Forecaster(nn.Module):
    """Read the past with a causal mask; then one learned query for each step of the future asks in it.

    What is read and forecast is the difference to the last known value, in units of the spread of the
    past. So the same shape higher up, or larger, gets the same forecast, higher up, or larger.

    Args:
        horizon: how many values to forecast.
        d_model: E.
        num_heads: H, a divisor of d_model.
        num_layers: how many blocks read the past.
        patch: how many values in a row make one token.

    Raises:
        ValueError: num_heads does not divide d_model.

    Source: the scaling is after Kim et al., "Reversible Instance Normalization", 2022,
    openreview.net/forum?id=cGDAkQo1C0p; the patches after Nie et al., "A Time Series is Worth 64 Words",
    2023, arxiv.org/abs/2211.14730
    """

    def __init__(
        self, horizon: int, d_model: int, num_heads: int, num_layers: int, *, patch: int = 1
    ):
        super().__init__()
        self.patch = patch
        self.embed = nn.Linear(patch, d_model)
        self.blocks = nn.ModuleList(
            PreNormBlock(d_model, num_heads, 4 * d_model, positions=RoPE())
            for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(d_model)
        self.queries = nn.Parameter(torch.randn(horizon, d_model) * 0.02)
        self.cross = CrossAttention(d_model, d_model, num_heads)
        self.head = nn.Linear(d_model, 1)

    def forward(
        self, context: Float[Tensor, "b t"], *, return_weights: bool = False
    ) -> Float[Tensor, "b l"] | tuple[Float[Tensor, "b l"], Float[Tensor, "b h l s"]]:
        """Return the forecast (B, horizon) for the past (B, T); the weights too, if asked.

        The weights are (B, H, horizon, S), S = T / patch tokens, the oldest first.

        Raises:
            ValueError: patches do not fill the past.
        """
        if context.shape[1] % self.patch:
            raise ValueError(
                f"expected a past (B, T) that patches of {self.patch} fill, "
                f"got {tuple(context.shape)}"
            )
        last = context[:, -1:]
        spread = context.std(dim=1, keepdim=True, correction=0).clamp(min=1e-6)
        x = self.embed(((context - last) / spread).unflatten(1, (-1, self.patch)))
        for block in self.blocks:
            x = block(x, is_causal=True)
        queries = self.queries.expand(len(context), -1, -1)
        found, weights = self.cross(queries, self.norm(x), return_weights=True)
        forecast = last + spread * self.head(found).squeeze(-1)
        return (forecast, weights) if return_weights else forecast
