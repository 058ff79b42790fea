"""Numbers that say what attention weights look like: for each head, each key, or a whole model.

They count every query. Cut padding off first: its queries would be counted too.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor


def attention_entropy(weights: Float[Tensor, "b h l s"]) -> Float[Tensor, " h"]:
    """Measure how widely each head spreads its attention: the entropy of a query's weights.

    H = -sum over s of w_s ln w_s, with 0 ln 0 = 0: 0 for a single key, ln S for S equal ones.

    Args:
        weights: (B, H, L, S); a row of zeros, of a query that may see nothing, has entropy 0.

    Returns:
        (H,) in nats, the mean over batch and queries.

    Raises:
        ValueError: the weights do not have four axes.

    Source: Shannon, "A Mathematical Theory of Communication", 1948
    """
    _check(weights)
    # ln 1 = 0 stands in for ln 0, so that no NaN arises here or in the gradient.
    surprise = -weights.masked_fill(weights == 0, 1.0).log()
    return (weights * surprise).sum(dim=-1).mean(dim=(0, 2))


def mean_attention_distance(weights: Float[Tensor, "b h l l"]) -> Float[Tensor, " h"]:
    """Measure how far each head looks: the distance |i - j| in tokens, weighted by attention.

    d = sum over j of w_ij |i - j|, for query i.

    Args:
        weights: (B, H, L, L) of self-attention; a row of zeros has distance 0.

    Returns:
        (H,) in tokens, the mean over batch and queries.

    Raises:
        ValueError: the weights are not (B, H, L, L).

    Source: Dosovitskiy et al., "An Image is Worth 16x16 Words", 2021, figure 7,
    arxiv.org/abs/2010.11929 (there between patches, in pixels)
    """
    _check(weights, square=True)
    positions = torch.arange(weights.shape[-1], device=weights.device)
    distance = (positions[:, None] - positions).abs().to(weights.dtype)  # (L, L)
    return (weights * distance).sum(dim=-1).mean(dim=(0, 2))


def offset_score(weights: Float[Tensor, "b h l l"], offset: int) -> Float[Tensor, " h"]:
    """Measure how much each head looks a fixed number of tokens away: 1 is the next, -1 the previous.

    The score is the mean of w[i, i + offset] over all queries i that have such a key: one diagonal.

    Args:
        weights: (B, H, L, L) of self-attention.
        offset: from 1 - L to L - 1.

    Returns:
        (H,) between 0 and 1, the mean over batch and queries.

    Raises:
        ValueError: the weights are not (B, H, L, L), or no query has such a key.

    Source: Clark et al., "What Does BERT Look At?", 2019, section 3.1, arxiv.org/abs/1906.04341
    """
    _check(weights, square=True)
    L = weights.shape[-1]
    if not -L < offset < L:
        raise ValueError(f"expected an offset from {1 - L} to {L - 1}, got {offset}")
    return weights.diagonal(offset, dim1=-2, dim2=-1).mean(dim=(0, 2))


def weighted_value_norms(
    weights: Float[Tensor, "b h l s"], v: Float[Tensor, "b h s d"]
) -> Float[Tensor, "b h l s"]:
    """Measure how much each key adds to each query's output: the length of its weighted value.

    ||w_ij v_j|| = w_ij ||v_j||, for query i and key j. Where the head's part of the output projection
    follows, it goes into v first: ||w_ij v_j W_o||.

    Args:
        weights: (B, H, L, S), not negative.
        v: values (B, H, S, D).

    Raises:
        ValueError: the weights do not have four axes, or the values do not fit them.

    Source: Kobayashi et al., "Attention is Not Only a Weight", 2020, section 3, arxiv.org/abs/2004.10102
    """
    _check(weights)
    B, H, _, S = weights.shape
    if v.ndim != 4 or v.shape[:3] != (B, H, S):
        raise ValueError(f"expected values ({B}, {H}, {S}, D), got {tuple(v.shape)}")
    return weights * v.norm(dim=-1)[:, :, None]  # (B, H, 1, S): one length for each key


def attention_rollout(layers: Sequence[Float[Tensor, "b _ l l"]]) -> Float[Tensor, "b l l"]:
    """Follow attention through all layers: how much of each input token reaches each output.

    R = A'_n ... A'_2 A'_1 with A' = (A + I) / 2, where A is the mean over heads and I stands for the
    residual connection. The last layer is on the left: its keys are the outputs of the layer before.

    Args:
        layers: the weights (B, H, L, L) of each layer, the one nearest to the input first.

    Returns:
        (B, L, L): row i is output i, column j is input j. Rows add up to 1 if those of A do.

    Raises:
        ValueError: there is no layer, or the layers are not all (B, H, L, L), where H may differ.

    Source: Abnar and Zuidema, "Quantifying Attention Flow in Transformers", 2020, section 3,
    arxiv.org/abs/2005.00928
    """
    for weights in layers:
        _check(weights, square=True)
    if len({(len(w), w.shape[-1]) for w in layers}) != 1:
        shapes = [tuple(w.shape) for w in layers]
        raise ValueError(f"expected layers (B, H, L, L) of one B and L, got {shapes}")
    rollout = identity = torch.eye(layers[0].shape[-1]).to(layers[0])
    for weights in layers:
        rollout = (weights.mean(dim=1) + identity) / 2 @ rollout
    return rollout


def induction_score(weights: Float[Tensor, "b h l l"], period: int) -> Float[Tensor, " h"]:
    """Measure how much each head looks at the token that followed the same token last time.

    In a sequence that repeats with a period P, the token of query i came before at i - P, and what
    followed it stands at i - P + 1. The score is the mean of w[i, i - P + 1] over all i >= P - 1,
    where that key exists: one diagonal. In a random sequence, a head that copies comes near to 1.

    Args:
        weights: (B, H, L, L) on a sequence that repeats with that period.
        period: P, from 1 to L.

    Returns:
        (H,) between 0 and 1, the mean over batch and queries.

    Raises:
        ValueError: the weights are not (B, H, L, L), or the period does not fit.

    Source: Olsson et al., "In-context Learning and Induction Heads", 2022, "prefix matching",
    arxiv.org/abs/2209.11895
    """
    _check(weights, square=True)
    if not 1 <= period <= weights.shape[-1]:
        raise ValueError(f"expected a period from 1 to {weights.shape[-1]}, got {period}")
    return weights.diagonal(1 - period, dim1=-2, dim2=-1).mean(dim=(0, 2))


def _check(weights: Tensor, *, square: bool = False) -> None:
    if weights.ndim != 4 or (square and weights.shape[-2] != weights.shape[-1]):
        wanted = "(B, H, L, L)" if square else "(B, H, L, S)"
        raise ValueError(f"expected weights {wanted}, got {tuple(weights.shape)}")
