"""Position schemes: sinusoidal, learned, RoPE, ALiBi and T5's buckets, with one interface.

Without positions, attention sees a set. A scheme acts in one of two places: it adds something to the
embeddings (`add`, once, at the bottom of a model), or it acts inside attention (`forward`: turns queries
and keys, or adds a bias to the scores). `Positions` does neither; each scheme overrides one of the two.
An attention module takes a scheme as `positions=...`.
"""

import math

import torch
from jaxtyping import Float, Int, Real
from torch import Tensor, nn

# ------------------------------------------------------------------------------ the formulas


def sinusoidal_positions(length: int, d_model: int) -> Float[Tensor, "l e"]:
    """Return a code for each position: sines and cosines in turn, slower and slower.

    PE[p, 2i] = sin(p / 10000^(2i/E)),  PE[p, 2i + 1] = cos(p / 10000^(2i/E))

    Args:
        length: L, the number of positions, from 0.
        d_model: E, an even number.

    Returns:
        (L, E), float32.

    Raises:
        ValueError: d_model is odd.

    Source: Vaswani et al., "Attention Is All You Need", 2017, section 3.5, arxiv.org/abs/1706.03762
    """
    if d_model % 2:
        raise ValueError(f"expected an even d_model, got {d_model}")
    angles = _angles(torch.arange(length), d_model, 10000.0)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


def apply_rope(
    x: Float[Tensor, "b h l d"], positions: Real[Tensor, " l"], base: float = 10000.0
) -> Float[Tensor, "b h l d"]:
    """Turn each pair of channels (c, c + D/2) by an angle that grows with the position.

    The pair turns by p * base^(-2c/D). A query and a key then have a dot product that depends on the
    difference of their positions alone.

    Args:
        x: queries or keys (B, H, L, D), D even.
        positions: (L,), the position of each token; they need not begin at 0.
        base: the larger, the slower the last pairs turn.

    Returns:
        (B, H, L, D), of the dtype of x. The angles are computed in float32 or better.

    Raises:
        ValueError: D is odd, or there is not one position for each token.

    Source: Su et al., "RoFormer", 2021, section 3.2, arxiv.org/abs/2104.09864; the pairs are laid out as
    in Llama's checkpoints.
    """
    if x.shape[-1] % 2 or positions.shape != (x.shape[-2],):
        raise ValueError(
            "expected x (..., L, D) with D even and positions (L,), "
            f"got {tuple(x.shape)} and {tuple(positions.shape)}"
        )
    precise = torch.promote_types(x.dtype, torch.float32)
    angles = _angles(positions, x.shape[-1], base, precise)  # (L, D/2)
    cos, sin = angles.cos(), angles.sin()
    first, second = x.to(precise).chunk(2, dim=-1)
    turned = first * cos - second * sin, first * sin + second * cos
    return torch.cat(turned, dim=-1).to(x.dtype)


def half_split_order(head_dim: int) -> Int[Tensor, " d"]:
    """Return the order that brings interleaved pairs (2c, 2c + 1) to this library's (c, c + D/2).

    `x[..., half_split_order(D)]` turns channels; for a checkpoint's q_proj and k_proj, index the rows
    of each head's weight. Its `argsort()` leads back.
    """
    return torch.arange(head_dim).view(-1, 2).T.flatten()


def alibi_bias(num_heads: int, q_len: int, kv_len: int) -> Float[Tensor, "h l s"]:
    """Return what ALiBi adds to the scores: minus slope times distance.

    Head i, counted from 1, has the slope 2^(-8i/H). The last query stands at the last key, so the
    bias is right with a cache too.

    Args:
        num_heads: H, a power of two.
        q_len: L.
        kv_len: S.

    Returns:
        (H, L, S), float32, symmetric in the distance: for a causal model, add a causal mask.

    Raises:
        ValueError: num_heads is no power of two.

    Source: Press et al., "Train Short, Test Long", 2021, section 3, arxiv.org/abs/2108.12409
    """
    if num_heads < 1 or num_heads & (num_heads - 1):
        raise ValueError(f"expected num_heads to be a power of two, got {num_heads}")
    slopes = 2.0 ** (-8 * torch.arange(1, num_heads + 1) / num_heads)
    return -slopes[:, None, None] * _relative(q_len, kv_len).abs()


def t5_bucket(
    relative_position: Int[Tensor, "..."], num_buckets: int = 32, max_distance: int = 128
) -> Int[Tensor, "..."]:
    """Return the bucket of each distance: one each for the near ones, wider and wider for the far.

    Half of the buckets are for keys after the query. In each half, the first half counts distances one
    by one; the others grow as a logarithm does, and the last one takes all from max_distance on.

    Args:
        relative_position: position of the key minus position of the query.
        num_buckets: a multiple of 4.
        max_distance: larger than num_buckets / 4.

    Returns:
        Numbers from 0 to num_buckets - 1, of the same shape.

    Raises:
        ValueError: num_buckets is no multiple of 4, or max_distance is too small.

    Source: Raffel et al., "T5", 2019, section 2.1, arxiv.org/abs/1910.10683; the borders are those of
    its code.
    """
    if num_buckets % 4 or max_distance <= num_buckets // 4:
        raise ValueError(
            "expected num_buckets to be a multiple of 4 and max_distance to be larger than a quarter "
            f"of it, got {num_buckets} and {max_distance}"
        )
    half = num_buckets // 2  # for each direction
    exact = half // 2
    distance = relative_position.abs()
    # In float32, as T5 does it: some borders fall on whole numbers.
    growth = (distance.clamp(min=1) / exact).log() / math.log(max_distance / exact)
    far = exact + (growth * (half - exact)).long()
    bucket = torch.where(distance < exact, distance, far.clamp(max=half - 1))
    return bucket + half * (relative_position > 0)


def _angles(
    positions: Tensor, width: int, base: float, dtype: torch.dtype = torch.float32
) -> Float[Tensor, "l half"]:
    """Return position times frequency, for width / 2 frequencies from 1 down to almost 1 / base."""
    exponents = torch.arange(0, width, 2, dtype=dtype, device=positions.device) / width
    return positions.to(dtype)[:, None] * base**-exponents


def _relative(q_len: int, kv_len: int) -> Int[Tensor, "l s"]:
    """Return the position of each key minus that of each query; the last of both are the same."""
    queries = torch.arange(kv_len - q_len, kv_len)
    return torch.arange(kv_len) - queries[:, None]


# ------------------------------------------------------------------------------- the schemes


class Positions(nn.Module):
    """The base class: no positions; each scheme overrides one of the two methods."""

    def add(self, x: Float[Tensor, "b l e"], start: int = 0) -> Float[Tensor, "b l e"]:
        """Add positions to embeddings (B, L, E), of which the first stands at `start`."""
        return x

    def forward(
        self, q: Float[Tensor, "b h l d"], k: Float[Tensor, "b hkv l d"], start: int = 0
    ) -> tuple[Tensor, Tensor, Float[Tensor, "h l s"] | None]:
        """Give positions to queries and keys inside attention, before the keys are cached.

        Args:
            q: (B, H, L, D), of the new tokens.
            k: (B, Hkv, L, D), of the same tokens.
            start: the position of the first of them: how many a cache holds already.

        Returns:
            Queries, keys, and what to add to the scores, (H, L, S) with S = start + L, or None.
        """
        return q, k, None


class LearnedPositions(Positions):
    """A vector for each position up to max_len, learned like an embedding.

    Source: Gehring et al., "Convolutional Sequence to Sequence Learning", 2017, section 3.1,
    arxiv.org/abs/1705.03122
    """

    def __init__(self, max_len: int, d_model: int):
        super().__init__()
        self.table = nn.Embedding(max_len, d_model)
        nn.init.normal_(self.table.weight, std=0.02)

    def add(self, x: Float[Tensor, "b l e"], start: int = 0) -> Float[Tensor, "b l e"]:
        """Add the vectors of positions start to start + L - 1.

        Raises:
            ValueError: that is beyond the end of the table.
        """
        end = start + x.shape[1]
        if end > self.table.num_embeddings:
            raise ValueError(
                f"expected at most {self.table.num_embeddings} positions, got {end}"
            )
        return x + self.table.weight[start:end]


class SinusoidalPositions(Positions):
    """The fixed codes of `sinusoidal_positions`, added to the embeddings."""

    def add(self, x: Float[Tensor, "b l e"], start: int = 0) -> Float[Tensor, "b l e"]:
        """Add the codes of positions start to start + L - 1."""
        return x + sinusoidal_positions(start + x.shape[1], x.shape[2])[start:].to(x)


class RoPE(Positions):
    """Rotary positions: queries and keys are turned (see `apply_rope`).

    Args:
        base: the larger, the slower the last pairs turn.
        squeeze: positions are divided by it, so that a longer text fits into the trained range.

    Source of `squeeze`: Chen et al., "Extending Context Window of Large Language Models via Positional
    Interpolation", 2023, arxiv.org/abs/2306.15595
    """

    def __init__(self, base: float = 10000.0, squeeze: float = 1.0):
        super().__init__()
        self.base, self.squeeze = base, squeeze

    def forward(
        self, q: Float[Tensor, "b h l d"], k: Float[Tensor, "b hkv l d"], start: int = 0
    ) -> tuple[Tensor, Tensor, None]:
        """Turn queries and keys; see `Positions.forward`."""
        positions = torch.arange(start, start + q.shape[-2], device=q.device) / self.squeeze
        return (
            apply_rope(q, positions, self.base),
            apply_rope(k, positions, self.base),
            None,
        )


class ALiBi(Positions):
    """A penalty for distance, added to the scores (see `alibi_bias`); nothing is learned."""

    def forward(
        self, q: Float[Tensor, "b h l d"], k: Float[Tensor, "b hkv l d"], start: int = 0
    ) -> tuple[Tensor, Tensor, Float[Tensor, "h l s"]]:
        """Return the bias beside queries and keys as they are; see `Positions.forward`."""
        heads, length = q.shape[1:3]
        return q, k, alibi_bias(heads, length, start + length).to(q)


class T5Bias(Positions):
    """A learned number for each head and bucket of distances, added to the scores (see `t5_bucket`).

    All numbers are 0 at first: no distance is preferred.
    """

    def __init__(self, num_heads: int, num_buckets: int = 32, max_distance: int = 128):
        super().__init__()
        self.table = nn.Embedding(num_buckets, num_heads)
        nn.init.zeros_(self.table.weight)
        self.max_distance = max_distance

    def forward(
        self, q: Float[Tensor, "b h l d"], k: Float[Tensor, "b hkv l d"], start: int = 0
    ) -> tuple[Tensor, Tensor, Float[Tensor, "h l s"]]:
        """Return the bias beside queries and keys as they are; see `Positions.forward`."""
        length = q.shape[2]
        relative = _relative(length, start + length).to(q.device)
        buckets = t5_bucket(relative, self.table.num_embeddings, self.max_distance)
        return q, k, self.table(buckets).movedim(-1, 0)
