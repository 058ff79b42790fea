"""Turn heads down, off or up: masks, importance, gates, and a loss that keeps heads different.

A head is controlled where it is still alone: after softmax(q k^T) v and before o_proj, which mixes
all heads. There a factor 0 silences it completely, its value bias included.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from attn_lib.multi_head import MultiHeadAttention, merge_heads, split_heads
from attn_lib.shapes import check_widths


def masked_heads(
    attn: MultiHeadAttention,
    x: Float[Tensor, "b l e"],
    head_mask: Float[Tensor, " h"],
    *,
    mask: Bool[Tensor, "..."] | None = None,
    is_causal: bool = False,
) -> Float[Tensor, "b l e"]:
    """Self-attention with every head multiplied by a number of its own.

    output = W_o [m_1 head_1; ...; m_H head_H] + b_o

    Ones leave everything as it is, a zero ablates a head. `attn` is only read.

    Args:
        attn: the module whose weights are used.
        x: the input (B, L, E).
        head_mask: one factor for each head (H,), any number; it may require a gradient.
        mask: boolean, broadcastable to (B, H, L, L), True where a query may attend.
        is_causal: also forbid every key that comes after the query.

    Raises:
        ValueError: x is not (B, L, d_model), or head_mask is not (H,).

    Source: Michel et al., "Are Sixteen Heads Really Better than One?", 2019, arxiv.org/abs/1905.10650
    """
    if head_mask.shape != (attn.num_heads,):
        raise ValueError(
            f"expected head_mask of shape ({attn.num_heads},), one factor for each head, "
            f"got {tuple(head_mask.shape)}"
        )
    heads = _heads(attn, x, mask, is_causal)
    return attn.o_proj(merge_heads(heads * head_mask[:, None, None]))


def head_importance(
    loss_fn: Callable[[Float[Tensor, " h"]], Float[Tensor, ""]],
    num_heads: int,
    *,
    device: torch.device | str | None = None,
) -> Float[Tensor, " h"]:
    """Return how strongly the loss reacts to a small change of each head, by one backward pass.

    importance_h = |d loss / d m_h|  at  m = (1, ..., 1)

    The `.grad` of the model's parameters is left alone. Michel et al. average the absolute values
    over examples; here the mean is inside the loss, so effects of opposite sign cancel. To have
    theirs, call this with the loss of one example at a time.

    Args:
        loss_fn: `loss_fn(head_mask)` returns the loss, a scalar, for factors (H,), as
            `masked_heads` takes them.
        num_heads: H.
        device: where the factors are made.

    Source: Michel et al., "Are Sixteen Heads Really Better than One?", 2019, arxiv.org/abs/1905.10650
    """
    head_mask = torch.ones(num_heads, device=device, requires_grad=True)
    (gradient,) = torch.autograd.grad(loss_fn(head_mask), head_mask)
    return gradient.abs()


def gated_heads(
    attn: MultiHeadAttention,
    x: Float[Tensor, "b l e"],
    w_gate: Float[Tensor, "h e"],
    *,
    mask: Bool[Tensor, "..."] | None = None,
    is_causal: bool = False,
) -> Float[Tensor, "b l e"]:
    """Self-attention in which each token opens and closes each head by itself.

    g_ih = sigmoid(w_h . x_i),   output_i = W_o [g_i1 head_i1; ...; g_iH head_iH] + b_o

    The gate of a token is that of the query; it says nothing about who may listen to that token.

    Args:
        attn: the module whose weights are used; it is only read.
        x: the input (B, L, E).
        w_gate: one row for each head (H, E).
        mask: boolean, broadcastable to (B, H, L, L), True where a query may attend.
        is_causal: also forbid every key that comes after the query.

    Raises:
        ValueError: x is not (B, L, d_model), or w_gate is not (H, E).

    Source: Qiu et al., "Gated Attention for Large Language Models", 2025, its headwise gate after
    attention, arxiv.org/abs/2505.06708
    """
    if w_gate.shape != (attn.num_heads, attn.q_proj.in_features):
        raise ValueError(
            f"expected w_gate of shape ({attn.num_heads}, {attn.q_proj.in_features}), one row for "
            f"each head, got {tuple(w_gate.shape)}"
        )
    heads = _heads(attn, x, mask, is_causal)
    gate = torch.einsum("ble,he->bhl", x, w_gate).sigmoid()
    return attn.o_proj(merge_heads(heads * gate[..., None]))


def diversity_loss(weights: Float[Tensor, "b h l s"]) -> Float[Tensor, ""]:
    """The mean cosine similarity of different heads: 1 if all are the same, 0 if they share no key.

    The weights of one head in one sentence, all L * S of them, are one vector. Two heads are
    compared within a sentence; the mean is over sentences and over pairs of different heads. A head
    without any weight is similar to nothing, and a single head has no pair: both count 0.

    Args:
        weights: attention weights (B, H, L, S).

    Returns:
        A scalar between 0 and 1, to be minimized.

    Raises:
        ValueError: weights are not (B, H, L, S).

    Source: after Li et al., "Multi-Head Attention with Disagreement Regularization", 2018, who take
    products of weights that are not normalized, arxiv.org/abs/1810.10183
    """
    if weights.ndim != 4:
        raise ValueError(
            f"expected weights of shape (B, H, L, S), got {tuple(weights.shape)}"
        )
    B, H = weights.shape[:2]
    maps = F.normalize(weights.flatten(2), dim=-1)  # (B, H, L*S)
    similarity = maps @ maps.mT  # (B, H, H)
    pairs = max(1, H * (H - 1) // 2)
    return similarity.triu(diagonal=1).sum() / (B * pairs)


def _heads(
    attn: MultiHeadAttention, x: Tensor, mask: Tensor | None, is_causal: bool
) -> Tensor:
    """Return the outputs of the heads (B, H, L, D), before o_proj mixes them."""
    check_widths(attn.q_proj.in_features, x=x)
    layers = (attn.q_proj, attn.k_proj, attn.v_proj)
    q, k, v = (split_heads(layer(x), attn.num_heads) for layer in layers)
    q, k, bias = (q, k, None) if attn.positions is None else attn.positions(q, k)
    output, _ = attn.kernel(q, k, v, mask=mask, is_causal=is_causal, bias=bias)
    return output
