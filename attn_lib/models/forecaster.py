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
    """Cut every window out of a series: what was known, and what came right after it.

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

    What is forecast is the difference to the last known value.

    Args:
        horizon: how many values to forecast.
        d_model: E.
        num_heads: H, a divisor of d_model.
        num_layers: how many blocks read the past.
        dropout: the share of numbers that training drops.

    Raises:
        ValueError: num_heads does not divide d_model.
    """

    def __init__(
        self,
        horizon: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        *,
        dropout: float = 0.0,
    ):
        super().__init__()
        self.embed = nn.Linear(1, d_model)
        self.blocks = nn.ModuleList(
            PreNormBlock(d_model, num_heads, 4 * d_model, dropout=dropout, positions=RoPE())
            for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(d_model)
        self.queries = nn.Parameter(torch.randn(horizon, d_model) * 0.02)
        self.cross = CrossAttention(d_model, d_model, num_heads)
        self.head = nn.Linear(d_model, 1)

    def forward(
        self, context: Float[Tensor, "b s"], *, return_weights: bool = False
    ) -> Float[Tensor, "b l"] | tuple[Float[Tensor, "b l"], Float[Tensor, "b h l s"]]:
        """Return the forecast (B, horizon) for the past (B, S); the weights too, if asked."""
        last = context[:, -1:]
        x = self.embed((context - last)[..., None])
        for block in self.blocks:
            x = block(x, is_causal=True)
        queries = self.queries.expand(len(context), -1, -1)
        found, weights = self.cross(queries, self.norm(x), return_weights=True)
        forecast = last + self.head(found).squeeze(-1)
        return (forecast, weights) if return_weights else forecast
