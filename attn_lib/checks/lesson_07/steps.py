"""The steps of controlled heads that right and wrong answers of this lesson are put together from."""

import math

import torch
import torch.nn.functional as F


def split(x, num_heads):
    """(B, L, H*D) to (B, H, L, D)."""
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)


def merge(x):
    """(B, H, L, D) to (B, L, H*D)."""
    return x.transpose(1, 2).flatten(2)


def project(attn, x):
    """Queries, keys and values, each (B, H, L, D)."""
    return [split(p(x), attn.num_heads) for p in (attn.q_proj, attn.k_proj, attn.v_proj)]


def scaled(q, k):
    """Scores (B, H, L, L)."""
    return q @ k.mT / math.sqrt(q.shape[-1])


def attend(attn, x):
    """What the heads say (B, H, L, D)."""
    q, k, v = project(attn, x)
    return scaled(q, k).softmax(-1) @ v


def finish(attn, heads):
    """The output (B, L, E) of heads (B, H, L, D)."""
    return attn.o_proj(merge(heads))


def per_channel(attn, factors):
    """Factors (..., H), each as often as its head has channels: (..., E)."""
    return factors.repeat_interleave(attn.o_proj.in_features // attn.num_heads, dim=-1)


def tiled(attn, factors):
    """Factors (..., H) in the wrong order: all of them, and all of them again."""
    times = attn.o_proj.in_features // attn.num_heads
    return torch.cat([factors] * times, dim=-1)


def gates(x, w_gate):
    """Gates (B, L, H)."""
    return (x @ w_gate.T).sigmoid()


def opened(heads, gate):
    """Heads (B, H, L, D) times gates (B, L, H)."""
    return heads * gate.transpose(1, 2)[..., None]


def flat(weights):
    """Each head's map as one vector: (B, H, L*S)."""
    return weights.flatten(2)


def cosines(maps):
    """Cosine of every head with every head (..., H, H) of maps (..., H, N); 0 for a map of zeros."""
    maps = F.normalize(maps, dim=-1)
    return maps @ maps.mT


def careless(maps):
    """Like `cosines`, by someone who has not thought of maps of zeros: nan there."""
    maps = maps / maps.norm(dim=-1, keepdim=True)
    return maps @ maps.mT


def others(similarity):
    """Similarities (..., H, H) with zeros on the diagonal."""
    diagonal = torch.eye(similarity.shape[-1], dtype=torch.bool)
    return similarity.masked_fill(diagonal, 0.0)


def mean_of_others(similarity):
    """Mean over all but the diagonals of (..., H, H)."""
    return similarity[..., ~torch.eye(similarity.shape[-1], dtype=torch.bool)].mean()
