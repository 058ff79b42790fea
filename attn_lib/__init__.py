"""Attention from Scratch: the course's reference library.

Tensors follow the letters of `torch.nn.functional.scaled_dot_product_attention`: B batch, H heads,
L queries, S keys, D head_dim, Dv value head_dim, E d_model. Masks are boolean, True = may attend.
"""

from attn_lib.attention import einsum_attention, fused_attention
from attn_lib.masks import causal_mask
from attn_lib.multi_head import MultiHeadAttention, merge_heads, split_heads
from attn_lib.single_head import SelfAttention, SingleHeadAttention

__all__ = [
    "MultiHeadAttention",
    "SelfAttention",
    "SingleHeadAttention",
    "causal_mask",
    "einsum_attention",
    "fused_attention",
    "merge_heads",
    "split_heads",
]
